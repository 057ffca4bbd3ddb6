// Every pure operation on every type, as vectors (whole chunks and a masked tail) and as scalars, against ir::evaluate, over edge values
// and random ones.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <random>

#include "compiler/ir/builder.h"
#include "compiler/ir/evaluate.h"
#include "compiler/support/numeric.h"
#include "emitters/llvm/loader_for_tests.h"
#include "emitters/llvm/native.h"

using namespace sarek;
using namespace sarek::ir;
using emit::NativeLevel;
using emit::testing::LoadedImage;

namespace {

struct Case {
  std::string name;
  Op op = Op::Ins;
  std::optional<Ins> ins;
  std::vector<Type> sources;
  Type result = Type::Void;
};

std::vector<std::uint64_t> edge_values(Type type, std::mt19937_64& random) {
  std::vector<std::uint64_t> v;
  const int bits = type_bits(type);
  const std::uint64_t all = bits == 64 ? ~0ull : (1ull << bits) - 1;
  if (type == Type::Bool) return {0, 1};
  if (is_int(type)) {
    v = {0, 1, 2, 3, 7, 10, all, all - 1, all >> 1, (all >> 1) + 1, (all >> 1) - 1, 31, 32, 33, 63, 64, 100};
  } else if (type == Type::F32) {
    for (const float f : {0.0f,        -0.0f,      1.0f,     -1.0f,   0.5f,   -0.5f,         1.5f,           2.5f,
                          -2.5f,       3.0e38f,    -3.0e38f, 1e-38f,  1e-45f, 2147483648.0f, -2147483648.0f, 4294967296.0f,
                          0.49999997f, 8388609.0f, 127.5f,   -128.9f, 255.5f, 65535.5f,      9.3e18f,        1.9e19f})
      v.push_back(numeric::bits(f));
    for (const std::uint32_t b : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc12345u, 0x7f812345u, 0x3f800800u, 0x00800000u})
      v.push_back(b);
  } else {
    for (const double f : {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           0.5,
                           -1.5,
                           2.5,
                           1e308,
                           -1e308,
                           1e-308,
                           5e-324,
                           2147483647.5,
                           -2147483649.0,
                           9.3e18,
                           1.9e19,
                           1e-40,
                           3.4028236e38,
                           1e39,
                           4503599627370497.5,
                           0.1,
                           65520.0,
                           70000.0})
      v.push_back(numeric::bits(f));
    for (const std::uint64_t b :
         {0x7ff0000000000000ull, 0xfff0000000000000ull, 0x7ff8000000000000ull, 0xfff8000000000001ull, 0x7ff0000000000001ull})
      v.push_back(b);
  }
  for (int i = 0; i < 6; ++i) v.push_back(random() & all);
  for (std::uint64_t& x : v) x &= all;
  return v;
}

const Type kInts[] = {Type::I8, Type::U8, Type::I16, Type::U16, Type::I32, Type::U32, Type::I64, Type::U64};
const Type kReals[] = {Type::F32, Type::F64};

std::vector<Case> cases_of(Type t, bool fma) {
  std::vector<Case> cases;
  const auto op = [&](const char* name, Op o, int n, Type result) {
    cases.push_back({name, o, std::nullopt, std::vector<Type>(static_cast<std::size_t>(n), t), result});
  };
  const auto ins = [&](const char* name, Ins i, int n, Type result) {
    cases.push_back({name, Op::Ins, i, std::vector<Type>(static_cast<std::size_t>(n), t), result});
  };
  op("lt", Op::Cmplt, 2, Type::Bool), op("ne", Op::Cmpne, 2, Type::Bool), op("eq", Op::Cmpeq, 2, Type::Bool);
  if (t == Type::Bool) {
    op("and", Op::And, 2, t), op("or", Op::Or, 2, t), op("xor", Op::Xor, 2, t);
  } else {
    op("add", Op::Add, 2, t), op("sub", Op::Sub, 2, t), op("mul", Op::Mul, 2, t), op("neg", Op::Neg, 1, t), op("max", Op::Max, 2, t);
    ins("min", Ins::Min, 2, t), ins("abs", Ins::Abs, 1, t);
    if (fma || !is_float(t)) op("mulacc", Op::Mulacc, 3, t);
  }
  if (is_int(t)) {
    op("div", Op::Cdiv, 2, t), op("mod", Op::Cmod, 2, t), op("floordiv", Op::Floordiv, 2, t), op("floormod", Op::Floormod, 2, t);
    op("shl", Op::Shl, 2, t), op("shr", Op::Shr, 2, t), op("and", Op::And, 2, t), op("or", Op::Or, 2, t), op("xor", Op::Xor, 2, t);
    if (type_bits(t) >= 32)
      ins("clz", Ins::Clz, 1, t), ins("ctz", Ins::Ctz, 1, t), ins("popcount", Ins::Popcount, 1, t), ins("mul_hi", Ins::MulHigh, 2, t);
  }
  if (is_float(t)) {
    op("div", Op::Fdiv, 2, t), op("sqrt", Op::Sqrt, 1, t), op("reciprocal", Op::Reciprocal, 1, t), op("trunc", Op::Trunc, 1, t);
    ins("floor", Ins::Floor, 1, t), ins("ceil", Ins::Ceil, 1, t), ins("round", Ins::Round, 1, t), ins("copysign", Ins::Copysign, 2, t);
    cases.push_back({"bitcast", Op::Bitcast, std::nullopt, {t}, t == Type::F32 ? Type::I32 : Type::U64});
  }
  for (const Type to :
       {Type::Bool, Type::I8, Type::U8, Type::I16, Type::U16, Type::I32, Type::U32, Type::I64, Type::U64, Type::F32, Type::F64})
    if (to != t) cases.push_back({"cast to " + std::string(type_name(to)), Op::Cast, std::nullopt, {t}, to});
  return cases;
}

/// out_k[i] = case_k(a[i], b[i], c[i]) for i below n. With `scalar` each block is one thread and i its number: nothing varies in it.
Program program_of(Type t, const std::vector<Case>& cases, bool scalar) {
  ProgramBuilder b("ops", {scalar ? 1 : 64, 1, 1});
  std::vector<NodeId> in;
  for (const char* name : {"a", "b", "c"}) in.push_back(b.buffer_param(name, t, Access::In));
  std::vector<NodeId> out;
  for (std::size_t k = 0; k < cases.size(); ++k) out.push_back(b.buffer_param("out" + std::to_string(k), cases[k].result, Access::Out));
  const NodeId n = b.scalar_param("n", Type::I32);
  const NodeId i = scalar ? b.group_id(0) : b.global_id(0);
  const NodeId guard = b.begin_if(b.op(Op::Cmplt, {i, n}));
  std::vector<NodeId> x;
  for (const NodeId buffer : in) x.push_back(b.load(buffer, i));
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    const std::span<const NodeId> sources(x.data(), c.sources.size());
    Arg arg;
    if (c.ins) arg = InsArg{*c.ins, c.result, {}};
    if (c.op == Op::Cast || c.op == Op::Bitcast) arg = TypeArg{c.result};
    b.store(out[k], i, b.op(c.op, sources, arg));
  }
  b.end_if(guard);
  return b.finish();
}

std::uint64_t get(const std::vector<std::uint8_t>& bytes, Type t, std::size_t i) {
  std::uint64_t v = 0;
  std::memcpy(&v, bytes.data() + i * static_cast<std::size_t>(type_bytes(t)), static_cast<std::size_t>(type_bytes(t)));
  return v;
}

void check_type(Type t, NativeLevel level, bool scalar) {
  std::mt19937_64 random(7);
  const bool fma = emit::native_capabilities(level).fma_f32;
  const std::vector<Case> cases = cases_of(t, fma);
  const Program program = program_of(t, cases, scalar);
  const Program* list[] = {&program};
  emit::NativeOptions options;
  options.level = level;
  auto compiled = emit::emit_native(list, options);
  if (!compiled) FAIL(compiled.error().message);
  const LoadedImage image(std::move(*compiled));

  const std::vector<std::uint64_t> edges = edge_values(t, random);
  std::vector<std::array<std::uint64_t, 3>> inputs;
  for (const std::uint64_t x : edges)
    for (const std::uint64_t y : edges) inputs.push_back({x, y, edges[random() % edges.size()]});
  while (inputs.size() % 64 != 13) inputs.push_back({edges[0], edges[random() % edges.size()], edges[0]});
  const std::size_t n = inputs.size();
  const auto size = static_cast<std::size_t>(type_bytes(t));
  std::vector<std::vector<std::uint8_t>> in(3, std::vector<std::uint8_t>(n * size));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < 3; ++k) std::memcpy(in[k].data() + i * size, &inputs[i][k], size);
  std::vector<std::vector<std::uint8_t>> out;
  for (const Case& c : cases) out.emplace_back(n * static_cast<std::size_t>(type_bytes(c.result)), std::uint8_t{0xcd});
  std::vector<std::uint64_t> slots;
  for (auto& v : in) slots.push_back(reinterpret_cast<std::uint64_t>(v.data()));
  for (auto& v : out) slots.push_back(reinterpret_cast<std::uint64_t>(v.data()));
  slots.push_back(n);
  image.run(0, slots, {static_cast<std::int32_t>(scalar ? n : (n + 63) / 64), 1, 1});

  for (std::size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    for (std::size_t i = 0; i < n; ++i) {
      const std::span<const std::uint64_t> operands(inputs[i].data(), c.sources.size());
      const auto expected = c.ins ? evaluate(*c.ins, c.result, c.sources, operands) : evaluate(c.op, c.result, c.sources, operands);
      REQUIRE(expected);
      const std::uint64_t got = get(out[k], c.result, i);
      if (got == *expected || (is_nan(c.result, got) && is_nan(c.result, *expected))) continue;
      FAIL(type_name(t) << " " << c.name << " of " << std::hex << inputs[i][0] << ", " << inputs[i][1] << ", " << inputs[i][2] << ": got "
                        << got << ", expected " << *expected << (scalar ? " (scalar)" : " (vector)") << " on "
                        << emit::native_level_name(level));
    }
  }
  SUCCEED();
}

void check_level(NativeLevel level) {
  if (!emit::testing::cpu_runs(level)) SKIP("this CPU does not run " << emit::native_level_name(level));
  for (const bool scalar : {false, true}) {
    check_type(Type::Bool, level, scalar);
    for (const Type t : kInts) check_type(t, level, scalar);
    for (const Type t : kReals) check_type(t, level, scalar);
  }
}

}  // namespace

TEST_CASE("operations have the contract's bits on sse4.2") { check_level(NativeLevel::Sse42); }
TEST_CASE("operations have the contract's bits on avx2") { check_level(NativeLevel::Avx2); }
TEST_CASE("operations have the contract's bits on avx512") { check_level(NativeLevel::Avx512); }

TEST_CASE("f32 to f16 and back has the contract's bits for every f16 and for ties") {
  for (const NativeLevel level : {NativeLevel::Avx2, NativeLevel::Avx512}) {
    if (!emit::testing::cpu_runs(level)) continue;
    ProgramBuilder b("halves", {64, 1, 1});
    const NodeId h = b.buffer_param("h", Type::F16, Access::In);
    const NodeId wide = b.buffer_param("wide", Type::F32, Access::Out);
    const NodeId x = b.buffer_param("x", Type::F32, Access::In);
    const NodeId narrow = b.buffer_param("narrow", Type::F16, Access::Out);
    const NodeId i = b.global_id(0);
    b.store(wide, i, b.cast(b.load(h, i), Type::F32));
    b.store(narrow, i, b.cast(b.load(x, i), Type::F16));
    const Program program = b.finish();
    const Program* list[] = {&program};
    emit::NativeOptions options;
    options.level = level;
    auto compiled = emit::emit_native(list, options);
    if (!compiled) FAIL(compiled.error().message);
    const LoadedImage image(std::move(*compiled));
    std::vector<std::uint16_t> hs(65536), narrowed(65536);
    std::vector<float> widened(65536), xs(65536);
    for (std::uint32_t k = 0; k < 65536; ++k) {
      hs[k] = static_cast<std::uint16_t>(k);
      const float f = numeric::f32_from_f16(static_cast<std::uint16_t>(k));
      // Numbers half way to the next f16, and just beside it.
      xs[k] = numeric::f32(numeric::bits(f) + (k % 3 == 0 ? 0x1000u : k % 3 == 1 ? 0xfffu : 0x1001u));
    }
    image.run(0,
              {reinterpret_cast<std::uint64_t>(hs.data()), reinterpret_cast<std::uint64_t>(widened.data()),
               reinterpret_cast<std::uint64_t>(xs.data()), reinterpret_cast<std::uint64_t>(narrowed.data())},
              {1024, 1, 1});
    for (std::uint32_t k = 0; k < 65536; ++k) {
      const std::uint64_t w = numeric::bits(numeric::f32_from_f16(static_cast<std::uint16_t>(k)));
      const std::uint64_t nw = numeric::f16_from(static_cast<double>(xs[k]));
      REQUIRE((numeric::bits(widened[k]) == w || (is_nan(Type::F32, w) && is_nan(Type::F32, numeric::bits(widened[k])))));
      REQUIRE((narrowed[k] == nw || (is_nan(Type::F16, nw) && is_nan(Type::F16, narrowed[k]))));
    }
  }
}
