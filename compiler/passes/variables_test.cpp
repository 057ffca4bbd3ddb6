// split_variables, forward_stores and remove_dead: what becomes of register variables. Their tests share a file because each shows what the
// one before it made possible.
#include <catch2/catch_test_macros.hpp>

#include "compiler/passes/passes.h"
#include "compiler/passes/test_machine.h"

using namespace sarek::passes;
using namespace sarek::passes::test;
namespace ir = sarek::ir;

namespace {

int variables(const Program& p) {
  int n = 0;
  for (const NodeId id : p.body)
    if (p.graph.op(id) == Op::Buffer && p.graph.arg_as<ir::ParamArg>(id)->space == ir::AddressSpace::Reg) ++n;
  return n;
}

}  // namespace

TEST_CASE("an array with literal indexes falls apart into cells, with a computed one it stays") {
  for (const bool computed : {false, true}) {
    ProgramBuilder b("k");
    const NodeId x = b.scalar_param("x", Type::I32);
    const NodeId out = b.buffer_param("out", Type::I32, ir::Access::Out);
    const NodeId record = b.reg("r", Type::I32, 3);
    b.store(record, b.i32(0), x);
    b.store(record, b.i32(2), b.op(Op::Add, {x, b.i32(1)}));
    b.store(out, b.i32(0), b.load(record, computed ? b.op(Op::And, {x, b.i32(1)}) : b.i32(2)));
    const Program source = b.finish();
    const Program p = split_variables(source);
    CHECK(faults(p) == "");
    CHECK(variables(p) == (computed ? 1 : 2));
    CHECK(run_straight(p, {40}) == run_straight(source, {40}));
    const Program simple = remove_dead(forward_stores(p));
    if (!computed) CHECK(count(simple, Op::Load) + variables(simple) == 0);
  }
}

TEST_CASE("an index out of range pins the array, so that the error stays") {
  ProgramBuilder b("k");
  const NodeId record = b.reg("r", Type::I32, 3);
  b.store(record, b.i32(3), b.i32(1));
  CHECK(variables(split_variables(b.finish())) == 1);
}

TEST_CASE("a variable starts as zero and has the value of its last store") {
  ProgramBuilder b("k");
  const NodeId x = b.scalar_param("x", Type::F32);
  const NodeId out = b.buffer_param("out", Type::F32, ir::Access::Out);
  const NodeId v = b.reg("v", Type::F32);
  b.store(out, b.i32(0), b.get(v));
  b.set(v, x);
  b.store(out, b.i32(1), b.get(v));
  const Program p = remove_dead(forward_stores(b.finish()));
  CHECK(faults(p) == "");
  CHECK(count(p, Op::Load) == 0);
  CHECK(variables(p) == 0);
  CHECK(run_straight(p, {0x40000000}) == std::vector<std::uint64_t>{0, 0x40000000});
}

TEST_CASE("what a branch or a loop writes is not forwarded past it") {
  ProgramBuilder b("k");
  const NodeId x = b.scalar_param("x", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::Out);
  const NodeId v = b.reg("v", Type::I32);
  const NodeId untouched = b.reg("u", Type::I32);
  b.set(v, b.i32(1));
  b.set(untouched, b.i32(7));
  const NodeId range = b.begin_range(x);
  b.set(v, b.op(Op::Add, {b.get(v), b.get(untouched)}));
  b.end_range(range);
  b.store(out, b.i32(0), b.op(Op::Add, {b.get(v), b.get(untouched)}));
  const Program source = b.finish();
  const Program p = remove_dead(forward_stores(source));
  CHECK(faults(p) == "");
  CHECK(variables(p) == 1);
  CHECK(count(p, Op::Load) == 2);  // in the loop and after it
  Input in;
  in.scalars[0] = 3;
  in.buffers[1] = {0};
  CHECK(run(p, in).buffers.at(1)[0] == 29);
}

TEST_CASE("a store that is overwritten before any load goes") {
  ProgramBuilder b("k");
  const NodeId x = b.scalar_param("x", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::Out);
  const NodeId v = b.reg("v", Type::I32);
  b.set(v, b.op(Op::Mul, {x, x}));
  b.set(v, x);
  const NodeId opened = b.begin_if(b.op(Op::Cmplt, {x, b.i32(0)}));
  b.set(v, b.i32(0));
  b.end_if(opened);
  b.store(out, b.i32(0), b.get(v));
  b.set(v, b.op(Op::Xor, {x, b.i32(1)}));
  const Program p = remove_dead(b.finish());
  CHECK(faults(p) == "");
  CHECK(count(p, Op::Mul) == 0);
  CHECK(count(p, Op::Xor) == 0);
  CHECK(count(p, Op::Store) == 3);
}

TEST_CASE("dead code: what no effect needs goes, effects and unbounded loops stay") {
  ProgramBuilder b("k", {32, 1, 1});
  const NodeId x = b.scalar_param("x", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::InOut);
  b.op(Op::Mul, {x, x});
  b.load(out, b.i32(0));
  const NodeId empty = b.begin_if(b.op(Op::Cmplt, {x, b.i32(0)}));
  b.op(Op::Add, {x, x});
  b.end_if(empty);
  const NodeId range = b.begin_range(x);
  b.op(Op::Add, {range, x});
  b.end_range(range);
  const NodeId loop = b.begin_loop();
  b.end_loop(loop, b.bool_constant(false));
  b.barrier();
  b.ins(ir::Ins::Shuffle, Type::I32, {x, b.i32(0)});
  b.ins(ir::Ins::AtomicAdd, Type::I32, {b.index(out, b.i32(0)), x});
  const Program source = b.finish();
  const Program p = remove_dead(source);
  CHECK(faults(p) == "");
  CHECK(count(p, Op::Mul) + count(p, Op::Add) + count(p, Op::Load) + count(p, Op::If) == 0);
  CHECK(count(p, Op::Range) == 1);
  CHECK(count(p, Op::Backedge) == 1);
  CHECK(count(p, Op::Barrier) == 1);
  CHECK(count(p, Op::Ins) == 2);
  CHECK(count(remove_dead(source, {.keep_loads = true}), Op::Load) == 1);
}
