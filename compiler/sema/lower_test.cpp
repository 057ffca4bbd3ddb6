// From text to results: kernels are typed, lowered, verified and run by the reference interpreter.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <climits>

#include "compiler/sema/test_support.h"

using namespace sarek;
using namespace sarek::sema::testing;

namespace {

using Ints = std::vector<std::int32_t>;

/// Runs `body` in one thread with a buffer `y` of `size` zeros, and the scalars a, b, c.
Ints ints(const std::string& body, std::size_t size, std::vector<std::int32_t> scalars = {0, 0, 0}, const std::string& items = "") {
  scalars.resize(3);
  std::vector<Ints> buffers{Ints(size)};
  const std::string error =
      run<std::int32_t>(items + "kernel k(a: i32, b: i32, c: i32, y: inout [i32]) block(1) {\n" + body + "\n}\n", buffers, scalars);
  INFO(body);
  CHECK(error == "");
  return buffers[0];
}

/// The same for one value.
std::int32_t value(const std::string& expression, std::vector<std::int32_t> scalars = {0, 0, 0}, const std::string& items = "") {
  return ints("y[0] = " + expression + ";", 1, std::move(scalars), items)[0];
}

std::uint32_t float_bits(const std::string& expression, const std::string& items = "") {
  return static_cast<std::uint32_t>(value("bitcast<i32>(" + expression + ")", {0, 0, 0}, items));
}

}  // namespace

TEST_CASE("saxpy from text to results") {
  std::vector<std::vector<float>> b{{1, 2, 3, 4, 5}, {10, 20, 30, 40, 50}};
  const float a = 2.0f;
  std::int32_t bits = 0;
  std::memcpy(&bits, &a, 4);
  CHECK(run<float>("kernel saxpy(a: f32, x: in [f32], y: inout [f32]) block(256) {\n"
                   "  let i = global_id.x;\n  if i < y.len { y[i] = a * x[i] + y[i]; }\n}\n",
                   b, {bits}) == "");
  CHECK(b[1] == std::vector<float>{12, 24, 36, 48, 60});
}

TEST_CASE("supersteps: what one writes the next reads") {
  std::vector<Ints> b{Ints(64), Ints(64)};
  for (int i = 0; i < 64; ++i) b[0][static_cast<std::size_t>(i)] = i * 3;
  CHECK(run<std::int32_t>("kernel k(x: in [i32], y: out [i32]) block(64) {\n"
                          "  shared tile: [i32; 64];\n"
                          "  superstep fill { tile[local_id.x] = x[global_id.x]; }\n"
                          "  superstep more { tile[local_id.x] += 1; }\n"
                          "  y[global_id.x] = tile[63 - local_id.x];\n}\n",
                          b) == "");
  for (int i = 0; i < 64; ++i) CHECK(b[1][static_cast<std::size_t>(i)] == (63 - i) * 3 + 1);
}

TEST_CASE("tail calls become loops with all parameters set at once") {
  const std::string items =
      "fn fact(n: i32, acc: i32) -> i32 { if n <= 1 { acc } else { fact(n - 1, acc * n) } }\n"
      "fn gcd(a: i32, b: i32) -> i32 { if b == 0 { a } else { gcd(b, a % b) } }\n"
      "fn power(x: i32, n: i32, acc: i32) -> i32 { if n == 0 { return acc; } power(x, n - 1, acc * x) }\n"
      "fn collatz(n: i32, steps: i32) -> i32 {\n  if n == 1 { return steps; }\n  if n % 2 == 0 { return collatz(n / 2, steps + 1); }\n"
      "  collatz(3 * n + 1, steps + 1)\n}\n"
      "fn pick(n: i32, acc: i32) -> i32 { match n { 0 => acc, 1 => pick(0, acc + 100), _ => pick(n - 2, acc + 1) } }\n";
  CHECK(value("fact(a, 1)", {10}, items) == 3628800);
  CHECK(value("gcd(a, b)", {48, 18}, items) == 6);
  CHECK(value("power(a, b, 1)", {2, 10}, items) == 1024);
  CHECK(value("collatz(a, 0)", {27}, items) == 111);
  CHECK(value("pick(a, 0)", {7}, items) == 103);
  CHECK(value("gcd(a, b) + gcd(b, c)", {48, 18, 12}, items) == 12);
}

TEST_CASE("bounded recursion is put in place") {
  const std::string items =
      "inline(6) fn pow2(n: i32) -> i32 { if n == 0 { 1 } else { 2 * pow2(n - 1) } }\n"
      "inline(6) fn fib(n: i32) -> i32 { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }\n";
  CHECK(value("pow2(a)", {5}, items) == 32);
  CHECK(value("fib(a)", {6}, items) == 8);
  std::vector<Ints> b{Ints(1)};
  const std::string error = run<std::int32_t>(items + "kernel k(a: i32, y: inout [i32]) block(1) { y[0] = pow2(a); }\n", b, {9});
  CHECK(error.find("inline depth exceeded") != std::string::npos);
}

TEST_CASE("one generic function at two types in one kernel") {
  const std::string items =
      "fn same<T>(x: T) -> T { x }\nfn twice<T: number>(x: T) -> T { x + x }\nstruct Pair<T> { first: T, second: T }\n"
      "fn swap<T>(p: Pair<T>) -> Pair<T> { Pair { first: p.second, second: p.first } }\n";
  CHECK(value("same(a) + same(2.5f32) as i32", {40}, items) == 42);
  CHECK(value("twice(a) + twice(1.5f32) as i32", {4}, items) == 11);
  CHECK(value("{ let p = swap(Pair { first: a, second: 9 }); let q = swap<f32>(Pair { first: 1.0, second: 2.5 }); p.first * 10 + q.first "
              "as i32 }",
              {4}, items) == 92);
}

TEST_CASE("loops turn as often as they say") {
  const std::string count = "var n = 0; ";
  const auto turns = [&](const std::string& range, std::vector<std::int32_t> scalars = {0, 0, 0}) {
    return ints("var n = 0; var last = -99; for i in " + range + " { n += 1; last = i as i32; } y[0] = n; y[1] = last;", 2,
                std::move(scalars));
  };
  CHECK(turns("0..=3") == Ints{4, 3});
  CHECK(turns("3..=0 step -1") == Ints{4, 0});
  CHECK(turns("1..=0") == Ints{0, -99});
  CHECK(turns("0..4") == Ints{4, 3});
  CHECK(turns("0..0") == Ints{0, -99});
  CHECK(turns("7..0 step -1") == Ints{7, 1});
  CHECK(turns("0..10 step 3") == Ints{4, 9});
  CHECK(turns("0..9 step 3") == Ints{3, 6});
  CHECK(turns("10..0 step -3") == Ints{4, 1});
  CHECK(turns("9..=0 step -3") == Ints{4, 0});
  // The same with ends that only the running program knows.
  CHECK(turns("a..b", {-3, 4}) == Ints{7, 3});
  CHECK(turns("a..b", {4, -3}) == Ints{0, -99});
  CHECK(turns("a..=b", {4, 4}) == Ints{1, 4});
  CHECK(turns("a..=b", {5, 4}) == Ints{0, -99});
  CHECK(turns("a..b step 4", {-5, 6}) == Ints{3, 3});
  CHECK(turns("a..b step -4", {6, -6}) == Ints{3, -2});
  CHECK(turns("a..=b step -4", {6, -6}) == Ints{4, -6});
  CHECK(turns("a..b step c", {0, 10, 4}) == Ints{3, 8});
  CHECK(turns("a..b step c", {10, 0, -4}) == Ints{3, 2});
  CHECK(turns("a..b step c", {10, 0, 4}) == Ints{0, -99});
  CHECK(turns("a..b step c", {0, 10, 0}) == Ints{0, -99});
  // The ends of the type: no turn too many, and an end.
  CHECK(turns("a..=b", {INT32_MAX - 2, INT32_MAX}) == Ints{3, INT32_MAX});
  CHECK(turns("a..=b step -1", {INT32_MIN + 1, INT32_MIN}) == Ints{2, INT32_MIN});
  CHECK(turns("a..b step 1000000000", {INT32_MIN, INT32_MAX}) == Ints{5, 1852516352});
  CHECK(turns("a..b", {INT32_MAX, INT32_MIN}) == Ints{0, -99});
  CHECK(turns("250u8..255u8") == Ints{5, 254});
  CHECK(turns("250u8..=255u8") == Ints{6, 255});
  CHECK(turns("3u32..0u32 step -1") == Ints{3, 1});
  CHECK(turns("[5, 7, 2]") == Ints{3, 2});
}

TEST_CASE("break, continue and return leave what they should") {
  CHECK(ints("var n = 0; for i in 0..10 { if i == 3 { continue; } if i == 6 { break; } n += i; } y[0] = n;", 1) == Ints{12});
  CHECK(ints("var n = 0; for i in 0..10 { if i % 2 == 0 { if i == 4 { continue; } n += 1; } n += 10; } y[0] = n;", 1) == Ints{94});
  CHECK(ints("var n = 0; loop { n += 1; if n > a { break; } } y[0] = n;", 1, {5}) == Ints{6});
  CHECK(ints("var n = 0; while true { n += 1; if n < 4 { continue; } if n == 7 { break; } y[0] += 1; } y[1] = n;", 2) == Ints{3, 7});
  CHECK(ints("for s in [4, 3, 2, 1] { if s == a { continue; } if s == b { break; } y[0] += s; } y[1] = 1;", 2, {3, 1}) == Ints{6, 1});
  CHECK(ints("for i in 0..4 { for j in 0..4 { if j > i { break; } y[0] += 1; } }", 1) == Ints{10});
  CHECK(ints("for i in 0..4 { for j in 0..4 { if i * 4 + j == a { return; } y[0] += 1; } y[1] += 1; } y[2] = 9;", 3, {6}) == Ints{6, 1, 0});
  CHECK(ints("if a > 0 { if b > 0 { return; } y[0] = 1; } y[1] = 2;", 2, {1, 1}) == Ints{0, 0});
  CHECK(ints("if a > 0 { if b > 0 { return; } y[0] = 1; } y[1] = 2;", 2, {1, 0}) == Ints{1, 2});
  CHECK(ints("if a > 0 { if b > 0 { return; } y[0] = 1; } y[1] = 2;", 2, {0, 1}) == Ints{0, 2});
  CHECK(ints("y[0] = if a > 0 { return; } else { 5 }; y[1] = 6;", 2, {0}) == Ints{5, 6});
  CHECK(ints("y[0] = if a > 0 { return; } else { 5 }; y[1] = 6;", 2, {1}) == Ints{0, 0});
  CHECK(ints("for i in 0..5 { match i { 1 => { continue; }, 3 => { break; }, _ => { } } y[0] += i; }", 1) == Ints{2});
  const std::string items =
      "fn find(wanted: i32, n: i32) -> i32 {\n  for i in 0..n { if i * i == wanted { return i; } }\n  -1\n}\n"
      "fn nested(n: i32) -> i32 { for i in 0..n { var k = 0; loop { k += 1; if k * i > 10 { return i * 100 + k; } if k > 5 { break; } } } "
      "return 7; }\n"
      "fn sign(x: i32) -> i32 { if x < 0 { return -1; } else if x > 0 { return 1; } 0 }\n";
  CHECK(value("find(a, b)", {49, 10}, items) == 7);
  CHECK(value("find(a, b)", {50, 10}, items) == -1);
  CHECK(value("nested(a)", {5}, items) == 206);
  CHECK(value("nested(a)", {2}, items) == 7);
  CHECK(value("sign(a) * 100 + sign(b) * 10 + sign(c)", {-5, 5, 0}, items) == -90);
}

TEST_CASE("variants: constructors, exhaustive matches, guards, nested patterns") {
  const std::string shapes =
      "enum Shape { circle(f32), square(f32), none }\n"
      "fn area(s: Shape) -> f32 { match s { circle(r) => 3.14 * r * r, square(a) => a * a, none => 0.0 } }\n";
  CHECK(float_bits("area(circle(2.0))", shapes) == 0x4148f5c3u);  // 3.14f * 2 * 2
  CHECK(float_bits("area(Shape.square(3.0))", shapes) == 0x41100000u);
  CHECK(float_bits("area(none)", shapes) == 0u);
  const std::string more =
      "enum Option<T> { some(T), nothing }\n"
      "enum Tree { leaf(i32), pair(Option<i32>, bool), mix(f32, i32, f32) }\n"
      "fn f(t: Tree) -> i32 {\n"
      "  match t {\n"
      "    leaf(0) => 1,\n    leaf(n) if n > 100 => 2,\n    leaf(n) => n,\n"
      "    pair(some(x), true) => x * 10,\n    pair(some(x), false) => -x,\n    pair(nothing, _) => 7,\n"
      "    mix(a, n, b) => a as i32 * 100 + n * 10 + b as i32,\n  }\n}\n"
      "fn classify(n: i32) -> i32 { match n { 0 => 10, 1 | 2 => 20, k if k > 100 => 30, -5 => 50, _ => 40 } }\n"
      "fn both(p: (i32, bool)) -> i32 { match p { (0, true) => 1, (0, false) => 2, (n, _) => n } }\n"
      "fn either(t: Tree) -> i32 { match t { leaf(n) | mix(_, n, _) => n, pair(_, _) => -1 } }\n";
  CHECK(value("f(leaf(a))", {0}, more) == 1);
  CHECK(value("f(leaf(a))", {500}, more) == 2);
  CHECK(value("f(leaf(a))", {50}, more) == 50);
  CHECK(value("f(pair(some(a), true)) + f(pair(some(4), false))", {3}, more) == 26);
  CHECK(value("f(pair(nothing, a > 0))", {3}, more) == 7);
  CHECK(value("f(mix(3.0, a, 5.0))", {4}, more) == 345);
  CHECK(value("either(mix(3.0, a, 5.0)) + either(leaf(b)) + either(pair(nothing, true))", {4, 5}, more) == 8);
  for (const auto& [in, out] : {std::pair{0, 10}, {1, 20}, {2, 20}, {101, 30}, {-5, 50}, {9, 40}})
    CHECK(value("classify(a)", {in}, more) == out);
  CHECK(value("both((a, b > 0)) * 100 + both((0, true)) * 10 + both((0, false))", {9, 0}, more) == 912);
}

TEST_CASE("records: fields by name, updates, arrays, variables") {
  const std::string items =
      "struct P { x: i32, y: i32 }\nstruct Q { p: P, a: [i32; 3], f: f32 }\n"
      "fn make(a: i32) -> Q { Q { f: 1.5, a: [a, a + 1, a + 2], p: P { y: a * 2, x: a } } }\n";
  CHECK(value("{ let p = P { y: 1, x: 20 }; p.x - p.y }", {0}, items) == 19);
  CHECK(value("{ let q = make(a); q.p.x * 1000 + q.p.y * 100 + q.a[0] + q.a[b] * 10 + q.f as i32 }", {2, 2}, items) == 2443);
  CHECK(value("{ var q = make(a); q.p.x = 7; q.a[b] += 40; let r = Q { p: P { x: 1, ..q.p }, ..q }; r.p.x * 1000 + r.p.y * 100 + r.a[1] }",
              {2, 1}, items) == 1443);
  CHECK(value("{ var t = (a, (b, 3)); let (x, (y, z)) = t; t.1.0 = 50; x * 100 + y * 10 + z + t.1.0 }", {1, 2}, items) == 173);
  CHECK(value("{ let t = [10, 20, 30, 40]; t[a] + t[3] }", {1}) == 60);
  CHECK(value("{ var t = [0; 100]; for i in 0..100 { t[i] = i * i; } let u = t; t[7] = 0; u[a] + u[7] + t[7] }", {99}) == 9850);
  CHECK(value("{ var m: [i32; 2, 3]; m[1, 2] = 5; m[a, b] += 4; m[1, 2] * 10 + m[0, 1] }", {1, 2}) == 90);
  CHECK(value("if P { x: a, y: 2 } == P { x: 1, y: b } { 1 } else { 0 }", {1, 2}, items) == 1);
  CHECK(value("if (a, 2) != (1, b) { 1 } else { 0 }", {1, 3}, items) == 1);
  CHECK(value("TABLE[a] + TABLE[2]", {1}, "const TABLE: [i32; 4] = [1, 10, 100, 1000];\n") == 110);
  CHECK(value("{ var s = 0; for i in 0..100 { s += BIG[i]; } s }", {1}, "const BIG: [i32; 100] = [3; 100];\n") == 300);
}

TEST_CASE("the right side of && and || runs only where it counts") {
  std::vector<Ints> b{{1, 2, 3}, Ints(2)};
  CHECK(run<std::int32_t>("kernel k(i: i32, x: in [i32], y: out [i32]) block(1) {\n"
                          "  y[0] = if i < x.len && x[i] > 0 { 1 } else { 2 };\n"
                          "  y[1] = if i >= x.len || x[i] > 0 { 3 } else { 4 };\n}\n",
                          b, {3}) == "");
  CHECK(b[1] == Ints{2, 3});
}

TEST_CASE("numbers as the contract has them") {
  CHECK(value("a / b", {-7, 2}) == -3);
  CHECK(value("a % b", {-7, 2}) == -1);
  CHECK(value("a / b", {INT32_MIN, -1}) == INT32_MIN);
  CHECK(value("a % b", {INT32_MIN, -1}) == 0);
  CHECK(value("a + 1", {INT32_MAX}) == INT32_MIN);
  CHECK(value("1 << a", {33}) == 2);
  CHECK(value("(a as u32 >> 1) as i32", {-1}) == 0x7fffffff);
  CHECK(value("a >> 1", {-1}) == -1);
  CHECK(value("a >> b as u8", {-64, 3}) == -8);
  CHECK(value("(-2.9f32) as i32") == -2);
  CHECK(value("nan_f32 as i32") == 0);
  CHECK(value("3e9f32 as i32") == INT32_MAX);
  CHECK(value("(if nan_f32 == nan_f32 { 1 } else { 0 }) + (if nan_f32 != nan_f32 { 10 } else { 0 }) + (if nan_f32 <= 1.0 || nan_f32 >= 1.0 "
              "{ 100 } else { 0 })") == 10);
  CHECK(value("~a + 0", {5}) == -6);
  CHECK(value("ceil_div(a, b)", {7, 2}) == 4);
  CHECK(value("ceil_div(a, b)", {-7, 2}) == -3);
  CHECK(value("ceil_div(a, b)", {INT32_MAX, 256}) == 8388608);
  CHECK(value("(clz(a) * 100 + popcount(a) * 10 + ctz(a))", {40}) == 2623);
  CHECK(value("mul_hi(a, b)", {1 << 30, 16}) == 4);
  CHECK(value("min(a, b) * 10 + max(a, b) + abs(-3)", {4, 9}) == 52);
  CHECK(value("(a as i8) as i32 + (b as u8) as i32", {200, -56}) == -56 + 200);
}

TEST_CASE("a literal is rounded once, to the type that its context gives it") {
  CHECK(float_bits("0.1") == 0x3dcccccdu);
  CHECK(float_bits("3.4028235e38") == 0x7f7fffffu);
  CHECK(float_bits("1e-45") == 0x00000001u);
  CHECK(float_bits("-0.0") == 0x80000000u);
  CHECK(float_bits("inf") == 0x7f800000u);
  CHECK(float_bits("-inf") == 0xff800000u);
  CHECK(float_bits("nan") == 0x7fc00000u);
  CHECK(float_bits("16777217.0") == 0x4b800000u);
  CHECK(float_bits("0x1.000001p0") == 0x3f800000u);
  CHECK(float_bits("2 * 0.25f32") == 0x3f000000u);
  // By way of binary64 this would round up twice.
  CHECK(value("bitcast<i16>(1.00048828125000000000001f16) as i32") == 0x3c01);
  CHECK(value("bitcast<i16>(1.00048828125f16) as i32") == 0x3c00);
  CHECK(value("bitcast<i16>(65520.0f16) as i32") == 0x7c00);
  CHECK(value("(bitcast<u16>(1.00390625000000000001bf16)) as i32") == 0x3f81);
  CHECK(value("(bitcast<i64>(0.1f64) >> 32) as i32") == 0x3fb99999);
  CHECK(value("-2147483648") == INT32_MIN);
  CHECK(value("(0xffff_ffff_u32 >> 28) as i32") == 15);
  CHECK(value("(18446744073709551615u64 >> 60) as i32") == 15);
  CHECK(value("HALF as i32", {}, "const HALF = 7 / 2;\n") == 3);
  CHECK(float_bits("x(2)", "fn x<T: number>(v: T) -> f32 { (v + 1) as f32 * 0.5 }\n") == 0x3fc00000u);
}

TEST_CASE("the traps of other compilers") {
  // T1: no contraction. T5 and T6: no reassociation. T8: both casts happen. T10: every operation rounds.
  const auto bits = [](std::uint32_t b) { return static_cast<std::int32_t>(b); };
  CHECK(value("{ let x = bitcast<f32>(a); bitcast<i32>(x * x + bitcast<f32>(b)) }", {bits(0x3f800800), bits(0xbf801000)}) == 0);
  CHECK(value("{ let m = bitcast<f32>(a); bitcast<i32>(m * m + (-1e10) * (1.0 - m)) }", {bits(0x3f800000)}) == bits(0x3f800000));
  CHECK(value("{ let v = bitcast<f32>(a); bitcast<i32>(sqrt((-0.25 / v) * v + 0.25)) }", {bits(0x3f400000)}) == 0);
  CHECK(value("bitcast<i32>(bitcast<f32>(a) as bf16 as f32)", {bits(0x3f8147ae)}) == bits(0x3f810000));
  CHECK(value("bitcast<i32>((a as f32) as bf16 as f32)", {70000}) == bits(0x47890000));
  CHECK(value("bitcast<i16>((a as f32) as f16) as i32", {65536}) == 0x7c00);
  CHECK(value("{ var acc = 0.0f16; let v = 0.1f16; for i in 0..64 { acc = acc + v * v; } bitcast<i16>(acc) as i32 }") == 0x3918);
  CHECK(float_bits("{ var s = 0.0f32; for v in [1e8, 1.0, -1e8, 1.0] { s += v; } s }") == 0x3f800000u);
  CHECK(value("bitcast<i32>(abs(bitcast<f32>(a)))", {bits(0x80000001)}) == 1);
  CHECK(value("bitcast<i32>(bitcast<f32>(a) * 1.0)", {1}) == 1);
}

TEST_CASE("each element once, also at the end of the last block") {
  std::vector<Ints> b{Ints(33)};
  for (int i = 0; i < 33; ++i) b[0][static_cast<std::size_t>(i)] = i + 1;
  CHECK(run<std::int32_t>("kernel k(x: inout [i32]) block(32) { let i = global_id.x; if i < x.len { x[i] = x[i] * 2; } }\n", b, {}, 2) ==
        "");
  for (int i = 0; i < 33; ++i) CHECK(b[0][static_cast<std::size_t>(i)] == 2 * (i + 1));
}

TEST_CASE("warp operations, atomics, ids") {
  std::vector<Ints> b{Ints(64), Ints(64), Ints(4)};
  CHECK(run<std::int32_t>(
            "kernel k(x: out [i32], y: out [i32], counts: inout [i32]) block(64) {\n"
            "  let v = lane_id;\n"
            "  x[global_id.x] = warp_shuffle_down(v, 1) + warp_reduce_add(v) * 100;\n"
            "  let mask = warp_ballot(v % 2 == 0);\n"
            "  y[local_id.x] = bitcast<i32>(mask);\n"
            "  let old = atomic_add(counts[0], 1);\n"
            "  atomic_max(counts[1], old);\n"
            "  if local_id.x == 0 { counts[2] = group_size.x * 1000 + warp_size + num_groups.x; atomic_cas(counts[3], 0, 5); }\n}\n",
            b) == "");
  CHECK(b[0][0] == 1 + 49600);
  CHECK(b[0][31] == 31 + 49600);
  CHECK(b[1][5] == 0x55555555);
  CHECK(b[2] == Ints{64, 63, 64033, 5});
}

TEST_CASE("buffers of records and variants keep their layout") {
  // Particle: three floats and a mass; 16 bytes. Shape: tag, two f32 cells, one i32 cell.
  std::vector<std::vector<float>> b{{1, 2, 3, 10, 4, 5, 6, 20}, {0, 0}};
  CHECK(run<float>("struct Particle { pos: [f32; 3], mass: f32 }\n"
                   "kernel k(p: inout [Particle], m: out [f32]) block(2) {\n"
                   "  let i = global_id.x;\n"
                   "  m[i] = p[i].mass + p[i].pos[i];\n"
                   "  var q = p[i];\n  q.pos[2] += 0.5;\n  p[i] = q;\n  p[i].mass *= 2.0;\n}\n",
                   b) == "");
  CHECK(b[0] == std::vector<float>{1, 2, 3.5f, 20, 4, 5, 6.5f, 40});
  CHECK(b[1] == std::vector<float>{11, 25});
  std::vector<Ints> v{Ints(8)};
  CHECK(run<std::int32_t>(
            "enum E { a(i32, f32), b(f32, f32), c }\n"
            "kernel k(e: inout [E]) block(2) {\n"
            "  e[local_id.x] = if local_id.x == 0 { a(7, 1.0) } else { b(1.0, 2.0) };\n"
            "  match e[local_id.x] { a(n, _) => { e[local_id.x] = a(n + 1, 1.0); }, b(_, _) => { e[local_id.x] = c; }, c => { } }\n}\n",
            v) == "");
  CHECK(v[0] == Ints{0, 8, 0x3f800000, 0, 2, 0, 0, 0});
}

TEST_CASE("views, shared records and functions with buffers") {
  std::vector<Ints> b{{1, 2, 3, 4, 5, 6}, Ints(6)};
  CHECK(run<std::int32_t>("fn row_sum(m: in [i32; rows_of(2), 3], r: i32) -> i32 { m[r, 0] + m[r, 1] + m[r, 2] }\n"
                          "fn rows_of(n: i32) -> i32 { n }\n"
                          "kernel k(cols: i32, x: in [i32; 2, cols], y: out [i32]) block(1) {\n"
                          "  for r in 0..2 { for c in 0..cols { y[c * 2 + r] = x[r, c]; } }\n}\n",
                          b, {3}) == "");
  CHECK(b[1] == Ints{1, 4, 2, 5, 3, 6});
  std::vector<Ints> s{Ints(32)};
  CHECK(run<std::int32_t>("struct P { a: i32, b: [i32; 2] }\n"
                          "fn put(t: out [P], i: i32, v: i32) { t[i] = P { a: v, b: [v + 1, v + 2] }; }\n"
                          "fn get(t: in [P], i: i32) -> i32 { t[i].a + t[i].b[i % 2] + t.len }\n"
                          "kernel k(y: out [i32]) block(32) {\n"
                          "  shared tile: [P; 32];\n  shared total: i32;\n"
                          "  put(tile, local_id.x, local_id.x * 10);\n"
                          "  if local_id.x == 0 { total = 5; }\n"
                          "  barrier();\n"
                          "  y[local_id.x] = get(tile, 31 - local_id.x) + total;\n}\n",
                          s) == "");
  CHECK(s[0][0] == 310 + 312 + 32 + 5);
  CHECK(s[0][31] == 0 + 1 + 32 + 5);
}

TEST_CASE("constants are computed and can be given on the command line") {
  CHECK(value("N", {},
              "const N: i32 = power(2, 10) + M;\nconst M = { var s = 0; for i in 0..5 { s += i; } s };\n"
              "fn power(x: i32, n: i32) -> i32 { var r = 1; for i in 0..n { r *= x; } r }\n") == 1034);
  Checked c("const TILE: i32 = 4;\nkernel k(y: out [f32]) block(TILE) { y[global_id.x] = SCALE; }\n", {}, {"TILE=64", "SCALE=0.5"});
  CHECK(c.errors() == "");
  const auto programs = c.programs();
  REQUIRE(programs.size() == 1);
  CHECK(programs[0].block[0] == 64);
}

TEST_CASE("imports bring names, with and without an alias") {
  Checked c(
      "import \"a.sarek\";\nimport \"b.sarek\" as b;\n"
      "kernel k(y: out [f32]) block(32) { y[global_id.x] = twice(b.HALF) + b.thrice(1.0) + (b.P { v: 1.0 }).v; }\n",
      {{"a.sarek", "fn twice(x: f32) -> f32 { x + x }\n"},
       {"b.sarek", "import \"a.sarek\";\nconst HALF: f32 = 0.5;\nstruct P { v: f32 }\nfn thrice(x: f32) -> f32 { twice(x) + x }\n"}});
  CHECK(c.errors() == "");
  CHECK(c.module.imported_files().size() == 2);
  CHECK(c.programs().size() == 1);
}

TEST_CASE("a wide kernel counts in i64") {
  std::vector<Ints> b{{1, 2, 3, 4}};
  CHECK(run<std::int32_t>("fn index(n: i64) -> i64 { n + (global_id.x - global_id.x) }\n"
                          "kernel k(x: inout [i32]) block(4) wide {\n"
                          "  let i: i64 = global_id.x;\n  for j in 0..x.len { if j == index(i) { x[j] += 10; } }\n}\n",
                          b) == "");
  CHECK(b[0] == Ints{11, 12, 13, 14});
}

TEST_CASE("dynamic shared memory and unrolled loops have their marks") {
  Checked c(
      "kernel k(y: out [f32]) block(32) {\n  shared t: [f32; dyn];\n  t[local_id.x] = 1.0;\n  barrier();\n"
      "  var s = 0.0f32;\n  unroll(4) for i in 0..t.len { s += t[i]; }\n  unroll for i in 0..3 { s += t[i]; }\n  y[global_id.x] = s;\n}\n");
  CHECK(c.errors() == "");
  const auto programs = c.programs();
  REQUIRE(programs.size() == 1);
  CHECK(spec::verify_program(programs[0]).empty());
  REQUIRE(programs[0].slots.size() >= 2);
  CHECK(std::count_if(programs[0].slots.begin(), programs[0].slots.end(),
                      [](const ir::Slot& s) { return s.kind == ir::Slot::Kind::SharedLength; }) == 1);
  int marks = 0;
  for (const ir::NodeId id : programs[0].body)
    if (const auto* r = programs[0].graph.arg_as<ir::RangeArg>(id); r && r->axis_type == ir::AxisType::Unroll) ++marks;
  CHECK(marks == 2);
  CHECK(c.module.kernels()[0].has_dynamic_shared);
}

TEST_CASE("nodes know where they were written") {
  Checked c("kernel k(x: in [i32], y: out [i32]) block(1) {\n  y[0] = x[1] / x[2];\n}\n");
  const auto programs = c.programs();
  REQUIRE(programs.size() == 1);
  const ir::Program& p = programs[0];
  CHECK(c.sources.text(p.range) == "k");
  for (const ir::NodeId id : p.body) {
    const std::string_view text = c.sources.text(p.graph.range(id));
    if (p.graph.op(id) == ir::Op::Cdiv) CHECK(text == "x[1] / x[2]");
    if (p.graph.op(id) == ir::Op::Load) CHECK((text == "x[1]" || text == "x[2]"));
    if (p.graph.op(id) == ir::Op::Store) CHECK(text == "y[0] = x[1] / x[2];");
  }
}

TEST_CASE("scalars of record type and dynamic shared memory at launch") {
  Checked c(
      "struct P { a: i8, b: [f32; 2], c: i64 }\n"
      "kernel k(p: P, y: out [f32]) block(4) {\n  shared t: [i32; dyn];\n  t[local_id.x] = local_id.x;\n  barrier();\n"
      "  y[local_id.x] = p.a as f32 + p.b[local_id.x % 2] + p.c as f32 + t[3 - local_id.x] as f32 + t.len as f32 * 100.0;\n}\n");
  const std::vector<ir::Program> programs = c.programs();
  INFO(c.errors());
  REQUIRE(programs.size() == 1);
  const ir::Program& p = programs[0];
  REQUIRE(spec::verify_program(p).empty());
  REQUIRE(p.params[0].slot_count == 4);
  std::vector<float> y(4);
  interp::Launch launch;
  interp::Argument record;
  record.scalars = {{ir::Type::I8, 0xff}, {ir::Type::F32, 0x3f000000}, {ir::Type::F32, 0x3e800000}, {ir::Type::I64, 40}};
  launch.arguments = {record, interp::Argument::buffer(y.data(), 4, 16)};
  launch.dynamic_shared = {7};
  interp::Options options;
  options.checked = true;
  const auto result = interp::run(p, launch, options);
  REQUIRE(result.has_value());
  CHECK(y == std::vector<float>{742.5f, 741.25f, 740.5f, 739.25f});
}

TEST_CASE("small things that once meant something else") {
  // A place is computed once; what stands right of `=` is computed before it is stored.
  std::vector<Ints> b{{0, 0, 0, 0}, {0}};
  CHECK(run<std::int32_t>("fn next(c: inout [i32]) -> i32 { atomic_add(c[0], 1) }\n"
                          "kernel k(y: inout [i32], c: inout [i32]) block(1) { y[next(c)] += 5; y[next(c)] += 6; y[3] = next(c); }\n",
                          b) == "");
  CHECK(b[0] == Ints{5, 6, 0, 2});
  CHECK(ints("var p = 1; var q = 2; let t = p; p = q; q = t; y[0] = p * 10 + q;", 1) == Ints{21});
  CHECK(ints("let x = 1; { let x = x + 10; y[0] = x; } let x = x + 1; y[1] = x;", 2) == Ints{11, 2});
  CHECK(ints("for i in 0..3 { var x: i32; x += i; y[i] = x; }", 3) == Ints{0, 1, 2});
  CHECK(ints("for i in 0..3 { let t = [i, i * 2]; y[i] = t[(i + a) & 1]; }", 3, {1}) == Ints{0, 1, 4});
  CHECK(value("{ const K: i32 = N * 2; const L = K + 1; let t = [1; K]; t.len + L }", {}, "const N: i32 = 3;\n") == 13);
  CHECK(value("match (a, b) { (0, _) | (_, 0) => 1, (x, y) if x == y => 2, _ => 3 }", {0, 5}) == 1);
  CHECK(value("match (a, b) { (0, _) | (_, 0) => 1, (x, y) if x == y => 2, _ => 3 }", {4, 4}) == 2);
  CHECK(value("match a > 3 { true => 7, false => 8 }", {4}) == 7);
  // 7 / 2 is 3 also where a float is wanted next to it.
  CHECK(value("(2.0f32 * ((7 / 2) as f32)) as i32") == 6);
  CHECK(value("f(f(f(a)))", {1},
              "fn f(x: i32) -> i32 { if x > 100 { return x; } for i in 0..10 { if i > x { return x * 10 + i; } } x * 2 }\n") == 48);
}
