// The native backend end to end, on every level that this CPU runs: programs built by hand, run from their image, compared with C++.
#include "emitters/llvm/native.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <numeric>

#include "compiler/ir/builder.h"
#include "compiler/spec/verify.h"
#include "emitters/llvm/loader_for_tests.h"

using namespace sarek;
using namespace sarek::ir;
using emit::NativeLevel;
using emit::NativeOptions;
using emit::testing::LoadedImage;

namespace {

constexpr NativeLevel kLevels[] = {NativeLevel::Sse42, NativeLevel::Avx2, NativeLevel::Avx512};

template <class T>
std::uint64_t address(std::vector<T>& v) {
  return reinterpret_cast<std::uint64_t>(v.data());
}

emit::NativeImage compiled(const Program& program, NativeOptions options) {
  const auto failures = spec::verify_program(program);
  INFO(spec::describe(program, failures));
  REQUIRE(failures.empty());
  const Program* list[] = {&program};
  auto image = emit::emit_native(list, options);
  if (!image) FAIL(image.error().message);
  return std::move(*image);
}

/// Runs `check` once per level and width that this CPU runs.
template <class F>
void on_every_level(F check) {
  for (const NativeLevel level : kLevels) {
    if (!emit::testing::cpu_runs(level)) continue;
    for (const int width : {0, 4, 16}) {
      NativeOptions options;
      options.level = level;
      options.vector_width = width;
      INFO(emit::native_level_name(level) << ", width " << width);
      check(options);
    }
  }
}

Program saxpy(int block) {
  ProgramBuilder b("saxpy", {block, 1, 1});
  const NodeId a = b.scalar_param("a", Type::F32);
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId y = b.buffer_param("y", Type::F32, Access::InOut);
  const NodeId n = b.length(b.slot_of(y));
  const NodeId i = b.global_id(0);
  const NodeId guard = b.begin_if(b.op(Op::Cmplt, {i, n}));
  b.store(y, i, b.op(Op::Add, {b.op(Op::Mul, {a, b.load(x, i)}), b.load(y, i)}));
  b.end_if(guard);
  return b.finish();
}

}  // namespace

TEST_CASE("saxpy writes what C++ writes, and nothing past the end") {
  for (const int block : {256, 33, 1}) {
    const Program program = saxpy(block);
    on_every_level([&](const NativeOptions& options) {
      const LoadedImage image(compiled(program, options));
      const int n = 1000;
      std::vector<float> x(n), y(n + 64), expected;
      for (int i = 0; i < n; ++i)
        x[static_cast<std::size_t>(i)] = 0.1f * static_cast<float>(i), y[static_cast<std::size_t>(i)] = 1.0f / static_cast<float>(i + 1);
      expected = y;
      const float a = 1.7f;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) expected[i] = a * x[i] + expected[i];
      image.run(0, {std::bit_cast<std::uint32_t>(a), address(x), address(y), static_cast<std::uint64_t>(n)},
                {(n + block - 1) / block, 1, 1});
      CHECK(std::memcmp(expected.data(), y.data(), y.size() * 4) == 0);
    });
  }
}

TEST_CASE("debug information names the file and the line of each statement") {
  SourceManager sources;
  const std::string text = "one\ntwo\nthree\n";
  const FileId file = sources.add("kernels.sarek", text);
  ProgramBuilder b("lines", {16, 1, 1});
  b.program().module_file = "kernels.sarek";
  b.program().range = {file, 0, 3};
  const NodeId x = b.buffer_param("x", Type::F32, Access::InOut);
  const NodeId i = b.global_id(0);
  b.at({file, 8, 13});  // "three"
  b.store(x, i, b.op(Op::Add, {b.load(x, i), b.load(x, i)}));
  const Program program = b.finish();
  const Program* list[] = {&program};
  NativeOptions options;
  options.debug_info = true;
  options.sources = &sources;
  const auto bytes = emit::emit_native_text(list, options, emit::NativeText::Asm);
  if (!bytes) FAIL(bytes.error().message);
  const std::string assembly(bytes->begin(), bytes->end());
  CHECK(assembly.find("\"kernels.sarek\"") != std::string::npos);
  CHECK(assembly.find(".loc\t1 3 1") != std::string::npos);
  CHECK(emit::emit_native(list, options));  // an image drops it
}

TEST_CASE("faults of the input are errors that name the kernel") {
  ProgramBuilder b("uneven", {64, 1, 1});
  const NodeId opened = b.begin_if(b.op(Op::Cmplt, {b.local_id(0), b.i32(3)}));
  b.barrier();
  b.end_if(opened);
  const Program uneven = b.finish();
  const Program* list[] = {&uneven};
  const auto refused = emit::emit_native(list, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("`uneven`") != std::string::npos);
  CHECK(refused.error().message.find("barrier") != std::string::npos);

  ProgramBuilder s("sines", {64, 1, 1});
  const NodeId x = s.buffer_param("x", Type::F32, Access::InOut);
  s.store(x, s.global_id(0), s.op(Op::Sin, {s.load(x, s.global_id(0))}));
  const Program sines = s.finish();
  const Program* other[] = {&sines};
  const auto unknown = emit::emit_native(other, {});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message.find("SIN") != std::string::npos);
}
