#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/spec/bounds.h"

namespace sarek::passes {

using namespace ir;

Program insert_checks(Program program) {
  // The bounds are those of the old nodes, computed before the graph grows.
  std::vector<bool> may_be_zero(program.graph.size());
  const auto is_division = [](Op op) { return op == Op::Cdiv || op == Op::Cmod || op == Op::Floordiv || op == Op::Floormod; };
  {
    spec::BoundsTable bounds(program.graph, &program);
    for (const NodeId id : program.body)
      if (is_division(program.graph.op(id)) && is_int(program.graph.type(id)))
        may_be_zero[id.index()] = bounds.of(program.graph.source(id, 1)).contains({0, 0});
  }
  Rewriter rw(std::move(program));
  const Graph& graph = rw.graph();
  for (const NodeId id : rw.body()) {
    if (may_be_zero[id.index()]) {
      rw.at(graph.range(id));
      const NodeId divisor = rw.now(graph.source(id, 1));
      const NodeId zero = rw.emit(Op::Cmpeq, {divisor, rw.zero(graph.type(divisor))});
      rw.emit(Op::Ins, {zero}, InsArg{Ins::Trap, Type::Void, "division by zero"});
    }
    rw.keep(id);
  }
  return rw.finish();
}

}  // namespace sarek::passes
