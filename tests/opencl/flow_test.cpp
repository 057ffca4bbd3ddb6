// Whole kernels on the OpenCL device against the interpreter: blocks in three dimensions, shared memory and barriers, loops, records,
// atomics, warp operations through shared memory.
#include <catch2/catch_test_macros.hpp>

#include <numeric>

#include "compiler/ir/builder.h"
#include "compiler/ir/test_programs.h"
#include "compiler/passes/passes.h"
#include "compiler/spec/verify.h"
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

#define NEEDS_OPENCL() \
  if (!opencl_device()) SKIP("no OpenCL device")

template <class T>
std::vector<T> counted(std::size_t n, T first = T{}) {
  std::vector<T> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

/// The interpreter on the program and on what emulate_warps makes of it, and both on the device.
std::string compare_emulated(const ir::Program& program, Call& call) {
  const ir::Program emulated = passes::emulate_warps(program);
  if (const std::string faults = spec::describe(emulated, spec::verify_program(emulated)); !faults.empty())
    return "malformed: " + faults + ir::print(emulated);
  Call again = call, device = call;
  if (std::string error = interpret(program, call); !error.empty()) return "interpreter: " + error;
  if (std::string error = interpret(emulated, again); !error.empty()) return "interpreter, emulated: " + error + ir::print(emulated);
  if (std::string different = difference(program, call, again); !different.empty())
    return "emulated in the interpreter: " + different + "\n" + ir::print(emulated);
  if (!opencl_device()) return {};
  return compare(program, device);
}

}  // namespace

TEST_CASE("OpenCL: saxpy over a length that blocks do not divide, each element once (T24)") {
  NEEDS_OPENCL();
  ProgramBuilder b("doubled", {32, 1, 1});
  const NodeId x = b.buffer_param("x", Type::I32, Access::InOut);
  const NodeId i = b.global_id(0);
  const NodeId inside = b.begin_if(b.op(Op::Cmplt, {i, b.length(b.slot_of(x))}));
  b.store(x, i, b.op(Op::Mul, {b.load(x, i), b.i32(2)}));
  b.end_if(inside);
  Call call;
  call.grid[0] = 2;
  call.arguments = {buffer_of(counted<std::int32_t>(33, 1))};
  CHECK(compare(b.finish(), call) == "");
  const auto seen = elements_of<std::int32_t>(call.arguments[0]);
  for (std::size_t k = 0; k < seen.size(); ++k) CHECK(seen[k] == 2 * (static_cast<std::int32_t>(k) + 1));
  Call saxpy;
  saxpy.grid[0] = 3;
  saxpy.arguments = {scalar_of(numeric::bits(2.5f)), buffer_of(counted<float>(700)), buffer_of(counted<float>(700, 0.1f))};
  CHECK(compare(ir::test::saxpy(), saxpy) == "");
}

TEST_CASE("OpenCL: indices of blocks and grids in three dimensions") {
  NEEDS_OPENCL();
  ProgramBuilder b("indices", {4, 3, 2});
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  // (((gz * Gy + gy) * Gx + gx) of whole extents; each thread writes its own coordinates.
  NodeId linear = b.i32(0), code = b.i32(0);
  for (int axis = 2; axis >= 0; --axis) {
    const NodeId extent = b.op(Op::Mul, {b.num_groups(axis), b.i32(b.program().block[static_cast<std::size_t>(axis)])});
    linear = b.op(Op::Add, {b.op(Op::Mul, {linear, extent}), b.global_id(axis)});
    code =
        b.op(Op::Add, {b.op(Op::Mul, {code, b.i32(100)}), b.op(Op::Add, {b.op(Op::Mul, {b.group_id(axis), b.i32(10)}), b.local_id(axis)})});
  }
  b.store(out, linear, b.op(Op::Add, {b.op(Op::Mul, {code, b.i32(24)}), b.linear_local_id()}));
  Call call;
  call.grid = {2, 3, 4};
  call.arguments = {buffer_of(std::vector<std::int32_t>(24 * 24))};
  CHECK(compare(b.finish(), call) == "");
}

TEST_CASE("OpenCL: shared memory, static and dynamic, in loops with barriers") {
  NEEDS_OPENCL();
  // An inclusive scan by doubling distances, in the dynamic array, with the static one as the other half.
  ProgramBuilder b("scan", {64, 1, 1});
  const NodeId x = b.buffer_param("x", Type::I32, Access::InOut);
  const NodeId fixed = b.shared("fixed", Type::I32, 64), dynamic = b.dynamic_shared("dynamic", Type::I32);
  const NodeId more = b.dynamic_shared("more", Type::F64);
  const NodeId lane = b.local_id(0), i = b.global_id(0);
  const NodeId distance = b.reg("distance", Type::I32);
  b.store(dynamic, lane, b.load(x, i));
  b.store(more, lane, b.cast(lane, Type::F64));
  b.set(distance, b.i32(1));
  b.barrier();
  const NodeId loop = b.begin_loop();
  const NodeId d = b.get(distance);
  const NodeId has = b.op(Op::Cmplt, {b.op(Op::Sub, {d, b.i32(1)}), lane});
  const NodeId left = b.load(dynamic, b.op(Op::Where, {has, b.op(Op::Sub, {lane, d}), b.i32(0)}));
  b.store(fixed, lane, b.op(Op::Add, {b.load(dynamic, lane), b.op(Op::Where, {has, left, b.i32(0)})}));
  b.barrier();
  b.store(dynamic, lane, b.load(fixed, lane));
  b.set(distance, b.op(Op::Mul, {d, b.i32(2)}));
  b.barrier();
  b.end_loop(loop, b.op(Op::Cmplt, {b.get(distance), b.i32(64)}));
  const NodeId mirrored = b.load(more, b.op(Op::Sub, {b.i32(63), lane}));
  b.store(x, i, b.op(Op::Add, {b.load(dynamic, lane), b.op(Op::Mul, {b.cast(mirrored, Type::I32), b.dynamic_shared_length(more)})}));
  Call call;
  call.grid[0] = 3;
  call.arguments = {buffer_of(counted<std::int32_t>(192, -20))};
  call.dynamic_shared = {64, 70};
  CHECK(compare(b.finish(), call) == "");
}

TEST_CASE("OpenCL: records through views of several types, Bool and 16-bit cells") {
  NEEDS_OPENCL();
  ProgramBuilder b("records", {16, 1, 1});
  const NodeId x = b.buffer_param("x", Type::F32, Access::InOut);
  // { a: f32, b: i32, c: f16, on: bool } in 12 bytes.
  b.program().params[0].element = {"R", 12, 4, {{"a", Type::F32, 0}, {"b", Type::I32, 4}, {"c", Type::F16, 8}, {"on", Type::Bool, 10}}};
  const int slot = b.slot_of(x);
  const NodeId ints = b.view(slot, Type::I32), halves = b.view(slot, Type::F16), flags = b.view(slot, Type::Bool);
  const NodeId i = b.local_id(0);
  const auto at = [&](int scale, int offset) { return b.op(Op::Add, {b.op(Op::Mul, {i, b.i32(scale)}), b.i32(offset)}); };
  const NodeId on = b.load(flags, at(12, 10));
  const NodeId a = b.load(x, at(3, 0)), c = b.load(halves, at(6, 4)), n = b.load(ints, at(3, 1));
  b.store(x, at(3, 0), b.op(Op::Add, {a, b.cast(c, Type::F32)}));
  b.store(halves, at(6, 4), b.op(Op::Mul, {c, c}));
  b.store(ints, at(3, 1), b.op(Op::Where, {on, b.op(Op::Neg, {n}), n}));
  b.store(flags, at(12, 10), b.logical_not(on));
  Value records;
  records.bytes.resize(16 * 12);
  for (std::size_t k = 0; k < 16; ++k) {
    const float f = static_cast<float>(k) * 1.25f - 3.0f;
    const auto number = static_cast<std::int32_t>(k * k) - 40;
    const std::uint16_t half = numeric::f16_from(0.3 * static_cast<double>(k));
    std::memcpy(&records.bytes[k * 12], &f, 4);
    std::memcpy(&records.bytes[k * 12 + 4], &number, 4);
    std::memcpy(&records.bytes[k * 12 + 8], &half, 2);
    records.bytes[k * 12 + 10] = static_cast<std::uint8_t>(k % 3);  // 2 is true as well
  }
  Call call;
  call.arguments = {records};
  CHECK(compare(b.finish(), call) == "");
}

TEST_CASE("OpenCL: gated loads and stores stay off the memory that their gate excludes") {
  NEEDS_OPENCL();
  ProgramBuilder b("gated", {8, 1, 1});
  const NodeId x = b.buffer_param("x", Type::F32, Access::In), out = b.buffer_param("out", Type::F32, Access::Out);
  const NodeId i = b.local_id(0), inside = b.op(Op::Cmplt, {i, b.length(b.slot_of(x))});
  // Far outside where the gate is false.
  const NodeId far = b.op(Op::Where, {inside, i, b.i32(1 << 28)});
  b.store(out, far, b.load(x, far, b.float_constant(Type::F32, 9), inside), inside);
  Call call;
  call.arguments = {buffer_of(counted<float>(5, 1)), buffer_of(std::vector<float>(8))};
  CHECK(compare(b.finish(), call) == "");
}

TEST_CASE("OpenCL: atomics on integers of 32 and 64 bits, global and shared") {
  NEEDS_OPENCL();
  for (const Type type : {Type::I32, Type::U32, Type::I64, Type::U64}) {
    ProgramBuilder b("atomics", {64, 1, 1});
    const NodeId out = b.buffer_param("out", type, Access::InOut), tile = b.shared("tile", type, 9);
    const NodeId lane = b.local_id(0), value = b.cast(b.op(Op::Sub, {b.op(Op::Mul, {b.global_id(0), b.i32(37)}), b.i32(999)}), type);
    const NodeId first = b.begin_if(b.op(Op::Cmplt, {lane, b.i32(9)}));
    b.store(tile, lane, b.int_constant(type, 77));
    b.end_if(first);
    b.barrier();
    int cell = 0;
    for (const Ins code : {Ins::AtomicAdd, Ins::AtomicSub, Ins::AtomicMin, Ins::AtomicMax, Ins::AtomicAnd, Ins::AtomicOr, Ins::AtomicXor}) {
      b.ins(code, type, {b.index(out, b.i32(cell)), value});
      b.ins(code, type, {b.index(tile, b.i32(cell++)), value});
    }
    for (const Ins code : {Ins::AtomicInc, Ins::AtomicDec}) {
      b.ins(code, type, {b.index(out, b.i32(cell))});
      b.ins(code, type, {b.index(tile, b.i32(cell++))});
    }
    // One thread wins; which one does not matter.
    b.ins(Ins::AtomicCas, type, {b.index(out, b.i32(9)), b.int_constant(type, 5), b.int_constant(type, 6)});
    b.barrier();
    const NodeId again = b.begin_if(b.op(Op::Cmplt, {lane, b.i32(9)}));
    b.store(out, b.op(Op::Add, {b.op(Op::Add, {lane, b.i32(10)}), b.op(Op::Mul, {b.group_id(0), b.i32(9)})}), b.load(tile, lane));
    b.end_if(again);
    Call call;
    call.grid[0] = 4;
    call.arguments.push_back(type_bits(type) == 64 ? buffer_of(counted<std::int64_t>(46, -4)) : buffer_of(counted<std::int32_t>(46, -4)));
    INFO(type_name(type));
    CHECK(compare(b.finish(), call) == "");
  }
}

TEST_CASE("OpenCL: atomics return the old value, each once") {
  NEEDS_OPENCL();
  ProgramBuilder b("tickets", {64, 1, 1});
  const NodeId next = b.buffer_param("next", Type::I32, Access::InOut), seen = b.buffer_param("seen", Type::I32, Access::InOut);
  b.ins(Ins::AtomicAdd, Type::I32, {b.index(seen, b.ins(Ins::AtomicInc, Type::I32, {b.index(next, b.i32(0))})), b.i32(1)});
  Call call;
  call.grid[0] = 4;
  call.arguments = {buffer_of(std::vector<std::int32_t>(1)), buffer_of(std::vector<std::int32_t>(256))};
  CHECK(compare(b.finish(), call) == "");
  CHECK(elements_of<std::int32_t>(call.arguments[1]) == std::vector<std::int32_t>(256, 1));
}

TEST_CASE("OpenCL: atomics on floats whose order does not matter (T14)") {
  NEEDS_OPENCL();
  ProgramBuilder b("floats", {19, 1, 1});
  const NodeId out = b.buffer_param("out", Type::F32, Access::InOut), tile = b.shared("tile", Type::F32, 2);
  const NodeId lane = b.local_id(0), i = b.cast(b.op(Op::Add, {lane, b.i32(1)}), Type::F32), minus = b.op(Op::Neg, {i});
  const NodeId first = b.begin_if(b.op(Op::Cmpeq, {lane, b.i32(0)}));
  b.store(tile, b.i32(0), b.float_constant(Type::F32, -1000));
  b.store(tile, b.i32(1), b.float_constant(Type::F32, 0.25));
  b.end_if(first);
  b.barrier();
  b.ins(Ins::AtomicMax, Type::F32, {b.index(out, b.i32(0)), minus});
  b.ins(Ins::AtomicMin, Type::F32, {b.index(out, b.i32(1)), minus});
  b.ins(Ins::AtomicAdd, Type::F32, {b.index(out, b.i32(2)), i});
  b.ins(Ins::AtomicSub, Type::F32, {b.index(out, b.i32(3)), i});
  // Zeros of both signs and a NaN that numbers replace.
  b.ins(Ins::AtomicMax, Type::F32,
        {b.index(out, b.i32(4)),
         b.op(Op::Where, {b.op(Op::Cmplt, {lane, b.i32(9)}), b.float_constant(Type::F32, -0.0), b.float_constant(Type::F32, 0.0)})});
  b.ins(Ins::AtomicMin, Type::F32,
        {b.index(out, b.i32(5)),
         b.op(Op::Where, {b.op(Op::Cmplt, {lane, b.i32(9)}), b.float_constant(Type::F32, -0.0), b.float_constant(Type::F32, 0.0)})});
  b.ins(Ins::AtomicMin, Type::F32, {b.index(out, b.i32(6)), i});
  b.ins(Ins::AtomicExchange, Type::F32, {b.index(out, b.i32(7)), b.float_constant(Type::F32, 4.5)});
  b.ins(Ins::AtomicMax, Type::F32, {b.index(tile, b.i32(0)), minus});
  b.ins(Ins::AtomicAdd, Type::F32, {b.index(tile, b.i32(1)), i});
  b.barrier();
  const NodeId last = b.begin_if(b.op(Op::Cmplt, {lane, b.i32(2)}));
  b.store(out, b.op(Op::Add, {lane, b.i32(9)}), b.load(tile, lane));
  b.end_if(last);
  Call call;
  call.arguments = {buffer_of(std::vector<float>{-1000, 1000, 0.5f, 0.5f, -3, 3, std::nanf(""), 0, 0, 0, 0})};
  CHECK(compare(b.finish(), call) == "");
  const auto seen = elements_of<float>(call.arguments[0]);
  CHECK(seen[0] == -1.0f);
  CHECK(seen[6] == 1.0f);
  CHECK(seen[9] == -1.0f);
}

// --- warp operations, written out --------------------------------------------------------------------------------------------------------

namespace {

/// Every warp operation on values of `type`, one output column each, in the flow that `wrap` makes around it.
ir::Program all_warp_operations(Type type, std::array<int, 3> block, Type distance_type = Type::I32) {
  ProgramBuilder b("warps", block);
  const NodeId x = b.buffer_param("x", type, Access::In), d = b.buffer_param("d", distance_type, Access::In),
               out = b.buffer_param("out", type, Access::Out);
  const NodeId masks = b.buffer_param("masks", Type::U32, Access::Out);
  const int threads = block[0] * block[1] * block[2];
  const NodeId i = b.linear_local_id();
  const NodeId v = b.load(x, i), n = b.load(d, i);
  int column = 0;
  const auto put = [&](NodeId buffer, NodeId value) { b.store(buffer, b.op(Op::Add, {i, b.i32(threads * column++)}), value); };
  for (const Ins code : {Ins::Shuffle, Ins::ShuffleUp, Ins::ShuffleDown, Ins::ShuffleXor}) put(out, b.ins(code, type, {v, n}));
  put(out, b.ins(Ins::ShuffleDown, type, {v, b.int_constant(distance_type, 1)}));
  if (type != Type::Bool)
    for (const Ins code : {Ins::ReduceAdd, Ins::ReduceMin, Ins::ReduceMax}) put(out, b.ins(code, type, {v}));
  if (!ir::is_float(type))
    for (const Ins code : {Ins::ReduceAnd, Ins::ReduceOr, Ins::ReduceXor}) put(out, b.ins(code, type, {v}));
  column = 0;
  const NodeId odd = b.op(Op::Cmplt, {n, b.int_constant(distance_type, 3)});
  put(masks, b.ins(Ins::Ballot, Type::U32, {odd}));
  put(masks, b.ins(Ins::ActiveMask, Type::U32, {}));
  put(masks, b.cast(b.ins(Ins::VoteAll, Type::Bool, {odd}), Type::U32));
  put(masks, b.cast(b.ins(Ins::VoteAny, Type::Bool, {odd}), Type::U32));
  b.ins(Ins::WarpBarrier, Type::Void, {});
  return b.finish();
}

Call warp_call(Type type, int threads, Type distance_type = Type::I32) {
  Call call;
  const auto n = static_cast<std::size_t>(threads);
  const auto size = static_cast<std::size_t>(type_bytes(type)), width = static_cast<std::size_t>(type_bytes(distance_type));
  Value x, d, out, masks;
  x.bytes.resize(n * size);
  d.bytes.resize(n * width);
  out.bytes.resize(n * size * 11);
  masks.bytes.resize(n * 4 * 4);
  for (std::size_t k = 0; k < n; ++k) {
    const double number = static_cast<double>(k) * 0.37 - 5;
    std::uint64_t bits = type == Type::F64    ? numeric::bits(number)
                         : type == Type::F32  ? numeric::bits(static_cast<float>(number))
                         : type == Type::F16  ? numeric::f16_from(number)
                         : type == Type::Bf16 ? numeric::bf16_from(number)
                         : type == Type::Bool ? k % 3 != 0
                                              : 0x9e3779b97f4a7c15u * (k + 1);
    std::memcpy(&x.bytes[k * size], &bits, size);
    constexpr std::int64_t kDistances[] = {0, 1, 2, -1, 31, 32, 33, 5, -40, 16, 100, 3, -128, 127, 1 << 30};
    const std::int64_t distance = kDistances[k % std::size(kDistances)];
    std::memcpy(&d.bytes[k * width], &distance, width);
  }
  call.arguments = {x, d, out, masks};
  return call;
}

}  // namespace

TEST_CASE("warp operations written out: every type, every distance") {
  for (const Type type : {Type::Bool, Type::I8, Type::U16, Type::I32, Type::U64, Type::F16, Type::Bf16, Type::F32, Type::F64}) {
    INFO(type_name(type));
    Call call = warp_call(type, 64);
    CHECK(compare_emulated(all_warp_operations(type, {64, 1, 1}), call) == "");
  }
  for (const Type distance : {Type::I8, Type::U8, Type::U32, Type::I64, Type::U64}) {
    INFO(type_name(distance));
    Call call = warp_call(Type::I32, 64, distance);
    CHECK(compare_emulated(all_warp_operations(Type::I32, {64, 1, 1}, distance), call) == "");
  }
}

TEST_CASE("warp operations written out: partial warps and blocks of three dimensions") {
  for (const std::array<int, 3> block : {std::array{1, 1, 1}, std::array{20, 1, 1}, std::array{45, 1, 1}, std::array{5, 3, 7}}) {
    INFO(block[0] << " " << block[1] << " " << block[2]);
    Call call = warp_call(Type::F32, block[0] * block[1] * block[2]);
    CHECK(compare_emulated(all_warp_operations(Type::F32, block), call) == "");
  }
}

TEST_CASE("warp operations written out: a block's sum by two rounds of its warps") {
  // The second round runs in one warp only, inside a branch, and in part of it.
  ProgramBuilder b("sum", {128, 1, 1});
  const NodeId x = b.buffer_param("x", Type::F32, Access::In), out = b.buffer_param("out", Type::F32, Access::InOut),
               partial = b.shared("partial", Type::F32, 4);
  const NodeId t = b.local_id(0), lane = b.op(Op::And, {t, b.i32(31)}), warp = b.op(Op::Shr, {t, b.i32(5)});
  const NodeId sum = b.ins(Ins::ReduceAdd, Type::F32, {b.load(x, b.global_id(0))});
  const NodeId leads = b.begin_if(b.op(Op::Cmpeq, {lane, b.i32(0)}));
  b.store(partial, warp, sum);
  b.end_if(leads);
  b.barrier();
  const NodeId first_warp = b.begin_if(b.op(Op::Cmpeq, {warp, b.i32(0)}));
  const NodeId few = b.op(Op::Cmplt, {lane, b.i32(4)});
  const NodeId mine = b.load(partial, lane, b.float_constant(Type::F32, -0.0), few);
  const NodeId scaled = b.op(Op::Mul, {mine, b.float_constant(Type::F32, 3)});
  const NodeId place = b.index(out, b.op(Op::Add, {b.op(Op::Mul, {b.group_id(0), b.i32(128)}), t}));
  const NodeId total = b.ins(Ins::ReduceAdd, Type::F32, {mine});
  const NodeId greatest = b.ins(Ins::ReduceMax, Type::F32, {scaled});
  // Both results, a value from before the first and a place from before both.
  b.op(Op::Store, {place, b.op(Op::Add, {b.op(Op::Add, {total, greatest}), scaled})});
  const NodeId inner = b.begin_if(few);
  const NodeId mask = b.ins(Ins::ActiveMask, Type::U32, {});
  const NodeId next = b.ins(Ins::ShuffleDown, Type::F32, {scaled, b.i32(1)});
  b.op(Op::Store,
       {place, b.op(Op::Add, {b.op(Op::Add, {b.op(Op::Load, {place}), b.cast(mask, Type::F32)}), b.op(Op::Mul, {next, total})})});
  b.end_if(inner);
  b.end_if(first_warp);
  const ir::Program program = b.finish();
  CHECK(passes::unemulatable_warps(program, emit::opencl_dialect().capabilities).empty());
  Call call;
  call.grid[0] = 3;
  call.arguments = {buffer_of(counted<float>(384, -100.3f)), buffer_of(std::vector<float>(384))};
  CHECK(compare_emulated(program, call) == "");
}

TEST_CASE("warp operations written out: inside loops that the whole block runs") {
  ProgramBuilder b("rounds", {64, 1, 1});
  const NodeId x = b.buffer_param("x", Type::I32, Access::InOut), n = b.scalar_param("n", Type::I32), v = b.reg("v", Type::I32);
  b.set(v, b.load(x, b.local_id(0)));
  const NodeId j = b.begin_range(n);
  const NodeId odd = b.begin_if(b.op(Op::Cmpne, {b.op(Op::And, {j, b.i32(1)}), b.i32(0)}));  // all threads or none
  b.set(v, b.op(Op::Add, {b.get(v), b.ins(Ins::ShuffleUp, Type::I32, {b.get(v), b.op(Op::Add, {j, b.i32(1)})})}));
  b.end_if(odd);
  const NodeId half = b.begin_if(b.op(Op::Cmplt, {b.local_id(0), b.i32(32)}));  // one warp of the two
  const NodeId before = b.get(v);
  b.set(v, b.op(Op::Sub, {b.ins(Ins::ShuffleXor, Type::I32, {before, b.op(Op::Add, {j, b.i32(1)})}), before}));
  b.end_if(half);
  b.end_range(j);
  b.store(x, b.local_id(0), b.get(v));
  Call call;
  call.arguments = {buffer_of(counted<std::int32_t>(64, 7)), scalar_of(6)};
  CHECK(compare_emulated(b.finish(), call) == "");
}

TEST_CASE("warp operations in loops whose turns differ are refused where they must be written out") {
  ProgramBuilder b("differs", {64, 1, 1});
  const NodeId x = b.buffer_param("x", Type::I32, Access::InOut);
  const NodeId j = b.begin_range(b.op(Op::Shr, {b.local_id(0), b.i32(5)}));
  b.store(x, b.local_id(0), b.ins(Ins::ReduceAdd, Type::I32, {j}));
  b.end_range(j);
  const ir::Program program = b.finish();
  const auto lowered = passes::run_pipeline(program, emit::opencl_dialect().capabilities, {});
  REQUIRE_FALSE(lowered);
  REQUIRE(lowered.error().size() == 1);
  CHECK(lowered.error()[0].kind == DiagnosticKind::MissingCapability);
  CHECK(lowered.error()[0].message ==
        "kernel `differs` uses warp_reduce_add in a loop whose turns differ between the threads of a block, but OpenCL has no warp "
        "operations, and the barriers that "
        "stand in for them must be reached by the whole block");
  // A target with warp operations of its own takes it.
  CHECK(passes::unemulatable_warps(program, {}).empty());
}
