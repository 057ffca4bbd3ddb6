// Small questions about programs that several passes ask: literals, storage, what a stretch of the body may change. No rewriting here.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/program.h"

namespace sarek::passes {

/// Is `id` a literal equal to `value` (integers and Bool by value, floats by value and sign of zero)?
bool is_literal(const ir::Graph& graph, ir::NodeId id, ir::Int128 value);
bool is_float_literal(const ir::Graph& graph, ir::NodeId id, double value);

/// The BUFFER or PARAM that a LOAD, a STORE or an atomic INS works on; none for other nodes.
std::optional<ir::NodeId> accessed_buffer(const ir::Graph& graph, ir::NodeId id);
ir::AddressSpace space_of(const ir::Graph& graph, ir::NodeId buffer);
/// May other threads see or change the buffer?
inline bool is_visible_to_others(const ir::Graph& graph, ir::NodeId buffer) { return space_of(graph, buffer) != ir::AddressSpace::Reg; }

/// The kind of an INS, none for other operations.
std::optional<ir::InsKind> ins_kind(const ir::Graph& graph, ir::NodeId id);
inline bool is_ins(const ir::Graph& graph, ir::NodeId id, ir::Ins code) {
  const auto* a = graph.op(id) == ir::Op::Ins ? graph.arg_as<ir::InsArg>(id) : nullptr;
  return a && a->code == code;
}
/// BARRIER, warp and sync instructions: points where other threads' writes may become visible.
bool is_synchronising(const ir::Graph& graph, ir::NodeId id);

/// Memory as the passes tell it apart. Two buffers with different numbers never share a cell: every register variable and every shared
/// array has a number of its own; all global buffers share one, because a launch may pass one vector twice.
class MemoryClasses {
 public:
  explicit MemoryClasses(const ir::Program& program);
  /// -1 when `buffer` is no buffer.
  int of(ir::NodeId buffer) const { return buffer.index() < class_.size() ? class_[buffer.index()] : -1; }
  int count() const { return count_; }
  /// Does a synchronisation let other threads' writes into this class?
  bool is_shared(int memory) const { return shared_[static_cast<std::size_t>(memory)]; }

 private:
  std::vector<int> class_;
  std::vector<bool> shared_;
  int count_ = 0;
};

/// For every opener (RANGE, IF), by position: the memory classes that its stretch may change, each once. A stretch that synchronises
/// changes every shared class.
std::vector<std::vector<int>> changed_classes(const ir::Program& program, const ir::Structure& structure, const MemoryClasses& classes);

}  // namespace sarek::passes
