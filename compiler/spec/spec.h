// The five specifications: which nodes each stage of compilation may hold (semantics-spec.md). A specification is a list of rules; a rule
// accepts, rejects or declines a node from its operation, type, argument and sources; the first that does not decline decides, and a node
// that no rule decides fails. The order and structure of programs is verify.h's; values are bounds.h's.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/shape.h"
#include "compiler/spec/bounds.h"
#include "compiler/support/result.h"

namespace sarek::spec {

struct Options {
  /// Loads and stores through an index into storage must be proved in bounds by interval arithmetic alone.
  bool check_oob = false;
  /// From 3 on a failure of type_verify first prints every node of the list.
  int debug = 0;
  /// Where listings and bounds reports go; null: standard error.
  std::ostream* log = nullptr;
};

/// What rules see of the graph besides the node: facts derived once and shared by all rules.
struct Context {
  Context(const ir::Graph& g, const Options& o) : graph(g), options(o), shapes(g), ranges(g), bounds(g) {}
  const ir::Graph& graph;
  Options options;
  ir::ShapeTable shapes;
  ir::RangeTable ranges;
  BoundsTable bounds;
};

/// True accepts, false rejects, none declines.
using Verdict = std::optional<bool>;

/// The operations a rule may decide.
class OpSet {
 public:
  OpSet(std::initializer_list<ir::Op> ops) {
    for (const ir::Op op : ops) bits_[static_cast<std::size_t>(op)] = true;
  }
  template <class Predicate>
  static OpSet where(Predicate p) {
    OpSet set{};
    for (int i = 0; i < ir::kOpCount; ++i) set.bits_[static_cast<std::size_t>(i)] = p(static_cast<ir::Op>(i));
    return set;
  }
  bool contains(ir::Op op) const { return bits_[static_cast<std::size_t>(op)]; }

 private:
  std::array<bool, ir::kOpCount> bits_{};
};

/// One rule: its number in semantics-spec.md, the operations it looks at, its reason in one line, and its decision.
struct Rule {
  std::string_view id;
  OpSet ops;
  std::string_view reason;
  Verdict (*decide)(Context& context, ir::NodeId node);
};

class Spec {
 public:
  Spec(std::string_view name, std::vector<Rule> rules);
  std::string_view name() const { return name_; }
  const std::vector<Rule>& rules() const { return rules_; }

  struct Decision {
    bool accepted = false;
    const Rule* rule = nullptr;  // none: no rule decided, or the number of sources makes no such node
  };
  /// A node whose number of sources its op does not allow is rejected before any rule.
  Decision decide(Context& context, ir::NodeId node) const;

 private:
  std::string_view name_;
  std::vector<Rule> rules_;
  std::array<std::vector<std::uint16_t>, ir::kOpCount> by_op_;  // indices into rules_, in order
};

/// What every stage may hold.
const Spec& shared();
/// Tensor graphs: their own rules, then shared.
const Spec& tensor();
/// Programs: their own rules, then shared.
const Spec& program();
/// Every stage and the forms between stages: a few lenient rules, then tensor, then program.
const Spec& full();
/// The graph of kernel calls that scheduling makes; stands alone.
const Spec& kernel_graph();

struct VerifyFailure {
  std::size_t position = 0;  // in toposort order
  ir::NodeId node;
  std::string rule;     // the rule that rejected it; empty when none decided
  std::string message;  // "UOp verification failed at ..."
};

/// Checks every node below `root`, sources first. Fails at the first node that `spec` does not accept.
Result<Unit, VerifyFailure> type_verify(const ir::Graph& graph, ir::NodeId root, const Spec& spec, ir::Calls calls,
                                        const Options& options = {});
/// The same, throwing std::invalid_argument with the failure's message.
void require_verified(const ir::Graph& graph, ir::NodeId root, const Spec& spec, ir::Calls calls, const Options& options = {});

}  // namespace sarek::spec
