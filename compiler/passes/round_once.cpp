// Which narrowings may round once, and the proofs. Facts about a value are found by looking at most a few operations up from it.
#include <algorithm>
#include <cmath>

#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/spec/bounds.h"
#include "compiler/support/numeric.h"

namespace sarek::passes {

using namespace ir;

namespace {

constexpr int kDepth = 8;  // how far up a proof looks

int significand_bits(Type t) { return t == Type::F16 ? 11 : t == Type::Bf16 ? 8 : t == Type::F32 ? 24 : t == Type::F64 ? 53 : 0; }
bool is_narrower(Type narrow, Type wide) { return significand_bits(narrow) > 0 && significand_bits(narrow) < significand_bits(wide); }

double rounded_to(double v, Type t) {
  if (t == Type::F16) return static_cast<double>(numeric::f32_from_f16(numeric::f16_from(v)));
  if (t == Type::Bf16) return static_cast<double>(numeric::f32_from_bf16(numeric::bf16_from(v)));
  return t == Type::F32 ? static_cast<double>(static_cast<float>(v)) : v;
}

class Rounder {
 public:
  Rounder(Program program, const Capabilities& capabilities, const std::function<bool(const NarrowingCandidate&)>& decide)
      : can_(capabilities), decide_(decide), rw_(std::move(program)), graph_(rw_.graph()), bounds_(graph_, &rw_.program()) {}

  Program run() {
    for (const NodeId id : rw_.body()) {
      NodeId by;
      if (graph_.op(id) == Op::Cast && !is_leaf(graph_, id)) {
        rw_.at(graph_.range(id));
        by = conversion(id);
        if (!by) by = arithmetic(id);
      }
      if (by) rw_.replace(id, by);
      else rw_.keep(id);
    }
    return rw_.finish();
  }

 private:
  // --- proofs, on nodes of the new body ----------------------------------------------------------------------------------------------

  /// The integers that a float node can be, when it can be nothing else (no fraction, NaN or infinity, and no rounding on the way: every
  /// partial result stays within `limit`).
  std::optional<spec::Interval> integer_values(NodeId id, Int128 limit, int depth = kDepth) {
    if (depth == 0) return std::nullopt;
    const auto inside = [&](spec::Interval i) { return i.lo >= -limit && i.hi <= limit ? std::optional(i) : std::nullopt; };
    if (const std::optional<ConstValue> v = literal(graph_, id)) {
      if (v->kind != ConstValue::Kind::Float || std::trunc(v->number) != v->number || std::abs(v->number) > 0x1p60) return std::nullopt;
      if (v->number == 0 && std::signbit(v->number)) return std::nullopt;
      const auto whole = static_cast<Int128>(v->number);
      return inside({whole, whole});
    }
    const Op op = graph_.op(id);
    if (op == Op::Cast) {
      const NodeId from = graph_.source(id, 0);
      if (is_int(graph_.type(from)) || graph_.type(from) == Type::Bool) return inside(bounds_.of(from));
      return is_float(graph_.type(from)) ? integer_values(from, limit, depth - 1) : std::nullopt;
    }
    if (op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Max || op == Op::Where) {
      const std::size_t first = op == Op::Where ? 1 : 0;
      const std::optional<spec::Interval> x = integer_values(graph_.source(id, first), limit, depth - 1);
      const std::optional<spec::Interval> y = x ? integer_values(graph_.source(id, first + 1), limit, depth - 1) : std::nullopt;
      if (!y) return std::nullopt;
      if (op == Op::Where) return inside(spec::hull(*x, *y));
      const std::optional<spec::Interval> exact = spec::exact_interval(op, {*x, *y}, std::nullopt, Type::WeakInt);
      return exact ? inside(*exact) : std::nullopt;
    }
    return std::nullopt;
  }

  /// Why every value of the node is a value of `narrow`; none when nothing here shows it.
  std::optional<std::string> holds(NodeId id, Type narrow, int depth = kDepth) {
    if (depth == 0) return std::nullopt;
    const Type type = graph_.type(id);
    const std::string target(type_name(narrow));
    if (type == narrow) return "the value is " + target + " already";
    if (const std::optional<ConstValue> v = literal(graph_, id)) {
      if (v->kind != ConstValue::Kind::Float) return std::nullopt;
      const bool fits = std::isnan(v->number) || rounded_to(v->number, narrow) == v->number;
      return fits ? std::optional("the literal is a value of " + target) : std::nullopt;
    }
    const Op op = graph_.op(id);
    if (op == Op::Cast) {
      const Type from = graph_.type(graph_.source(id, 0));
      if (is_float(from) && (from == narrow || (is_narrower(from, narrow) && !(from == Type::Bf16 && narrow == Type::F16))))
        return "every " + std::string(type_name(from)) + " is a value of " + target;
    }
    if (op == Op::Neg || op == Op::Trunc || is_ins(graph_, id, Ins::Abs) || is_ins(graph_, id, Ins::Floor) || is_ins(graph_, id, Ins::Ceil))
      return holds(graph_.source(id, 0), narrow, depth - 1);
    if (op == Op::Where || op == Op::Max || is_ins(graph_, id, Ins::Min)) {
      const std::size_t first = op == Op::Where ? 1 : 0;
      const std::optional<std::string> x = holds(graph_.source(id, first), narrow, depth - 1);
      return x && holds(graph_.source(id, first + 1), narrow, depth - 1) ? x : std::nullopt;
    }
    // 11 + 11 bits, and exponents from 2^-48 to 2^32: an f32 holds every product of two f16.
    if (op == Op::Mul && narrow == Type::F32 && holds(graph_.source(id, 0), Type::F16, depth - 1) &&
        holds(graph_.source(id, 1), Type::F16, depth - 1))
      return "the product of two f16 is exact in f32";
    const Int128 limit = Int128{1} << significand_bits(narrow);
    if (narrow != Type::F16)
      if (const std::optional<spec::Interval> i = integer_values(id, limit))
        return "the value is an integer from " + spec::to_text(i->lo) + " to " + spec::to_text(i->hi) + ", which " + target +
               " holds exactly";
    return std::nullopt;
  }

  // --- candidates ---------------------------------------------------------------------------------------------------------------------

  /// f64 -> f32 -> f16 or bf16.
  NodeId conversion(NodeId id) {
    const Type to = graph_.type(id);
    const NodeId middle = rw_.now(graph_.source(id, 0));
    if ((to != Type::F16 && to != Type::Bf16) || graph_.type(middle) != Type::F32 || graph_.op(middle) != Op::Cast) return {};
    const NodeId x = graph_.source(middle, 0);
    if (graph_.type(x) != Type::F64 || literal(graph_, middle)) return {};
    NarrowingCandidate c{graph_.range(id), "f64 -> f32 -> " + std::string(type_name(to)) + " rounded once", std::nullopt, to == Type::F16};
    if (const std::optional<std::string> exact = holds(x, Type::F32)) c.proof = "the conversion to f32 is exact: " + *exact;
    if (!decide_(c)) return {};
    // Where the first step is exact and the target has no instruction for both, the two conversions are the cheaper way to round once.
    return c.proof && !can_.narrow_f64_once ? NodeId{} : rw_.cast(x, to);
  }

  /// narrow(wide(x) op wide(y)) as x op y.
  NodeId arithmetic(NodeId id) {
    const Type narrow = graph_.type(id);
    const NodeId wide = rw_.now(graph_.source(id, 0));
    const Type type = graph_.type(wide);
    const Op op = graph_.op(wide);
    const bool basic = op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Fdiv || op == Op::Sqrt;
    if ((!basic && op != Op::Mulacc) || !is_narrower(narrow, type)) return {};
    // f32 is computed everywhere; 16-bit floats only where the target does, elsewhere legalise would widen them again.
    if (narrow == Type::F16 && !can_.f16_arithmetic) return {};
    if (narrow == Type::Bf16 && !can_.bf16_arithmetic) return {};
    if ((op == Op::Fdiv && !can_.divide_f32) || (op == Op::Sqrt && !can_.sqrt_f32)) return {};
    const std::size_t count = graph_.sources(wide).size();
    for (std::size_t i = 0; i < count; ++i)
      if (!holds(graph_.source(wide, i), narrow)) return {};
    const std::string n(type_name(narrow)), w(type_name(type));
    NarrowingCandidate c{graph_.range(id), std::string(op_info(op).name) + " in " + w + ", then " + n + ", computed in " + n, std::nullopt,
                         type == Type::F32 && narrow == Type::F16};
    const int p = significand_bits(narrow), q = significand_bits(type);
    if (basic && q >= 2 * p + 2)
      c.proof = "the operands are " + n + " values and " + std::to_string(q) + " >= 2 * " + std::to_string(p) + " + 2, so rounding to " +
                w + " first is innocuous (Figueroa 1995)";
    if (!decide_(c)) return {};
    std::vector<NodeId> sources;
    for (std::size_t i = 0; i < count; ++i) sources.push_back(in_narrow(graph_.source(wide, i), narrow));
    return rw_.emit(op, sources);
  }

  NodeId in_narrow(NodeId x, Type narrow) {
    if (const std::optional<ConstValue> v = literal(graph_, x)) return rw_.constant(narrow, *v);
    if (graph_.op(x) == Op::Cast && graph_.type(graph_.source(x, 0)) == narrow) return graph_.source(x, 0);
    return rw_.cast(x, narrow);
  }

  const Capabilities& can_;
  const std::function<bool(const NarrowingCandidate&)>& decide_;
  Rewriter rw_;
  const Graph& graph_;
  spec::BoundsTable bounds_;
};

}  // namespace

Program round_once(Program program, const Capabilities& capabilities, const std::function<bool(const NarrowingCandidate&)>& decide) {
  return Rounder(std::move(program), capabilities, decide).run();
}

}  // namespace sarek::passes
