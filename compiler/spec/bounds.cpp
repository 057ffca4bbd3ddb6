// Interval arithmetic over 128-bit integers, node by node.
#include "compiler/spec/bounds.h"

#include <algorithm>
#include <array>

#include "compiler/ir/shape.h"

namespace sarek::spec {

using ir::ConstValue;
using ir::Graph;
using ir::NodeId;
using ir::Op;
using ir::Type;
using ir::TypeKind;

namespace {

Int128 clamp(Int128 v) { return std::clamp(v, -kUnbounded, kUnbounded); }

Int128 add(Int128 a, Int128 b) { return clamp(a + b); }  // both within 2^120: no overflow
Int128 mul(Int128 a, Int128 b) {
  Int128 r = 0;
  if (!__builtin_mul_overflow(a, b, &r)) return clamp(r);
  return (a < 0) == (b < 0) ? kUnbounded : -kUnbounded;
}
Int128 floor_div(Int128 a, Int128 b) {
  const Int128 q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
Int128 floor_mod(Int128 a, Int128 b) { return a - floor_div(a, b) * b; }

/// The hull of an operation over all four corners: right for what is monotone in each operand.
template <class F>
Interval corners(const Interval& a, const Interval& b, F f) {
  const std::array<Int128, 4> v{f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)};
  return {*std::min_element(v.begin(), v.end()), *std::max_element(v.begin(), v.end())};
}

Interval as_interval(bool lo, bool hi) { return {lo ? 1 : 0, hi ? 1 : 0}; }

/// Remainder with the sign of the dividend, for divisors of one sign. Only the divisor's magnitude matters.
Interval truncated_remainder(const Interval& x, Interval y) {
  if (y.hi < 0) y = {-y.hi, -y.lo};
  const Int128 most = y.hi - 1;
  if (y.is_single() && x.lo >= 0 && x.lo / y.lo == x.hi / y.lo) return {x.lo % y.lo, x.hi % y.lo};
  const Int128 lo = x.lo >= 0 ? Int128{0} : std::max(x.lo, -most);
  const Int128 hi = x.hi <= 0 ? Int128{0} : std::min(x.hi, most);
  // A dividend below the least divisor stays as it is.
  if (x.lo >= 0 && x.hi < y.lo) return x;
  return {lo, hi};
}

/// 2^n - 1, the least such value that is at least v (v >= 0).
Int128 all_ones_above(Int128 v) {
  Int128 ones = 0;
  while (ones < v) ones = ones * 2 + 1;
  return ones;
}

int width_of(Type type) { return ir::type_bits(type) ? ir::type_bits(type) : 128; }

}  // namespace

Interval type_interval(Type type) {
  const int bits = ir::type_bits(type);
  switch (ir::type_kind(type)) {
    case TypeKind::Bool: return {0, 1};
    case TypeKind::Signed: return {-(Int128{1} << (bits - 1)), (Int128{1} << (bits - 1)) - 1};
    case TypeKind::Unsigned: return {0, (Int128{1} << bits) - 1};
    case TypeKind::None:
    case TypeKind::Float:
    case TypeKind::WeakInt:
    case TypeKind::WeakFloat: break;
  }
  return {-kUnbounded, kUnbounded};
}

Interval hull(const Interval& a, const Interval& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

Interval intersect(const Interval& a, const Interval& b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }

Interval wrap(const Interval& exact, Type type) {
  const Interval whole = type_interval(type);
  if (whole.contains(exact)) return exact;
  if (!exact.is_single() || ir::type_bits(type) == 0 || exact.lo >= kUnbounded || exact.lo <= -kUnbounded) return whole;
  const Int128 wrapped = whole.lo + floor_mod(exact.lo - whole.lo, Int128{1} << ir::type_bits(type));
  return {wrapped, wrapped};
}

std::optional<Interval> exact_interval(Op op, const std::vector<Interval>& s, std::optional<std::int64_t> right_literal, Type type) {
  // No value of a source, no value of the node.
  for (const Interval& i : s)
    if (i.empty()) return Interval{0, -1};
  if (s.size() == 2) {
    const Interval &x = s[0], &y = s[1];
    const bool divides = y.lo > 0 || y.hi < 0;  // division by zero has a meaning of its own: no rule covers it
    if (op == Op::Add) return Interval{add(x.lo, y.lo), add(x.hi, y.hi)};
    if (op == Op::Sub) return Interval{add(x.lo, -y.hi), add(x.hi, -y.lo)};
    if (op == Op::Mul) return corners(x, y, mul);
    if (op == Op::Max) return Interval{std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
    if (op == Op::Cdiv && divides) return corners(x, y, [](Int128 a, Int128 b) { return a / b; });
    if (op == Op::Floordiv && divides) return corners(x, y, floor_div);
    if (op == Op::Cmod && divides) return truncated_remainder(x, y);
    if (op == Op::Floormod && divides) {
      if (y.is_single() && floor_div(x.lo, y.lo) == floor_div(x.hi, y.lo)) return Interval{floor_mod(x.lo, y.lo), floor_mod(x.hi, y.lo)};
      if (y.lo > 0) return x.lo >= 0 ? truncated_remainder(x, y) : Interval{0, y.hi - 1};
      return Interval{y.lo + 1, 0};
    }
    if (op == Op::Cmplt) return as_interval(x.hi < y.lo, x.lo < y.hi);
    const bool disjoint = x.hi < y.lo || y.hi < x.lo, same = x.is_single() && x == y;
    if (op == Op::Cmpne) return as_interval(disjoint, !same);
    if (op == Op::Cmpeq) return as_interval(same, !disjoint);
    if (type == Type::Bool) {
      if (op == Op::And) return Interval{std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
      if (op == Op::Or) return Interval{std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
      if (op == Op::Xor) return x.is_single() && y.is_single() ? Interval{x.lo ^ y.lo, x.lo ^ y.lo} : Interval{0, 1};
    }
    if (op == Op::And) {
      if (x.lo >= 0 && y.lo >= 0) return Interval{0, std::min(x.hi, y.hi)};
      if (x.lo >= 0) return Interval{0, x.hi};
      if (y.lo >= 0) return Interval{0, y.hi};
    }
    if (op == Op::Xor && right_literal == -1) return Interval{-1 - x.hi, -1 - x.lo};
    if ((op == Op::Or || op == Op::Xor) && x.lo >= 0 && y.lo >= 0 && x.hi < kUnbounded && y.hi < kUnbounded)
      return Interval{op == Op::Or ? std::max(x.lo, y.lo) : Int128{0}, all_ones_above(std::max(x.hi, y.hi))};
    if ((op == Op::Shl || op == Op::Shr) && right_literal) {
      const int width = width_of(type);
      if (ir::is_weak(type) && (*right_literal < 0 || *right_literal > 100)) return std::nullopt;
      const int count = static_cast<int>(*right_literal & (width - 1));  // the count is taken modulo the width
      if (op == Op::Shl) return corners(x, {Int128{1} << std::min(count, 100), Int128{1} << std::min(count, 100)}, mul);
      return Interval{x.lo >> count, x.hi >> count};  // floor, as an arithmetic shift does
    }
    return std::nullopt;
  }
  if (op == Op::Neg && s.size() == 1) return Interval{-s[0].hi, -s[0].lo};
  if (op == Op::Trunc && s.size() == 1) return s[0];
  if (op == Op::Mulacc && s.size() == 3) {
    const Interval product = corners(s[0], s[1], mul);
    return Interval{add(product.lo, s[2].lo), add(product.hi, s[2].hi)};
  }
  if (op == Op::Where && s.size() == 3) {
    if (s[0].is_single()) return s[0].lo ? s[1] : s[2];
    return hull(s[1], s[2]);
  }
  return std::nullopt;
}

const Interval& BoundsTable::of(NodeId id) {
  known_.reserve(graph_.size());
  while (known_.size() <= id.index()) known_.push_back(compute(NodeId(static_cast<std::uint32_t>(known_.size()))));
  return known_[id.index()];
}

Interval BoundsTable::compute(NodeId id) const {
  const Type type = graph_.type(id);
  const Interval whole = type_interval(type);
  if (!ir::has_valid_arity(graph_, id)) return whole;
  const Op op = graph_.op(id);
  const std::span<const NodeId> sources = graph_.sources(id);
  const auto of = [&](std::size_t i) { return known_[sources[i].index()]; };
  if (program_) {
    const auto* p = op == Op::Param ? graph_.arg_as<ir::ParamArg>(id) : nullptr;
    std::optional<Interval> promised;
    if (p && p->space == ir::AddressSpace::None) {
      const auto [slot, is_new] = slots_.try_emplace(p->slot);
      if (is_new) slot->second = launch_interval(*program_, id);
      promised = slot->second;
    } else {
      promised = launch_interval(*program_, id);
    }
    if (promised) return intersect(*promised, whole);
  }
  if (const auto value = ir::literal(graph_, id); value && value->kind != ConstValue::Kind::Float)
    return type == Type::WeakInt || whole.contains({value->integer, value->integer})
               ? Interval{clamp(value->integer), clamp(value->integer)}
               : whole;
  if (op == Op::Param) {
    const auto* p = graph_.arg_as<ir::ParamArg>(id);
    if (p && p->space == ir::AddressSpace::None && p->range) return intersect({p->range->first, p->range->second}, whole);
    return whole;
  }
  if ((op == Op::Range || op == Op::Special) && type != Type::Void) return Interval{0, add(of(0).hi, -1)};
  // A table of constants: the hull of its elements, also of those that are read from it.
  if (op == Op::Stack && !sources.empty()) {
    Interval all{0, -1};
    for (std::size_t i = 0; i < sources.size(); ++i) all = hull(all, of(i));
    return all;
  }
  if (op == Op::Index || op == Op::After || op == Op::Load) {
    const bool table = graph_.op(ir::place_base(graph_, sources[0])) == Op::Stack;
    Interval read = table || op == Op::After ? of(0) : whole;
    if (op == Op::Load && sources.size() >= 2) read = hull(read, of(1));
    return read;
  }
  if (op == Op::Where && sources.size() == 3 && type != Type::Bool) {
    // WHERE(c, x, Invalid) is a gated x: where the gate is false there is no access at all.
    if (ir::is_invalid(graph_, sources[2])) return of(1);
    if (ir::is_invalid(graph_, sources[1])) return of(2);
  }
  if (op == Op::Cast && ir::is_int(type)) {
    const Type from = graph_.type(sources[0]);
    if (!ir::is_int(from) && from != Type::Bool) return whole;
    return wrap(of(0), type);
  }
  if (!ir::is_int(type) && type != Type::Bool) return whole;
  if (ir::is_comparison(op) || ir::is_alu(op)) {
    for (const NodeId s : sources)
      if (ir::is_float(graph_.type(s))) return whole;
    std::vector<Interval> inputs;
    for (std::size_t i = 0; i < sources.size(); ++i) inputs.push_back(of(i));
    const auto literal = sources.size() == 2 ? ir::integer_literal(graph_, sources[1]) : std::nullopt;
    if (const auto exact = exact_interval(op, inputs, literal, type)) return wrap(*exact, type);
    return whole;
  }
  if (op == Op::Ins) {
    const auto* ins = graph_.arg_as<ir::InsArg>(id);
    if (!ins) return whole;
    if (ins->code == ir::Ins::Min && sources.size() == 2) return Interval{std::min(of(0).lo, of(1).lo), std::min(of(0).hi, of(1).hi)};
    if (ins->code == ir::Ins::Abs && sources.size() == 1 && of(0).lo > whole.lo) {
      const Interval x = of(0);
      return x.lo >= 0 ? x : x.hi <= 0 ? Interval{-x.hi, -x.lo} : Interval{0, std::max(-x.lo, x.hi)};
    }
    if ((ins->code == ir::Ins::Clz || ins->code == ir::Ins::Ctz || ins->code == ir::Ins::Popcount) && sources.size() == 1)
      return intersect({0, std::max(1, ir::type_bits(graph_.type(sources[0])))}, whole);
    // An exchange yields a value that some lane had.
    if (ins->code >= ir::Ins::Shuffle && ins->code <= ir::Ins::ShuffleXor && !sources.empty()) return of(0);
    if ((ins->code == ir::Ins::ReduceMin || ins->code == ir::Ins::ReduceMax) && sources.size() == 1) return of(0);
  }
  return whole;
}

std::optional<std::int64_t> cells_per_element(const ir::Program& program, int slot, Type type) {
  if (slot < 0 || static_cast<std::size_t>(slot) >= program.slots.size()) return std::nullopt;
  const ir::Slot& s = program.slots[static_cast<std::size_t>(slot)];
  if (s.kind != ir::Slot::Kind::Buffer || s.param < 0 || static_cast<std::size_t>(s.param) >= program.params.size()) return std::nullopt;
  const std::int64_t size = program.params[static_cast<std::size_t>(s.param)].element.size;
  const int bytes = ir::type_bytes(type);
  if (bytes == 0 || size <= 0 || size % bytes != 0) return std::nullopt;
  return size / bytes;
}

std::optional<Interval> launch_interval(const ir::Program& program, NodeId id) {
  const Graph& graph = program.graph;
  const Int128 most = program.wide ? Int128{INT64_MAX} : Int128{INT32_MAX};
  const auto groups = [&](int axis) {
    const Int128 block = std::max(1, program.block[static_cast<std::size_t>(axis)]);
    // Counts of blocks are i32 also where ids are wide.
    return std::min(most / block, Int128{INT32_MAX});
  };
  if (graph.op(id) == Op::Special) {
    const auto* name = graph.arg_as<ir::NameArg>(id);
    if (!name) return std::nullopt;
    const auto axis = [&](std::string_view prefix) {
      if (name->name.size() != prefix.size() + 1 || name->name.compare(0, prefix.size(), prefix) != 0) return -1;
      const int a = name->name.back() - 'x';
      return a >= 0 && a < 3 ? a : -1;
    };
    if (const int a = axis("local_id."); a >= 0) return Interval{0, program.block[static_cast<std::size_t>(a)] - 1};
    if (const int a = axis("group_id."); a >= 0) return Interval{0, groups(a) - 1};
    return std::nullopt;
  }
  const auto* p = graph.op(id) == Op::Param ? graph.arg_as<ir::ParamArg>(id) : nullptr;
  if (!p || p->space != ir::AddressSpace::None || p->slot < 0 || static_cast<std::size_t>(p->slot) >= program.slots.size())
    return std::nullopt;
  const ir::Slot& slot = program.slots[static_cast<std::size_t>(p->slot)];
  switch (slot.kind) {
    case ir::Slot::Kind::Buffer:
    case ir::Slot::Kind::Scalar: return std::nullopt;
    case ir::Slot::Kind::NumGroups: return Interval{1, groups(std::clamp(slot.axis, 0, 2))};
    case ir::Slot::Kind::SharedLength: return Interval{0, Int128{INT32_MAX}};
    case ir::Slot::Kind::Length: {
      Int128 cells = 1;
      if (slot.of_slot >= 0 && static_cast<std::size_t>(slot.of_slot) < program.slots.size()) {
        const int param = program.slots[static_cast<std::size_t>(slot.of_slot)].param;
        if (param >= 0 && static_cast<std::size_t>(param) < program.params.size())
          for (const ir::LayoutField& f : program.params[static_cast<std::size_t>(param)].element.fields)
            if (const auto c = cells_per_element(program, slot.of_slot, f.type)) cells = std::max(cells, Int128{*c});
      }
      return Interval{0, most / cells};
    }
  }
  return std::nullopt;
}

std::string to_text(Int128 value) {
  if (value == 0) return "0";
  // The magnitude as unsigned: the least value has no positive counterpart.
  __extension__ typedef unsigned __int128 Unsigned;
  Unsigned rest = value < 0 ? Unsigned{0} - static_cast<Unsigned>(value) : static_cast<Unsigned>(value);
  std::string digits;
  for (; rest != 0; rest /= 10) digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  return value < 0 ? "-" + digits : digits;
}

}  // namespace sarek::spec
