#include "compiler/support/numeric.h"

#include <catch2/catch_test_macros.hpp>

#include <random>

using namespace sarek::numeric;

TEST_CASE("every binary16 value survives widening and narrowing") {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const float wide = f32_from_f16(static_cast<std::uint16_t>(h));
    if (std::isnan(wide)) {
      REQUIRE(f16_from(wide) == kNanF16);
    } else {
      REQUIRE(f16_from(wide) == h);
    }
  }
}

TEST_CASE("every bfloat16 value survives widening and narrowing") {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const float wide = f32_from_bf16(static_cast<std::uint16_t>(h));
    if (std::isnan(wide)) {
      REQUIRE(bf16_from(wide) == kNanBf16);
    } else {
      REQUIRE(bf16_from(wide) == h);
    }
  }
}

TEST_CASE("narrowing rounds the midpoint of two neighbours to even and anything past it away") {
  for (std::uint32_t h = 0; h < 0x7bff; ++h) {
    const double low = f32_from_f16(static_cast<std::uint16_t>(h));
    const double high = f32_from_f16(static_cast<std::uint16_t>(h + 1));
    const double middle = (low + high) / 2;
    REQUIRE(f16_from(middle) == h + (h & 1));
    REQUIRE(f16_from(std::nextafter(middle, high)) == h + 1);
    REQUIRE(f16_from(std::nextafter(middle, low)) == h);
    REQUIRE(f16_from(-middle) == (0x8000u | (h + (h & 1))));
  }
}

TEST_CASE("narrowing overflows to infinity at half a unit past the largest number") {
  CHECK(f16_from(65519.99) == 0x7bff);
  CHECK(f16_from(65520.0) == 0x7c00);
  CHECK(f16_from(65536.0) == 0x7c00);
  CHECK(bf16_from(70000.0) == 0x4789);
  CHECK(bf16_from(3.4028234663852886e38) == 0x7f80);
}

TEST_CASE("float to integer truncates, saturates and sends NaN to zero") {
  CHECK(float_to_int<std::int32_t>(-2.9) == -2);
  CHECK(float_to_int<std::int32_t>(std::nan("")) == 0);
  CHECK(float_to_int<std::int32_t>(3e9) == 2147483647);
  CHECK(float_to_int<std::int32_t>(-3e9) == -2147483647 - 1);
  CHECK(float_to_int<std::uint8_t>(-0.5) == 0);
  CHECK(float_to_int<std::uint8_t>(255.9) == 255);
  CHECK(float_to_int<std::uint64_t>(1e30) == 0xffffffffffffffffull);
  CHECK(float_to_int<std::int64_t>(9223372036854774784.0) == 9223372036854774784ll);
}

TEST_CASE("integer division is total") {
  const std::int32_t low = -2147483647 - 1;
  CHECK(divide(-7, 2) == -3);
  CHECK(remainder(-7, 2) == -1);
  CHECK(divide(low, -1) == low);
  CHECK(remainder(low, -1) == 0);
  CHECK(divide(5, 0) == 5);
  CHECK(remainder(5, 0) == 0);
  CHECK(divide<std::uint32_t>(7u, 0xffffffffu) == 0);
  CHECK(divide<std::int8_t>(-128, -1) == -128);
  CHECK(floor_divide(-7, 2) == -4);
  CHECK(floor_remainder(-7, 2) == 1);
  CHECK(floor_divide(-6, 2) == -3);
  CHECK(floor_divide(7, -2) == -4);
}

TEST_CASE("shift counts are taken modulo the width") {
  CHECK(shift_left<std::int32_t>(1, 33) == 2);
  CHECK(shift_left<std::int32_t>(1, 32) == 1);
  CHECK(shift_right<std::int32_t>(-1, 1) == -1);
  CHECK(shift_right<std::uint32_t>(0xffffffffu, 1) == 0x7fffffffu);
  CHECK(shift_left<std::int8_t>(1, 7) == -128);
}

TEST_CASE("min and max prefer numbers and order the zeros") {
  const float nan = std::nanf("");
  CHECK(float_min(nan, 1.0f) == 1.0f);
  CHECK(float_max(1.0f, nan) == 1.0f);
  CHECK(std::signbit(float_min(0.0f, -0.0f)));
  CHECK(std::signbit(float_min(-0.0f, 0.0f)));
  CHECK_FALSE(std::signbit(float_max(-0.0f, 0.0f)));
  CHECK_FALSE(std::signbit(float_max(0.0f, -0.0f)));
}

TEST_CASE("a sum rounded to odd narrows like the exact sum") {
  // The exact sum of two doubles computed in 128-bit integers for operands on a common grid.
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    const auto x =
        static_cast<float>(std::ldexp(static_cast<double>(static_cast<int>(random() % 4096) - 2048), static_cast<int>(random() % 30) - 25));
    const auto y =
        static_cast<float>(std::ldexp(static_cast<double>(static_cast<int>(random() % 4096) - 2048), static_cast<int>(random() % 30) - 25));
    const auto z =
        static_cast<float>(std::ldexp(static_cast<double>(static_cast<int>(random() % 4096) - 2048), static_cast<int>(random() % 60) - 30));
    const long double exact = static_cast<long double>(x) * y + z;  // at most 64 significant bits needed on this grid for most draws
    if (exact - static_cast<long double>(x) * y != static_cast<long double>(z)) continue;
    const double odd = fma_for_narrowing(x, y, z);
    const auto once = static_cast<double>(exact);
    if (static_cast<long double>(once) == exact) REQUIRE(f16_from(odd) == f16_from(once));
  }
}
