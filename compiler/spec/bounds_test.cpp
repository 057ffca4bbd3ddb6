// Bounds against brute force: every value that a random small expression can take lies within its interval.
#include "compiler/spec/bounds.h"

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <set>

#include "compiler/ir/builder.h"
#include "compiler/spec/test_graph.h"
#include "compiler/support/numeric.h"

using namespace sarek;
using namespace sarek::spec;
using namespace sarek::spec::test;

namespace {

/// The value of an i8 expression for given values of its variables, by the contract's arithmetic.
int evaluate(const Graph& g, NodeId id, const std::vector<int>& variables) {
  if (const auto v = integer_literal(g, id)) return static_cast<int>(*v);
  const auto source = [&](std::size_t i) { return evaluate(g, g.source(id, i), variables); };
  const auto i8 = [](int v) { return static_cast<int>(static_cast<std::int8_t>(v)); };
  const auto as = [](int v) { return static_cast<std::int8_t>(v); };
  if (const auto* p = g.arg_as<ParamArg>(id)) return variables[static_cast<std::size_t>(p->slot)];
  if (const auto* n = g.arg_as<InsArg>(id)) {
    if (n->code == Ins::Min) return std::min(source(0), source(1));
    return i8(std::abs(source(0)));
  }
  const Op op = g.op(id);
  if (op == Op::Add) return i8(source(0) + source(1));
  if (op == Op::Sub) return i8(source(0) - source(1));
  if (op == Op::Mul) return i8(source(0) * source(1));
  if (op == Op::Neg) return i8(-source(0));
  if (op == Op::Cdiv) return numeric::divide(as(source(0)), as(source(1)));
  if (op == Op::Cmod) return numeric::remainder(as(source(0)), as(source(1)));
  if (op == Op::Floordiv) return numeric::floor_divide(as(source(0)), as(source(1)));
  if (op == Op::Floormod) return numeric::floor_remainder(as(source(0)), as(source(1)));
  if (op == Op::Max) return std::max(source(0), source(1));
  if (op == Op::And) return source(0) & source(1);
  if (op == Op::Or) return source(0) | source(1);
  if (op == Op::Xor) return source(0) ^ source(1);
  if (op == Op::Shl) return numeric::shift_left(as(source(0)), static_cast<std::uint64_t>(source(1)));
  if (op == Op::Shr) return numeric::shift_right(as(source(0)), static_cast<std::uint64_t>(source(1)));
  if (op == Op::Cmplt) return source(0) < source(1);
  if (op == Op::Cmpne) return source(0) != source(1);
  if (op == Op::Cmpeq) return source(0) == source(1);
  if (op == Op::Where) return source(0) ? source(1) : source(2);
  if (op == Op::Mulacc) return i8(source(0) * source(1) + source(2));
  if (op == Op::Cast) return g.type(id) == Type::U8 ? source(0) & 0xff : i8(source(0));
  FAIL("no evaluation");
  return 0;
}

}  // namespace

TEST_CASE("intervals hold every value of random expressions, wrapping included") {
  std::mt19937 random(2024);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int exact = 0, total = 0;
  for (int round = 0; round < 3000; ++round) {
    TestGraph t;
    std::vector<std::pair<int, int>> ranges;
    std::vector<NodeId> values, conditions{t.lit(Type::Bool, 1)};
    for (int v = 0; v < 2; ++v) {
      const int lo = pick(256) - 128, hi = std::min(127, lo + pick(v == 0 ? 256 : 24));
      ranges.emplace_back(lo, hi);
      values.push_back(t.ranged(Type::I8, lo, hi, v));
    }
    for (const int c : {0, 1, 2, 3, 7, -1, -128, 127, pick(256) - 128}) values.push_back(t.lit(Type::I8, c));
    const auto value = [&] { return values[random() % values.size()]; };
    NodeId last = values[0];
    for (int n = 0; n < 6; ++n) {
      const Op binary[] = {Op::Add, Op::Sub, Op::Mul, Op::Cdiv, Op::Cmod, Op::Floordiv, Op::Floormod,
                           Op::Max, Op::And, Op::Or,  Op::Xor,  Op::Shl,  Op::Shr};
      switch (pick(8)) {
        case 0: conditions.push_back(t.g.make(std::array{Op::Cmplt, Op::Cmpne, Op::Cmpeq}[random() % 3], {value(), value()})); continue;
        case 1: last = t.g.make(Op::Where, {conditions[random() % conditions.size()], value(), value()}); break;
        case 2: last = t.g.make(Op::Ins, {value(), value()}, InsArg{Ins::Min, Type::I8, {}}); break;
        case 3: last = pick(2) ? t.g.make(Op::Ins, {value()}, InsArg{Ins::Abs, Type::I8, {}}) : t.g.make(Op::Neg, {value()}); break;
        case 4: last = t.g.make(Op::Mulacc, {value(), value(), value()}); break;
        default: last = t.g.make(binary[random() % std::size(binary)], {value(), value()}); break;
      }
      values.push_back(last);
    }
    if (conditions.size() > 1 && pick(4) == 0) last = conditions.back();
    BoundsTable bounds(t.g);
    const Interval claimed = bounds.of(last);
    int lo = 1000, hi = -1000;
    for (int a = ranges[0].first; a <= ranges[0].second; ++a)
      for (int b = ranges[1].first; b <= ranges[1].second; ++b) {
        const int v = evaluate(t.g, last, {a, b});
        lo = std::min(lo, v);
        hi = std::max(hi, v);
      }
    INFO("claimed [" << to_text(claimed.lo) << ", " << to_text(claimed.hi) << "], seen [" << lo << ", " << hi << "]");
    REQUIRE(claimed.lo <= lo);
    REQUIRE(claimed.hi >= hi);
    exact += claimed == Interval{lo, hi};
    ++total;
  }
  // Not only sound: a third at least are tight, or the arithmetic lost something.
  CHECK(exact * 3 > total);
}

TEST_CASE("bounds as the specification lists them") {
  TestGraph t;
  BoundsTable b(t.g);
  const auto x = [&](std::int64_t lo, std::int64_t hi) { return t.ranged(Type::I32, lo, hi); };
  const auto c = [&](Int128 v) { return t.lit(Type::I32, v); };
  const auto of = [&](Op op, NodeId p, NodeId q) { return b.of(t.g.make(op, {p, q})); };
  CHECK(b.of(t.weak(Int128{1} << 90)) == Interval{Int128{1} << 90, Int128{1} << 90});
  CHECK(b.of(t.range(c(8))) == Interval{0, 7});
  CHECK(b.of(t.range(c(0))).empty());
  CHECK(b.of(t.var(Type::I32)) == type_interval(Type::I32));
  CHECK(of(Op::Mul, x(-3, 5), x(-2, 7)) == Interval{-21, 35});
  CHECK(of(Op::Cmod, x(0, 100), c(7)) == Interval{0, 6});
  CHECK(of(Op::Cmod, x(-100, -1), c(7)) == Interval{-6, 0});
  CHECK(of(Op::Cmod, x(-3, 2), c(7)) == Interval{-3, 2});
  CHECK(of(Op::Floormod, x(-100, 100), c(7)) == Interval{0, 6});
  CHECK(of(Op::Floormod, x(15, 19), c(7)) == Interval{1, 5});
  CHECK(of(Op::Floormod, x(-100, 100), c(-7)) == Interval{-6, 0});
  CHECK(of(Op::Cdiv, x(-7, 7), c(2)) == Interval{-3, 3});
  CHECK(of(Op::Floordiv, x(-7, 7), c(2)) == Interval{-4, 3});
  CHECK(of(Op::And, x(-100, 100), c(15)) == Interval{0, 15});
  CHECK(of(Op::And, x(0, 9), c(15)) == Interval{0, 9});
  CHECK(of(Op::Xor, x(2, 9), c(-1)) == Interval{-10, -3});
  CHECK(of(Op::Shl, x(1, 3), c(4)) == Interval{16, 48});
  CHECK(of(Op::Shr, x(-17, 33), c(4)) == Interval{-2, 2});
  CHECK(of(Op::Shl, x(1, 3), c(33)) == Interval{2, 6});  // the count is taken modulo the width
  CHECK(of(Op::Cmplt, x(0, 3), x(4, 9)) == Interval{1, 1});
  CHECK(of(Op::Cmplt, x(4, 9), x(0, 4)) == Interval{0, 0});
  CHECK(of(Op::Add, x(INT32_MAX, INT32_MAX), c(1)) == Interval{INT32_MIN, INT32_MIN});
  CHECK(of(Op::Add, x(0, INT32_MAX), c(1)) == type_interval(Type::I32));
  CHECK(of(Op::Add, t.ranged(Type::WeakInt, 0, INT64_MAX), t.weak(1)) == Interval{1, Int128{INT64_MAX} + 1});
  CHECK(b.of(t.g.make(Op::Cast, {x(0, 255)}, TypeArg{Type::U8})) == Interval{0, 255});
  CHECK(b.of(t.g.make(Op::Cast, {x(-1, 255)}, TypeArg{Type::U8})) == Interval{0, 255});
  CHECK(b.of(t.g.make(Op::Cast, {c(-1)}, TypeArg{Type::U8})) == Interval{255, 255});
  CHECK(b.of(t.g.make(Op::Load, {t.index(t.stack({c(3), c(9), c(5)}), x(0, 2))})) == Interval{3, 9});
  CHECK(b.of(t.g.make(Op::Load, {t.index(t.param(Type::I32, 4), x(0, 2))})) == type_interval(Type::I32));
  CHECK(b.of(t.g.make(Op::Where, {t.var(Type::Bool), x(0, 3), t.invalid()})) == Interval{0, 3});
  CHECK(b.of(t.g.make(Op::Where, {t.var(Type::Bool), x(0, 3), x(10, 12)})) == Interval{0, 12});
}

TEST_CASE("a deep graph has its bounds without recursion") {
  TestGraph t;
  NodeId x = t.ranged(Type::I64, 0, 1);
  const NodeId one = t.lit(Type::I64, 1);
  for (int i = 0; i < 300000; ++i) x = t.g.make(Op::Add, {x, one});
  BoundsTable b(t.g);
  CHECK(b.of(x) == Interval{300000, 300001});
}

TEST_CASE("a launch promises ids that do not wrap and lengths that are not negative") {
  ProgramBuilder b("p", {256, 1, 1});
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId i = b.global_id(0), n = b.length(b.slot_of(x)), group = b.group_id(0), blocks = b.num_groups(0);
  const Program p = b.finish();
  BoundsTable bounds(p.graph, &p);
  CHECK(bounds.of(group) == Interval{0, INT32_MAX / 256 - 1});
  CHECK(bounds.of(blocks) == Interval{1, INT32_MAX / 256});
  CHECK(bounds.of(i) == Interval{0, INT32_MAX / 256 * 256 - 1});
  CHECK(bounds.of(n) == Interval{0, INT32_MAX});
  BoundsTable alone(p.graph);
  CHECK(alone.of(i) == type_interval(Type::I32));
}

TEST_CASE("128-bit integers print in decimal") {
  CHECK(to_text(0) == "0");
  CHECK(to_text(-12345) == "-12345");
  CHECK(to_text(Int128{INT64_MAX} * 10) == "92233720368547758070");
  CHECK(to_text(~(~Int128{0} ^ (Int128{1} << 127))) == "-170141183460469231731687303715884105728");
}
