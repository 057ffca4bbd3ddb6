// Images and text outputs: what an object becomes, what is refused, and that no code leaves the image.
#include "emitters/llvm/image.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "compiler/ir/builder.h"
#include "emitters/llvm/native.h"

using namespace sarek;
using namespace sarek::ir;
using emit::NativeLevel;
using emit::NativeText;

namespace {

/// A kernel that uses constants, loops, division, conversions and shared memory: what tempts a compiler to call its library.
Program tempting(bool fma) {
  ProgramBuilder b("tempting", {64, 1, 1});
  const NodeId x = b.buffer_param("x", Type::F32, Access::InOut);
  const NodeId u = b.buffer_param("u", Type::U64, Access::InOut);
  const NodeId n = b.scalar_param("n", Type::I32);
  const NodeId tile = b.shared("tile", Type::F32, 2048);
  const NodeId table = b.reg("table", Type::F32, 256);
  const NodeId i = b.global_id(0);
  b.store(tile, b.local_id(0), b.load(x, i));
  b.barrier();
  const NodeId k = b.begin_range(n);
  b.store(table, b.op(Op::And, {k, b.i32(255)}), b.ins(Ins::Floor, Type::F32, {b.load(tile, k)}));
  b.end_range(k);
  NodeId v = b.load(table, b.op(Op::And, {i, b.i32(255)}));
  v = b.op(Op::Sqrt, {b.ins(Ins::Ceil, Type::F32, {b.op(Op::Trunc, {v})})});
  if (fma) v = b.op(Op::Mulacc, {v, v, b.float_constant(Type::F32, 0.1)});
  b.store(x, i, v);
  const NodeId w = b.load(u, i);
  b.store(u, i, b.op(Op::Cdiv, {w, b.cast(b.cast(b.cast(w, Type::F32), Type::F64), Type::U64)}));
  return b.finish();
}

std::vector<std::uint8_t> text(const Program& p, NativeLevel level, NativeText kind, int opt = 2) {
  emit::NativeOptions options;
  options.level = level;
  options.opt_level = opt;
  const Program* list[] = {&p};
  auto r = emit::emit_native_text(list, options, kind);
  if (!r) FAIL(r.error().message);
  return std::move(*r);
}

}  // namespace

TEST_CASE("no level calls a library function") {
  for (const NativeLevel level : {NativeLevel::Sse42, NativeLevel::Avx2, NativeLevel::Avx512, NativeLevel::Aarch64})
    for (const int opt : {0, 1, 2, 3}) {
      INFO(emit::native_level_name(level) << " -O" << opt);
      const Program p = tempting(emit::native_capabilities(level).fma_f32);
      emit::NativeOptions options;
      options.level = level;
      options.opt_level = opt;
      const Program* list[] = {&p};
      const auto image = emit::emit_native(list, options);  // refuses undefined symbols
      if (!image) FAIL(image.error().message);
      CHECK(image->bytes.size() % 64 == 0);
      CHECK(image->kernels[0].shared_bytes == 8192);
    }
}

TEST_CASE("an object that calls out, or is none, is refused by name") {
  const std::vector<std::uint8_t> nonsense = {1, 2, 3};
  CHECK_FALSE(emit::flatten_object(nonsense));
  const Program p = tempting(false);
  std::vector<std::uint8_t> object = text(p, NativeLevel::Avx2, NativeText::Object);
  CHECK(emit::flatten_object(object));
  object.resize(object.size() / 2);
  CHECK_FALSE(emit::flatten_object(object));
}

TEST_CASE("the same programs give the same bytes") {
  const Program p = tempting(true);
  CHECK(text(p, NativeLevel::Avx512, NativeText::Object) == text(p, NativeLevel::Avx512, NativeText::Object));
}

TEST_CASE("assembly and IR name the kernel; products and sums stay apart") {
  ProgramBuilder b("apart", {64, 1, 1});
  const NodeId x = b.buffer_param("x", Type::F32, Access::InOut);
  const NodeId i = b.global_id(0);
  const NodeId v = b.load(x, i);
  b.store(x, i, b.op(Op::Add, {b.op(Op::Mul, {v, v}), v}));
  const Program p = b.finish();
  for (const NativeLevel level : {NativeLevel::Avx2, NativeLevel::Avx512, NativeLevel::Aarch64}) {
    const std::vector<std::uint8_t> bytes = text(p, level, NativeText::Asm);
    const std::string assembly(bytes.begin(), bytes.end());
    CHECK(assembly.find("apart:") != std::string::npos);
    CHECK(assembly.find("fmadd") == std::string::npos);
    CHECK(assembly.find("fmla") == std::string::npos);
  }
  const std::vector<std::uint8_t> bytes = text(p, NativeLevel::Avx2, NativeText::LlvmIr);
  CHECK(std::string(bytes.begin(), bytes.end()).find("void @apart(") != std::string::npos);
}

TEST_CASE("masks of a divergent loop are words where there are no mask registers: nothing packs them into bytes") {
  ProgramBuilder b("escape", {64, 1, 1});
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId steps = b.buffer_param("steps", Type::I32, Access::Out);
  const NodeId i = b.global_id(0);
  const NodeId z = b.reg("z", Type::F32), n = b.reg("n", Type::I32);
  b.set(z, b.load(x, i));
  const NodeId loop = b.begin_loop();
  const NodeId v = b.get(z), count = b.get(n);
  const NodeId again =
      b.op(Op::And, {b.op(Op::Cmplt, {count, b.i32(100)}), b.op(Op::Cmplt, {v, b.constant(Type::F32, ConstValue::of_float(4.0))})});
  const NodeId inside = b.begin_if(again);
  b.set(z, b.op(Op::Mul, {v, v}));
  b.set(n, b.op(Op::Add, {count, b.i32(1)}));
  b.end_if(inside);
  b.end_loop(loop, again);
  b.store(steps, i, b.get(n));
  const Program p = b.finish();
  for (const NativeLevel level : {NativeLevel::Sse42, NativeLevel::Avx2}) {
    const std::vector<std::uint8_t> bytes = text(p, level, NativeText::Asm);
    const std::string assembly(bytes.begin(), bytes.end());
    CHECK(assembly.find("packs") == std::string::npos);
    CHECK(assembly.find("ptest") != std::string::npos);
  }
}

TEST_CASE("AArch64 assembly assembles to the emitted object's instructions") {
  if (std::system("clang-19 --version > /dev/null 2>&1") != 0) SKIP("clang-19 is not here");
  const Program p = tempting(true);
  const std::vector<std::uint8_t> assembly = text(p, NativeLevel::Aarch64, NativeText::Asm);
  const std::string stem = SAREK_BINARY_DIR "/aarch64_image_test";
  std::ofstream(stem + ".s", std::ios::binary)
      .write(reinterpret_cast<const char*>(assembly.data()), static_cast<std::streamsize>(assembly.size()));
  REQUIRE(std::system(("clang-19 --target=aarch64-linux-gnu -c -o " + stem + ".o " + stem + ".s").c_str()) == 0);
  std::ifstream in(stem + ".o", std::ios::binary);
  const std::vector<std::uint8_t> assembled((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto from_text = emit::flatten_object(assembled);
  const auto direct = emit::flatten_object(text(p, NativeLevel::Aarch64, NativeText::Object));
  REQUIRE(from_text);
  REQUIRE(direct);
  CHECK(from_text->bytes == direct->bytes);
  std::remove((stem + ".s").c_str());
  std::remove((stem + ".o").c_str());
}
