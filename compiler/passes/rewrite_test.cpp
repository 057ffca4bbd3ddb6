#include "compiler/passes/rewrite.h"

#include <catch2/catch_test_macros.hpp>

#include "compiler/passes/test_machine.h"

using namespace sarek::passes;
using namespace sarek::passes::test;
namespace ir = sarek::ir;

TEST_CASE("keeping every node gives the same program, and compact the same text") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Program p = Generator(seed).program();
    Rewriter rw(p);
    for (const NodeId id : rw.body()) rw.keep(id);
    const Program kept = rw.finish();
    CHECK(faults(kept) == "");
    CHECK(kept.graph.size() == p.graph.size());
    CHECK(ir::print(compact(kept)) == ir::print(kept));
  }
}

TEST_CASE("a replaced node is replaced in everything after it") {
  ProgramBuilder b("k");
  const NodeId x = b.scalar_param("x", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::Out);
  const NodeId sum = b.op(Op::Add, {x, b.i32(1)});
  b.store(out, b.i32(0), b.op(Op::Mul, {sum, sum}));
  Rewriter rw(b.finish());
  for (const NodeId id : rw.body()) {
    if (rw.graph().op(id) == Op::Add) rw.replace(id, rw.integer(Type::I32, 5));
    else rw.keep(id);
  }
  const Program p = rw.finish();
  CHECK(faults(p) == "");
  CHECK(run_straight(p, {0}) == std::vector<std::uint64_t>{25});
}

TEST_CASE("copies have identities of their own; leaves stay single") {
  ProgramBuilder b("k");
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::Out);
  b.store(out, b.i32(0), b.op(Op::Add, {b.i32(1), b.i32(2)}));
  Rewriter rw(b.finish());
  const std::vector<NodeId> body = rw.body();
  for (int turn = 0; turn < 2; ++turn)
    for (const NodeId id : body) rw.copy(id);
  const Program p = rw.finish();
  CHECK(faults(p) == "");
  CHECK(count(p, Op::Store) == 2);
  CHECK(count(p, Op::Add) == 2);
  CHECK(count(p, Op::Param) == 1);
}

TEST_CASE("a node kept outwards stands in front of the list that is open") {
  ProgramBuilder b("k");
  const NodeId x = b.scalar_param("x", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::Out);
  const NodeId range = b.begin_range(x);
  const NodeId square = b.op(Op::Mul, {x, x});
  b.store(out, range, square);
  b.end_range(range);
  Rewriter rw(b.finish());
  for (const NodeId id : rw.body()) {
    const Op op = rw.graph().op(id);
    if (op == Op::Range) rw.begin_list();
    if (op == Op::Mul) rw.keep_outwards(id, 1);
    else rw.keep(id);
    if (op == Op::End) rw.append_list(rw.take_list());
  }
  const Program p = rw.finish();
  CHECK(faults(p) == "");
  const auto at = [&](Op op) { return std::find_if(p.body.begin(), p.body.end(), [&](NodeId id) { return p.graph.op(id) == op; }); };
  CHECK(at(Op::Mul) < at(Op::Range));
}
