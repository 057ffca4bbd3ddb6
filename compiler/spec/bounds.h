// Bounds of integer values: what interval arithmetic knows of a node from its sources (semantics-spec 1.7). Flow-sensitive facts,
// "inside this IF i is below n", are proof.h's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/program.h"

namespace sarek::spec {

using ir::Int128;

/// All values from lo to hi, both included; lo > hi holds no value (the variable of a loop that never runs).
struct Interval {
  Int128 lo = 0;
  Int128 hi = 0;
  bool empty() const { return lo > hi; }
  bool is_single() const { return lo == hi; }
  bool contains(const Interval& other) const { return other.empty() || (lo <= other.lo && other.hi <= hi); }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Stands for "unbounded" in the arithmetic of weak integers: sums and products saturate here.
inline constexpr Int128 kUnbounded = Int128{1} << 120;

/// Every value of an integer type or Bool; unbounded for weak integers, floats and Void.
Interval type_interval(ir::Type type);
/// The least and greatest of both.
Interval hull(const Interval& a, const Interval& b);
Interval intersect(const Interval& a, const Interval& b);
/// The interval after wrapping into `type`: itself where it fits, the wrapped value where it is single, else every value of the type.
Interval wrap(const Interval& exact, ir::Type type);
/// The interval of an arithmetic node from those of its sources, before wrapping: exact in the integers. None for operations that have no
/// rule (the node's type bounds it). `right_literal` is the second source where it is a literal: shifts and masks need it.
std::optional<Interval> exact_interval(ir::Op op, const std::vector<Interval>& sources, std::optional<std::int64_t> right_literal,
                                       ir::Type type);

/// Bounds of every node of a graph, computed once each, in the order of ids (no recursion). The graph may grow between calls.
class BoundsTable {
 public:
  /// With a program, what its launch promises holds too (launch_interval).
  explicit BoundsTable(const ir::Graph& graph, const ir::Program* program = nullptr) : graph_(graph), program_(program) {}
  const Interval& of(ir::NodeId id);
  Int128 vmin(ir::NodeId id) { return of(id).lo; }
  Int128 vmax(ir::NodeId id) { return of(id).hi; }

 private:
  Interval compute(ir::NodeId id) const;
  const ir::Graph& graph_;
  const ir::Program* program_;
  std::vector<Interval> known_;
  mutable std::unordered_map<int, std::optional<Interval>> slots_;  // launch_interval of scalar PARAMs, by slot
};

/// What a launch promises of a leaf of a program; none for other nodes. The language refuses a launch of more than 2^31 - 1 threads along
/// an axis (2^63 - 1 for a wide kernel) and a buffer of more than 2^31 - 1 elements, so with a block of B threads there are at most (2^31 -
/// 1) / B blocks along the axis, group_id * B + local_id does not wrap, and a length is at least 0. A buffer of records is refused, too,
/// when its smallest cells (an index counts cells of a field's type) are more than an index can count.
std::optional<Interval> launch_interval(const ir::Program& program, ir::NodeId id);

/// Cells of type `type` that a buffer's element holds: 1 for scalars, size / bytes for records. None when the slot is no buffer or the
/// cells do not divide the element.
std::optional<std::int64_t> cells_per_element(const ir::Program& program, int slot, ir::Type type);

/// Decimal text of a 128-bit integer.
std::string to_text(Int128 value);

}  // namespace sarek::spec
