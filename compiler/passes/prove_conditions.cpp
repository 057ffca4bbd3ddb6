#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/spec/bounds.h"

namespace sarek::passes {

using namespace ir;

namespace {

std::optional<bool> decided_by_intervals(const Graph& graph, spec::BoundsTable& bounds, NodeId comparison) {
  const NodeId left = graph.source(comparison, 0);
  const NodeId right = graph.source(comparison, 1);
  if (!is_int(graph.type(left)) || graph.type(left) != graph.type(right)) return std::nullopt;
  const spec::Interval x = bounds.of(left);
  const spec::Interval y = bounds.of(right);
  // In code that never runs (a loop without turns) anything holds; leave it to fold.
  if (x.empty() || y.empty()) return std::nullopt;
  const Op op = graph.op(comparison);
  if (op == Op::Cmplt) {
    if (x.hi < y.lo) return true;
    if (x.lo >= y.hi) return false;
    return std::nullopt;
  }
  if (x.hi < y.lo || y.hi < x.lo) return op == Op::Cmpne;
  if (x.is_single() && y.is_single()) return op == Op::Cmpeq;
  return std::nullopt;
}

class Prover {
 public:
  explicit Prover(Program program)
      : structure_(structure_of(program).value_or(Structure{})),
        rw_(std::move(program)),
        graph_(rw_.graph()),
        bounds_(graph_, &rw_.program()) {}

  Program run() {
    const std::vector<NodeId>& body = rw_.body();
    for (std::size_t at = 0; at < body.size(); ++at) {
      const NodeId id = body[at];
      const int partner = structure_.partner[at];
      if (partner > static_cast<int>(at)) {
        const NodeId condition = graph_.op(id) == Op::If ? graph_.source(id, 0) : NodeId{};
        rw_.keep(id);
        scopes_.emplace_back();
        if (condition) assume(condition, true);
      } else if (partner >= 0) {
        for (auto entry = scopes_.back().rbegin(); entry != scopes_.back().rend(); ++entry) rw_.replace(entry->first, entry->second);
        scopes_.pop_back();
        rw_.keep(id);
      } else if (is_comparison(graph_.op(id))) {
        const std::optional<bool> value = decided_by_intervals(graph_, bounds_, id);
        if (value) rw_.replace(id, rw_.boolean(*value));
        else rw_.keep(id);
      } else {
        rw_.keep(id);
      }
    }
    return rw_.finish();
  }

 private:
  /// From here to the end of the scope the old node has this value.
  void assume(NodeId condition, bool value) {
    if (is_leaf(graph_, condition) || literal(graph_, rw_.now(condition))) return;
    scopes_.back().push_back({condition, rw_.now(condition)});
    const Op op = graph_.op(condition);
    const bool parts_follow = (op == Op::And && value) || (op == Op::Or && !value);
    const bool is_not = op == Op::Xor && is_literal(graph_, graph_.source(condition, 1), 1);
    const NodeId first = parts_follow || is_not ? graph_.source(condition, 0) : NodeId{};
    const NodeId second = parts_follow ? graph_.source(condition, 1) : NodeId{};
    rw_.replace(condition, rw_.boolean(value));
    if (first) assume(first, is_not ? !value : value);
    if (second) assume(second, value);
  }

  Structure structure_;
  Rewriter rw_;
  const Graph& graph_;
  spec::BoundsTable bounds_;
  std::vector<std::vector<std::pair<NodeId, NodeId>>> scopes_;  // old conditions and what stood for them outside the scope
};

}  // namespace

Program prove_conditions(Program program) { return Prover(std::move(program)).run(); }

}  // namespace sarek::passes
