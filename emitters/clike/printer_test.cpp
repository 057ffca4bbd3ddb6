// What the C-like printer writes, node by node, where the spelling carries meaning: wrapping arithmetic, literals, names, views, gates,
// loops. That the text computes the right bits is shown by tests/run on a device.
#include "emitters/clike/printer.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ir/builder.h"
#include "compiler/ir/test_programs.h"

using namespace sarek;
using ir::Access;
using ir::Ins;
using ir::NodeId;
using ir::Op;
using ir::ProgramBuilder;
using ir::Type;

namespace {

Result<emit::PrintedModule> print(const ir::Program& program, const emit::PrintOptions& options = {}) {
  const ir::Program* list[] = {&program};
  return emit::print_clike(emit::opencl_dialect(), list, options);
}

std::string text_of(ProgramBuilder& b) {
  const ir::Program program = b.finish();
  const auto printed = print(program);
  REQUIRE(printed);
  return printed->text;
}

bool has(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return true;
  UNSCOPED_INFO("looked for: " << part << "\nin:\n" << text);
  return false;
}

/// out[0] = f(p0, p1) with scalars of one type.
template <class F>
std::string formula(Type type, F f) {
  ProgramBuilder b("f");
  const NodeId x = b.scalar_param("x", type), y = b.scalar_param("y", type);
  const NodeId value = f(b, x, y);
  b.store(b.buffer_param("out", b.graph().type(value), Access::Out), b.i32(0), value);
  return text_of(b);
}

std::string formula(Type type, Op op) {
  return formula(type, [op](ProgramBuilder& b, NodeId x, NodeId y) { return b.op(op, {x, y}); });
}

/// The literal as it stands in the store.
std::string literal(Type type, ir::ConstValue value) {
  ProgramBuilder b("f");
  const NodeId out = b.buffer_param("out", type, Access::Out);
  b.store(out, b.i32(0), b.constant(type, value));
  const std::string text = text_of(b);
  const std::size_t from = text.find("out_a0[0] = ") + 12;
  return text.substr(from, text.find(";\n", from) - from);
}

std::string float_literal(Type type, double value) { return literal(type, ir::ConstValue::of_float(value)); }
std::string int_literal(Type type, ir::Int128 value) { return literal(type, ir::ConstValue::of_int(value)); }

std::string fault(const ir::Program& program) {
  const auto printed = print(program);
  REQUIRE_FALSE(printed);
  return printed.error().message;
}

}  // namespace

TEST_CASE("a whole kernel as text") {
  const ir::Program program = ir::test::saxpy();
  const auto printed = print(program);
  REQUIRE(printed);
  CHECK(printed->text ==
        "#pragma OPENCL FP_CONTRACT OFF\n"
        "__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void saxpy_k0(float a_a0, __global const float* x_a1, __global float* "
        "y_a2, "
        "int y_len_a3, int num_groups_x_a4) {\n"
        "  const int v0 = (int)get_group_id(0);\n"
        "  const int v1 = (int)get_local_id(0);\n"
        "  const int v2 = (int)((uint)v0 * (uint)256);\n"
        "  const int v3 = (int)((uint)v2 + (uint)v1);\n"
        "  const bool v4 = v3 < y_len_a3;\n"
        "  if (v4) {\n"
        "    const float v5 = x_a1[v3];\n"
        "    const float v6 = a_a0 * v5;\n"
        "    const float v7 = y_a2[v3];\n"
        "    const float v8 = v6 + v7;\n"
        "    y_a2[v3] = v8;\n"
        "  }\n"
        "}\n");
  REQUIRE(printed->kernels.size() == 1);
  CHECK(printed->kernels[0].entry == "saxpy_k0");
  CHECK(printed->kernels[0].requires_ == std::vector<std::string>{"fp32-denormals"});
  CHECK(printed->kernels[0].shared_bytes == 0);
}

TEST_CASE("signed arithmetic wraps by way of unsigned types of at least 32 bits") {
  CHECK(has(formula(Type::I32, Op::Add), "const int v0 = (int)((uint)x_a0 + (uint)y_a1);"));
  CHECK(has(formula(Type::I32, Op::Mul), "(int)((uint)x_a0 * (uint)y_a1)"));
  CHECK(has(formula(Type::I64, Op::Sub), "(long)((ulong)x_a0 - (ulong)y_a1)"));
  // Two u16 of 65535 would overflow int, which they promote to.
  CHECK(has(formula(Type::U16, Op::Mul), "(ushort)((uint)x_a0 * (uint)y_a1)"));
  CHECK(has(formula(Type::I8, Op::Add), "as_char((uchar)((uint)x_a0 + (uint)y_a1))"));
  CHECK(has(formula(Type::I32, Op::Shl), "(int)((uint)x_a0 << y_a1)"));
  CHECK(has(formula(Type::I64, Op::Shl), "(long)((ulong)x_a0 << y_a1)"));
  CHECK(has(formula(Type::I32, [](ProgramBuilder& b, NodeId x, NodeId y) { return b.op(Op::Mulacc, {x, y, x}); }),
            "(int)((uint)x_a0 * (uint)y_a1 + (uint)x_a0)"));
}

TEST_CASE("no compiler can read a negation, however it is written") {
  using Formula = NodeId (*)(ProgramBuilder&, NodeId, NodeId);
  for (const Formula f : std::initializer_list<Formula>{
           [](ProgramBuilder& b, NodeId x, NodeId) { return b.op(Op::Neg, {x}); },
           [](ProgramBuilder& b, NodeId x, NodeId) { return b.op(Op::Sub, {b.int_constant(b.graph().type(x), 0), x}); },
           [](ProgramBuilder& b, NodeId x, NodeId) { return b.op(Op::Mul, {x, b.int_constant(b.graph().type(x), -1)}); },
           [](ProgramBuilder& b, NodeId x, NodeId) { return b.op(Op::Mul, {b.int_constant(b.graph().type(x), -1), x}); },
           [](ProgramBuilder& b, NodeId x, NodeId) {
             return b.op(Op::Add, {b.op(Op::Xor, {x, b.int_constant(b.graph().type(x), -1)}), b.int_constant(b.graph().type(x), 1)});
           }}) {
    CHECK(has(formula(Type::I32, f), "  const uint zero_z0 = (uint)get_global_offset(0);\n"));
    CHECK(has(formula(Type::I32, f), "(int)((uint)zero_z0 - (uint)x_a0)"));
    CHECK(has(formula(Type::I64, f), "(long)((ulong)zero_z0 - (ulong)x_a0)"));
    CHECK(has(formula(Type::I16, f), "as_short((ushort)((uint)zero_z0 - (uint)x_a0))"));
  }
  // What is read from an argument cannot turn out to be 0, what is computed can.
  CHECK(!has(formula(Type::I32, Op::Sub), "zero_z0"));
  CHECK(has(formula(Type::I16, [](ProgramBuilder& b, NodeId x, NodeId y) { return b.op(Op::Sub, {b.op(Op::Cmod, {y, x}), y}); }),
            "as_short((ushort)((uint)zero_z0 + (uint)v"));
  // Nor may it find out that a sum cannot wrap.
  const auto with_literal = [](Op op, std::int64_t value) {
    return [=](ProgramBuilder& b, NodeId x, NodeId) { return b.op(op, {x, b.int_constant(b.graph().type(x), value)}); };
  };
  CHECK(has(formula(Type::I32, with_literal(Op::Add, INT32_MAX)), "(int)((uint)zero_z0 + (uint)x_a0 + (uint)2147483647)"));
  CHECK(has(formula(Type::I32, with_literal(Op::Mul, 1 << 30)), "(int)(((uint)zero_z0 + (uint)x_a0) * (uint)1073741824)"));
  CHECK(!has(formula(Type::I32, with_literal(Op::Add, 1000)), "zero_z0"));
  CHECK(!has(formula(Type::U32, with_literal(Op::Add, INT32_MAX)), "zero_z0"));
}

TEST_CASE("small types stay small after C's promotions") {
  CHECK(has(formula(Type::U8, Op::Shr), "const uchar v0 = (uchar)(x_a0 >> y_a1);"));
  CHECK(has(formula(Type::I8, Op::Xor), "const char v0 = (char)(x_a0 ^ y_a1);"));
  CHECK(has(formula(Type::I16, Op::Cdiv), "(short)(x_a0 / y_a1)"));
}

TEST_CASE("floats: one operation a statement, fma by name, no operation on 16 bits") {
  CHECK(has(formula(Type::F32, Op::Mul), "const float v0 = x_a0 * y_a1;"));
  CHECK(has(formula(Type::F64, Op::Sub), "const double v0 = x_a0 - y_a1;"));
  CHECK(
      has(formula(Type::F32, [](ProgramBuilder& b, NodeId x, NodeId y) { return b.op(Op::Mulacc, {x, y, x}); }), "fma(x_a0, y_a1, x_a0)"));
  CHECK(has(formula(Type::F32, [](ProgramBuilder& b, NodeId x, NodeId) { return b.op(Op::Neg, {x}); }), "const float v0 = -x_a0;"));
  CHECK(has(formula(Type::F32, [](ProgramBuilder& b, NodeId x, NodeId) { return b.op(Op::Trunc, {x}); }), "trunc(x_a0)"));
  CHECK(has(formula(Type::F32, [](ProgramBuilder& b, NodeId x, NodeId) { return b.ins(Ins::Abs, Type::F32, {x}); }), "fabs(x_a0)"));
  // Negating a negative literal must not give C's decrement.
  CHECK(has(formula(Type::F32, [](ProgramBuilder& b, NodeId, NodeId) { return b.op(Op::Neg, {b.float_constant(Type::F32, -1.5)}); }),
            "-(-0x1.8p+0f)"));
}

TEST_CASE("what a kernel needs of its device") {
  const auto needs = [](Type type, Op op) {
    ProgramBuilder b("f");
    const NodeId x = b.scalar_param("x", type);
    const NodeId value = op == Op::Sqrt ? b.op(op, {x}) : b.op(op, {x, x});
    b.store(b.buffer_param("out", type, Access::Out), b.i32(0), value);
    const ir::Program program = b.finish();
    const auto printed = print(program);
    REQUIRE(printed);
    return printed->kernels[0].requires_;
  };
  CHECK(needs(Type::I32, Op::Add).empty());
  CHECK(needs(Type::F32, Op::Add) == std::vector<std::string>{"fp32-denormals"});
  CHECK(needs(Type::F32, Op::Fdiv) == std::vector<std::string>{"fp32-denormals", "fp32-exact-divide"});
  CHECK(needs(Type::F32, Op::Sqrt) == std::vector<std::string>{"fp32-denormals", "fp32-exact-divide"});
  CHECK(needs(Type::F64, Op::Fdiv) == std::vector<std::string>{"fp64"});
  CHECK(has(formula(Type::F64, Op::Add), "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"));
}

TEST_CASE("literals of floats keep every bit") {
  CHECK(float_literal(Type::F32, static_cast<double>(0.1f)) == "0x1.99999ap-4f");
  CHECK(float_literal(Type::F32, static_cast<double>(3.4028235e38f)) == "0x1.fffffep+127f");
  CHECK(float_literal(Type::F32, static_cast<double>(1e-45f)) == "0x1p-149f");
  CHECK(float_literal(Type::F32, -0.0) == "(-0x0p+0f)");
  CHECK(float_literal(Type::F32, HUGE_VAL) == "INFINITY");
  CHECK(float_literal(Type::F32, -HUGE_VAL) == "(-INFINITY)");
  CHECK(float_literal(Type::F32, std::nan("")) == "as_float(0x7fc00000u)");
  CHECK(float_literal(Type::F64, 0.1) == "0x1.999999999999ap-4");
  CHECK(float_literal(Type::F64, std::numeric_limits<double>::denorm_min()) == "0x0.0000000000001p-1022");
  CHECK(float_literal(Type::F64, std::numeric_limits<double>::max()) == "0x1.fffffffffffffp+1023");
  CHECK(float_literal(Type::F64, -HUGE_VAL) == "(-(double)INFINITY)");
  CHECK(float_literal(Type::F64, std::nan("")) == "as_double(0x7ff8000000000000UL)");
  CHECK(float_literal(Type::F16, 1.0) == "((ushort)15360)");
  CHECK(float_literal(Type::Bf16, -2.0) == "((ushort)49152)");
}

TEST_CASE("literals of integers at the ends of their types") {
  CHECK(int_literal(Type::I32, INT32_MIN) == "(-2147483647 - 1)");
  CHECK(int_literal(Type::I32, -1) == "(-1)");
  CHECK(int_literal(Type::I64, INT64_MIN) == "(-9223372036854775807L - 1L)");
  CHECK(int_literal(Type::U64, UINT64_MAX) == "18446744073709551615UL");
  CHECK(int_literal(Type::U32, UINT32_MAX) == "4294967295u");
  CHECK(int_literal(Type::I8, -128) == "((char)(-127 - 1))");
  CHECK(int_literal(Type::U16, 65535) == "((ushort)65535)");
}

TEST_CASE("no user's name meets a keyword, a function, a macro or another name") {
  ProgramBuilder b("kernel");
  for (const char* name :
       {"float", "__global", "M_PI", "CL_VERSION_1", "get_local_id", "v0", "i0", "x", "X", "x_a7", "größe", "_", "9lives"})
    b.scalar_param(name, Type::I32);
  const NodeId out = b.buffer_param("barrier", Type::I32, Access::Out);
  b.store(out, b.i32(0), b.i32(1));
  const std::string text = text_of(b);
  CHECK(has(text,
            "void kernel_k0(int float_a0, int global_a1, int M_PI_a2, int CL_VERSION_1_a3, int get_local_id_a4, int v0_a5, int i0_a6, int "
            "x_a7, int X_a8, "
            "int x_a7_a9, int gr_e_a10, int v_a11, int v9lives_a12, __global int* barrier_a13)"));
}

TEST_CASE("kernels of one module whose names become equal stay apart") {
  ProgramBuilder a("a.b"), c("a_b");
  a.store(a.buffer_param("o", Type::I32, Access::Out), a.i32(0), a.i32(1));
  c.store(c.buffer_param("o", Type::I32, Access::Out), c.i32(0), c.i32(2));
  const ir::Program first = a.finish(), second = c.finish();
  const ir::Program* list[] = {&first, &second};
  const auto printed = emit::print_clike(emit::opencl_dialect(), list, {});
  REQUIRE(printed);
  CHECK(printed->kernels[0].entry == "a_b_k0");
  CHECK(printed->kernels[1].entry == "a_b_k1");
}

TEST_CASE("views of one buffer cast its pointer and keep const") {
  ProgramBuilder b("f");
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId as_int = b.view(b.slot_of(x), Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  b.store(out, b.i32(0), b.load(as_int, b.i32(3)));
  b.store(out, b.i32(1), b.cast(b.load(x, b.i32(3)), Type::I32));
  const std::string text = text_of(b);
  CHECK(has(text, "__global const float* x_a0, "));
  CHECK(has(text, "__global const int* x_a0_i32 = (__global const int*)x_a0;"));
  CHECK(has(text, "= x_a0_i32[3];"));
}

TEST_CASE("storage: private, shared, dynamic shared") {
  ProgramBuilder b("f", {8, 4, 2});
  const NodeId one = b.reg("sum", Type::F32), many = b.reg("list", Type::I32, 5);
  const NodeId tile = b.shared("tile", Type::F64, 12), dynamic = b.dynamic_shared("more", Type::I16);
  b.set(one, b.float_constant(Type::F32, 1.0));
  b.store(many, b.local_id(1), b.i32(2));
  b.store(tile, b.local_id(0), b.float_constant(Type::F64, 1.0));
  b.store(dynamic, b.local_id(2), b.int_constant(Type::I16, 7));
  b.barrier();
  const ir::Program program = b.finish();
  const auto printed = print(program);
  REQUIRE(printed);
  const std::string& text = printed->text;
  CHECK(has(text, "reqd_work_group_size(8, 4, 2)"));
  CHECK(has(text, "(int more_len_a0, __local short* more_d3)"));
  CHECK(has(text, "  float sum_r0 = 0x0p+0f;\n"));
  CHECK(has(text, "  int list_r1[5];\n  for (int z = 0; z < 5; ++z) list_r1[z] = 0;\n"));
  CHECK(has(text, "  __local double tile_s2[12];\n"));
  CHECK(has(text, "  sum_r0 = 0x1p+0f;\n"));
  CHECK(has(text, "more_d3["));
  CHECK(has(text, "  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n"));
  CHECK(printed->kernels[0].shared_bytes == 96);
}

TEST_CASE("a gated access touches memory only where its gate is true") {
  ProgramBuilder b("f");
  const NodeId x = b.buffer_param("x", Type::I32, Access::InOut), gate = b.scalar_param("on", Type::Bool);
  const NodeId value = b.load(x, b.i32(5), b.i32(7), gate);
  b.store(x, b.i32(6), value, gate);
  const std::string text = text_of(b);
  CHECK(has(text, "uchar on_a1"));
  CHECK(has(text, "const int v0 = (on_a1 != 0) ? x_a0[5] : 7;"));
  CHECK(has(text, "if ((on_a1 != 0)) x_a0[6] = v0;"));
}

TEST_CASE("Bool in memory is a byte, any non-zero byte is true") {
  ProgramBuilder b("f");
  const NodeId x = b.buffer_param("x", Type::Bool, Access::InOut);
  b.store(x, b.i32(1), b.load(x, b.i32(0)));
  const std::string text = text_of(b);
  CHECK(has(text, "__global uchar* x_a0"));
  CHECK(has(text, "const bool v0 = (x_a0[0] != 0);"));
  CHECK(has(text, "x_a0[1] = (uchar)(v0 ? 1 : 0);"));
}

TEST_CASE("loops, bounded and not, and branches") {
  ProgramBuilder b("f");
  const NodeId n = b.scalar_param("n", Type::U32), out = b.buffer_param("out", Type::U32, Access::Out);
  const NodeId j = b.begin_range(n);
  const NodeId loop = b.begin_loop();
  const NodeId odd = b.begin_if(b.op(Op::Cmplt, {j, n}));
  b.store(out, b.i32(0), j);
  b.end_if(odd);
  b.end_loop(loop, b.op(Op::Cmpne, {j, n}));
  b.end_range(j);
  CHECK(has(text_of(b),
            "  for (uint i0 = 0; i0 < n_a0; ++i0) {\n"
            "    for (;;) {\n"
            "      const bool v1 = i0 < n_a0;\n"
            "      if (v1) {\n"
            "        out_a1[0] = i0;\n"
            "      }\n"
            "      const bool v2 = i0 != n_a0;\n"
            "      if (!v2) break;\n"
            "    }\n"
            "  }\n"));
}

TEST_CASE("atomics: integers by name, 64 bits by extension, floats by compare-and-swap") {
  const auto atomic = [](Ins code, Type type) {
    ProgramBuilder b("f");
    const NodeId x = b.buffer_param("x", type, Access::InOut), v = b.scalar_param("v", type);
    const NodeId place = b.index(x, b.i32(0));
    const int sources = ir::ins_info(code).sources;
    if (sources == 1) b.ins(code, type, {place});
    if (sources == 2) b.ins(code, type, {place, v});
    if (sources == 3) b.ins(code, type, {place, v, v});
    return text_of(b);
  };
  CHECK(has(atomic(Ins::AtomicAdd, Type::I32), "atomic_add(&x_a0[0], v_a1);"));
  CHECK(has(atomic(Ins::AtomicInc, Type::U32), "atomic_add(&x_a0[0], 1u);"));
  CHECK(has(atomic(Ins::AtomicCas, Type::I32), "atomic_cmpxchg(&x_a0[0], v_a1, v_a1);"));
  CHECK(has(atomic(Ins::AtomicMax, Type::I64), "atom_max(&x_a0[0], v_a1);"));
  CHECK(has(atomic(Ins::AtomicMax, Type::I64), "cl_khr_int64_extended_atomics : enable"));
  const std::string add = atomic(Ins::AtomicAdd, Type::F32);
  CHECK(has(add, "float sarek_atomic_add_f32_global(volatile __global float* p, float v)"));
  CHECK(has(add, "= sarek_atomic_add_f32_global(&x_a0[0], v_a1);"));
  // One helper for many uses.
  CHECK(add.find("float sarek_atomic_add_f32_global(") == add.rfind("float sarek_atomic_add_f32_global("));
  CHECK(has(atomic(Ins::AtomicMin, Type::F32), "v < x || (v == x && (as_uint(v) > as_uint(x)))"));
}

TEST_CASE("line directives name the source and appear where the place changes") {
  SourceManager sources;
  const FileId file = sources.add("dir \"x\"\\y.sarek", "one\ntwo\n");
  ProgramBuilder b("f");
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  b.at({file, 4, 7});
  b.store(out, b.i32(0), b.i32(1));
  b.store(out, b.i32(1), b.i32(1));
  const ir::Program program = b.finish();
  const auto printed = print(program, {true, &sources});
  REQUIRE(printed);
  CHECK(has(printed->text, "#line 2 \"dir \\\"x\\\"\\\\y.sarek\"\n"));
  CHECK(printed->text.find("#line") == printed->text.rfind("#line"));
  CHECK(print(program)->text.find("#line") == std::string::npos);
}

TEST_CASE("a program that was not legalised is refused by name, never printed wrongly") {
  const auto unary = [](Type type, auto make) {
    ProgramBuilder b("broken");
    const NodeId x = b.scalar_param("x", type);
    const NodeId value = make(b, x);
    b.store(b.buffer_param("out", b.graph().type(value), Access::Out), b.i32(0), value);
    return b.finish();
  };
  CHECK(fault(unary(Type::F32, [](ProgramBuilder& b, NodeId x) { return b.op(Op::Max, {x, x}); })) ==
        "kernel `broken` was not legalised: MAX of floats");
  CHECK(fault(unary(Type::F16, [](ProgramBuilder& b, NodeId x) { return b.op(Op::Add, {x, x}); })) ==
        "kernel `broken` was not legalised: arithmetic on f16 in OpenCL C");
  CHECK(fault(unary(Type::F16, [](ProgramBuilder& b, NodeId x) { return b.cast(x, Type::F32); })) ==
        "kernel `broken` was not legalised: a conversion of a 16 bit float");
  CHECK(fault(unary(Type::F32, [](ProgramBuilder& b, NodeId x) { return b.ins(Ins::Round, Type::F32, {x}); })) ==
        "kernel `broken` was not legalised: round of f32 in OpenCL C");
  CHECK(fault(unary(Type::I16, [](ProgramBuilder& b, NodeId x) { return b.ins(Ins::Clz, Type::I16, {x}); })) ==
        "kernel `broken` was not legalised: clz of i16 in OpenCL C");
  CHECK(fault(unary(Type::I32, [](ProgramBuilder& b, NodeId x) { return b.ins(Ins::ReduceAdd, Type::I32, {x}); })) ==
        "kernel `broken` was not legalised: warp_reduce_add in OpenCL C");
  CHECK(fault(unary(Type::F32, [](ProgramBuilder& b, NodeId x) { return b.op(Op::Sin, {x}); })) ==
        "kernel `broken` was not legalised: SIN in OpenCL C");
  CHECK(fault(unary(Type::I32, [](ProgramBuilder& b, NodeId x) { return b.op(Op::Floordiv, {x, x}); })) ==
        "kernel `broken` was not legalised: FLOORDIV in OpenCL C");
  ProgramBuilder b("broken");
  b.store(b.buffer_param("out", Type::I32, Access::Out), b.i32(0), b.i32(0));
  b.ins(Ins::WarpBarrier, Type::Void, {});
  CHECK(fault(b.finish()) == "kernel `broken` was not legalised: warp_barrier in OpenCL C");
  ProgramBuilder small("broken");
  const NodeId bytes = small.buffer_param("out", Type::U8, Access::InOut);
  small.ins(Ins::AtomicAdd, Type::U8, {small.index(bytes, small.i32(0)), small.int_constant(Type::U8, 1)});
  CHECK(fault(small.finish()) == "kernel `broken` was not legalised: an atomic on u8");
}

TEST_CASE("a checked kernel asks before every access that nothing proves, and leaves loops after a fault where nobody waits") {
  ProgramBuilder b("checked", {64, 1, 1});
  const NodeId x = b.buffer_param("x", Type::I32, Access::In);
  const NodeId y = b.buffer_param("y", Type::I32, Access::InOut);
  const NodeId i = b.reg("i", Type::I32);
  const NodeId loop = b.begin_loop();
  const NodeId at = b.get(i);
  const NodeId more = b.op(Op::Cmpne, {b.load(x, at), b.i32(7)});
  b.set(i, b.op(Op::Add, {at, b.i32(1)}));
  b.end_loop(loop, more);
  const NodeId inside = b.begin_if(b.op(Op::Cmplt, {b.global_id(0), b.length(b.slot_of(y))}));
  b.store(y, b.global_id(0), b.get(i));
  b.end_if(inside);
  const ir::Program program = b.finish();
  const ir::Program* list[] = {&program};
  emit::PrintOptions options;
  const auto plain = emit::print_clike(emit::opencl_dialect(), list, options);
  REQUIRE(plain);
  CHECK(!has(plain->text, "fault"));
  options.checked = true;
  const auto checked = emit::print_clike(emit::opencl_dialect(), list, options);
  REQUIRE(checked);
  CHECK(has(checked->text, "volatile __global uint* faults_f0) {\n  int faulted_f1 = 0;\n"));
  CHECK(has(checked->text, "= sarek_bytes(faults_f0, 0) / 4;"));
  CHECK(has(checked->text, "sarek_fault(faults_f0, &faulted_f1, 1, at"));
  CHECK(has(checked->text, " || faulted_f1) break;"));
  REQUIRE(checked->kernels[0].sites.size() == 1);  // the store stands behind a test of the length
  CHECK(checked->kernels[0].sites[0].kind == "bounds");
  CHECK(checked->kernels[0].sites[0].detail == "x");
}

TEST_CASE("NaN goes around the rounding to whole numbers") {
  CHECK(has(formula(Type::F32, [](ProgramBuilder& b, NodeId x, NodeId) { return b.ins(Ins::Floor, Type::F32, {x}); }),
            "x_a0 != x_a0 ? x_a0 : floor(x_a0)"));
  CHECK(has(formula(Type::F64, [](ProgramBuilder& b, NodeId x, NodeId) { return b.ins(Ins::Ceil, Type::F64, {x}); }),
            "x_a0 != x_a0 ? x_a0 : ceil(x_a0)"));
  CHECK(has(formula(Type::F64, [](ProgramBuilder& b, NodeId x, NodeId) { return b.op(Op::Trunc, {x}); }),
            "x_a0 != x_a0 ? x_a0 : trunc(x_a0)"));
}
