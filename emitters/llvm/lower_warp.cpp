// Exchange between the lanes of a warp. A kernel that uses it is compiled with 32 lanes per chunk, so a warp is one vector: lanes that are
// on are the live ones, arrival is given, and nothing goes through memory that others see.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "emitters/llvm/kernel_emitter.h"

namespace sarek::emit {

using namespace ir;  // NOLINT: this folder is about the IR; LLVM names are qualified

Lanes KernelEmitter::emit_warp(NodeId id) {
  if (width_ != 32) fail(id, "warps need 32 lanes");
  const auto uniform = [](Value* v) { return Lanes{Lanes::Form::Uniform, v, 0}; };
  switch (graph().arg_as<InsArg>(id)->code) {
    case Ins::Shuffle:
    case Ins::ShuffleUp:
    case Ins::ShuffleDown:
    case Ins::ShuffleXor: return {Lanes::Form::Vector, shuffle(id), 0};
    case Ins::VoteAny: return uniform(any(mask_and(mask_, vector_of(source(id, 0)))));
    case Ins::VoteAll: {
      Value* p = vector_of(source(id, 0));
      return uniform(all(mask_ ? b_.CreateOr(b_.CreateNot(mask_), p) : p));
    }
    case Ins::Ballot: return uniform(mask_bits(mask_and(mask_, vector_of(source(id, 0)))));
    case Ins::ActiveMask: return uniform(mask_bits(mask_or_full()));
    case Ins::ReduceAdd:
    case Ins::ReduceMin:
    case Ins::ReduceMax:
    case Ins::ReduceAnd:
    case Ins::ReduceOr:
    case Ins::ReduceXor: return reduce(id);
    case Ins::Min:
    case Ins::Abs:
    case Ins::Floor:
    case Ins::Ceil:
    case Ins::Round:
    case Ins::Copysign:
    case Ins::Clz:
    case Ins::Ctz:
    case Ins::Popcount:
    case Ins::MulHigh:
    case Ins::WarpBarrier:
    case Ins::FenceBlock:
    case Ins::FenceDevice:
    case Ins::AtomicAdd:
    case Ins::AtomicSub:
    case Ins::AtomicExchange:
    case Ins::AtomicMin:
    case Ins::AtomicMax:
    case Ins::AtomicAnd:
    case Ins::AtomicOr:
    case Ins::AtomicXor:
    case Ins::AtomicInc:
    case Ins::AtomicDec:
    case Ins::AtomicCas:
    case Ins::Trap: break;
  }
  fail(id, "not a warp instruction");
}

KernelEmitter::Value* KernelEmitter::shuffle(NodeId id) {
  const Ins code = graph().arg_as<InsArg>(id)->code;
  const Type t = type(id);
  Value* own = to_memory(vector_of(source(id, 0)), t);
  const auto source_lane = [&](std::int64_t lane, std::int64_t n) -> std::int64_t {
    if (code == Ins::Shuffle) return n & 31;
    n = std::clamp<std::int64_t>(n, -32, 32);  // nothing beyond is a lane
    if (code == Ins::ShuffleUp) return lane - n;
    if (code == Ins::ShuffleDown) return lane + n;
    return lane ^ n;
  };
  if (const auto n = integer_literal(graph(), source(id, 1))) {  // a permutation known here
    std::vector<int> lanes;
    for (int l = 0; l < 32; ++l) {
      const std::int64_t from = source_lane(l, *n);
      lanes.push_back(from >= 0 && from < 32 ? static_cast<int>(from) : l);
    }
    Value* moved = b_.CreateShuffleVector(own, lanes);
    if (mask_) moved = b_.CreateSelect(b_.CreateShuffleVector(mask_, lanes), moved, own);
    return to_register(moved, t);
  }
  llvm::Type* word = b_.getInt32Ty();
  Value* n = vector_of(source(id, 1));
  const Type distance = type(source(id, 1));
  if (code != Ins::Shuffle && (distance == Type::U32 || type_bits(distance) == 64)) {
    // What i32 does not hold must not come back into range: no distance of 32 or more meets a lane.
    const auto limit = [&](std::int64_t v) { return splat(llvm::ConstantInt::getSigned(scalar_type(distance), v)); };
    if (is_signed(distance)) n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, limit(-32));
    n = b_.CreateBinaryIntrinsic(is_signed(distance) ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, n, limit(32));
  }
  n = convert(n, distance, Type::I32);
  Value* lane = lane_numbers(word, 1);
  Value* from = nullptr;
  if (code == Ins::Shuffle) from = b_.CreateAnd(n, splat(i32(31)));
  if (code == Ins::ShuffleUp) from = b_.CreateSub(lane, n);
  if (code == Ins::ShuffleDown) from = b_.CreateAdd(lane, n);
  if (code == Ins::ShuffleXor) from = b_.CreateXor(lane, n);
  Value* valid = b_.CreateICmpULT(from, splat(i32(32)));
  from = b_.CreateSelect(valid, from, lane);
  if (mask_) {
    Value* live = b_.CreateLShr(splat(mask_bits(mask_)), from);
    from = b_.CreateSelect(b_.CreateTrunc(live, vector_type(b_.getInt1Ty())), from, lane);
  }
  llvm::Type* cell = memory_type(t);
  Value* table = entry_alloca(own->getType(), "lanes");
  b_.CreateStore(own, table);
  Value* places = b_.CreateGEP(cell, table, b_.CreateZExt(from, vector_type(b_.getInt64Ty())));
  Value* moved = b_.CreateMaskedGather(own->getType(), places, llvm::Align(static_cast<std::uint64_t>(type_bytes(t))), full_mask(),
                                       llvm::PoisonValue::get(own->getType()));
  return to_register(moved, t);
}

Lanes KernelEmitter::reduce(NodeId id) {
  const Ins code = graph().arg_as<InsArg>(id)->code;
  const Type t = type(id);
  Value* x = vector_of(source(id, 0));
  const auto uniform = [](Value* v) { return Lanes{Lanes::Form::Uniform, v, 0}; };
  llvm::Type* element = scalar_type(t);
  const auto with_identity = [&](llvm::Constant* identity) { return mask_ ? b_.CreateSelect(mask_, x, splat(identity)) : x; };
  if (is_float(t)) {
    if (t != Type::F32 && t != Type::F64) fail(id, "arithmetic on " + std::string(type_name(t)) + " should have been widened");
    if (code == Ins::ReduceAdd) {
      // In order of lanes; -0 is the one number whose addition changes nothing.
      llvm::Constant* nothing = llvm::ConstantFP::getNegativeZero(element);
      return uniform(b_.CreateFAddReduce(nothing, with_identity(nothing)));
    }
    if (code != Ins::ReduceMin && code != Ins::ReduceMax) fail(id, "bits of a float");
    // NaN gives way to any number, so lanes that are off hold it; the order does not matter then.
    Value* part = with_identity(llvm::ConstantFP::getNaN(element));
    for (int half = width_ / 2; half >= 1; half /= 2) {
      std::vector<int> low, high;
      for (int l = 0; l < half; ++l) low.push_back(l), high.push_back(half + l);
      part = min_max(b_.CreateShuffleVector(part, low), b_.CreateShuffleVector(part, high), code == Ins::ReduceMax, t, nullptr);
    }
    return uniform(b_.CreateExtractElement(part, i64(0)));
  }
  const auto bits = static_cast<unsigned>(element->getIntegerBitWidth());
  const auto constant_int = [&](const llvm::APInt& v) { return llvm::ConstantInt::get(context_, v); };
  const bool sign = is_signed(t);
  switch (code) {
    case Ins::ReduceAdd: return uniform(b_.CreateAddReduce(with_identity(constant_int(llvm::APInt::getZero(bits)))));
    case Ins::ReduceAnd: return uniform(b_.CreateAndReduce(with_identity(constant_int(llvm::APInt::getAllOnes(bits)))));
    case Ins::ReduceOr: return uniform(b_.CreateOrReduce(with_identity(constant_int(llvm::APInt::getZero(bits)))));
    case Ins::ReduceXor: return uniform(b_.CreateXorReduce(with_identity(constant_int(llvm::APInt::getZero(bits)))));
    case Ins::ReduceMin:
      return uniform(b_.CreateIntMinReduce(
          with_identity(constant_int(sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits))), sign));
    case Ins::ReduceMax:
      return uniform(b_.CreateIntMaxReduce(
          with_identity(constant_int(sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits))), sign));
    case Ins::Min:
    case Ins::Abs:
    case Ins::Floor:
    case Ins::Ceil:
    case Ins::Round:
    case Ins::Copysign:
    case Ins::Clz:
    case Ins::Ctz:
    case Ins::Popcount:
    case Ins::MulHigh:
    case Ins::Shuffle:
    case Ins::ShuffleUp:
    case Ins::ShuffleDown:
    case Ins::ShuffleXor:
    case Ins::VoteAll:
    case Ins::VoteAny:
    case Ins::Ballot:
    case Ins::ActiveMask:
    case Ins::WarpBarrier:
    case Ins::FenceBlock:
    case Ins::FenceDevice:
    case Ins::AtomicAdd:
    case Ins::AtomicSub:
    case Ins::AtomicExchange:
    case Ins::AtomicMin:
    case Ins::AtomicMax:
    case Ins::AtomicAnd:
    case Ins::AtomicOr:
    case Ins::AtomicXor:
    case Ins::AtomicInc:
    case Ins::AtomicDec:
    case Ins::AtomicCas:
    case Ins::Trap: break;
  }
  fail(id, "not a reduction");
}

}  // namespace sarek::emit
