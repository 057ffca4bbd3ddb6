// The scalar arithmetic of the contract (shared/design numerics): conversions with one correct rounding, saturating casts, total integer
// division, shifts with masked counts, min and max with ordered zeros. Constant folding, the interpreter and the tests use these and
// no others, so that they cannot disagree. Compiled without contraction and fast-math; the host must be IEEE 754 with SSE2 or better.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sarek::numeric {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

inline std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
inline std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
inline float f32(std::uint32_t b) { return std::bit_cast<float>(b); }
inline double f64(std::uint64_t b) { return std::bit_cast<double>(b); }

// Canonical quiet NaN of each format: what a bit cast of any NaN yields.
inline constexpr std::uint16_t kNanF16 = 0x7e00;
inline constexpr std::uint16_t kNanBf16 = 0x7fc0;
inline constexpr std::uint32_t kNanF32 = 0x7fc00000u;
inline constexpr std::uint64_t kNanF64 = 0x7ff8000000000000ull;

/// binary64 to a format with `ExponentBits` and `MantissaBits` (stored), round to nearest even, gradual underflow, overflow to
/// infinity, NaN to the canonical quiet NaN. One rounding, so it also serves binary32 sources (every binary32 is a binary64).
template <int ExponentBits, int MantissaBits>
std::uint16_t narrow(double x) {
  constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  constexpr std::uint32_t kInfinity = ((1u << ExponentBits) - 1) << MantissaBits;
  const std::uint64_t b = bits(x);
  const auto sign = static_cast<std::uint32_t>(b >> 63) << (ExponentBits + MantissaBits);
  const std::uint64_t magnitude = b & 0x7fffffffffffffffull;
  if (magnitude > 0x7ff0000000000000ull) return static_cast<std::uint16_t>(kInfinity | 1u << (MantissaBits - 1));
  if (magnitude == 0x7ff0000000000000ull) return static_cast<std::uint16_t>(sign | kInfinity);
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (magnitude < 0x0010000000000000ull) return static_cast<std::uint16_t>(sign);  // subnormal binary64: far below half of the least
  const std::uint64_t significand = (magnitude & 0xfffffffffffffull) | 0x10000000000000ull;
  const int target_exponent = exponent + kBias;
  // Bits dropped: 52 - MantissaBits for a normal result, more for a subnormal one.
  int shift = 52 - MantissaBits;
  if (target_exponent < 1) shift += 1 - target_exponent;
  if (shift > 54) return static_cast<std::uint16_t>(sign);
  std::uint64_t kept = significand >> shift;
  const std::uint64_t rest = significand & ((1ull << shift) - 1);
  const std::uint64_t half = 1ull << (shift - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  // A normal result still has its hidden bit: adding the exponent less one puts it right, carries included.
  const std::uint64_t encoded = target_exponent < 1 ? kept : kept + (static_cast<std::uint64_t>(target_exponent - 1) << MantissaBits);
  return static_cast<std::uint16_t>(sign | (encoded >= kInfinity ? kInfinity : static_cast<std::uint32_t>(encoded)));
}

inline std::uint16_t f16_from(double x) { return narrow<5, 10>(x); }
inline std::uint16_t bf16_from(double x) { return narrow<8, 7>(x); }
/// Exact widening of a binary16.
inline float f32_from_f16(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1fu;
  const std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0x1f) return f32(sign | 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0u));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return f32(sign | bits(magnitude));
  }
  return f32(sign | (exponent + 112) << 23 | mantissa << 13);
}
/// Exact widening of a bfloat16.
inline float f32_from_bf16(std::uint16_t h) { return f32(static_cast<std::uint32_t>(h) << 16); }

/// x + y in binary64 rounded to odd: exact, or the neighbour whose last bit is one. A later rounding to a format with at least two
/// bits less is then the correct rounding of the exact sum (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
inline double add_round_to_odd(double x, double y) {
  const double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  // Knuth's TwoSum: sum + error = x + y exactly.
  const double y_part = sum - x;
  const double error = (x - (sum - y_part)) + (y - y_part);
  const std::uint64_t b = bits(sum);
  if (error == 0 || (b & 1)) return sum;
  // The exact value lies next to `sum`, on the side of the error's sign.
  return f64((error > 0) == (sum > 0) ? b + 1 : b - 1);
}

/// Fused multiply-add of binary16 or bfloat16 operands given as doubles, as the double whose narrowing is the one correct rounding.
inline double fma_for_narrowing(double x, double y, double z) { return add_round_to_odd(x * y, z); }

/// A 64-bit integer as a binary64 rounded to odd, so that a later narrowing to 11 bits or fewer is the one correct rounding.
inline double double_to_odd(std::uint64_t x) {
  // Bit 11 is the lowest that a binary64 keeps of a number with 64 bits: make it stand for everything below.
  if (x >> 53 && (x & 0x7ffu)) x = (x & ~std::uint64_t{0x7ff}) | 0x800u;
  return static_cast<double>(x);
}
inline double double_to_odd(std::int64_t x) {
  return x < 0 ? -double_to_odd(0 - static_cast<std::uint64_t>(x)) : double_to_odd(static_cast<std::uint64_t>(x));
}

/// Float to integer: truncate, saturate, NaN to 0.
template <class Int>
Int float_to_int(double x) {
  if (std::isnan(x)) return 0;
  const double truncated = std::trunc(x);
  // Both limits as doubles: the upper one, 2^digits, is exact and exclusive.
  const double upper = std::ldexp(1.0, std::numeric_limits<Int>::digits);
  const double lower = std::is_signed_v<Int> ? -upper : 0.0;
  if (truncated >= upper) return std::numeric_limits<Int>::max();
  if (truncated <= lower) return std::numeric_limits<Int>::min();
  return static_cast<Int>(truncated);
}

/// Total truncating division: x / 0 = x, MIN / -1 = MIN.
template <class Int>
Int divide(Int x, Int y) {
  if (y == 0) return x;
  if constexpr (std::is_signed_v<Int>)
    if (y == -1) return static_cast<Int>(0u - static_cast<std::make_unsigned_t<Int>>(x));
  return static_cast<Int>(x / y);
}
/// Total remainder with the sign of the dividend: x % 0 = 0, MIN % -1 = 0.
template <class Int>
Int remainder(Int x, Int y) {
  if (y == 0) return 0;
  if constexpr (std::is_signed_v<Int>)
    if (y == -1) return 0;
  return static_cast<Int>(x % y);
}
/// Floor division and its remainder, total in the same way (x // 0 = x, x mod 0 = 0).
template <class Int>
Int floor_divide(Int x, Int y) {
  const Int q = divide(x, y);
  if constexpr (std::is_signed_v<Int>)
    if (y != 0 && y != -1 && x % y != 0 && ((x < 0) != (y < 0))) return static_cast<Int>(q - 1);
  return q;
}
template <class Int>
Int floor_remainder(Int x, Int y) {
  const Int r = remainder(x, y);
  if constexpr (std::is_signed_v<Int>)
    if (r != 0 && ((r < 0) != (y < 0))) return static_cast<Int>(r + y);
  return r;
}

/// Shifts: the count modulo the width; the right shift is arithmetic on signed types, logical on unsigned ones.
template <class Int>
Int shift_left(Int x, std::uint64_t count) {
  return static_cast<Int>(static_cast<std::uint64_t>(x) << (count & (sizeof(Int) * 8 - 1)));
}
template <class Int>
Int shift_right(Int x, std::uint64_t count) {
  return static_cast<Int>(x >> (count & (sizeof(Int) * 8 - 1)));
}

/// The number when one operand is NaN; -0 below +0.
template <class Float>
Float float_min(Float x, Float y) {
  if (std::isnan(x)) return y;
  if (std::isnan(y)) return x;
  if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}
template <class Float>
Float float_max(Float x, Float y) {
  if (std::isnan(x)) return y;
  if (std::isnan(y)) return x;
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

}  // namespace sarek::numeric
