// reduce_strength and insert_checks.
#include <catch2/catch_test_macros.hpp>

#include "compiler/passes/passes.h"
#include "compiler/passes/test_machine.h"

using namespace sarek;
using namespace sarek::passes;
using namespace sarek::passes::test;

TEST_CASE("division and remainder by powers of two become shifts and masks where the dividend allows") {
  const auto left = [](Op op, Type t, std::int64_t divisor, bool nonnegative) {
    const auto formula = [&](ProgramBuilder& b, const std::vector<NodeId>& p) {
      const NodeId x = nonnegative ? b.op(Op::And, {p[0], b.int_constant(t, 1000)}) : p[0];
      return b.op(op, {x, b.int_constant(t, divisor)});
    };
    const Program before = formula_kernel({t}, formula);
    const Program after = reduce_strength(before);
    CHECK(faults(after) == "");
    for (const std::uint64_t v : edge_values(t)) CHECK(run_straight(before, {v}) == run_straight(after, {v}));
    return count(after, op);
  };
  for (const Op op : {Op::Cdiv, Op::Cmod}) {
    CHECK(left(op, Type::I32, 16, true) == 0);
    CHECK(left(op, Type::I32, 16, false) == 1);
    CHECK(left(op, Type::U32, 16, false) == 0);
    CHECK(left(op, Type::I64, 1, true) == 1);
    CHECK(left(op, Type::I32, 12, true) == 1);
    CHECK(left(op, Type::I32, 1024, true) == 0);  // 0 <= x < 1024: nothing to divide
  }
  for (const Op op : {Op::Floordiv, Op::Floormod}) CHECK(left(op, Type::I32, 8, false) == 0);
}

TEST_CASE("checked mode stops at a division by zero with its place, and only where zero is possible") {
  ProgramBuilder b("k");
  const NodeId x = b.scalar_param("x", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::Out);
  const SourceRange place{FileId(0), 10, 15};
  b.at(place);
  const NodeId q = b.op(Op::Cdiv, {b.i32(7), x});
  b.at({});
  const NodeId r = b.op(Op::Cmod, {q, b.op(Op::Or, {b.op(Op::And, {x, b.i32(6)}), b.i32(1)})});
  b.store(out, b.i32(0), b.op(Op::Cdiv, {r, b.i32(3)}));
  const Program p = insert_checks(b.finish());
  CHECK(faults(p) == "");
  int traps = 0;
  for (const NodeId id : p.body)
    if (p.graph.op(id) == Op::Ins && ++traps == 1) CHECK(p.graph.range(id) == place);
  CHECK(traps >= 1);
  CHECK(traps <= 2);
  Input in;
  in.buffers[1] = {0};
  in.scalars[0] = 0;
  CHECK(run(p, in).trapped);
  // Optimising keeps the check even though x / 0 has a value.
  CHECK(run(remove_dead(merge_common(fold(p)), {.keep_loads = true}), in).trapped);
  in.scalars[0] = 2;
  CHECK_FALSE(run(p, in).trapped);
}
