// Every operation on every type: the OpenCL device against the interpreter, on all pairs of the values at which formulas go wrong and on
// random ones.
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <functional>

#include "compiler/ir/builder.h"
#include "compiler/passes/test_support.h"
#include "compiler/support/numeric.h"
#include "tests/opencl/harness.h"

using namespace sarek;
using namespace sarek::test;
using ir::Access;
using ir::Ins;
using ir::NodeId;
using ir::Op;
using ir::ProgramBuilder;
using ir::Type;

namespace {

constexpr Type kNumbers[] = {Type::I8,  Type::U8,  Type::I16, Type::U16,  Type::I32, Type::U32,
                             Type::I64, Type::U64, Type::F16, Type::Bf16, Type::F32, Type::F64};

#define NEEDS_OPENCL() \
  if (!opencl_device()) SKIP("no OpenCL device")

Value cells(Type type, const std::vector<std::uint64_t>& values) {
  Value v;
  const auto size = static_cast<std::size_t>(type_bytes(type));
  v.bytes.resize(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(v.bytes.data() + i * size, &values[i], size);
  return v;
}
Value zeros(Type type, std::size_t count) { return cells(type, std::vector<std::uint64_t>(count)); }

/// Three columns: every pair of edge values with a third beside them, then random bits.
std::array<std::vector<std::uint64_t>, 3> operands(Type type, std::size_t random_rows) {
  std::array<std::vector<std::uint64_t>, 3> columns;
  const std::vector<std::uint64_t> edges = passes::test::edge_values(type);
  std::size_t n = 0;
  for (const std::uint64_t x : edges)
    for (const std::uint64_t y : edges) {
      columns[0].push_back(x);
      columns[1].push_back(y);
      columns[2].push_back(edges[(n++ * 7) % edges.size()]);
    }
  std::mt19937_64 random(static_cast<unsigned>(type) + 1);
  for (std::size_t i = 0; i < random_rows; ++i)
    for (auto& column : columns) column.push_back(passes::test::random_value(type, random));
  return columns;
}

using Formula = std::function<NodeId(ProgramBuilder&, NodeId, NodeId, NodeId)>;
struct Row {
  std::string name;
  Formula formula;
};

Row binary(Op op) {
  return {std::string(op_info(op).name), [op](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(op, {x, y}); }};
}
Row unary(Op op) {
  return {std::string(op_info(op).name), [op](ProgramBuilder& b, NodeId x, NodeId, NodeId) { return b.op(op, {x}); }};
}
Row ternary(Op op) {
  return {std::string(op_info(op).name), [op](ProgramBuilder& b, NodeId x, NodeId y, NodeId z) { return b.op(op, {x, y, z}); }};
}
Row instruction(Ins code, int sources) {
  return {std::string(ins_info(code).name), [code, sources](ProgramBuilder& b, NodeId x, NodeId y, NodeId) {
            const Type t = b.graph().type(x);
            return sources == 1 ? b.ins(code, t, {x}) : b.ins(code, t, {x, y});
          }};
}

std::vector<Row> rows_for(Type type) {
  std::vector<Row> rows = {binary(Op::Add),   binary(Op::Sub),          binary(Op::Mul),          unary(Op::Neg),
                           binary(Op::Max),   instruction(Ins::Min, 2), instruction(Ins::Abs, 1), ternary(Op::Mulacc),
                           binary(Op::Cmplt), binary(Op::Cmpeq),        binary(Op::Cmpne),        unary(Op::Trunc)};
  rows.push_back(
      {"WHERE", [](ProgramBuilder& b, NodeId x, NodeId y, NodeId z) { return b.op(Op::Where, {b.op(Op::Cmplt, {x, y}), z, x}); }});
  if (ir::is_float(type)) {
    for (const Row& r : {binary(Op::Fdiv), unary(Op::Sqrt), unary(Op::Reciprocal), instruction(Ins::Floor, 1), instruction(Ins::Ceil, 1),
                         instruction(Ins::Round, 1), instruction(Ins::Copysign, 2)})
      rows.push_back(r);
  } else {
    for (const Row& r : {binary(Op::Cdiv), binary(Op::Cmod), binary(Op::Floordiv), binary(Op::Floormod), binary(Op::Shl), binary(Op::Shr),
                         binary(Op::Xor), binary(Op::Or), binary(Op::And), instruction(Ins::Clz, 1), instruction(Ins::Ctz, 1),
                         instruction(Ins::Popcount, 1), instruction(Ins::MulHigh, 2)})
      rows.push_back(r);
    if (type == Type::U64) rows.push_back(binary(Op::Threefry));
  }
  return rows;
}

/// All rows in one kernel, an output buffer each: a driver's compile costs more than the run.
std::string check_rows(Type type, const std::vector<Row>& rows, std::size_t random_rows) {
  const auto columns = operands(type, random_rows);
  const std::size_t n = columns[0].size();
  ProgramBuilder b("rows", {64, 1, 1});
  Call call;
  call.grid[0] = static_cast<std::int64_t>((n + 63) / 64);
  std::vector<NodeId> in;
  for (std::size_t c = 0; c < 3; ++c) {
    in.push_back(b.buffer_param(std::string(1, static_cast<char>('a' + c)), type, Access::In));
    call.arguments.push_back(cells(type, columns[c]));
  }
  const NodeId i = b.global_id(0);
  const NodeId inside = b.begin_if(b.op(Op::Cmplt, {i, b.length(b.slot_of(in[0]))}));
  std::array<NodeId, 3> x;
  for (std::size_t c = 0; c < 3; ++c) x[c] = b.load(in[c], i);
  for (const Row& row : rows) {
    const NodeId value = row.formula(b, x[0], x[1], x[2]);
    const Type result = b.graph().type(value);
    b.store(b.buffer_param(row.name, result, Access::Out), i, value);
    call.arguments.push_back(zeros(result, n));
  }
  b.end_if(inside);
  const Call before = call;
  const std::string different = compare(b.finish(), call);
  if (different.empty() || different[0] != '`') return different;
  // Which operands?
  const std::size_t at = std::stoul(different.substr(different.find('[') + 1));
  char text[120];
  std::snprintf(text, sizeof text, " (operands %#llx %#llx %#llx)", static_cast<unsigned long long>(columns[0][at]),
                static_cast<unsigned long long>(columns[1][at]), static_cast<unsigned long long>(columns[2][at]));
  return different.substr(0, different.find('\n')) + text + different.substr(different.find('\n'));
}

/// f(x...) once, on scalars passed as arguments.
std::uint64_t once(Type type, const std::vector<std::uint64_t>& arguments,
                   const std::function<NodeId(ProgramBuilder&, const std::vector<NodeId>&)>& formula) {
  const ir::Program program = passes::test::formula_kernel(std::vector<Type>(arguments.size(), type), formula);
  Call call;
  for (const std::uint64_t a : arguments) call.arguments.push_back(scalar_of(a));
  const Type result = *ir::type_by_name(program.params.back().element.type_name);
  call.arguments.push_back(zeros(result, 1));
  CHECK(compare(program, call) == "");
  std::uint64_t bits = 0;
  std::memcpy(&bits, call.arguments.back().bytes.data(), call.arguments.back().bytes.size());
  return bits;
}

}  // namespace

TEST_CASE("OpenCL: every operation on every type has the interpreter's bits") {
  NEEDS_OPENCL();
  for (const Type type : kNumbers) {
    INFO(type_name(type));
    CHECK(check_rows(type, rows_for(type), 2000) == "");
  }
}

TEST_CASE("OpenCL: Bool operations") {
  NEEDS_OPENCL();
  CHECK(check_rows(Type::Bool,
                   {binary(Op::And), binary(Op::Or), binary(Op::Xor), binary(Op::Cmpne), binary(Op::Cmpeq), binary(Op::Cmplt),
                    binary(Op::Max), ternary(Op::Where)},
                   0) == "");
}

TEST_CASE("OpenCL: every conversion between types has the interpreter's bits") {
  NEEDS_OPENCL();
  for (const Type from : kNumbers) {
    std::vector<Row> rows;
    for (const Type to : kNumbers)
      if (to != from)
        rows.push_back({"to_" + std::string(type_name(to)), [to](ProgramBuilder& b, NodeId x, NodeId, NodeId) { return b.cast(x, to); }});
    rows.push_back({"to_bool", [](ProgramBuilder& b, NodeId x, NodeId, NodeId) { return b.cast(x, Type::Bool); }});
    for (const Type to : kNumbers)
      if (to != from && type_bits(to) == type_bits(from))
        rows.push_back(
            {"as_" + std::string(type_name(to)), [to](ProgramBuilder& b, NodeId x, NodeId, NodeId) { return b.bitcast(x, to); }});
    INFO(type_name(from));
    CHECK(check_rows(from, rows, 3000) == "");
  }
  std::vector<Row> rows;
  for (const Type to : kNumbers)
    rows.push_back({"to_" + std::string(type_name(to)), [to](ProgramBuilder& b, NodeId x, NodeId, NodeId) { return b.cast(x, to); }});
  CHECK(check_rows(Type::Bool, rows, 0) == "");
}

TEST_CASE("OpenCL: products and sums are not contracted (T1, T3, T6, T11)") {
  NEEDS_OPENCL();
  const auto mul_add = [](ProgramBuilder& b, const std::vector<NodeId>& x) { return b.op(Op::Add, {b.op(Op::Mul, {x[0], x[1]}), x[2]}); };
  CHECK(once(Type::F32, {0x3f800800, 0x3f800800, 0xbf801000}, mul_add) == 0);
  CHECK(once(Type::F32, {0x3ebe97aa, 0x3ea726d6, 0x409d64ef}, [](ProgramBuilder& b, const std::vector<NodeId>& x) {
          const NodeId sum = b.op(Op::Add, {b.op(Op::Mul, {x[0], x[1]}), b.op(Op::Mul, {x[1], x[2]})});
          return b.op(Op::Add, {sum, b.op(Op::Mul, {x[2], x[0]})});
        }) == 0x4063b9fe);
  CHECK(once(Type::F32, {numeric::bits(0.75f)}, [](ProgramBuilder& b, const std::vector<NodeId>& x) {
          const NodeId quotient = b.op(Op::Fdiv, {b.float_constant(Type::F32, -0.25), x[0]});
          return b.op(Op::Sqrt, {b.op(Op::Add, {b.op(Op::Mul, {quotient, x[0]}), b.float_constant(Type::F32, 0.25)})});
        }) == 0);
  CHECK(once(Type::F32, {numeric::bits(1e8f), numeric::bits(1.0f), numeric::bits(-1e8f), numeric::bits(1.0f)},
             [](ProgramBuilder& b, const std::vector<NodeId>& x) {
               return b.op(Op::Add, {b.op(Op::Add, {b.op(Op::Add, {x[0], x[1]}), x[2]}), x[3]});
             }) == 0x3f800000);
}

TEST_CASE("OpenCL: narrowing pairs stay, and round once (T8, T9, T10)") {
  NEEDS_OPENCL();
  const auto by_bf16 = [](ProgramBuilder& b, const std::vector<NodeId>& x) { return b.cast(b.cast(x[0], Type::Bf16), Type::F32); };
  CHECK(once(Type::F32, {0x3f8147ae}, by_bf16) == 0x3f810000);
  CHECK(once(Type::F32, {numeric::bits(70000.0f)}, by_bf16) == 0x47890000);
  CHECK(once(Type::F32, {numeric::bits(65536.0f)},
             [](ProgramBuilder& b, const std::vector<NodeId>& x) { return b.cast(x[0], Type::F16); }) == 0x7c00);
  CHECK(once(Type::F16, {numeric::f16_from(0.1)}, [](ProgramBuilder& b, const std::vector<NodeId>& x) {
          const NodeId sum = b.reg("sum", Type::F16);
          b.set(sum, b.float_constant(Type::F16, 0));
          const NodeId i = b.begin_range(b.i32(64));
          b.set(sum, b.op(Op::Add, {b.get(sum), b.op(Op::Mul, {x[0], x[0]})}));
          b.end_range(i);
          return b.get(sum);
        }) == 0x3918);
}

TEST_CASE("OpenCL: denormals are kept (T13)") {
  NEEDS_OPENCL();
  CHECK(once(Type::F32, {0x80000001}, [](ProgramBuilder& b, const std::vector<NodeId>& x) { return b.ins(Ins::Abs, Type::F32, {x[0]}); }) ==
        1);
  // The factor is an argument: nothing may simplify the product away.
  CHECK(once(Type::F32, {0x00000001, 0x3f800000},
             [](ProgramBuilder& b, const std::vector<NodeId>& x) { return b.op(Op::Mul, {x[0], x[1]}); }) == 1);
  CHECK(once(Type::F32, {0x00800000, 0x3f000000},
             [](ProgramBuilder& b, const std::vector<NodeId>& x) { return b.op(Op::Mul, {x[0], x[1]}); }) == 0x00400000);
}

TEST_CASE("OpenCL: integer operations that C leaves open (T22)") {
  NEEDS_OPENCL();
  const auto with = [](Op op) { return [op](ProgramBuilder& b, const std::vector<NodeId>& x) { return b.op(op, {x[0], x[1]}); }; };
  CHECK(once(Type::I32, {7, 0}, with(Op::Cdiv)) == 7);
  CHECK(once(Type::I32, {7, 0}, with(Op::Cmod)) == 0);
  CHECK(once(Type::I32, {0x80000000, 0xffffffff}, with(Op::Cdiv)) == 0x80000000);
  CHECK(once(Type::I32, {0x80000000, 0xffffffff}, with(Op::Cmod)) == 0);
  CHECK(once(Type::I32, {1, 32}, with(Op::Shl)) == 1);
  CHECK(once(Type::I32, {0x7fffffff, 1}, with(Op::Add)) == 0x80000000);
}

TEST_CASE("OpenCL: literals arrive with all their bits (T27)") {
  NEEDS_OPENCL();
  const std::vector<float> floats = {0.1f,       3.4028235e38f, 1e-45f,          -0.0f,        HUGE_VALF,
                                     -HUGE_VALF, std::nanf(""), 1.17549435e-38f, -16777217.0f, 0.33333334f};
  ProgramBuilder b("literals");
  const NodeId out = b.buffer_param("out", Type::F32, Access::Out), doubles = b.buffer_param("doubles", Type::F64, Access::Out);
  const NodeId longs = b.buffer_param("longs", Type::I64, Access::Out);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    b.store(out, b.i32(static_cast<std::int64_t>(i)), b.float_constant(Type::F32, static_cast<double>(floats[i])));
    b.store(doubles, b.i32(static_cast<std::int64_t>(i)), b.float_constant(Type::F64, static_cast<double>(floats[i]) / 3));
  }
  b.store(longs, b.i32(0), b.int_constant(Type::I64, INT64_MIN));
  b.store(longs, b.i32(1), b.int_constant(Type::I64, INT64_MAX));
  b.store(longs, b.i32(2), b.int_constant(Type::I64, -1));
  Call call;
  call.arguments = {zeros(Type::F32, floats.size()), zeros(Type::F64, floats.size()), zeros(Type::I64, 3)};
  CHECK(compare(b.finish(), call) == "");
  const auto seen = elements_of<std::uint32_t>(call.arguments[0]);
  for (std::size_t i = 0; i < floats.size(); ++i)
    CHECK(ir::canonical_nan(Type::F32, seen[i]) == ir::canonical_nan(Type::F32, numeric::bits(floats[i])));
}
