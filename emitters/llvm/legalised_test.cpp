// Programs that need legalisation, brought to each level's capabilities and run there, against the interpreter on the program as it was.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "compiler/interp/interpreter.h"
#include "compiler/ir/builder.h"
#include "compiler/passes/passes.h"
#include "compiler/support/numeric.h"
#include "emitters/llvm/loader_for_tests.h"
#include "emitters/llvm/native.h"

using namespace sarek;
using namespace sarek::ir;
using emit::NativeLevel;

namespace {

/// out[i] = a mix of 16-bit arithmetic, conversions and a fused product of the inputs' cells.
Program mixed(Type narrow) {
  ProgramBuilder b("mixed", {32, 1, 1});
  const NodeId x = b.buffer_param("x", narrow, Access::In);
  const NodeId y = b.buffer_param("y", Type::F64, Access::In);
  const NodeId half = b.buffer_param("half", narrow, Access::Out);
  const NodeId single = b.buffer_param("single", Type::F32, Access::Out);
  const NodeId bits = b.buffer_param("bits", Type::U16, Access::Out);
  const NodeId i = b.global_id(0);
  const NodeId v = b.load(x, i), w = b.load(y, i);
  const NodeId sum = b.op(Op::Add, {b.op(Op::Mul, {v, v}), b.cast(w, narrow)});
  b.store(half, i, b.op(Op::Max, {b.op(Op::Fdiv, {sum, v}), b.op(Op::Neg, {b.op(Op::Sqrt, {sum})})}));
  const NodeId f = b.cast(v, Type::F32), g = b.cast(w, Type::F32);
  b.store(single, i, b.op(Op::Mulacc, {f, g, b.ins(Ins::Round, Type::F32, {b.op(Op::Mul, {g, b.float_constant(Type::F32, 3.7f)})})}));
  b.store(bits, i, b.op(Op::Add, {b.bitcast(sum, Type::U16), b.cast(w, Type::U16)}));
  return b.finish();
}

}  // namespace

TEST_CASE("legalised programs give the interpreter's bits: f16, bf16, fma, rounding") {
  for (const Type narrow : {Type::F16, Type::Bf16}) {
    const Program program = mixed(narrow);
    const std::size_t n = 32 * 64;
    std::vector<std::uint16_t> x(n);
    std::vector<double> y(n);
    for (std::size_t k = 0; k < n; ++k) {
      x[k] = static_cast<std::uint16_t>(k * 32 + k / 7);
      y[k] = (static_cast<double>(k) - 900.0) * 0.37 * (k % 5 == 0 ? 1e4 : 1e-3);
    }
    struct Outputs {
      std::vector<std::uint16_t> half, bits;
      std::vector<float> single;
    };
    const auto blank = [&] { return Outputs{std::vector<std::uint16_t>(n), std::vector<std::uint16_t>(n), std::vector<float>(n)}; };
    const auto canonical = [&](Outputs& o) {
      for (auto& h : o.half)
        if ((h & 0x7fff) > (narrow == Type::F16 ? 0x7c00 : 0x7f80)) h = 0x7fff;
      for (auto& f : o.single)
        if (f != f) f = numeric::f32(numeric::kNanF32);
    };
    Outputs expected = blank();
    interp::Launch launch;
    launch.grid = {64, 1, 1};
    const auto buffer = [](auto& v) {
      return interp::Argument::buffer(v.data(), static_cast<std::int64_t>(v.size()), static_cast<std::int64_t>(v.size() * sizeof(v[0])));
    };
    launch.arguments = {buffer(x), buffer(y), buffer(expected.half), buffer(expected.single), buffer(expected.bits)};
    const auto ran = interp::run(program, launch);
    if (!ran) FAIL(ran.error().message);
    canonical(expected);
    for (const NativeLevel level : {NativeLevel::Sse42, NativeLevel::Avx2, NativeLevel::Avx512, NativeLevel::Aarch64}) {
      INFO(type_name(narrow) << " on " << emit::native_level_name(level));
      const Program lowered = passes::legalise(program, emit::native_capabilities(level));
      const Program* list[] = {&lowered};
      emit::NativeOptions options;
      options.level = level;
      auto image = emit::emit_native(list, options);
      if (!image) FAIL(image.error().message);
      if (!emit::testing::cpu_runs(level)) continue;
      Outputs got = blank();
      const auto address = [](auto& v) { return reinterpret_cast<std::uint64_t>(v.data()); };
      std::vector<std::uint64_t> slots = {address(x), address(y), address(got.half), address(got.single), address(got.bits)};
      slots.resize(program.slots.size() + 3, 64);
      emit::testing::LoadedImage(std::move(*image)).run(0, slots, {64, 1, 1});
      canonical(got);
      CHECK(got.half == expected.half);
      CHECK(got.bits == expected.bits);
      CHECK(std::memcmp(got.single.data(), expected.single.data(), n * 4) == 0);
    }
  }
}
