// Integer division with the contract's meaning: total (x / 0 = x, x % 0 = 0, MIN / -1 = MIN), truncating or rounding down. Vectors of
// narrow integers are divided as floats, exactly: CPUs have no vector division of integers.
#include "emitters/llvm/kernel_emitter.h"

namespace sarek::emit {

using namespace ir;  // NOLINT: this folder is about the IR; LLVM names are qualified

/// The truncated quotient of lanes whose divisor is neither 0 nor, for signed types, -1.
KernelEmitter::Value* KernelEmitter::divide_lanes(Type type, Value* x, Value* y) {
  const int bits = type_bits(type);
  const bool sign = is_signed(type);
  // A 64-bit lane has no exact float; a scalar has its own instruction.
  if (!x->getType()->isVectorTy() || bits == 64) return sign ? b_.CreateSDiv(x, y) : b_.CreateUDiv(x, y);
  // With |x|, |y| < 2^b: a quotient that is not whole is at least 1 / |y| away from the next integer, and |x / y| * |y| < 2^b makes that
  // more than |x / y| * 2^-b. Half an ulp of a format of at least b + 1 bits is less, so rounding cannot reach the integer.
  llvm::Type* real = vector_type(bits == 32 ? b_.getDoubleTy() : b_.getFloatTy());
  Value* a = sign ? b_.CreateSIToFP(x, real) : b_.CreateUIToFP(x, real);
  Value* b = sign ? b_.CreateSIToFP(y, real) : b_.CreateUIToFP(y, real);
  Value* q = b_.CreateFDiv(a, b);
  return sign ? b_.CreateFPToSI(q, x->getType()) : b_.CreateFPToUI(q, x->getType());
}

/// The truncated quotient by any divisor.
KernelEmitter::Value* KernelEmitter::divide_total(NodeId id, Value* x, Value* y) {
  const Type t = type(id);
  llvm::Type* lt = x->getType();
  const auto divisor = integer_literal(graph(), source(id, 1));
  if (divisor) {  // LLVM turns division by a constant into a multiplication
    if (*divisor == 0) return x;
    if (is_signed(t)) return *divisor == -1 ? b_.CreateNeg(x) : b_.CreateSDiv(x, y);
    return b_.CreateUDiv(x, y);
  }
  llvm::Constant* zero = llvm::Constant::getNullValue(lt);
  llvm::Constant* one = llvm::ConstantInt::get(lt, 1);
  if (!is_signed(t)) return divide_lanes(t, x, b_.CreateSelect(b_.CreateICmpEQ(y, zero), one, y));
  // 0 and -1 become 1, which gives x / 0 = x at once; x / -1 is a wrapping negation.
  Value* minus = b_.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(lt));
  Value* special = b_.CreateICmpULT(b_.CreateAdd(y, one), llvm::ConstantInt::get(lt, 2));
  Value* q = divide_lanes(t, x, b_.CreateSelect(special, one, y));
  return b_.CreateSelect(minus, b_.CreateNeg(x), q);
}

KernelEmitter::Value* KernelEmitter::divide(NodeId id, Op o, bool as_vector) {
  const Type t = type(id);
  if (!is_int(t)) fail(id, "division of integers on another type");
  Value* x = operand(source(id, 0), as_vector);
  Value* y = operand(source(id, 1), as_vector);
  llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
  Value* q = divide_total(id, x, y);
  if (o == Op::Cdiv) return q;
  const auto divisor = integer_literal(graph(), source(id, 1));
  Value* rest = b_.CreateSub(x, b_.CreateMul(q, y));
  if (divisor ? *divisor == 0 : true) {
    Value* is_zero = b_.CreateICmpEQ(y, zero);
    rest = b_.CreateSelect(is_zero, zero, rest);
  }
  if (o == Op::Cmod) return rest;
  if (!is_signed(t)) return o == Op::Floordiv ? q : rest;
  // Rounding down differs where the remainder is not zero and its sign is not the divisor's.
  Value* differs = b_.CreateAnd(b_.CreateICmpNE(rest, zero), b_.CreateICmpSLT(b_.CreateXor(rest, y), zero));
  if (o == Op::Floordiv) return b_.CreateAdd(q, b_.CreateSExt(differs, x->getType()));
  return b_.CreateAdd(rest, b_.CreateSelect(differs, y, zero));
}

}  // namespace sarek::emit
