// Places, loads and stores: scalar where all lanes mean one cell, contiguous where they mean neighbours, gathers and scatters otherwise;
// register variables; the checks of checked kernels.
#include <llvm/IR/Intrinsics.h>

#include "emitters/llvm/kernel_emitter.h"

namespace sarek::emit {

using namespace ir;  // NOLINT: this folder is about the IR; LLVM names are qualified
using llvm::BasicBlock;

namespace {
constexpr int kLaunchFault = 48, kLaunchBufferBytes = 56;  // NativeLaunch; native.cpp asserts them
}

// An index is sign-extended to 64 bits. For consecutive lanes only the base is, which is right although the sum may wrap in 32 bits for
// some lane: a lane that accesses memory has an index in [0, length), fewer than `width * stride` away from the base, and no sum on the way
// to it can leave the type: upwards it would pass the length, and the base is less than that distance below 0.

KernelEmitter::Place KernelEmitter::place_of(NodeId index_node, bool memory) {
  Place place;
  if (op(index_node) != Op::Index || graph().sources(index_node).size() != 2) fail(index_node, "a place with one index is needed");
  NodeId buffer = source(index_node, 0);
  while (op(buffer) == Op::After) buffer = source(buffer, 0);
  const auto* p = graph().arg_as<ParamArg>(buffer);
  if (!p || (op(buffer) != Op::Param && op(buffer) != Op::Buffer)) fail(index_node, "a place outside of a buffer");
  place.buffer = buffer;
  place.type = p->type;
  place.is_volatile = p->is_volatile;
  const int v = analysis_.variable_of[buffer.index()];
  NodeId index = source(index_node, 1);
  if (v >= 0) {
    place.is_variable = true;
    place.base = variable_[static_cast<std::size_t>(v)];
    place.lanes_apart = analysis_.variables[static_cast<std::size_t>(v)].variance > Variance::Chunk;
  } else if (p->space == AddressSpace::Local) {
    place.is_shared = true;
    place.base = shared_base_[buffer.index()];
  } else {
    place.base = slots_[static_cast<std::size_t>(p->slot)];
  }
  if (!place.base) fail(index_node, "storage without a place");
  place.index = get(index);
  // A literal added to the index becomes a displacement, so that neighbours share one address. In range by the same argument: for c >= -1
  // the sum cannot wrap into [0, length).
  if (memory && op(index) == Op::Add && type(index) == Type::I32 && place.index.form != Lanes::Form::None) {
    for (const std::size_t side : {std::size_t{1}, std::size_t{0}}) {
      const auto c = integer_literal(graph(), source(index, side));
      if (!c || *c < -1 || literal(graph(), source(index, 1 - side)) || !is_known(source(index, 1 - side))) continue;
      const Lanes rest = get(source(index, 1 - side));
      if (rest.form != place.index.form || rest.stride != place.index.stride) continue;
      place.index = rest;
      place.offset = *c;
      break;
    }
  }
  return place;
}

KernelEmitter::Value* KernelEmitter::wide_index(Value* index, Type type) {
  llvm::Type* wide = b_.getInt64Ty();
  if (index->getType()->isVectorTy()) wide = vector_type(wide);
  return is_signed(type) ? b_.CreateSExtOrTrunc(index, wide) : b_.CreateZExtOrTrunc(index, wide);
}

KernelEmitter::Value* KernelEmitter::cell_pointer(const Place& place, Value* index) {
  llvm::Type* cell = memory_type(place.type);
  Value* pointer = b_.CreateGEP(cell, place.base, index);
  return place.offset == 0 ? pointer : b_.CreateConstGEP1_64(cell, pointer, static_cast<std::uint64_t>(place.offset));
}

KernelEmitter::Value* KernelEmitter::lane_pointers(const Place& place) {
  llvm::Type* cell = memory_type(place.type);
  Value* base = place.base;
  if (place.offset != 0) base = b_.CreateConstGEP1_64(cell, base, static_cast<std::uint64_t>(place.offset));
  return b_.CreateGEP(cell, base, vector_of(place.index));
}

// Where the machine has no masked access of the kind, LLVM would branch around every lane. Lanes that are off are sent to a harmless
// address instead.

KernelEmitter::Value* KernelEmitter::load_lanewise(const Place& place, Value* mask, Value* passthru) {
  llvm::Type* cell = memory_type(place.type);
  Value* pointers = b_.CreateSelect(mask, lane_pointers(place), splat(launch_));  // the launch's description can always be read
  Value* loaded = llvm::PoisonValue::get(vector_type(cell));
  for (int l = 0; l < width_; ++l) {
    Value* lane = b_.CreateAlignedLoad(cell, b_.CreateExtractElement(pointers, i64(l)),
                                       llvm::Align(static_cast<std::uint64_t>(type_bytes(place.type))));
    loaded = b_.CreateInsertElement(loaded, lane, i64(l));
  }
  return b_.CreateSelect(mask, loaded, passthru);
}

void KernelEmitter::store_lanewise(const Place& place, Value* value, Value* mask) {
  if (!nowhere_) nowhere_ = entry_alloca(b_.getInt64Ty(), "nowhere");
  Value* pointers = b_.CreateSelect(mask, lane_pointers(place), splat(nowhere_));
  for (int l = 0; l < width_; ++l)
    b_.CreateAlignedStore(b_.CreateExtractElement(value, i64(l)), b_.CreateExtractElement(pointers, i64(l)),
                          llvm::Align(static_cast<std::uint64_t>(type_bytes(place.type))));
}

bool KernelEmitter::has_masked(Type type, bool contiguous, bool store) const {
  switch (options_.level) {
    case NativeLevel::Sse42:
    case NativeLevel::Aarch64: return false;
    case NativeLevel::Avx2: return type_bits(type) >= 32 && (contiguous || !store);
    case NativeLevel::Avx512: return contiguous || type_bits(type) >= 32;
  }
  return false;
}

/// A load for every lane of `mask` (null: all); `passthru` (null: zero) elsewhere. Both in their form in memory.
KernelEmitter::Value* KernelEmitter::load_vector(const Place& place, Value* mask, Value* passthru) {
  llvm::Type* cell = memory_type(place.type);
  llvm::Type* vec = vector_type(cell);
  const llvm::Align align(static_cast<std::uint64_t>(type_bytes(place.type)));
  if (!passthru) passthru = llvm::Constant::getNullValue(vec);
  const bool contiguous = place.index.form == Lanes::Form::Affine && place.index.stride == 1;
  if (mask && !llvm::isa<llvm::Constant>(mask) && !has_masked(place.type, contiguous, false)) return load_lanewise(place, mask, passthru);
  if (place.index.form == Lanes::Form::Affine && (place.index.stride == 1 || (place.index.stride == -1 && !mask))) {
    const bool backwards = place.index.stride == -1;
    Value* first = place.index.value;
    if (backwards) first = b_.CreateSub(first, i64(width_ - 1));
    Value* pointer = cell_pointer(place, first);
    if (mask) return b_.CreateMaskedLoad(vec, pointer, align, mask, passthru);
    Value* loaded = b_.CreateAlignedLoad(vec, pointer, align, place.is_volatile);
    return backwards ? b_.CreateVectorReverse(loaded) : loaded;
  }
  return b_.CreateMaskedGather(vec, lane_pointers(place), align, mask ? mask : full_mask(), passthru);
}

void KernelEmitter::store_vector(const Place& place, Value* value, Value* mask) {
  const bool contiguous = place.index.form == Lanes::Form::Affine && place.index.stride == 1;
  if (mask && !llvm::isa<llvm::Constant>(mask) && !has_masked(place.type, contiguous, true)) return store_lanewise(place, value, mask);
  const llvm::Align align(static_cast<std::uint64_t>(type_bytes(place.type)));
  if (place.index.form == Lanes::Form::Affine && (place.index.stride == 1 || (place.index.stride == -1 && !mask))) {
    const bool backwards = place.index.stride == -1;
    Value* first = place.index.value;
    if (backwards) {
      first = b_.CreateSub(first, i64(width_ - 1));
      value = b_.CreateVectorReverse(value);
    }
    Value* pointer = cell_pointer(place, first);
    if (mask) b_.CreateMaskedStore(value, pointer, align, mask);
    else b_.CreateAlignedStore(value, pointer, align, place.is_volatile);
    return;
  }
  b_.CreateMaskedScatter(value, lane_pointers(place), align, mask ? mask : full_mask());
}

Lanes KernelEmitter::emit_load(NodeId id) {
  const NodeId place_node = access_place(graph(), id);
  if (!place_node) fail(id, "a load from no place");
  Place place = place_of(place_node, true);
  if (place.is_variable) return load_variable(id, place);
  const bool gated = graph().sources(id).size() == 3;
  const Type t = type(id);
  const Lanes gate = gated ? get(source(id, 2)) : Lanes{};
  const bool uniform_gate = gated && gate.form == Lanes::Form::Uniform;
  Value* mask = gated && !uniform_gate ? mask_and(mask_, vector_of(gate)) : mask_;
  Value* check_mask = gated && uniform_gate ? mask_and(mask_, splat(gate.value)) : mask;
  check_bounds(id, place_node, check_mask);
  place.index.value = wide_index(place.index.value, type(source(place_node, 1)));
  const bool one_cell = place.index.form == Lanes::Form::Uniform;
  const bool result_uniform = analysis_.is_uniform(id);
  if (one_cell && (!gated || uniform_gate)) {
    llvm::Type* cell = memory_type(place.type);
    const auto load = [&] {
      llvm::LoadInst* l = b_.CreateAlignedLoad(cell, cell_pointer(place, place.index.value),
                                               llvm::Align(static_cast<std::uint64_t>(type_bytes(place.type))));
      l->setVolatile(place.is_volatile);
      return to_register(l, t);
    };
    if (!gated) return {Lanes::Form::Uniform, load(), 0};
    Value* otherwise = operand(source(id, 1), !result_uniform);
    BasicBlock* before = b_.GetInsertBlock();
    BasicBlock* then = block("load");
    BasicBlock* after = block("loaded");
    b_.CreateCondBr(gate.value, then, after);
    b_.SetInsertPoint(then);
    Value* loaded = load();
    if (!result_uniform) loaded = splat(loaded);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    llvm::PHINode* phi = b_.CreatePHI(loaded->getType(), 2);
    phi->addIncoming(loaded, then);
    phi->addIncoming(otherwise, before);
    return {result_uniform ? Lanes::Form::Uniform : Lanes::Form::Vector, phi, 0};
  }
  if (gated && uniform_gate) mask = mask_and(mask_, splat(gate.value));
  Value* passthru = gated ? to_memory(vector_of(source(id, 1)), t) : nullptr;
  // Lanes outside of `mask_` may hold anything; those the gate stops hold the alternative, which passes through.
  return {Lanes::Form::Vector, to_register(load_vector(place, mask, passthru), t), 0};
}

void KernelEmitter::emit_store(int position, NodeId id) {
  const NodeId place_node = access_place(graph(), id);
  if (!place_node) fail(id, "a store to no place");
  Place place = place_of(place_node, true);
  if (place.is_variable) return store_variable(position, id, place);
  const bool gated = graph().sources(id).size() == 3;
  const Lanes gate = gated ? get(source(id, 2)) : Lanes{};
  const Lanes value = get(source(id, 1));
  const Type t = place.type;
  const bool one_cell = place.index.form == Lanes::Form::Uniform;
  Value* mask = gated ? mask_and(mask_, vector_of(gate)) : mask_;
  check_bounds(id, place_node, mask);
  place.index.value = wide_index(place.index.value, type(source(place_node, 1)));
  if (!one_cell) {
    store_vector(place, to_memory(vector_of(value), t), mask);
    return;
  }
  // Every lane writes one cell: the last one that is on wins, as when threads run in order.
  BasicBlock* after = nullptr;
  if (gated) {
    BasicBlock* then = block("store");
    after = block("stored");
    b_.CreateCondBr(gate.form == Lanes::Form::Uniform ? gate.value : any(mask), then, after);
    b_.SetInsertPoint(then);
  }
  Value* scalar = value.value;
  if (value.form != Lanes::Form::Uniform) {
    Value* lane = i64(width_ - 1);
    if (mask) {
      Value* bits = mask_bits(mask);
      Value* zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits, b_.getFalse());
      lane = b_.CreateSub(lane, b_.CreateZExtOrTrunc(zeros, b_.getInt64Ty()));
      lane = b_.CreateAnd(lane, i64(width_ - 1));  // in range even if no lane were on
    }
    scalar = b_.CreateExtractElement(vector_of(value), lane);
  }
  llvm::StoreInst* store = b_.CreateAlignedStore(to_memory(scalar, t), cell_pointer(place, place.index.value),
                                                 llvm::Align(static_cast<std::uint64_t>(type_bytes(t))));
  store->setVolatile(place.is_volatile);
  if (after) {
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
}

// --- register variables ------------------------------------------------------------------------------------------------------------------

Lanes KernelEmitter::load_variable(NodeId id, const Place& place) {
  const Variable& var = analysis_.variables[static_cast<std::size_t>(analysis_.variable_of[place.buffer.index()])];
  const bool gated = graph().sources(id).size() == 3;
  const bool as_vector = place.lanes_apart;
  const Type t = type(id);
  const auto choose = [&](Lanes lanes) -> Lanes {
    if (!gated) return lanes;
    const Lanes gate = get(source(id, 2));
    const bool vector = lanes.form == Lanes::Form::Vector || !analysis_.is_uniform(id);
    Value* c = gate.form == Lanes::Form::Uniform ? gate.value : vector_of(gate);
    Value* picked = b_.CreateSelect(c, vector ? vector_of(lanes) : lanes.value, operand(source(id, 1), vector));
    return {vector ? Lanes::Form::Vector : Lanes::Form::Uniform, picked, 0};
  };
  const Lanes::Form form = as_vector ? Lanes::Form::Vector : Lanes::Form::Uniform;
  if (var.cells == 1) {
    if (t == Type::Bool)
      return choose(
          {form, as_vector ? mask_from_storage(b_.CreateLoad(mask_storage_type(), place.base)) : b_.CreateLoad(b_.getInt1Ty(), place.base),
           0});
    return choose({form, b_.CreateLoad(value_type(t, as_vector), place.base), 0});
  }
  // An array. A gate may guard an index out of bounds; such lanes read cell 0, which exists.
  llvm::Type* cell = memory_type(t);
  Lanes index = place.index;
  Value* wide = nullptr;
  const NodeId place_node = source(id, 0);
  check_bounds(id, place_node, gated ? mask_and(mask_, vector_of(source(id, 2))) : mask_);
  const auto clamp = [&](Value* i) {
    llvm::Constant* cells = llvm::ConstantInt::get(i->getType(), static_cast<std::uint64_t>(var.cells));
    return b_.CreateSelect(b_.CreateICmpULT(i, cells), i, llvm::Constant::getNullValue(i->getType()));
  };
  const Type it = type(source(place_node, 1));
  if (index.form == Lanes::Form::Uniform) {
    wide = clamp(b_.CreateAdd(wide_index(index.value, it), i64(place.offset)));
    llvm::Type* one = as_vector ? vector_type(cell) : cell;
    return choose({form, to_register(b_.CreateLoad(one, b_.CreateInBoundsGEP(one, place.base, wide)), t), 0});
  }
  Value* lanes = b_.CreateAdd(wide_index(vector_of(index), it), splat(i64(place.offset)));
  lanes = clamp(lanes);
  if (as_vector) lanes = b_.CreateAdd(b_.CreateMul(lanes, splat(i64(width_))), lane_numbers(b_.getInt64Ty(), 1));
  const llvm::Align align(static_cast<std::uint64_t>(type_bytes(t)));
  Value* loaded = b_.CreateMaskedGather(vector_type(cell), b_.CreateGEP(cell, place.base, lanes), align, full_mask(),
                                        llvm::PoisonValue::get(vector_type(cell)));
  return choose({Lanes::Form::Vector, to_register(loaded, t), 0});
}

void KernelEmitter::store_variable(int position, NodeId id, const Place& place) {
  const Variable& var = analysis_.variables[static_cast<std::size_t>(analysis_.variable_of[place.buffer.index()])];
  const NodeId place_node = source(id, 0);
  const bool gated = graph().sources(id).size() == 3;
  const Lanes gate = gated ? get(source(id, 2)) : Lanes{};
  const Type t = var.type;
  const bool as_vector = place.lanes_apart;
  llvm::Type* cell = memory_type(t);
  if (var.cells > 1) check_bounds(id, place_node, gated ? mask_and(mask_, vector_of(gate)) : mask_);
  if (!as_vector) {  // uniform in every respect: the analysis saw to it
    Value* value = scalar_of(analysis_.stored_value(position));
    Value* pointer = place.base;
    if (var.cells > 1) {
      Value* wide = b_.CreateAdd(wide_index(place.index.value, type(source(place_node, 1))), i64(place.offset));
      Value* inside = b_.CreateICmpULT(wide, i64(var.cells));
      pointer = b_.CreateInBoundsGEP(cell, place.base, b_.CreateSelect(inside, wide, i64(0)));
      value = to_memory(value, t);
      value = b_.CreateSelect(inside, value, b_.CreateLoad(cell, pointer));
    }
    if (gated) value = b_.CreateSelect(gate.value, value, b_.CreateLoad(value->getType(), pointer));
    b_.CreateStore(value, pointer);
    return;
  }
  // Lanes that are off keep their cell only where somebody may look at it again.
  Value* mask = analysis_.blend[static_cast<std::size_t>(position)] ? mask_ : nullptr;
  if (gated) mask = mask_and(mask, vector_of(gate));
  Value* value = vector_of(analysis_.stored_value(position));
  if (var.cells == 1 && t == Type::Bool) {
    if (mask) value = b_.CreateSelect(mask, value, mask_from_storage(b_.CreateLoad(mask_storage_type(), place.base)));
    b_.CreateStore(mask_to_storage(value), place.base);
    return;
  }
  value = to_memory(value, t);
  const Type it = type(source(place_node, 1));
  if (var.cells == 1 || place.index.form == Lanes::Form::Uniform) {
    Value* pointer = place.base;
    if (var.cells > 1) {
      Value* wide = b_.CreateAdd(wide_index(place.index.value, it), i64(place.offset));
      if (!integer_literal(graph(), source(place_node, 1))) {
        Value* inside = b_.CreateICmpULT(wide, i64(var.cells));
        wide = b_.CreateSelect(inside, wide, i64(0));
        mask = mask_and(mask, splat(inside));
      }
      pointer = b_.CreateInBoundsGEP(value->getType(), place.base, wide);
    }
    if (mask) value = b_.CreateSelect(mask, value, b_.CreateLoad(value->getType(), pointer));
    b_.CreateStore(value, pointer);
    return;
  }
  // Cells of different rows: arrays always keep what lanes that are off hold, and drop what is out of bounds.
  Value* lanes = b_.CreateAdd(wide_index(vector_of(place.index), it), splat(i64(place.offset)));
  mask = mask_and(mask_, gated ? vector_of(gate) : nullptr);
  mask = mask_and(mask, b_.CreateICmpULT(lanes, splat(i64(var.cells))));
  lanes = b_.CreateAdd(b_.CreateMul(lanes, splat(i64(width_))), lane_numbers(b_.getInt64Ty(), 1));
  Place cells = place;
  cells.index = {Lanes::Form::Vector, lanes, 0};
  cells.offset = 0;
  store_vector(cells, value, mask);
}

// --- checks ------------------------------------------------------------------------------------------------------------------------------

int KernelEmitter::fault_site(std::string kind, std::string detail, NodeId id) {
  const SourceRange range = graph().range(id);
  for (std::size_t i = 0; i < fault_sites_.size(); ++i)  // copies of one statement share its site
    if (fault_sites_[i].kind == kind && fault_sites_[i].detail == detail && fault_sites_[i].range == range) return static_cast<int>(i) + 1;
  fault_sites_.push_back({std::move(kind), std::move(detail), range});
  return static_cast<int>(fault_sites_.size());
}

/// Elements of the storage as a PARAM or BUFFER counts them (i64), and how many of them make one element as the user counts.
KernelEmitter::Value* KernelEmitter::buffer_length(NodeId buffer, std::int64_t& cells_per_element) {
  cells_per_element = 1;
  const auto* p = graph().arg_as<ParamArg>(buffer);
  if (p->size) return i64(*p->size);
  if (op(buffer) == Op::Buffer) {
    for (std::size_t i = 0; i < program_.slots.size(); ++i)
      if (program_.slots[i].kind == Slot::Kind::SharedLength && program_.slots[i].of_slot == p->slot)
        return b_.CreateZExt(slots_[i], b_.getInt64Ty());
    fail(buffer, "storage without a length");
  }
  const Slot& slot = program_.slots[static_cast<std::size_t>(p->slot)];
  const std::int64_t element = slot.param >= 0 ? program_.params[static_cast<std::size_t>(slot.param)].element.size : type_bytes(p->type);
  cells_per_element = std::max<std::int64_t>(1, element / type_bytes(p->type));
  for (std::size_t i = 0; i < program_.slots.size(); ++i)
    if (program_.slots[i].kind == Slot::Kind::Length && program_.slots[i].of_slot == p->slot)
      return b_.CreateMul(b_.CreateSExtOrTrunc(slots_[i], b_.getInt64Ty()), i64(cells_per_element));
  Value* table = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), launch_, kLaunchBufferBytes));
  Value* bytes = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), table, static_cast<std::uint64_t>(p->slot)));
  return b_.CreateUDiv(bytes, i64(type_bytes(p->type)));
}

void KernelEmitter::check_bounds(NodeId access, NodeId place, Value* mask) {
  if (!options_.checked || unproven_.empty() || !unproven_[access.index()]) return;
  NodeId buffer = source(place, 0);
  while (op(buffer) == Op::After) buffer = source(buffer, 0);
  std::int64_t cells = 1;
  Value* length = buffer_length(buffer, cells);
  const NodeId index_node = source(place, 1);
  const Lanes index = get(index_node);
  const int site = fault_site("bounds", graph().arg_as<ParamArg>(buffer)->name, access);
  Lanes wide{Lanes::Form::Vector, nullptr, 0};
  Value* fails = nullptr;
  if (index.form == Lanes::Form::Uniform) {
    wide = {Lanes::Form::Uniform, wide_index(index.value, type(index_node)), 0};
    fails = splat(b_.CreateICmpUGE(wide.value, length));
  } else {
    wide.value = wide_index(vector_of(index), type(index_node));
    fails = b_.CreateICmpUGE(wide.value, splat(length));
  }
  if (cells > 1) {  // reported as the user counts
    Value* divisor = i64(cells);
    length = b_.CreateSDiv(length, divisor);
    wide.value = b_.CreateSDiv(wide.value, wide.form == Lanes::Form::Vector ? splat(divisor) : divisor);
  }
  fault_where(mask_and(mask, fails), site, wide, length);
}

/// Leaves the kernel where a lane of `fails` is on, reporting the first one.
void KernelEmitter::fault_where(Value* fails, int site, const Lanes& value, Value* limit) {
  BasicBlock* bad = block("bad");
  BasicBlock* good = block("good");
  b_.CreateCondBr(any(fails), bad, good);
  b_.SetInsertPoint(bad);
  Value* lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask_bits(fails), b_.getTrue());
  lane = b_.CreateZExtOrTrunc(lane, b_.getInt64Ty());
  Value* shown = value.form == Lanes::Form::Vector ? b_.CreateExtractElement(value.value, lane) : value.value;
  Value* thread = b_.CreateAdd(b_.CreateMul(chunk_, i32(width_)), b_.CreateTrunc(lane, b_.getInt32Ty()));
  BasicBlock* fault = fault_block();
  BasicBlock* here = b_.GetInsertBlock();
  b_.CreateBr(fault);
  fault_phi_[0]->addIncoming(i32(site), here);
  fault_phi_[1]->addIncoming(thread, here);
  fault_phi_[2]->addIncoming(shown, here);
  fault_phi_[3]->addIncoming(limit, here);
  b_.SetInsertPoint(good);
}

/// Records the fault (see NativeFault) and returns from the kernel.
BasicBlock* KernelEmitter::fault_block() {
  if (fault_block_) return fault_block_;
  const Builder::InsertPoint back = b_.saveIP();
  fault_block_ = block("fault");
  b_.SetInsertPoint(fault_block_);
  llvm::Type* types[4] = {b_.getInt32Ty(), b_.getInt32Ty(), b_.getInt64Ty(), b_.getInt64Ty()};
  for (int i = 0; i < 4; ++i) fault_phi_[i] = b_.CreatePHI(types[i], 4);
  Value* record = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), launch_, kLaunchFault));
  const auto field = [&](std::uint64_t offset) { return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), record, offset); };
  BasicBlock* lock = block("lock");
  BasicBlock* locked = block("locked");
  BasicBlock* older = block("older");
  BasicBlock* write = block("write");
  BasicBlock* unlock = block("unlock");
  b_.CreateBr(lock);
  b_.SetInsertPoint(lock);
  Value* swapped =
      b_.CreateAtomicCmpXchg(record, i32(0), i32(1), llvm::Align(4), llvm::AtomicOrdering::Acquire, llvm::AtomicOrdering::Monotonic);
  b_.CreateCondBr(b_.CreateExtractValue(swapped, 1), locked, lock);
  b_.SetInsertPoint(locked);
  // Of several faults the one of the least block and thread is kept.
  Value* site = b_.CreateLoad(b_.getInt32Ty(), field(4));
  b_.CreateCondBr(b_.CreateICmpEQ(site, i32(0)), write, older);
  b_.SetInsertPoint(older);
  Value* block = b_.CreateLoad(b_.getInt64Ty(), field(8));
  Value* thread = b_.CreateLoad(b_.getInt32Ty(), field(16));
  Value* same = b_.CreateAnd(b_.CreateICmpEQ(block_number_, block), b_.CreateICmpSLT(fault_phi_[1], thread));
  b_.CreateCondBr(b_.CreateOr(b_.CreateICmpSLT(block_number_, block), same), write, unlock);
  b_.SetInsertPoint(write);
  b_.CreateStore(fault_phi_[0], field(4));
  b_.CreateStore(block_number_, field(8));
  b_.CreateStore(fault_phi_[1], field(16));
  b_.CreateStore(fault_phi_[2], field(24));
  b_.CreateStore(fault_phi_[3], field(32));
  b_.CreateBr(unlock);
  b_.SetInsertPoint(unlock);
  llvm::StoreInst* release = b_.CreateAlignedStore(i32(0), record, llvm::Align(4));
  release->setAtomic(llvm::AtomicOrdering::Release);
  b_.CreateRetVoid();
  b_.restoreIP(back);
  return fault_block_;
}

void KernelEmitter::emit_trap(NodeId id) {
  if (!options_.checked) return;
  const int site = fault_site("trap", graph().arg_as<InsArg>(id)->text, id);
  fault_where(mask_and(mask_, vector_of(source(id, 0))), site, {Lanes::Form::Uniform, i64(0), 0}, i64(0));
}

}  // namespace sarek::emit
