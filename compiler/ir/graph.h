// The node store: flat nodes, typed ids, hash-consing. A node is an operation, a type, sources and an argument; equal nodes (operation,
// type, sources, argument, tag) have one id. Sources always have smaller ids than the node. Nodes are never changed or removed: a pass
// builds a new graph. Nothing here knows what a stage may hold (compiler/spec) or how programs are ordered (program.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/args.h"
#include "compiler/support/ids.h"
#include "compiler/support/source.h"

namespace sarek::ir {

using NodeId = Id<struct NodeTag>;
using ArgId = Id<struct ArgTag>;

struct Node {
  Op op = Op::Noop;
  Type type = Type::Void;
  std::uint16_t source_count = 0;
  std::uint32_t source_begin = 0;
  ArgId arg;              // none when the node has no argument
  std::uint32_t tag = 0;  // part of identity, ignored by everything else: keeps two loads of one place apart
  SourceRange range;      // where the user wrote it; not part of identity
};

class Graph {
 public:
  /// Makes (or finds) a node; its type follows from the op's rule. Throws std::invalid_argument when the number of sources, the kind of
  /// argument or a source type makes no node: a fault of the caller, never of a user (WHERE on a condition that is not Bool; a shift of
  /// floats).
  NodeId make(Op op, std::span<const NodeId> sources, Arg arg = {}, std::uint32_t tag = 0, SourceRange range = {});
  NodeId make(Op op, std::initializer_list<NodeId> sources, Arg arg = {}, std::uint32_t tag = 0, SourceRange range = {}) {
    return make(op, std::span<const NodeId>(sources.begin(), sources.size()), std::move(arg), tag, range);
  }
  /// As make, with the type given and nothing checked but that the sources exist: for the text reader and for tests of the specifications.
  NodeId make_raw(Op op, Type type, std::span<const NodeId> sources, Arg arg = {}, std::uint32_t tag = 0, SourceRange range = {});

  std::size_t size() const { return nodes_.size(); }
  const Node& operator[](NodeId id) const { return nodes_[id.index()]; }
  Op op(NodeId id) const { return nodes_[id.index()].op; }
  Type type(NodeId id) const { return nodes_[id.index()].type; }
  SourceRange range(NodeId id) const { return nodes_[id.index()].range; }
  std::span<const NodeId> sources(NodeId id) const {
    const Node& n = nodes_[id.index()];
    return {source_pool_.data() + n.source_begin, n.source_count};
  }
  NodeId source(NodeId id, std::size_t i) const { return source_pool_[nodes_[id.index()].source_begin + i]; }
  const Arg& arg(NodeId id) const;
  /// The argument as T, or nullptr when the node has another kind of argument or none.
  template <class T>
  const T* arg_as(NodeId id) const {
    return std::get_if<T>(&arg(id));
  }

 private:
  ArgId intern(Arg arg);

  std::vector<Node> nodes_;
  std::vector<NodeId> source_pool_;
  std::vector<Arg> args_;
  std::unordered_multimap<std::size_t, std::uint32_t> node_index_;
  std::unordered_multimap<std::size_t, std::uint32_t> arg_index_;
};

/// The type that `op` gives its node (semantics-spec 1.4). Throws std::invalid_argument as Graph::make says.
Type derive_type(const Graph& graph, Op op, std::span<const NodeId> sources, const Arg& arg);

// Questions about one node that many folders ask.

/// The value when `id` is CONST or a CAST of a CONST (every literal of a program), converted to the node's type exactly as CAST does.
/// The integer of a Bool is 0 or 1. None for Invalid and for anything else.
std::optional<ConstValue> literal(const Graph& graph, NodeId id);
/// The literal when it is an integer or a Bool.
std::optional<std::int64_t> integer_literal(const Graph& graph, NodeId id);
/// Strips movement operations.
NodeId base(const Graph& graph, NodeId id);
/// base, also through BITCAST, AFTER, UNSHARD and INDEX, to a fixed point: the PARAM, BUFFER or ALLOC behind a place.
NodeId place_base(const Graph& graph, NodeId id);
/// A CONST with the value Invalid, possibly moved.
bool is_invalid(const Graph& graph, NodeId id);
/// May the node be merged with an equal one, moved, or dropped when unused? (Loads may not: memory changes.)
bool is_pure(const Graph& graph, NodeId id);

}  // namespace sarek::ir
