// Pure operations, each with exactly the contract's meaning (numerics): no fast-math flag, no contraction, no library call. What the target
// lacks was legalised before; what native_capabilities claims is written out here where the machine's own operation means less.
#include <llvm/IR/Intrinsics.h>

#include <cmath>

#include "compiler/ir/evaluate.h"
#include "emitters/llvm/kernel_emitter.h"

namespace sarek::emit {

using namespace ir;  // NOLINT: this folder is about the IR; LLVM names are qualified
using llvm::Intrinsic::ID;

llvm::Type* KernelEmitter::scalar_type(Type type) {
  switch (type) {
    case Type::Bool: return b_.getInt1Ty();
    case Type::F32: return b_.getFloatTy();
    case Type::F64: return b_.getDoubleTy();
    // Narrow floats are carried as their bits: their arithmetic was widened, and no pass can then mistake them for numbers.
    case Type::F16:
    case Type::Bf16:
    case Type::I16:
    case Type::U16: return b_.getInt16Ty();
    case Type::I8:
    case Type::U8:
    case Type::F8e4m3:
    case Type::F8e5m2:
    case Type::F8e4m3fnuz:
    case Type::F8e5m2fnuz: return b_.getInt8Ty();
    case Type::I32:
    case Type::U32: return b_.getInt32Ty();
    case Type::I64:
    case Type::U64: return b_.getInt64Ty();
    case Type::Void:
    case Type::WeakInt:
    case Type::WeakFloat: break;
  }
  throw EmitFault("kernel `" + program_.name + "`: a value of type " + std::string(type_name(type)));
}

llvm::Type* KernelEmitter::memory_type(Type type) { return type == Type::Bool ? b_.getInt8Ty() : scalar_type(type); }

KernelEmitter::Value* KernelEmitter::to_register(Value* x, Type type) {
  return type == Type::Bool ? b_.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType())) : x;
}

KernelEmitter::Value* KernelEmitter::to_memory(Value* x, Type type) {
  if (type != Type::Bool) return x;
  llvm::Type* byte = b_.getInt8Ty();
  return b_.CreateZExt(x, x->getType()->isVectorTy() ? vector_type(byte) : byte);
}

// --- masks -------------------------------------------------------------------------------------------------------------------------------

// Where masks have no registers of their own they live, across blocks, as lanes of all ones or zeros: what blends and masked accesses read.
llvm::Type* KernelEmitter::mask_storage_type() { return vector_type(mask_registers_ ? b_.getInt1Ty() : b_.getInt32Ty()); }

KernelEmitter::Value* KernelEmitter::mask_to_storage(Value* mask) {
  return mask_registers_ ? mask : b_.CreateSExt(mask, mask_storage_type());
}

KernelEmitter::Value* KernelEmitter::mask_from_storage(Value* stored) {
  return mask_registers_ ? stored : b_.CreateICmpSLT(stored, llvm::Constant::getNullValue(stored->getType()));
}

KernelEmitter::Value* KernelEmitter::any(Value* mask) { return b_.CreateOrReduce(mask); }
KernelEmitter::Value* KernelEmitter::all(Value* mask) { return b_.CreateAndReduce(mask); }
KernelEmitter::Value* KernelEmitter::mask_bits(Value* mask) { return b_.CreateBitCast(mask, b_.getIntNTy(static_cast<unsigned>(width_))); }
KernelEmitter::Value* KernelEmitter::mask_and(Value* x, Value* y) {
  if (!x) return y;
  return y ? b_.CreateAnd(x, y) : x;
}

KernelEmitter::Value* KernelEmitter::lane_numbers(llvm::Type* element, std::int64_t stride) {
  std::vector<llvm::Constant*> lanes;
  for (int l = 0; l < width_; ++l) lanes.push_back(llvm::ConstantInt::get(element, static_cast<std::uint64_t>(l * stride), true));
  return llvm::ConstantVector::get(lanes);
}

// --- operands ----------------------------------------------------------------------------------------------------------------------------

KernelEmitter::Value* KernelEmitter::constant(NodeId id) {
  const Type t = type(id);
  const auto value = literal(graph(), id);
  const auto bits = value ? bits_of(*value, t) : std::nullopt;
  if (!bits) fail(id, "not a literal of the backend");
  if (t == Type::Bool) return b_.getInt1(*bits != 0);
  llvm::Constant* integer = llvm::ConstantInt::get(b_.getIntNTy(static_cast<unsigned>(type_bits(t))), *bits);
  return t == Type::F32 || t == Type::F64 ? llvm::ConstantExpr::getBitCast(integer, scalar_type(t)) : integer;
}

Lanes KernelEmitter::leaf(NodeId id) {
  const auto uniform = [](Value* v) { return Lanes{Lanes::Form::Uniform, v, 0}; };
  if (literal(graph(), id)) return uniform(constant(id));
  if (op(id) == Op::Param) {
    const auto* p = graph().arg_as<ParamArg>(id);
    return uniform(slots_[static_cast<std::size_t>(p->slot)]);
  }
  if (op(id) != Op::Special) fail(id, "used before its definition");
  const std::string& name = graph().arg_as<NameArg>(id)->name;
  const int axis = name.back() - 'x';
  if (name.starts_with("group_id.") && axis >= 0 && axis < 3) return uniform(group_[axis]);
  if (!name.starts_with("local_id.") || axis < 0 || axis > 2) fail(id, "unknown index " + name);
  const auto& extents = program_.block;
  const int extent = extents[static_cast<std::size_t>(axis)];
  const int inner = axis == 0 ? 1 : axis == 1 ? extents[0] : extents[0] * extents[1];
  const bool outermost = inner * extent == program_.block_threads();
  if (extent == 1) return uniform(i32(0));
  Value* first = b_.CreateMul(chunk_, i32(width_), "", true, true);
  const auto coordinate = [&](Value* thread) {
    Value* q = inner == 1 ? thread : b_.CreateUDiv(thread, llvm::ConstantInt::get(thread->getType(), static_cast<std::uint64_t>(inner)));
    return outermost ? q : b_.CreateURem(q, llvm::ConstantInt::get(thread->getType(), static_cast<std::uint64_t>(extent)));
  };
  switch (analysis_.of(id).variance) {
    case Variance::Block:
    case Variance::Chunk: return uniform(coordinate(first));
    case Variance::Affine: return {Lanes::Form::Affine, coordinate(first), 1};
    case Variance::Varying: break;
  }
  return {Lanes::Form::Vector, coordinate(b_.CreateAdd(splat(first), lane_numbers(b_.getInt32Ty(), 1))), 0};
}

/// Has the node a value here? Values of other regions have one only where they were imported.
bool KernelEmitter::is_known(NodeId id) const {
  return values_[id.index()].form != Lanes::Form::None || literal(graph(), id) || op(id) == Op::Param || op(id) == Op::Special;
}

Lanes KernelEmitter::get(NodeId id) {
  const Lanes& known = values_[id.index()];
  return known.form != Lanes::Form::None ? known : leaf(id);
}

KernelEmitter::Value* KernelEmitter::vector_of(const Lanes& lanes) {
  if (lanes.form == Lanes::Form::Vector) return lanes.value;
  Value* base = splat(lanes.value);
  return lanes.form == Lanes::Form::Uniform ? base : b_.CreateAdd(base, lane_numbers(lanes.value->getType(), lanes.stride));
}

KernelEmitter::Value* KernelEmitter::scalar_of(NodeId id) {
  const Lanes lanes = get(id);
  if (lanes.form != Lanes::Form::Uniform) fail(id, "expected to be uniform");
  return lanes.value;
}

Lanes KernelEmitter::emit_value(NodeId id) {
  const NodeFacts& facts = analysis_.of(id);
  if (facts.variance == Variance::Affine) return combine_affine(id);
  if (facts.variance == Variance::Varying) return {Lanes::Form::Vector, compute(id, true), 0};
  // Uniform, from affine operands perhaps: the high bits of consecutive numbers, or lanes that cancel.
  for (const NodeId s : graph().sources(id))
    if (get(s).form == Lanes::Form::Affine) return {Lanes::Form::Uniform, combine_affine(id).value, 0};
  return {Lanes::Form::Uniform, compute(id, false), 0};
}

/// The operation on lane 0; the strides are those of the analysis.
Lanes KernelEmitter::combine_affine(NodeId id) {
  const NodeFacts& facts = analysis_.of(id);
  const Op o = op(id);
  Value* x = get(source(id, 0)).value;
  Value* y = graph().sources(id).size() > 1 ? get(source(id, 1)).value : nullptr;
  // Lane 0 is a thread that runs, so what holds for every thread holds for it.
  const bool sign = facts.exact && is_signed(type(id));
  const bool plain = facts.exact && !is_signed(type(id));
  Value* base = nullptr;
  if (o == Op::Add) base = b_.CreateAdd(x, y, "", plain, sign);
  else if (o == Op::Sub) base = b_.CreateSub(x, y, "", plain, sign);
  else if (o == Op::Mul) base = b_.CreateMul(x, y, "", plain, sign);
  else if (o == Op::Neg) base = b_.CreateNeg(x);
  else if (o == Op::Shl) base = b_.CreateShl(x, y);
  else if (o == Op::Shr) base = is_signed(type(id)) ? b_.CreateAShr(x, y) : b_.CreateLShr(x, y);
  else if (o == Op::And) base = b_.CreateAnd(x, y);
  else if (o == Op::Cast) base = convert(x, type(source(id, 0)), type(id));
  else fail(id, "not affine");
  return {Lanes::Form::Affine, base, facts.stride};
}

// --- operations --------------------------------------------------------------------------------------------------------------------------

KernelEmitter::Value* KernelEmitter::compute(NodeId id, bool as_vector) {
  const Op o = op(id);
  const Type t = type(id);
  if (o == Op::Ins) return compute_ins(id, as_vector);
  const std::size_t count = graph().sources(id).size();
  const Type from = type(source(id, 0));
  const auto arithmetic = [&](Type u) {
    if (is_float(u) && u != Type::F32 && u != Type::F64)
      fail(id, "arithmetic on " + std::string(type_name(u)) + " should have been widened");
    return is_float(u);
  };
  if (o == Op::Cdiv || o == Op::Cmod || o == Op::Floordiv || o == Op::Floormod) return divide(id, o, as_vector);
  if (o == Op::Max) return min_max_of(id, true, as_vector);
  Value* x = operand(source(id, 0), as_vector);
  Value* y = count > 1 ? operand(source(id, 1), as_vector) : nullptr;
  // Exactness is known of threads that run; lanes beyond the block's end may overflow, so only scalars say so.
  const bool exact = !as_vector && analysis_.of(id).exact;
  const bool nsw = exact && is_signed(t), nuw = exact && !is_signed(t);
  switch (o) {
    case Op::Add: return arithmetic(t) ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y, "", nuw, nsw);
    case Op::Sub: return arithmetic(t) ? b_.CreateFSub(x, y) : b_.CreateSub(x, y, "", nuw, nsw);
    case Op::Mul:
      if (t == Type::Bool) return b_.CreateAnd(x, y);
      return arithmetic(t) ? b_.CreateFMul(x, y) : b_.CreateMul(x, y, "", nuw, nsw);
    case Op::Fdiv: arithmetic(t); return b_.CreateFDiv(x, y);
    case Op::Reciprocal: arithmetic(t); return b_.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1.0), x);
    case Op::Sqrt: arithmetic(t); return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    case Op::Neg: return arithmetic(t) ? b_.CreateFNeg(x) : b_.CreateNeg(x);
    case Op::Trunc: return arithmetic(t) ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x) : x;
    case Op::Shl:
    case Op::Shr: {
      // Counts are taken modulo the width; a count may have another type than the value.
      Value* n = convert(y, type(source(id, 1)), t);
      n = b_.CreateAnd(n, llvm::ConstantInt::get(n->getType(), static_cast<std::uint64_t>(type_bits(t) - 1)));
      if (o == Op::Shl) return b_.CreateShl(x, n);
      return is_signed(t) ? b_.CreateAShr(x, n) : b_.CreateLShr(x, n);
    }
    case Op::Cmplt:
      if (arithmetic(from)) return b_.CreateFCmpOLT(x, y);
      return is_signed(from) ? b_.CreateICmpSLT(x, y) : b_.CreateICmpULT(x, y);
    case Op::Cmpne: return arithmetic(from) ? b_.CreateFCmpUNE(x, y) : b_.CreateICmpNE(x, y);
    case Op::Cmpeq: return arithmetic(from) ? b_.CreateFCmpOEQ(x, y) : b_.CreateICmpEQ(x, y);
    case Op::Xor: return b_.CreateXor(x, y);
    case Op::Or: return b_.CreateOr(x, y);
    case Op::And: return b_.CreateAnd(x, y);
    case Op::Where: {
      // A select between vectors by one condition stays a select by a scalar.
      const Lanes condition = get(source(id, 0));
      Value* c = condition.form == Lanes::Form::Uniform ? condition.value : vector_of(condition);
      return b_.CreateSelect(c, y, operand(source(id, 2), as_vector));
    }
    case Op::Mulacc: {
      Value* z = operand(source(id, 2), as_vector);
      if (!arithmetic(t)) return b_.CreateAdd(b_.CreateMul(x, y), z);
      return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
    }
    case Op::Cast: return convert(x, from, t);
    case Op::Bitcast:
      if (is_float(from) && !is_float(t)) x = integer_of_float(x, from);
      return x->getType() == value_type(t, as_vector) ? x : b_.CreateBitCast(x, value_type(t, as_vector));
    case Op::Exp2:
    case Op::Log2:
    case Op::Sin:
    case Op::Pow:
    case Op::Threefry: fail(id, "has no exact definition on this backend");
    case Op::Max:
    case Op::Cdiv:
    case Op::Cmod:
    case Op::Floordiv:
    case Op::Floormod:  // above
    case Op::Special:
    case Op::Buffer:
    case Op::Alloc:
    case Op::Noop:
    case Op::Param:
    case Op::Call:
    case Op::Program:
    case Op::Linear:
    case Op::Source:
    case Op::Binary:
    case Op::Sink:
    case Op::After:
    case Op::Group:
    case Op::Stack:
    case Op::Getaddr:
    case Op::Index:
    case Op::Shrink:
    case Op::Load:
    case Op::Store:
    case Op::Wmma:
    case Op::Barrier:
    case Op::Range:
    case Op::If:
    case Op::End:
    case Op::Endif:
    case Op::Backedge:
    case Op::Const:
    case Op::Custom:
    case Op::Customi:
    case Op::Ins:
    case Op::ContiguousBackward:
    case Op::Detach:
    case Op::Stage:
    case Op::Copy:
    case Op::Mselect:
    case Op::Mstack:
    case Op::CustomFunction:
    case Op::Reshape:
    case Op::Permute:
    case Op::Expand:
    case Op::Pad:
    case Op::Flip:
    case Op::Unshard:
    case Op::Reduce:
    case Op::Allreduce: break;
  }
  fail(id, "is no arithmetic");
}

KernelEmitter::Value* KernelEmitter::compute_ins(NodeId id, bool as_vector) {
  const Ins code = graph().arg_as<InsArg>(id)->code;
  const Type t = type(id);
  const Type from = type(source(id, 0));
  if (code == Ins::Min) return min_max_of(id, false, as_vector);
  Value* x = operand(source(id, 0), as_vector);
  const bool real = is_float(from);
  if (real && from != Type::F32 && from != Type::F64)
    fail(id, "arithmetic on " + std::string(type_name(from)) + " should have been widened");
  const auto count = [&](ID intrinsic) {
    Value* n =
        intrinsic == llvm::Intrinsic::ctpop ? b_.CreateUnaryIntrinsic(intrinsic, x) : b_.CreateBinaryIntrinsic(intrinsic, x, b_.getFalse());
    return b_.CreateZExtOrTrunc(n, value_type(t, as_vector));
  };
  if (code == Ins::Abs) {
    if (real) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    return is_signed(from) ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse()) : x;
  }
  if (code == Ins::Floor) return real ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x) : x;
  if (code == Ins::Ceil) return real ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x) : x;
  if (code == Ins::Round) return real ? round_half_away(x) : x;
  if (code == Ins::Copysign) {
    // The sign of a NaN is outside the contract; it counts as positive, so that results do not depend on it.
    Value* y = operand(source(id, 1), as_vector);
    y = b_.CreateSelect(b_.CreateFCmpUNO(y, y), llvm::ConstantFP::get(y->getType(), 0.0), y);
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, y);
  }
  if (code == Ins::Clz) return count(llvm::Intrinsic::ctlz);
  if (code == Ins::Ctz) return count(llvm::Intrinsic::cttz);
  if (code == Ins::Popcount) return count(llvm::Intrinsic::ctpop);
  if (code == Ins::MulHigh) return mul_high(x, operand(source(id, 1), as_vector), from);
  fail(id, "not a pure instruction");
}

KernelEmitter::Value* KernelEmitter::round_half_away(Value* x) {
  // x - trunc(x) is exact, so the comparison with one half is too; the sum below is an integer of at most one more unit.
  Value* whole = b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  Value* rest = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, b_.CreateFSub(x, whole));
  Value* up = b_.CreateSelect(b_.CreateFCmpOGE(rest, llvm::ConstantFP::get(x->getType(), 0.5)), llvm::ConstantFP::get(x->getType(), 1.0),
                              llvm::ConstantFP::get(x->getType(), 0.0));
  Value* moved = b_.CreateFAdd(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, whole), up);
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, moved, x);
}

KernelEmitter::Value* KernelEmitter::mul_high(Value* x, Value* y, Type type) {
  const auto bits = static_cast<unsigned>(type_bits(type));
  llvm::Type* narrow = x->getType();
  llvm::Type* wide = b_.getIntNTy(2 * bits);
  if (narrow->isVectorTy()) wide = vector_type(wide);
  const auto widen = [&](Value* v) { return is_signed(type) ? b_.CreateSExt(v, wide) : b_.CreateZExt(v, wide); };
  return b_.CreateTrunc(b_.CreateLShr(b_.CreateMul(widen(x), widen(y)), llvm::ConstantInt::get(wide, bits)), narrow);
}

// --- minimum and maximum -----------------------------------------------------------------------------------------------------------------

KernelEmitter::Value* KernelEmitter::bits_of_float(Value* x) {
  return b_.CreateBitCast(x, x->getType()->getWithNewType(b_.getIntNTy(x->getType()->getScalarSizeInBits())));
}

KernelEmitter::Value* KernelEmitter::min_max_of(NodeId id, bool max, bool as_vector) {
  NodeId x = source(id, 0), y = source(id, 1);
  if (literal(graph(), x) && !literal(graph(), y)) std::swap(x, y);  // commutative but for the payload of a NaN
  const auto value = literal(graph(), y);
  return min_max(operand(x, as_vector), operand(y, as_vector), max, type(id), value ? &*value : nullptr);
}

/// The contract's min and max: the number when one operand is NaN, -0 below +0.
KernelEmitter::Value* KernelEmitter::min_max(Value* x, Value* y, bool max, Type type, const ConstValue* literal_y) {
  if (!is_float(type)) {
    const bool sign = is_signed(type);
    const ID intrinsic =
        max ? (sign ? llvm::Intrinsic::smax : llvm::Intrinsic::umax) : (sign ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
    return b_.CreateBinaryIntrinsic(intrinsic, x, y);
  }
  if (type != Type::F32 && type != Type::F64)
    throw EmitFault("kernel `" + program_.name + "`: minimum of a narrow float should have been widened");
  // One machine instruction on x86: y when the operands are equal or one is NaN.
  Value* chosen = b_.CreateSelect(max ? b_.CreateFCmpOGT(x, y) : b_.CreateFCmpOLT(x, y), x, y);
  if (literal_y && literal_y->kind == ConstValue::Kind::Float && literal_y->number == literal_y->number) {
    // y is a number. Equal operands of which y is not zero have equal bits; of zeros y is right when it is the extreme one.
    const bool extreme = literal_y->number != 0.0 || std::signbit(literal_y->number) != max;
    if (extreme) return chosen;
  }
  chosen = b_.CreateSelect(b_.CreateFCmpUNO(y, y), x, chosen);
  // Equal operands differ in the sign of a zero at most: its bit is the or of both for min, the and for max.
  Value* xb = bits_of_float(x);
  Value* cb = bits_of_float(chosen);
  Value* equal = b_.CreateFCmpOEQ(x, y);
  llvm::Constant* zeros = llvm::Constant::getNullValue(xb->getType());
  llvm::Constant* ones = llvm::Constant::getAllOnesValue(xb->getType());
  Value* merged = max ? b_.CreateAnd(cb, b_.CreateSelect(equal, xb, ones)) : b_.CreateOr(cb, b_.CreateSelect(equal, xb, zeros));
  return b_.CreateBitCast(merged, x->getType());
}

// --- conversions -------------------------------------------------------------------------------------------------------------------------

KernelEmitter::Value* KernelEmitter::integer_of_float(Value* x, Type float_type) {
  // Any NaN becomes the canonical quiet one; narrow floats are carried as bits already.
  Value* bits = nullptr;
  Value* nan = nullptr;
  if (float_type == Type::F32 || float_type == Type::F64) {
    bits = bits_of_float(x);
    nan = b_.CreateFCmpUNO(x, x);
  } else if (float_type == Type::F16 || float_type == Type::Bf16) {
    bits = x;
    const std::uint64_t infinity = float_type == Type::F16 ? 0x7c00 : 0x7f80;
    nan = b_.CreateICmpUGT(b_.CreateAnd(x, llvm::ConstantInt::get(x->getType(), 0x7fff)), llvm::ConstantInt::get(x->getType(), infinity));
  } else {
    return x;
  }
  return b_.CreateSelect(nan,
                         llvm::ConstantInt::get(bits->getType(), canonical_nan(float_type, float_type == Type::F64   ? 0x7fffffffffffffffull
                                                                                           : float_type == Type::F32 ? 0x7fffffffull
                                                                                                                     : 0x7fffull)),
                         bits);
}

KernelEmitter::Value* KernelEmitter::float_to_int(Value* x, Type from, Type to) {
  // Truncate, saturate, NaN to 0. The bounds are powers of two or zero, exact in every format that gets here; the conversion itself sees
  // numbers in range only.
  const int bits = type_bits(to);
  llvm::Type* real = x->getType();
  llvm::Type* whole = value_type(to, real->isVectorTy());
  const double above = std::ldexp(1.0, is_signed(to) ? bits - 1 : bits);
  const double least = is_signed(to) ? -above : 0.0;
  (void)from;
  Value* below = b_.CreateFCmpOLT(x, llvm::ConstantFP::get(real, above));
  Value* safe = b_.CreateSelect(below, x, llvm::ConstantFP::get(real, 0.0));  // too great or NaN: 0
  Value* floor = llvm::ConstantFP::get(real, least);
  safe = b_.CreateSelect(b_.CreateFCmpOGT(safe, floor), safe, floor);
  Value* result = is_signed(to) ? b_.CreateFPToSI(safe, whole) : b_.CreateFPToUI(safe, whole);
  const llvm::APInt greatest =
      is_signed(to) ? llvm::APInt::getSignedMaxValue(static_cast<unsigned>(bits)) : llvm::APInt::getMaxValue(static_cast<unsigned>(bits));
  return b_.CreateSelect(b_.CreateFCmpOGE(x, llvm::ConstantFP::get(real, above)), llvm::ConstantInt::get(whole, greatest), result);
}

KernelEmitter::Value* KernelEmitter::convert(Value* x, Type from, Type to) {
  if (from == to) return x;
  llvm::Type* target = value_type(to, x->getType()->isVectorTy());
  const bool real_from = is_float(from), real_to = is_float(to);
  const auto is_plain = [](Type t) { return t == Type::F32 || t == Type::F64; };
  if (from == Type::Bool) {
    if (real_to && is_plain(to)) return b_.CreateUIToFP(x, target);
    if (!real_to) return b_.CreateZExt(x, target);
  } else if (to == Type::Bool) {
    if (real_from && is_plain(from)) return b_.CreateFCmpUNE(x, llvm::ConstantFP::get(x->getType(), 0.0));
    if (!real_from) return b_.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
  } else if (!real_from && !real_to) {
    return is_signed(from) ? b_.CreateSExtOrTrunc(x, target) : b_.CreateZExtOrTrunc(x, target);
  } else if (real_from && real_to) {
    if (is_plain(from) && is_plain(to)) return from == Type::F32 ? b_.CreateFPExt(x, target) : b_.CreateFPTrunc(x, target);
    const bool conversion = options_.level != NativeLevel::Sse42;
    llvm::Type* half = b_.getHalfTy();
    if (x->getType()->isVectorTy()) half = vector_type(half);
    // Fences hide from where and where to: LLVM moves comparisons and selects into f16, where it calls the library for them, and takes
    // an integer that f16 holds exactly but for its size through f16 as if nothing became infinite.
    const auto fence = [&](Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::arithmetic_fence, v); };
    if (conversion && from == Type::F16 && to == Type::F32) return fence(b_.CreateFPExt(b_.CreateBitCast(x, half), target));
    if (conversion && from == Type::F32 && to == Type::F16) return b_.CreateBitCast(b_.CreateFPTrunc(fence(x), half), target);
  } else if (real_from && is_plain(from)) {
    return float_to_int(x, from, to);
  } else if (real_to && is_plain(to)) {
    return is_signed(from) ? b_.CreateSIToFP(x, target) : b_.CreateUIToFP(x, target);
  }
  throw EmitFault("kernel `" + program_.name + "`: the conversion of " + std::string(type_name(from)) + " to " +
                  std::string(type_name(to)) + " should have been written out");
}

}  // namespace sarek::emit
