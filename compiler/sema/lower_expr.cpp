// Lowering of expressions, matches and calls. See lower.h.
#include <algorithm>

#include "compiler/ir/evaluate.h"
#include "compiler/sema/check.h"
#include "compiler/sema/lower.h"

namespace sarek::sema {

using ir::NodeId;

namespace {

constexpr std::int64_t kInlineLimit = 10000;
constexpr std::size_t kMaxNodes = 4'000'000;

bool is_pure_shape(BuiltinShape shape) {
  return shape == BuiltinShape::Float1 || shape == BuiltinShape::Float2 || shape == BuiltinShape::Float3 || shape == BuiltinShape::Number1 ||
         shape == BuiltinShape::Number2 || shape == BuiltinShape::Integer2 || shape == BuiltinShape::Count;
}

}  // namespace

// --- scalars ---------------------------------------------------------------------------------------------------------------------

NodeId Lowerer::fold(ir::Op op, NodeId a, NodeId b) {
  const ir::Graph& g = b_.graph();
  const auto x = ir::literal(g, a);
  const auto y = ir::literal(g, b);
  // Only integers and conditions: what the optimiser does with floats is its own business, and a division by zero must stay to be reported.
  if (x && y && !ir::is_float(g.type(a)) && op != ir::Op::Cdiv && op != ir::Op::Cmod) {
    const auto left = ir::bits_of(*x, g.type(a));
    const auto right = ir::bits_of(*y, g.type(b));
    const bool compares = op == ir::Op::Cmplt || op == ir::Op::Cmpeq || op == ir::Op::Cmpne;
    const ir::Type type = compares ? ir::Type::Bool : g.type(a);
    if (left && right)
      if (const auto value = ir::evaluate(op, type, std::array{g.type(a), g.type(b)}, std::array{*left, *right})) return bits(type, *value);
  }
  return b_.op(op, {a, b});
}

NodeId Lowerer::both(NodeId a, NodeId b) {
  if (!a) return b;
  if (!b) return a;
  return fold(ir::Op::And, a, b);
}

NodeId Lowerer::negate(NodeId condition) { return fold(ir::Op::Xor, condition, b_.bool_constant(true)); }

/// The other branch of a condition stands where the condition does.
NodeId Lowerer::negate_at(NodeId condition, const Expr& where) {
  const At at(*this, where.range);
  return negate(condition);
}

NodeId Lowerer::unary(Op op, NodeId x) {
  const ir::Type type = b_.graph().type(x);
  if (op == Op::Not) return negate(x);
  if (op == Op::BitNot) return fold(ir::Op::Xor, x, bits(type, ir::type_bits(type) == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << ir::type_bits(type)) - 1));
  return b_.op(ir::Op::Neg, {x});
}

NodeId Lowerer::binary(Op op, NodeId a, NodeId b) {
  const ir::Type type = b_.graph().type(a);
  const bool floating = ir::is_float(type);
  switch (op) {
    case Op::Mul: return fold(ir::Op::Mul, a, b);
    case Op::Div: return fold(floating ? ir::Op::Fdiv : ir::Op::Cdiv, a, b);
    case Op::Mod: return fold(ir::Op::Cmod, a, b);
    case Op::Add: return fold(ir::Op::Add, a, b);
    case Op::Sub: return fold(ir::Op::Sub, a, b);
    case Op::Shl:
    case Op::Shr: {
      // The count is taken modulo the width, which every cast to u32 keeps: widths are powers of two.
      NodeId count = b;
      if (b_.graph().type(b) != type) {
        const auto literal = ir::integer_literal(b_.graph(), b);
        count = literal ? b_.int_constant(type, *literal & (ir::type_bits(type) - 1)) : b_.cast(b, ir::Type::U32);
      }
      return b_.op(op == Op::Shl ? ir::Op::Shl : ir::Op::Shr, {a, count});
    }
    case Op::BitAnd: return fold(ir::Op::And, a, b);
    case Op::BitXor: return fold(ir::Op::Xor, a, b);
    case Op::BitOr: return fold(ir::Op::Or, a, b);
    case Op::Eq: return fold(ir::Op::Cmpeq, a, b);
    case Op::Ne: return fold(ir::Op::Cmpne, a, b);
    case Op::Lt: return fold(ir::Op::Cmplt, a, b);
    case Op::Gt: return fold(ir::Op::Cmplt, b, a);
    case Op::Le:
      // Of numbers that may be NaN, "not greater" is not "less or equal".
      return floating ? fold(ir::Op::Or, fold(ir::Op::Cmplt, a, b), fold(ir::Op::Cmpeq, a, b)) : negate(fold(ir::Op::Cmplt, b, a));
    case Op::Ge: return floating ? fold(ir::Op::Or, fold(ir::Op::Cmplt, b, a), fold(ir::Op::Cmpeq, a, b)) : negate(fold(ir::Op::Cmplt, a, b));
    case Op::Neg:
    case Op::Not:
    case Op::BitNot:
    case Op::And:
    case Op::Or: break;
  }
  return a;
}

NodeId Lowerer::equal(const Value& a, const Value& b) {
  if (a.memory || b.memory) {
    // Large arrays: cell by cell in a loop.
    const Value x = in_memory(a, "left");
    const Value y = in_memory(b, "right");
    const NodeId same = b_.reg("equal", ir::Type::Bool);
    b_.set(same, b_.bool_constant(true));
    const std::vector<Slot> slots = types_.slots(a.type);
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const NodeId loop = b_.begin_range(b_.i32(slots[s].count));
      const NodeId left = b_.load(x.memory->slots[s].buffer, add_index(loop, x.memory->slots[s].index));
      const NodeId right = b_.load(y.memory->slots[s].buffer, add_index(loop, y.memory->slots[s].index));
      b_.set(same, b_.op(ir::Op::And, {b_.get(same), b_.op(ir::Op::Cmpeq, {left, right})}));
      b_.end_range(loop);
    }
    return b_.get(same);
  }
  NodeId out;
  for (std::size_t i = 0; i < a.cells.size(); ++i) out = both(out, fold(ir::Op::Cmpeq, a.cells[i], b.cells[i]));
  return out ? out : b_.bool_constant(true);
}

NodeId Lowerer::id(const Expr& e) {
  const auto axis = static_cast<int>(e.index);
  const bool varying = (e.id == IdKind::LocalId || e.id == IdKind::GlobalId || e.id == IdKind::LaneId);
  if (varying)
    for (int a = 0; a < 3; ++a) {
      if ((e.id != IdKind::LaneId && a != axis) || b_.program().block[static_cast<std::size_t>(a)] == 1) continue;
      notes_.occurrences.push_back({static_cast<std::uint32_t>(b_.graph().size()), b_.local_id(a), e.range});
    }
  const auto sized = [&](NodeId x) { return wide_ ? b_.cast(x, ir::Type::I64) : x; };
  switch (e.id) {
    case IdKind::GlobalId: return b_.global_id(axis);
    case IdKind::LocalId: return sized(b_.local_id(axis));
    case IdKind::GroupId: return sized(b_.group_id(axis));
    case IdKind::GroupSize: return b_.int_constant(wide_ ? ir::Type::I64 : ir::Type::I32, b_.program().block[static_cast<std::size_t>(axis)]);
    case IdKind::NumGroups: return sized(b_.num_groups(axis));
    case IdKind::WarpSize: return b_.i32(32);
    case IdKind::LaneId: return b_.op(ir::Op::And, {b_.linear_local_id(), b_.i32(31)});
  }
  return {};
}

// --- places ----------------------------------------------------------------------------------------------------------------------

Lowerer::Place Lowerer::buffer_element(const Buffer& buffer, NodeId index) {
  Place out = buffer.first;
  const std::vector<Slot> slots = types_.slots(buffer.element);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    const std::int64_t stride = out.packed ? types_.memory(buffer.element).size / ir::type_bytes(slots[s].type) : slots[s].count;
    out.slots[s].index = add_index(scale_index(index, stride), buffer.first.slots[s].index);
  }
  return out;
}

NodeId Lowerer::flat_index(const Expr& e, const std::vector<NodeId>& extents) {
  NodeId flat;
  for (std::size_t i = 1; i < e.args.size(); ++i) {
    NodeId index = node(*e.args[i]);
    // Elements of small integer type cannot be: the checker lets i32 and i64 through.
    if (flat) {
      NodeId extent = extents[i - 1];
      const ir::Type type = b_.graph().type(flat) == ir::Type::I64 || b_.graph().type(extent) == ir::Type::I64 ? ir::Type::I64 : ir::Type::I32;
      const auto literal = ir::integer_literal(b_.graph(), extent);
      const NodeId row = fold(ir::Op::Mul, b_.cast(flat, type), literal ? b_.int_constant(type, *literal) : b_.cast(extent, type));
      flat = add_index(row, index);
    } else {
      flat = index;
    }
  }
  return flat;
}

std::optional<Lowerer::Place> Lowerer::place(const Expr& e) {
  switch (e.form) {
    case ExprForm::Local: {
      const Binding& binding = frame_->locals[e.index];
      if (binding.place) return binding.place;
      if (binding.value && binding.value->memory) return binding.value->memory;
      return std::nullopt;
    }
    case ExprForm::Field: {
      const std::optional<Place> base = place(*e.args[0]);
      if (!base) return std::nullopt;
      return field_place(*base, e.index);
    }
    case ExprForm::Index: {
      if (e.args[0]->form == ExprForm::Local && frame_->locals[e.args[0]->index].buffer) {
        const Buffer& buffer = *frame_->locals[e.args[0]->index].buffer;
        const NodeId index = flat_index(e, buffer.extents);
        const At at(*this, e.range);
        return buffer_element(buffer, index);
      }
      const std::optional<Place> base = place(*e.args[0]);
      if (!base) return std::nullopt;
      std::vector<NodeId> extents;
      for (const std::int64_t n : types_[base->type].extents) extents.push_back(b_.i32(n));
      const NodeId index = flat_index(e, extents);
      const At at(*this, e.range);
      return element_place(*base, index);
    }
    case ExprForm::Error:
    case ExprForm::Literal:
    case ExprForm::Cells:
    case ExprForm::Id:
    case ExprForm::Unary:
    case ExprForm::Binary:
    case ExprForm::Logic:
    case ExprForm::Cast:
    case ExprForm::Bitcast:
    case ExprForm::Call:
    case ExprForm::Intrinsic:
    case ExprForm::Construct:
    case ExprForm::Repeat:
    case ExprForm::Inject:
    case ExprForm::Length:
    case ExprForm::If:
    case ExprForm::Match:
    case ExprForm::Block: return std::nullopt;
  }
  return std::nullopt;
}

/// A local, field or element.
Lowerer::Value Lowerer::path(const Expr& e) {
  // What is rooted in a plain value is taken from its cells; only what is rooted in storage is a place.
  const Expr* root = &e;
  while (root->form == ExprForm::Field || root->form == ExprForm::Index) root = root->args[0];
  const bool stored = root->form == ExprForm::Local && (frame_->locals[root->index].place || frame_->locals[root->index].buffer ||
                                                        (frame_->locals[root->index].value && frame_->locals[root->index].value->memory));
  if (stored) {
    // A whole value that nobody writes is shared, not copied.
    if (e.form == ExprForm::Local && frame_->locals[e.index].value) return *frame_->locals[e.index].value;
    const std::optional<Place> where = place(e);
    const At at(*this, e.range);
    return load(*where);
  }
  if (e.form == ExprForm::Local) return frame_->locals[e.index].value.value_or(Value{type_of(e.type), {}, {}});
  const Value base = known(expr(*e.args[0]), type_of(e.args[0]->type));
  if (e.form == ExprForm::Field) return field_value(base, e.index);
  std::vector<NodeId> extents;
  for (const std::int64_t n : types_[base.type].extents) extents.push_back(b_.i32(n));
  const NodeId index = flat_index(e, extents);
  const At at(*this, e.range);
  return element_value(base, index);
}

// --- expressions -----------------------------------------------------------------------------------------------------------------

Lowerer::Value Lowerer::expr(const Expr& e) {
  const At at(*this, e.range);
  const TypeId type = type_of(e.type);
  const auto one = [&](NodeId n) { return Value{type, {n}, {}}; };
  switch (e.form) {
    case ExprForm::Error: failed_ = true; return zero(type);
    case ExprForm::Literal: {
      const ir::Type scalar = types_.scalar_of(type);
      return one(bits(scalar, literal_bits(e, scalar).value_or(0)));
    }
    case ExprForm::Cells: {
      const std::vector<Slot> slots = types_.slots(type);
      Value out{type, {}, {}};
      if (types_.cells(type) > kMaxValueCells) {
        const Table table{type, e.cells};
        if (const auto found = tables_.find(table); found != tables_.end()) {
          out.memory = found->second;
          return out;
        }
        wanted_tables_.insert(table);
        out.memory = new_temp(type, "table");
        return out;  // the first attempt only finds out that it is needed
      }
      std::size_t cell = 0;
      for (const Slot& s : slots)
        for (std::int64_t k = 0; k < s.count; ++k) out.cells.push_back(bits(s.type, e.cells[cell++]));
      return out;
    }
    case ExprForm::Local:
    case ExprForm::Field:
    case ExprForm::Index: return path(e);
    case ExprForm::Id: return one(id(e));
    case ExprForm::Unary: {
      const NodeId x = node(*e.args[0]);
      return one(unary(e.op, x));
    }
    case ExprForm::Binary: {
      if (e.op == Op::Eq || e.op == Op::Ne) {
        const Value a = known(expr(*e.args[0]), type_of(e.args[0]->type));
        const Value b = known(expr(*e.args[1]), type_of(e.args[1]->type));
        if (!a.memory && a.cells.size() == 1) return one(binary(e.op, a.cells[0], b.cells[0]));
        const NodeId same = equal(a, b);
        return one(e.op == Op::Eq ? same : negate(same));
      }
      const NodeId a = node(*e.args[0]);
      const NodeId b = node(*e.args[1]);
      return one(binary(e.op, a, b));
    }
    case ExprForm::Logic: return one(short_circuit(e));
    case ExprForm::Cast: {
      const NodeId x = node(*e.args[0]);
      return one(b_.cast(x, types_.scalar_of(type)));
    }
    case ExprForm::Bitcast: {
      const NodeId x = node(*e.args[0]);
      return one(b_.bitcast(x, types_.scalar_of(type)));
    }
    case ExprForm::Call: return call(e);
    case ExprForm::Intrinsic: return intrinsic(e);
    case ExprForm::Construct: return construct(e);
    case ExprForm::Repeat: {
      const Value element = known(expr(*e.args[0]), type_of(e.args[0]->type));
      const std::int64_t count = types_.element_count(type);
      Value out{type, {}, {}};
      if (types_.cells(type) > kMaxValueCells) {
        out.memory = new_temp(type, "array");
        const NodeId loop = b_.begin_range(b_.i32(count));
        store(element_place(*out.memory, loop), element);
        b_.end_range(loop);
        return out;
      }
      std::size_t cell = 0;
      for (const Slot& s : std::vector<Slot>(types_.slots(element.type))) {
        for (std::int64_t i = 0; i < count; ++i)
          for (std::int64_t k = 0; k < s.count; ++k) out.cells.push_back(element.cells[cell + static_cast<std::size_t>(k)]);
        cell += static_cast<std::size_t>(s.count);
      }
      return out;
    }
    case ExprForm::Inject: return inject(e);
    case ExprForm::Length: {
      Buffer& buffer = *frame_->locals[e.args[0]->index].buffer;
      if (!buffer.length) buffer.length = b_.length(b_.slot_of(buffer.first.slots[0].buffer));
      NodeId length = buffer.length;
      if (b_.graph().type(length) != types_.scalar_of(type)) length = b_.cast(length, types_.scalar_of(type));
      return one(length);
    }
    case ExprForm::If: return if_value(e);
    case ExprForm::Match: return match_value(e);
    case ExprForm::Block: return block_value(e);
  }
  return {};
}

NodeId Lowerer::short_circuit(const Expr& e) {
  const NodeId left = node(*e.args[0]);
  const bool is_and = e.op == Op::And;
  if (const auto constant = ir::integer_literal(b_.graph(), left)) {
    if ((*constant != 0) != is_and) return b_.bool_constant(!is_and);
    return node(*e.args[1]);
  }
  if (is_cheap(*e.args[1])) {
    const NodeId right = node(*e.args[1]);
    return fold(is_and ? ir::Op::And : ir::Op::Or, left, right);
  }
  const NodeId result = b_.reg(is_and ? "and" : "or", ir::Type::Bool);
  b_.set(result, left);
  const NodeId opened = b_.begin_if(is_and ? left : negate(left));
  notes_.value_branches.insert(opened);
  b_.set(result, node(*e.args[1]));
  b_.end_if(opened);
  return b_.get(result);
}

bool Lowerer::is_cheap(const Expr& e, int& budget) {
  if (--budget < 0 || e.exits) return false;
  switch (e.form) {
    case ExprForm::Literal:
    case ExprForm::Id:
    case ExprForm::Length: return true;
    case ExprForm::Cells: return e.cells.size() <= 4;
    case ExprForm::Local: {
      const Binding& b = frame_->locals[e.index];
      const std::int64_t cells = types_.cells(type_of(e.type));
      budget -= static_cast<int>(std::min<std::int64_t>(cells, 100)) - 1;
      if (b.value) return !b.value->memory && budget >= 0;
      // Registers are this thread's own: reading them cannot fault. Shared memory may be.
      return b.place && !b.place->slots.empty() && budget >= 0 &&
             b_.graph().arg_as<ir::ParamArg>(b.place->slots[0].buffer)->space == ir::AddressSpace::Reg;
    }
    case ExprForm::Field: return is_cheap(*e.args[0], budget);
    case ExprForm::Unary:
    case ExprForm::Cast:
    case ExprForm::Bitcast: return is_cheap(*e.args[0], budget);
    case ExprForm::Binary: {
      // Checked mode reports a division by zero: only where it really happens.
      if ((e.op == Op::Div || e.op == Op::Mod) && ir::is_int(scalar_of(*e.args[0]))) {
        const Expr& divisor = *e.args[1];
        const bool safe = (divisor.form == ExprForm::Literal && divisor.integer != 0) || (divisor.form == ExprForm::Cells && divisor.cells[0] != 0);
        if (!safe) return false;
      }
      return is_cheap(*e.args[0], budget) && is_cheap(*e.args[1], budget);
    }
    case ExprForm::Logic: return is_cheap(*e.args[0], budget) && is_cheap(*e.args[1], budget);
    case ExprForm::Intrinsic:
      if (!is_pure_shape(builtin_info(e.builtin).shape) || e.builtin == Builtin::CeilDiv || e.builtin == Builtin::Sqrt) return false;
      return std::all_of(e.args.begin(), e.args.end(), [&](const Expr* a) { return is_cheap(*a, budget); });
    case ExprForm::Construct: return std::all_of(e.args.begin(), e.args.end(), [&](const Expr* a) { return is_cheap(*a, budget); });
    case ExprForm::Block: return e.statements.empty() && e.args[0] && is_cheap(*e.args[0], budget);
    case ExprForm::Error:
    case ExprForm::Call:
    case ExprForm::Repeat:
    case ExprForm::Inject:
    case ExprForm::Index:
    case ExprForm::If:
    case ExprForm::Match: return false;
  }
  return false;
}

Lowerer::Value Lowerer::construct(const Expr& e) {
  const TypeId type = type_of(e.type);
  Value out{type, {}, {}};
  if (types_.cells(type) > kMaxValueCells) {
    out.memory = new_temp(type, "value");
    for (std::size_t i = 0; i < e.args.size(); ++i) {
      const Value part = known(expr(*e.args[i]), type_of(e.args[i]->type));
      store(types_.form(type) == TypeForm::Array ? element_place(*out.memory, b_.i32(static_cast<std::int64_t>(i))) : field_place(*out.memory, i), part);
    }
    return out;
  }
  std::vector<Value> parts;
  for (const Expr* a : e.args) parts.push_back(known(expr(*a), type_of(a->type)));
  if (types_.form(type) == TypeForm::Array) {
    if (parts.empty()) return out;
    // Slot by slot, and within a slot element by element.
    std::size_t cell = 0;
    for (const Slot& s : std::vector<Slot>(types_.slots(parts[0].type))) {
      for (const Value& p : parts)
        for (std::int64_t k = 0; k < s.count; ++k) out.cells.push_back(p.cells[cell + static_cast<std::size_t>(k)]);
      cell += static_cast<std::size_t>(s.count);
    }
    return out;
  }
  for (const Value& p : parts) out.cells.insert(out.cells.end(), p.cells.begin(), p.cells.end());
  return out;
}

Lowerer::Value Lowerer::inject(const Expr& e) {
  const TypeId type = type_of(e.type);
  const std::vector<Slot> slots = types_.slots(type);
  if (types_.cells(type) > kMaxValueCells) {
    Value out{type, {}, new_temp(type, "variant")};
    b_.store(out.memory->slots[0].buffer, b_.i32(0), b_.i32(e.index));
    for (std::size_t i = 0; i < e.args.size(); ++i) store(payload_place(*out.memory, e.index, i), known(expr(*e.args[i]), type_of(e.args[i]->type)));
    return out;
  }
  std::vector<std::size_t> starts;
  std::size_t total = 0;
  for (const Slot& s : slots) {
    starts.push_back(total);
    total += static_cast<std::size_t>(s.count);
  }
  Value out = zero(type);
  out.cells[0] = b_.i32(e.index);
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    const Value part = known(expr(*e.args[i]), type_of(e.args[i]->type));
    const std::vector<Slot> inner = types_.slots(part.type);
    const auto places = types_.payload_slots(type, e.index, i);
    std::size_t cell = 0;
    for (std::size_t s = 0; s < inner.size(); ++s)
      for (std::int64_t k = 0; k < inner[s].count; ++k) out.cells[starts[places[s].first] + static_cast<std::size_t>(places[s].second + k)] = part.cells[cell++];
  }
  return out;
}

// --- branches --------------------------------------------------------------------------------------------------------------------

Lowerer::Value Lowerer::if_value(const Expr& e) {
  const TypeId type = type_of(e.type);
  if (is_unit(type)) {
    if_into(e, {});
    return {type, {}, {}};
  }
  if (types_.cells(type) <= 4 && e.args[2] && is_cheap(*e.args[1]) && is_cheap(*e.args[2])) {
    const NodeId condition = node(*e.args[0]);
    if (const auto constant = ir::integer_literal(b_.graph(), condition)) return expr(*constant ? *e.args[1] : *e.args[2]);
    const Value a = expr(*e.args[1]);
    const Value b = expr(*e.args[2]);
    Value out{type, {}, {}};
    for (std::size_t i = 0; i < a.cells.size(); ++i) out.cells.push_back(b_.op(ir::Op::Where, {condition, a.cells[i], b.cells[i]}));
    return out;
  }
  const Place result = new_temp(type, "if");
  if_into(e, {&result, false});
  return load(result);
}

void Lowerer::if_into(const Expr& e, Dest dest) {
  const NodeId condition = node(*e.args[0]);
  const bool gives_value = dest.place && !dest.tail && !dest.place->slots.empty();
  branch(condition, [&] { into(*e.args[1], dest); }, gives_value);
  if (e.args[2]) branch(negate_at(condition, *e.args[0]), [&] { into(*e.args[2], dest); }, gives_value);
}

NodeId Lowerer::test(const Pattern& p, const Value& v) {
  switch (p.form) {
    case PatternForm::Wildcard:
    case PatternForm::Bind: return {};
    case PatternForm::Literal: {
      const NodeId literal = b_.graph().type(v.cells[0]) == ir::Type::Bool ? b_.bool_constant(p.value != 0) : b_.int_constant(b_.graph().type(v.cells[0]), p.value);
      return fold(ir::Op::Cmpeq, v.cells[0], literal);
    }
    case PatternForm::Constructor: {
      NodeId out;
      if (types_.def_of(v.type).constructors.size() > 1) out = fold(ir::Op::Cmpeq, tag_of(v), b_.i32(p.constructor));
      for (std::size_t i = 0; i < p.parts.size(); ++i)
        if (p.parts[i]->form != PatternForm::Wildcard && p.parts[i]->form != PatternForm::Bind) out = both(out, test(*p.parts[i], payload_value(v, p.constructor, i)));
      return out;
    }
    case PatternForm::Tuple: {
      NodeId out;
      for (std::size_t i = 0; i < p.parts.size(); ++i) out = both(out, test(*p.parts[i], field_value(v, i)));
      return out;
    }
    case PatternForm::Or: {
      NodeId out;
      for (const Pattern* part : p.parts) {
        const NodeId one = test(*part, v);
        if (!one) return {};
        out = out ? fold(ir::Op::Or, out, one) : one;
      }
      return out;
    }
  }
  return {};
}

void Lowerer::bind(const Pattern& p, const Value& v, bool mutable_binding) {
  switch (p.form) {
    case PatternForm::Wildcard:
    case PatternForm::Literal: return;
    case PatternForm::Bind: {
      const Local& local = frame_->body->locals[p.local];
      Binding& binding = frame_->locals[p.local];
      if (mutable_binding) {
        if (!binding.place) binding.place = new_temp(v.type, local.name);
        store(*binding.place, v);
      } else {
        binding.value = local.indexed && !v.memory && !v.cells.empty() ? in_memory(v, local.name) : v;
      }
      return;
    }
    case PatternForm::Constructor:
      for (std::size_t i = 0; i < p.parts.size(); ++i)
        if (p.parts[i]->form != PatternForm::Wildcard) bind(*p.parts[i], payload_value(v, p.constructor, i), mutable_binding);
      return;
    case PatternForm::Tuple:
      for (std::size_t i = 0; i < p.parts.size(); ++i) bind(*p.parts[i], field_value(v, i), mutable_binding);
      return;
    case PatternForm::Or: {
      const std::function<bool(const Pattern&)> binds = [&](const Pattern& q) {
        return q.form == PatternForm::Bind || std::any_of(q.parts.begin(), q.parts.end(), [&](const Pattern* x) { return binds(*x); });
      };
      if (!binds(*p.parts[0])) return;
      // The alternatives bind the same names: the value is that of the first alternative that fits.
      std::map<std::uint32_t, Value> chosen;
      NodeId done;
      for (const Pattern* part : p.parts) {
        NodeId fits = test(*part, v);
        bind(*part, v, false);
        const std::function<void(const Pattern&)> take = [&](const Pattern& q) {
          if (q.form == PatternForm::Bind) {
            const Value now = *frame_->locals[q.local].value;
            const auto before = chosen.find(q.local);
            if (before == chosen.end()) {
              chosen[q.local] = now;
            } else if (!now.memory && !before->second.memory) {
              for (std::size_t i = 0; i < now.cells.size(); ++i)
                before->second.cells[i] = b_.op(ir::Op::Where, {done, before->second.cells[i], now.cells[i]});
            }
          }
          for (const Pattern* inner : q.parts) take(*inner);
        };
        take(*part);
        if (!fits) fits = b_.bool_constant(true);
        done = done ? fold(ir::Op::Or, done, fits) : fits;
      }
      for (const auto& [local, value] : chosen) frame_->locals[local].value = value;
      return;
    }
  }
}

Lowerer::Value Lowerer::match_value(const Expr& e) {
  const TypeId type = type_of(e.type);
  if (is_unit(type)) {
    match_into(e, {});
    return {type, {}, {}};
  }
  const Place result = new_temp(type, "match");
  const bool guarded = std::any_of(e.arms.begin(), e.arms.end(), [](const Arm& a) { return a.guard != nullptr; });
  if (guarded) store(result, zero(type));
  match_into(e, {&result, false});
  return load(result);
}

void Lowerer::match_into(const Expr& e, Dest dest) {
  const Value v = known(expr(*e.args[0]), type_of(e.args[0]->type));
  const bool guarded = std::any_of(e.arms.begin(), e.arms.end(), [](const Arm& a) { return a.guard != nullptr; });
  const bool gives_value = dest.place && !dest.tail && !dest.place->slots.empty();
  if (!guarded) {
    // Conditions are values, so all are there before the first arm runs. The last arm takes what the others leave: a match covers everything.
    NodeId rest;
    for (std::size_t i = 0; i < e.arms.size(); ++i) {
      const Arm& arm = e.arms[i];
      const At at(*this, arm.range);
      const NodeId fits = i + 1 == e.arms.size() ? NodeId{} : test(*arm.pattern, v);
      const NodeId condition = both(rest, fits);
      const auto take = [&] {
        bind(*arm.pattern, v, false);
        into(*arm.body, dest);
      };
      if (condition) {
        branch(condition, take, gives_value);
      } else {
        take();
      }
      if (!fits) return;
      rest = both(rest, negate(fits));
    }
    return;
  }
  const NodeId open = b_.reg("unmatched", ir::Type::Bool);
  b_.set(open, b_.bool_constant(true));
  for (const Arm& arm : e.arms) {
    const At at(*this, arm.range);
    branch(both(b_.get(open), test(*arm.pattern, v)), [&] {
      bind(*arm.pattern, v, false);
      const auto take = [&] {
        b_.set(open, b_.bool_constant(false));
        into(*arm.body, dest);
      };
      if (arm.guard) {
        branch(node(*arm.guard), take, gives_value);
      } else {
        take();
      }
    }, gives_value);
  }
}

// --- built-in functions ----------------------------------------------------------------------------------------------------------

NodeId Lowerer::ceil_div(NodeId a, NodeId b) {
  // a / b truncates; one more where something is left and the signs agree. No sum that could overflow.
  const ir::Type type = b_.graph().type(a);
  const NodeId quotient = b_.op(ir::Op::Cdiv, {a, b});
  const NodeId rest = b_.op(ir::Op::Cmod, {a, b});
  NodeId more = b_.op(ir::Op::Cmpne, {rest, b_.zero(type)});
  if (ir::is_signed(type)) {
    const NodeId same = b_.op(ir::Op::Cmpeq, {b_.op(ir::Op::Cmplt, {a, b_.zero(type)}), b_.op(ir::Op::Cmplt, {b, b_.zero(type)})});
    more = b_.op(ir::Op::And, {more, same});
  }
  return b_.op(ir::Op::Add, {quotient, b_.cast(more, type)});
}

Lowerer::Value Lowerer::intrinsic(const Expr& e) {
  const BuiltinInfo& info = builtin_info(e.builtin);
  const TypeId type = type_of(e.type);
  const ir::Type scalar = types_.scalar_of(type);
  const bool atomic = info.shape == BuiltinShape::Atomic || info.shape == BuiltinShape::AtomicBits || info.shape == BuiltinShape::AtomicStep ||
                      info.shape == BuiltinShape::AtomicCas;
  std::vector<NodeId> args;
  if (atomic) {
    const std::optional<Place> where = place(*e.args[0]);
    for (std::size_t i = 1; i < e.args.size(); ++i) args.push_back(node(*e.args[i]));
    const At at(*this, e.range);
    args.insert(args.begin(), b_.index(where->slots[0].buffer, cell_index(where->slots[0], 0)));
  } else {
    for (const Expr* a : e.args) args.push_back(node(*a));
  }
  const At at(*this, e.range);
  const auto one = [&](NodeId n) { return Value{type, {n}, {}}; };
  const auto op = [&](ir::Op o) { return one(b_.op(o, args)); };
  const auto ins = [&](ir::Ins i) { return one(b_.op(ir::Op::Ins, args, ir::InsArg{i, scalar, {}})); };
  const auto sync = [&](ir::Ins i) {
    b_.ins(i, ir::Type::Void, {});
    return Value{type, {}, {}};
  };
  switch (e.builtin) {
    case Builtin::Sqrt: return op(ir::Op::Sqrt);
    case Builtin::Floor: return ins(ir::Ins::Floor);
    case Builtin::Ceil: return ins(ir::Ins::Ceil);
    case Builtin::Trunc: return op(ir::Op::Trunc);
    case Builtin::Round: return ins(ir::Ins::Round);
    case Builtin::Fabs:
    case Builtin::Abs: return ins(ir::Ins::Abs);
    case Builtin::Copysign: return ins(ir::Ins::Copysign);
    case Builtin::Fma: return op(ir::Op::Mulacc);
    case Builtin::Min: return ins(ir::Ins::Min);
    case Builtin::Max: return op(ir::Op::Max);
    case Builtin::Clz: return ins(ir::Ins::Clz);
    case Builtin::Ctz: return ins(ir::Ins::Ctz);
    case Builtin::Popcount: return ins(ir::Ins::Popcount);
    case Builtin::MulHigh: return ins(ir::Ins::MulHigh);
    case Builtin::CeilDiv: return one(ceil_div(args[0], args[1]));
    case Builtin::Barrier: b_.barrier(); return {type, {}, {}};
    case Builtin::WarpBarrier: return sync(ir::Ins::WarpBarrier);
    case Builtin::FenceBlock: return sync(ir::Ins::FenceBlock);
    case Builtin::FenceDevice: return sync(ir::Ins::FenceDevice);
    case Builtin::Shuffle: return ins(ir::Ins::Shuffle);
    case Builtin::ShuffleUp: return ins(ir::Ins::ShuffleUp);
    case Builtin::ShuffleDown: return ins(ir::Ins::ShuffleDown);
    case Builtin::ShuffleXor: return ins(ir::Ins::ShuffleXor);
    case Builtin::VoteAll: return ins(ir::Ins::VoteAll);
    case Builtin::VoteAny: return ins(ir::Ins::VoteAny);
    case Builtin::Ballot: return ins(ir::Ins::Ballot);
    case Builtin::ActiveMask: return ins(ir::Ins::ActiveMask);
    case Builtin::ReduceAdd: return ins(ir::Ins::ReduceAdd);
    case Builtin::ReduceMin: return ins(ir::Ins::ReduceMin);
    case Builtin::ReduceMax: return ins(ir::Ins::ReduceMax);
    case Builtin::ReduceAnd: return ins(ir::Ins::ReduceAnd);
    case Builtin::ReduceOr: return ins(ir::Ins::ReduceOr);
    case Builtin::ReduceXor: return ins(ir::Ins::ReduceXor);
    case Builtin::AtomicAdd: return ins(ir::Ins::AtomicAdd);
    case Builtin::AtomicSub: return ins(ir::Ins::AtomicSub);
    case Builtin::AtomicExchange: return ins(ir::Ins::AtomicExchange);
    case Builtin::AtomicMin: return ins(ir::Ins::AtomicMin);
    case Builtin::AtomicMax: return ins(ir::Ins::AtomicMax);
    case Builtin::AtomicAnd: return ins(ir::Ins::AtomicAnd);
    case Builtin::AtomicOr: return ins(ir::Ins::AtomicOr);
    case Builtin::AtomicXor: return ins(ir::Ins::AtomicXor);
    case Builtin::AtomicInc: return ins(ir::Ins::AtomicInc);
    case Builtin::AtomicDec: return ins(ir::Ins::AtomicDec);
    case Builtin::AtomicCas: return ins(ir::Ins::AtomicCas);
    case Builtin::Sin:
    case Builtin::Cos:
    case Builtin::Tan:
    case Builtin::Asin:
    case Builtin::Acos:
    case Builtin::Atan:
    case Builtin::Atan2:
    case Builtin::Sinh:
    case Builtin::Cosh:
    case Builtin::Tanh:
    case Builtin::Exp:
    case Builtin::Exp2:
    case Builtin::Expm1:
    case Builtin::Log:
    case Builtin::Log2:
    case Builtin::Log10:
    case Builtin::Log1p:
    case Builtin::Pow:
    case Builtin::Cbrt:
    case Builtin::Hypot:
    case Builtin::Rsqrt:
    case Builtin::Erf: break;
  }
  // The checker has refused these.
  failed_ = true;
  return zero(type);
}

// --- calls -----------------------------------------------------------------------------------------------------------------------

Lowerer::Value Lowerer::call(const Expr& e) {
  const Function& f = *e.callee;
  const Body* body = f.uses_ids ? f.bodies[wide_ ? 1 : 0].get() : f.any_body();
  const TypeId result_type = type_of(e.type);
  if (!body || body->faulty || failed_) {
    failed_ = true;
    return zero(result_type);
  }
  int depth = 0;
  for (const Frame* at = frame_; at; at = at->caller) depth += at->function == &f ? 1 : 0;
  if (f.recursion == Recursion::Inline) {
    if (depth > f.inline_depth) {
      b_.trap(b_.bool_constant(true), "inline depth exceeded");
      return zero(result_type);
    }
    if (depth == 0 && !within_inline_limit(f, e.range)) {
      failed_ = true;
      return zero(result_type);
    }
  }
  if (b_.graph().size() > kMaxNodes) {
    sink_.report(DiagnosticKind::InlineLimit, e.range, "the kernel grows beyond " + std::to_string(kMaxNodes) + " operations when its functions are put in place");
    failed_ = true;
    return zero(result_type);
  }
  Frame inner;
  inner.function = &f;
  inner.body = body;
  inner.caller = frame_;
  inner.locals.resize(body->locals.size());
  for (std::size_t i = 0; i < e.type_args.size(); ++i) inner.by[f.type_params[i].second] = type_of(e.type_args[i]);
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    const Expr& arg = *e.args[i];
    Binding& binding = inner.locals[i];
    if (body->locals[i].kind != LocalKind::Buffer) {
      const Value v = known(expr(arg), type_of(arg.type));
      binding.value = body->locals[i].indexed && !v.memory && !v.cells.empty() ? in_memory(v, body->locals[i].name) : v;
      continue;
    }
    const Binding& given = frame_->locals[arg.index];
    if (given.buffer) {
      binding.buffer = given.buffer;
    } else {
      // A shared array as a buffer: its elements follow each other in every slot.
      const TypeId array = type_of(arg.type);
      Buffer buffer;
      buffer.element = types_[array].args[0];
      buffer.first = {buffer.element, false, given.place->slots};
      buffer.length = b_.int_constant(wide_ ? ir::Type::I64 : ir::Type::I32, types_.element_count(array));
      binding.buffer = buffer;
    }
    binding.buffer->extents.clear();
  }
  Frame* outer = frame_;
  frame_ = &inner;
  for (std::size_t i = 0; i < e.args.size(); ++i)
    for (const Expr* extent : body->locals[i].extents) inner.locals[i].buffer->extents.push_back(node(*extent));
  const Value out = f.recursion == Recursion::Tail ? call_loop(inner, result_type) : call_body(inner, result_type);
  frame_ = outer;
  return out;
}

Lowerer::Value Lowerer::call_body(Frame& inner, TypeId result_type) {
  const Expr& root = *inner.body->root;
  if (!(root.exits & kReturn)) return known(expr(root), result_type);
  if (reads_exit_flag(root)) {
    inner.returned = b_.reg("returned", ir::Type::Bool);
    b_.set(inner.returned, b_.bool_constant(false));
  }
  inner.result = new_temp(result_type, "result");
  into(root, {&*inner.result, false});
  return load(*inner.result);
}

/// A tail-recursive function: parameters become variables, a call of itself sets them all at once and asks for another turn.
Lowerer::Value Lowerer::call_loop(Frame& inner, TypeId result_type) {
  for (std::size_t i = 0; i < inner.body->locals.size() && inner.locals[i].value; ++i) {
    const Value start = *inner.locals[i].value;
    inner.locals[i].place = new_temp(start.type, inner.body->locals[i].name);
    store(*inner.locals[i].place, start);
    inner.locals[i].value.reset();
  }
  inner.result = new_temp(result_type, "result");
  inner.again = b_.reg("again", ir::Type::Bool);
  const Expr& root = *inner.body->root;
  const NodeId loop = b_.begin_loop();
  b_.set(inner.again, b_.bool_constant(false));
  if ((root.exits & kReturn) && reads_exit_flag(root)) {
    inner.returned = b_.reg("returned", ir::Type::Bool);
    b_.set(inner.returned, b_.bool_constant(false));
  }
  into(root, {&*inner.result, true});
  b_.end_loop(loop, b_.get(inner.again));
  return load(*inner.result);
}

void Lowerer::self_call(const Expr& e) {
  std::vector<Value> args;
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    // The loop has one set of buffers.
    if (!frame_->locals[i].buffer || e.args[i]->index == i) continue;
    sink_.report(DiagnosticKind::UnboundedRecursion, e.args[i]->range, "a function that becomes a loop must hand on its buffers as they are");
    failed_ = true;
    return;
  }
  for (const Expr* a : e.args) args.push_back(types_.form(type_of(a->type)) == TypeForm::Buffer ? Value{} : known(expr(*a), type_of(a->type)));
  // All arguments are there before the first parameter changes: gcd(b, a % b) reads the old b twice.
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!frame_->locals[i].place) continue;
    if (args[i].memory) {
      const Place copy = new_temp(args[i].type, "argument");
      copy_memory(copy, *args[i].memory);
      args[i].memory = copy;
    }
  }
  for (std::size_t i = 0; i < args.size(); ++i)
    if (frame_->locals[i].place) store(*frame_->locals[i].place, args[i]);
  b_.set(frame_->again, b_.bool_constant(true));
}

namespace {

/// The size of a body as a tree, and its calls of itself: per call, the size of each argument as a sum of a constant and of uses of parameters.
struct Growth {
  struct Linear {
    std::int64_t constant = 0;
    std::map<std::uint32_t, std::int64_t> uses;
  };
  Linear body;
  std::vector<std::vector<Linear>> calls;
};

void measure(const Expr* e, const Function& f, std::size_t params, Growth::Linear& into, Growth& growth);

void measure(const Stmt* s, const Function& f, std::size_t params, Growth::Linear& into, Growth& growth) {
  ++into.constant;
  for (const Expr* e : {s->target, s->value, s->first, s->last, s->step, s->body}) measure(e, f, params, into, growth);
  for (const Expr* e : s->list) measure(e, f, params, into, growth);
}

void measure(const Expr* e, const Function& f, std::size_t params, Growth::Linear& into, Growth& growth) {
  if (!e) return;
  if (e->form == ExprForm::Local && e->index < params) {
    ++into.uses[e->index];
    return;
  }
  if (e->form == ExprForm::Call && e->callee == &f) {
    std::vector<Growth::Linear> args;
    for (const Expr* a : e->args) {
      args.emplace_back();
      measure(a, f, params, args.back(), growth);
    }
    growth.calls.push_back(std::move(args));
    return;
  }
  if (e->form != ExprForm::Block) ++into.constant;
  for (const Expr* a : e->args) measure(a, f, params, into, growth);
  for (const Arm& a : e->arms) {
    measure(a.guard, f, params, into, growth);
    measure(a.body, f, params, into, growth);
  }
  for (const Stmt* s : e->statements) measure(s, f, params, into, growth);
}

}  // namespace

/// Counts what `inline(n)` makes: n rounds, each of which puts the body in place of every call that is left, with the arguments in place of the
/// parameters. Before each round there may be at most 10000 nodes.
bool Lowerer::within_inline_limit(const Function& f, SourceRange range) {
  if (!limit_checked_.insert(&f).second) return true;
  Growth growth;
  measure(f.any_body()->root, f, f.params.size(), growth.body, growth);
  using Sizes = std::vector<std::int64_t>;
  const auto size = [](const Growth::Linear& l, const Sizes& args) {
    std::int64_t out = l.constant;
    for (const auto& [param, uses] : l.uses) out += uses * args[param];
    return out;
  };
  std::int64_t settled = 0;                                   // nodes of bodies put in place, without the calls in them
  std::vector<Sizes> open{Sizes(f.params.size(), 1)};         // calls that are left, with the sizes of their arguments
  const auto expand = [&] {
    std::vector<Sizes> next;
    for (const Sizes& args : open) {
      settled += size(growth.body, args);
      for (const auto& call : growth.calls) {
        Sizes inner;
        for (const Growth::Linear& l : call) inner.push_back(size(l, args));
        next.push_back(std::move(inner));
      }
    }
    open = std::move(next);
  };
  const auto nodes = [&] {
    std::int64_t out = settled;
    for (const Sizes& args : open) {
      ++out;
      for (const std::int64_t a : args) out += a;
    }
    return out;
  };
  expand();  // the body itself
  for (int round = 0; round < f.inline_depth; ++round) {
    const std::int64_t count = nodes();
    if (count > kInlineLimit) {
      sink_.report(DiagnosticKind::InlineLimit, f.item->inline_range ? f.item->inline_range : range,
                   "inlining produced " + std::to_string(count) + " nodes (limit: " + std::to_string(kInlineLimit) + ")")
          .note(range, "`" + f.name + "` is called here");
      return false;
    }
    expand();
  }
  return true;
}

}  // namespace sarek::sema
