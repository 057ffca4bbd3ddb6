// The function around the lanes: frame and slots, the loop over blocks, flow at block level, regions and their loops over chunks, and what
// crosses from region to region. Flow inside a chunk is lower_control.cpp's.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "compiler/spec/proof.h"
#include "emitters/llvm/kernel_emitter.h"

namespace sarek::emit {

using namespace ir;  // NOLINT: this folder is about the IR; LLVM names are qualified
using llvm::BasicBlock;

namespace {

// Offsets of NativeLaunch's fields (runtime/artifact/native_abi.h; native.cpp asserts them).
constexpr int kLaunchSlots = 0, kLaunchGrid = 8, kLaunchShared = 24, kLaunchScratch = 32, kLaunchDynamicBytes = 40;

// Operations of several chunks that may stand in one turn of the loop over chunks.
constexpr int kUnrolledOperations = 100;
// Operations that a question about the whole block may cost.
constexpr int kSpanOperations = 12;
// What is fetched ahead: so many turns, of a turn's reads so much.
constexpr int kTurnsAhead = 4;
constexpr std::int64_t kPrefetchBytes = 1024, kLineBytes = 64;

}  // namespace

KernelEmitter::KernelEmitter(llvm::Module& module, const Program& program, const Analysis& analysis, const NativeOptions& options,
                             llvm::DIBuilder* debug, llvm::DIFile* debug_file)
    : module_(module),
      context_(module.getContext()),
      program_(program),
      analysis_(analysis),
      options_(options),
      b_(module.getContext()),
      debug_(debug),
      debug_file_(debug_file),
      width_(analysis.width),
      mask_registers_(options.level == NativeLevel::Avx512) {
  const std::size_t nodes = graph().size();
  values_.resize(nodes);
  shared_base_.assign(nodes, nullptr);
  crossing_home_.assign(nodes, nullptr);
  used_.assign(nodes, false);
  for (const NodeId id : program.body)
    for (const NodeId s : graph().sources(id)) used_[s.index()] = true;
  variable_.assign(analysis.variables.size(), nullptr);
  variable_home_.assign(analysis.variables.size(), nullptr);
  if (options.checked) {
    unproven_.assign(nodes, true);
    for (const spec::AccessProof& proof : spec::prove_in_bounds(program)) unproven_[proof.access.index()] = !proof.proven;
  }
}

void KernelEmitter::fail(NodeId id, const std::string& why) const {
  throw EmitFault("kernel `" + program_.name + "`: " + std::string(op_info(op(id)).name) + " at position " +
                  std::to_string(analysis_.position[id.index()]) + ": " + why);
}

void KernelEmitter::locate(NodeId id) {
  if (!debug_scope_) return;
  const SourceRange range = graph().range(id);
  if (!range) return;
  const LineColumn at = options_.sources->line_column(range.file, range.begin);
  b_.SetCurrentDebugLocation(llvm::DILocation::get(context_, at.line, at.column, debug_scope_));
}

llvm::AllocaInst* KernelEmitter::entry_alloca(llvm::Type* type, const char* name) {
  Builder at(entry_, entry_->begin());
  return at.CreateAlloca(type, nullptr, name);
}

llvm::Function* KernelEmitter::emit() {
  auto* pointer = b_.getPtrTy();
  auto* signature = llvm::FunctionType::get(b_.getVoidTy(), {pointer, b_.getInt64Ty(), b_.getInt64Ty()}, false);
  function_ = llvm::Function::Create(signature, llvm::GlobalValue::ExternalLinkage, program_.name, module_);
  function_->setDSOLocal(true);
  function_->setDoesNotThrow();
  function_->addFnAttr(llvm::Attribute::NoRecurse);
  function_->addParamAttr(0, llvm::Attribute::NoAlias);
  if (debug_ && options_.sources && program_.range) {
    const LineColumn at = options_.sources->line_column(program_.range.file, program_.range.begin);
    auto* type = debug_->createSubroutineType(debug_->getOrCreateTypeArray({}));
    debug_scope_ = debug_->createFunction(debug_file_, program_.name, program_.name, debug_file_, at.line, type, at.line,
                                          llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
    function_->setSubprogram(debug_scope_);
    b_.SetCurrentDebugLocation(llvm::DILocation::get(context_, at.line, at.column, debug_scope_));
  }
  entry_ = block("entry");
  b_.SetInsertPoint(entry_);
  emit_prologue();

  Value* first = function_->getArg(1);
  Value* last = function_->getArg(2);
  BasicBlock* head = block("block");
  BasicBlock* done = block("done");
  BasicBlock* before = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpSLT(first, last), head, done);
  b_.SetInsertPoint(head);
  llvm::PHINode* number = b_.CreatePHI(b_.getInt64Ty(), 2, "block.number");
  number->addIncoming(first, before);
  emit_block_prologue(number);
  zero_shared();
  emit_variables_init();
  emit_block_level(0, static_cast<int>(program_.body.size()));
  Value* next = b_.CreateNSWAdd(number, i64(1));
  number->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, last), head, done);
  b_.SetInsertPoint(done);
  b_.CreateRetVoid();
  return function_;
}

void KernelEmitter::emit_prologue() {
  launch_ = function_->getArg(0);
  const auto field = [&](int offset, llvm::Type* type) -> Value* {
    llvm::LoadInst* load = b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), launch_, static_cast<std::uint64_t>(offset)));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return load;
  };
  Value* slots = field(kLaunchSlots, b_.getPtrTy());
  for (std::size_t axis = 0; axis < 3; ++axis) grid_[axis] = field(kLaunchGrid + 4 * static_cast<int>(axis), b_.getInt32Ty());
  shared_ = field(kLaunchShared, b_.getPtrTy());
  scratch_ = field(kLaunchScratch, b_.getPtrTy());
  for (std::size_t i = 0; i < program_.slots.size(); ++i) {
    const Slot& slot = program_.slots[i];
    Value* place = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), slots, i);
    llvm::Type* type = slot.kind == Slot::Kind::Buffer ? b_.getPtrTy() : memory_type(slot.type);
    llvm::LoadInst* load = b_.CreateLoad(type, place, slot.name);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    slots_.push_back(slot.kind == Slot::Kind::Buffer ? load : to_register(load, slot.type));
  }
  layout_shared();
}

void KernelEmitter::emit_block_prologue(Value* number) {
  block_number_ = number;
  Value* x = b_.CreateZExt(grid_[0], b_.getInt64Ty());
  Value* y = b_.CreateZExt(grid_[1], b_.getInt64Ty());
  Value* rows = b_.CreateUDiv(number, x);
  group_[0] = b_.CreateTrunc(b_.CreateURem(number, x), b_.getInt32Ty(), "group.x");
  group_[1] = b_.CreateTrunc(b_.CreateURem(rows, y), b_.getInt32Ty(), "group.y");
  group_[2] = b_.CreateTrunc(b_.CreateUDiv(rows, y), b_.getInt32Ty(), "group.z");
}

void KernelEmitter::layout_shared() {
  Value* dynamic = nullptr;
  std::int64_t offset = 0;
  for (const NodeId id : program_.body) {
    const auto* p = op(id) == Op::Buffer ? graph().arg_as<ParamArg>(id) : nullptr;
    if (!p || p->space != AddressSpace::Local || !p->size) continue;
    shared_base_[id.index()] = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), shared_, static_cast<std::uint64_t>(offset), p->name);
    offset = (offset + *p->size * type_bytes(p->type) + 63) / 64 * 64;
  }
  shared_bytes_ = offset;
  // Dynamic storage follows in the order of its length slots, each piece at a multiple of 64.
  for (std::size_t i = 0; i < program_.slots.size(); ++i) {
    if (program_.slots[i].kind != Slot::Kind::SharedLength) continue;
    if (!dynamic) dynamic = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), shared_, static_cast<std::uint64_t>(offset));
    for (const NodeId id : program_.body) {
      const auto* p = op(id) == Op::Buffer ? graph().arg_as<ParamArg>(id) : nullptr;
      if (!p || p->space != AddressSpace::Local || p->size || p->slot != program_.slots[i].of_slot) continue;
      shared_base_[id.index()] = dynamic;
      Value* bytes = b_.CreateMul(b_.CreateZExt(slots_[i], b_.getInt64Ty()), i64(type_bytes(p->type)));
      bytes = b_.CreateAnd(b_.CreateAdd(bytes, i64(63)), i64(-64));
      dynamic = b_.CreateInBoundsGEP(b_.getInt8Ty(), dynamic, bytes);
    }
  }
}

void KernelEmitter::zero_shared() {
  auto* line = llvm::FixedVectorType::get(b_.getInt64Ty(), 8);
  const auto zero = [&](Value* lines, Value* from) {
    counted_loop(lines, "zero", [&](Value* i) {
      b_.CreateAlignedStore(llvm::Constant::getNullValue(line), b_.CreateInBoundsGEP(line, from, i), llvm::Align(64));
    });
  };
  if (shared_bytes_ > 0) zero(i64(shared_bytes_ / 64), shared_);
  bool is_dynamic = false;
  for (const Slot& slot : program_.slots) is_dynamic |= slot.kind == Slot::Kind::SharedLength;
  if (!is_dynamic) return;
  Value* bytes = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), launch_, kLaunchDynamicBytes));
  Value* lines = b_.CreateLShr(b_.CreateAdd(bytes, i64(63)), i64(6));
  BasicBlock* some = block("dynamic");
  BasicBlock* none = block("no.dynamic");
  b_.CreateCondBr(b_.CreateICmpNE(lines, i64(0)), some, none);
  b_.SetInsertPoint(some);
  zero(lines, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), shared_, static_cast<std::uint64_t>(shared_bytes_)));
  b_.CreateBr(none);
  b_.SetInsertPoint(none);
}

// --- block level -----------------------------------------------------------------------------------------------------------------------

void KernelEmitter::emit_block_level(int begin, int end) {
  for (int p = begin; p < end;) {
    const NodeId id = at(p);
    const auto position = static_cast<std::size_t>(p);
    if (op(id) == Op::Barrier) {  // the chunk loops of the regions around it are the barrier
      ++p;
      continue;
    }
    if (!analysis_.block_level[position]) {
      const int region = analysis_.region_of[position];
      if (analysis_.regions[static_cast<std::size_t>(region)].has_effect) emit_region(region);
      p = analysis_.regions[static_cast<std::size_t>(region)].end;
      continue;
    }
    const int close = analysis_.partner[position];
    locate(id);
    if (op(id) == Op::If) {
      BasicBlock* then = block("if");
      BasicBlock* after = block("endif");
      b_.CreateCondBr(block_value(source(id, 0)), then, after);
      b_.SetInsertPoint(then);
      emit_block_level(p + 1, close);
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
    } else if (op(at(close)) == Op::End) {
      Value* count = block_value(source(id, 0));
      BasicBlock* before = b_.GetInsertBlock();
      BasicBlock* head = block("loop");
      BasicBlock* after = block("endloop");
      Value* zero = llvm::ConstantInt::get(count->getType(), 0);
      const bool is_signed_count = is_signed(type(source(id, 0)));
      b_.CreateCondBr(is_signed_count ? b_.CreateICmpSGT(count, zero) : b_.CreateICmpUGT(count, zero), head, after);
      b_.SetInsertPoint(head);
      llvm::PHINode* i = b_.CreatePHI(count->getType(), 2);
      i->addIncoming(zero, before);
      values_[id.index()] = {Lanes::Form::Uniform, i, 0};
      if (options_.opt_level >= 2) prefetch_turns(p, i);
      emit_block_level(p + 1, close);
      Value* next = b_.CreateAdd(i, llvm::ConstantInt::get(count->getType(), 1), "", !is_signed_count, is_signed_count);
      i->addIncoming(next, b_.GetInsertBlock());
      b_.CreateCondBr(b_.CreateICmpNE(next, count), head, after);
      b_.SetInsertPoint(after);
    } else {
      BasicBlock* head = block("loop");
      BasicBlock* after = block("endloop");
      b_.CreateBr(head);
      b_.SetInsertPoint(head);
      emit_block_level(p + 1, close);
      b_.CreateCondBr(block_value(source(at(close), 2)), head, after);
      b_.SetInsertPoint(after);
    }
    p = close + 1;
  }
}

KernelEmitter::Value* KernelEmitter::block_value(NodeId id) {
  if (literal(graph(), id) || op(id) == Op::Param || op(id) == Op::Special) return scalar_of(id);
  const int p = analysis_.position[id.index()];
  if (p >= 0 && analysis_.region_of[static_cast<std::size_t>(p)] < 0) return scalar_of(id);  // a loop at block level
  if (analysis_.crossing[id.index()] == Crossing::Save) {
    if (analysis_.of(id).variance == Variance::Block) return b_.CreateLoad(scalar_type(type(id)), crossing_slot(id));
    // One chunk alone makes a block: what is uniform there is uniform for the block.
    chunk_ = i32(0);
    return b_.CreateLoad(scalar_type(type(id)), crossing_slot(id));
  }
  const std::size_t mark = chunk_values_.size();
  const Lanes lanes = recompute(id);
  for (std::size_t i = mark; i < chunk_values_.size(); ++i) values_[static_cast<std::size_t>(chunk_values_[i])] = {};
  chunk_values_.resize(mark);
  return lanes.value;
}

Lanes KernelEmitter::recompute(NodeId id) {
  if (literal(graph(), id) || values_[id.index()].form != Lanes::Form::None) return get(id);
  const Op o = op(id);
  if (o == Op::Param || o == Op::Special) return get(id);
  for (const NodeId s : graph().sources(id)) recompute(s);
  const Lanes lanes = emit_value(id);
  values_[id.index()] = lanes;
  chunk_values_.push_back(static_cast<int>(id.index()));
  return lanes;
}

/// The index of the block's first thread in turn `turn` (i64) of the loop `range` at block level; null when it is not made of sums and
/// products. For addresses that nobody accesses: what wraps does not matter.
KernelEmitter::Value* KernelEmitter::index_in_turn(NodeId id, NodeId range, Value* turn, int& budget) {
  if (const auto v = integer_literal(graph(), id)) return i64(*v);
  if (id == range) return turn;
  const Op o = op(id);
  if (o == Op::Special && analysis_.of(id).variance != Variance::Block) return i64(0);
  if (!is_int(type(id)) || --budget < 0) return nullptr;
  if (o == Op::Cast) return index_in_turn(source(id, 0), range, turn, budget);
  if (o == Op::Add || o == Op::Sub || o == Op::Mul) {
    Value* x = index_in_turn(source(id, 0), range, turn, budget);
    Value* y = x ? index_in_turn(source(id, 1), range, turn, budget) : nullptr;
    if (!y) return nullptr;
    return o == Op::Add ? b_.CreateAdd(x, y) : o == Op::Sub ? b_.CreateSub(x, y) : b_.CreateMul(x, y);
  }
  int rest = kSpanOperations;
  if (analysis_.of(id).variance != Variance::Block || !at_hand(id, rest)) return nullptr;
  Value* v = block_value(id);
  return is_signed(type(id)) ? b_.CreateSExtOrTrunc(v, b_.getInt64Ty()) : b_.CreateZExtOrTrunc(v, b_.getInt64Ty());
}

/// Asks the cache for what the block reads some turns later: blocks that stride over an array touch another page each turn, which no
/// hardware foresees.
void KernelEmitter::prefetch_turns(int position, Value* turn) {
  const NodeId range = at(position);
  if (program_.block[0] != program_.block_threads() || analysis_.chunks == 1) return;
  std::vector<NodeId> seen;
  for (int p = position + 1; p < analysis_.partner[static_cast<std::size_t>(position)]; ++p) {
    const NodeId place = op(at(p)) == Op::Load ? access_place(graph(), at(p)) : NodeId{};
    if (!place || std::find(seen.begin(), seen.end(), place) != seen.end()) continue;
    const NodeId buffer = place_base(graph(), place), index = source(place, 1);
    if (op(buffer) != Op::Param || analysis_.of(index).variance != Variance::Affine || analysis_.of(index).stride != 1) continue;
    seen.push_back(place);
    int budget = kSpanOperations;
    Value* later = b_.CreateAdd(b_.CreateSExtOrTrunc(turn, b_.getInt64Ty()), i64(kTurnsAhead));
    Value* first = index_in_turn(index, range, later, budget);
    if (!first) continue;
    Value* cells = slots_[static_cast<std::size_t>(graph().arg_as<ParamArg>(buffer)->slot)];
    Value* start = b_.CreateGEP(memory_type(graph().arg_as<ParamArg>(buffer)->type), cells, first);
    const std::int64_t bytes = program_.block_threads() * type_bytes(graph().arg_as<ParamArg>(buffer)->type);
    for (std::int64_t line = 0; line < std::min(bytes, kPrefetchBytes); line += kLineBytes)
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {b_.CreateConstGEP1_64(b_.getInt8Ty(), start, static_cast<std::uint64_t>(line)), i32(0), i32(3), i32(1)});
  }
}

// --- regions ---------------------------------------------------------------------------------------------------------------------------

/// Can the value be computed at block level from parameters, block indices and loops at block level alone?
bool KernelEmitter::at_hand(NodeId id, int& budget) const {
  const Op o = op(id);
  if (literal(graph(), id) || o == Op::Param || o == Op::Special) return true;
  const int p = analysis_.position[id.index()];
  if (o == Op::Range) return p >= 0 && analysis_.block_level[static_cast<std::size_t>(p)];
  if (!is_pure(graph(), id) || o == Op::Index || --budget < 0) return false;
  for (const NodeId s : graph().sources(id))
    if (!at_hand(s, budget)) return false;
  return true;
}

/// The least and greatest value of an index over the threads of the block, as i64 scalars at block level; nulls when the expression is not
/// a sum of indices and uniform values that stays in its type's range.
KernelEmitter::Span KernelEmitter::block_span(NodeId id) {
  const auto both = [](Value* v) { return Span{v, v}; };
  const Type t = type(id);
  if (!is_int(t)) return {};
  const auto wide = [&](Value* v) {
    return is_signed(t) ? b_.CreateSExtOrTrunc(v, b_.getInt64Ty()) : b_.CreateZExtOrTrunc(v, b_.getInt64Ty());
  };
  if (const auto v = integer_literal(graph(), id)) return both(i64(*v));
  const Op o = op(id);
  const int p = analysis_.position[id.index()];
  if (o == Op::Param || (o == Op::Range && p >= 0 && analysis_.block_level[static_cast<std::size_t>(p)])) return both(wide(scalar_of(id)));
  if (o == Op::Special) {
    const std::string& name = graph().arg_as<NameArg>(id)->name;
    if (!name.starts_with("local_id.")) return both(wide(scalar_of(id)));
    const int axis = name.back() - 'x';
    return {i64(0), i64(program_.block[static_cast<std::size_t>(axis)] - 1)};
  }
  // What the whole block shares is known at once, however it was computed.
  int budget = kSpanOperations;
  if (analysis_.of(id).variance == Variance::Block && at_hand(id, budget)) return both(wide(block_value(id)));
  if (!analysis_.of(id).exact) return {};
  if (o == Op::Cast) return block_span(source(id, 0));
  if (o != Op::Add && o != Op::Sub && o != Op::Mul) return {};
  const Span x = block_span(source(id, 0));
  const Span y = x.least ? block_span(source(id, 1)) : Span{};
  if (!y.least) return {};
  if (o == Op::Add) return {b_.CreateAdd(x.least, y.least), b_.CreateAdd(x.greatest, y.greatest)};
  if (o == Op::Sub) return {b_.CreateSub(x.least, y.greatest), b_.CreateSub(x.greatest, y.least)};
  const bool constant_x = integer_literal(graph(), source(id, 0)).value_or(-1) >= 0,
             constant_y = integer_literal(graph(), source(id, 1)).value_or(-1) >= 0;
  if (!constant_x && !constant_y && (x.least != x.greatest || y.least != y.greatest)) return {};
  return {b_.CreateMul(x.least, y.least), b_.CreateMul(x.greatest, y.greatest)};
}

/// True when every thread of the block meets the condition, as a scalar at block level; null when nothing shows it.
KernelEmitter::Value* KernelEmitter::block_holds(NodeId condition, bool negated) {
  const Op o = op(condition);
  if ((o == Op::And && !negated) || (o == Op::Or && negated)) {
    Value* x = block_holds(source(condition, 0), negated);
    Value* y = x ? block_holds(source(condition, 1), negated) : nullptr;
    return y ? b_.CreateAnd(x, y) : nullptr;
  }
  if (o == Op::Xor && integer_literal(graph(), source(condition, 1)) == 1) return block_holds(source(condition, 0), !negated);
  if (o != Op::Cmplt) return nullptr;
  const Span x = block_span(source(condition, 0));
  const Span y = x.least ? block_span(source(condition, 1)) : Span{};
  if (!y.least) return nullptr;
  return negated ? b_.CreateICmpSGE(x.least, y.greatest) : b_.CreateICmpSLT(x.greatest, y.least);
}

void KernelEmitter::emit_region(int region) {
  // A guard such as `index < n` holds for all threads of nearly every block: one question a block instead of one a chunk.
  const Region& r = analysis_.regions[static_cast<std::size_t>(region)];
  const int level = analysis_.parent[static_cast<std::size_t>(r.begin)];
  if (r.end - r.begin <= kCloneOperations) {
    for (int p = r.begin; p < r.end; ++p) {
      if (op(at(p)) != Op::If || analysis_.parent[static_cast<std::size_t>(p)] != level || analysis_.is_block_uniform(source(at(p), 0)))
        continue;
      Value* whole = block_holds(source(at(p), 0), false);
      if (!whole) continue;
      BasicBlock* inside = block("inside");
      BasicBlock* edge = block("edge");
      BasicBlock* after = block("region.end");
      b_.CreateCondBr(whole, inside, edge);
      b_.SetInsertPoint(inside);
      holds_ = p;
      emit_chunks(region);
      holds_ = -1;
      b_.CreateBr(after);
      b_.SetInsertPoint(edge);
      // Few blocks come here: masks alone will do where the machine has masked accesses.
      clone_depth_ = has_masked(Type::F32, true, true) ? kCloneDepth : 1;
      emit_chunks(region);
      clone_depth_ = 0;
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
      return;
    }
  }
  emit_chunks(region);
}

void KernelEmitter::emit_chunks(int region) {
  const int full = program_.block_threads() / width_;
  // Short bodies without loops are unrolled: the loop over chunks would cost as much as they do.
  const Region& r = analysis_.regions[static_cast<std::size_t>(region)];
  int operations = 0;
  for (int p = r.begin; p < r.end; ++p) {
    const Op o = op(at(p));
    if (o == Op::Range || o == Op::Ins) operations += kUnrolledOperations;
    if (!literal(graph(), at(p)) && o != Op::Index && o != Op::Const) ++operations;
  }
  int unroll = clone_depth_ > 0 || options_.opt_level < 2 ? 1 : std::clamp(kUnrolledOperations / std::max(1, operations), 1, 4);
  while (unroll > 1 && full % unroll != 0) --unroll;
  if (full == unroll) {
    for (int c = 0; c < full; ++c) emit_chunk(region, i32(c), false);
  } else if (full > 0) {
    counted_loop(i64(full / unroll), "chunk", [&](Value* i) {
      Value* first = b_.CreateMul(b_.CreateTrunc(i, b_.getInt32Ty()), i32(unroll), "", true, true);
      for (int c = 0; c < unroll; ++c) emit_chunk(region, c == 0 ? first : b_.CreateAdd(first, i32(c), "", true, true), false);
    });
  }
  if (analysis_.tail > 0) emit_chunk(region, i32(full), true);
}

void KernelEmitter::emit_chunk(int region, Value* chunk, bool partial) {
  chunk_ = chunk;
  mask_ = nullptr;
  if (partial) {
    std::vector<llvm::Constant*> lanes;
    for (int l = 0; l < width_; ++l) lanes.push_back(b_.getInt1(l < analysis_.tail));
    mask_ = llvm::ConstantVector::get(lanes);
  }
  const Region& r = analysis_.regions[static_cast<std::size_t>(region)];
  for (const NodeId id : program_.body) {
    const auto* name = op(id) == Op::Special ? graph().arg_as<NameArg>(id) : nullptr;
    if (!name || !name->name.starts_with("local_id.")) continue;
    values_[id.index()] = leaf(id);
    chunk_values_.push_back(static_cast<int>(id.index()));
  }
  load_variables(region);
  prepare_imports(region);
  emit_range(r.begin, r.end);
  save_variables(region);
  for (const int i : chunk_values_) values_[static_cast<std::size_t>(i)] = {};
  chunk_values_.clear();
  mask_ = nullptr;
}

KernelEmitter::Value* KernelEmitter::stack_or_scratch(llvm::Type* type, std::int64_t bytes, const char* name) {
  constexpr std::int64_t kStackArray = 2048, kStack = 16384;
  if (bytes <= kStackArray && stack_bytes_ + bytes <= kStack) {
    stack_bytes_ += bytes;
    return entry_alloca(type, name);
  }
  const std::int64_t offset = scratch_bytes_;
  scratch_bytes_ += (bytes + 63) / 64 * 64;
  Builder here(entry_->getTerminator() ? Builder(entry_->getTerminator()) : Builder(entry_));
  return here.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), scratch_, static_cast<std::uint64_t>(offset), name);
}

void KernelEmitter::emit_variables_init() {
  for (std::size_t v = 0; v < analysis_.variables.size(); ++v) {
    const Variable& var = analysis_.variables[v];
    if (var.regions.empty()) continue;
    const bool as_vector = var.variance > Variance::Chunk;
    llvm::Type* cell = memory_type(var.type);
    if (var.cells == 1 && var.type == Type::Bool)
      cell = as_vector ? llvm::cast<llvm::VectorType>(mask_storage_type())->getElementType() : b_.getInt1Ty();
    llvm::Type* one = as_vector ? vector_type(cell) : cell;
    const auto cell_bytes = static_cast<std::int64_t>(module_.getDataLayout().getTypeStoreSize(one).getFixedValue());
    llvm::Type* whole = var.cells == 1 ? one : llvm::ArrayType::get(one, static_cast<std::uint64_t>(var.cells));
    if (var.persistent && analysis_.chunks > 1) {
      // [chunk][cell][lane] in scratch. One cell is copied to the stack while a region runs; arrays are used where they lie.
      const std::int64_t bytes = (cell_bytes * var.cells + 63) / 64 * 64;
      Builder here(entry_->getTerminator());
      variable_home_[v] = here.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), scratch_, static_cast<std::uint64_t>(scratch_bytes_));
      scratch_bytes_ += bytes * analysis_.chunks;
      if (var.cells == 1) variable_[v] = entry_alloca(whole, graph().arg_as<ParamArg>(var.node)->name.c_str());
      if (analysis_.live_before(static_cast<int>(v), 0)) {
        auto* line = llvm::FixedVectorType::get(b_.getInt64Ty(), 8);
        counted_loop(i64(bytes * analysis_.chunks / 64), "zero", [&](Value* i) {
          b_.CreateAlignedStore(llvm::Constant::getNullValue(line), b_.CreateInBoundsGEP(line, variable_home_[v], i), llvm::Align(64));
        });
      }
      continue;
    }
    variable_[v] = stack_or_scratch(whole, cell_bytes * var.cells, graph().arg_as<ParamArg>(var.node)->name.c_str());
    if (!var.persistent) continue;
    if (var.cells == 1) b_.CreateStore(llvm::Constant::getNullValue(one), variable_[v]);
    else if (analysis_.live_before(static_cast<int>(v), 0))
      counted_loop(i64(var.cells), "zero",
                   [&](Value* i) { b_.CreateStore(llvm::Constant::getNullValue(one), b_.CreateInBoundsGEP(one, variable_[v], i)); });
  }
}

void KernelEmitter::load_variables(int region) {
  const Region& r = analysis_.regions[static_cast<std::size_t>(region)];
  for (std::size_t v = 0; v < analysis_.variables.size(); ++v) {
    const Variable& var = analysis_.variables[v];
    if (std::find(var.regions.begin(), var.regions.end(), region) == var.regions.end()) continue;
    const bool live = analysis_.live_before(static_cast<int>(v), r.begin);
    const bool as_vector = var.variance > Variance::Chunk;
    llvm::Type* cell = memory_type(var.type);
    if (var.cells == 1 && var.type == Type::Bool)
      cell = as_vector ? llvm::cast<llvm::VectorType>(mask_storage_type())->getElementType() : b_.getInt1Ty();
    llvm::Type* one = as_vector ? vector_type(cell) : cell;
    const auto cell_bytes = static_cast<std::int64_t>(module_.getDataLayout().getTypeStoreSize(one).getFixedValue());
    if (var.persistent && analysis_.chunks > 1) {
      const std::int64_t bytes = (cell_bytes * var.cells + 63) / 64 * 64;
      Value* home =
          b_.CreateInBoundsGEP(b_.getInt8Ty(), variable_home_[v], b_.CreateMul(b_.CreateZExt(chunk_, b_.getInt64Ty()), i64(bytes)));
      if (var.cells > 1) {
        variable_[v] = home;
        continue;
      }
      Value* value = live ? static_cast<Value*>(b_.CreateAlignedLoad(one, home, llvm::Align(64))) : llvm::Constant::getNullValue(one);
      b_.CreateStore(value, variable_[v]);
      continue;
    }
    if (var.persistent) continue;
    if (var.cells == 1) b_.CreateStore(llvm::Constant::getNullValue(one), variable_[v]);
    else if (live && var.cells <= 16)
      for (std::int64_t i = 0; i < var.cells; ++i)
        b_.CreateStore(llvm::Constant::getNullValue(one), b_.CreateConstInBoundsGEP1_64(one, variable_[v], static_cast<std::uint64_t>(i)));
    else if (live)
      counted_loop(i64(var.cells), "zero",
                   [&](Value* i) { b_.CreateStore(llvm::Constant::getNullValue(one), b_.CreateInBoundsGEP(one, variable_[v], i)); });
  }
}

void KernelEmitter::save_variables(int region) {
  if (analysis_.chunks == 1) return;
  const Region& r = analysis_.regions[static_cast<std::size_t>(region)];
  std::vector<bool> stored(analysis_.variables.size(), false);
  for (int p = r.begin; p < r.end; ++p) {
    const NodeId place = op(at(p)) == Op::Store ? access_place(graph(), at(p)) : NodeId{};
    const int v = place ? analysis_.variable_of[place_base(graph(), place).index()] : -1;
    if (v >= 0) stored[static_cast<std::size_t>(v)] = true;
  }
  for (std::size_t v = 0; v < analysis_.variables.size(); ++v) {
    const Variable& var = analysis_.variables[v];
    if (!stored[v] || !var.persistent || var.cells > 1 || !analysis_.live_before(static_cast<int>(v), r.end)) continue;
    llvm::Type* one = llvm::cast<llvm::AllocaInst>(variable_[v])->getAllocatedType();
    const auto bytes = (static_cast<std::int64_t>(module_.getDataLayout().getTypeStoreSize(one).getFixedValue()) + 63) / 64 * 64;
    Value* home = b_.CreateInBoundsGEP(b_.getInt8Ty(), variable_home_[v], b_.CreateMul(b_.CreateZExt(chunk_, b_.getInt64Ty()), i64(bytes)));
    b_.CreateAlignedStore(b_.CreateLoad(one, variable_[v]), home, llvm::Align(64));
  }
}

/// Where a value that crosses regions is kept for the current chunk.
KernelEmitter::Value* KernelEmitter::crossing_slot(NodeId id) {
  const Variance variance = analysis_.of(id).variance;
  llvm::Type* type = variance == Variance::Varying ? vector_type(memory_type(this->type(id))) : scalar_type(this->type(id));
  Value*& home = crossing_home_[id.index()];
  if (variance == Variance::Block || analysis_.chunks == 1) {
    if (!home) home = entry_alloca(type, "kept");
    return home;
  }
  const auto bytes = (static_cast<std::int64_t>(module_.getDataLayout().getTypeStoreSize(type).getFixedValue()) + 63) / 64 * 64;
  if (!home) {
    Builder here(entry_->getTerminator());
    home = here.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), scratch_, static_cast<std::uint64_t>(scratch_bytes_));
    scratch_bytes_ += bytes * analysis_.chunks;
  }
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), home, b_.CreateMul(b_.CreateZExt(chunk_, b_.getInt64Ty()), i64(bytes)));
}

void KernelEmitter::save_crossing(NodeId id) {
  const Variance variance = analysis_.of(id).variance;
  const Lanes& lanes = values_[id.index()];
  Value* value = variance == Variance::Varying ? to_memory(vector_of(lanes), type(id)) : lanes.value;
  b_.CreateStore(value, crossing_slot(id));
}

void KernelEmitter::prepare_imports(int region) {
  for (const NodeId id : analysis_.imports[static_cast<std::size_t>(region)]) {
    if (values_[id.index()].form != Lanes::Form::None) continue;
    if (analysis_.crossing[id.index()] == Crossing::Recompute) {
      recompute(id);
      continue;
    }
    const NodeFacts& facts = analysis_.of(id);
    Lanes lanes;
    if (facts.variance == Variance::Varying) {
      lanes = {Lanes::Form::Vector, to_register(b_.CreateLoad(vector_type(memory_type(type(id))), crossing_slot(id)), type(id)), 0};
    } else {
      Value* scalar = b_.CreateLoad(scalar_type(type(id)), crossing_slot(id));
      lanes = {facts.variance == Variance::Affine ? Lanes::Form::Affine : Lanes::Form::Uniform, scalar, facts.stride};
    }
    values_[id.index()] = lanes;
    chunk_values_.push_back(static_cast<int>(id.index()));
  }
}

}  // namespace sarek::emit
