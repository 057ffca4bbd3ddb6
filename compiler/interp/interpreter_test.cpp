// Values, control flow, memory, launches: what one thread does, and what a launch checks. Barriers and warps are in barrier_test.cpp.
#include <cfenv>
#include <functional>
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

TEST_CASE("integer division truncates and is total (47)") {
  const auto div = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(Op::Cdiv, {x, y}); };
  const auto mod = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(Op::Cmod, {x, y}); };
  CHECK(compute(Type::I32, Type::I32, {i32(-7), i32(2), 0}, div) == i32(-3));
  CHECK(compute(Type::I32, Type::I32, {i32(-7), i32(2), 0}, mod) == i32(-1));
  CHECK(compute(Type::I32, Type::I32, {i32(INT32_MIN), i32(-1), 0}, div) == i32(INT32_MIN));
  CHECK(compute(Type::I32, Type::I32, {i32(INT32_MIN), i32(-1), 0}, mod) == 0);
  CHECK(compute(Type::I32, Type::I32, {i32(-7), 0, 0}, div) == i32(-7));
  CHECK(compute(Type::I32, Type::I32, {i32(-7), 0, 0}, mod) == 0);
}

TEST_CASE("sums wrap, shifts mask their count (48, 49, T22)") {
  const auto add = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(Op::Add, {x, y}); };
  const auto shl = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(Op::Shl, {x, y}); };
  const auto shr = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(Op::Shr, {x, y}); };
  CHECK(compute(Type::I32, Type::I32, {i32(INT32_MAX), 1, 0}, add) == i32(INT32_MIN));
  CHECK(compute(Type::U32, Type::U32, {i32(-1), 1, 0}, shr) == 0x7fffffffu);
  CHECK(compute(Type::I32, Type::I32, {i32(-1), 1, 0}, shr) == i32(-1));
  CHECK(compute(Type::I32, Type::I32, {1, 33, 0}, shl) == 2);
  CHECK(compute(Type::I32, Type::I32, {1, 32, 0}, shl) == 1);
}

TEST_CASE("binary32 arithmetic rounds each operation once (50, T1, T3, T6, T11, T13)") {
  const auto add = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(Op::Add, {x, y}); };
  const auto mul = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(Op::Mul, {x, y}); };
  CHECK(compute(Type::F32, Type::F32, {u(16777216), u(1), 0}, add) == u(16777216));
  CHECK(compute(Type::F32, Type::F32, {u(0.1f), u(0.2f), 0}, add) == 0x3e99999a);
  CHECK(compute(Type::F32, Type::F32, {u(1e38f), u(10), 0}, mul) == 0x7f800000);
  CHECK(compute(Type::F32, Type::F32, {0x00000001, u(1), 0}, mul) == 0x00000001);
  const auto t1 = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId z) { return b.op(Op::Add, {b.op(Op::Mul, {x, y}), z}); };
  CHECK(compute(Type::F32, Type::F32, {0x3f800800, 0x3f800800, 0xbf801000}, t1) == 0);
  const auto fused = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId z) { return b.op(Op::Mulacc, {x, y, z}); };
  CHECK(compute(Type::F32, Type::F32, {0x3f800800, 0x3f800800, 0xbf801000}, fused) == 0x33800000);
  const auto t3 = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId z) {
    return b.op(Op::Add, {b.op(Op::Add, {b.op(Op::Mul, {x, y}), b.op(Op::Mul, {y, z})}), b.op(Op::Mul, {z, x})});
  };
  CHECK(compute(Type::F32, Type::F32, {0x3ebe97aa, 0x3ea726d6, 0x409d64ef}, t3) == 0x4063b9fe);
  const auto t6 = [](ProgramBuilder& b, NodeId v, NodeId, NodeId) {
    const NodeId t =
        b.op(Op::Add, {b.op(Op::Mul, {b.op(Op::Fdiv, {b.float_constant(Type::F32, -0.25), v}), v}), b.float_constant(Type::F32, 0.25)});
    return b.op(Op::Sqrt, {t});
  };
  CHECK(compute(Type::F32, Type::F32, {u(0.75), 0, 0}, t6) == 0);
  const auto absolute = [](ProgramBuilder& b, NodeId x, NodeId, NodeId) { return b.ins(Ins::Abs, Type::F32, {x}); };
  CHECK(compute(Type::F32, Type::F32, {0x80000001, 0, 0}, absolute) == 1);
}

TEST_CASE("conversions saturate and round once (51, T8, T9)") {
  const auto to = [](Type t) { return [t](ProgramBuilder& b, NodeId x, NodeId, NodeId) { return b.cast(x, t); }; };
  CHECK(compute(Type::F32, Type::I32, {u(-2.9f), 0, 0}, to(Type::I32)) == i32(-2));
  CHECK(compute(Type::F32, Type::I32, {0x7fc00001, 0, 0}, to(Type::I32)) == 0);
  CHECK(compute(Type::F32, Type::I32, {u(3e9f), 0, 0}, to(Type::I32)) == i32(INT32_MAX));
  const auto through_bf16 = [](ProgramBuilder& b, NodeId x, NodeId, NodeId) { return b.cast(b.cast(x, Type::Bf16), Type::F32); };
  CHECK(compute(Type::F32, Type::F32, {0x3f8147ae, 0, 0}, through_bf16) == 0x3f810000);
  CHECK(compute(Type::F32, Type::F32, {u(70000), 0, 0}, through_bf16) == 0x47890000);
  CHECK(compute(Type::F32, Type::F16, {u(65536), 0, 0}, to(Type::F16)) == 0x7c00);
}

TEST_CASE("comparisons with NaN, min and max take the number (52)") {
  const std::uint64_t nan = 0x7fc00000;
  const auto eq = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(Op::Cmpeq, {x, y}); };
  const auto ne = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(Op::Cmpne, {x, y}); };
  const auto min = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.ins(Ins::Min, Type::F32, {x, y}); };
  CHECK(compute(Type::F32, Type::Bool, {nan, nan, 0}, eq) == 0);
  CHECK(compute(Type::F32, Type::Bool, {nan, nan, 0}, ne) == 1);
  CHECK(compute(Type::F32, Type::F32, {nan, u(1), 0}, min) == u(1));
  CHECK(compute(Type::F32, Type::F32, {0, u(-0.0), 0}, min) == 0x80000000);
}

TEST_CASE("a binary16 accumulator rounds each step (T10); an f32 sum runs in order (T11)") {
  ProgramBuilder b("t10");
  const NodeId v = b.buffer_param("v", Type::F16, Access::In);
  const NodeId out = b.buffer_param("out", Type::F16, Access::Out);
  const NodeId acc = b.reg("acc", Type::F16);
  const NodeId loop = b.begin_range(b.i32(64));
  const NodeId x = b.load(v, b.i32(0));
  b.set(acc, b.op(Op::Add, {b.get(acc), b.op(Op::Mul, {x, x})}));
  b.end_range(loop);
  b.store(out, b.i32(0), b.get(acc));
  std::vector<std::uint16_t> in{numeric::f16_from(0.1)}, result(1);
  Call().buffer(in).buffer(result).ok(b.finish());
  CHECK(result[0] == 0x3918);

  ProgramBuilder s("t11");
  const NodeId a = s.buffer_param("a", Type::F32, Access::In);
  const NodeId sum = s.buffer_param("sum", Type::F32, Access::Out);
  const NodeId total = s.reg("total", Type::F32);
  const NodeId i = s.begin_range(s.length(s.slot_of(a)));
  s.set(total, s.op(Op::Add, {s.get(total), s.load(a, i)}));
  s.end_range(i);
  s.store(sum, s.i32(0), s.get(total));
  std::vector<float> terms{1e8f, 1, -1e8f, 1}, f(1);
  Call().buffer(terms).buffer(f).ok(s.finish());
  CHECK(f[0] == 1.0f);
}

TEST_CASE("in-place doubling touches each element once (T24)") {
  ProgramBuilder b("twice", {32, 1, 1});
  const NodeId x = b.buffer_param("x", Type::I32, Access::InOut);
  const NodeId i = b.global_id(0);
  const NodeId inside = b.begin_if(b.op(Op::Cmplt, {i, b.length(b.slot_of(x))}));
  b.store(x, i, b.op(Op::Mul, {b.load(x, i), b.i32(2)}));
  b.end_if(inside);
  std::vector<std::int32_t> data(33);
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = static_cast<std::int32_t>(k) + 1;
  Call({2, 1, 1}).buffer(data).ok(b.finish());
  for (std::size_t k = 0; k < data.size(); ++k) CHECK(data[k] == 2 * (static_cast<std::int32_t>(k) + 1));
}

TEST_CASE("literals keep every bit (T27)") {
  const double values[] = {
      0.1f, 3.4028235e38f, 1e-45f, -0.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  const std::uint64_t bits[] = {0x3dcccccd, 0x7f7fffff, 1, 0x80000000, 0x7f800000, 0x7fc00000};
  for (std::size_t k = 0; k < 6; ++k) {
    CHECK(compute(Type::F32, Type::F32, {},
                  [&](ProgramBuilder& b, NodeId, NodeId, NodeId) { return b.float_constant(Type::F32, values[k]); }) == bits[k]);
  }
}

TEST_CASE("every operation runs as evaluate says, on edge values of every type") {
  const auto edges = [](Type t) {
    std::vector<std::uint64_t> v;
    if (ir::is_float(t)) {
      for (const double d : {0.0, -0.0, 1.0, -1.5, 2.5, 1e-45, -6e-8, 65504.0, 3.3e38, 1e300, -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN(), 4503599627370497.5})
        v.push_back(*ir::bits_of(ir::ConstValue::of_float(d), t));
    } else {
      for (const std::int64_t n :
           {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{-1}, std::int64_t{-7}, std::int64_t{100},
            std::int64_t{INT8_MIN}, std::int64_t{INT16_MIN}, std::int64_t{INT32_MIN}, std::int64_t{INT32_MAX}, INT64_MIN, INT64_MAX})
        v.push_back(*ir::bits_of(ir::ConstValue::of_int(n), t));
    }
    return v;
  };
  const Type all[] = {Type::Bool, Type::I8,  Type::U8,  Type::I16,  Type::U16, Type::I32, Type::U32,
                      Type::I64,  Type::U64, Type::F16, Type::Bf16, Type::F32, Type::F64};
  const Op ops[] = {Op::Sqrt, Op::Reciprocal, Op::Neg,  Op::Trunc,    Op::Add,      Op::Mul,    Op::Shl,      Op::Shr,
                    Op::Cdiv, Op::Max,        Op::Cmod, Op::Cmplt,    Op::Cmpne,    Op::Cmpeq,  Op::Xor,      Op::Or,
                    Op::And,  Op::Sub,        Op::Fdiv, Op::Floordiv, Op::Floormod, Op::Mulacc, Op::Threefry, Op::Where};
  const Ins pure[] = {Ins::Min,      Ins::Abs, Ins::Floor, Ins::Ceil,     Ins::Round,
                      Ins::Copysign, Ins::Clz, Ins::Ctz,   Ins::Popcount, Ins::MulHigh};
  std::size_t compared = 0;
  for (const Type t : all) {
    const std::vector<std::uint64_t> values = edges(t);
    // One program with every operation of the type; one thread per pair of values.
    struct Row {
      Type result;
      std::function<std::optional<std::uint64_t>(std::span<const std::uint64_t>)> want;
    };
    std::vector<Row> rows;
    ProgramBuilder b("all");
    std::vector<NodeId> in;
    for (const char* name : {"x", "y", "z"}) in.push_back(b.buffer_param(name, t, Access::In));
    const NodeId i = b.group_id(0);
    const NodeId v[3] = {b.load(in[0], i), b.load(in[1], i), b.load(in[2], i)};
    std::vector<std::pair<NodeId, NodeId>> stores;
    const auto add_row = [&](NodeId value, std::function<std::optional<std::uint64_t>(std::span<const std::uint64_t>)> want) {
      const NodeId out = b.buffer_param("out" + std::to_string(rows.size()), b.graph().type(value), Access::Out);
      b.store(out, i, value);
      rows.push_back({b.graph().type(value), std::move(want)});
    };
    for (const Op op : ops) {
      if ((op == Op::Shl || op == Op::Shr) && !ir::is_int(t)) continue;
      const auto count = static_cast<std::size_t>(ir::op_info(op).min_sources);
      if (op == Op::Where) {
        if (t != Type::Bool) continue;
        add_row(b.op(op, {v[0], v[1], v[2]}), [](std::span<const std::uint64_t> x) { return std::optional(x[0] ? x[1] : x[2]); });
        continue;
      }
      const Type result = ir::is_comparison(op) ? Type::Bool : t;
      const std::vector<Type> types(count, t);
      const std::vector<std::uint64_t> probe(count, 1);
      if (!ir::evaluate(op, result, types, probe)) continue;
      add_row(b.op(op, std::span<const NodeId>(v, count)),
              [=](std::span<const std::uint64_t> x) { return ir::evaluate(op, result, types, x.first(count)); });
    }
    for (const Ins ins : pure) {
      const auto count = static_cast<std::size_t>(ir::ins_info(ins).sources);
      const bool counts = ins == Ins::Clz || ins == Ins::Ctz || ins == Ins::Popcount;
      const Type result = counts ? Type::I32 : t;
      const std::vector<Type> types(count, t);
      if (!ir::evaluate(ins, result, types, std::vector<std::uint64_t>(count, 1))) continue;
      add_row(count == 1 ? b.ins(ins, result, {v[0]}) : b.ins(ins, result, {v[0], v[1]}),
              [=](std::span<const std::uint64_t> x) { return ir::evaluate(ins, result, types, x.first(count)); });
    }
    for (const Type to : all) {
      if (to == t) continue;
      const std::vector<Type> types{t};
      add_row(b.cast(v[0], to), [=](std::span<const std::uint64_t> x) { return ir::evaluate(Op::Cast, to, types, x.first(1)); });
      if (ir::type_bits(to) != ir::type_bits(t) || to == Type::Bool) continue;
      add_row(b.bitcast(v[0], to), [=](std::span<const std::uint64_t> x) { return ir::evaluate(Op::Bitcast, to, types, x.first(1)); });
    }
    const Program p = b.finish();
    const std::size_t n = values.size() * values.size();
    const auto width = static_cast<std::size_t>(ir::type_bytes(t));
    std::vector<std::vector<std::uint64_t>> memory(3 + rows.size(), std::vector<std::uint64_t>(n));
    std::vector<std::array<std::uint64_t, 3>> operands;
    for (std::size_t k = 0; k < n; ++k) {
      operands.push_back({values[k % values.size()], values[k / values.size()], values[(k * 7 + 3) % values.size()]});
      for (std::size_t s = 0; s < 3; ++s) std::memcpy(reinterpret_cast<char*>(memory[s].data()) + k * width, &operands[k][s], width);
    }
    Call call({static_cast<std::int64_t>(n), 1, 1});
    for (std::size_t s = 0; s < memory.size(); ++s) {
      const Type type = s < 3 ? t : rows[s - 3].result;
      call.launch.arguments.push_back(
          Argument::buffer(memory[s].data(), static_cast<std::int64_t>(n), static_cast<std::int64_t>(n) * ir::type_bytes(type)));
    }
    call.ok(p);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto bytes = static_cast<std::size_t>(ir::type_bytes(rows[row].result));
      for (std::size_t k = 0; k < n; ++k) {
        std::uint64_t got = 0;
        std::memcpy(&got, reinterpret_cast<const char*>(memory[3 + row].data()) + k * bytes, bytes);
        const std::uint64_t want = rows[row].want(operands[k]).value();
        ++compared;
        if (ir::canonical_nan(rows[row].result, got) != ir::canonical_nan(rows[row].result, want)) {
          INFO(ir::type_name(t) << " row " << row << " on " << operands[k][0] << ", " << operands[k][1] << ", " << operands[k][2]);
          CHECK(got == want);
        }
      }
    }
  }
  CHECK(compared > 40000);
}

TEST_CASE("loops: bounded ones of every integer type, not at all for a count that is not positive, unbounded ones with a condition") {
  for (const Type t : {Type::I8, Type::U8, Type::I16, Type::U16, Type::I32, Type::U32, Type::I64, Type::U64}) {
    for (const std::int64_t n : {0, -1, 1, 100}) {
      ProgramBuilder b("loop");
      const NodeId count = b.scalar_param("n", t);
      const NodeId out = b.buffer_param("out", Type::I64, Access::Out);
      const NodeId sum = b.reg("sum", Type::I64);
      if (ir::is_unsigned(t) && n < 0) continue;
      const NodeId i = b.begin_range(count);
      b.set(sum, b.op(Op::Add, {b.get(sum), b.cast(i, Type::I64)}));
      b.end_range(i);
      b.store(out, b.i32(0), b.get(sum));
      std::vector<std::int64_t> result{-5};
      Call().scalar(t, static_cast<std::uint64_t>(n)).buffer(result).ok(b.finish());
      CHECK(result[0] == (n > 0 ? n * (n - 1) / 2 : 0));
    }
  }
  ProgramBuilder b("collatz");
  const NodeId start = b.scalar_param("start", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId x = b.reg("x", Type::I32);
  const NodeId steps = b.reg("steps", Type::I32);
  b.set(x, start);
  const NodeId loop = b.begin_loop();
  const NodeId now = b.get(x);
  const NodeId odd = b.op(Op::Cmpeq, {b.op(Op::And, {now, b.i32(1)}), b.i32(1)});
  b.set(x, b.op(Op::Where, {odd, b.op(Op::Add, {b.op(Op::Mul, {now, b.i32(3)}), b.i32(1)}), b.op(Op::Shr, {now, b.i32(1)})}));
  b.set(steps, b.op(Op::Add, {b.get(steps), b.i32(1)}));
  b.end_loop(loop, b.op(Op::Cmpne, {b.get(x), b.i32(1)}));
  b.store(out, b.i32(0), b.get(steps));
  std::vector<std::int32_t> result(1);
  Call().scalar(Type::I32, 27).buffer(result).ok(b.finish());
  CHECK(result[0] == 111);
}

TEST_CASE("a variable read before it is written keeps the value it had") {
  // The old value outlives the write: sharing the variable's cell would show the new one.
  ProgramBuilder b("swap");
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId x = b.reg("x", Type::I32);
  const NodeId y = b.reg("y", Type::I32);
  b.set(x, b.group_id(0));
  b.set(y, b.op(Op::Add, {b.group_id(0), b.i32(10)}));
  const NodeId i = b.begin_range(b.i32(3));
  const NodeId old_x = b.get(x);
  const NodeId old_y = b.get(y);
  b.set(x, b.op(Op::Add, {old_y, i}));
  b.set(y, old_x);
  b.end_range(i);
  b.store(out, b.i32(0), b.get(x));
  b.store(out, b.i32(1), b.get(y));
  // x, y: 0, 10 -> 10, 0 -> 1, 10 -> 12, 1
  std::vector<std::int32_t> result(2);
  Call().buffer(result).ok(b.finish());
  CHECK(result == std::vector<std::int32_t>{12, 1});
}

TEST_CASE("private arrays are zero at the start of every thread and are bounds-checked") {
  ProgramBuilder b("array", {2, 1, 1});
  const NodeId index = b.scalar_param("index", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId a = b.reg("scratch", Type::I32, 4);
  const NodeId before = b.load(a, index);
  b.store(a, index, b.i32(7));
  b.store(out, b.local_id(0), b.op(Op::Add, {b.op(Op::Mul, {before, b.i32(100)}), b.load(a, index)}));
  const Program p = b.finish();
  std::vector<std::int32_t> result(2);
  Call().scalar(Type::I32, 3).buffer(result).ok(p);
  CHECK(result == std::vector<std::int32_t>{7, 7});
  const RuntimeError e = Call().scalar(Type::I32, i32(-2)).buffer(result).fails(p);
  CHECK(e.kind == ErrorKind::Array_bounds_error);
  CHECK(e.message == "kernel 'array', block (0, 0, 0), thread (0, 0, 0): index -2 is out of bounds of 'scratch' with length 4");
}

TEST_CASE("bounds errors name buffer, index, length, block, thread and place (58)") {
  ProgramBuilder b("peek", {2, 2, 1});
  const NodeId offset = b.scalar_param("offset", Type::I32);
  const NodeId a = b.buffer_param("a", Type::F64, Access::In);
  const NodeId out = b.buffer_param("out", Type::F64, Access::Out);
  const NodeId i = b.op(Op::Add, {b.linear_local_id(), offset});
  b.at(at(42));
  const NodeId value = b.load(a, i);
  b.at(at(50));
  b.store(out, b.linear_local_id(), value);
  const Program p = b.finish();
  std::vector<double> in(4), result(4);
  Call().scalar(Type::I32, 0).buffer(in).buffer(result).ok(p);
  RuntimeError e = Call().scalar(Type::I32, i32(-1)).buffer(in).buffer(result).fails(p);
  CHECK(e.kind == ErrorKind::Array_bounds_error);
  CHECK(e.message == "kernel 'peek', block (0, 0, 0), thread (0, 0, 0): index -1 is out of bounds of 'a' with length 4");
  CHECK(e.range == at(42));
  e = Call().scalar(Type::I32, 1).buffer(in).buffer(result).fails(p);
  CHECK(contains(e.message, "thread (1, 1, 0): index 4 is out of bounds of 'a' with length 4"));
  CHECK(e.thread == std::array<std::int32_t, 3>{1, 1, 0});
  std::vector<double> small(2);
  e = Call().scalar(Type::I32, 0).buffer(in).buffer(small).fails(p);
  CHECK(contains(e.message, "'out' with length 2"));
  CHECK(e.range == at(50));
}

TEST_CASE("gated accesses touch nothing where the gate is false") {
  ProgramBuilder b("gate", {4, 1, 1});
  const NodeId a = b.buffer_param("a", Type::I32, Access::In);
  const NodeId out = b.buffer_param("out", Type::I32, Access::InOut);
  const NodeId i = b.local_id(0);
  const NodeId inside = b.op(Op::Cmplt, {i, b.length(b.slot_of(a))});
  b.store(out, i, b.load(a, i, b.i32(-1), inside));
  b.store(out, b.op(Op::Add, {i, b.i32(100)}), i, b.op(Op::Cmplt, {i, b.i32(0)}));
  const Program p = b.finish();
  for (const bool checked : {false, true}) {
    std::vector<std::int32_t> in{5, 6}, result(4);
    Options options;
    options.checked = checked;
    Call().buffer(in).buffer(result).ok(p, options);
    CHECK(result == std::vector<std::int32_t>{5, 6, -1, -1});
  }
}

TEST_CASE("a trap reports its text where its condition holds") {
  ProgramBuilder b("trap", {4, 1, 1});
  b.at(at(3));
  b.trap(b.op(Op::Cmpeq, {b.local_id(0), b.i32(2)}), "no case of 'Shape' fits");
  const RuntimeError e = Call().fails(b.finish());
  CHECK(e.kind == ErrorKind::Trap);
  CHECK(e.message == "kernel 'trap', block (0, 0, 0), thread (2, 0, 0): no case of 'Shape' fits");
  CHECK(e.range == at(3));
}

TEST_CASE("an endless loop ends at the step limit") {
  ProgramBuilder b("endless");
  const NodeId loop = b.begin_loop();
  b.end_loop(loop, b.bool_constant(true));
  const Program p = b.finish();
  Options options;
  options.step_limit = 100000;
  CHECK(Call().fails(p, options).kind == ErrorKind::Step_limit);
}

TEST_CASE("the error of the least block is reported, whatever the number of workers (59)") {
  ProgramBuilder b("fails", {1, 1, 1});
  const NodeId a = b.buffer_param("a", Type::I32, Access::Out);
  const NodeId g = b.group_id(0);
  // Work that differs between blocks, so that workers finish out of order.
  const NodeId i = b.begin_range(b.op(Op::Mul, {b.op(Op::And, {g, b.i32(7)}), b.i32(500)}));
  b.store(a, b.i32(0), i, b.bool_constant(false));
  b.end_range(i);
  b.store(a, b.op(Op::Where, {b.op(Op::Cmplt, {b.op(Op::And, {g, b.i32(63)}), b.i32(41)}), g, b.i32(-1)}), g);
  const Program p = b.finish();
  for (unsigned threads = 1; threads <= 8; ++threads) {
    for (int round = 0; round < 10; ++round) {
      std::vector<std::int32_t> data(512);
      Options options;
      options.threads = threads;
      const RuntimeError e = Call({512, 1, 1}).buffer(data).fails(p, options);
      CHECK(e.block[0] == 41);
      for (int k = 0; k < 41; ++k) CHECK(data[static_cast<std::size_t>(k)] == k);
    }
  }
}

TEST_CASE("blocks run x fastest, and their numbers reach the kernel") {
  ProgramBuilder b("order", {1, 1, 1});
  const NodeId next = b.buffer_param("next", Type::I32, Access::InOut);
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId linear = b.op(
      Op::Add,
      {b.group_id(0), b.op(Op::Mul, {b.num_groups(0), b.op(Op::Add, {b.group_id(1), b.op(Op::Mul, {b.num_groups(1), b.group_id(2)})})})});
  b.store(out, linear, b.ins(Ins::AtomicAdd, Type::I32, {b.index(next, b.i32(0)), b.i32(1)}));
  const Program p = b.finish();
  Options options;
  options.threads = 8;  // the old values are used, so that one worker does it all
  std::vector<std::int32_t> counter(1), order(24);
  Call({2, 3, 4}).buffer(counter).buffer(order).ok(p, options);
  for (int k = 0; k < 24; ++k) CHECK(order[static_cast<std::size_t>(k)] == k);
}

TEST_CASE("launches that do not fit are refused") {
  const Program p = saxpy(32);
  std::vector<float> x(4), y(4);
  const auto message = [&](const Call& call) {
    const RuntimeError e = call.fails(p);
    CHECK(e.kind == ErrorKind::Launch_error);
    return e.message;
  };
  CHECK(message(Call().buffer(x).buffer(y)) == "kernel 'saxpy': takes 3 arguments, not 2");
  CHECK(message(Call().scalar(Type::F64, 0).buffer(x).buffer(y)) == "kernel 'saxpy': argument 'a' is f32, not f64");
  CHECK(message(Call().buffer(x).buffer(x).buffer(y)) == "kernel 'saxpy': argument 'a' is a scalar, not a buffer");
  CHECK(message(Call().scalar(Type::F32, 0).scalar(Type::F32, 0).buffer(y)) == "kernel 'saxpy': argument 'x' is a buffer, not a scalar");
  Call overlapping;
  overlapping.scalar(Type::F32, 0);
  overlapping.launch.arguments.push_back(Argument::buffer(x.data(), 3, 12));
  overlapping.launch.arguments.push_back(Argument::buffer(x.data() + 1, 3, 12));
  CHECK(contains(message(overlapping), "arguments 'x' and 'y' overlap in part"));
  CHECK(contains(message(Call({0, 1, 1}).scalar(Type::F32, 0).buffer(x).buffer(y)), "a grid of 0 blocks"));
  Call dynamic;
  dynamic.scalar(Type::F32, 0).buffer(x).buffer(y);
  dynamic.launch.dynamic_shared = {4};
  CHECK(contains(message(dynamic), "has 0 dynamic shared buffers, not 1"));
  Call short_buffer;
  short_buffer.scalar(Type::F32, 0).buffer(x);
  short_buffer.launch.arguments.push_back(Argument::buffer(y.data(), 4, 15));
  CHECK(contains(message(short_buffer), "too few for 4 elements"));
  Call misaligned;
  misaligned.scalar(Type::F32, 0).buffer(x);
  misaligned.launch.arguments.push_back(Argument::buffer(reinterpret_cast<char*>(y.data()) + 1, 2, 8));
  CHECK(contains(message(misaligned), "is not aligned to 4 bytes"));
  Call missing;
  missing.scalar(Type::F32, 0).buffer(x);
  missing.launch.arguments.push_back(Argument::buffer(nullptr, 2, 8));
  CHECK(contains(message(missing), "has no memory"));
}

TEST_CASE("one buffer may be two parameters") {
  const Program p = saxpy(32);
  std::vector<float> x = {1, 2, 3, 4};
  Call().scalar(Type::F32, u(2)).buffer(x).buffer(x).ok(p);
  CHECK(x == std::vector<float>{3, 6, 9, 12});
}

TEST_CASE("hidden slots hold lengths, grid and shared lengths") {
  ProgramBuilder b("hidden");
  const NodeId x = b.buffer_param("x", Type::F64, Access::In);
  const NodeId n = b.scalar_param("n", Type::I8);
  b.length(b.slot_of(x));
  b.num_groups(2);
  b.dynamic_shared("tile", Type::F32);
  const Program p = b.finish();
  static_cast<void>(n);
  std::vector<double> data(3);
  Call call({4, 5, 6});
  call.buffer(data).scalar(Type::I8, 0xffffffffffffff80ull);
  call.launch.dynamic_shared = {77};
  const auto slots = bind_arguments(p, call.launch);
  REQUIRE(slots.has_value());
  CHECK(*slots == std::vector<std::uint64_t>{reinterpret_cast<std::uintptr_t>(data.data()), 0x80, 3, 6, 77});
}

TEST_CASE("functions that the contract does not define yet are refused by name") {
  ProgramBuilder b("sine");
  const NodeId x = b.scalar_param("x", Type::F32);
  const NodeId out = b.buffer_param("out", Type::F32, Access::Out);
  b.at(at(9));
  const NodeId s = b.op(Op::Sin, {x});
  b.store(out, b.i32(0), s);
  const auto made = Interpreter::create(b.finish());
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().kind == ErrorKind::Unsupported_operation);
  CHECK(made.error().message == "kernel 'sine': the interpreter has no exact meaning for SIN of type f32 on f32");
  CHECK(made.error().range == at(9));
}

TEST_CASE("the host's rounding and denormal mode have no say") {
  const auto mul = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(Op::Mul, {x, y}); };
  const auto div = [](ProgramBuilder& b, NodeId x, NodeId y, NodeId) { return b.op(Op::Fdiv, {x, y}); };
  std::fesetround(FE_DOWNWARD);
  const std::uint64_t third = compute(Type::F32, Type::F32, {u(1), u(3), 0}, div);
  const std::uint64_t product = compute(Type::F64, Type::F64, {numeric::bits(0.1), numeric::bits(0.1), 0}, mul);
  CHECK(std::fegetround() == FE_DOWNWARD);
  std::fesetround(FE_TONEAREST);
  CHECK(third == 0x3eaaaaab);
  CHECK(product == 0x3f847ae147ae147cull);
}
