// Values, control flow, memory, launches: what one thread does, and what a launch checks. Barriers and warps are in barrier_test.cpp.
#include <limits>

#include "compiler/interp/test_support.h"
#include "compiler/ir/evaluate.h"

using namespace sarek;
using namespace sarek::interp;
using namespace sarek::interp::test;

namespace {

Program saxpy(int block) {
  ProgramBuilder b("saxpy", {block, 1, 1});
  const NodeId a = b.scalar_param("a", Type::F32);
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId y = b.buffer_param("y", Type::F32, Access::InOut);
  const NodeId i = b.global_id(0);
  const NodeId in_range = b.begin_if(b.op(Op::Cmplt, {i, b.length(b.slot_of(y))}));
  b.store(y, i, b.op(Op::Add, {b.op(Op::Mul, {a, b.load(x, i)}), b.load(y, i)}));
  b.end_if(in_range);
  return b.finish();
}

/// One thread computes `make(builder, x, y, z)` from scalars of type `from` and stores it; the bits of the result.
template <class F>
std::uint64_t compute(Type from, Type to, std::array<std::uint64_t, 3> v, F make, Options options = {}) {
  ProgramBuilder b("one");
  const NodeId x = b.scalar_param("x", from);
  const NodeId y = b.scalar_param("y", from);
  const NodeId z = b.scalar_param("z", from);
  const NodeId out = b.buffer_param("out", to, Access::Out);
  b.store(out, b.i32(0), make(b, x, y, z));
  const Program p = b.finish();
  std::vector<std::uint64_t> result(1);
  Call call;
  call.scalar(from, v[0]).scalar(from, v[1]).scalar(from, v[2]);
  call.launch.arguments.push_back(Argument::buffer(result.data(), 1, ir::type_bytes(to)));
  call.ok(p, options);
  return result[0];
}

std::uint64_t u(double x) { return numeric::bits(static_cast<float>(x)); }
std::uint64_t i32(std::int64_t x) { return static_cast<std::uint32_t>(x); }

}  // namespace

TEST_CASE("saxpy over a grid with a partial last block") {
  std::vector<float> x(1000), y(1000), want(1000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i) * 0.25f;
    y[i] = 1.0f / static_cast<float>(i + 1);
    const float product = 3.0f * x[i];
    want[i] = product + y[i];
  }
  const Stats stats = Call({8, 1, 1}).scalar(Type::F32, u(3)).buffer(x).buffer(y).ok(saxpy(128));
  CHECK(y == want);
  CHECK(stats.blocks == 8);
  CHECK(stats.threads == 1024);
}
