// Builds programs. Leaves are shared and stand before everything else; every other call appends a new node, so the caller's order is the
// program's order. Meant for the lowering of the language, for passes that rewrite, for tests, and as the public way to make a kernel
// without source text. Misuse (an unclosed loop, a value out of scope) is found by compiler/spec, not here.
#pragma once

#include "compiler/ir/program.h"

namespace sarek::ir {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name, std::array<int, 3> block = {1, 1, 1});

  Program& program() { return program_; }
  const Graph& graph() const { return program_.graph; }
  /// The place in the source that following nodes carry.
  void at(SourceRange range) { range_ = range; }
  SourceRange at() const { return range_; }

  // --- parameters -----------------------------------------------------------------------------------------------------------
  /// Adds a scalar parameter and returns its PARAM.
  NodeId scalar_param(std::string name, Type type);
  /// Adds a buffer of scalars and returns its PARAM; its length is `length(buffer)`.
  NodeId buffer_param(std::string name, Type element, Access access);
  /// A PARAM over slot `slot` with element type `type`: another view of a buffer.
  NodeId view(int slot, Type type);
  /// The PARAM of a scalar slot that exists already.
  NodeId slot_value(int slot);
  /// The number of elements (as the user counts them) of the buffer at `buffer_slot`; adds the hidden slot on first use. I32, or I64 when
  /// wide.
  NodeId length(int buffer_slot);
  NodeId num_groups(int axis);
  int slot_of(NodeId param) const;

  // --- leaves ---------------------------------------------------------------------------------------------------------------
  NodeId constant(Type type, ConstValue value);
  NodeId int_constant(Type type, Int128 value) { return constant(type, ConstValue::of_int(value)); }
  NodeId float_constant(Type type, double value) { return constant(type, ConstValue::of_float(value)); }
  NodeId bool_constant(bool value) { return constant(Type::Bool, ConstValue::of_bool(value)); }
  NodeId i32(std::int64_t value) { return int_constant(Type::I32, value); }
  NodeId zero(Type type);
  NodeId local_id(int axis);
  NodeId group_id(int axis);
  /// group_id * block + local_id, as I32 (I64 when wide).
  NodeId global_id(int axis);
  /// x fastest.
  NodeId linear_local_id();
  NodeId void_value();
  NodeId reg(std::string name, Type type, std::int64_t size = 1);
  NodeId shared(std::string name, Type type, std::int64_t size);
  /// Dynamic shared storage; its length is the hidden slot `NAME.len`.
  NodeId dynamic_shared(std::string name, Type type);
  NodeId dynamic_shared_length(NodeId buffer);

  // --- values ---------------------------------------------------------------------------------------------------------------
  NodeId op(Op op, std::initializer_list<NodeId> sources, Arg arg = {});
  NodeId op(Op op, std::span<const NodeId> sources, Arg arg = {});
  NodeId cast(NodeId x, Type type);
  NodeId bitcast(NodeId x, Type type);
  NodeId logical_not(NodeId x);
  NodeId ins(Ins code, Type type, std::initializer_list<NodeId> sources, std::string text = {});
  NodeId index(NodeId buffer, NodeId i);
  NodeId load(NodeId buffer, NodeId i) { return op(Op::Load, {index(buffer, i)}); }
  /// The value, or `alternative` where `gate` is false; the place is not touched there.
  NodeId load(NodeId buffer, NodeId i, NodeId alternative, NodeId gate) { return op(Op::Load, {index(buffer, i), alternative, gate}); }
  NodeId get(NodeId variable) { return load(variable, i32(0)); }

  // --- effects --------------------------------------------------------------------------------------------------------------
  void store(NodeId buffer, NodeId i, NodeId value) { op(Op::Store, {index(buffer, i), value}); }
  void store(NodeId buffer, NodeId i, NodeId value, NodeId gate) { op(Op::Store, {index(buffer, i), value, gate}); }
  void set(NodeId variable, NodeId value) { store(variable, i32(0), value); }
  void barrier() { op(Op::Barrier, {}); }
  void trap(NodeId condition, std::string message);
  NodeId begin_if(NodeId condition);
  void end_if(NodeId opened);
  /// The loop variable, 0 to count - 1, of count's type.
  NodeId begin_range(NodeId count);
  /// The same, with the wish that its body is copied: every turn for a factor of 0. end_range closes it.
  NodeId begin_unrolled(NodeId count, int factor);
  void end_range(NodeId range);
  NodeId begin_loop();
  void end_loop(NodeId loop, NodeId again);

  /// Puts the leaves before the rest and gives up the program.
  Program finish();

  /// Adds a leaf that exists in another program (PARAM, SPECIAL, BUFFER, ... with its sources mapped): for passes that copy.
  NodeId leaf(Op op, std::span<const NodeId> sources, Arg arg);

 private:
  friend ProgramBuilder rebuild(const Program& from);
  NodeId append(NodeId id);

  Program program_;
  SourceRange range_;
  std::vector<NodeId> leaves_;
  std::vector<NodeId> rest_;
  std::vector<bool> is_leaf_;  // by node index
  std::uint32_t next_tag_ = 1;
  int next_buffer_ = 0;
  int next_axis_ = 0;
};

/// A builder with a program's declaration (name, params, slots, block, source) but no body: where a pass that rebuilds starts. Buffer and
/// axis numbers it gives out do not meet those of `from`.
ProgramBuilder rebuild(const Program& from);

}  // namespace sarek::ir
