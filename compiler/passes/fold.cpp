// Constant folding and the identities that keep every bit. What a float identity may assume is spelt out beside it: +0 and -0 differ, NaN
// may not be lost (its sign and payload may), and no rounding may appear or vanish.
#include <array>
#include <cmath>

#include "compiler/ir/evaluate.h"
#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace sarek::passes {

using namespace ir;

namespace {

int significand_bits(Type t) { return t == Type::F16 ? 11 : t == Type::Bf16 ? 8 : t == Type::F32 ? 24 : t == Type::F64 ? 53 : 0; }

/// Is every value of `from` a value of `to`, so that CAST to `to` is exact and one-to-one? (NaN counts as one value.)
bool holds_every_value(Type to, Type from) {
  if (to == from) return true;
  if (is_weak(to) || is_weak(from) || to == Type::Void || from == Type::Void || to == Type::Bool) return false;
  if (from == Type::Bool) return is_int(to) || significand_bits(to) > 0;
  const auto magnitude_bits = [](Type t) { return type_bits(t) - (is_signed(t) ? 1 : 0); };
  if (is_int(from) && is_int(to)) return (is_signed(to) || is_unsigned(from)) && magnitude_bits(to) >= magnitude_bits(from);
  // MIN is a power of two and fits where the other values do; none of these ranges overflows a format with that many bits.
  if (is_int(from)) return magnitude_bits(from) <= significand_bits(to);
  if (!is_float(to) || significand_bits(from) == 0 || significand_bits(to) == 0) return false;
  return to == Type::F64 || (to == Type::F32 && from != Type::F64);
}

class Folder {
 public:
  Folder(Program program, FoldOptions options)
      : options_(options), structure_(structure_of(program)), rw_(std::move(program)), graph_(rw_.graph()), gone_(graph_.size()) {}

  Program run() {
    const std::vector<NodeId>& body = rw_.body();
    for (std::size_t at = 0; at < body.size(); ++at) {
      const Op op = graph_.op(body[at]);
      if (structure_ && structure_->partner[at] > static_cast<int>(at)) {
        const auto end = static_cast<std::size_t>(structure_->partner[at]);
        if (skip_scope(body[at], op, body[end])) at = end;
      } else {
        node(body[at], op);
      }
    }
    return rw_.finish();
  }

 private:
  std::optional<ConstValue> value(NodeId id) const { return literal(graph_, id); }
  bool is_zero(NodeId id) const { return is_literal(graph_, id, 0); }
  bool is_one(NodeId id) const { return is_literal(graph_, id, 1); }
  bool is_minus_one(NodeId id) const {
    const Type t = graph_.type(id);
    if (is_unsigned(t)) return type_bits(t) > 0 && is_literal(graph_, id, (Int128{1} << type_bits(t)) - 1);
    return is_literal(graph_, id, -1);
  }
  bool is_not(NodeId id) const { return graph_.op(id) == Op::Xor && graph_.type(id) == Type::Bool && is_one(graph_.source(id, 1)); }

  /// Handles a RANGE or IF; true: its whole stretch is gone.
  bool skip_scope(NodeId id, Op op, NodeId closer) {
    const auto drop_pair = [&] { gone_[id.index()] = gone_[closer.index()] = true; };
    if (op == Op::If) {
      const std::optional<ConstValue> c = value(rw_.now(graph_.source(id, 0)));
      if (!c) return rw_.keep(id), false;
      if (c->integer == 0) return true;
      return drop_pair(), false;
    }
    if (graph_.op(closer) == Op::Backedge) {
      // The loop runs once when the condition to go on is false from the start; a condition that only folds in this walk is found next
      // time.
      if (is_zero(graph_.source(closer, 2))) return drop_pair(), false;
      return rw_.keep(id), false;
    }
    const std::optional<ConstValue> count = value(rw_.now(graph_.source(id, 0)));
    if (!count || count->kind != ConstValue::Kind::Int || count->integer > 1) return rw_.keep(id), false;
    if (count->integer <= 0) return true;
    rw_.replace(id, rw_.zero(graph_.type(id)));
    return drop_pair(), false;
  }

  void node(NodeId id, Op op) {
    if (gone_[id.index()]) return;
    if (is_leaf(graph_, id)) {
      rw_.keep(id);
      return;
    }
    sources_.clear();
    for (const NodeId s : graph_.sources(id)) sources_.push_back(rw_.now(s));
    rw_.at(graph_.range(id));
    if (op == Op::Store && sources_.size() == 3) return gated_store(id);
    if (op == Op::Ins && is_ins(graph_, id, Ins::Trap) && is_zero(sources_[0])) return;
    if (op == Op::Load && sources_.size() == 3) {
      if (is_zero(sources_[2])) return rw_.replace(id, sources_[1]);
      if (is_one(sources_[2])) return rw_.replace(id, rw_.emit(Op::Load, {sources_[0]}));
    }
    if (is_pure(graph_, id) && op != Op::Index) {
      const NodeId by = simplify(op, graph_.type(id), graph_.arg(id), sources_);
      if (by) return rw_.replace(id, by);
    }
    rw_.keep(id);
  }

  void gated_store(NodeId id) {
    if (is_zero(sources_[2])) return;
    if (is_one(sources_[2])) rw_.emit(Op::Store, {sources_[0], sources_[1]});
    else rw_.keep(id);
  }

  /// The value of an operation on literals.
  NodeId evaluated(Op op, Type type, const Arg& arg, const std::vector<NodeId>& s) {
    std::array<Type, 3> types{};
    std::array<std::uint64_t, 3> bits{};
    if (s.empty() || s.size() > 3) return {};
    for (std::size_t i = 0; i < s.size(); ++i) {
      const std::optional<ConstValue> v = value(s[i]);
      if (!v) return {};
      types[i] = graph_.type(s[i]);
      const std::optional<std::uint64_t> b = bits_of(*v, types[i]);
      if (!b) return {};
      bits[i] = *b;
    }
    const std::span<const Type> source_types(types.data(), s.size());
    const std::span<const std::uint64_t> operands(bits.data(), s.size());
    const auto* ins = std::get_if<InsArg>(&arg);
    const std::optional<std::uint64_t> result =
        op == Op::Ins ? ir::evaluate(ins->code, type, source_types, operands) : ir::evaluate(op, type, source_types, operands);
    // The host chooses the sign of a NaN that it makes; what is compiled must not depend on it.
    const std::optional<ConstValue> v = result ? value_of(ir::canonical_nan(type, *result), type) : std::nullopt;
    return v ? rw_.constant(type, *v) : NodeId{};
  }

  /// Emits the operation, simplified.
  NodeId build(Op op, Type type, const std::vector<NodeId>& s, const Arg& arg = {}) {
    const NodeId by = simplify(op, type, arg, s);
    return by ? by : rw_.emit(op, s, arg);
  }

  /// A node that equals the operation, or none when it is as simple as it gets.
  NodeId simplify(Op op, Type type, const Arg& arg_in, const std::vector<NodeId>& s) {
    const Arg arg = op == Op::Ins || op == Op::Cast || op == Op::Bitcast ? arg_in : Arg{};  // a copy: the graph may move its arguments
    if (const NodeId constant = evaluated(op, type, arg, s)) return constant;
    if (op == Op::Where) return where(type, s);
    if (op == Op::Cast) return cast(type, s[0]);
    if (op == Op::Bitcast) return graph_.type(s[0]) == type ? s[0] : NodeId{};
    if (op == Op::Ins) return instruction(std::get<InsArg>(arg).code, s);
    for (const NodeId source : s)
      if (graph_.type(source) != graph_.type(s[0]))
        return {};  // weak operands, counts of shifts in another type: not in programs that matter
    if (is_comparison(op)) return comparison(op, s[0], s[1]);
    if (type == Type::Bool) return boolean(op, s);
    if (is_float(type)) return on_floats(op, type, s);
    if (is_int(type)) return on_integers(op, type, s);
    return {};
  }

  NodeId where(Type type, const std::vector<NodeId>& s) {
    const std::optional<ConstValue> c = value(s[0]);
    if (c) return graph_.type(s[c->integer ? 1 : 2]) == type ? s[c->integer ? 1 : 2] : NodeId{};
    if (s[1] == s[2]) return s[1];
    if (type == Type::Bool) {
      if (is_one(s[1]) && is_zero(s[2])) return s[0];
      if (is_zero(s[1]) && is_one(s[2])) return rw_.logical_not(s[0]);
    }
    // A gated load has made the same choice already.
    if (graph_.op(s[1]) == Op::Load && graph_.sources(s[1]).size() == 3 && graph_.source(s[1], 2) == s[0] && graph_.source(s[1], 1) == s[2])
      return s[1];
    if (is_not(s[0])) return build(Op::Where, type, {graph_.source(s[0], 0), s[2], s[1]});
    // An inner select on the same condition has made its choice.
    if (graph_.op(s[1]) == Op::Where && graph_.source(s[1], 0) == s[0]) return build(Op::Where, type, {s[0], graph_.source(s[1], 1), s[2]});
    if (graph_.op(s[2]) == Op::Where && graph_.source(s[2], 0) == s[0]) return build(Op::Where, type, {s[0], s[1], graph_.source(s[2], 2)});
    return {};
  }

  NodeId cast(Type to, NodeId x) {
    const Type middle = graph_.type(x);
    if (middle == to) return x;
    if (graph_.op(x) != Op::Cast || graph_.op(graph_.source(x, 0)) == Op::Const) return {};
    const NodeId inner = graph_.source(x, 0);
    const Type from = graph_.type(inner);
    const bool exact = holds_every_value(middle, from);
    // There and back: integers wrap back to themselves even where the sign was reinterpreted on the way.
    if (from == to && (exact || (is_int(from) && is_int(middle) && type_bits(middle) >= type_bits(from)))) return inner;
    if (!options_.merge_casts) return {};
    // The first step changed no value, so the second one alone is the conversion. Not where an integer came through a float and saturates
    // while a direct conversion would wrap.
    if (exact && !(is_int(from) && is_float(middle) && is_int(to))) return build(Op::Cast, to, {inner}, TypeArg{to});
    if (is_int(from) && is_int(middle) && is_int(to) && type_bits(to) <= type_bits(middle))
      return build(Op::Cast, to, {inner}, TypeArg{to});
    return {};
  }

  NodeId instruction(Ins code, const std::vector<NodeId>& s) {
    const auto inner_is = [&](Ins other) { return is_ins(graph_, s[0], other); };
    const Type type = graph_.type(s[0]);
    if (code == Ins::Min && s[0] == s[1]) return s[0];
    if (code == Ins::Abs) {
      if (is_unsigned(type) || inner_is(Ins::Abs)) return s[0];
      if (is_float(type) && graph_.op(s[0]) == Op::Neg) return build(Op::Ins, type, {graph_.source(s[0], 0)}, InsArg{Ins::Abs, type, {}});
    }
    const bool rounds = code == Ins::Floor || code == Ins::Ceil || code == Ins::Round;
    if (rounds && (inner_is(Ins::Floor) || inner_is(Ins::Ceil) || inner_is(Ins::Round) || graph_.op(s[0]) == Op::Trunc)) return s[0];
    return {};
  }

  NodeId comparison(Op op, NodeId x, NodeId y) {
    const Type type = graph_.type(x);
    if (op == Op::Cmplt) {
      if (x == y) return rw_.boolean(false);  // NaN, too
      if (is_unsigned(type) && is_zero(y)) return rw_.boolean(false);
      return {};
    }
    if (type == Type::Bool) {
      if (is_literal(graph_, x, 0) || is_literal(graph_, x, 1)) std::swap(x, y);
      if (is_one(y)) return op == Op::Cmpeq ? x : rw_.logical_not(x);
      if (is_zero(y)) return op == Op::Cmpne ? x : rw_.logical_not(x);
    }
    if (x == y && !is_float(type)) return rw_.boolean(op == Op::Cmpeq);
    return {};
  }

  NodeId boolean(Op op, std::vector<NodeId> s) {
    if (s.size() != 2) return {};
    if (value(s[0])) std::swap(s[0], s[1]);  // and, or, xor, max: literals on the right
    const bool zero = is_zero(s[1]);
    const bool one = is_one(s[1]);
    if (op == Op::And || op == Op::Mul) return one || s[0] == s[1] ? s[0] : zero ? s[1] : NodeId{};
    if (op == Op::Or || op == Op::Max) return zero || s[0] == s[1] ? s[0] : one ? s[1] : NodeId{};
    if (op != Op::Xor) return {};
    if (zero) return s[0];
    if (s[0] == s[1]) return rw_.boolean(false);
    if (!one) return {};
    if (is_not(s[0])) return graph_.source(s[0], 0);
    // Not of an (in)equality is its opposite, for NaN as well; of `<` it is not.
    const Op inner = graph_.op(s[0]);
    if (inner == Op::Cmpeq || inner == Op::Cmpne)
      return rw_.emit(inner == Op::Cmpeq ? Op::Cmpne : Op::Cmpeq, {graph_.source(s[0], 0), graph_.source(s[0], 1)});
    return {};
  }

  NodeId on_floats(Op op, Type type, std::vector<NodeId> s) {
    if (op == Op::Neg) return graph_.op(s[0]) == Op::Neg ? graph_.source(s[0], 0) : NodeId{};
    if (op == Op::Max) return s[0] == s[1] ? s[0] : NodeId{};
    if (op == Op::Trunc) {
      const bool integral = graph_.op(s[0]) == Op::Trunc || is_ins(graph_, s[0], Ins::Floor) || is_ins(graph_, s[0], Ins::Ceil);
      return integral ? s[0] : NodeId{};
    }
    if (s.size() != 2) return {};
    if ((op == Op::Add || op == Op::Mul) && value(s[0])) std::swap(s[0], s[1]);
    if (op == Op::Add) {
      if (is_float_literal(graph_, s[1], -0.0)) return s[0];  // (-0) + (-0) = -0; with +0.0 it would be +0
      // IEEE 754 defines x - y as x + (-y).
      if (graph_.op(s[1]) == Op::Neg) return build(Op::Sub, type, {s[0], graph_.source(s[1], 0)});
    }
    if (op == Op::Sub) {
      if (is_float_literal(graph_, s[1], 0.0)) return s[0];
      if (graph_.op(s[1]) == Op::Neg) return build(Op::Add, type, {s[0], graph_.source(s[1], 0)});
    }
    if ((op == Op::Mul || op == Op::Fdiv) && is_float_literal(graph_, s[1], 1.0)) return s[0];
    if ((op == Op::Mul || op == Op::Fdiv) && is_float_literal(graph_, s[1], -1.0)) return build(Op::Neg, type, {s[0]});
    if (op == Op::Fdiv) return by_power_of_two(type, s[0], s[1]);
    return {};
  }

  /// x / 2^k and x * 2^-k are the same real number, rounded once, when 2^-k is a normal number of the type.
  NodeId by_power_of_two(Type type, NodeId x, NodeId divisor) {
    const std::optional<ConstValue> c = value(divisor);
    if (!c || c->kind != ConstValue::Kind::Float || !std::isfinite(c->number) || significand_bits(type) == 0) return {};
    int exponent = 0;
    if (std::abs(std::frexp(c->number, &exponent)) != 0.5) return {};
    const int limit = type == Type::F16 ? 13 : type == Type::F64 ? 1020 : 125;
    if (exponent > limit || exponent < -limit) return {};
    return build(Op::Mul, type, {x, rw_.constant(type, ConstValue::of_float(1.0 / c->number))});
  }

  NodeId on_integers(Op op, Type type, std::vector<NodeId> s) {
    if (op == Op::Neg && graph_.op(s[0]) == Op::Neg) return graph_.source(s[0], 0);
    if (op == Op::Trunc) return s[0];
    if (op == Op::Mulacc) {
      if (is_zero(s[0]) || is_zero(s[1])) return s[2];
      return {};
    }
    if (s.size() != 2) return {};
    const bool commutes = has_trait(op, kCommutative);
    if (commutes && value(s[0]) && !value(s[1])) std::swap(s[0], s[1]);
    const NodeId x = s[0];
    const NodeId y = s[1];
    const bool zero = is_zero(y);
    if (zero && (op == Op::Add || op == Op::Sub || op == Op::Or || op == Op::Xor || op == Op::Shl || op == Op::Shr)) return x;
    if (zero && (op == Op::Mul || op == Op::And)) return y;
    if (x == y && (op == Op::Sub || op == Op::Xor)) return rw_.zero(type);
    if (x == y && (op == Op::And || op == Op::Or || op == Op::Max)) return x;
    if (is_one(y) && op == Op::Mul) return x;
    if (is_minus_one(y) && op == Op::Mul) return build(Op::Neg, type, {x});
    if (is_minus_one(y) && (op == Op::And || op == Op::Or)) return op == Op::And ? x : y;
    if (op == Op::Sub && is_zero(x)) return build(Op::Neg, type, {y});
    // x - c as x + (-c), so that chains of constants meet.
    if (op == Op::Sub && value(y)) return build(Op::Add, type, {x, build(Op::Neg, type, {y})});
    if (op == Op::Add || op == Op::Mul || op == Op::And || op == Op::Or || op == Op::Xor) return reassociated(op, type, x, y);
    if ((op == Op::Shl || op == Op::Shr) && is_zero(x)) return x;
    // x / 0 = x and x % 0 = 0, so these hold for every x.
    if ((op == Op::Cdiv || op == Op::Floordiv) && (zero || is_one(y))) return x;
    if ((op == Op::Cmod || op == Op::Floormod) && (zero || is_one(y) || x == y)) return rw_.zero(type);
    return {};
  }

  /// (x op c1) op c2 as x op (c1 op c2): integers wrap, so every grouping gives the same bits.
  NodeId reassociated(Op op, Type type, NodeId x, NodeId y) {
    if (!value(y) || graph_.op(x) != op || !value(graph_.source(x, 1)) || graph_.type(x) != type) return {};
    const NodeId inner = graph_.source(x, 0);
    return build(op, type, {inner, build(op, type, {graph_.source(x, 1), y})});
  }

  FoldOptions options_;
  std::optional<Structure> structure_;
  Rewriter rw_;
  const Graph& graph_;
  std::vector<bool> gone_;
  std::vector<NodeId> sources_;
};

}  // namespace

Program fold(Program program, FoldOptions options) { return Folder(std::move(program), options).run(); }

}  // namespace sarek::passes
