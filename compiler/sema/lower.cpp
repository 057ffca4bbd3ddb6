// Kernels, and values and places of the lowering. See lower.h.
#include "compiler/sema/lower.h"

#include <algorithm>

#include "compiler/ir/evaluate.h"

namespace sarek::sema {

using ir::NodeId;

// --- kernel ----------------------------------------------------------------------------------------------------------------------

std::optional<ir::Program> Lowerer::run(const Kernel& kernel) {
  if (!kernel.body || kernel.body->faulty) return std::nullopt;
  std::optional<ir::Program> program = attempt(kernel);
  if (program && !wanted_tables_.empty()) program = attempt(kernel);
  if (!program) return std::nullopt;
  if (!check_convergence(*program, notes_, sources_, sink_)) return std::nullopt;
  return program;
}

std::optional<ir::Program> Lowerer::attempt(const Kernel& kernel) {
  b_ = ir::ProgramBuilder(kernel.name, kernel.block);
  wide_ = kernel.wide;
  b_.program().wide = wide_;
  // The base name only: a program is the same wherever its source lies.
  const std::string& file = sources_.name(kernel.file->id);
  b_.program().module_file = file.substr(file.find_last_of('/') + 1);
  b_.program().range = kernel.item->name.range;
  b_.at(kernel.item->name.range);
  notes_ = {};
  tables_.clear();
  limit_checked_.clear();
  Frame frame;
  frame.body = kernel.body.get();
  frame.locals.resize(kernel.body->locals.size());
  frame_ = &frame;
  declare_params(kernel, frame);
  for (const Table& table : wanted_tables_) {
    const Place place = new_temp(table.first, "table");
    std::size_t cell = 0;
    const std::vector<Slot> slots = types_.slots(table.first);
    for (std::size_t s = 0; s < slots.size(); ++s)
      for (std::int64_t k = 0; k < slots[s].count; ++k)
        b_.store(place.slots[s].buffer, b_.i32(k), bits(slots[s].type, table.second[cell++]));
    tables_.emplace(table, place);
  }
  for (std::uint32_t i = 0; i < kernel.body->locals.size(); ++i) {
    const Local& local = kernel.body->locals[i];
    if (local.kind == LocalKind::Shared) {
      frame.locals[i].place = new_shared(local.type, local.name);
    } else if (local.kind == LocalKind::DynamicShared) {
      const TypeId element = types_[local.type].args[0];
      Buffer buffer;
      buffer.element = element;
      const NodeId storage = b_.dynamic_shared(local.name, types_.scalar_of(element));
      buffer.first = {element, false, {{storage, {}}}};
      buffer.length = b_.dynamic_shared_length(storage);
      frame.locals[i].buffer = buffer;
    }
  }
  const Expr& root = *kernel.body->root;
  if (root.exits && reads_exit_flag(root)) {
    frame.returned = b_.reg("returned", ir::Type::Bool);
    b_.set(frame.returned, b_.bool_constant(false));
  }
  into(root, {});
  frame_ = nullptr;
  if (failed_) return std::nullopt;
  return b_.finish();
}

void Lowerer::declare_params(const Kernel& kernel, Frame& frame) {
  ir::Program& program = b_.program();
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    const ParamDef& p = kernel.params[i];
    const bool is_buffer = types_.form(p.type) == TypeForm::Buffer;
    const TypeId element = is_buffer ? types_[p.type].args[0] : p.type;
    ir::KernelParam param;
    param.name = p.name;
    param.is_buffer = is_buffer;
    param.access = p.access;
    param.element = types_.layout(element);
    param.first_slot = static_cast<int>(program.slots.size());
    const auto number = static_cast<int>(program.params.size());
    if (is_buffer) {
      for (const std::int64_t e : types_[p.type].extents) param.view.push_back(e < 0 ? 0 : e);
      program.slots.push_back({ir::Slot::Kind::Buffer, ir::Type::Void, p.name, number, -1, 0});
      program.params.push_back(param);
      Buffer buffer;
      buffer.element = element;
      buffer.first.type = element;
      buffer.first.packed = true;
      const std::vector<Slot> slots = types_.slots(element);
      const std::vector<std::int64_t> offsets = types_.slot_offsets(element);
      for (std::size_t s = 0; s < slots.size(); ++s) {
        const std::int64_t cell = offsets[s] / ir::type_bytes(slots[s].type);
        buffer.first.slots.push_back({b_.view(param.first_slot, slots[s].type), cell == 0 ? NodeId{} : b_.i32(cell)});
      }
      buffer.length = {};  // made when it is asked for: a hidden argument more
      frame.locals[i].buffer = buffer;
      continue;
    }
    const std::vector<Slot> slots = types_.slots(element);
    Value value{element, {}, {}};
    param.slot_count = static_cast<int>(types_.cells(element));
    program.params.push_back(param);
    // Arguments come field by field in the order of the layout, which is the order of memory; cells are in the order of slots.
    for (const ir::LayoutField& f : param.element.fields)
      program.slots.push_back({ir::Slot::Kind::Scalar, f.type, f.path.empty() ? p.name : p.name + "." + f.path, number, -1, 0});
    const std::vector<std::int64_t> offsets = types_.slot_offsets(element);
    const auto at_offset = [&](std::int64_t offset) {
      for (std::size_t f = 0; f < param.element.fields.size(); ++f)
        if (param.element.fields[f].offset == offset) return param.first_slot + static_cast<int>(f);
      return param.first_slot;
    };
    // Where the cells of one slot lie follows from the arrays around it: collect the offsets of each slot's cells in order.
    const std::function<void(TypeId, std::int64_t, std::size_t, std::vector<std::vector<std::int64_t>>&)> place_cells =
        [&](TypeId t, std::int64_t at, std::size_t first, std::vector<std::vector<std::int64_t>>& out) {
          const TypeNode type = types_[t];
          switch (type.form) {
            case TypeForm::Scalar: out[first].push_back(at); return;
            case TypeForm::Array:
              for (std::int64_t e = 0; e < types_.element_count(t); ++e)
                place_cells(type.args[0], at + e * types_.memory(type.args[0]).size, first, out);
              return;
            case TypeForm::Tuple:
            case TypeForm::Record: {
              const std::size_t parts = type.form == TypeForm::Tuple ? type.args.size() : types_.def_of(t).fields.size();
              for (std::size_t f = 0; f < parts; ++f) {
                const TypeId part = type.form == TypeForm::Tuple ? type.args[f] : types_.member(t, types_.def_of(t).fields[f].type);
                place_cells(part, at + types_.field_offset(t, f), first + types_.first_slot(t, f), out);
              }
              return;
            }
            case TypeForm::Variant: {
              const std::vector<Slot> all = types_.slots(t);
              for (std::size_t s = 0; s < all.size(); ++s)
                for (std::int64_t k = 0; k < all[s].count; ++k)
                  out[first + s].push_back(at + types_.variant_offset(t, s) + k * ir::type_bytes(all[s].type));
              return;
            }
            case TypeForm::Error:
            case TypeForm::Never:
            case TypeForm::Buffer:
            case TypeForm::Param:
            case TypeForm::Var:
            case TypeForm::Fragment:
            case TypeForm::Tensor: return;
          }
        };
    std::vector<std::vector<std::int64_t>> cell_offsets(slots.size());
    place_cells(element, 0, 0, cell_offsets);
    for (const auto& slot : cell_offsets)
      for (const std::int64_t offset : slot) value.cells.push_back(b_.slot_value(at_offset(offset)));
    frame.locals[i].value = value;
  }
  // Extents of views may name scalar parameters, so they come last.
  for (std::size_t i = 0; i < kernel.params.size(); ++i)
    for (const Expr* e : frame.body->locals[i].extents) frame.locals[i].buffer->extents.push_back(node(*e));
}

// --- indexes ---------------------------------------------------------------------------------------------------------------------

NodeId Lowerer::bits(ir::Type type, std::uint64_t value) {
  const std::optional<ir::ConstValue> v = ir::value_of(ir::canonical_nan(type, value), type);  // the host chooses a NaN's sign
  return b_.constant(type, v.value_or(ir::ConstValue::of_int(0)));
}

NodeId Lowerer::add_index(NodeId a, NodeId b) {
  if (!a) return b;
  if (!b) return a;
  const auto x = ir::integer_literal(b_.graph(), a);
  const auto y = ir::integer_literal(b_.graph(), b);
  ir::Type type = b_.graph().type(a);
  // A literal takes the width of the other.
  if (x && !y) type = b_.graph().type(b);
  if (!x && !y && (type == ir::Type::I64 || b_.graph().type(b) == ir::Type::I64)) type = ir::Type::I64;
  if (x && y) return b_.int_constant(type, *x + *y);
  if (x && *x == 0) return b;
  if (y && *y == 0) return a;
  return b_.op(ir::Op::Add, {x ? b_.int_constant(type, *x) : b_.cast(a, type), y ? b_.int_constant(type, *y) : b_.cast(b, type)});
}

NodeId Lowerer::scale_index(NodeId a, std::int64_t by) {
  if (!a || by == 1) return a;
  const ir::Type type = b_.graph().type(a);
  if (const auto x = ir::integer_literal(b_.graph(), a)) return b_.int_constant(type, *x * by);
  return b_.op(ir::Op::Mul, {a, b_.int_constant(type, by)});
}

NodeId Lowerer::cell_index(const SlotPlace& s, std::int64_t cell) {
  NodeId at = cell == 0 ? s.index : add_index(s.index, b_.i32(cell));
  return at ? at : b_.i32(0);
}

NodeId Lowerer::load_cell(const SlotPlace& s, std::int64_t cell) { return b_.load(s.buffer, cell_index(s, cell)); }

// --- storage ---------------------------------------------------------------------------------------------------------------------

Lowerer::Place Lowerer::new_temp(TypeId type, const std::string& name) {
  Place out{type, false, {}};
  for (const Slot& s : std::vector<Slot>(types_.slots(type)))
    out.slots.push_back({b_.reg(name, s.type, std::max<std::int64_t>(s.count, 1)), {}});
  return out;
}

Lowerer::Place Lowerer::new_shared(TypeId type, const std::string& name) {
  Place out{type, false, {}};
  const std::vector<Slot> slots = types_.slots(type);
  for (std::size_t s = 0; s < slots.size(); ++s)
    out.slots.push_back({b_.shared(slots.size() == 1 ? name : name + "." + std::to_string(s), slots[s].type, slots[s].count), {}});
  return out;
}

Lowerer::Place Lowerer::field_place(const Place& of, std::size_t index) {
  const TypeNode type = types_[of.type];
  const TypeId part = type.form == TypeForm::Tuple ? type.args[index] : types_.member(of.type, types_.def_of(of.type).fields[index].type);
  const std::size_t first = types_.first_slot(of.type, index);
  Place out{part, of.packed, {}};
  for (std::size_t s = 0; s < types_.slots(part).size(); ++s) out.slots.push_back(of.slots[first + s]);
  return out;
}

Lowerer::Place Lowerer::element_place(const Place& of, NodeId index) {
  const TypeId part = types_[of.type].args[0];
  Place out{part, of.packed, of.slots};
  const std::vector<Slot> slots = types_.slots(part);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    const std::int64_t stride = of.packed ? types_.memory(part).size / ir::type_bytes(slots[s].type) : slots[s].count;
    out.slots[s].index = add_index(scale_index(index, stride), of.slots[s].index);
  }
  return out;
}

Lowerer::Place Lowerer::payload_place(const Place& of, std::size_t constructor, std::size_t argument) {
  const TypeId part = types_.member(of.type, types_.def_of(of.type).constructors[constructor].payload[argument]);
  // Inside of a variant the cells of a slot follow each other, also in buffers.
  Place out{part, false, {}};
  for (const auto& [slot, cell] : types_.payload_slots(of.type, constructor, argument))
    out.slots.push_back({of.slots[slot].buffer, cell == 0 ? of.slots[slot].index : add_index(of.slots[slot].index, b_.i32(cell))});
  return out;
}

namespace {

/// Positions of slot starts among the cells.
std::vector<std::size_t> slot_starts(const std::vector<Slot>& slots) {
  std::vector<std::size_t> out;
  std::size_t at = 0;
  for (const Slot& s : slots) {
    out.push_back(at);
    at += static_cast<std::size_t>(s.count);
  }
  return out;
}

}  // namespace

Lowerer::Value Lowerer::field_value(const Value& of, std::size_t index) {
  if (of.memory) return load(field_place(*of.memory, index));
  const TypeNode type = types_[of.type];
  const TypeId part = type.form == TypeForm::Tuple ? type.args[index] : types_.member(of.type, types_.def_of(of.type).fields[index].type);
  const std::vector<std::size_t> starts = slot_starts(types_.slots(of.type));
  const std::size_t first = types_.first_slot(of.type, index);
  const auto count = static_cast<std::ptrdiff_t>(types_.cells(part));
  Value out{part, {}, {}};
  if (count > 0) {
    const auto begin = of.cells.begin() + static_cast<std::ptrdiff_t>(starts[first]);
    out.cells.assign(begin, begin + count);
  }
  return out;
}

Lowerer::Value Lowerer::payload_value(const Value& of, std::size_t constructor, std::size_t argument) {
  if (of.memory) return load(payload_place(*of.memory, constructor, argument));
  const TypeId part = types_.member(of.type, types_.def_of(of.type).constructors[constructor].payload[argument]);
  const std::vector<std::size_t> starts = slot_starts(types_.slots(of.type));
  const auto places = types_.payload_slots(of.type, constructor, argument);
  const std::vector<Slot> slots = types_.slots(part);
  Value out{part, {}, {}};
  for (std::size_t s = 0; s < slots.size(); ++s)
    for (std::int64_t k = 0; k < slots[s].count; ++k)
      out.cells.push_back(of.cells[starts[places[s].first] + static_cast<std::size_t>(places[s].second + k)]);
  return out;
}

Lowerer::Value Lowerer::element_value(const Value& of, NodeId index) {
  const TypeId part = types_[of.type].args[0];
  const auto constant = ir::integer_literal(b_.graph(), index);
  if (!of.memory && constant && *constant >= 0 && *constant < types_.element_count(of.type)) {
    const std::vector<Slot> outer = types_.slots(of.type);
    const std::vector<Slot> inner = types_.slots(part);
    const std::vector<std::size_t> starts = slot_starts(outer);
    Value out{part, {}, {}};
    for (std::size_t s = 0; s < inner.size(); ++s)
      for (std::int64_t k = 0; k < inner[s].count; ++k)
        out.cells.push_back(of.cells[starts[s] + static_cast<std::size_t>(*constant * inner[s].count + k)]);
    return out;
  }
  return load(element_place(*in_memory(of, "element").memory, index));
}

Lowerer::Value Lowerer::in_memory(const Value& value, const std::string& name) {
  if (value.memory) return value;
  // A value of literals is a table: stored once, at the start.
  std::vector<std::uint64_t> cells;
  const std::vector<Slot> slots = types_.slots(value.type);
  std::size_t cell = 0;
  bool constant = true;
  for (const Slot& s : slots)
    for (std::int64_t k = 0; k < s.count && constant; ++k) {
      const auto literal = ir::literal(b_.graph(), value.cells[cell++]);
      const auto literal_value = literal ? ir::bits_of(*literal, s.type) : std::nullopt;
      constant = literal_value.has_value();
      if (constant) cells.push_back(*literal_value);
    }
  if (constant) {
    const Table table{value.type, cells};
    if (const auto found = tables_.find(table); found != tables_.end()) return {value.type, {}, found->second};
    wanted_tables_.insert(table);
  }
  const Place temp = new_temp(value.type, name);
  store(temp, value);
  return {value.type, {}, temp};
}

Lowerer::Value Lowerer::load(const Place& place) {
  Value out{place.type, {}, {}};
  if (types_.cells(place.type) > kMaxValueCells) {
    out.memory = new_temp(place.type, "copy");
    copy_memory(*out.memory, place);
    return out;
  }
  // In a packed place the cells of a slot need not follow each other: go through the arrays.
  const std::function<void(const Place&, std::size_t, std::vector<std::vector<NodeId>>&)> walk =
      [&](const Place& at, std::size_t first, std::vector<std::vector<NodeId>>& cells) {
        const TypeNode type = types_[at.type];
        if (at.packed && type.form == TypeForm::Array) {
          for (std::int64_t i = 0; i < types_.element_count(at.type); ++i) walk(element_place(at, b_.i32(i)), first, cells);
          return;
        }
        if (at.packed && (type.form == TypeForm::Tuple || type.form == TypeForm::Record)) {
          const std::size_t parts = type.form == TypeForm::Tuple ? type.args.size() : types_.def_of(at.type).fields.size();
          for (std::size_t f = 0; f < parts; ++f) walk(field_place(at, f), first + types_.first_slot(at.type, f), cells);
          return;
        }
        const std::vector<Slot> slots = types_.slots(at.type);
        for (std::size_t s = 0; s < slots.size(); ++s)
          for (std::int64_t k = 0; k < slots[s].count; ++k) cells[first + s].push_back(load_cell(at.slots[s], k));
      };
  std::vector<std::vector<NodeId>> cells(place.slots.size());
  walk(place, 0, cells);
  for (const auto& slot : cells) out.cells.insert(out.cells.end(), slot.begin(), slot.end());
  return out;
}

void Lowerer::store(const Place& place, const Value& value) {
  if (value.memory) return copy_memory(place, *value.memory);
  const std::vector<std::size_t> starts = slot_starts(types_.slots(place.type));
  std::vector<std::size_t> next = starts;
  const std::function<void(const Place&, std::size_t)> walk = [&](const Place& at, std::size_t first) {
    const TypeNode type = types_[at.type];
    if (at.packed && type.form == TypeForm::Array) {
      for (std::int64_t i = 0; i < types_.element_count(at.type); ++i) walk(element_place(at, b_.i32(i)), first);
      return;
    }
    if (at.packed && (type.form == TypeForm::Tuple || type.form == TypeForm::Record)) {
      const std::size_t parts = type.form == TypeForm::Tuple ? type.args.size() : types_.def_of(at.type).fields.size();
      for (std::size_t f = 0; f < parts; ++f) walk(field_place(at, f), first + types_.first_slot(at.type, f));
      return;
    }
    const std::vector<Slot> slots = types_.slots(at.type);
    for (std::size_t s = 0; s < slots.size(); ++s)
      for (std::int64_t k = 0; k < slots[s].count; ++k)
        b_.store(at.slots[s].buffer, cell_index(at.slots[s], k), value.cells[next[first + s]++]);
  };
  walk(place, 0);
}

void Lowerer::copy_memory(const Place& to, const Place& from) {
  const TypeNode type = types_[to.type];
  // Element by element in a loop; what is no array falls apart first.
  if (type.form == TypeForm::Array) {
    const NodeId loop = b_.begin_range(b_.i32(types_.element_count(to.type)));
    const Place target = element_place(to, loop);
    const Place source = element_place(from, loop);
    if (types_.cells(target.type) > kMaxValueCells) {
      copy_memory(target, source);
    } else {
      store(target, load(source));
    }
    b_.end_range(loop);
    return;
  }
  if (type.form == TypeForm::Tuple || type.form == TypeForm::Record) {
    const std::size_t parts = type.form == TypeForm::Tuple ? type.args.size() : types_.def_of(to.type).fields.size();
    for (std::size_t f = 0; f < parts; ++f) copy_memory(field_place(to, f), field_place(from, f));
    return;
  }
  const std::vector<Slot> slots = types_.slots(to.type);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (slots[s].count <= kMaxValueCells) {
      for (std::int64_t k = 0; k < slots[s].count; ++k)
        b_.store(to.slots[s].buffer, cell_index(to.slots[s], k), load_cell(from.slots[s], k));
      continue;
    }
    const NodeId loop = b_.begin_range(b_.i32(slots[s].count));
    b_.store(to.slots[s].buffer, add_index(loop, to.slots[s].index), b_.load(from.slots[s].buffer, add_index(loop, from.slots[s].index)));
    b_.end_range(loop);
  }
}

Lowerer::Value Lowerer::zero(TypeId type) {
  Value out{type, {}, {}};
  if (types_.cells(type) <= kMaxValueCells) {
    for (const Slot& s : std::vector<Slot>(types_.slots(type)))
      for (std::int64_t k = 0; k < s.count; ++k) out.cells.push_back(b_.zero(s.type));
    return out;
  }
  const std::vector<Slot> slots = types_.slots(type);
  out.memory = new_temp(type, "zeros");
  for (std::size_t s = 0; s < slots.size(); ++s) {
    const NodeId loop = b_.begin_range(b_.i32(slots[s].count));
    b_.store(out.memory->slots[s].buffer, loop, b_.zero(slots[s].type));
    b_.end_range(loop);
  }
  return out;
}

/// A value that control never brings (after `return`) is zero where one is needed.
Lowerer::Value Lowerer::known(const Value& value, TypeId type) {
  if (types_.form(value.type) != TypeForm::Never || types_.form(type) == TypeForm::Never) return value;
  return zero(type);
}

// --- the front door --------------------------------------------------------------------------------------------------------------

std::optional<ir::Program> lower(const TypedModule& module, std::string_view kernel, const SourceManager& sources, DiagnosticSink& sink) {
  Module& m = module.impl();
  for (const Kernel& k : m.kernels) {
    if (k.file != &m.files[0] || k.name != kernel) continue;
    return Lowerer(m, sources, sink).run(k);
  }
  return std::nullopt;
}

std::vector<ir::Program> lower_all(const TypedModule& module, const SourceManager& sources, DiagnosticSink& sink) {
  std::vector<ir::Program> out;
  Module& m = module.impl();
  for (const Kernel& k : m.kernels) {
    if (k.file != &m.files[0]) continue;
    if (std::optional<ir::Program> program = Lowerer(m, sources, sink).run(k)) out.push_back(std::move(*program));
  }
  return out;
}

}  // namespace sarek::sema
