// Flow inside a chunk: statements in order, branches and loops on uniform conditions as they are, on varying ones under masks. Blocks,
// regions and chunk loops are lower_frame.cpp's.
#include <llvm/IR/Intrinsics.h>

#include "emitters/llvm/kernel_emitter.h"

namespace sarek::emit {

using namespace ir;  // NOLINT: this folder is about the IR; LLVM names are qualified
using llvm::BasicBlock;

namespace {

// A masked body of so few cheap operations runs without asking whether a lane wants it.
constexpr int kPredicatedOperations = 10;

}  // namespace

void KernelEmitter::emit_range(int begin, int end) {
  for (int p = begin; p < end; ++p) {
    const Op o = op(at(p));
    locate(at(p));
    if (o == Op::If) p = emit_if(p);
    else if (o == Op::Range) p = emit_loop(p);
    else emit_statement(p);
  }
}

void KernelEmitter::emit_statement(int position) {
  const NodeId id = at(position);
  Lanes lanes;
  switch (op(id)) {
    case Op::Const:
    case Op::Param:
    case Op::Special:
    case Op::Buffer:
    case Op::Alloc:
    case Op::Group:
    case Op::Noop:
    case Op::Index: return;  // looked at by their users
    case Op::Store: emit_store(position, id); return;
    case Op::Load: lanes = emit_load(id); break;
    case Op::Ins: {
      const auto* ins = graph().arg_as<InsArg>(id);
      if (!ins) fail(id, "no instruction");
      switch (ins_info(ins->code).kind) {
        case InsKind::Pure: lanes = emit_value(id); break;
        case InsKind::Warp: lanes = emit_warp(id); break;
        case InsKind::Atomic: lanes = emit_atomic(id); break;
        case InsKind::Trap: emit_trap(id); return;
        case InsKind::Sync:
          // The threads of a block share one worker: only the compiler must keep the order of their accesses.
          if (ins->code == Ins::FenceDevice) b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
          else b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
          return;
      }
      break;
    }
    case Op::After: lanes = get(source(id, 0)); break;
    case Op::Cast:
    case Op::Bitcast:
    case Op::Exp2:
    case Op::Log2:
    case Op::Sin:
    case Op::Sqrt:
    case Op::Reciprocal:
    case Op::Neg:
    case Op::Trunc:
    case Op::Add:
    case Op::Mul:
    case Op::Shl:
    case Op::Shr:
    case Op::Cdiv:
    case Op::Max:
    case Op::Cmod:
    case Op::Cmplt:
    case Op::Cmpne:
    case Op::Cmpeq:
    case Op::Xor:
    case Op::Or:
    case Op::And:
    case Op::Threefry:
    case Op::Sub:
    case Op::Fdiv:
    case Op::Pow:
    case Op::Floordiv:
    case Op::Floormod:
    case Op::Where:
    case Op::Mulacc:
      if (literal(graph(), id)) return;
      lanes = emit_value(id);
      break;
    case Op::Barrier:
    case Op::Range:
    case Op::If:
    case Op::End:
    case Op::Endif:
    case Op::Backedge: fail(id, "out of place");
    case Op::Call:
    case Op::Program:
    case Op::Linear:
    case Op::Source:
    case Op::Binary:
    case Op::Sink:
    case Op::Stack:
    case Op::Getaddr:
    case Op::Shrink:
    case Op::Wmma:
    case Op::Custom:
    case Op::Customi:
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
    case Op::Allreduce: fail(id, "not an operation of this backend");
  }
  values_[id.index()] = lanes;
  chunk_values_.push_back(static_cast<int>(id.index()));
  if (analysis_.crossing[id.index()] == Crossing::Save) save_crossing(id);
}

bool KernelEmitter::cheap_body(int begin, int end) const {
  if (end - begin > kPredicatedOperations) return false;
  for (int p = begin; p < end; ++p) {
    const NodeId id = at(p);
    const Op o = op(id);
    if (o == Op::Load || o == Op::Store) {
      const NodeId place = access_place(graph(), id);
      if (!place || analysis_.variable_of[place_base(graph(), place).index()] < 0) return false;
    } else if (o != Op::Index && (!is_pure(graph(), id) || o == Op::Cdiv || o == Op::Cmod || o == Op::Floordiv || o == Op::Floormod ||
                                  o == Op::Fdiv || o == Op::Sqrt)) {
      return false;
    }
  }
  return true;
}

bool KernelEmitter::worth_cloning(int position) const {
  return clone_depth_ < kCloneDepth && analysis_.partner[static_cast<std::size_t>(position)] - position <= kCloneOperations;
}

KernelEmitter::Value* KernelEmitter::all_lanes_hold(NodeId condition, bool negated) {
  const Op o = op(condition);
  if (!is_known(condition)) return nullptr;
  // A condition from another region came here without what it was made of.
  if (!analysis_.is_uniform(condition))
    for (const NodeId s : graph().sources(condition))
      if (!is_known(s)) return nullptr;
  if (analysis_.is_uniform(condition)) {
    Value* c = scalar_of(condition);
    return negated ? b_.CreateNot(c) : c;
  }
  if (o == Op::And && !negated) {
    Value* x = all_lanes_hold(source(condition, 0), false);
    Value* y = x ? all_lanes_hold(source(condition, 1), false) : nullptr;
    return y ? b_.CreateAnd(x, y) : nullptr;
  }
  if (o == Op::Or && negated) {
    Value* x = all_lanes_hold(source(condition, 0), true);
    Value* y = x ? all_lanes_hold(source(condition, 1), true) : nullptr;
    return y ? b_.CreateAnd(x, y) : nullptr;
  }
  if (o == Op::Xor && integer_literal(graph(), source(condition, 1)) == 1) return all_lanes_hold(source(condition, 0), !negated);
  if (o != Op::Cmplt || !is_int(type(source(condition, 0)))) return nullptr;
  const Lanes x = get(source(condition, 0));
  const Lanes y = get(source(condition, 1));
  const bool left = x.form == Lanes::Form::Affine && y.form == Lanes::Form::Uniform;
  const bool right = x.form == Lanes::Form::Uniform && y.form == Lanes::Form::Affine;
  if (!left && !right) return nullptr;
  const Lanes& index = left ? x : y;
  // 64 bits are enough for what the analysis knows to stay in range.
  const bool exact = analysis_.of(source(condition, left ? 0 : 1)).exact;
  if (index.stride <= 0 || (type_bits(type(source(condition, 0))) > 32 && (!exact || type(source(condition, 0)) == Type::U64)))
    return nullptr;
  // In 64 bits nothing wraps. Lane 0 is least and the last lane greatest as long as the last one is inside the type; where it is not, the
  // answer "not all" is the cautious one.
  const bool sign = is_signed(type(source(condition, 0)));
  const auto wide = [&](Value* v) { return sign ? b_.CreateSExtOrTrunc(v, b_.getInt64Ty()) : b_.CreateZExt(v, b_.getInt64Ty()); };
  Value* least = wide(index.value);
  Value* greatest = b_.CreateNSWAdd(least, i64(index.stride * (width_ - 1)));
  Value* other = wide(left ? y.value : x.value);
  if (left && !negated) return b_.CreateICmpSLT(greatest, other);  // x < n for the last
  if (right && negated) return b_.CreateICmpSLE(greatest, other);  // !(n < y): y <= n for the last
  Value* inside = b_.CreateICmpSLE(greatest, i64(sign ? std::int64_t{INT32_MAX} : std::int64_t{UINT32_MAX}));
  if (exact) inside = b_.getTrue();
  Value* holds = left ? b_.CreateICmpSGE(least, other) : b_.CreateICmpSLT(other, least);
  return b_.CreateAnd(inside, holds);
}

int KernelEmitter::emit_if(int position) {
  const NodeId id = at(position);
  const NodeId condition = source(id, 0);
  const int close = analysis_.partner[static_cast<std::size_t>(position)];
  BasicBlock* after = nullptr;
  const auto branch_to = [&](Value* c, const char* name) {
    BasicBlock* then = block(name);
    BasicBlock* otherwise = block("endif");
    b_.CreateCondBr(c, then, otherwise);
    b_.SetInsertPoint(then);
    after = otherwise;
  };
  const auto join = [&] {
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  };
  if (position == holds_) {
    emit_range(position + 1, close);
    return close;
  }
  if (!analysis_.divergent[static_cast<std::size_t>(position)]) {
    Value* c = scalar_of(condition);
    branch_to(c, "if");
    emit_range(position + 1, close);
    join();
    return close;
  }
  Value* outer = mask_;
  if (!mask_ && worth_cloning(position)) {
    if (Value* everyone = all_lanes_hold(condition, false)) {
      BasicBlock* whole = block("all");
      BasicBlock* part = block("part");
      BasicBlock* end = block("endall");
      b_.CreateCondBr(everyone, whole, part);
      b_.SetInsertPoint(whole);
      ++clone_depth_;
      emit_range(position + 1, close);
      --clone_depth_;
      b_.CreateBr(end);
      b_.SetInsertPoint(part);
      mask_ = vector_of(condition);
      branch_to(any(mask_), "some");
      emit_range(position + 1, close);
      join();
      b_.CreateBr(end);
      b_.SetInsertPoint(end);
      mask_ = outer;
      return close;
    }
  }
  mask_ = mask_and(outer, vector_of(condition));
  if (cheap_body(position + 1, close)) {
    emit_range(position + 1, close);
  } else {
    branch_to(any(mask_), "some");
    emit_range(position + 1, close);
    join();
  }
  mask_ = outer;
  return close;
}

int KernelEmitter::emit_loop(int position) {
  Value* outer = mask_;
  if (analysis_.divergent[static_cast<std::size_t>(position)]) emit_masked_loop(position);
  else emit_uniform_loop(position);
  mask_ = outer;
  return analysis_.partner[static_cast<std::size_t>(position)];
}

void KernelEmitter::emit_uniform_loop(int position) {
  const NodeId id = at(position);
  const int close = analysis_.partner[static_cast<std::size_t>(position)];
  BasicBlock* head = block("loop");
  BasicBlock* after = block("endloop");
  if (op(at(close)) == Op::Backedge) {
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    const int last_if = op(at(close - 1)) == Op::Endif ? analysis_.partner[static_cast<std::size_t>(close - 1)] : -1;
    const bool is_while = last_if > position && analysis_.is_loop_exit(last_if);
    emit_range(position + 1, is_while ? last_if : close);
    Value* again = scalar_of(source(at(close), 2));
    if (is_while) {
      BasicBlock* body = block("turn");
      b_.CreateCondBr(again, body, after);
      b_.SetInsertPoint(body);
      emit_range(last_if + 1, close - 1);
      b_.CreateBr(head);
    } else {
      b_.CreateCondBr(again, head, after);
    }
    b_.SetInsertPoint(after);
    return;
  }
  Value* count = scalar_of(source(id, 0));
  const bool sign = is_signed(type(source(id, 0)));
  Value* zero = llvm::ConstantInt::get(count->getType(), 0);
  BasicBlock* before = b_.GetInsertBlock();
  b_.CreateCondBr(sign ? b_.CreateICmpSGT(count, zero) : b_.CreateICmpUGT(count, zero), head, after);
  b_.SetInsertPoint(head);
  llvm::PHINode* i = b_.CreatePHI(count->getType(), 2);
  i->addIncoming(zero, before);
  values_[id.index()] = {Lanes::Form::Uniform, i, 0};
  chunk_values_.push_back(static_cast<int>(id.index()));
  emit_range(position + 1, close);
  Value* next = b_.CreateAdd(i, llvm::ConstantInt::get(count->getType(), 1), "", true, sign);
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(next, count), head, after);
  b_.SetInsertPoint(after);
}

void KernelEmitter::emit_masked_loop(int position) {
  const NodeId id = at(position);
  const int close = analysis_.partner[static_cast<std::size_t>(position)];
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* head = block("masked");
  BasicBlock* body = block("turn");
  BasicBlock* after = block("endmasked");
  Value* entering = mask_to_storage(mask_or_full());
  before = b_.GetInsertBlock();
  if (op(at(close)) == Op::End) {
    Value* count = vector_of(source(id, 0));
    auto* counter = llvm::cast<llvm::VectorType>(count->getType())->getElementType();
    before = b_.GetInsertBlock();
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* on = b_.CreatePHI(entering->getType(), 2);
    llvm::PHINode* i = b_.CreatePHI(counter, 2);
    on->addIncoming(entering, before);
    i->addIncoming(llvm::ConstantInt::get(counter, 0), before);
    Value* wants = is_signed(type(source(id, 0))) ? b_.CreateICmpSLT(splat(i), count) : b_.CreateICmpULT(splat(i), count);
    mask_ = b_.CreateAnd(mask_from_storage(on), wants);
    Value* still = mask_;
    b_.CreateCondBr(any(mask_), body, after);
    b_.SetInsertPoint(body);
    values_[id.index()] = {Lanes::Form::Uniform, i, 0};
    chunk_values_.push_back(static_cast<int>(id.index()));
    emit_range(position + 1, close);
    on->addIncoming(mask_to_storage(still), b_.GetInsertBlock());
    i->addIncoming(b_.CreateAdd(i, llvm::ConstantInt::get(counter, 1)), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
    return;
  }
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode* on = b_.CreatePHI(entering->getType(), 2);
  on->addIncoming(entering, before);
  mask_ = mask_from_storage(on);
  // `loop { head; IF(c) { turn } BACKEDGE(c) }` is a while loop: one question a turn.
  const int last = close - 1;
  const int last_if = op(at(last)) == Op::Endif ? analysis_.partner[static_cast<std::size_t>(last)] : -1;
  const bool is_while = last_if > position && analysis_.is_loop_exit(last_if);
  emit_range(position + 1, is_while ? last_if : close);
  Value* still = b_.CreateAnd(mask_, vector_of(source(at(close), 2)));
  Value* again = any(still);
  if (is_while) {
    b_.CreateCondBr(again, body, after);
    b_.SetInsertPoint(body);
    mask_ = still;
    emit_range(last_if + 1, last);
    on->addIncoming(mask_to_storage(still), b_.GetInsertBlock());
    b_.CreateBr(head);
  } else {
    on->addIncoming(mask_to_storage(still), b_.GetInsertBlock());
    b_.CreateCondBr(again, head, after);
    body->eraseFromParent();
  }
  b_.SetInsertPoint(after);
}

}  // namespace sarek::emit
