// Exact arithmetic written with integer operations only, for targets whose own operation is missing or not correctly rounded. Templates
// over a value type V with the operators of Expr, so that one text serves the IR (V = Expr) and a test that runs it natively on millions of
// inputs. V needs: + - * & | ^ << >> < == != ! with itself and with integers, select(c, x, y), lit(), and to(Type) between U64 and I64.
#pragma once

#include "compiler/ir/types.h"

namespace sarek::passes::exact {

/// High half of the 128-bit product of two U64, from four products of halves (Hacker's Delight, 8-2).
template <class V>
V multiply_high(V x, V y) {
  const V x0 = x & 0xffffffffull, x1 = x >> 32;
  const V y0 = y & 0xffffffffull, y1 = y >> 32;
  const V low = x0 * y0;
  const V middle = x1 * y0 + (low >> 32);
  const V other = x0 * y1 + (middle & 0xffffffffull);
  return x1 * y1 + (middle >> 32) + (other >> 32);
}

/// Leading zero bits of a U64, 64 for 0, by halving the stretch in which the first one bit lies.
template <class V>
V leading_zeros(V x) {
  V count = x.lit(0);
  V rest = x;
  for (int half = 32; half >= 1; half /= 2) {
    const auto high_is_empty = (rest >> (64 - half)) == 0;
    count = select(high_is_empty, count + half, count);
    rest = select(high_is_empty, rest << half, rest);
  }
  return select(x == 0, x.lit(64), count);
}

/// One bits of a U64 (Hacker's Delight, 5-1).
template <class V>
V one_bits(V x) {
  V v = x - ((x >> 1) & 0x5555555555555555ull);
  v = (v & 0x3333333333333333ull) + ((v >> 2) & 0x3333333333333333ull);
  v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0full;
  return (v * 0x0101010101010101ull) >> 56;
}

/// x * y + z on binary64 bits (U64), rounded once to nearest even. `product` and `sum` are the bits of x * y and of x * y + z in ordinary
/// arithmetic: they serve the cases without a finite nonzero exact product and addend, where two roundings are one. `clz` and `mul_hi` are
/// the target's operations on U64, or those above.
///
/// The product of the significands is exact in 128 bits; the smaller operand is shifted to the larger one's exponent with a sticky last
/// bit, and the sum is normalised and rounded by hand, subnormal results included. Shifting by d loses bits only for d > 20 (a product ends
/// in 22 zero bits), and then at most one leading bit cancels, so that the sticky bit stays below the rounding position.
template <class V, class Clz, class MulHi>
V fma_f64(V x, V y, V z, V product, V sum, Clz clz, MulHi mul_hi) {
  using sarek::ir::Type;
  const unsigned long long kInfinity = 0x7ffull << 52;
  const unsigned long long kMagnitude = ~0ull >> 1;

  // The significand with its top bit at 63, and the biased exponent that goes with it (below 1 for subnormals).
  const auto significand = [&](V b) {
    const V fraction = b & 0xfffffffffffffull;
    const auto subnormal = ((b >> 52) & 0x7ff) == 0;
    return select(subnormal, fraction << clz(fraction), (fraction << 11) | (1ull << 63));
  };
  const auto exponent = [&](V b) {
    const V fraction = b & 0xfffffffffffffull;
    const V e = (b >> 52) & 0x7ff;
    return select(e == 0, fraction.lit(12) - clz(fraction), e).to(Type::I64);
  };
  const V mx = significand(x), my = significand(y), mz = significand(z);

  // Product in [2^127, 2^128) as high and low halves; value = product / 2^127 * 2^(pe - 1023).
  V high = mul_hi(mx, my);
  V low = mx * my;
  const auto is_short = (high >> 63) == 0;
  high = select(is_short, (high << 1) | (low >> 63), high);
  low = select(is_short, low << 1, low);
  V pe = exponent(x) + exponent(y) - 1022;
  pe = select(is_short, pe - 1, pe);
  const V ez = exponent(z);
  const V product_sign = (x ^ y) & (1ull << 63);
  const V z_sign = z & (1ull << 63);

  // a: the greater magnitude; b: the other.
  const auto z_is_greater = (pe < ez) | ((pe == ez) & (high < mz));
  const V zero = x.lit(0);
  const V a_high = select(z_is_greater, mz, high), a_low = select(z_is_greater, zero, low);
  const V b_high = select(z_is_greater, high, mz), b_low = select(z_is_greater, low, zero);
  const V ea = select(z_is_greater, ez, pe);
  const V eb = select(z_is_greater, pe, ez);
  const V sign = select(z_is_greater, z_sign, product_sign);

  // Two bits of room on top: a ends in zeros, so it loses nothing.
  const V a1 = a_high >> 2, a0 = (a_low >> 2) | (a_high << 62);
  const V distance = ea - eb;
  const V shift = select(distance < 125, distance + 2, distance.lit(127)).to(Type::U64);
  const auto far = (shift >> 6) != 0;
  const V s = shift & 63;  // of the low half's bits when far; 2 to 63 otherwise
  const V back = (64 - s) & 63;
  const V b1 = select(far, zero, b_high >> s);
  const V b0_near = (b_low >> s) | (b_high << back);
  const V b0 = select(far, b_high >> s, b0_near);
  const auto lost_far = ((b_high & ((s.lit(1) << s) - 1)) | b_low) != 0;
  const auto lost_near = (b_low & ((s.lit(1) << s) - 1)) != 0;
  const V sticky = select(far, select(lost_far, x.lit(1), zero), select(lost_near, x.lit(1), zero));
  const V b0_sticky = b0 | sticky;

  const auto subtract = product_sign != z_sign;
  const V added_low = a0 + b0_sticky;
  const V added_high = a1 + b1 + select(added_low < a0, x.lit(1), zero);
  const V less_low = a0 - b0_sticky;
  const V less_high = a1 - b1 - select(a0 < b0_sticky, x.lit(1), zero);
  const V r1 = select(subtract, less_high, added_high);
  const V r0 = select(subtract, less_low, added_low);
  const auto cancelled = (r1 | r0) == 0;

  // Normalise: top bit to 127, then keep 64 bits with a sticky one.
  const auto high_empty = r1 == 0;
  const V zeros = clz(select(high_empty, r0, r1));
  const V whole = select(high_empty, r0, r1) << zeros;
  const V carried = select(high_empty, zero, (r0 >> 1) >> (63 - zeros));
  const V rest_low = select(high_empty, zero, r0 << zeros);
  const V top = whole | carried | select(rest_low != 0, x.lit(1), zero);
  const V e = ea + 2 - (zeros + select(high_empty, x.lit(64), zero)).to(Type::I64);

  // Subnormal results shift further; then 53 bits stay and 11 decide the rounding.
  const auto tiny = e < 1;
  const V t = select(tiny, select(e < -62, e.lit(63), 1 - e), e.lit(0)).to(Type::U64);
  const V shifted = (top >> t) | select((top & ((t.lit(1) << t) - 1)) != 0, x.lit(1), zero);
  const V kept = shifted >> 11;
  const V dropped = shifted & 0x7ff;
  const auto up = (x.lit(0x400) < dropped) | ((dropped == 0x400) & ((kept & 1) != 0));
  const V rounded = kept + select(up, x.lit(1), zero);
  const V biased = select(tiny, e.lit(0), e - 1).to(Type::U64);
  const V encoded = rounded + (biased << 52);
  const V finite = sign | select(encoded < kInfinity, encoded, x.lit(static_cast<long long>(kInfinity)));
  const V general = select(cancelled, zero, finite);  // exact cancellation gives +0

  const V ax = x & kMagnitude, ay = y & kMagnitude, az = z & kMagnitude;
  const auto factor_special = (!((ax < kInfinity) & (ay < kInfinity))) | (ax == 0) | (ay == 0);
  const auto z_special = !(az < kInfinity);
  const V with_zero = select(az == 0, product, general);
  return select(factor_special, sum, select(z_special, z, with_zero));
}

}  // namespace sarek::passes::exact
