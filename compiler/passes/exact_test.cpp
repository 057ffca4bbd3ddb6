// The integer formulas of exact.h, run natively on millions of inputs against the host's own exact operations.
#include "compiler/passes/exact.h"

#include <catch2/catch_test_macros.hpp>

#include <bit>
#include <cmath>
#include <concepts>

#include "compiler/passes/test_support.h"
#include "compiler/support/numeric.h"

using namespace sarek;
using namespace sarek::passes;

namespace {

/// A U64 or I64 with the operators of Expr.
struct Word {
  std::uint64_t v = 0;
  bool is_signed = false;
  template <std::integral I>
  Word lit(I x) const {
    return {static_cast<std::uint64_t>(x), is_signed};
  }
  Word to(ir::Type t) const { return {v, t == ir::Type::I64}; }
};

Word operator+(Word a, Word b) { return {a.v + b.v, a.is_signed}; }
Word operator-(Word a, Word b) { return {a.v - b.v, a.is_signed}; }
Word operator*(Word a, Word b) { return {a.v * b.v, a.is_signed}; }
Word operator&(Word a, Word b) { return {a.v & b.v, a.is_signed}; }
Word operator|(Word a, Word b) { return {a.v | b.v, a.is_signed}; }
Word operator^(Word a, Word b) { return {a.v ^ b.v, a.is_signed}; }
Word operator<<(Word a, Word b) { return {a.v << (b.v & 63), a.is_signed}; }
Word operator>>(Word a, Word b) { return {a.v >> (b.v & 63), a.is_signed}; }
/// A Bool.
struct Truth {
  bool v = false;
};
Truth operator&(Truth a, Truth b) { return {a.v && b.v}; }
Truth operator|(Truth a, Truth b) { return {a.v || b.v}; }
Truth operator!(Truth a) { return {!a.v}; }
Truth operator<(Word a, Word b) { return {a.is_signed ? static_cast<std::int64_t>(a.v) < static_cast<std::int64_t>(b.v) : a.v < b.v}; }
Truth operator==(Word a, Word b) { return {a.v == b.v}; }
Truth operator!=(Word a, Word b) { return {a.v != b.v}; }
Word select(Truth c, Word a, Word b) { return c.v ? a : b; }

#define SAREK_WORD_WITH_LITERAL(result, op) \
  template <std::integral I>                \
  result operator op(Word a, I b) {         \
    return a op a.lit(b);                   \
  }
SAREK_WORD_WITH_LITERAL(Word, +)
SAREK_WORD_WITH_LITERAL(Word, -)
SAREK_WORD_WITH_LITERAL(Word, *)
SAREK_WORD_WITH_LITERAL(Word, &)
SAREK_WORD_WITH_LITERAL(Word, |)
SAREK_WORD_WITH_LITERAL(Word, <<)
SAREK_WORD_WITH_LITERAL(Word, >>)
SAREK_WORD_WITH_LITERAL(Truth, <)
SAREK_WORD_WITH_LITERAL(Truth, ==)
SAREK_WORD_WITH_LITERAL(Truth, !=)
template <std::integral I>
Word operator-(I a, Word b) {
  return b.lit(a) - b;
}

std::uint64_t fma_bits(double x, double y, double z) {
  const auto clz = [](Word w) { return Word{static_cast<std::uint64_t>(std::countl_zero(w.v)), w.is_signed}; };
  const auto high = [](Word a, Word b) { return exact::multiply_high(a, b); };
  const double product = x * y;
  const double sum = product + z;
  using numeric::bits;
  return exact::fma_f64(Word{bits(x)}, Word{bits(y)}, Word{bits(z)}, Word{bits(product)}, Word{bits(sum)}, clz, high).v;
}

bool agrees(double x, double y, double z) {
  const std::uint64_t expected = numeric::bits(std::fma(x, y, z));
  return test::same_value(ir::Type::F64, fma_bits(x, y, z), expected);
}

}  // namespace

TEST_CASE("fma on f64 with integers agrees with the host on edge values") {
  const std::vector<std::uint64_t> edges = test::edge_values(ir::Type::F64);
  long wrong = 0;
  for (const std::uint64_t x : edges)
    for (const std::uint64_t y : edges)
      for (const std::uint64_t z : edges) wrong += !agrees(numeric::f64(x), numeric::f64(y), numeric::f64(z));
  CHECK(edges.size() > 60);
  CHECK(wrong == 0);
}

TEST_CASE("fma on f64 with integers agrees with the host on random triples") {
  std::mt19937_64 random(1);
  long wrong = 0;
  for (int i = 0; i < 1000000; ++i) {
    const double x = numeric::f64(random());
    const double y = numeric::f64(random());
    // Addends near the product, so that cancellation, halves and sticky bits occur; and results in the subnormal range.
    const std::uint64_t near = numeric::bits(x * y) ^ (random() & ((1ull << (random() % 60)) - 1)) ^ ((random() & 1) << 63);
    const std::uint64_t shifted = near + ((random() % 128) << 52) - (64ull << 52);
    wrong += !agrees(x, y, numeric::f64(near));
    wrong += !agrees(x, y, numeric::f64(shifted));
    const double small = numeric::f64((random() & 0x801fffffffffffffull) | ((random() % 1030) << 52));
    const double other = numeric::f64((random() & 0x800fffffffffffffull) | ((random() % 1030) << 52));
    wrong += !agrees(small, other, numeric::f64(random() & 0x801fffffffffffffull));
  }
  CHECK(wrong == 0);
}

TEST_CASE("products, leading zeros and one bits of words") {
  std::mt19937_64 random(2);
  __extension__ typedef unsigned __int128 Wide;
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t x = random() >> (random() % 64), y = random() >> (random() % 64);
    REQUIRE(exact::multiply_high(Word{x}, Word{y}).v == static_cast<std::uint64_t>((Wide{x} * y) >> 64));
    REQUIRE(exact::leading_zeros(Word{x}).v == static_cast<std::uint64_t>(std::countl_zero(x)));
    REQUIRE(exact::one_bits(Word{x}).v == static_cast<std::uint64_t>(std::popcount(x)));
  }
  CHECK(exact::leading_zeros(Word{0}).v == 64);
}
