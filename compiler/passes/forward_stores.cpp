#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace sarek::passes {

using namespace ir;

namespace {

/// Walks with the value that each one-cell variable is known to have. Leaving a scope restores what was known before it, less what the
/// scope wrote: values made inside may not leave it.
class Forwarder {
 public:
  explicit Forwarder(Program program)
      : structure_(structure_of(program).value_or(Structure{})),
        classes_(program),
        changed_(changed_classes(program, structure_, classes_)),
        known_(static_cast<std::size_t>(classes_.count())),
        rw_(std::move(program)),
        graph_(rw_.graph()) {}

  Program run() {
    scopes_.emplace_back();
    const std::vector<NodeId>& body = rw_.body();
    for (std::size_t at = 0; at < body.size(); ++at) {
      const NodeId id = body[at];
      const int partner = structure_.partner[at];
      if (partner > static_cast<int>(at)) {
        rw_.keep(id);
        // A loop's first turn sees what stood before it, the others what the turn before wrote.
        if (graph_.op(id) == Op::Range) forget(changed_[at]);
        scopes_.emplace_back();
      } else if (partner >= 0) {
        for (auto entry = scopes_.back().rbegin(); entry != scopes_.back().rend(); ++entry) known_[entry->first] = entry->second;
        scopes_.pop_back();
        rw_.keep(id);
        forget(changed_[static_cast<std::size_t>(partner)]);
      } else {
        node(id);
      }
    }
    return rw_.finish();
  }

 private:
  void learn(std::size_t variable, NodeId value) {
    scopes_.back().push_back({variable, known_[variable]});
    known_[variable] = value;
  }
  void forget(const std::vector<int>& classes) {
    for (const int c : classes) learn(static_cast<std::size_t>(c), {});
  }
  /// The class of a one-cell register variable that is accessed at its only cell; -1 otherwise.
  int variable_of(NodeId access) const {
    const NodeId place = graph_.source(access, 0);
    const NodeId buffer = place_base(graph_, place);
    const auto* p = graph_.arg_as<ParamArg>(buffer);
    if (!p || p->space != AddressSpace::Reg || p->size != 1 || p->is_volatile) return -1;
    if (graph_.op(place) != Op::Index || graph_.sources(place).size() != 2 || !is_literal(graph_, graph_.source(place, 1), 0)) return -1;
    return classes_.of(buffer);
  }

  void node(NodeId id) {
    const Op op = graph_.op(id);
    if (op == Op::Buffer && graph_.arg_as<ParamArg>(id)->size == 1 && space_of(graph_, id) == AddressSpace::Reg) {
      // Variables are zero when the program starts. A declaration may stand late, but never in a loop.
      rw_.keep(id);
      learn(static_cast<std::size_t>(classes_.of(id)), rw_.zero(graph_.type(id)));
      return;
    }
    if (op != Op::Load && op != Op::Store) {
      rw_.keep(id);
      return;
    }
    const int variable = variable_of(id);
    const std::size_t sources = graph_.sources(id).size();
    if (variable < 0) {
      rw_.keep(id);
      // An access of the cell by a computed index may write it.
      const int other = op == Op::Store ? classes_.of(*accessed_buffer(graph_, id)) : -1;
      if (other >= 0) learn(static_cast<std::size_t>(other), {});
      return;
    }
    const auto v = static_cast<std::size_t>(variable);
    if (op == Op::Load) {
      if (sources == 1 && known_[v]) return rw_.replace(id, known_[v]);
      const NodeId kept = rw_.keep(id);
      if (sources == 1) learn(v, kept);
      return;
    }
    const NodeId kept = rw_.keep(id);
    const NodeId place = graph_.source(kept, 0);
    const NodeId stored = graph_.source(kept, 1);
    learn(v, sources == 2 && graph_.type(stored) == graph_.type(place) ? stored : NodeId{});
  }

  Structure structure_;
  MemoryClasses classes_;
  std::vector<std::vector<int>> changed_;
  std::vector<NodeId> known_;  // by class: the node of the new body that the variable equals
  std::vector<std::vector<std::pair<std::size_t, NodeId>>> scopes_;
  Rewriter rw_;
  const Graph& graph_;
};

}  // namespace

Program forward_stores(Program program) { return Forwarder(std::move(program)).run(); }

}  // namespace sarek::passes
