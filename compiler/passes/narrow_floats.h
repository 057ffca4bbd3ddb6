// f16 and bf16 on targets without them: conversions with integer operations, fma by rounding to odd. Formulas only; which node gets which
// is legalise.cpp's business.
#pragma once

#include "compiler/passes/expr.h"

namespace sarek::passes {

inline bool is_narrow_float(ir::Type t) { return t == ir::Type::F16 || t == ir::Type::Bf16; }

/// The bits (U16) of f32 `x` rounded to nearest even.
Expr f16_bits_of_f32(Expr x);
Expr bf16_bits_of_f32(Expr x);
/// The value (F32) of f16 or bf16 bits (U16), exact.
Expr f32_of_f16_bits(Expr h);
Expr f32_of_bf16_bits(Expr h);

/// f64 `x` as an f32 rounded to odd: exact, or the neighbour whose last bit is one. Narrowed further to a format with at least two bits
/// less it is correctly rounded (Boldo and Melquiond, 2008). Overflow gives the largest finite f32, which every narrower format rounds to
/// infinity or above its range; NaN stays NaN.
Expr f32_to_odd(Expr x);
/// Integer `x` of 32 or 64 bits as an f32 whose narrowing to bf16 is the one correct rounding.
Expr integer_for_bf16(Expr x);

/// x + y rounded to odd, in the operands' type (F32 or F64): Knuth's exact error decides the last bit. Where x + y overflows or is NaN,
/// that.
Expr add_round_to_odd(Expr x, Expr y);

}  // namespace sarek::passes
