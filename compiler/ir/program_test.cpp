#include "compiler/ir/program.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

#include "compiler/ir/builder.h"

using namespace sarek::ir;

namespace {

Program saxpy() {
  ProgramBuilder b("saxpy", {256, 1, 1});
  const NodeId a = b.scalar_param("a", Type::F32);
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId y = b.buffer_param("y", Type::F32, Access::InOut);
  const NodeId i = b.global_id(0);
  const NodeId in_range = b.begin_if(b.op(Op::Cmplt, {i, b.length(b.slot_of(y))}));
  b.store(y, i, b.op(Op::Add, {b.op(Op::Mul, {a, b.load(x, i)}), b.load(y, i)}));
  b.end_if(in_range);
  return b.finish();
}

}  // namespace

TEST_CASE("a built program lists every node once, after its sources") {
  const Program p = saxpy();
  std::vector<bool> seen(p.graph.size());
  for (const NodeId id : p.body) {
    CHECK_FALSE(seen[id.index()]);
    for (const NodeId s : p.graph.sources(id)) CHECK(seen[s.index()]);
    seen[id.index()] = true;
  }
  CHECK(p.slots.size() == 5);  // a, x, y, num_groups.x, y.len
  CHECK(p.params.size() == 3);
}

TEST_CASE("structure pairs openers with closers and knows parents") {
  const Program p = saxpy();
  const std::optional<Structure> s = structure_of(p);
  REQUIRE(s);
  const auto at = [&](Op op) {
    return static_cast<int>(std::find_if(p.body.begin(), p.body.end(), [&](NodeId id) { return p.graph.op(id) == op; }) - p.body.begin());
  };
  CHECK(s->partner[static_cast<std::size_t>(at(Op::If))] == at(Op::Endif));
  CHECK(s->parent[static_cast<std::size_t>(at(Op::Store))] == at(Op::If));
}

TEST_CASE("broken nesting has no structure") {
  ProgramBuilder b("broken");
  const NodeId range = b.begin_range(b.i32(3));
  const NodeId opened = b.begin_if(b.bool_constant(true));
  b.end_range(range);
  b.end_if(opened);
  CHECK_FALSE(structure_of(b.finish()));
}

TEST_CASE("a rebuilt program gives out fresh buffer numbers") {
  ProgramBuilder b("k");
  b.reg("r", Type::I32);
  b.shared("s", Type::F64, 3);
  const Program p = b.finish();
  CHECK(static_shared_bytes(p) == 24);
  ProgramBuilder again = rebuild(p);
  CHECK(again.slot_of(again.reg("t", Type::I32)) == 2);
}
