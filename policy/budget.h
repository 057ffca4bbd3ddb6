// Budgets: which grants a kernel holds and why, the meet that a fused kernel gets, and the effective policy that a decision reads.
// A budget is a plain value; where its grants come from is store.h.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "policy/vocabulary.h"

namespace sarek::policy {

/// The grants in force for one kernel, each with the program's reasons for it. Two budgets are equal when they hold the same grants:
/// reasons explain, they do not decide.
class Budget {
 public:
  Budget() = default;

  /// Adds a grant. A blank reason is refused and changes nothing; a grant that is held already keeps its first reason.
  [[nodiscard]] std::optional<Refusal> add(Grant grant, std::string reason);

  /// Holds `grant`, for one more reason (recorded once). The reason is not blank: the store asked before.
  void add_reason(Grant grant, const std::string& reason);

  /// The greatest budget that both hold. Commutative, associative and idempotent on grants; reasons of both, in order, each once.
  static Budget meet(const Budget& a, const Budget& b);

  bool contains(Grant grant) const { return held_.contains(grant); }
  /// Held grants; iterates in stable order.
  GrantSet grants() const { return held_; }
  /// The reasons for a held grant in order of first appearance; empty when it is not held.
  const std::vector<std::string>& reasons(Grant grant) const { return reasons_[grant.index()]; }
  /// The reasons for a grant joined; nothing when it is not held.
  std::optional<std::string> reason(Grant grant) const;
  /// The held grants' stable names joined by ','; equal exactly when the budgets are.
  std::string digest() const;

  friend bool operator==(const Budget& a, const Budget& b) { return a.held_ == b.held_; }

 private:
  GrantSet held_;
  std::array<std::vector<std::string>, Grant::count> reasons_;
};

/// What a decision point reads: the grants in force for the kernel being decided, and the optimisations taken away.
struct Effective {
  Budget budget;
  OptimisationSet disabled;
  friend bool operator==(const Effective&, const Effective&) = default;
};

/// A stable text of the whole effective policy: the budget's digest, '|', the disabled optimisations. Equal exactly when the policies are
/// equal; reasons are no part of it, so that it can be a cache key.
std::string effective_digest(const Effective& effective);

}  // namespace sarek::policy
