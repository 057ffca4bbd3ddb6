// What the analysis says of small programs: uniform, affine, varying; blending; regions.
#include "emitters/llvm/analysis.h"

#include <catch2/catch_test_macros.hpp>

#include "compiler/ir/builder.h"

using namespace sarek;
using namespace sarek::ir;
using emit::Analysis;
using emit::Variance;

namespace {

Analysis analysed(const Program& p, int width) {
  auto a = Analysis::create(p, width);
  if (!a) FAIL(a.error().message);
  return std::move(*a);
}

}  // namespace

TEST_CASE("indices are consecutive along x, uniform along y") {
  ProgramBuilder b("k", {16, 4, 1});
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId w = b.scalar_param("w", Type::I32);
  const NodeId x = b.global_id(0), y = b.global_id(1);
  const NodeId cell = b.op(Op::Add, {b.op(Op::Mul, {y, w}), x});
  const NodeId twice = b.op(Op::Mul, {x, b.i32(2)});
  const NodeId scaled = b.op(Op::Mul, {x, w});
  const NodeId none = b.op(Op::Sub, {x, b.local_id(0)});
  const NodeId high = b.op(Op::Shr, {x, b.i32(4)});
  b.store(out, cell, b.op(Op::Add, {twice, b.op(Op::Add, {scaled, b.op(Op::Add, {none, high})})}));
  const Program p = b.finish();
  const Analysis a = analysed(p, 8);
  CHECK(a.of(x).variance == Variance::Affine);
  CHECK(a.of(x).stride == 1);
  CHECK(a.of(y).variance == Variance::Chunk);
  CHECK(a.of(cell).variance == Variance::Affine);
  CHECK(a.of(cell).stride == 1);
  CHECK(a.of(twice).stride == 2);
  CHECK(a.of(scaled).variance == Variance::Varying);
  CHECK(a.of(none).variance <= Variance::Chunk);
  CHECK(a.of(high).variance <= Variance::Chunk);
  // Rows of 16 do not fill chunks of 32.
  CHECK(analysed(p, 32).of(x).variance == Variance::Varying);
}

TEST_CASE("a variable that lanes write apart varies; its blend depends on who reads it") {
  ProgramBuilder b("k", {64, 1, 1});
  const NodeId in = b.buffer_param("in", Type::F32, Access::In);
  const NodeId out = b.buffer_param("out", Type::F32, Access::Out);
  const NodeId i = b.global_id(0);
  const NodeId kept = b.reg("kept", Type::F32), temporary = b.reg("temporary", Type::F32), counter = b.reg("counter", Type::I32);
  b.set(kept, b.float_constant(Type::F32, 1));
  const NodeId opened = b.begin_if(b.op(Op::Cmplt, {b.load(in, i), b.float_constant(Type::F32, 0)}));
  b.set(temporary, b.load(in, i));
  b.set(kept, b.get(temporary));
  b.end_if(opened);
  b.set(counter, b.i32(5));
  b.store(out, i, b.op(Op::Add, {b.get(kept), b.cast(b.get(counter), Type::F32)}));
  const Program p = b.finish();
  const Analysis a = analysed(p, 8);
  const auto variable = [&](NodeId id) { return a.variables[static_cast<std::size_t>(a.variable_of[id.index()])]; };
  CHECK(variable(kept).variance == Variance::Varying);
  CHECK(variable(counter).variance == Variance::Block);
  std::vector<bool> blends;
  for (std::size_t at = 0; at < p.body.size(); ++at)
    if (p.graph.op(p.body[at]) == Op::Store) blends.push_back(a.blend[at]);
  CHECK(blends == std::vector<bool>{false, false, true, false, false});
}

TEST_CASE("lanes that leave a while loop need no blend of what only the loop reads") {
  ProgramBuilder b("k", {64, 1, 1});
  const NodeId out = b.buffer_param("out", Type::I32, Access::InOut);
  const NodeId i = b.global_id(0);
  const NodeId z = b.reg("z", Type::I32), n = b.reg("n", Type::I32);
  b.set(z, b.load(out, i));
  b.set(n, b.i32(0));
  const NodeId loop = b.begin_loop();
  const NodeId go = b.op(Op::Cmplt, {b.get(z), b.i32(1000)});
  const NodeId opened = b.begin_if(go);
  b.set(z, b.op(Op::Mul, {b.get(z), b.i32(3)}));
  b.set(n, b.op(Op::Add, {b.get(n), b.i32(1)}));
  b.end_if(opened);
  b.end_loop(loop, go);
  b.store(out, i, b.get(n));
  const Program p = b.finish();
  const Analysis a = analysed(p, 8);
  std::vector<bool> blends;
  for (std::size_t at = 0; at < p.body.size(); ++at)
    if (p.graph.op(p.body[at]) == Op::Store) blends.push_back(a.blend[at]);
  CHECK(blends == std::vector<bool>{false, false, false, true, false});
}

TEST_CASE("barriers cut regions; values cross them or are computed again; divergent ones are refused") {
  ProgramBuilder b("k", {64, 1, 1});
  const NodeId x = b.buffer_param("x", Type::F32, Access::InOut);
  const NodeId s = b.shared("s", Type::F32, 64);
  const NodeId t = b.local_id(0);
  const NodeId i = b.global_id(0);
  const NodeId v = b.load(x, i);
  b.store(s, t, v);
  b.barrier();
  b.store(x, i, b.op(Op::Add, {v, b.load(s, b.op(Op::Sub, {b.i32(63), t}))}));
  const Program p = b.finish();
  const Analysis a = analysed(p, 8);
  REQUIRE(a.regions.size() == 2);
  CHECK(a.crossing[v.index()] == emit::Crossing::Save);
  CHECK(a.crossing[i.index()] == emit::Crossing::Recompute);

  ProgramBuilder d("k", {64, 1, 1});
  const NodeId opened = d.begin_if(d.op(Op::Cmplt, {d.local_id(0), d.i32(3)}));
  d.barrier();
  d.end_if(opened);
  const Program bad = d.finish();
  CHECK_FALSE(Analysis::create(bad, 8));
}

TEST_CASE("a select on the condition that goes round again is dropped for what only the loop reads") {
  ProgramBuilder b("k", {64, 1, 1});
  const NodeId out = b.buffer_param("out", Type::I32, Access::InOut);
  const NodeId i = b.global_id(0);
  const NodeId z = b.reg("z", Type::I32), n = b.reg("n", Type::I32);
  b.set(z, b.load(out, i));
  const NodeId loop = b.begin_loop();
  const NodeId old_z = b.get(z), old_n = b.get(n);
  const NodeId go = b.op(Op::Cmplt, {old_z, b.i32(1000)});
  const NodeId next_z = b.op(Op::Mul, {old_z, b.i32(3)}), next_n = b.op(Op::Add, {old_n, b.i32(1)});
  const NodeId chosen_z = b.op(Op::Where, {go, next_z, old_z}), chosen_n = b.op(Op::Where, {go, next_n, old_n});
  b.set(z, chosen_z);
  b.set(n, chosen_n);
  b.end_loop(loop, go);
  b.store(out, i, b.get(n));
  const Program p = b.finish();
  const Analysis a = analysed(p, 8);
  std::vector<NodeId> stored;
  for (std::size_t at = 0; at < p.body.size(); ++at)
    if (p.graph.op(p.body[at]) == Op::Store) stored.push_back(a.stored_value(static_cast<int>(at)));
  REQUIRE(stored.size() == 4);
  CHECK(stored[1] == next_z);
  CHECK(stored[2] == chosen_n);
}
