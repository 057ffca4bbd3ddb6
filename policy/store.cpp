// The store's reads, changes and decisions.
#include "policy/store.h"

#include <cstdio>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "policy/event_text.h"
#include "policy/snapshot.h"

namespace sarek::policy {

using detail::NameEntry;
using detail::Snapshot;

namespace {

/// One write per line, so that lines of different threads do not mix.
void write_line(const std::string& line) {
  const std::string text = line + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// The leaves below `roots`: the names of the program that a launch is built from, in order of first visit, with what is known of each
/// (null: nothing). Nothing at all when a name contains itself: then it contributes no grant, and the meet is empty.
/// An explicit stack and one visit a name: a deep chain costs no call stack, and shared members no exponential time. Visiting a shared
/// member once is enough because the meet is idempotent.
std::optional<std::vector<const NameEntry*>> leaves_below(const Snapshot& snapshot, const std::vector<std::string_view>& roots) {
  struct Frame {
    std::string_view name;
    const NameEntry* entry;
    std::size_t next_member;
  };
  enum class Visit : std::uint8_t { Open, Done };
  std::unordered_map<std::string_view, Visit> visits;
  std::vector<const NameEntry*> leaves;
  std::vector<Frame> open;
  for (std::string_view root : roots) {
    std::string_view name = root;
    for (;;) {
      const auto [visit, fresh] = visits.emplace(name, Visit::Done);
      if (!fresh && visit->second == Visit::Open) return std::nullopt;
      if (fresh) {
        const NameEntry* entry = snapshot.find(name);
        if (entry != nullptr && entry->generated()) {
          visit->second = Visit::Open;
          open.push_back({name, entry, 0});
        } else {
          leaves.push_back(entry);
        }
      }
      while (!open.empty() && open.back().next_member == open.back().entry->members.size()) {
        visits[open.back().name] = Visit::Done;
        open.pop_back();
      }
      if (open.empty()) break;
      name = open.back().entry->members[open.back().next_member++];
    }
  }
  return leaves;
}

/// The reasons for held grants joined. The common case, one grant for one reason, is one copy: decisions stand on hot paths.
std::string reasons_for(const Budget& budget, GrantSet grants) {
  const std::vector<std::string>& first = budget.reasons(*grants.begin());
  if (grants.size() == 1 && first.size() == 1) return first.front();
  std::vector<std::string> reasons;
  for (Grant grant : grants) {
    const std::vector<std::string>& held = budget.reasons(grant);
    reasons.insert(reasons.end(), held.begin(), held.end());
  }
  return join_reasons(reasons);
}

const std::string* reason_in(const Snapshot& snapshot, const NameEntry* entry, Grant grant) {
  if (entry != nullptr && entry->own[grant.index()] != nullptr) return entry->own[grant.index()];
  return snapshot.process[grant.index()];
}

}  // namespace

Store::Store(StoreOptions options) : options_(std::move(options)) {
  auto first = std::make_unique<Snapshot>();
  first->restricted = options_.environment.disabled;
  snapshot_.store(first.release(), std::memory_order_release);
  if (options_.environment.explain) set_reporter([](const Event& event) { write_line(explain_line(event)); });
}

Store::~Store() {
  const Snapshot* at = snapshot_.load(std::memory_order_acquire);
  while (at != nullptr) {
    const Snapshot* before = at->previous;
    delete at;
    at = before;
  }
}

template <typename Change>
void Store::update(Change change) {
  const Snapshot* current = snapshot_.load(std::memory_order_acquire);
  for (;;) {
    std::unique_ptr<Snapshot> next = change(*current);
    if (next == nullptr) return;
    next->version = current->version + 1;
    next->previous = current;
    // A lost race frees the attempt (nobody saw it) and starts again from what the winner installed.
    if (snapshot_.compare_exchange_strong(current, next.get(), std::memory_order_acq_rel, std::memory_order_acquire)) {
      next.release();  // NOLINT(bugprone-unused-return-value): the chain owns it now
      return;
    }
  }
}

std::optional<Refusal> Store::grant(const Scope& scope, Grant grant, std::string_view reason) {
  if (is_blank(reason)) return Refusal::BlankReason;
  if (scope.is_process()) {
    update([&](const Snapshot& now) { return now.with_process_grant(grant, reason); });
    return std::nullopt;
  }
  if (scope.kernel_name() == default_kernel_name) return Refusal::DefaultKernelName;
  update([&](const Snapshot& now) { return now.with_kernel_grant(scope.kernel_name(), grant, reason); });
  return std::nullopt;
}

void Store::register_fused(std::string_view name, const std::vector<std::string>& members) {
  update([&](const Snapshot& now) { return now.with_members(name, members); });
}

void Store::register_derived(std::string_view name, std::string_view from) { register_fused(name, {std::string(from)}); }

void Store::restrict(Optimisation optimisation) {
  update([&](const Snapshot& now) { return now.with_restriction(optimisation); });
}

bool Store::restricted(Optimisation optimisation) const { return now().restricted.contains(optimisation); }

OptimisationSet Store::restrictions() const { return now().restricted; }

std::optional<std::string> Store::reason(Grant grant) const {
  const std::string* text = now().process[grant.index()];
  if (text == nullptr || revoked(grant)) return std::nullopt;
  return *text;
}

std::optional<std::string> Store::reason(std::string_view kernel, Grant grant) const { return budget_in(now(), {kernel}).reason(grant); }

Budget Store::budget_in(const Snapshot& snapshot, const std::vector<std::string_view>& kernels) const {
  std::vector<const NameEntry*> leaves{nullptr};  // a name of which nothing is known has the process grants
  if (!kernels.empty()) {
    auto found = leaves_below(snapshot, kernels);
    if (!found) return {};
    leaves = std::move(*found);
  }
  Budget result;
  for (Grant grant : all_grants()) {
    if (revoked(grant)) continue;
    bool held = true;
    for (const NameEntry* leaf : leaves) held = held && reason_in(snapshot, leaf, grant) != nullptr;
    if (!held) continue;
    for (const NameEntry* leaf : leaves) result.add_reason(grant, *reason_in(snapshot, leaf, grant));
  }
  return result;
}

Budget Store::budget(const std::vector<std::string>& kernels) const {
  return budget_in(now(), std::vector<std::string_view>(kernels.begin(), kernels.end()));
}

Effective Store::effective(std::string_view kernel) const {
  const Snapshot& snapshot = now();
  return {budget_in(snapshot, {kernel}), snapshot.restricted};
}

Effective Store::effective_for(const std::vector<std::string>& kernels) const {
  const Snapshot& snapshot = now();
  return {budget_in(snapshot, std::vector<std::string_view>(kernels.begin(), kernels.end())), snapshot.restricted};
}

bool Store::is_generated(std::string_view kernel) const {
  const NameEntry* entry = now().find(kernel);
  return entry != nullptr && entry->generated();
}

std::optional<GrantSet> Store::requires_grants(Optimisation optimisation, std::string_view backend) const {
  return options_.frameworks.requirement(optimisation, backend);
}

Decision Store::decide(const Effective& effective, Optimisation optimisation, std::string_view backend) const {
  if (effective.disabled.contains(optimisation)) return Refused{std::string(disabled_reason)};
  const std::optional<GrantSet> needed = requires_grants(optimisation, backend);
  if (!needed) return Refused{"not on " + std::string(backend)};
  return decide_needing(effective, optimisation, *needed);
}

Decision Store::decide_needing(const Effective& effective, Optimisation optimisation, GrantSet needed,
                               std::optional<std::string> lowering) const {
  if (effective.disabled.contains(optimisation)) return Refused{std::string(disabled_reason)};
  for (Grant grant : needed - effective.budget.grants()) return refuse_without(grant, revoked(grant));
  if (needed.empty()) return Applied{ExactByConstruction{}};
  return Applied{Granted{needed, reasons_for(effective.budget, needed), std::move(lowering)}};
}

Decision Store::decide_narrowing(const Effective& effective, std::optional<std::string> proof) const {
  if (effective.disabled.contains(Optimisation::NarrowingProof)) return Refused{std::string(disabled_reason)};
  if (proof) return Applied{Proof{std::move(*proof)}};
  return decide_needing(effective, Optimisation::NarrowingProof, {Deviation::single_rounding()});
}

std::uint64_t Store::version() const { return now().version; }

std::vector<IgnoredGrant> Store::ignored_grants(std::string_view kernel) const {
  const Snapshot& snapshot = now();
  std::vector<IgnoredGrant> result;
  if (const NameEntry* entry = snapshot.find(kernel)) {
    for (Grant grant : all_grants()) {
      if (entry->own[grant.index()] == nullptr) continue;
      if (entry->generated()) result.push_back({std::string(kernel), grant, Ignored::GeneratedName});
      if (revoked(grant)) result.push_back({std::string(kernel), grant, Ignored::Revoked});
    }
  }
  for (Grant grant : options_.environment.revoked)
    if (snapshot.process[grant.index()] != nullptr) result.push_back({std::string(process_scope_name), grant, Ignored::Revoked});
  return result;
}

void Store::report(const Record& record) {
  if (reporting()) reporter_.tell(record, ignored_grants(record.kernel));
}

void Store::report_gate(std::string_view kernel, std::string_view target, const Decision& decision) {
  if (reporting()) reporter_.tell(GateEvent{std::string(kernel), std::string(target), decision}, ignored_grants(kernel));
}

EffectiveMemo::EffectiveMemo(const Store& store, std::vector<std::string> kernels)
    : store_(&store), kernels_(std::move(kernels)), version_(store.version()), effective_(store.effective_for(kernels_)) {}

const Effective& EffectiveMemo::get() {
  const std::uint64_t version = store_->version();
  if (version == version_) return effective_;
  Effective fresh = store_->effective_for(kernels_);
  if (!(fresh == effective_)) ++generation_;
  effective_ = std::move(fresh);
  version_ = version;
  return effective_;
}

namespace {

/// Guards the frameworks of the process until its store exists.
struct ProcessSetUp {
  std::mutex lock;
  bool made = false;
  Frameworks frameworks = Frameworks::defaults();
};

ProcessSetUp& process_set_up() {
  static auto* const set_up = new ProcessSetUp;  // outlives main on purpose, as the store does
  return *set_up;
}

Store* make_process_store() {
  ProcessSetUp& set_up = process_set_up();
  const std::scoped_lock guard(set_up.lock);
  set_up.made = true;
  StoreOptions options{Environment::of_this_process(), set_up.frameworks};
  for (const std::string& item : options.environment.unknown) write_line("[sarek] warning: " + unknown_item_message(item));
  return new Store(std::move(options));
}

}  // namespace

Store& process_store() {
  static Store* const store = make_process_store();
  return *store;
}

bool set_process_frameworks(Frameworks frameworks) {
  ProcessSetUp& set_up = process_set_up();
  const std::scoped_lock guard(set_up.lock);
  if (set_up.made) return false;
  set_up.frameworks = std::move(frameworks);
  return true;
}

}  // namespace sarek::policy
