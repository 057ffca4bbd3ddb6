// Atomics, lane after lane in order. Block-shared storage belongs to one worker, so plain loads and stores are atomic enough there; sums
// and the like to one cell whose old value nobody asks for are reduced first.
#include <llvm/IR/Intrinsics.h>

#include "emitters/llvm/kernel_emitter.h"

namespace sarek::emit {

using namespace ir;  // NOLINT: this folder is about the IR; LLVM names are qualified
using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;
using llvm::BasicBlock;

namespace {

std::optional<AtomicRMWInst::BinOp> machine_operation(Ins code, Type type) {
  const bool sign = is_signed(type);
  if (code == Ins::AtomicExchange) return AtomicRMWInst::Xchg;
  if (is_float(type)) return std::nullopt;
  if (code == Ins::AtomicAdd || code == Ins::AtomicInc) return AtomicRMWInst::Add;
  if (code == Ins::AtomicSub || code == Ins::AtomicDec) return AtomicRMWInst::Sub;
  if (code == Ins::AtomicAnd) return AtomicRMWInst::And;
  if (code == Ins::AtomicOr) return AtomicRMWInst::Or;
  if (code == Ins::AtomicXor) return AtomicRMWInst::Xor;
  if (code == Ins::AtomicMin) return sign ? AtomicRMWInst::Min : AtomicRMWInst::UMin;
  if (code == Ins::AtomicMax) return sign ? AtomicRMWInst::Max : AtomicRMWInst::UMax;
  return std::nullopt;
}

// Operations that one lane's index may take as a scalar.
constexpr int kScalarOperations = 4;

}  // namespace

/// The new value of the cell.
KernelEmitter::Value* KernelEmitter::atomic_combine(Ins code, Type type, Value* old, Value* operand, Value* compare) {
  const bool real = is_float(type);
  if (code == Ins::AtomicExchange) return operand;
  if (code == Ins::AtomicCas) return b_.CreateSelect(real ? b_.CreateFCmpOEQ(old, compare) : b_.CreateICmpEQ(old, compare), operand, old);
  if (code == Ins::AtomicAdd || code == Ins::AtomicInc) return real ? b_.CreateFAdd(old, operand) : b_.CreateAdd(old, operand);
  if (code == Ins::AtomicSub || code == Ins::AtomicDec) return real ? b_.CreateFSub(old, operand) : b_.CreateSub(old, operand);
  if (code == Ins::AtomicMin || code == Ins::AtomicMax) return min_max(old, operand, code == Ins::AtomicMax, type, nullptr);
  if (code == Ins::AtomicAnd) return b_.CreateAnd(old, operand);
  if (code == Ins::AtomicOr) return b_.CreateOr(old, operand);
  return b_.CreateXor(old, operand);
}

/// Updates one cell and returns its old value.
KernelEmitter::Value* KernelEmitter::atomic_update(Ins code, Type type, Value* pointer, Value* operand, Value* compare, bool shared) {
  llvm::Type* element = scalar_type(type);
  const llvm::Align align(static_cast<std::uint64_t>(type_bytes(type)));
  if (shared) {
    Value* old = b_.CreateAlignedLoad(element, pointer, align);
    b_.CreateAlignedStore(atomic_combine(code, type, old, operand, compare), pointer, align);
    return old;
  }
  llvm::Type* word = b_.getIntNTy(static_cast<unsigned>(type_bits(type)));
  if (const auto machine = machine_operation(code, type)) {
    Value* old = b_.CreateAtomicRMW(*machine, pointer, b_.CreateBitCast(operand, word), align, AtomicOrdering::Monotonic);
    return b_.CreateBitCast(old, element);
  }
  if (code == Ins::AtomicCas && !is_float(type))
    return b_.CreateExtractValue(
        b_.CreateAtomicCmpXchg(pointer, compare, operand, align, AtomicOrdering::Monotonic, AtomicOrdering::Monotonic), 0);
  // The rest by comparing and swapping bits until nobody came between.
  llvm::LoadInst* first = b_.CreateAlignedLoad(word, pointer, align);
  first->setAtomic(AtomicOrdering::Monotonic);
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* retry = block("retry");
  BasicBlock* swapped = block("swapped");
  b_.CreateBr(retry);
  b_.SetInsertPoint(retry);
  llvm::PHINode* seen = b_.CreatePHI(word, 2);
  seen->addIncoming(first, before);
  Value* old = b_.CreateBitCast(seen, element);
  Value* wanted = b_.CreateBitCast(atomic_combine(code, type, old, operand, compare), word);
  Value* outcome = b_.CreateAtomicCmpXchg(pointer, seen, wanted, align, AtomicOrdering::Monotonic, AtomicOrdering::Monotonic);
  seen->addIncoming(b_.CreateExtractValue(outcome, 0), b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(outcome, 1), swapped, retry);
  b_.SetInsertPoint(swapped);
  return old;
}

/// One lane of a value, computed as a scalar of its own where that takes a few operations on neighbouring cells of a buffer that nobody
/// writes: cheaper than taking a vector apart. Null when it is anything else.
KernelEmitter::Value* KernelEmitter::lane_scalar(NodeId id, int lane, int& budget) {
  if (!id || !is_known(id)) return nullptr;
  const Lanes lanes = get(id);
  if (lanes.form == Lanes::Form::Uniform) return lanes.value;
  if (lanes.form == Lanes::Form::Affine)
    return b_.CreateAdd(lanes.value, llvm::ConstantInt::get(lanes.value->getType(), static_cast<std::uint64_t>(lanes.stride * lane)));
  if (--budget < 0) return nullptr;
  const Op o = op(id);
  if (o == Op::Load) {
    const NodeId place_node = access_place(graph(), id);
    if (!place_node || graph().sources(id).size() != 1 || op(source(place_node, 0)) != Op::Param) return nullptr;
    const Slot& slot = program_.slots[static_cast<std::size_t>(graph().arg_as<ParamArg>(source(place_node, 0))->slot)];
    if (!is_known(source(place_node, 1))) return nullptr;
    Place place = place_of(place_node, true);
    const bool read_only = slot.param >= 0 && program_.params[static_cast<std::size_t>(slot.param)].access == Access::In;
    if (!read_only || place.is_volatile || place.index.form != Lanes::Form::Affine || place.index.stride != 1 || place.type == Type::Bool)
      return nullptr;
    place.index.value = wide_index(place.index.value, type(source(place_node, 1)));
    place.offset += lane;
    return b_.CreateAlignedLoad(memory_type(place.type), cell_pointer(place, place.index.value),
                                llvm::Align(static_cast<std::uint64_t>(type_bytes(place.type))));
  }
  if (o != Op::And && o != Op::Or && o != Op::Xor && o != Op::Shl && o != Op::Shr && o != Op::Add && o != Op::Sub && o != Op::Mul &&
      o != Op::Cast)
    return nullptr;
  if (!is_int(type(id))) return nullptr;
  // The operation itself, with this lane's operands standing in for the vectors.
  std::vector<std::pair<std::size_t, Lanes>> kept;
  bool known = true;
  for (const NodeId s : graph().sources(id)) {
    if (literal(graph(), s)) continue;
    Value* scalar = is_int(type(s)) ? lane_scalar(s, lane, budget) : nullptr;
    if (!scalar) {
      known = false;
      break;
    }
    kept.emplace_back(s.index(), values_[s.index()]);
    values_[s.index()] = {Lanes::Form::Uniform, scalar, 0};
  }
  Value* result = known ? compute(id, false) : nullptr;
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) values_[it->first] = it->second;
  return result;
}

Lanes KernelEmitter::emit_atomic(NodeId id) {
  const Ins code = graph().arg_as<InsArg>(id)->code;
  const NodeId place_node = access_place(graph(), id);
  if (!place_node) fail(id, "no place");
  Place place = place_of(place_node, true);
  const Type t = place.type;
  if (place.is_variable || t == Type::Bool || (is_float(t) && t != Type::F32 && t != Type::F64)) fail(id, "storage of this kind");
  check_bounds(id, place_node, mask_);
  const Type index_type = type(source(place_node, 1));
  const Lanes narrow_index = place.index;
  const NodeId index_node = place.offset == 0 ? source(place_node, 1) : NodeId{};
  place.index.value = wide_index(place.index.value, index_type);
  const bool counts = code == Ins::AtomicInc || code == Ins::AtomicDec;
  Value* one = counts ? llvm::ConstantInt::get(scalar_type(t), 1) : nullptr;
  const auto source_lanes = [&](std::size_t i) { return counts ? Lanes{Lanes::Form::Uniform, one, 0} : get(source(id, i)); };
  const bool is_cas = code == Ins::AtomicCas;
  const Lanes operand = source_lanes(is_cas ? 2 : 1);
  const Lanes compare = is_cas ? source_lanes(1) : Lanes{};
  const bool one_cell = place.index.form == Lanes::Form::Uniform;

  const bool reducible = !is_float(t) && !is_cas && code != Ins::AtomicExchange;
  if (one_cell && reducible && !is_used(id)) {
    Value* pointer = cell_pointer(place, place.index.value);
    const bool idempotent = code == Ins::AtomicMin || code == Ins::AtomicMax || code == Ins::AtomicAnd || code == Ins::AtomicOr;
    Value* total = nullptr;
    if (operand.form == Lanes::Form::Uniform && idempotent) {
      total = operand.value;
    } else {
      const auto bits = static_cast<unsigned>(type_bits(t));
      const bool sign = is_signed(t);
      llvm::APInt identity = llvm::APInt::getZero(bits);
      if (code == Ins::AtomicAnd) identity = llvm::APInt::getAllOnes(bits);
      if (code == Ins::AtomicMin) identity = sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
      if (code == Ins::AtomicMax) identity = sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
      Value* x = vector_of(operand);
      if (mask_) x = b_.CreateSelect(mask_, x, splat(llvm::ConstantInt::get(context_, identity)));
      if (code == Ins::AtomicAnd) total = b_.CreateAndReduce(x);
      else if (code == Ins::AtomicOr) total = b_.CreateOrReduce(x);
      else if (code == Ins::AtomicXor) total = b_.CreateXorReduce(x);
      else if (code == Ins::AtomicMin) total = b_.CreateIntMinReduce(x, sign);
      else if (code == Ins::AtomicMax) total = b_.CreateIntMaxReduce(x, sign);
      else total = b_.CreateAddReduce(x);
    }
    atomic_update(code, t, pointer, total, nullptr, place.is_shared);
    return {Lanes::Form::Vector, llvm::Constant::getNullValue(vector_type(scalar_type(t))), 0};
  }

  Value* indices = vector_of(narrow_index);  // widened one by one: cheaper than as a vector
  Value* operands = vector_of(operand);
  Value* compares = is_cas ? vector_of(compare) : nullptr;
  llvm::Type* element = scalar_type(t);
  Value* results = llvm::Constant::getNullValue(vector_type(element));
  constexpr int kUnrolledLanes = 32;
  if (!mask_ && width_ <= kUnrolledLanes) {
    for (int l = 0; l < width_; ++l) {
      Value* lane = i64(l);
      int budget = kScalarOperations;
      Value* index = lane_scalar(index_node, l, budget);
      if (!index) index = b_.CreateExtractElement(indices, lane);
      Value* pointer = cell_pointer(place, wide_index(index, index_type));
      Value* old = atomic_update(code, t, pointer, b_.CreateExtractElement(operands, lane),
                                 is_cas ? b_.CreateExtractElement(compares, lane) : nullptr, place.is_shared);
      if (is_used(id)) results = b_.CreateInsertElement(results, old, lane);
    }
    return {Lanes::Form::Vector, results, 0};
  }
  // A loop over the lanes that are on. Vectors are indexed through the stack.
  const auto table = [&](Value* v) {
    Value* slot = entry_alloca(v->getType(), "lanes");
    b_.CreateStore(v, slot);
    return slot;
  };
  const auto lane_of = [&](Value* slot, llvm::Type* type, Value* lane) {
    return b_.CreateLoad(type, b_.CreateInBoundsGEP(type, slot, lane));
  };
  Value* index_table = table(indices);
  Value* operand_table = table(operands);
  Value* compare_table = is_cas ? table(compares) : nullptr;
  Value* result_table = is_used(id) ? table(results) : nullptr;
  Value* bits = mask_bits(mask_or_full());
  llvm::Type* word = bits->getType();
  llvm::Constant* none = llvm::Constant::getNullValue(word);
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* head = block("lane");
  BasicBlock* after = block("lanes.done");
  b_.CreateCondBr(b_.CreateICmpNE(bits, none), head, after);
  b_.SetInsertPoint(head);
  llvm::PHINode* left = b_.CreatePHI(word, 2);
  left->addIncoming(bits, before);
  Value* lane = b_.CreateZExtOrTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b_.getTrue()), b_.getInt64Ty());
  Value* pointer = cell_pointer(place, wide_index(lane_of(index_table, scalar_type(index_type), lane), index_type));
  Value* old = atomic_update(code, t, pointer, lane_of(operand_table, element, lane),
                             is_cas ? lane_of(compare_table, element, lane) : nullptr, place.is_shared);
  if (result_table) b_.CreateStore(old, b_.CreateInBoundsGEP(element, result_table, lane));
  Value* rest = b_.CreateAnd(left, b_.CreateSub(left, llvm::ConstantInt::get(word, 1)));
  left->addIncoming(rest, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(rest, none), head, after);
  b_.SetInsertPoint(after);
  if (result_table) results = b_.CreateLoad(results->getType(), result_table);
  return {Lanes::Form::Vector, results, 0};
}

}  // namespace sarek::emit
