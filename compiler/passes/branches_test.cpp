// convert_branches and prove_conditions.
#include <catch2/catch_test_macros.hpp>

#include "compiler/passes/passes.h"
#include "compiler/passes/test_machine.h"

using namespace sarek::passes;
using namespace sarek::passes::test;
namespace ir = sarek::ir;

TEST_CASE("a choice between two values becomes one select") {
  ProgramBuilder b("k");
  const NodeId x = b.scalar_param("x", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::Out);
  const NodeId v = b.reg("v", Type::I32);
  const NodeId c = b.op(Op::Cmplt, {x, b.i32(0)});
  const NodeId yes = b.begin_if(c);
  b.set(v, b.op(Op::Neg, {x}));
  b.end_if(yes);
  const NodeId no = b.begin_if(b.logical_not(c));
  b.set(v, x);
  b.end_if(no);
  b.store(out, b.i32(0), b.get(v));
  const Program source = b.finish();
  const Program p = remove_dead(fold(forward_stores(convert_branches(source))));
  CHECK(faults(p) == "");
  CHECK(count(p, Op::If) == 0);
  CHECK(count(p, Op::Where) == 1);
  CHECK(count(p, Op::Load) == 0);
  CHECK(run_straight(p, {static_cast<std::uint32_t>(-5)})[0] == 5);
  CHECK(run_straight(p, {7})[0] == 7);
}

TEST_CASE("branches with barriers, atomics, dear or many operations stay, and so does the guard of a kernel") {
  const auto converts = [](bool nested, const std::function<void(ProgramBuilder&, NodeId, NodeId)>& inside) {
    ProgramBuilder b("k", {32, 1, 1});
    const NodeId x = b.scalar_param("x", Type::I32);
    const NodeId a = b.buffer_param("a", Type::I32, ir::Access::InOut);
    const NodeId range = nested ? b.begin_range(b.i32(9)) : NodeId{};
    const NodeId opened = b.begin_if(b.op(Op::Cmplt, {x, b.i32(0)}));
    inside(b, x, a);
    b.end_if(opened);
    if (nested) b.end_range(range);
    const Program p = convert_branches(b.finish());
    CHECK(faults(p) == "");
    return count(p, Op::If) == 0;
  };
  const auto store = [](ProgramBuilder& b, NodeId x, NodeId a) { b.store(a, b.i32(0), x); };
  const auto update = [](ProgramBuilder& b, NodeId x, NodeId a) { b.store(a, b.i32(0), b.op(Op::Add, {b.load(a, b.i32(0)), x})); };
  CHECK(converts(true, store));
  CHECK(converts(true, update));
  CHECK_FALSE(converts(false, update));
  CHECK_FALSE(converts(true, [](ProgramBuilder& b, NodeId, NodeId) { b.barrier(); }));
  CHECK_FALSE(
      converts(true, [](ProgramBuilder& b, NodeId x, NodeId a) { b.ins(ir::Ins::AtomicAdd, Type::I32, {b.index(a, b.i32(0)), x}); }));
  CHECK_FALSE(converts(true, [](ProgramBuilder& b, NodeId x, NodeId a) { b.store(a, b.i32(0), b.op(Op::Cdiv, {x, x})); }));
  CHECK_FALSE(converts(true, [](ProgramBuilder& b, NodeId x, NodeId a) {
    for (int i = 0; i < 2; ++i) b.store(a, b.i32(i), x);
  }));
}

TEST_CASE("a gated access touches its place only where the branch was taken") {
  ProgramBuilder b("k");
  const NodeId x = b.scalar_param("x", Type::I32);
  const NodeId a = b.buffer_param("a", Type::I32, ir::Access::InOut);
  const NodeId range = b.begin_range(b.i32(12));
  const NodeId opened = b.begin_if(b.op(Op::Cmplt, {range, x}));
  b.store(a, range, b.op(Op::Add, {b.load(a, range), b.i32(1)}));
  b.end_if(opened);
  b.end_range(range);
  const Program source = b.finish();
  const Program p = convert_branches(source);
  CHECK(count(p, Op::If) == 0);
  Input in;
  in.scalars[0] = 3;
  in.buffers[1] = {5, 5, 5};  // an access at 3 or beyond would throw
  CHECK(run(p, in).buffers.at(1) == std::vector<std::uint64_t>{6, 6, 6});
}

TEST_CASE("conditions that intervals decide or a branch has tested become literals") {
  ProgramBuilder b("k", {64, 1, 1});
  const NodeId x = b.scalar_param("x", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::Out);
  const NodeId id = b.local_id(0);
  b.store(out, b.i32(0), x, b.op(Op::Cmplt, {id, b.i32(64)}));                           // always
  b.store(out, b.i32(1), x, b.op(Op::Cmplt, {b.op(Op::And, {x, b.i32(7)}), b.i32(0)}));  // never
  const NodeId positive = b.op(Op::Cmplt, {b.i32(0), x});
  const NodeId small = b.op(Op::Cmplt, {x, b.i32(10)});
  const NodeId opened = b.begin_if(b.op(Op::And, {positive, small}));
  b.store(out, b.i32(2), x, positive);              // always, here
  b.store(out, b.i32(3), x, b.logical_not(small));  // never, here
  b.end_if(opened);
  b.store(out, b.i32(4), x, positive);  // not known again
  const Program p = remove_dead(fold(prove_conditions(b.finish())));
  CHECK(faults(p) == "");
  int gated = 0;
  for (const NodeId n : p.body)
    if (p.graph.op(n) == Op::Store) gated += p.graph.sources(n).size() == 3;
  CHECK(count(p, Op::Store) == 3);
  CHECK(gated == 1);
}
