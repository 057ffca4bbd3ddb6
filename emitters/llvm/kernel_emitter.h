// Writes one program as one LLVM function, the NativeEntry. Internal to this folder: the class behind lower_control, lower_values,
// lower_memory, lower_warp and lower_atomics, each a file of member functions. What is uniform, affine or varying is decided beforehand
// (analysis.h).
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/program.h"
#include "emitters/llvm/analysis.h"
#include "emitters/llvm/native.h"

namespace sarek::emit {

/// A program that the emitter cannot take: our own fault, since legalisation and the checks before it should have. Caught in native.cpp.
struct EmitFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Copies of a guarded body without masks: of at most so many operations, nested at most so deep.
inline constexpr int kCloneOperations = 800;
inline constexpr int kCloneDepth = 3;

/// A node's value for the current chunk.
struct Lanes {
  enum class Form : std::uint8_t { None, Uniform, Affine, Vector };
  Form form = Form::None;
  llvm::Value* value = nullptr;  // Uniform: a scalar; Affine: lane 0's scalar; Vector: one element per lane
  std::int64_t stride = 0;       // Affine
};

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const ir::Program& program, const Analysis& analysis, const NativeOptions& options,
                llvm::DIBuilder* debug, llvm::DIFile* debug_file);
  /// Writes the function; throws EmitFault.
  llvm::Function* emit();

  std::int64_t shared_bytes() const { return shared_bytes_; }
  std::int64_t scratch_bytes() const { return scratch_bytes_; }
  std::vector<NativeFaultSite> take_fault_sites() { return std::move(fault_sites_); }

 private:
  using Value = llvm::Value;
  using Builder = llvm::IRBuilder<>;

  // --- lower_frame.cpp: the function's frame, block level, regions; lower_control.cpp: flow inside a chunk
  void emit_prologue();
  void emit_block_prologue(Value* block);
  void layout_shared();
  void zero_shared();
  void emit_block_level(int begin, int end);
  void prefetch_turns(int position, Value* turn);
  Value* index_in_turn(ir::NodeId id, ir::NodeId range, Value* turn, int& budget);
  void emit_region(int region);
  void emit_chunks(int region);
  struct Span {
    Value* least = nullptr;
    Value* greatest = nullptr;
  };
  bool at_hand(ir::NodeId id, int& budget) const;
  Span block_span(ir::NodeId id);
  Value* block_holds(ir::NodeId condition, bool negated);
  void emit_chunk(int region, Value* chunk, bool partial);
  void emit_range(int begin, int end);
  void emit_statement(int position);
  int emit_if(int position);
  int emit_loop(int position);
  void emit_masked_loop(int position);
  void emit_uniform_loop(int position);
  bool cheap_body(int begin, int end) const;
  bool worth_cloning(int position) const;
  /// True for all lanes, as a scalar computed from bases alone; null when the condition is not made of index comparisons. Sound, not
  /// complete.
  Value* all_lanes_hold(ir::NodeId condition, bool negated);
  Value* block_value(ir::NodeId id);
  void emit_variables_init();
  void load_variables(int region);
  void save_variables(int region);
  void prepare_imports(int region);
  void save_crossing(ir::NodeId id);
  Value* crossing_slot(ir::NodeId id);
  Lanes recompute(ir::NodeId id);

  // --- lower_values.cpp: pure operations
  Lanes emit_value(ir::NodeId id);
  Lanes get(ir::NodeId id);
  bool is_known(ir::NodeId id) const;
  Lanes leaf(ir::NodeId id);
  Value* constant(ir::NodeId id);
  Value* vector_of(const Lanes& lanes);
  Value* vector_of(ir::NodeId id) { return vector_of(get(id)); }
  Value* scalar_of(ir::NodeId id);
  /// The operands as scalars when the result is uniform, else as vectors.
  Value* operand(ir::NodeId id, bool as_vector) { return as_vector ? vector_of(id) : scalar_of(id); }
  Value* compute(ir::NodeId id, bool as_vector);
  Value* compute_ins(ir::NodeId id, bool as_vector);
  Value* divide(ir::NodeId id, ir::Op op, bool as_vector);
  Value* divide_lanes(ir::Type type, Value* x, Value* y);
  Value* divide_total(ir::NodeId id, Value* x, Value* y);
  Value* convert(Value* x, ir::Type from, ir::Type to);
  Value* float_to_int(Value* x, ir::Type from, ir::Type to);
  Value* min_max(Value* x, Value* y, bool max, ir::Type type, const ir::ConstValue* literal_y);
  Value* min_max_of(ir::NodeId id, bool max, bool as_vector);
  Value* mul_high(Value* x, Value* y, ir::Type type);
  Value* round_half_away(Value* x);
  Value* bits_of_float(Value* x);
  Value* integer_of_float(Value* x, ir::Type float_type);
  Lanes combine_affine(ir::NodeId id);

  // --- lower_memory.cpp: places, loads, stores, bounds checks
  struct Place {
    ir::NodeId buffer;
    ir::Type type = ir::Type::Void;
    Value* base = nullptr;  // pointer to cell 0 (variables of lanes: the array's start)
    bool is_variable = false;
    bool lanes_apart = false;  // variable with one cell per lane: cell i of lane l lies at i * width + l
    bool is_shared = false;
    bool is_volatile = false;
    Lanes index;
    std::int64_t offset = 0;  // constant added to the index, in cells
  };
  Place place_of(ir::NodeId index_node, bool memory);
  Value* wide_index(Value* index, ir::Type type);
  Value* cell_pointer(const Place& place, Value* index);
  Value* lane_pointers(const Place& place);
  Lanes emit_load(ir::NodeId id);
  void emit_store(int position, ir::NodeId id);
  Value* load_vector(const Place& place, Value* mask, Value* passthru);
  void store_vector(const Place& place, Value* value, Value* mask);
  Value* load_lanewise(const Place& place, Value* mask, Value* passthru);
  void store_lanewise(const Place& place, Value* value, Value* mask);
  /// Does the machine access memory under a mask, for cells of the type, next to each other or not?
  bool has_masked(ir::Type type, bool contiguous, bool store) const;
  Lanes load_variable(ir::NodeId id, const Place& place);
  void store_variable(int position, ir::NodeId id, const Place& place);
  Value* to_register(Value* x, ir::Type type);  // from its form in memory
  Value* to_memory(Value* x, ir::Type type);
  void check_bounds(ir::NodeId access, ir::NodeId place, Value* mask);
  void fault_where(Value* fails, int site, const Lanes& value, Value* limit);
  void fault_if(Value* fails, int site, Value* lane, Value* value, Value* limit);
  llvm::BasicBlock* fault_block();
  int fault_site(std::string kind, std::string detail, ir::NodeId id);
  Value* buffer_length(ir::NodeId buffer, std::int64_t& cells_per_element);
  void emit_trap(ir::NodeId id);

  // --- lower_warp.cpp, lower_atomics.cpp
  Lanes emit_warp(ir::NodeId id);
  Value* shuffle(ir::NodeId id);
  Lanes reduce(ir::NodeId id);
  Lanes emit_atomic(ir::NodeId id);
  Value* lane_scalar(ir::NodeId id, int lane, int& budget);
  Value* atomic_update(ir::Ins code, ir::Type type, Value* pointer, Value* operand, Value* compare, bool shared);
  Value* atomic_combine(ir::Ins code, ir::Type type, Value* old, Value* operand, Value* compare);
  bool is_used(ir::NodeId id) const { return used_[id.index()]; }

  // --- types and small helpers
  llvm::Type* scalar_type(ir::Type type);  // in registers; Bool is i1
  llvm::Type* memory_type(ir::Type type);  // Bool is i8
  llvm::Type* vector_type(llvm::Type* element) { return llvm::FixedVectorType::get(element, static_cast<unsigned>(width_)); }
  llvm::Type* value_type(ir::Type type, bool as_vector) { return as_vector ? vector_type(scalar_type(type)) : scalar_type(type); }
  llvm::Type* mask_storage_type();
  Value* mask_to_storage(Value* mask);
  Value* mask_from_storage(Value* stored);
  Value* splat(Value* scalar) { return b_.CreateVectorSplat(static_cast<unsigned>(width_), scalar); }
  Value* lane_numbers(llvm::Type* element, std::int64_t stride);
  Value* any(Value* mask);
  Value* all(Value* mask);
  Value* mask_bits(Value* mask);        // integer of `width` bits, lane 0 lowest
  Value* mask_and(Value* x, Value* y);  // null is "all"
  Value* full_mask() { return llvm::ConstantInt::getTrue(vector_type(b_.getInt1Ty())); }
  Value* mask_or_full() { return mask_ ? mask_ : full_mask(); }
  Value* i32(std::int64_t v) { return b_.getInt32(static_cast<std::uint32_t>(v)); }
  Value* i64(std::int64_t v) { return b_.getInt64(static_cast<std::uint64_t>(v)); }
  llvm::AllocaInst* entry_alloca(llvm::Type* type, const char* name);
  Value* scratch_slot(std::int64_t bytes_per_chunk, std::int64_t& offset, bool& made);
  Value* stack_or_scratch(llvm::Type* type, std::int64_t bytes, const char* name);
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(context_, name, function_); }
  /// A counted loop: calls `body(i)` for i = 0 to count - 1 (i64). The builder ends behind it.
  template <class F>
  void counted_loop(Value* count, const char* name, F body);
  void locate(ir::NodeId id);
  [[noreturn]] void fail(ir::NodeId id, const std::string& why) const;
  const ir::Graph& graph() const { return program_.graph; }
  ir::Op op(ir::NodeId id) const { return program_.graph.op(id); }
  ir::NodeId source(ir::NodeId id, std::size_t i) const { return program_.graph.source(id, i); }
  ir::Type type(ir::NodeId id) const { return program_.graph.type(id); }
  ir::NodeId at(int position) const { return program_.body[static_cast<std::size_t>(position)]; }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const ir::Program& program_;
  const Analysis& analysis_;
  const NativeOptions& options_;
  Builder b_;
  llvm::DIBuilder* debug_;
  llvm::DIFile* debug_file_;
  llvm::DISubprogram* debug_scope_ = nullptr;
  const int width_;
  const bool mask_registers_;  // i1 vectors live in registers of their own (AVX-512)

  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;  // allocas and slots
  Value* launch_ = nullptr;
  Value* first_block_ = nullptr;
  std::vector<Value*> slots_;        // by slot: scalar, or pointer
  std::vector<Value*> shared_base_;  // by node index of a Local BUFFER; sparse
  Value* shared_ = nullptr;
  Value* scratch_ = nullptr;
  Value* grid_[3] = {};
  Value* group_[3] = {};  // of the current block
  Value* block_number_ = nullptr;
  Value* chunk_ = nullptr;  // i32, of the current region's loop
  Value* mask_ = nullptr;   // of the lanes that are on; null: all
  int clone_depth_ = 0;
  int holds_ = -1;  // position of an IF whose condition is known to hold here

  std::vector<Lanes> values_;          // by node index
  std::vector<int> chunk_values_;      // entries of values_ to forget when the chunk ends
  std::vector<Value*> variable_;       // by variable: where it lives inside the chunk
  std::vector<Value*> variable_home_;  // by variable: offset in scratch or alloca of a persistent one
  std::vector<Value*> crossing_home_;  // by node
  std::vector<bool> used_;             // by node: some node of the body has it as a source
  std::vector<bool> unproven_;         // by node of an access: its bounds need a check (checked mode)

  std::int64_t shared_bytes_ = 0;
  std::int64_t scratch_bytes_ = 0;
  std::int64_t stack_bytes_ = 0;
  std::vector<NativeFaultSite> fault_sites_;
  Value* nowhere_ = nullptr;  // what lanes that are off write to
  llvm::BasicBlock* fault_block_ = nullptr;
  llvm::PHINode* fault_phi_[4] = {};  // site, thread, value, limit
};

template <class F>
void KernelEmitter::counted_loop(Value* count, const char* name, F body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* head = block(name);
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(b_.getInt64(0), before);
  body(i);
  Value* next = b_.CreateNUWAdd(i, b_.getInt64(1));
  i->addIncoming(next, b_.GetInsertBlock());
  llvm::BasicBlock* after = block("after");
  b_.CreateCondBr(b_.CreateICmpULT(next, count), head, after);
  b_.SetInsertPoint(after);
}

}  // namespace sarek::emit
