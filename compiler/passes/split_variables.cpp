#include <map>

#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace sarek::passes {

using namespace ir;

Program split_variables(Program program) {
  struct Variable {
    bool splits = true;
    std::vector<NodeId> cells;
  };
  std::map<NodeId, Variable> variables;
  const Graph& before = program.graph;
  const auto is_array = [&](NodeId id) {
    if (before.op(id) != Op::Buffer || space_of(before, id) != AddressSpace::Reg) return false;
    const auto* p = before.arg_as<ParamArg>(id);
    return p->size && *p->size > 1 && !p->is_volatile;
  };
  for (const NodeId id : program.body)
    if (is_array(id)) variables[id];
  if (variables.empty()) return program;
  // Every use must be an INDEX with one literal in range; anything else pins the array.
  for (const NodeId id : program.body) {
    const std::span<const NodeId> sources = before.sources(id);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto found = variables.find(sources[i]);
      if (found == variables.end()) continue;
      const bool indexes = before.op(id) == Op::Index && i == 0 && sources.size() == 2;
      const std::optional<std::int64_t> cell = indexes ? integer_literal(before, sources[1]) : std::nullopt;
      if (!cell || *cell < 0 || *cell >= *before.arg_as<ParamArg>(sources[i])->size) found->second.splits = false;
    }
  }

  Rewriter rw(std::move(program));
  const Graph& graph = rw.graph();
  for (const NodeId id : rw.body()) {
    const auto array = variables.find(id);
    if (array != variables.end() && array->second.splits) continue;
    const auto base = graph.op(id) == Op::Index ? variables.find(graph.source(id, 0)) : variables.end();
    if (base == variables.end() || !base->second.splits) {
      rw.keep(id);
      continue;
    }
    const ParamArg whole = *graph.arg_as<ParamArg>(base->first);
    std::vector<NodeId>& cells = base->second.cells;
    cells.resize(static_cast<std::size_t>(*whole.size));
    const std::int64_t k = *integer_literal(graph, graph.source(id, 1));
    NodeId& cell = cells[static_cast<std::size_t>(k)];
    if (!cell) cell = rw.reg(whole.name + "." + std::to_string(k), whole.type);
    rw.at(graph.range(id));
    rw.replace(id, rw.emit(Op::Index, {cell, rw.integer(graph.type(graph.source(id, 1)), 0)}));
  }
  return rw.finish();
}

}  // namespace sarek::passes
