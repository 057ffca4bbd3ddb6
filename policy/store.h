// The store: the program's grants, the registry of generated names and the restrictions, with the decisions taken from them. The manifest
// (manifest.h) and the environment (environment.h) feed it; reports (report.h) are made of what its listener hears.
//
// How it is kept. The state is an immutable snapshot behind one atomic pointer; a change builds the next snapshot and installs it by
// compare-and-set, so readers never wait and every read is of one consistent state. A snapshot stays alive until its store dies: that
// makes a read one acquire load, with no hazard pointer, no epoch and no reference count on the hot path (std::atomic<std::shared_ptr>
// takes a spin lock in common libraries). The price is bounded by the number of *changes*, never of reads: a change costs one small
// record and a copied path of the tree of names, about 2 log2(names) nodes. A program makes some hundred changes in its life.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/budget.h"
#include "policy/decision.h"
#include "policy/environment.h"
#include "policy/frameworks.h"
#include "policy/reporter.h"

namespace sarek::policy {

namespace detail {
struct Snapshot;
}

struct StoreOptions {
  Environment environment;
  Frameworks frameworks = Frameworks::defaults();
};

/// Every member function may be called from any thread at any time.
class Store {
 public:
  /// Starts with the environment's restrictions in force (they do not count as changes). A store whose environment asks for it writes
  /// one line per event to standard error until another listener is installed.
  explicit Store(StoreOptions options = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Statements of the program. All are one-way: nothing granted can be withdrawn, so a check that passed never becomes stale, with one
  // exception: a name that is later registered as generated loses its own grants (the version tells).

  /// Records that the program accepts `grant` in `scope`. The first reason of a pair is kept and a repetition changes nothing. A blank
  /// reason is refused before the default kernel name is; a refusal records nothing.
  [[nodiscard]] std::optional<Refusal> grant(const Scope& scope, Grant grant, std::string_view reason);

  /// A fusion pass built kernel `name` from `members`, which may be generated themselves. From then on its budget is the meet over the
  /// members' budgets, also for grants made later; grants for its own name are not counted. Registering again adds members; no member is
  /// no registration; a name that contains itself, at any depth, holds nothing.
  void register_fused(std::string_view name, const std::vector<std::string>& members);
  /// The kernel `name` is `from` rewritten and has exactly its budget.
  void register_derived(std::string_view name, std::string_view from);

  /// Takes an optimisation away for the rest of the store's life.
  void restrict(Optimisation optimisation);

  // What is in force.

  bool restricted(Optimisation optimisation) const;
  OptimisationSet restrictions() const;
  /// The environment revoked the grant: it is still recorded by `grant`, but no budget, reason or decision sees it.
  bool revoked(Grant grant) const { return options_.environment.revoked.contains(grant); }

  /// The reason of the process grant; nothing when it is not granted or revoked.
  std::optional<std::string> reason(Grant grant) const;
  /// The reason for which a kernel holds a grant: its own grant's first, else the process grant's; for a generated name, its members'.
  std::optional<std::string> reason(std::string_view kernel, Grant grant) const;

  /// The budget of a launch whose kernel is built from `kernels`: the meet over each one's process grants and own grants. No kernel gives
  /// the process grants.
  Budget budget(const std::vector<std::string>& kernels) const;
  Effective effective(std::string_view kernel) const;
  Effective effective_for(const std::vector<std::string>& kernels) const;

  /// True when the name was registered as fused or derived.
  bool is_generated(std::string_view kernel) const;

  // Decisions. `backend` is a framework's name ("Vulkan"), or "gen:<generator>" where code generation asks.

  const Frameworks& frameworks() const { return options_.frameworks; }
  /// What an optimisation needs on a backend (the reference calls this `requires`, a word that C++ took): see Frameworks::requirement.
  std::optional<GrantSet> requires_grants(Optimisation optimisation, std::string_view backend) const;

  /// The common decision, in this order: disabled; not offered on the backend; the first required grant that is not held (and whether it
  /// is revoked); exact when nothing is required; granted otherwise.
  Decision decide(const Effective& effective, Optimisation optimisation, std::string_view backend) const;
  /// The same with needs that only the decision point knows, and what the rewrite will do. For the float lowerings of the matrix rewrite.
  Decision decide_needing(const Effective& effective, Optimisation optimisation, GrantSet needed,
                          std::optional<std::string> lowering = std::nullopt) const;
  /// For an f32 to f16 narrowing that would round once where the source rounds twice: applied on `proof` (what was proved, in words), or
  /// else on `single-rounding`, refused otherwise. A code generator reports the outcome with target "gen:<generator>".
  Decision decide_narrowing(const Effective& effective, std::optional<std::string> proof) const;

  /// Increases with every change and never otherwise; one atomic read. A cache stores the version it read *before* it read the policy:
  /// while the version is the same, what it derived holds.
  std::uint64_t version() const;

  // Reporting.

  /// Installs the listener of `report`, or removes it when empty. Installing forgets what was reported. A call of the former listener may
  /// still be in progress on another thread when this returns.
  void set_reporter(Sink sink) { reporter_.set_sink(std::move(sink)); }
  /// Lets a decision point skip building a record when nobody listens; one atomic read.
  bool reporting() const { return reporter_.listening(); }
  /// Tells the listener a decision, the first time it is seen for its kernel, target and optimisation, and then the grants for that
  /// kernel that have no effect, once each. 4096 distinct decisions are remembered, then all are forgotten.
  void report(const Record& record);
  /// The same for the explicit cooperative-matrix gate of a kernel.
  void report_gate(std::string_view kernel, std::string_view target, const Decision& decision);

 private:
  const detail::Snapshot& now() const { return *snapshot_.load(std::memory_order_acquire); }
  template <typename Change>
  void update(Change change);
  Budget budget_in(const detail::Snapshot& snapshot, const std::vector<std::string_view>& kernels) const;
  std::vector<IgnoredGrant> ignored_grants(std::string_view kernel) const;

  StoreOptions options_;
  std::atomic<const detail::Snapshot*> snapshot_;
  detail::Reporter reporter_;
};

/// The memo protocol in one place: the effective policy of one launch, read again only after a change. One owner at a time.
class EffectiveMemo {
 public:
  EffectiveMemo(const Store& store, std::vector<std::string> kernels);

  /// The policy as of now; one atomic read when nothing changed.
  const Effective& get();
  /// Counts the changes that mattered: it increases when `get` finds a policy with another digest, so what was derived from the policy
  /// under one generation holds while the generation stays.
  std::uint64_t generation() const { return generation_; }

 private:
  const Store* store_;
  std::vector<std::string> kernels_;
  std::uint64_t version_;
  std::uint64_t generation_ = 0;
  Effective effective_;
};

/// The store of this process. Its environment is read once, at the first call; unknown items of SAREK_OPT_DISABLE are warned about then,
/// on standard error. Never destroyed, so it serves threads that outlive main.
Store& process_store();

/// States what the process knows of its frameworks, for example that an emitter forbids contraction or that the user lets Native defer.
/// Only before the first call of `process_store`: decisions taken under other promises cannot be taken back. False when it is too late.
[[nodiscard]] bool set_process_frameworks(Frameworks frameworks);

}  // namespace sarek::policy
