// The operations of ops.def and ins.def on scalars, one template each: C++ types stand for the IR's, `F16` and `Bf16` for the formats that
// C++ lacks. evaluate.cpp picks an instance by the types of a node, the interpreter by its opcode, so that folding and running cannot
// disagree. Only arithmetic lives here; which operation accepts which type is evaluate.cpp's question. The meaning is that of
// compiler/support/numeric.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "compiler/ir/types.h"
#include "compiler/support/numeric.h"

namespace sarek::ir::scalar {

struct F16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, Bf16>;
template <class T>
inline constexpr bool kIsFloat = kIsHalf<T> || std::is_floating_point_v<T>;
/// Integers of the IR: not Bool.
template <class T>
inline constexpr bool kIsInt = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// The C++ type that stands for a Type.
template <Type T>
struct CppType;
template <>
struct CppType<Type::Bool> {
  using type = bool;
};
template <>
struct CppType<Type::I8> {
  using type = std::int8_t;
};
template <>
struct CppType<Type::U8> {
  using type = std::uint8_t;
};
template <>
struct CppType<Type::I16> {
  using type = std::int16_t;
};
template <>
struct CppType<Type::U16> {
  using type = std::uint16_t;
};
template <>
struct CppType<Type::I32> {
  using type = std::int32_t;
};
template <>
struct CppType<Type::U32> {
  using type = std::uint32_t;
};
template <>
struct CppType<Type::I64> {
  using type = std::int64_t;
};
template <>
struct CppType<Type::U64> {
  using type = std::uint64_t;
};
template <>
struct CppType<Type::F16> {
  using type = F16;
};
template <>
struct CppType<Type::Bf16> {
  using type = Bf16;
};
template <>
struct CppType<Type::F32> {
  using type = float;
};
template <>
struct CppType<Type::F64> {
  using type = double;
};
template <Type T>
using Cpp = typename CppType<T>::type;

// --- representation: a value is its bits in the low end of 64, the rest zero; Bool is 0 or 1 ------------------------------------

template <class T>
T unpack(std::uint64_t b) {
  if constexpr (std::is_same_v<T, bool>) return b != 0;
  else if constexpr (kIsHalf<T>) return T{static_cast<std::uint16_t>(b)};
  else if constexpr (std::is_same_v<T, float>) return numeric::f32(static_cast<std::uint32_t>(b));
  else if constexpr (std::is_same_v<T, double>) return numeric::f64(b);
  else return static_cast<T>(b);
}
template <class T>
std::uint64_t pack(T x) {
  if constexpr (std::is_same_v<T, bool>) return x ? 1 : 0;
  else if constexpr (kIsHalf<T>) return x.bits;
  else if constexpr (std::is_floating_point_v<T>) return numeric::bits(x);
  else return static_cast<std::make_unsigned_t<T>>(x);
}

// --- 16-bit floats compute in binary64 and narrow once. That is one correct rounding: sums and products are exact or, as quotients and
// --- roots, innocent by 53 >= 2p + 2 (Figueroa, "When is double rounding innocuous?", 1995); fma goes through rounding to odd.

template <class T>
double widen(T x) {
  if constexpr (std::is_same_v<T, F16>) return static_cast<double>(numeric::f32_from_f16(x.bits));
  else if constexpr (std::is_same_v<T, Bf16>) return static_cast<double>(numeric::f32_from_bf16(x.bits));
  else return static_cast<double>(x);
}
template <class T>
T narrow(double x) {
  if constexpr (std::is_same_v<T, F16>) return F16{numeric::f16_from(x)};
  else if constexpr (std::is_same_v<T, Bf16>) return Bf16{numeric::bf16_from(x)};
  else return static_cast<T>(x);
}

/// Integer arithmetic in 64 unsigned bits, where it cannot overflow in C++, then cut to the type.
template <class T>
std::uint64_t wide(T x) {
  return static_cast<std::uint64_t>(x);
}

template <class T>
T add(T x, T y) {
  if constexpr (kIsHalf<T>) return narrow<T>(widen(x) + widen(y));
  else if constexpr (kIsFloat<T>) return x + y;
  else return static_cast<T>(wide(x) + wide(y));
}
template <class T>
T sub(T x, T y) {
  if constexpr (kIsHalf<T>) return narrow<T>(widen(x) - widen(y));
  else if constexpr (kIsFloat<T>) return x - y;
  else return static_cast<T>(wide(x) - wide(y));
}
template <class T>
T mul(T x, T y) {
  if constexpr (kIsHalf<T>) return narrow<T>(widen(x) * widen(y));
  else if constexpr (kIsFloat<T>) return x * y;
  else return static_cast<T>(wide(x) * wide(y));
}
template <class T>
T mulacc(T x, T y, T z) {
  if constexpr (kIsHalf<T>) return narrow<T>(numeric::fma_for_narrowing(widen(x), widen(y), widen(z)));
  else if constexpr (kIsFloat<T>) return std::fma(x, y, z);
  else return static_cast<T>(wide(x) * wide(y) + wide(z));
}
template <class T>
T fdiv(T x, T y) {
  if constexpr (kIsHalf<T>) return narrow<T>(widen(x) / widen(y));
  else return x / y;
}
template <class T>
T reciprocal(T x) {
  if constexpr (kIsHalf<T>) return narrow<T>(1.0 / widen(x));
  else return T{1} / x;
}
template <class T>
T square_root(T x) {
  if constexpr (kIsHalf<T>) return narrow<T>(std::sqrt(widen(x)));
  else return std::sqrt(x);
}
template <class T>
T neg(T x) {
  if constexpr (kIsHalf<T>) return T{static_cast<std::uint16_t>(x.bits ^ 0x8000u)};
  else if constexpr (kIsFloat<T>) return -x;
  else return static_cast<T>(0 - wide(x));
}
template <class T>
T absolute(T x) {
  if constexpr (kIsHalf<T>) return T{static_cast<std::uint16_t>(x.bits & 0x7fffu)};
  else if constexpr (kIsFloat<T>) return std::fabs(x);
  else if constexpr (std::is_signed_v<T>) return x < 0 ? neg(x) : x;
  else return x;
}
template <class T>
T truncate(T x) {
  if constexpr (kIsHalf<T>) return narrow<T>(std::trunc(widen(x)));
  else if constexpr (kIsFloat<T>) return std::trunc(x);
  else return x;
}
template <class T>
T floor(T x) {
  if constexpr (kIsHalf<T>) return narrow<T>(std::floor(widen(x)));
  else return std::floor(x);
}
template <class T>
T ceil(T x) {
  if constexpr (kIsHalf<T>) return narrow<T>(std::ceil(widen(x)));
  else return std::ceil(x);
}
template <class T>
T round(T x) {
  if constexpr (kIsHalf<T>) return narrow<T>(std::round(widen(x)));
  else return std::round(x);
}
template <class T>
bool equal(T x, T y);
/// A NaN counts as positive: its sign is outside the contract, so no result may depend on it.
template <class T>
T copysign(T x, T y) {
  if (!equal(y, y)) return absolute(x);
  if constexpr (kIsHalf<T>) return T{static_cast<std::uint16_t>((x.bits & 0x7fffu) | (y.bits & 0x8000u))};
  else return std::copysign(x, y);
}

/// A NaN as the canonical quiet one, anything else as it is.
template <class T>
T canonical(T x) {
  if constexpr (std::is_same_v<T, F16>) return (x.bits & 0x7fffu) > 0x7c00u ? F16{numeric::kNanF16} : x;
  else if constexpr (std::is_same_v<T, Bf16>) return (x.bits & 0x7fffu) > 0x7f80u ? Bf16{numeric::kNanBf16} : x;
  else if constexpr (std::is_same_v<T, float>) return std::isnan(x) ? numeric::f32(numeric::kNanF32) : x;
  else return std::isnan(x) ? numeric::f64(numeric::kNanF64) : x;
}

template <class T>
bool less(T x, T y) {
  if constexpr (kIsHalf<T>) return widen(x) < widen(y);
  else return x < y;
}
template <class T>
bool equal(T x, T y) {
  if constexpr (kIsHalf<T>) return widen(x) == widen(y);
  else return x == y;
}
template <class T>
bool not_equal(T x, T y) {
  return !equal(x, y);
}
template <class T>
T maximum(T x, T y) {
  if constexpr (kIsHalf<T>) return narrow<T>(numeric::float_max(widen(x), widen(y)));
  else if constexpr (kIsFloat<T>) return numeric::float_max(x, y);
  else return x < y ? y : x;
}
template <class T>
T minimum(T x, T y) {
  if constexpr (kIsHalf<T>) return narrow<T>(numeric::float_min(widen(x), widen(y)));
  else if constexpr (kIsFloat<T>) return numeric::float_min(x, y);
  else return y < x ? y : x;
}

template <class T>
T divide(T x, T y) {
  return numeric::divide(x, y);
}
template <class T>
T remainder(T x, T y) {
  return numeric::remainder(x, y);
}
template <class T>
T floor_divide(T x, T y) {
  return numeric::floor_divide(x, y);
}
template <class T>
T floor_remainder(T x, T y) {
  return numeric::floor_remainder(x, y);
}
template <class T>
T shift_left(T x, std::uint64_t count) {
  return numeric::shift_left(x, count);
}
template <class T>
T shift_right(T x, std::uint64_t count) {
  return numeric::shift_right(x, count);
}

/// Bit counts; the results fit every integer type.
template <class T>
std::uint64_t leading_zeros(T x) {
  return static_cast<std::uint64_t>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(x)));
}
template <class T>
std::uint64_t trailing_zeros(T x) {
  return static_cast<std::uint64_t>(std::countr_zero(static_cast<std::make_unsigned_t<T>>(x)));
}
template <class T>
std::uint64_t one_bits(T x) {
  return static_cast<std::uint64_t>(std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
}
__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 WideUnsigned;
template <class T>
T multiply_high(T x, T y) {
  if constexpr (std::is_signed_v<T>) return static_cast<T>((Wide{x} * Wide{y}) >> (8 * sizeof(T)));
  else return static_cast<T>((WideUnsigned{x} * WideUnsigned{y}) >> (8 * sizeof(T)));
}

/// CAST: conversion of value with one correct rounding; floats to integers truncate and saturate, NaN gives 0; Bool is "not zero".
template <class To, class From>
To cast(From x) {
  if constexpr (std::is_same_v<To, From>) return x;
  else if constexpr (std::is_same_v<To, bool>) {
    if constexpr (kIsHalf<From>) return widen(x) != 0;
    else return x != From{0};
  } else if constexpr (kIsFloat<From>) {
    if constexpr (kIsInt<To>) return numeric::float_to_int<To>(widen(x));
    else return narrow<To>(widen(x));  // every float is a binary64, so narrowing is the only rounding
  } else if constexpr (kIsHalf<To>) {
    if constexpr (sizeof(From) < 8) return narrow<To>(static_cast<double>(x));
    else return narrow<To>(numeric::double_to_odd(x));
  } else return static_cast<To>(x);
}

/// Threefry 2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): the counter's and the key's low words
/// are their low halves, so is the result's.
std::uint64_t threefry(std::uint64_t counter, std::uint64_t key);

}  // namespace sarek::ir::scalar
