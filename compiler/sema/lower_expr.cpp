// Lowering of expressions, branches and matches. See lower.h.
#include <algorithm>

#include "compiler/ir/evaluate.h"
#include "compiler/sema/check.h"
#include "compiler/sema/lower.h"

namespace sarek::sema {

using ir::NodeId;

namespace {

bool is_pure_shape(BuiltinShape shape) {
  return shape == BuiltinShape::Float1 || shape == BuiltinShape::Float2 || shape == BuiltinShape::Float3 ||
         shape == BuiltinShape::Number1 || shape == BuiltinShape::Number2 || shape == BuiltinShape::Integer2 ||
         shape == BuiltinShape::Count;
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
  if (op == Op::BitNot)
    return fold(ir::Op::Xor, x, bits(type, ir::type_bits(type) == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << ir::type_bits(type)) - 1));
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
    case Op::Ge:
      return floating ? fold(ir::Op::Or, fold(ir::Op::Cmplt, b, a), fold(ir::Op::Cmpeq, a, b)) : negate(fold(ir::Op::Cmplt, a, b));
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
    case IdKind::GroupSize:
      return b_.int_constant(wide_ ? ir::Type::I64 : ir::Type::I32, b_.program().block[static_cast<std::size_t>(axis)]);
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
      const ir::Type type =
          b_.graph().type(flat) == ir::Type::I64 || b_.graph().type(extent) == ir::Type::I64 ? ir::Type::I64 : ir::Type::I32;
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
        const bool safe =
            (divisor.form == ExprForm::Literal && divisor.integer != 0) || (divisor.form == ExprForm::Cells && divisor.cells[0] != 0);
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
      store(types_.form(type) == TypeForm::Array ? element_place(*out.memory, b_.i32(static_cast<std::int64_t>(i)))
                                                 : field_place(*out.memory, i),
            part);
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
    for (std::size_t i = 0; i < e.args.size(); ++i)
      store(payload_place(*out.memory, e.index, i), known(expr(*e.args[i]), type_of(e.args[i]->type)));
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
      for (std::int64_t k = 0; k < inner[s].count; ++k)
        out.cells[starts[places[s].first] + static_cast<std::size_t>(places[s].second + k)] = part.cells[cell++];
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
      const NodeId literal = b_.graph().type(v.cells[0]) == ir::Type::Bool ? b_.bool_constant(p.value != 0)
                                                                           : b_.int_constant(b_.graph().type(v.cells[0]), p.value);
      return fold(ir::Op::Cmpeq, v.cells[0], literal);
    }
    case PatternForm::Constructor: {
      NodeId out;
      if (types_.def_of(v.type).constructors.size() > 1) out = fold(ir::Op::Cmpeq, tag_of(v), b_.i32(p.constructor));
      for (std::size_t i = 0; i < p.parts.size(); ++i)
        if (p.parts[i]->form != PatternForm::Wildcard && p.parts[i]->form != PatternForm::Bind)
          out = both(out, test(*p.parts[i], payload_value(v, p.constructor, i)));
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
    // Conditions are values, so all are there before the first arm runs. The last arm takes what the others leave: a match covers
    // everything.
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
    branch(
        both(b_.get(open), test(*arm.pattern, v)),
        [&] {
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
        },
        gives_value);
  }
}

}  // namespace sarek::sema
