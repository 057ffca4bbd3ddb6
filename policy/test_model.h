// For tests: the store's rules written down a second time as plainly as possible (maps, recursion, no sharing), and random calls that are
// made on a store and on this model alike.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/store.h"

namespace sarek::policy::test {

/// SplitMix64: tiny, and the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
  template <typename Items>
  const auto& pick(const Items& items) {
    return *std::next(items.begin(), static_cast<std::ptrdiff_t>(below(items.size())));
  }

 private:
  std::uint64_t state_;
};

class Model {
 public:
  explicit Model(Environment environment = {}) : environment_(std::move(environment)), restricted_(environment_.disabled) {}

  std::optional<Refusal> grant(const Scope& scope, Grant grant, const std::string& reason) {
    if (reason.find_first_not_of(" \t\n") == std::string::npos) return Refusal::BlankReason;
    if (!scope.is_process() && scope.kernel_name() == "sarek_kern") return Refusal::DefaultKernelName;
    auto& reasons = scope.is_process() ? process_ : own_[scope.kernel_name()];
    if (reasons.emplace(grant.index(), reason).second) ++version_;
    return std::nullopt;
  }
  void register_fused(const std::string& name, const std::vector<std::string>& members) {
    if (members.empty()) return;
    const std::size_t before = fused_[name].size();
    fused_[name].insert(members.begin(), members.end());
    if (fused_[name].size() != before) ++version_;
  }
  void restrict(Optimisation optimisation) {
    if (restricted_.contains(optimisation)) return;
    restricted_.insert(optimisation);
    ++version_;
  }

  GrantSet budget_of(const std::string& name, std::set<std::string> path = {}) const {
    const auto fused = fused_.find(name);
    if (fused == fused_.end()) {
      GrantSet held;
      for (Grant grant : all_grants()) {
        const auto own = own_.find(name);
        const bool granted = process_.count(grant.index()) != 0 || (own != own_.end() && own->second.count(grant.index()) != 0);
        if (granted && !environment_.revoked.contains(grant)) held.insert(grant);
      }
      return held;
    }
    if (!path.insert(name).second) return {};
    std::optional<GrantSet> held;
    for (const std::string& member : fused->second) held = held ? *held & budget_of(member, path) : budget_of(member, path);
    return *held;
  }
  GrantSet budget(const std::vector<std::string>& kernels) const {
    std::optional<GrantSet> held;
    for (const std::string& kernel : kernels) held = held ? *held & budget_of(kernel) : budget_of(kernel);
    return held ? *held : budget_of("a name that nobody granted anything");
  }
  /// The first reason recorded for a pair; the empty name is the process.
  std::optional<std::string> first_reason(const std::optional<std::string>& kernel, Grant grant) const {
    const std::map<std::size_t, std::string>* reasons = &process_;
    if (kernel) {
      const auto own = own_.find(*kernel);
      if (own == own_.end()) return std::nullopt;
      reasons = &own->second;
    }
    const auto found = reasons->find(grant.index());
    if (found == reasons->end()) return std::nullopt;
    return found->second;
  }
  bool is_fused(const std::string& name) const { return fused_.count(name) != 0; }
  /// The names that a kernel's budget depends on.
  std::set<std::string> dependencies(const std::string& name) const {
    std::set<std::string> seen;
    std::vector<std::string> open{name};
    while (!open.empty()) {
      const std::string at = open.back();
      open.pop_back();
      if (!seen.insert(at).second) continue;
      if (const auto fused = fused_.find(at); fused != fused_.end()) open.insert(open.end(), fused->second.begin(), fused->second.end());
    }
    return seen;
  }
  OptimisationSet restricted() const { return restricted_; }
  std::uint64_t version() const { return version_; }

 private:
  Environment environment_;
  std::map<std::size_t, std::string> process_;
  std::map<std::string, std::map<std::size_t, std::string>> own_;
  std::map<std::string, std::set<std::string>> fused_;
  OptimisationSet restricted_;
  std::uint64_t version_ = 0;
};

/// One random call.
struct Call {
  enum class Kind : std::uint8_t { Grant, Fuse, Derive, Restrict };
  Kind kind = Kind::Grant;
  Scope scope = Scope::process();
  Grant grant = Grant::at(0);
  std::string reason;
  std::string name;
  std::vector<std::string> members;
  Optimisation optimisation = Optimisation::LaunchWindow;
};

inline const std::vector<std::string>& program_names() {
  static const std::vector<std::string> names{"a", "b", "c", "", "sarek_kern"};
  return names;
}
inline const std::vector<std::string>& all_names() {
  static const std::vector<std::string> names{"a", "b", "c", "", "sarek_kern", "f", "g", "h", "i"};
  return names;
}

inline Call random_call(Random& random) {
  Call call;
  const std::size_t kind = random.below(10);
  call.grant = Grant::at(random.below(Grant::count));
  if (kind < 6) {
    call.scope = random.below(4) == 0 ? Scope::process() : Scope::kernel(random.pick(all_names()));
    call.reason = random.pick(std::vector<std::string>{"first", "second", "third", " \t", ""});
  } else if (kind < 8) {
    call.kind = Call::Kind::Fuse;
    // Mostly names that fusion would make, now and then one of the program's.
    call.name = random.below(8) == 0 ? random.pick(all_names()) : random.pick(std::vector<std::string>{"f", "g", "h", "i"});
    for (std::size_t n = random.below(4); n > 0; --n)
      call.members.push_back(random.pick(random.below(3) == 0 ? all_names() : program_names()));
  } else if (kind < 9) {
    call.kind = Call::Kind::Derive;
    call.name = random.pick(std::vector<std::string>{"f", "g", "h", "i"});
    call.members = {random.pick(all_names())};
  } else {
    call.kind = Call::Kind::Restrict;
    call.optimisation = static_cast<Optimisation>(random.below(optimisation_count));
  }
  return call;
}

inline std::optional<Refusal> make(Store& store, const Call& call) {
  switch (call.kind) {
    case Call::Kind::Grant: return store.grant(call.scope, call.grant, call.reason);
    case Call::Kind::Fuse: store.register_fused(call.name, call.members); return std::nullopt;
    case Call::Kind::Derive: store.register_derived(call.name, call.members.front()); return std::nullopt;
    case Call::Kind::Restrict: store.restrict(call.optimisation); return std::nullopt;
  }
  return std::nullopt;
}

inline std::optional<Refusal> make(Model& model, const Call& call) {
  switch (call.kind) {
    case Call::Kind::Grant: return model.grant(call.scope, call.grant, call.reason);
    case Call::Kind::Fuse:
    case Call::Kind::Derive: model.register_fused(call.name, call.members); return std::nullopt;
    case Call::Kind::Restrict: model.restrict(call.optimisation); return std::nullopt;
  }
  return std::nullopt;
}

/// A random value of SAREK_OPT_DISABLE.
inline std::string random_disable(Random& random) {
  std::string text;
  for (std::size_t n = random.below(5); n > 0; --n) {
    const std::size_t kind = random.below(5);
    if (kind < 2) text += grant_name(Grant::at(random.below(Grant::count)));
    else if (kind < 4) text += optimisation_name(static_cast<Optimisation>(random.below(optimisation_count)));
    else text += random.pick(std::vector<std::string>{"all", "bogus", "WINDOW", ""});
    text += random.pick(std::vector<std::string>{",", ";", " ", ", "});
  }
  return text;
}

}  // namespace sarek::policy::test
