#include "compiler/passes/narrow_floats.h"

namespace sarek::passes {

using ir::Type;

Expr f16_bits_of_f32(Expr x) {
  const Expr b = x.bits(Type::U32);
  const Expr sign = (b >> 16) & 0x8000;
  const Expr m = b & 0x7fffffff;
  // Normal results: drop 13 bits to nearest even, rebias by 112; a carry moves into the exponent and, from 65520 on, to infinity.
  const Expr normal = (m - 0x38000000 + 0xfff + ((m >> 13) & 1)) >> 13;
  // Subnormal results: at 0.5 one unit in the last place is 2^-24, the f16 grid, so an ordinary addition rounds to it.
  const Expr subnormal = (m.bits(Type::F32) + m.bits(Type::F32).lit_float(0.5)).bits(Type::U32) - 0x3f000000;
  const Expr finite = select(m < 0x38800000, subnormal, normal);
  const Expr limited = select(m < 0x47800000, finite, m.lit(0x7c00));
  return (sign | select(x == x, limited, m.lit(0x7e00))).to(Type::U16);
}

Expr bf16_bits_of_f32(Expr x) {
  const Expr b = x.bits(Type::U32);
  const Expr rounded = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
  return select(x == x, rounded, b.lit(0x7fc0)).to(Type::U16);
}

Expr f32_of_f16_bits(Expr h) {
  const Expr w = h.to(Type::U32);
  const Expr sign = (w & 0x8000) << 16;
  const Expr m = w & 0x7fff;
  const Expr shifted = m << 13;
  const Expr normal = shifted + 0x38000000;
  const Expr special = shifted | 0x7f800000;
  const Expr count = m.to(Type::F32);
  const Expr subnormal = (count * count.lit_float(0x1p-24)).bits(Type::U32);
  const Expr magnitude = select(m < 0x400, subnormal, select(m < 0x7c00, normal, special));
  return (sign | magnitude).bits(Type::F32);
}

Expr f32_of_bf16_bits(Expr h) { return (h.to(Type::U32) << 16).bits(Type::F32); }

Expr f32_to_odd(Expr x) {
  const Expr nearest = x.to(Type::F32);
  const Expr back = nearest.to(Type::F64);
  const Expr below = back < x;
  const Expr above = x < back;
  const Expr b = nearest.bits(Type::U32);
  // Away from zero the bits count up. A zero that came from underflow takes the sign that rounding kept.
  const Expr is_negative = (b >> 31) != 0;
  const Expr grows = select(is_negative, above, below);
  const Expr odd = select(grows, b + 1, b - 1).bits(Type::F32);
  return select((below | above) & ((b & 1) == 0), odd, nearest);
}

Expr integer_for_bf16(Expr x) {
  const bool is_signed = ir::is_signed(x.type());
  const Type word = ir::type_bits(x.type()) == 64 ? Type::U64 : Type::U32;
  const Expr negative = is_signed ? x < 0 : x.wrap(x.rw->boolean(false));
  Expr m = (is_signed ? select(negative, -x, x) : x).to(word);
  // f32 holds 24 bits exactly. Where there are more, a stretch of low bits becomes one sticky bit, which must lie at least two below the 8
  // bits that bf16 keeps: from 2^t on the lowest t - 9 bits or fewer may go.
  const auto squeeze = [&](int low_bits, int from) {
    const Expr lost = (m & ((ir::Int128{1} << low_bits) - 1)) != 0;
    const Expr kept = ((m >> low_bits) << low_bits) | select(lost, m.lit(ir::Int128{1} << low_bits), m.lit(0));
    m = select(m < (ir::Int128{1} << from), m, kept);
  };
  if (word == Type::U64) {
    squeeze(45, 54);
    squeeze(30, 39);
    squeeze(15, 24);
  } else {
    squeeze(8, 24);
  }
  const Expr magnitude = m.to(Type::F32);
  return select(negative, -magnitude, magnitude);
}

Expr add_round_to_odd(Expr x, Expr y) {
  const Type word = x.type() == Type::F64 ? Type::U64 : Type::U32;
  const Expr sum = x + y;
  const Expr y_part = sum - x;
  const Expr error = (x - (sum - y_part)) + (y - y_part);
  const Expr above = error.lit(0) < error;  // both false for NaN, which an infinite sum gives
  const Expr below = error < error.lit(0);
  const Expr b = sum.bits(word);
  const Expr grows = select((b >> (ir::type_bits(word) - 1)) != 0, below, above);
  const Expr odd = select(grows, b + 1, b - 1).bits(x.type());
  return select((above | below) & ((b & 1) == 0), odd, sum);
}

}  // namespace sarek::passes
