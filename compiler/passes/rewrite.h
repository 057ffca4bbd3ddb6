// The engine on which every pass stands: a walk over a program's body that keeps, replaces, drops and inserts nodes. It knows leaves,
// scopes and fresh tags; it decides nothing about meaning.
//
// Graphs only grow, so a pass need not copy what it leaves alone: the Rewriter takes the program, appends the nodes that changed to its
// graph and writes a new body. An untouched node keeps its id. What no body mentions any more is dropped by compact(), once, at the end of
// the pipeline.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/program.h"

namespace sarek::passes {

using ir::NodeId;

/// CONST, CAST of CONST, PARAM, SPECIAL, BUFFER and the empty GROUP: nodes without a place in the order, which stand before the rest.
bool is_leaf(const ir::Graph& graph, NodeId id);

class Rewriter {
 public:
  explicit Rewriter(ir::Program program);

  const ir::Program& program() const { return program_; }
  const ir::Graph& graph() const { return program_.graph; }
  /// The body as it came in: what a pass walks.
  const std::vector<NodeId>& body() const { return old_body_; }

  // --- what becomes of a node of the old body --------------------------------------------------------------------------------
  /// What stands for `old` now: itself, its rewritten copy or its replacement.
  NodeId now(NodeId old) const { return old.index() < now_.size() && now_[old.index()] ? now_[old.index()] : old; }
  /// Appends `old` with its sources replaced by what stands for them now. A node that the new body has already gets a second copy.
  NodeId keep(NodeId old);
  /// As keep, but always a new node: for bodies of loops that are copied. Leaves stay single.
  NodeId copy(NodeId old);
  /// As keep, with these sources.
  NodeId keep_with(NodeId old, std::span<const NodeId> sources);
  /// Later users of `old` use `by`, a node of the new body. `old` itself is not appended.
  void replace(NodeId old, NodeId by);

  // --- new nodes -------------------------------------------------------------------------------------------------------------
  /// The place in the source that new nodes carry. keep() and copy() set it to that of their node.
  void at(SourceRange range) { range_ = range; }
  NodeId emit(ir::Op op, std::span<const NodeId> sources, ir::Arg arg = {});
  NodeId emit(ir::Op op, std::initializer_list<NodeId> sources, ir::Arg arg = {}) {
    return emit(op, std::span<const NodeId>(sources.begin(), sources.size()), std::move(arg));
  }
  /// What equal nodes have in common: the node without a tag, not appended. For passes that compare.
  NodeId key(ir::Op op, std::span<const NodeId> sources, ir::Arg arg) { return program_.graph.make(op, sources, std::move(arg)); }
  /// A leaf; equal leaves are one node.
  NodeId leaf(ir::Op op, std::span<const NodeId> sources, ir::Arg arg);
  NodeId constant(ir::Type type, ir::ConstValue value);
  NodeId integer(ir::Type type, ir::Int128 value) { return constant(type, ir::ConstValue::of_int(value)); }
  NodeId boolean(bool value) { return constant(ir::Type::Bool, ir::ConstValue::of_bool(value)); }
  /// Zero of any scalar type: 0, +0.0, false.
  NodeId zero(ir::Type type);
  NodeId void_value() { return leaf(ir::Op::Group, {}, {}); }
  NodeId cast(NodeId x, ir::Type type);
  NodeId bitcast(NodeId x, ir::Type type);
  NodeId logical_not(NodeId x) { return emit(ir::Op::Xor, {x, boolean(true)}); }
  /// A one-cell register variable, zero when the program starts, with a number that no other buffer has.
  NodeId reg(std::string name, ir::Type type);
  /// A number for RANGE or IF that no other one has.
  int fresh_axis();
  /// Has the new body a node with this id?
  bool emitted(NodeId id) const { return id.index() < emitted_.size() && emitted_[id.index()]; }

  // --- lists: a pass that moves nodes collects a scope apart before it knows what stands in front -------------------------------
  /// Following nodes go to a list of their own until take_list().
  void begin_list() { lists_.emplace_back(); }
  /// The nodes since begin_list(), which are no longer part of the body; append_list() puts them back.
  std::vector<NodeId> take_list();
  void append_list(const std::vector<NodeId>& list);
  /// keep(), but to the list `outwards` lists further out (0: the innermost).
  NodeId keep_outwards(NodeId old, std::size_t outwards);
  /// copy(), in the same way.
  NodeId copy_outwards(NodeId old, std::size_t outwards);

  ir::Program finish();

 private:
  NodeId place(NodeId id);
  NodeId remake(NodeId old, std::span<const NodeId> sources, bool always_new);
  void map_sources(NodeId old);
  void scan_numbers();

  ir::Program program_;
  std::vector<NodeId> old_body_;
  std::vector<NodeId> now_;
  std::vector<bool> emitted_;
  std::vector<NodeId> leaves_;
  std::vector<std::vector<NodeId>> lists_;
  std::size_t outwards_ = 0;
  std::vector<NodeId> scratch_;
  SourceRange range_;
  std::uint32_t next_tag_ = 1;
  int next_axis_ = -1;
  int next_buffer_ = -1;
};

/// The program with a graph that holds its body and nothing else. Ids change, nothing else does.
ir::Program compact(ir::Program program);

}  // namespace sarek::passes
