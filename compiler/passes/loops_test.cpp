// unroll, hoist_invariants and count_strides.
#include <catch2/catch_test_macros.hpp>

#include "compiler/passes/passes.h"
#include "compiler/passes/test_machine.h"

using namespace sarek;
using namespace sarek::passes;
using namespace sarek::passes::test;

namespace {

/// out[0] collects 10 * out[0] + i over the turns: the order of the turns shows.
Program counting(std::optional<int> count, bool marked, int factor) {
  ProgramBuilder b("k");
  const NodeId n = b.scalar_param("n", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::InOut);
  const NodeId bound = count ? b.i32(*count) : n;
  const NodeId range = marked ? b.op(Op::Range, {bound}, ir::RangeArg{{77, factor}, ir::AxisType::Unroll}) : b.begin_range(bound);
  b.store(out, b.i32(0), b.op(Op::Add, {b.op(Op::Mul, {b.load(out, b.i32(0)), b.i32(10)}), range}));
  const NodeId odd = b.begin_if(b.op(Op::Cmpeq, {b.op(Op::And, {range, b.i32(1)}), b.i32(1)}));
  b.store(out, b.i32(1), range);
  b.end_if(odd);
  b.end_range(range);
  return b.finish();
}

Outcome run_with(const Program& p, std::uint64_t n) {
  Input in;
  in.scalars[0] = n & 0xffffffff;
  in.buffers[1] = {0, 0};
  return run(p, in);
}

}  // namespace

TEST_CASE("marked loops unroll by their factor, whatever the count") {
  for (const int factor : {0, 1, 2, 3, 4, 7})
    for (const std::optional<int> literal : {std::optional<int>(), std::optional<int>(-1), std::optional<int>(0), std::optional<int>(1),
                                             std::optional<int>(5), std::optional<int>(8)}) {
      const Program source = counting(literal, true, factor);
      std::vector<UnrollEvent> events;
      UnrollOptions options;
      options.report = [&](const UnrollEvent& e) { events.push_back(e); };
      const Program p = unroll(source, options);
      INFO("factor " << factor << " count " << literal.value_or(-99));
      CHECK(faults(p) == "");
      for (const NodeId id : p.body)
        if (p.graph.op(id) == Op::Range) CHECK(p.graph.arg_as<ir::RangeArg>(id)->axis_type == ir::AxisType::Loop);
      REQUIRE(events.size() == 1);
      CHECK(events[0].applied == (factor > 0 || literal));
      for (const int n : {-2, 0, 1, 2, 3, 6, 9})
        CHECK(same_outcome(source, run_with(source, static_cast<std::uint64_t>(n)), run_with(p, static_cast<std::uint64_t>(n))));
    }
}

TEST_CASE("small loops unroll by themselves only when asked and allowed") {
  const Program source = counting(6, false, 0);
  CHECK(count(unroll(source), Op::Range) == 1);
  UnrollOptions options;
  int asked = 0;
  bool answer = false;
  options.allow_automatic = [&](SourceRange) { return ++asked, answer; };
  CHECK(count(unroll(source, options), Op::Range) == 1);
  answer = true;
  const Program p = unroll(source, options);
  CHECK(count(p, Op::Range) == 0);
  CHECK(asked == 2);
  CHECK(same_outcome(source, run_with(source, 0), run_with(p, 0)));
  // Too many turns, and a count that is not known: never asked.
  unroll(counting(1000, false, 0), options);
  unroll(counting(std::nullopt, false, 0), options);
  CHECK(asked == 2);
}

TEST_CASE("a request beyond the limit is refused with its reason") {
  UnrollOptions options;
  std::string why;
  options.report = [&](const UnrollEvent& e) { why = e.what; };
  const Program p = unroll(counting(1000000, true, 0), options);
  CHECK(count(p, Op::Range) == 1);
  CHECK(why.find("exceed") != std::string::npos);
}

TEST_CASE("nested marked loops unroll inside out, each copy with numbers of its own") {
  ProgramBuilder b("k");
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::InOut);
  const NodeId outer = b.op(Op::Range, {b.i32(3)}, ir::RangeArg{{5, 0}, ir::AxisType::Unroll});
  const NodeId inner = b.op(Op::Range, {outer}, ir::RangeArg{{6, 2}, ir::AxisType::Unroll});
  b.store(out, b.i32(0), b.op(Op::Add, {b.op(Op::Mul, {b.load(out, b.i32(0)), b.i32(10)}), b.op(Op::Add, {outer, inner})}));
  b.end_range(inner);
  b.end_range(outer);
  const Program source = b.finish();
  const Program p = fold(unroll(source));
  CHECK(faults(p) == "");
  CHECK(count(p, Op::Range) == 0);
  Input in;
  in.buffers[0] = {0};
  CHECK(run(p, in).buffers.at(0)[0] == 123);
  CHECK(run(source, in).buffers.at(0)[0] == 123);
}

TEST_CASE("invariant operations and safe loads leave loops, others stay") {
  ProgramBuilder b("k", {32, 1, 1});
  const NodeId x = b.scalar_param("x", Type::F32);
  const NodeId n = b.scalar_param("n", Type::I32);
  const NodeId a = b.buffer_param("a", Type::F32, ir::Access::In);
  const NodeId out = b.buffer_param("out", Type::F32, ir::Access::Out);
  const NodeId tile = b.shared("tile", Type::F32, 4);
  const NodeId outer = b.begin_range(n);
  const NodeId inner = b.begin_range(b.i32(4));
  const NodeId root = b.op(Op::Sqrt, {x});                             // leaves both loops
  const NodeId scaled = b.op(Op::Mul, {b.cast(outer, Type::F32), x});  // leaves the inner one
  const NodeId safe = b.load(tile, b.i32(2));                          // a literal place in shared memory: leaves both
  const NodeId unsafe = b.load(a, b.op(Op::Mul, {outer, b.i32(3)}));   // leaves the inner loop, which runs
  const NodeId divided = b.op(Op::Fdiv, {x, root});
  const NodeId c = b.begin_if(b.op(Op::Cmplt, {inner, b.i32(2)}));
  const NodeId dear = b.op(Op::Fdiv, {root, x});  // only in a branch: stays
  const NodeId cheap = b.op(Op::Add, {root, x});  // goes
  b.ins(ir::Ins::AtomicAdd, Type::F32, {b.index(tile, b.i32(0)), b.op(Op::Add, {dear, cheap})});
  b.end_if(c);
  b.ins(ir::Ins::AtomicAdd, Type::F32,
        {b.index(tile, inner), b.op(Op::Add, {b.op(Op::Add, {scaled, safe}), b.op(Op::Add, {unsafe, divided})})});
  b.end_range(inner);
  b.end_range(outer);
  b.store(out, b.i32(0), x);
  const Program p = hoist_invariants(b.finish());
  CHECK(faults(p) == "");
  const auto structure = ir::structure_of(p).value();
  const auto depth = [&](const std::function<bool(NodeId)>& which) {
    for (std::size_t at = 0; at < p.body.size(); ++at) {
      if (!which(p.body[at])) continue;
      int d = 0;
      for (int o = structure.parent[at]; o >= 0; o = structure.parent[static_cast<std::size_t>(o)]) ++d;
      return d;
    }
    return -1;
  };
  CHECK(depth([&](NodeId id) { return p.graph.op(id) == Op::Sqrt; }) == 0);
  CHECK(depth([&](NodeId id) { return p.graph.op(id) == Op::Cast && p.graph.op(p.graph.source(id, 0)) == Op::Range; }) == 1);
  CHECK(depth([&](NodeId id) { return p.graph.op(id) == Op::Fdiv && p.graph.op(p.graph.source(id, 0)) == Op::Param; }) == 0);
  CHECK(depth([&](NodeId id) { return p.graph.op(id) == Op::Fdiv && p.graph.op(p.graph.source(id, 0)) == Op::Sqrt; }) == 3);
  CHECK(depth([&](NodeId id) { return p.graph.op(id) == Op::Add && p.graph.op(p.graph.source(id, 0)) == Op::Sqrt; }) == 0);
  // The tile is changed in the loops, so its load stays; the load of `a` may not run where the outer loop does not.
  CHECK(depth([&](NodeId id) {
          return p.graph.op(id) == Op::Load && p.graph.op(p.graph.source(p.graph.source(id, 0), 0)) == Op::Buffer;
        }) == 2);
  CHECK(depth([&](NodeId id) { return p.graph.op(id) == Op::Load && p.graph.op(p.graph.source(p.graph.source(id, 0), 0)) == Op::Param; }) ==
        1);
}

TEST_CASE("a place stays in its loop, and goes only with what needs it") {
  ProgramBuilder b("k");
  const NodeId x = b.scalar_param("x", Type::I32);
  const NodeId n = b.scalar_param("n", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::InOut);
  const NodeId range = b.begin_range(n);
  const NodeId next = b.op(Op::Add, {x, b.i32(1)});   // cheap: would stay
  const NodeId product = b.op(Op::Mul, {next, n});    // moves, and takes `next` along
  const NodeId other = b.op(Op::Add, {x, b.i32(3)});  // stays
  b.store(out, other, b.op(Op::Add, {product, range}));
  b.store(out, next, range);
  b.end_range(range);
  const Program source = b.finish();
  const Program p = remove_dead(hoist_invariants(source));
  CHECK(faults(p) == "");
  const auto structure = ir::structure_of(p).value();
  int outside = 0, inside = 0;
  for (std::size_t at = 0; at < p.body.size(); ++at)
    if (p.graph.op(p.body[at]) == Op::Add || p.graph.op(p.body[at]) == Op::Mul) ++(structure.parent[at] < 0 ? outside : inside);
  CHECK(outside == 2);
  CHECK(inside == 2);
  CHECK(count(p, Op::Add) == 3);
  Input in;
  in.scalars = {{0, 1}, {1, 3}};
  in.buffers[2] = {0, 0, 0, 0, 0, 0};
  CHECK(same_outcome(source, run(source, in), run(p, in)));
}

TEST_CASE("a factor that the loop's type cannot hold is refused") {
  ProgramBuilder b("k");
  const NodeId n = b.scalar_param("n", Type::I8);
  const NodeId out = b.buffer_param("out", Type::I8, ir::Access::InOut);
  const NodeId range = b.op(Op::Range, {n}, ir::RangeArg{{0, 200}, ir::AxisType::Unroll});
  b.store(out, b.i32(0), range);
  b.end_range(range);
  UnrollOptions options;
  std::string why;
  options.report = [&](const UnrollEvent& e) { why = e.what; };
  const Program p = unroll(b.finish(), options);
  CHECK(faults(p) == "");
  CHECK(count(p, Op::Store) == 1);
  CHECK(why == "the loop's i8 cannot count to 200");
}

namespace {

/// What a grid-stride loop can be like. Its threads write out[i] += i, so that turns left out or run twice show.
struct Stride {
  bool carried = false;     // a sum over the turns, stored behind the loop
  bool nested = false;      // a loop and a branch in the body
  bool used_after = false;  // the index is read behind the loop
  bool own_limit = false;   // the limit differs between threads
  bool meets = false;       // a barrier of the warp in the body
};

Program strided(const Stride& s) {
  ProgramBuilder b("k", {4, 1, 1});
  const NodeId n = b.scalar_param("n", Type::I32);
  const NodeId stride = b.scalar_param("stride", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::InOut);
  const NodeId sums = b.buffer_param("sums", Type::I32, ir::Access::InOut);
  const NodeId i = b.reg("i", Type::I32);
  const NodeId sum = b.reg("sum", Type::I32);
  const NodeId limit = s.own_limit ? b.op(Op::Sub, {n, b.local_id(0)}) : n;
  b.set(i, b.global_id(0));
  const NodeId loop = b.begin_loop();
  const NodeId at = b.get(i);
  const NodeId again = b.op(Op::Cmplt, {at, limit});
  const NodeId body = b.begin_if(again);
  // Negative indices come round in wrapping loops: only the last cells are watched.
  const NodeId cell = b.op(Op::And, {at, b.i32(63)});
  b.store(out, cell, b.op(Op::Add, {b.load(out, cell), b.op(Op::Add, {at, b.i32(1)})}));
  if (s.carried) b.set(sum, b.op(Op::Add, {b.op(Op::Mul, {b.get(sum), b.i32(3)}), at}));
  if (s.nested) {
    const NodeId inner = b.begin_range(b.op(Op::And, {at, b.i32(3)}));
    const NodeId odd = b.begin_if(b.op(Op::Cmpeq, {inner, b.i32(1)}));
    b.store(out, cell, b.op(Op::Mul, {b.load(out, cell), b.i32(5)}));
    b.end_if(odd);
    b.end_range(inner);
  }
  if (s.meets) b.ins(ir::Ins::WarpBarrier, Type::Void, {});
  b.set(i, b.op(Op::Add, {at, stride}));
  b.end_if(body);
  b.end_loop(loop, again);
  if (s.carried) b.store(sums, b.local_id(0), b.get(sum));
  if (s.used_after) b.store(sums, b.local_id(0), b.get(i));
  return b.finish();
}

}  // namespace

TEST_CASE("grid-stride loops become counted ones, and do the same turns") {
  for (const Stride& s : {Stride{}, Stride{.carried = true}, Stride{.nested = true}, Stride{.carried = true, .nested = true}}) {
    const Program source = strided(s);
    const Program p = count_strides(source);
    CHECK(faults(p) == "");
    CHECK(count(p, Op::Range) > count(source, Op::Range));
    CHECK(count(p, Op::Cdiv) == 1);
    // The largest of both: sums that wrap, and leave the loop after some turns nevertheless.
    for (const std::int32_t n : {-5, 0, 1, 3, 4, 5, 37, 64, INT32_MAX - 1})
      for (const std::int32_t stride : {-3, 0, 1, 4, 5, INT32_MAX}) {
        if (n > 0 && (stride <= 0 || (n > 1000) != (stride > 1000))) continue;  // turns without end, or nearly
        Input in;
        in.threads = 4;
        in.scalars[0] = static_cast<std::uint32_t>(n);
        in.scalars[1] = static_cast<std::uint32_t>(stride);
        in.buffers[2].assign(64, 7);
        in.buffers[3].assign(4, 0);
        INFO("n " << n << ", stride " << stride);
        CHECK(same_outcome(source, run(source, in), run(p, in)));
      }
  }
}

TEST_CASE("loops that are no grid-stride loops of the block's stay as they are") {
  for (const Stride& s : {Stride{.used_after = true}, Stride{.own_limit = true}, Stride{.meets = true}}) {
    const Program source = strided(s);
    const Program p = count_strides(source);
    CHECK(p.body.size() == source.body.size());
    CHECK(count(p, Op::Cdiv) == 0);
  }
}
