#include <bit>

#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/spec/bounds.h"

namespace sarek::passes {

using namespace ir;

namespace {

class Reducer {
 public:
  explicit Reducer(Program program) : rw_(std::move(program)), graph_(rw_.graph()), bounds_(graph_, &rw_.program()) {}

  Program run() {
    for (const NodeId id : rw_.body()) {
      rw_.at(graph_.range(id));
      const NodeId by = is_int(graph_.type(id)) && !is_leaf(graph_, id) ? reduced(id) : NodeId{};
      if (by) rw_.replace(id, by);
      else rw_.keep(id);
    }
    return rw_.finish();
  }

 private:
  NodeId reduced(NodeId id) {
    const Op op = graph_.op(id);
    const std::span<const NodeId> s = graph_.sources(id);
    if (s.size() != 2 || graph_.type(s[0]) != graph_.type(s[1])) return {};
    const NodeId left = s[0], right = s[1];
    const NodeId x = rw_.now(left), y = rw_.now(right);
    const Type type = graph_.type(id);
    const spec::Interval xs = bounds_.of(left);
    const spec::Interval ys = bounds_.of(right);
    if (xs.empty() || ys.empty()) return {};
    if (op == Op::Max || is_ins(graph_, id, Ins::Min)) {
      const bool greater = op == Op::Max;
      if (xs.lo >= ys.hi) return greater ? x : y;
      if (ys.lo >= xs.hi) return greater ? y : x;
      return {};
    }
    const bool divides = op == Op::Cdiv || op == Op::Floordiv;
    if (!divides && op != Op::Cmod && op != Op::Floormod) return {};
    // 0 <= x < y: nothing to divide.
    if (xs.lo >= 0 && xs.hi < ys.lo) return divides ? rw_.zero(type) : x;
    const std::optional<std::int64_t> d = integer_literal(graph_, y);
    if (!d || *d <= 1 || !std::has_single_bit(static_cast<std::uint64_t>(*d))) return {};
    // Shifts and masks round down; truncation agrees with that from 0 on.
    const bool rounds_down = op == Op::Floordiv || op == Op::Floormod || xs.lo >= 0;
    if (!rounds_down) return {};
    if (divides) return rw_.emit(Op::Shr, {x, rw_.integer(type, std::countr_zero(static_cast<std::uint64_t>(*d)))});
    return rw_.emit(Op::And, {x, rw_.integer(type, *d - 1)});
  }

  Rewriter rw_;
  const Graph& graph_;
  spec::BoundsTable bounds_;
};

}  // namespace

Program reduce_strength(Program program) { return Reducer(std::move(program)).run(); }

}  // namespace sarek::passes
