#include <algorithm>

#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace sarek::passes {

using namespace ir;

namespace {

/// Every open scope collects its nodes in a list of its own, which joins the list outside it only when the scope closes: a node that
/// belongs in front of a loop is appended to the list outside, where the loop itself does not stand yet.
class Hoister {
 public:
  explicit Hoister(Program program)
      : structure_(structure_of(program).value_or(Structure{})),
        classes_(program),
        changed_(changed_classes(program, structure_, classes_)),
        depth_(program.graph.size()),
        stands_(program.graph.size()),
        rw_(std::move(program)),
        graph_(rw_.graph()) {}

  Program run() {
    scopes_.push_back({});
    const std::vector<NodeId>& body = rw_.body();
    for (std::size_t at = 0; at < body.size(); ++at) {
      const NodeId id = body[at];
      const int partner = structure_.partner[at];
      if (partner > static_cast<int>(at)) {
        // The opener goes into the scope's own list so that hoisted nodes come before it.
        rw_.begin_list();
        rw_.keep(id);
        scopes_.push_back({graph_.op(id) == Op::Range, runs_a_turn(id), static_cast<int>(at)});
        depth_[id.index()] = stands_[id.index()] = scopes_.size() - 1;
      } else if (partner >= 0) {
        rw_.keep(id);
        const std::vector<NodeId> list = rw_.take_list();
        rw_.append_list(list);
        scopes_.pop_back();
      } else {
        node(id);
      }
    }
    return rw_.finish();
  }

 private:
  struct Scope {
    bool is_loop = false;
    bool runs_a_turn = false;
    int opener = -1;
  };

  bool runs_a_turn(NodeId opener) const {
    if (graph_.op(opener) != Op::Range) return false;
    if (graph_.type(graph_.source(opener, 0)) == Type::Void) return true;
    const std::optional<std::int64_t> count = integer_literal(graph_, graph_.source(opener, 0));
    return count && *count > 0;
  }

  /// Not worth running where its branch may not be taken.
  bool is_dear(NodeId id) const {
    const Op op = graph_.op(id);
    return op == Op::Cdiv || op == Op::Cmod || op == Op::Floordiv || op == Op::Floormod || op == Op::Fdiv || op == Op::Sqrt ||
           op == Op::Reciprocal || op == Op::Pow || op == Op::Sin || op == Op::Exp2 || op == Op::Log2 || op == Op::Threefry;
  }

  /// Costs less than the register that would hold it over the loop: addressing modes and immediate operands take it.
  bool is_cheap(NodeId id) const {
    const Op op = graph_.op(id);
    if (op == Op::Index) return true;
    if (op != Op::Add && op != Op::Sub && op != Op::And && op != Op::Shl) return false;
    return is_int(graph_.type(id)) && (literal(graph_, graph_.source(id, 1)) || literal(graph_, graph_.source(id, 0)));
  }

  /// Puts the cheap operations that `id` needs, and that stayed inside, in front of the loop as well.
  void bring_sources(NodeId id, std::size_t target) {
    for (std::size_t i = 0; i < graph_.sources(id).size(); ++i) {
      const NodeId s = graph_.source(id, i);
      if (stands_[s.index()] <= target) continue;
      bring_sources(s, target);
      rw_.copy_outwards(s, scopes_.size() - 1 - target);
      stands_[s.index()] = target;
    }
  }

  void node(NodeId id) {
    const std::size_t here = scopes_.size() - 1;
    if (is_leaf(graph_, id)) {
      rw_.keep(id);
      return;
    }
    std::size_t needed = 0;
    for (const NodeId s : graph_.sources(id)) needed = std::max(needed, depth_[s.index()]);
    std::size_t target = here;
    if (needed < here && is_pure(graph_, id)) {
      // Out of every loop whose turns it does not depend on; a branch on the way is crossed only for a loop outside it.
      for (std::size_t scope = here; scope > needed; --scope) {
        if (scopes_[scope].is_loop) target = scope - 1;
        else if (is_dear(id)) break;
      }
    } else if (needed < here && graph_.op(id) == Op::Load) {
      for (std::size_t scope = here; scope > needed && scopes_[scope].is_loop && may_move_load(id, scopes_[scope]); --scope)
        target = scope - 1;
    }
    depth_[id.index()] = target;
    if (target < here && is_cheap(id)) target = here;
    stands_[id.index()] = target;
    if (target < here) bring_sources(id, target);
    rw_.keep_outwards(id, here - target);
  }

  /// A load may stand in front of a loop when nothing in it changes the place and running it once more, or when the loop runs no turn,
  /// cannot fail.
  bool may_move_load(NodeId load, const Scope& loop) const {
    const NodeId buffer = *accessed_buffer(graph_, load);
    const auto* p = graph_.arg_as<ParamArg>(buffer);
    const int memory = classes_.of(buffer);
    if (memory < 0 || p->is_volatile || graph_.sources(load).size() != 1) return false;
    const std::vector<int>& changed = changed_[static_cast<std::size_t>(loop.opener)];
    if (std::find(changed.begin(), changed.end(), memory) != changed.end()) return false;
    if (loop.runs_a_turn) return true;
    const NodeId place = graph_.source(load, 0);
    const std::optional<std::int64_t> cell = graph_.op(place) == Op::Index && graph_.sources(place).size() == 2
                                                 ? integer_literal(graph_, graph_.source(place, 1))
                                                 : std::nullopt;
    return cell && p->size && *cell >= 0 && *cell < *p->size;
  }

  Structure structure_;
  MemoryClasses classes_;
  std::vector<std::vector<int>> changed_;
  std::vector<std::size_t> depth_;   // by old node: the outermost scope in which its new form may stand
  std::vector<std::size_t> stands_;  // and the one in which it does, at least as deep
  std::vector<Scope> scopes_;
  Rewriter rw_;
  const Graph& graph_;
};

}  // namespace

Program hoist_invariants(Program program) {
  const bool any = std::any_of(program.body.begin(), program.body.end(), [&](NodeId id) { return program.graph.op(id) == Op::Range; });
  return any ? Hoister(std::move(program)).run() : program;
}

}  // namespace sarek::passes
