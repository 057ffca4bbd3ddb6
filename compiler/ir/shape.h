// What follows from a node without running it: its shape, where its storage lives, the loops it runs inside, where in memory an argument
// starts, and orders over a graph. Everything here is derived; values and their bounds are compiler/spec's.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace sarek::ir {

/// One extent of a shape: a number, or the value of a node. Storage without a size has its own node as extent: "as many as there are".
struct Dim {
  std::int64_t value = 0;
  NodeId symbol;
  bool is_constant() const { return !symbol; }
  friend bool operator==(const Dim&, const Dim&) = default;
};
using Shape = std::vector<Dim>;

/// Shapes of a graph's nodes, computed once each. A node has no shape when it is an effect or when its sources do not fit it.
/// The graph may grow between calls.
class ShapeTable {
 public:
  explicit ShapeTable(const Graph& graph) : graph_(graph) {}
  const std::optional<Shape>& of(NodeId id);

 private:
  std::optional<Shape> compute(NodeId id) const;
  const Graph& graph_;
  std::vector<std::optional<Shape>> known_;
};

/// Does the number of sources fit the op's row? Everything else in this header answers "none" for nodes where it does not.
bool has_valid_arity(const Graph& graph, NodeId id);
/// The extents that a shape source (a STACK of integers, or one integer) stands for; none when it is no list of integers.
std::optional<Shape> dims_of(const Graph& graph, NodeId id);

/// An upper bound of an integer node, or none: how max_numel learns about symbols.
using MaxOf = std::function<std::optional<std::int64_t>(NodeId)>;
/// The number of elements with every symbol at its greatest value; none when a symbol has no bound or the product leaves i64.
std::optional<std::int64_t> max_numel(const Shape& shape, const MaxOf& max_of);

/// Where the node's storage lives: that of a place for views, INDEX, AFTER and casts of places; Alu for values; None for effects.
AddressSpace address_space(const Graph& graph, NodeId id);
/// Strips movement, UNSHARD, BITCAST and AFTER.
NodeId storage_base(const Graph& graph, NodeId id);

/// The RANGE nodes that nodes run inside, as sorted lists (semantics-spec 1.1): a node's own when it is a RANGE, those of its sources, less
/// those it closes.
class RangeTable {
 public:
  explicit RangeTable(const Graph& graph) : graph_(graph) {}
  const std::vector<NodeId>& of(NodeId id);

 private:
  const Graph& graph_;
  std::vector<std::vector<NodeId>> known_;
};
/// The sources whose ranges the node closes: from the second on for STAGE, REDUCE, END and CALL, all of LINEAR, the loop of a BACKEDGE, the
/// axes of UNSHARD, and for BARRIER and AFTER what their effects close.
std::vector<NodeId> ended_ranges(const Graph& graph, NodeId id);

/// Where storage starts: `phase` bytes past a multiple of `align`, a power of two from 1 to 16.
struct StoragePhase {
  int align = 16;
  int phase = 0;
  friend bool operator==(const StoragePhase&, const StoragePhase&) = default;
};
/// Where the storage that `id` views starts (semantics-spec 1.6); 16 and 0 for what is no storage.
StoragePhase storage_phase(const Graph& graph, NodeId id, ShapeTable& shapes);
/// Do the arguments of a CALL start where the PARAMs of its body assume?
bool args_fit(const Graph& graph, NodeId call, ShapeTable& shapes);

/// Whether a walk enters the bodies (source 0) of CALLs.
enum class Calls : std::uint8_t { Enter, Skip };
/// Every node below `root`, each once, sources first and in order.
std::vector<NodeId> toposort(const Graph& graph, NodeId root, Calls calls);

}  // namespace sarek::ir
