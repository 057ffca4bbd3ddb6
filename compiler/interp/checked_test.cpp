// Checked mode: division by zero, reads of shared storage before any write, races; and what is none of these.
#include <functional>

#include "compiler/interp/test_support.h"

using namespace sarek;
using namespace sarek::interp;
using namespace sarek::interp::test;

namespace {

constexpr Options kChecked{.checked = true, .threads = 1, .step_limit = 0};

/// A block of 64 threads with shared `s` (64 cells of i32) and global `g` (64 cells).
Program block_of_64(const std::function<void(ProgramBuilder&, NodeId tid, NodeId s, NodeId g)>& body) {
  ProgramBuilder b("k", {64, 1, 1});
  const NodeId g = b.buffer_param("g", Type::I32, Access::InOut);
  const NodeId s = b.shared("s", Type::I32, 64);
  body(b, b.local_id(0), s, g);
  return b.finish();
}
Result<Stats, RuntimeError> check(const Program& p, std::int64_t blocks = 1) {
  std::vector<std::int32_t> g(64);
  return Call({blocks, 1, 1}).buffer(g).run(p, kChecked);
}
NodeId next(ProgramBuilder& b, NodeId tid) { return b.op(Op::And, {b.op(Op::Add, {tid, b.i32(1)}), b.i32(63)}); }

}  // namespace

TEST_CASE("division by zero is an error with its place (47, checked)") {
  for (const Op op : {Op::Cdiv, Op::Cmod, Op::Floordiv, Op::Floormod}) {
    const Program p = block_of_64([&](ProgramBuilder& b, NodeId tid, NodeId, NodeId g) {
      b.at(at(11));
      const NodeId q = b.op(op, {b.i32(100), b.op(Op::Sub, {tid, b.i32(9)})});
      b.store(g, tid, q);
    });
    const auto r = check(p);
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error().kind == ErrorKind::Division_by_zero);
    CHECK(r.error().message == "kernel 'k', block (0, 0, 0), thread (9, 0, 0): division by zero");
    CHECK(r.error().range == at(11));
    std::vector<std::int32_t> v(64);
    Call().buffer(v).ok(p);  // not checked: it has a value
    CHECK(v[9] == (op == Op::Cdiv || op == Op::Floordiv ? 100 : 0));
  }
}

TEST_CASE("a read of shared storage that nothing wrote is an error") {
  const Program p = block_of_64([](ProgramBuilder& b, NodeId tid, NodeId s, NodeId g) {
    b.store(s, tid, tid, b.op(Op::Cmpne, {tid, b.i32(20)}));
    b.barrier();
    b.store(g, tid, b.load(s, next(b, tid)));
  });
  const auto r = check(p);
  REQUIRE_FALSE(r.has_value());
  CHECK(r.error().kind == ErrorKind::Uninitialised_shared_read);
  CHECK(r.error().message == "kernel 'k', block (0, 0, 0), thread (19, 0, 0): reads 's' at index 20 before any thread wrote it");
}

TEST_CASE("shared storage counts as unwritten again in every block") {
  ProgramBuilder b("again");
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId s = b.shared("s", Type::I32, 1);
  const NodeId first = b.begin_if(b.op(Op::Cmpeq, {b.group_id(0), b.i32(0)}));
  b.store(s, b.i32(0), b.i32(1));
  b.end_if(first);
  b.store(out, b.group_id(0), b.load(s, b.i32(0)));
  std::vector<std::int32_t> v(2);
  const RuntimeError e = Call({2, 1, 1}).buffer(v).fails(b.finish(), kChecked);
  CHECK(e.kind == ErrorKind::Uninitialised_shared_read);
  CHECK(e.block[0] == 1);
}

TEST_CASE("a missing barrier between write and read is a race (T19), with the barrier it is none") {
  for (const bool barrier : {false, true}) {
    const Program p = block_of_64([&](ProgramBuilder& b, NodeId tid, NodeId s, NodeId g) {
      b.store(s, tid, tid);
      if (barrier) b.barrier();
      b.at(at(5));
      const NodeId v = b.load(s, b.op(Op::Sub, {b.i32(63), tid}));
      b.at({});
      b.store(g, tid, v);
    });
    const auto r = check(p);
    CHECK(r.has_value() == barrier);
    if (barrier) continue;
    // Thread 0 reads cell 63 before anything wrote it; without that check the race is thread 32's.
    CHECK(r.error().kind == ErrorKind::Uninitialised_shared_read);
  }
  const Program p = block_of_64([&](ProgramBuilder& b, NodeId tid, NodeId s, NodeId) {
    b.store(s, tid, tid);
    b.barrier();
    b.at(at(5));
    b.store(s, tid, b.load(s, next(b, tid)));
  });
  const auto r = check(p);
  REQUIRE_FALSE(r.has_value());
  CHECK(r.error().kind == ErrorKind::Race);
  CHECK(r.error().message ==
        "kernel 'k', block (0, 0, 0), thread (1, 0, 0): writes 's' at index 1, which thread (0, 0, 0) reads with no barrier in between");
  CHECK(r.error().range == at(5));
}

TEST_CASE("races in one superstep") {
  struct Row {
    const char* what;
    bool race;
    std::function<void(ProgramBuilder&, NodeId, NodeId, NodeId)> body;
  };
  const Row rows[] = {
      {"two writes of one global cell", true, [](ProgramBuilder& b, NodeId tid, NodeId, NodeId g) { b.store(g, b.i32(0), tid); }},
      {"two reads", false,
       [](ProgramBuilder& b, NodeId tid, NodeId, NodeId g) { b.set(b.reg("r", Type::I32), b.op(Op::Add, {b.load(g, b.i32(0)), tid})); }},
      {"own cells", false,
       [](ProgramBuilder& b, NodeId tid, NodeId, NodeId g) {
         b.store(g, tid, b.load(g, tid));
         b.store(g, tid, tid);
       }},
      {"many reads, then a write", true,
       [](ProgramBuilder& b, NodeId tid, NodeId, NodeId g) {
         b.set(b.reg("r", Type::I32), b.load(g, b.i32(3)));
         b.store(g, b.i32(3), tid, b.op(Op::Cmpeq, {tid, b.i32(63)}));
       }},
      {"two atomics", false,
       [](ProgramBuilder& b, NodeId tid, NodeId, NodeId g) { b.ins(Ins::AtomicAdd, Type::I32, {b.index(g, b.i32(0)), tid}); }},
      {"an atomic and a read", true,
       [](ProgramBuilder& b, NodeId tid, NodeId, NodeId g) {
         b.ins(Ins::AtomicAdd, Type::I32, {b.index(g, b.i32(0)), tid});
         b.set(b.reg("r", Type::I32), b.load(g, b.i32(0)));
       }},
      {"an atomic, a barrier, a read", false,
       [](ProgramBuilder& b, NodeId tid, NodeId, NodeId g) {
         b.ins(Ins::AtomicAdd, Type::I32, {b.index(g, b.i32(0)), tid});
         b.barrier();
         b.set(b.reg("r", Type::I32), b.load(g, b.i32(0)));
       }},
      {"exchange inside a warp after a warp barrier", false,
       [](ProgramBuilder& b, NodeId tid, NodeId s, NodeId g) {
         b.store(s, tid, tid);
         b.ins(Ins::WarpBarrier, Type::Void, {});
         b.store(g, tid, b.load(s, b.op(Op::Xor, {tid, b.i32(1)})));
         b.ins(Ins::WarpBarrier, Type::Void, {});
         b.store(s, b.op(Op::Xor, {tid, b.i32(1)}), tid);
       }},
      {"exchange between warps after a warp barrier", true,
       [](ProgramBuilder& b, NodeId tid, NodeId s, NodeId g) {
         b.store(s, tid, tid);
         b.ins(Ins::WarpBarrier, Type::Void, {});
         b.store(g, tid, b.load(s, b.op(Op::Xor, {tid, b.i32(32)})));
       }},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const auto r = check(block_of_64(row.body));
    CHECK(r.has_value() == !row.race);
    if (!r) CHECK(r.error().kind == ErrorKind::Race);
  }
}

TEST_CASE("blocks race without a superstep of their own to save them") {
  const auto cells = [](bool own, bool fence) {
    ProgramBuilder b("k", {32, 1, 1});
    const NodeId g = b.buffer_param("g", Type::I32, Access::InOut);
    if (fence) b.ins(Ins::FenceDevice, Type::Void, {});
    b.store(g, own ? b.global_id(0) : b.local_id(0), b.i32(1));
    return b.finish();
  };
  CHECK(check(cells(true, false), 2).has_value());
  const auto r = check(cells(false, false), 2);
  REQUIRE_FALSE(r.has_value());
  CHECK(r.error().kind == ErrorKind::Race);
  CHECK(contains(
      r.error().message,
      "block (1, 0, 0), thread (0, 0, 0): writes 'g' at index 0, which a thread of block number 0 writes with no barrier in between"));
  // Fences and atomics may order blocks in ways that are not followed: no verdict there.
  CHECK(check(cells(false, true), 2).has_value());
}

TEST_CASE("views of one buffer share its cells") {
  // A record of an i32 and two i16 seen through two element types, as lowered fields are.
  const auto program = [](int i16_index) {
    ProgramBuilder b("views", {2, 1, 1});
    const NodeId words = b.buffer_param("r", Type::I32, Access::InOut);
    b.program().params[0].element = {"Pair", 8, 4, {{"a", Type::I32, 0}, {"b", Type::I16, 4}, {"c", Type::I16, 6}}};
    const NodeId halves = b.view(b.slot_of(words), Type::I16);
    const NodeId first = b.begin_if(b.op(Op::Cmpeq, {b.local_id(0), b.i32(0)}));
    b.store(words, b.i32(0), b.i32(1));
    b.end_if(first);
    const NodeId second = b.begin_if(b.op(Op::Cmpeq, {b.local_id(0), b.i32(1)}));
    b.store(halves, b.i32(i16_index), b.int_constant(Type::I16, 1));
    b.end_if(second);
    return b.finish();
  };
  std::int64_t memory[2] = {};
  const auto go = [&](int index) {
    Call call;
    call.launch.arguments = {Argument::buffer(memory, 2, 16)};
    return call.run(program(index), kChecked);
  };
  CHECK(go(2).has_value());
  CHECK_FALSE(go(1).has_value());  // the high half of the i32
  // A person counts elements, not the cells of the view.
  const auto r = go(8);
  REQUIRE_FALSE(r.has_value());
  CHECK(contains(r.error().message, "index 2 is out of bounds of 'r' with length 2"));
}

TEST_CASE("parameters that are one buffer share its cells, also when their types differ") {
  ProgramBuilder b("k", {4, 1, 1});
  const NodeId words = b.buffer_param("words", Type::I32, Access::Out);
  const NodeId bytes = b.buffer_param("bytes", Type::U8, Access::In);
  const NodeId first = b.begin_if(b.op(Op::Cmpeq, {b.local_id(0), b.i32(0)}));
  b.store(words, b.i32(1), b.i32(7));
  b.end_if(first);
  const NodeId last = b.begin_if(b.op(Op::Cmpeq, {b.local_id(0), b.i32(3)}));
  b.set(b.reg("r", Type::U8), b.load(bytes, b.i32(6)));
  b.end_if(last);
  const Program p = b.finish();
  std::int32_t memory[4] = {}, other[4] = {};
  const auto go = [&](std::int32_t* second) {
    Call call;
    call.launch.arguments = {Argument::buffer(memory, 4, 16), Argument::buffer(second, 16, 16)};
    return call.run(p, kChecked);
  };
  CHECK(go(other).has_value());
  const auto r = go(memory);
  REQUIRE_FALSE(r.has_value());
  CHECK(contains(r.error().message, "reads 'bytes' at index 6, which thread (0, 0, 0) writes with no barrier in between"));
}
