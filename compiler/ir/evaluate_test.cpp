// The 16-bit formats against an independent reference in exact integers, and the rows of the contract on edge values. That the interpreter
// agrees with evaluate on every operation and type is tested in compiler/interp.
#include "compiler/ir/evaluate.h"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "compiler/support/numeric.h"

using namespace sarek::ir;
namespace numeric = sarek::numeric;

namespace {

__extension__ typedef unsigned __int128 U128;

std::uint64_t value(Op op, Type type, std::initializer_list<std::uint64_t> v) {
  const std::vector<Type> types(v.size(), type);
  return evaluate(op, type, types, std::vector<std::uint64_t>(v)).value();
}
std::uint64_t value(Ins ins, Type type, std::initializer_list<std::uint64_t> v) {
  const std::vector<Type> types(v.size(), type);
  return evaluate(ins, type, types, std::vector<std::uint64_t>(v)).value();
}
std::uint64_t cast(Type to, Type from, std::uint64_t x) {
  return evaluate(Op::Cast, to, std::vector<Type>{from}, std::vector<std::uint64_t>{x}).value();
}
std::optional<std::uint64_t> compare(Op op, Type type, std::uint64_t x, std::uint64_t y) {
  return evaluate(op, Type::Bool, std::vector<Type>{type, type}, std::vector<std::uint64_t>{x, y});
}

// --- a small exact arithmetic: no floating point in it ---------------------------------------------------------------------------

struct Format {
  Type type;
  int exponent_bits, mantissa_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  std::uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
};
constexpr Format kF16{Type::F16, 5, 10};
constexpr Format kBf16{Type::Bf16, 8, 7};

/// (-1)^negative * m * 2^e exactly; `sticky`: a little more in magnitude.
struct Exact {
  bool negative = false;
  U128 m = 0;
  int e = 0;
  bool sticky = false;
};
Exact decode(Format f, std::uint64_t bits) {
  const auto exponent = static_cast<int>(bits >> f.mantissa_bits & ((1u << f.exponent_bits) - 1));
  const std::uint64_t mantissa = bits & ((1u << f.mantissa_bits) - 1);
  Exact x;
  x.negative = bits & f.sign_bit();
  x.m = exponent ? mantissa | 1u << f.mantissa_bits : mantissa;
  x.e = (exponent ? exponent : 1) - f.bias() - f.mantissa_bits;
  return x;
}
std::uint32_t encode(Format f, Exact x) {
  const std::uint32_t sign = x.negative ? f.sign_bit() : 0;
  if (x.m == 0) return sign;  // no case here has a zero with more behind it
  int length = 0;
  while (length < 128 && x.m >> length) ++length;
  // The exponent of the result's last bit: that of a normal number, or of the subnormals.
  const int last = std::max(x.e + length - (f.mantissa_bits + 1), 1 - f.bias() - f.mantissa_bits);
  U128 kept = 0;
  if (last <= x.e) kept = x.m << (x.e - last);
  else if (last - x.e < 127) {
    const int drop = last - x.e;
    kept = x.m >> drop;
    const U128 rest = x.m & ((U128{1} << drop) - 1);
    const U128 half = U128{1} << (drop - 1);
    if (rest > half || (rest == half && (x.sticky || (kept & 1)))) ++kept;
  }
  // kept counts units of 2^last; a carry to the next power of two keeps the sum below right.
  std::uint64_t bits = static_cast<std::uint64_t>(kept);
  if (bits >> f.mantissa_bits) bits += static_cast<std::uint64_t>(last + f.bias() + f.mantissa_bits - 1) << f.mantissa_bits;
  return sign | static_cast<std::uint32_t>(std::min<std::uint64_t>(bits, f.infinity()));
}
bool finite(Format f, std::uint64_t bits) { return (bits & (f.sign_bit() - 1)) < f.infinity(); }

Exact product(Exact x, Exact y) { return {x.negative != y.negative, x.m * y.m, x.e + y.e, x.sticky || y.sticky}; }
/// Operands without sticky bits. A far smaller operand only makes the sum inexact.
Exact sum(Exact x, Exact y) {
  if (x.m == 0 && y.m == 0) return {x.negative && y.negative, 0, 0, false};
  if (x.m == 0) return y;
  if (y.m == 0) return x;
  if (x.e < y.e) std::swap(x, y);
  // Make room below x: enough for y, or so much that y only breaks ties.
  constexpr int kRoom = 90;
  if (x.e - y.e <= kRoom) {
    x.m <<= x.e - y.e;
    x.e = y.e;
    if (x.negative == y.negative) return {x.negative, x.m + y.m, x.e, false};
    if (x.m == y.m) return {false, 0, 0, false};
    return x.m > y.m ? Exact{x.negative, x.m - y.m, x.e, false} : Exact{y.negative, y.m - x.m, x.e, false};
  }
  x.m <<= kRoom;
  x.e -= kRoom;
  if (x.negative != y.negative) x.m -= 1;  // x less a little is x - 1 unit and a little more
  x.sticky = true;
  return x;
}
Exact quotient(Exact x, Exact y) {
  const U128 scaled = x.m << 64;
  return {x.negative != y.negative, scaled / y.m, x.e - y.e - 64, scaled % y.m != 0};
}
Exact root(Exact x) {
  x.m <<= 64;
  x.e -= 64;
  if (x.e & 1) x.m <<= 1, x.e -= 1;
  U128 r = 0;
  for (int bit = 48; bit >= 0; --bit)
    if ((r | U128{1} << bit) * (r | U128{1} << bit) <= x.m) r |= U128{1} << bit;
  return {x.negative, r, x.e / 2, r * r != x.m};
}

/// A fixed sequence of bits, the same on every machine.
class Random {
 public:
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return state_ >> 33 ^ state_ << 20;
  }

 private:
  std::uint64_t state_ = 12345;
};

std::uint64_t f32(double x) { return numeric::bits(static_cast<float>(x)); }
std::uint64_t f64(double x) { return numeric::bits(x); }
std::uint64_t i32(std::int64_t x) { return static_cast<std::uint32_t>(x); }

}  // namespace

TEST_CASE("16-bit floats: every value through conversions, root, reciprocal and sign operations") {
  for (const Format f : {kF16, kBf16}) {
    std::size_t wrong = 0;
    for (std::uint64_t x = 0; x < 0x10000; ++x) {
      const std::uint64_t magnitude = x & 0x7fff;
      const bool nan = magnitude > f.infinity();
      wrong += value(Op::Neg, f.type, {x}) != (x ^ 0x8000);
      wrong += value(Ins::Abs, f.type, {x}) != magnitude;
      for (const Type wide : {Type::F32, Type::F64}) {
        const std::uint64_t there = cast(wide, f.type, x);
        const std::uint64_t back = cast(f.type, wide, there);
        wrong += is_nan(wide, there) != nan;
        wrong += nan ? !is_nan(f.type, back) : back != x;
      }
      if (nan) continue;
      const Exact e = decode(f, x);
      if (finite(f, x)) {
        const double exact = std::ldexp(static_cast<double>(static_cast<std::uint64_t>(e.m)), e.e) * (e.negative ? -1 : 1);
        wrong += numeric::f64(cast(Type::F64, f.type, x)) != exact;
        if (e.m) wrong += value(Op::Reciprocal, f.type, {x}) != encode(f, quotient({false, 1, 0, false}, e));
        if (!e.negative) wrong += value(Op::Sqrt, f.type, {x}) != encode(f, root(e));
        // Whole parts by shifting the binary point out.
        Exact t = e;
        const int drop = std::min(-t.e, 127);
        const bool fraction = drop > 0 && (t.m & ((U128{1} << drop) - 1)) != 0;
        if (drop > 0) t.m >>= drop, t.e = 0;
        Exact up = t;
        up.m += 1;
        wrong += value(Op::Trunc, f.type, {x}) != encode(f, t);
        wrong += value(Ins::Floor, f.type, {x}) != encode(f, fraction && e.negative ? up : t);
        wrong += value(Ins::Ceil, f.type, {x}) != encode(f, fraction && !e.negative ? up : t);
        const bool half_or_more = drop > 0 && drop < 127 && (e.m >> (drop - 1) & 1);
        wrong += value(Ins::Round, f.type, {x}) != encode(f, half_or_more ? up : t);
      } else {
        wrong += value(Op::Reciprocal, f.type, {x}) != (x & 0x8000);
        wrong += value(Op::Trunc, f.type, {x}) != x;
      }
    }
    INFO(type_name(f.type));
    CHECK(wrong == 0);
    CHECK(is_nan(f.type, value(Op::Sqrt, f.type, {f.sign_bit() | 0x0400u})));
    CHECK(value(Op::Sqrt, f.type, {f.sign_bit()}) == f.sign_bit());
    CHECK(value(Op::Reciprocal, f.type, {f.sign_bit()}) == (f.sign_bit() | f.infinity()));
  }
}

TEST_CASE("16-bit floats: sums, products, quotients and fma are rounded once") {
  for (const Format f : {kF16, kBf16}) {
    Random random;
    std::size_t wrong = 0, compared = 0;
    for (int k = 0; k < 400000; ++k) {
      std::uint64_t v[3];
      for (std::uint64_t& x : v) x = random.next() & 0xffff;
      if (k % 2) v[1] = (v[1] & 0x83ff) | (v[0] & 0x7c00);  // near magnitudes: cancellation
      if (k % 4 == 3) v[2] = static_cast<std::uint64_t>(encode(f, product(decode(f, v[0]), decode(f, v[1])))) ^ 0x8000;
      if (!finite(f, v[0]) || !finite(f, v[1]) || !finite(f, v[2])) continue;
      const Exact x = decode(f, v[0]), y = decode(f, v[1]), z = decode(f, v[2]);
      Exact minus_y = y;
      minus_y.negative = !y.negative;
      wrong += value(Op::Add, f.type, {v[0], v[1]}) != encode(f, sum(x, y));
      wrong += value(Op::Sub, f.type, {v[0], v[1]}) != encode(f, sum(x, minus_y));
      wrong += value(Op::Mul, f.type, {v[0], v[1]}) != encode(f, product(x, y));
      if (y.m) wrong += value(Op::Fdiv, f.type, {v[0], v[1]}) != encode(f, quotient(x, y));
      wrong += value(Op::Mulacc, f.type, {v[0], v[1], v[2]}) != encode(f, sum(product(x, y), z));
      ++compared;
    }
    INFO(type_name(f.type));
    CHECK(wrong == 0);
    CHECK(compared > 300000);
  }
}

TEST_CASE("16-bit floats: conversions from wider floats and from integers are rounded once") {
  for (const Format f : {kF16, kBf16}) {
    Random random;
    std::size_t wrong = 0;
    for (int k = 0; k < 300000; ++k) {
      // A double a little above, at, or below the middle between two neighbours.
      const std::uint64_t at = random.next() % (f.infinity() - 1);
      const Exact low = decode(f, at);
      Exact middle{false, low.m * 2 + 1, low.e - 1, false};
      middle.m <<= 40;
      middle.e -= 40;
      middle.m += k % 3 - 1;
      const double d = std::ldexp(static_cast<double>(static_cast<std::uint64_t>(middle.m)), middle.e);
      wrong += cast(f.type, Type::F64, numeric::bits(d)) != encode(f, middle);
      // Integers, long ones with a last bit that decides.
      std::uint64_t n = random.next() ^ random.next() << 32;
      n >>= random.next() % 64;
      if (k % 2) n = (n & ~((std::uint64_t{1} << 40) - 1)) | (k % 4 == 1);
      wrong += cast(f.type, Type::U64, n) != encode(f, {false, n, 0, false});
      const auto s = static_cast<std::int64_t>(n);
      wrong += cast(f.type, Type::I64, n) != encode(f, {s < 0, s < 0 ? 0 - n : n, 0, false});
    }
    INFO(type_name(f.type));
    CHECK(wrong == 0);
  }
  // 2^62 + 2^54 + 1 lies just above the middle of two bf16: by way of a double it would go to even.
  CHECK(cast(Type::Bf16, Type::I64, (std::uint64_t{1} << 62) + (std::uint64_t{1} << 54) + 1) == 0x5e81);
  CHECK(cast(Type::F16, Type::F32, f32(65504)) == 0x7bff);
  CHECK(cast(Type::F16, Type::F32, f32(65519.996)) == 0x7bff);
  CHECK(cast(Type::F16, Type::F32, f32(65520)) == 0x7c00);
}

TEST_CASE("floats become integers by truncation, saturated, NaN as zero") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(cast(Type::I32, Type::F64, f64(-2.9)) == i32(-2));
  CHECK(cast(Type::I32, Type::F64, f64(nan)) == 0);
  CHECK(cast(Type::I32, Type::F32, f32(3e9)) == i32(INT32_MAX));
  CHECK(cast(Type::I32, Type::F64, f64(-inf)) == i32(INT32_MIN));
  CHECK(cast(Type::U8, Type::F64, f64(-1)) == 0);
  CHECK(cast(Type::U8, Type::F64, f64(255.99)) == 255);
  CHECK(cast(Type::U8, Type::F64, f64(256)) == 255);
  CHECK(cast(Type::I8, Type::F64, f64(-128.5)) == 0x80);
  CHECK(cast(Type::I64, Type::F64, f64(0x1p63)) == static_cast<std::uint64_t>(INT64_MAX));
  CHECK(cast(Type::U64, Type::F64, f64(0x1p64)) == UINT64_MAX);
  CHECK(cast(Type::U64, Type::F64, f64(0x1.fffffffffffffp63)) == 0xfffffffffffff800ull);
  CHECK(cast(Type::Bool, Type::F64, f64(nan)) == 1);
  CHECK(cast(Type::Bool, Type::F32, f32(-0.0)) == 0);
}

TEST_CASE("integers become floats and other integers") {
  CHECK(cast(Type::F32, Type::I64, (std::uint64_t{1} << 60) + (std::uint64_t{1} << 36) + 1) == f32(0x1.000002p60));  // one rounding
  CHECK(cast(Type::F32, Type::U64, UINT64_MAX) == f32(0x1p64));
  CHECK(cast(Type::F64, Type::I8, 0xff) == f64(-1));
  CHECK(cast(Type::I64, Type::I8, 0x80) == 0xffffffffffffff80ull);
  CHECK(cast(Type::I64, Type::U8, 0x80) == 0x80);
  CHECK(cast(Type::I8, Type::I64, 0x1234) == 0x34);
  CHECK(cast(Type::U16, Type::I8, 0x80) == 0xff80);
  CHECK(cast(Type::Bool, Type::I64, std::uint64_t{1} << 40) == 1);
  CHECK(cast(Type::F16, Type::Bool, 1) == 0x3c00);
}

TEST_CASE("division is total, shifts mask, floors round down") {
  CHECK(value(Op::Cdiv, Type::I8, {0x80, 0xff}) == 0x80);
  CHECK(value(Op::Cmod, Type::I8, {0x80, 0xff}) == 0);
  CHECK(value(Op::Cdiv, Type::U8, {200, 0}) == 200);
  CHECK(value(Op::Cmod, Type::U8, {200, 0}) == 0);
  CHECK(value(Op::Cdiv, Type::I64, {static_cast<std::uint64_t>(INT64_MIN), UINT64_MAX}) == static_cast<std::uint64_t>(INT64_MIN));
  CHECK(value(Op::Floordiv, Type::I32, {i32(-7), 2}) == i32(-4));
  CHECK(value(Op::Floormod, Type::I32, {i32(-7), 2}) == 1);
  CHECK(value(Op::Floormod, Type::I32, {7, i32(-2)}) == i32(-1));
  CHECK(value(Op::Shl, Type::I8, {1, 9}) == 2);
  CHECK(value(Op::Shr, Type::I8, {0x80, 7}) == 0xff);
  CHECK(value(Op::Shr, Type::U8, {0x80, 7}) == 1);
  CHECK(evaluate(Op::Shl, Type::I64, std::vector<Type>{Type::I64, Type::U32}, std::vector<std::uint64_t>{1, 65}) == 2u);
  CHECK(value(Op::Mul, Type::U16, {0xffff, 0xffff}) == 1);
  CHECK(value(Op::Neg, Type::U32, {1}) == 0xffffffffu);
  CHECK(value(Ins::Abs, Type::I32, {i32(INT32_MIN)}) == i32(INT32_MIN));
}

TEST_CASE("min, max, comparisons and copysign with zeros and NaN") {
  const std::uint64_t nan = numeric::kNanF32, one = f32(1), zero = 0, minus_zero = 0x80000000;
  CHECK(value(Op::Max, Type::F32, {nan, one}) == one);
  CHECK(value(Op::Max, Type::F32, {one, nan}) == one);
  CHECK(is_nan(Type::F32, value(Op::Max, Type::F32, {nan, nan})));
  CHECK(value(Op::Max, Type::F32, {minus_zero, zero}) == zero);
  CHECK(value(Ins::Min, Type::F32, {zero, minus_zero}) == minus_zero);
  CHECK(compare(Op::Cmplt, Type::F32, nan, one) == 0u);
  CHECK(compare(Op::Cmpeq, Type::F32, zero, minus_zero) == 1u);
  CHECK(compare(Op::Cmpne, Type::F32, nan, nan) == 1u);
  CHECK(compare(Op::Cmplt, Type::I8, 0xff, 0) == 1u);
  CHECK(compare(Op::Cmplt, Type::U8, 0xff, 0) == 0u);
  CHECK(value(Ins::Copysign, Type::F32, {one, minus_zero}) == f32(-1));
  CHECK(value(Ins::Copysign, Type::F32, {f32(-1), 0xffc00000}) == one);  // a NaN counts as positive
}

TEST_CASE("bit counts, high products, bit casts, random bits") {
  const auto count = [](Ins ins, Type type, std::uint64_t x) {
    return evaluate(ins, Type::I32, std::vector<Type>{type}, std::vector<std::uint64_t>{x}).value();
  };
  CHECK(count(Ins::Clz, Type::I8, 0) == 8);
  CHECK(count(Ins::Clz, Type::U64, 1) == 63);
  CHECK(count(Ins::Ctz, Type::U16, 0) == 16);
  CHECK(count(Ins::Ctz, Type::I32, 0x80000000) == 31);
  CHECK(count(Ins::Popcount, Type::I16, 0xffff) == 16);
  CHECK(value(Ins::MulHigh, Type::I32, {i32(-1), 1}) == 0xffffffffu);
  CHECK(value(Ins::MulHigh, Type::U64, {UINT64_MAX, UINT64_MAX}) == UINT64_MAX - 1);
  CHECK(value(Ins::MulHigh, Type::I8, {0x80, 0x80}) == 0x40);
  const auto bits = [](Type to, Type from, std::uint64_t x) {
    return evaluate(Op::Bitcast, to, std::vector<Type>{from}, std::vector<std::uint64_t>{x});
  };
  CHECK(bits(Type::U32, Type::F32, 0xffc00123) == numeric::kNanF32);
  CHECK(bits(Type::I16, Type::Bf16, 0xffff) == numeric::kNanBf16);
  CHECK(bits(Type::F32, Type::U32, 0xffc00123) == 0xffc00123u);
  CHECK(bits(Type::U64, Type::F64, f64(-0.0)) == 0x8000000000000000u);
  CHECK_FALSE(bits(Type::U32, Type::F64, 0));
  // The vectors of the paper's test program (Random123, kat_vectors).
  CHECK(value(Op::Threefry, Type::U64, {0, 0}) == 0x99ba4efe6b200159ull);
  CHECK(value(Op::Threefry, Type::U64, {UINT64_MAX, UINT64_MAX}) == 0xbb002be71cb996fcull);
  CHECK(value(Op::Threefry, Type::U64, {0x85a308d3243f6a88ull, 0x0370734413198a2eull}) == 0x483df7a0c4923a9cull);
}

TEST_CASE("what has no exact meaning has no value") {
  const std::vector<std::uint64_t> one{1}, two{1, 1};
  CHECK_FALSE(evaluate(Op::Sin, Type::F32, std::vector<Type>{Type::F32}, one));
  CHECK_FALSE(evaluate(Op::Pow, Type::F32, std::vector<Type>{Type::F32, Type::F32}, two));
  CHECK_FALSE(evaluate(Op::Add, Type::F8e4m3, std::vector<Type>{Type::F8e4m3, Type::F8e4m3}, two));
  CHECK_FALSE(evaluate(Op::Add, Type::F32, std::vector<Type>{Type::F32, Type::I32}, two));
  CHECK_FALSE(evaluate(Op::Cmod, Type::F32, std::vector<Type>{Type::F32, Type::F32}, two));
  CHECK_FALSE(evaluate(Op::And, Type::F32, std::vector<Type>{Type::F32, Type::F32}, two));
  CHECK_FALSE(evaluate(Op::Add, Type::WeakInt, std::vector<Type>{Type::WeakInt, Type::WeakInt}, two));
  CHECK_FALSE(evaluate(Op::Add, Type::I32, std::vector<Type>{Type::I32}, one));
  CHECK_FALSE(evaluate(Op::Load, Type::I32, std::vector<Type>{Type::I32}, one));
  CHECK_FALSE(evaluate(Ins::VoteAll, Type::Bool, std::vector<Type>{Type::Bool}, one));
}

TEST_CASE("constants and their bits") {
  for (const Type t : {Type::I8, Type::U8, Type::I16, Type::U16, Type::I32, Type::U32, Type::I64, Type::U64, Type::F16, Type::Bf16,
                       Type::F32, Type::F64}) {
    const std::uint64_t ones = type_bits(t) == 64 ? UINT64_MAX : (std::uint64_t{1} << type_bits(t)) - 1;
    for (const std::uint64_t bits : {std::uint64_t{0}, std::uint64_t{1}, ones >> 1, ones, ones - (ones >> 1), std::uint64_t{0x31}}) {
      INFO(type_name(t) << " " << bits);
      const std::optional<std::uint64_t> back = bits_of(value_of(bits, t).value(), t);
      REQUIRE(back);
      CHECK(canonical_nan(t, *back) == canonical_nan(t, bits));
    }
  }
  CHECK_FALSE(bits_of(ConstValue::of_float(1), Type::I32));
  CHECK_FALSE(bits_of(ConstValue::invalid(), Type::I32));
}
