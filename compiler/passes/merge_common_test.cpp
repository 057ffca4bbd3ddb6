#include <catch2/catch_test_macros.hpp>

#include "compiler/passes/passes.h"
#include "compiler/passes/test_machine.h"

using namespace sarek::passes;
using namespace sarek::passes::test;
namespace ir = sarek::ir;

TEST_CASE("equal values merge, in either order of the operands, also into branches but not out of them") {
  ProgramBuilder b("k");
  const NodeId x = b.scalar_param("x", Type::F32);
  const NodeId y = b.scalar_param("y", Type::F32);
  const NodeId c = b.scalar_param("c", Type::Bool);
  const NodeId out = b.buffer_param("out", Type::F32, ir::Access::Out);
  b.store(out, b.i32(0), b.op(Op::Add, {x, y}));
  const NodeId opened = b.begin_if(c);
  b.store(out, b.i32(1), b.op(Op::Add, {y, x}));
  b.store(out, b.i32(2), b.op(Op::Mul, {y, x}));
  b.end_if(opened);
  b.store(out, b.i32(3), b.op(Op::Mul, {x, y}));
  b.store(out, b.i32(4), b.op(Op::Sub, {x, y}));
  b.store(out, b.i32(5), b.op(Op::Sub, {y, x}));
  const Program p = merge_common(b.finish());
  CHECK(faults(p) == "");
  CHECK(count(p, Op::Add) == 1);
  CHECK(count(p, Op::Mul) == 2);
  CHECK(count(p, Op::Sub) == 2);
}

TEST_CASE("loads merge until something may write their place") {
  // What stands between two loads of a[0], and how many loads are left.
  const auto loads = [](const std::function<void(ProgramBuilder&, NodeId a, NodeId other, NodeId shared)>& between) {
    ProgramBuilder b("k", {32, 1, 1});
    const NodeId a = b.buffer_param("a", Type::I32, ir::Access::InOut);
    const NodeId other = b.buffer_param("o", Type::I32, ir::Access::InOut);
    const NodeId shared = b.shared("s", Type::I32, 32);
    const NodeId first = b.load(a, b.i32(0));
    between(b, a, other, shared);
    b.store(other, b.i32(5), b.op(Op::Add, {first, b.load(a, b.i32(0))}));
    const Program p = merge_common(b.finish());
    CHECK(faults(p) == "");
    return count(p, Op::Load);
  };
  CHECK(loads([](ProgramBuilder&, NodeId, NodeId, NodeId) {}) == 1);
  CHECK(loads([](ProgramBuilder& b, NodeId, NodeId, NodeId s) { b.store(s, b.i32(0), b.i32(1)); }) == 1);
  CHECK(loads([](ProgramBuilder& b, NodeId, NodeId o, NodeId) { b.store(o, b.i32(0), b.i32(1)); }) ==
        2);  // a launch may pass one vector twice
  CHECK(loads([](ProgramBuilder& b, NodeId, NodeId, NodeId) { b.barrier(); }) == 2);
  CHECK(loads([](ProgramBuilder& b, NodeId, NodeId, NodeId) { b.ins(ir::Ins::WarpBarrier, Type::Void, {}); }) == 2);
  CHECK(loads([](ProgramBuilder& b, NodeId, NodeId o, NodeId) {
          b.ins(ir::Ins::AtomicAdd, Type::I32, {b.index(o, b.i32(1)), b.i32(1)});
        }) == 2);
  CHECK(loads([](ProgramBuilder& b, NodeId a, NodeId, NodeId) {
          const NodeId range = b.begin_range(b.length(b.slot_of(a)));
          b.store(a, range, b.i32(1));
          b.end_range(range);
        }) == 2);
  // The load takes what was stored.
  CHECK(loads([](ProgramBuilder& b, NodeId a, NodeId, NodeId) { b.store(a, b.i32(0), b.i32(1)); }) == 1);
}

TEST_CASE("a load in a loop does not see what stood before the loop when the loop writes it") {
  ProgramBuilder b("k");
  const NodeId a = b.buffer_param("a", Type::I32, ir::Access::InOut);
  b.store(a, b.i32(0), b.i32(1));
  const NodeId range = b.begin_range(b.i32(5));
  b.store(a, b.i32(0), b.op(Op::Mul, {b.load(a, b.i32(0)), b.i32(3)}));
  b.end_range(range);
  const Program p = merge_common(b.finish());
  CHECK(count(p, Op::Load) == 1);
  Input in;
  in.buffers[0] = {0};
  CHECK(run(p, in).buffers.at(0)[0] == 243);
}

TEST_CASE("a volatile buffer is read every time") {
  ProgramBuilder b("k");
  const NodeId a = b.buffer_param("a", Type::I32, ir::Access::InOut);
  ir::ParamArg arg = *b.graph().arg_as<ir::ParamArg>(a);
  arg.is_volatile = true;
  const NodeId v = b.leaf(Op::Param, {}, arg);
  b.store(a, b.i32(1), b.op(Op::Add, {b.load(v, b.i32(0)), b.load(v, b.i32(0))}));
  CHECK(count(merge_common(b.finish()), Op::Load) == 2);
}
