// Threads together: block barriers, warp instructions, atomics, shared storage, and what can never release.
#include <functional>

#include "compiler/interp/test_support.h"

using namespace sarek;
using namespace sarek::interp;
using namespace sarek::interp::test;

namespace {

NodeId lane_of(ProgramBuilder& b) { return b.op(Op::And, {b.linear_local_id(), b.i32(31)}); }

/// A kernel over one block of `threads` that stores `make(builder, tid)` of type `type` at the thread's number.
template <class F>
Program per_thread(int threads, Type type, F make) {
  ProgramBuilder b("warp", {threads, 1, 1});
  const NodeId out = b.buffer_param("out", type, Access::Out);
  b.store(out, b.linear_local_id(), make(b, b.linear_local_id()));
  return b.finish();
}

}  // namespace

TEST_CASE("two barriers that all threads reach complete (53), supersteps see each other's writes (37)") {
  ProgramBuilder b("reverse", {100, 1, 1});
  const NodeId data = b.buffer_param("data", Type::I32, Access::InOut);
  const NodeId tile = b.shared("tile", Type::I32, 100);
  const NodeId t = b.local_id(0);
  b.store(tile, t, b.load(data, t));
  b.barrier();
  b.store(data, t, b.load(tile, b.op(Op::Sub, {b.i32(99), t})));
  b.barrier();
  b.store(tile, t, b.op(Op::Add, {b.load(tile, t), b.i32(1)}));
  b.barrier();
  const NodeId next = b.op(Op::Cmod, {b.op(Op::Add, {t, b.i32(1)}), b.i32(100)});
  b.store(data, t, b.op(Op::Add, {b.load(data, t), b.op(Op::Mul, {b.load(tile, next), b.i32(1000)})}));
  std::vector<std::int32_t> v(100);
  for (int k = 0; k < 100; ++k) v[static_cast<std::size_t>(k)] = k;
  Options options;
  options.checked = true;
  const Stats stats = Call().buffer(v).ok(b.finish(), options);
  CHECK(stats.supersteps == 3);
  for (int k = 0; k < 100; ++k) CHECK(v[static_cast<std::size_t>(k)] == 99 - k + ((k + 1) % 100 + 1) * 1000);
}

TEST_CASE("shared storage is zero at the start of every block") {
  ProgramBuilder b("fresh", {1, 1, 1});
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId s = b.shared("s", Type::I32, 2);
  const NodeId before = b.load(s, b.i32(1));
  b.store(s, b.i32(1), b.i32(5));
  b.store(out, b.group_id(0), before);
  std::vector<std::int32_t> v(3, -1);
  Call({3, 1, 1}).buffer(v).ok(b.finish());
  CHECK(v == std::vector<std::int32_t>{0, 0, 0});
}

TEST_CASE("dynamic shared storage has the launch's length") {
  ProgramBuilder b("dynamic", {4, 1, 1});
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId s = b.dynamic_shared("s", Type::I32);
  const NodeId w = b.dynamic_shared("w", Type::F64);
  b.store(s, b.local_id(0), b.local_id(0));
  b.store(w, b.local_id(0), b.float_constant(Type::F64, 0.5));
  b.barrier();
  const NodeId last = b.op(Op::Sub, {b.dynamic_shared_length(s), b.i32(1)});
  b.store(out, b.local_id(0),
          b.op(Op::Sub, {b.load(s, b.op(Op::Sub, {last, b.local_id(0)})), b.cast(b.load(w, b.local_id(0)), Type::I32)}));
  const Program p = b.finish();
  std::vector<std::int32_t> v(4);
  Call call;
  call.buffer(v);
  call.launch.dynamic_shared = {4, 4};
  call.ok(p);
  CHECK(v == std::vector<std::int32_t>{3, 2, 1, 0});
  call.launch.dynamic_shared = {3, 4};
  const RuntimeError e = call.fails(p);
  CHECK(contains(e.message, "index 3 is out of bounds of 's' with length 3"));
}

TEST_CASE("a thread that ended never reaches the barrier (54)") {
  ProgramBuilder b("deadlock", {40, 1, 1});
  const NodeId most = b.begin_if(b.op(Op::Cmplt, {b.local_id(0), b.i32(39)}));
  b.at(at(7));
  b.barrier();
  b.at({});
  b.end_if(most);
  const RuntimeError e = Call().fails(b.finish());
  CHECK(e.kind == ErrorKind::Bsp_deadlock);
  CHECK(e.message ==
        "kernel 'deadlock', block (0, 0, 0), thread (0, 0, 0): waits at a barrier, but thread (39, 0, 0) has ended and can never arrive");
  CHECK(e.range == at(7));
}

TEST_CASE("two different barriers do not release each other") {
  ProgramBuilder b("two", {8, 1, 1});
  const NodeId low = b.op(Op::Cmplt, {b.local_id(0), b.i32(5)});
  const NodeId first = b.begin_if(low);
  b.at(at(1));
  b.barrier();
  b.end_if(first);
  const NodeId second = b.begin_if(b.logical_not(low));
  b.at(at(2));
  b.barrier();
  b.end_if(second);
  const RuntimeError e = Call().fails(b.finish());
  CHECK(e.kind == ErrorKind::Bsp_deadlock);
  CHECK(contains(e.message, "thread (0, 0, 0): waits at another barrier than thread (5, 0, 0)"));
  CHECK(e.range == at(1));
  CHECK(e.related == at(2));
}

TEST_CASE("a warp split between a barrier and a warp instruction can never go on") {
  ProgramBuilder b("mixed", {32, 1, 1});
  const NodeId low = b.op(Op::Cmplt, {b.local_id(0), b.i32(16)});
  const NodeId first = b.begin_if(low);
  b.barrier();
  b.end_if(first);
  const NodeId second = b.begin_if(b.logical_not(low));
  b.ins(Ins::WarpBarrier, Type::Void, {});
  b.end_if(second);
  const RuntimeError e = Call().fails(b.finish());
  CHECK(e.kind == ErrorKind::Bsp_deadlock);
  CHECK(contains(e.message,
                 "thread (0, 0, 0): waits at a barrier, but thread (16, 0, 0) waits at a warp instruction that can never release"));
}

TEST_CASE("lanes at different warp instructions are an error") {
  ProgramBuilder b("split", {32, 1, 1});
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId low = b.op(Op::Cmplt, {b.local_id(0), b.i32(16)});
  for (const NodeId condition : {low, b.logical_not(low)}) {
    const NodeId opened = b.begin_if(condition);
    b.store(out, b.local_id(0), b.ins(Ins::ShuffleXor, Type::I32, {b.local_id(0), b.i32(1)}));
    b.end_if(opened);
  }
  std::vector<std::int32_t> v(32);
  const RuntimeError e = Call().buffer(v).fails(b.finish());
  CHECK(e.kind == ErrorKind::Bsp_deadlock);
  CHECK(contains(e.message, "thread (0, 0, 0): waits at another warp instruction than thread (16, 0, 0) of its warp"));
}

TEST_CASE("warps go on while another warp waits at the block barrier") {
  ProgramBuilder b("ahead", {64, 1, 1});
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId sum = b.reg("sum", Type::I32);
  const NodeId second_warp = b.begin_if(b.op(Op::Cmplt, {b.i32(31), b.local_id(0)}));
  const NodeId i = b.begin_range(b.i32(3));
  b.set(sum, b.op(Op::Add, {b.get(sum), b.ins(Ins::ReduceAdd, Type::I32, {i})}));
  b.end_range(i);
  b.end_if(second_warp);
  b.barrier();
  b.store(out, b.local_id(0), b.get(sum));
  std::vector<std::int32_t> v(64, -1);
  Call().buffer(v).ok(b.finish());
  for (int t = 0; t < 64; ++t) CHECK(v[static_cast<std::size_t>(t)] == (t < 32 ? 0 : 32 * 3));
}

TEST_CASE("a warp instruction waits for the live lanes only") {
  ProgramBuilder b("some", {32, 1, 1});
  const NodeId out = b.buffer_param("out", Type::U32, Access::Out);
  const NodeId low = b.begin_if(b.op(Op::Cmplt, {b.local_id(0), b.i32(4)}));
  b.store(out, b.local_id(0), b.ins(Ins::ActiveMask, Type::U32, {}));
  b.end_if(low);
  std::vector<std::uint32_t> v(4);
  Call().buffer(v).ok(b.finish());
  CHECK(v == std::vector<std::uint32_t>(4, 0xfu));
}

TEST_CASE("ballot of even lanes, full and partial warps (55)") {
  std::vector<std::uint32_t> v(40);
  Call().buffer(v).ok(per_thread(40, Type::U32, [](ProgramBuilder& b, NodeId) {
    return b.ins(Ins::Ballot, Type::U32, {b.op(Op::Cmpeq, {b.op(Op::Cmod, {lane_of(b), b.i32(2)}), b.i32(0)})});
  }));
  for (std::size_t t = 0; t < 40; ++t) CHECK(v[t] == (t < 32 ? 0x55555555u : 0x55u));
}

TEST_CASE("shuffles (56)") {
  struct Row {
    Ins code;
    int distance;
    std::function<int(int)> want;  // of the lane of a full warp
  };
  const Row rows[] = {
      {Ins::ShuffleDown, 1, [](int l) { return l == 31 ? 31 : l + 1; }},
      {Ins::ShuffleDown, 40, [](int l) { return l; }},
      {Ins::ShuffleUp, 3, [](int l) { return l < 3 ? l : l - 3; }},
      {Ins::ShuffleUp, -2, [](int l) { return l >= 30 ? l : l + 2; }},
      {Ins::ShuffleXor, 1, [](int l) { return l ^ 1; }},
      {Ins::ShuffleXor, 32, [](int l) { return l; }},
      {Ins::Shuffle, 5, [](int) { return 5; }},
      {Ins::Shuffle, 37, [](int) { return 5; }},
      {Ins::Shuffle, -1, [](int) { return 31; }},
  };
  for (const Row& row : rows) {
    std::vector<std::int32_t> v(64);
    Call().buffer(v).ok(
        per_thread(64, Type::I32, [&](ProgramBuilder& b, NodeId tid) { return b.ins(row.code, Type::I32, {tid, b.i32(row.distance)}); }));
    for (int t = 0; t < 64; ++t) {
      INFO(ir::ins_info(row.code).name << " " << row.distance << " lane " << t);
      CHECK(v[static_cast<std::size_t>(t)] == (t & ~31) + row.want(t & 31));
    }
  }
  // The last warp of 40 threads has 8 lanes: a lane that is not live gives the own value; checked mode reports it.
  const Program down =
      per_thread(40, Type::I32, [](ProgramBuilder& b, NodeId tid) { return b.ins(Ins::ShuffleDown, Type::I32, {tid, b.i32(4)}); });
  std::vector<std::int32_t> v(40);
  Call().buffer(v).ok(down);
  CHECK(v[35] == 39);
  CHECK(v[36] == 36);
  Options options;
  options.checked = true;
  const RuntimeError e = Call().buffer(v).fails(down, options);
  CHECK(e.kind == ErrorKind::Inactive_lane_read);
  CHECK(contains(e.message, "thread (36, 0, 0): shuffles from lane 8, which is not live"));
}

TEST_CASE("votes and reductions over live lanes, floats lane 0 first") {
  const auto votes = [](Ins code, int limit) {
    return per_thread(40, Type::Bool,
                      [=](ProgramBuilder& b, NodeId tid) { return b.ins(code, Type::Bool, {b.op(Op::Cmplt, {tid, b.i32(limit)})}); });
  };
  std::vector<std::uint8_t> v(40);
  Call().buffer(v).ok(votes(Ins::VoteAll, 32));
  CHECK((v[0] == 1 && v[31] == 1 && v[32] == 0));
  Call().buffer(v).ok(votes(Ins::VoteAny, 33));
  CHECK((v[0] == 1 && v[39] == 1));
  Call().buffer(v).ok(votes(Ins::VoteAny, 32));
  CHECK((v[0] == 1 && v[39] == 0));

  std::vector<float> f(40);
  Call().buffer(f).ok(per_thread(40, Type::F32, [](ProgramBuilder& b, NodeId tid) {
    return b.ins(Ins::ReduceAdd, Type::F32,
                 {b.op(Op::Fdiv, {b.float_constant(Type::F32, 1), b.cast(b.op(Op::Add, {tid, b.i32(1)}), Type::F32)})});
  }));
  float first = 1.0f;
  for (int k = 2; k <= 32; ++k) first += 1.0f / static_cast<float>(k);
  float second = 1.0f / 33.0f;
  for (int k = 34; k <= 40; ++k) second += 1.0f / static_cast<float>(k);
  CHECK((f[0] == first && f[31] == first && f[32] == second && f[39] == second));

  const std::pair<Ins, std::int32_t> integers[] = {
      {Ins::ReduceAdd, 32 * 31 / 2 - 320}, {Ins::ReduceMin, -10}, {Ins::ReduceMax, 21}, {Ins::ReduceAnd, 0}, {Ins::ReduceOr, -1}};
  for (const auto& [code, want] : integers) {
    std::vector<std::int32_t> n(32);
    Call().buffer(n).ok(per_thread(
        32, Type::I32, [&](ProgramBuilder& b, NodeId tid) { return b.ins(code, Type::I32, {b.op(Op::Sub, {tid, b.i32(10)})}); }));
    INFO(ir::ins_info(code).name);
    CHECK(n == std::vector<std::int32_t>(32, want));
  }
}

TEST_CASE("256 threads add 1 atomically and see 0 to 255 (57)") {
  ProgramBuilder b("count", {256, 1, 1});
  const NodeId counter = b.buffer_param("counter", Type::I32, Access::InOut);
  const NodeId olds = b.buffer_param("olds", Type::I32, Access::Out);
  b.store(olds, b.local_id(0), b.ins(Ins::AtomicAdd, Type::I32, {b.index(counter, b.i32(0)), b.i32(1)}));
  std::vector<std::int32_t> count(1), old(256);
  Call().buffer(count).buffer(old).ok(b.finish());
  CHECK(count[0] == 256);
  for (int k = 0; k < 256; ++k) CHECK(old[static_cast<std::size_t>(k)] == k);  // thread order
}

TEST_CASE("every atomic gives the old value and stores what its row says") {
  struct Row {
    Ins code;
    Type type;
    std::int64_t old, x, y, want;
  };
  const Row rows[] = {
      {Ins::AtomicAdd, Type::I32, INT32_MAX, 1, 0, INT32_MIN},
      {Ins::AtomicSub, Type::U8, 1, 2, 0, 255},
      {Ins::AtomicExchange, Type::I64, 5, -9, 0, -9},
      {Ins::AtomicMin, Type::I32, 3, -4, 0, -4},
      {Ins::AtomicMin, Type::U32, 3, -4, 0, 3},
      {Ins::AtomicMax, Type::I16, -3, -4, 0, -3},
      {Ins::AtomicAnd, Type::U16, 0xff0f, 0x0ff0, 0, 0x0f00},
      {Ins::AtomicOr, Type::I32, 1, 6, 0, 7},
      {Ins::AtomicXor, Type::U64, 5, 6, 0, 3},
      {Ins::AtomicInc, Type::I32, 41, 0, 0, 42},
      {Ins::AtomicDec, Type::U32, 0, 0, 0, 0xffffffff},
      {Ins::AtomicCas, Type::I32, 7, 7, 9, 9},
      {Ins::AtomicCas, Type::I32, 7, 8, 9, 7},
  };
  for (const Row& row : rows) {
    ProgramBuilder b("atomic");
    const NodeId cell = b.buffer_param("cell", row.type, Access::InOut);
    const NodeId out = b.buffer_param("old", row.type, Access::Out);
    const NodeId place = b.index(cell, b.i32(0));
    const NodeId x = b.int_constant(row.type, row.x);
    const int sources = ir::ins_info(row.code).sources;
    const NodeId old = sources == 1   ? b.ins(row.code, row.type, {place})
                       : sources == 2 ? b.ins(row.code, row.type, {place, x})
                                      : b.ins(row.code, row.type, {place, x, b.int_constant(row.type, row.y)});
    b.store(out, b.i32(0), old);
    std::int64_t memory = row.old, result = 0;
    Call call;
    call.launch.arguments = {Argument::buffer(&memory, 1, ir::type_bytes(row.type)),
                             Argument::buffer(&result, 1, ir::type_bytes(row.type))};
    call.ok(b.finish());
    INFO(ir::ins_info(row.code).name << " " << ir::type_name(row.type));
    const int width = ir::type_bits(row.type);
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    CHECK((static_cast<std::uint64_t>(memory) & mask) == (static_cast<std::uint64_t>(row.want) & mask));
    CHECK((static_cast<std::uint64_t>(result) & mask) == (static_cast<std::uint64_t>(row.old) & mask));
  }
}

TEST_CASE("atomic max of negative floats (T14), float sums in thread order, bounds of atomics") {
  ProgramBuilder b("t14", {19, 1, 1});
  const NodeId m = b.buffer_param("m", Type::F32, Access::InOut);
  const NodeId i = b.op(Op::Add, {b.local_id(0), b.i32(1)});
  b.ins(Ins::AtomicMax, Type::F32, {b.index(m, b.i32(0)), b.op(Op::Neg, {b.cast(i, Type::F32)})});
  b.ins(Ins::AtomicAdd, Type::F32, {b.index(m, b.i32(1)), b.op(Op::Fdiv, {b.float_constant(Type::F32, 1), b.cast(i, Type::F32)})});
  const Program p = b.finish();
  std::vector<float> v{-1000, 0};
  Call().buffer(v).ok(p);
  float sum = 0;
  for (int k = 1; k <= 19; ++k) sum += 1.0f / static_cast<float>(k);
  CHECK((v[0] == -1.0f && v[1] == sum));
  std::vector<float> one{-1000};
  const RuntimeError e = Call().buffer(one).fails(p);
  CHECK(contains(e.message, "index 1 is out of bounds of 'm' with length 1"));
}

TEST_CASE("atomics of several workers lose nothing") {
  ProgramBuilder b("histogram", {64, 1, 1});
  const NodeId bins = b.buffer_param("bins", Type::I32, Access::InOut);
  b.ins(Ins::AtomicAdd, Type::I32, {b.index(bins, b.op(Op::And, {b.global_id(0), b.i32(3)})), b.i32(1)});
  b.ins(Ins::AtomicMax, Type::I32, {b.index(bins, b.i32(4)), b.global_id(0)});
  std::vector<std::int32_t> v(5);
  Options options;
  options.threads = 4;
  Call({500, 1, 1}).buffer(v).ok(b.finish(), options);
  CHECK(v == std::vector<std::int32_t>{8000, 8000, 8000, 8000, 31999});
}
