// Grid-stride loops, from the pipeline to machine code, against the interpreter on the program as it was: counts that leave lanes, chunks
// and blocks over, and sums that would wrap.
#include <catch2/catch_test_macros.hpp>

#include "compiler/interp/interpreter.h"
#include "compiler/ir/builder.h"
#include "compiler/passes/pipeline.h"
#include "emitters/llvm/analysis.h"
#include "emitters/llvm/loader_for_tests.h"
#include "emitters/llvm/native.h"

using namespace sarek;
using namespace sarek::ir;
using emit::NativeLevel;

namespace {

enum class Body : std::uint8_t { Count, Map, Sum };

/// Count: a histogram in block-shared cells, added to `out` at the end. Map: out[i] += 3 * data[i]. Sum: each thread's sum over its turns.
Program strided(Body body, int threads) {
  ProgramBuilder b("strided", {threads, 1, 1});
  const NodeId data = b.buffer_param("data", body == Body::Count ? Type::U8 : Type::I32, Access::In);
  const NodeId out = b.buffer_param("out", Type::I32, Access::InOut);
  const NodeId t = b.local_id(0);
  const NodeId mine = b.shared("mine", Type::I32, 256);
  const NodeId i = b.reg("i", Type::I32);
  const NodeId sum = b.reg("sum", Type::I32);
  const NodeId stride = b.op(Op::Mul, {b.num_groups(0), b.i32(threads)});
  b.set(i, b.global_id(0));
  const NodeId loop = b.begin_loop();
  const NodeId at = b.get(i);
  const NodeId again = b.op(Op::Cmplt, {at, b.length(b.slot_of(data))});
  const NodeId inside = b.begin_if(again);
  const NodeId value = b.cast(b.load(data, at), Type::I32);
  if (body == Body::Count) b.ins(Ins::AtomicAdd, Type::I32, {b.index(mine, value), b.i32(1)});
  if (body == Body::Map) b.store(out, at, b.op(Op::Add, {b.load(out, at), b.op(Op::Mul, {value, b.i32(3)})}));
  if (body == Body::Sum) b.set(sum, b.op(Op::Add, {b.op(Op::Mul, {b.get(sum), b.i32(7)}), value}));
  b.set(i, b.op(Op::Add, {at, stride}));
  b.end_if(inside);
  b.end_loop(loop, again);
  if (body == Body::Count) {
    b.barrier();
    const NodeId some = b.begin_if(b.op(Op::Cmplt, {t, b.i32(256)}));
    const NodeId k = b.begin_range(b.i32((256 + threads - 1) / threads));
    const NodeId cell = b.op(Op::Add, {t, b.op(Op::Mul, {k, b.i32(threads)})});
    const NodeId exists = b.begin_if(b.op(Op::Cmplt, {cell, b.i32(256)}));
    b.ins(Ins::AtomicAdd, Type::I32, {b.index(out, cell), b.load(mine, cell)});
    b.end_if(exists);
    b.end_range(k);
    b.end_if(some);
  }
  if (body == Body::Sum) b.store(out, b.global_id(0), b.get(sum));
  return b.finish();
}

template <class T>
interp::Argument buffer(std::vector<T>& v) {
  return interp::Argument::buffer(v.data(), static_cast<std::int64_t>(v.size()), static_cast<std::int64_t>(v.size() * sizeof(T)));
}

template <class T>
void compare(Body body, int threads, int groups, std::size_t n) {
  const Program program = strided(body, threads);
  std::vector<T> data(n);
  for (std::size_t k = 0; k < n; ++k) data[k] = static_cast<T>((k * 37 + k / 91) % 251);
  const std::size_t cells = std::max<std::size_t>({n, 256, static_cast<std::size_t>(threads * groups)});
  std::vector<int> expected(cells, 5);
  interp::Launch launch;
  launch.grid = {groups, 1, 1};
  launch.arguments = {buffer(data), buffer(expected)};
  const auto ran = interp::run(program, launch);
  if (!ran) FAIL(ran.error().message);
  for (const NativeLevel level : {NativeLevel::Sse42, NativeLevel::Avx2, NativeLevel::Avx512}) {
    if (!emit::testing::cpu_runs(level)) continue;
    INFO(emit::native_level_name(level) << ", body " << static_cast<int>(body) << ", " << groups << " blocks of " << threads << ", " << n
                                        << " cells");
    const auto lowered = passes::run_pipeline(program, emit::native_capabilities(level), {});
    REQUIRE(lowered);
    const Program* list[] = {&*lowered};
    emit::NativeOptions options;
    options.level = level;
    auto image = emit::emit_native(list, options);
    if (!image) FAIL(image.error().message);
    std::vector<int> got(cells, 5);
    launch.arguments = {buffer(data), buffer(got)};
    const auto slots = interp::bind_arguments(*lowered, launch);
    REQUIRE(slots);
    emit::testing::LoadedImage(std::move(*image)).run(0, *slots, {groups, 1, 1});
    REQUIRE(got == expected);
  }
}

}  // namespace

TEST_CASE("grid-stride loops give the interpreter's results whatever is left over") {
  for (const int threads : {1, 20, 64, 256})
    for (const int groups : {1, 3})
      for (const std::size_t n : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{1000}, std::size_t{4096}}) {
        compare<std::uint8_t>(Body::Count, threads, groups, n);
        if (n == 63 || n == 4096) continue;
        compare<int>(Body::Map, threads, groups, n);
        compare<int>(Body::Sum, threads, groups, n);
      }
}

TEST_CASE("a grid-stride loop that carries nothing leaves the loop over chunks, its test of the range with it") {
  for (const Body body : {Body::Count, Body::Sum}) {
    const auto lowered = passes::run_pipeline(strided(body, 256), emit::native_capabilities(NativeLevel::Avx2), {});
    REQUIRE(lowered);
    const auto analysis = emit::Analysis::create(*lowered, 16);
    REQUIRE(analysis);
    int raised = 0, affine = 0;
    for (std::size_t p = 0; p < lowered->body.size(); ++p) {
      const NodeId id = lowered->body[p];
      raised += (lowered->graph.op(id) == Op::Range || lowered->graph.op(id) == Op::If) && analysis->block_level[p];
      const NodeId place = lowered->graph.op(id) == Op::Load ? emit::access_place(lowered->graph, id) : NodeId{};
      affine += place && analysis->of(lowered->graph.source(place, 1)).variance == emit::Variance::Affine;
    }
    // The loop and the branches around both versions. A sum is carried from turn to turn, by selects at that: its loop stays as it is.
    CHECK((raised >= 3) == (body == Body::Count));
    CHECK((affine >= 1) == (body == Body::Count));
  }
}
