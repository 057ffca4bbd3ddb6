#include <algorithm>

#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace sarek::passes {

using namespace ir;

namespace {

constexpr int kMaxPure = 6;       // operations that now run always
constexpr int kMaxVariables = 4;  // stores to register variables, each of which becomes load, select, store

bool is_dear(const Graph& graph, NodeId id) {
  const Op op = graph.op(id);
  return op == Op::Cdiv || op == Op::Cmod || op == Op::Floordiv || op == Op::Floormod || op == Op::Fdiv || op == Op::Sqrt ||
         op == Op::Reciprocal || op == Op::Pow || op == Op::Sin || op == Op::Exp2 || op == Op::Log2 || op == Op::Threefry ||
         op == Op::Mulacc;
}

/// Is the place a register variable at a literal index in range, so that touching it where the branch is not taken is harmless?
bool is_safe_variable(const Graph& graph, NodeId place) {
  const NodeId buffer = place_base(graph, place);
  const auto* p = graph.arg_as<ParamArg>(buffer);
  if (!p || p->space != AddressSpace::Reg || p->is_volatile || graph.op(place) != Op::Index || graph.sources(place).size() != 2)
    return false;
  const std::optional<std::int64_t> cell = integer_literal(graph, graph.source(place, 1));
  return cell && p->size && *cell >= 0 && *cell < *p->size;
}

bool is_volatile(const Graph& graph, NodeId access) {
  const auto* p = graph.arg_as<ParamArg>(*accessed_buffer(graph, access));
  return !p || p->is_volatile;
}

/// Do the nodes between IF and ENDIF have a form without the branch, and is it small? A branch at the top of the kernel that reads and
/// writes memory is the usual guard of the whole body: it stays, so that emitters can skip it in one test.
bool converts(const Program& program, const Structure& structure, std::size_t open, std::size_t close) {
  const Graph& graph = program.graph;
  int pure = 0;
  int variables = 0;
  int loads = 0;
  int stores = 0;
  for (std::size_t at = open + 1; at < close; ++at) {
    const NodeId id = program.body[at];
    const Op op = graph.op(id);
    if (is_leaf(graph, id) || op == Op::Index) continue;
    if (is_pure(graph, id)) {
      if (is_dear(graph, id) || ++pure > kMaxPure) return false;
    } else if (op == Op::Load || op == Op::Store) {
      if (is_volatile(graph, id)) return false;
      if (is_safe_variable(graph, graph.source(id, 0))) variables += op == Op::Store;
      else ++(op == Op::Load ? loads : stores);
    } else {
      return false;
    }
  }
  return variables <= kMaxVariables && loads <= 1 && stores <= 1 && (loads + stores == 0 || structure.parent[open] >= 0);
}

}  // namespace

Program convert_branches(Program program) {
  const std::optional<Structure> structure = structure_of(program);
  if (!structure) return program;
  std::vector<bool> goes(program.body.size());
  bool any = false;
  for (std::size_t at = 0; at < program.body.size(); ++at) {
    const int partner = structure->partner[at];
    if (program.graph.op(program.body[at]) != Op::If || partner <= static_cast<int>(at)) continue;
    if (converts(program, *structure, at, static_cast<std::size_t>(partner)))
      any = goes[at] = goes[static_cast<std::size_t>(partner)] = true;
  }
  if (!any) return program;

  Rewriter rw(std::move(program));
  const Graph& graph = rw.graph();
  NodeId condition;  // of the branch that is being dissolved; branches that go hold no others
  for (std::size_t at = 0; at < rw.body().size(); ++at) {
    const NodeId id = rw.body()[at];
    const Op op = graph.op(id);
    if (goes[at]) {
      condition = op == Op::If ? rw.now(graph.source(id, 0)) : NodeId{};
      continue;
    }
    if (!condition || (op != Op::Load && op != Op::Store)) {
      rw.keep(id);
      continue;
    }
    rw.at(graph.range(id));
    const std::span<const NodeId> old = graph.sources(id);
    std::vector<NodeId> s(old.begin(), old.end());
    for (NodeId& source : s) source = rw.now(source);
    const bool safe = is_safe_variable(graph, s[0]);
    if (op == Op::Load) {
      if (safe) rw.keep(id);
      else if (s.size() == 1) rw.replace(id, rw.emit(Op::Load, {s[0], rw.zero(graph.type(id)), condition}));
      else rw.replace(id, rw.emit(Op::Load, {s[0], s[1], rw.emit(Op::And, {condition, s[2]})}));
      continue;
    }
    const NodeId gate = s.size() == 3 ? rw.emit(Op::And, {condition, s[2]}) : condition;
    if (!safe || graph.type(s[1]) != graph.type(s[0])) {
      rw.emit(Op::Store, {s[0], s[1], gate});
      continue;
    }
    const NodeId before = rw.emit(Op::Load, {s[0]});
    const NodeId after = rw.emit(Op::Where, {gate, s[1], before});
    rw.emit(Op::Store, {s[0], after});
  }
  return rw.finish();
}

}  // namespace sarek::passes
