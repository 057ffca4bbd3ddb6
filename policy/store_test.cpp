// The invariants of the store as properties: random sequences of calls on a store and on the plain model of test_model.h. A failure prints
// its seed. Worked cases are in cases_test.cpp, threads in threads_test.cpp.
#include "policy/store.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "policy/event_text.h"
#include "policy/test_model.h"

namespace sarek::policy::test {
namespace {

constexpr std::uint64_t seeds = 300;
constexpr int calls_per_seed = 40;

/// Runs `body(random, seed)` for each seed.
template <typename Body>
void for_each_seed(Body body) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    body(random);
  }
}

StoreOptions options_with(const Environment& environment) { return {environment, Frameworks::defaults()}; }

std::vector<std::string> random_names(Random& random, std::size_t most) {
  std::vector<std::string> names;
  for (std::size_t n = 1 + random.below(most); n > 0; --n) names.push_back(random.pick(all_names()));
  return names;
}

TEST_CASE("a store says what the model says after every call") {
  for_each_seed([](Random& random) {
    const Environment environment = Environment::parse(random.below(3) == 0 ? random_disable(random) : "", std::nullopt);
    Store store(options_with(environment));
    Model model(environment);
    for (int i = 0; i < calls_per_seed; ++i) {
      const Call call = random_call(random);
      REQUIRE(make(store, call) == make(model, call));
      REQUIRE(store.version() == model.version());
      REQUIRE(store.restrictions() == model.restricted());
      for (const std::string& name : all_names()) {
        REQUIRE(store.budget({name}).grants() == model.budget_of(name));
        REQUIRE(store.is_generated(name) == model.is_fused(name));
      }
      const std::vector<std::string> names = random_names(random, 3);
      REQUIRE(store.budget(names).grants() == model.budget(names));
      REQUIRE(store.budget({}).grants() == model.budget({}));
      REQUIRE(store.effective_for(names) == Effective{store.budget(names), model.restricted()});
    }
  });
}

TEST_CASE("P1: a grant that is held stays held, unless the name, or one below it, is registered as generated") {
  for_each_seed([](Random& random) {
    Store store;
    for (int i = 0; i < calls_per_seed; ++i) {
      const Call call = random_call(random);
      const bool registers = call.kind == Call::Kind::Fuse || call.kind == Call::Kind::Derive;
      std::vector<GrantSet> before;
      for (const std::string& name : all_names()) before.push_back(store.budget({name}).grants());
      const std::uint64_t version = store.version();
      (void)make(store, call);
      for (std::size_t n = 0; n < all_names().size(); ++n) {
        const GrantSet now = store.budget({all_names()[n]}).grants();
        if (!registers) REQUIRE(now.contains_all(before[n]));
        if (!now.contains_all(before[n])) REQUIRE(store.version() > version);
      }
    }
  });
}

TEST_CASE("P2: a generated name holds no more than any of its members") {
  for_each_seed([](Random& random) {
    Store store;
    std::vector<Call> fusions;
    for (int i = 0; i < calls_per_seed; ++i) {
      const Call call = random_call(random);
      (void)make(store, call);
      if (call.kind == Call::Kind::Fuse || call.kind == Call::Kind::Derive) fusions.push_back(call);
    }
    for (const Call& fusion : fusions)
      for (const std::string& member : fusion.members)
        REQUIRE(store.budget({member}).grants().contains_all(store.budget({fusion.name}).grants()));
  });
}

TEST_CASE("P3: the order of kernels and repetitions do not matter") {
  for_each_seed([](Random& random) {
    Store store;
    for (int i = 0; i < calls_per_seed; ++i) (void)make(store, random_call(random));
    std::vector<std::string> names = random_names(random, 4);
    const Budget budget = store.budget(names);
    std::vector<std::string> mixed = names;
    mixed.insert(mixed.end(), names.begin(), names.end());
    std::reverse(mixed.begin(), mixed.end());
    REQUIRE(store.budget(mixed) == budget);
    Budget met = store.budget({names.front()});
    for (const std::string& name : names) met = Budget::meet(met, store.budget({name}));
    REQUIRE(met == budget);
    REQUIRE(Budget::meet(budget, met) == Budget::meet(met, budget));
    REQUIRE(Budget::meet(budget, budget) == budget);
  });
}

TEST_CASE("P4: refusals, repetitions and reads leave the version alone") {
  for_each_seed([](Random& random) {
    Store store;
    std::vector<Call> calls;
    for (int i = 0; i < calls_per_seed; ++i) {
      calls.push_back(random_call(random));
      const std::uint64_t before = store.version();
      if (make(store, calls.back())) REQUIRE(store.version() == before);
    }
    const std::uint64_t version = store.version();
    for (const Call& call : calls) (void)make(store, call);
    for (const std::string& name : all_names()) {
      (void)store.effective(name);
      (void)store.reason(name, Grant::at(0));
      (void)store.decide(store.effective(name), Optimisation::EpilogueFusion, "Vulkan");
    }
    store.report({"a", "Vulkan", Optimisation::EpilogueFusion, Refused{"no"}});
    store.set_reporter([](const Event&) {});
    store.report({"a", "Vulkan", Optimisation::EpilogueFusion, Refused{"no"}});
    REQUIRE(store.version() == version);
  });
}

TEST_CASE("P5: while the version stays, everything that can be seen stays") {
  for_each_seed([](Random& random) {
    Store store;
    for (int i = 0; i < calls_per_seed; ++i) {
      std::vector<std::string> before;
      for (const std::string& name : all_names()) before.push_back(effective_digest(store.effective(name)));
      const std::uint64_t version = store.version();
      (void)make(store, random_call(random));
      std::vector<std::string> after;
      for (const std::string& name : all_names()) after.push_back(effective_digest(store.effective(name)));
      if (before != after) REQUIRE(store.version() == version + 1);
      if (store.version() == version) REQUIRE(before == after);
    }
  });
}

TEST_CASE("P6: a grant for one kernel changes no budget that does not depend on it") {
  for_each_seed([](Random& random) {
    Store store;
    Model model;
    for (int i = 0; i < calls_per_seed; ++i) {
      const Call call = random_call(random);
      std::vector<GrantSet> before;
      for (const std::string& name : all_names()) before.push_back(store.budget({name}).grants());
      (void)make(store, call);
      (void)make(model, call);
      if (call.kind != Call::Kind::Grant || call.scope.is_process()) continue;
      for (std::size_t n = 0; n < all_names().size(); ++n)
        if (model.dependencies(all_names()[n]).count(call.scope.kernel_name()) == 0)
          REQUIRE(store.budget({all_names()[n]}).grants() == before[n]);
    }
  });
}

TEST_CASE("P7: no grant implies another") {
  for (Grant one : all_grants()) {
    Store store;
    REQUIRE(!store.grant(Scope::process(), one, "alone"));
    for (Grant other : all_grants()) REQUIRE(store.budget({"k"}).contains(other) == (one == other));
    REQUIRE(one.deviation().has_value() != one.consent().has_value());
  }
  REQUIRE(Grant(Consent::AutomaticFloatRewrite).consent() == Consent::AutomaticFloatRewrite);
  REQUIRE(Deviation::operand_rounding(OperandPrecision::Bf16x3).precision() == OperandPrecision::Bf16x3);
}

TEST_CASE("P8: the first reason of a scope and grant is kept") {
  for_each_seed([](Random& random) {
    Store store;
    Model model;
    for (int i = 0; i < calls_per_seed; ++i) {
      const Call call = random_call(random);
      (void)make(store, call);
      (void)make(model, call);
    }
    for (Grant grant : all_grants()) {
      REQUIRE(store.reason(grant) == model.first_reason(std::nullopt, grant));
      for (const std::string& name : all_names()) {
        REQUIRE(store.reason(name, grant).has_value() == store.budget({name}).contains(grant));
        if (model.is_fused(name)) continue;
        const auto own = model.first_reason(name, grant);
        REQUIRE(store.reason(name, grant) == (own ? own : model.first_reason(std::nullopt, grant)));
      }
    }
  });
}

TEST_CASE("P9: no environment adds a grant or gives an optimisation back") {
  for_each_seed([](Random& random) {
    const Environment environment = Environment::parse(random_disable(random), "0");
    Store with(options_with(environment));
    Store without;
    for (int i = 0; i < calls_per_seed; ++i) {
      const Call call = random_call(random);
      (void)make(with, call);
      (void)make(without, call);
    }
    for (const std::string& name : all_names()) {
      const Effective restricted = with.effective(name);
      const Effective free = without.effective(name);
      REQUIRE(free.budget.grants().contains_all(restricted.budget.grants()));
      REQUIRE(restricted.disabled.contains_all(free.disabled));
      for (Optimisation optimisation : all_optimisations())
        for (const char* backend : {"HIP", "Vulkan", "Native", "gen:cuda-c"})
          if (is_applied(with.decide(restricted, optimisation, backend))) REQUIRE(is_applied(without.decide(free, optimisation, backend)));
    }
  });
}

TEST_CASE("P10: digests are equal exactly when grants and restrictions are") {
  std::vector<Effective> policies;
  for_each_seed([&](Random& random) {
    Store store;
    for (int i = 0; i < 12; ++i) (void)make(store, random_call(random));
    policies.push_back(store.effective(random.pick(all_names())));
  });
  for (const Effective& a : policies)
    for (const Effective& b : policies) {
      const bool same = a.budget.grants() == b.budget.grants() && a.disabled == b.disabled;
      if ((effective_digest(a) == effective_digest(b)) != same) FAIL(effective_digest(a) << " and " << effective_digest(b));
    }
  REQUIRE(effective_digest(policies.front()) == effective_digest(policies.front()));
}

TEST_CASE("P11: the order of a decision") {
  for_each_seed([](Random& random) {
    const Environment environment = Environment::parse(random.below(2) == 0 ? random_disable(random) : "", std::nullopt);
    Store store(options_with(environment));
    for (int i = 0; i < 15; ++i) (void)make(store, random_call(random));
    const Effective effective = store.effective(random.pick(all_names()));
    for (Optimisation optimisation : all_optimisations()) {
      for (const std::string backend :
           {"HIP", "Metal", "CUDA/PTX", "CUDA/C", "CUDA", "OpenCL", "Vulkan", "Native", "Interpreter", "WebGPU", "vulkan"}) {
        const std::optional<GrantSet> needed = store.requires_grants(optimisation, backend);
        const Grant contraction = Deviation::cross_kernel_contraction();
        std::string expected = "applied exact";
        if (effective.disabled.contains(optimisation)) {
          expected = "refused \"disabled (SAREK_OPT_DISABLE)\"";
        } else if (!needed) {
          expected = "refused \"not on " + backend + "\"";
        } else if (!needed->empty() && environment.revoked.contains(contraction)) {
          expected = "refused \"grant cross-kernel-contraction revoked (SAREK_OPT_DISABLE)\"";
        } else if (!needed->empty() && !effective.budget.contains(contraction)) {
          expected = "refused \"no grant cross-kernel-contraction (kernel or process)\"";
        } else if (!needed->empty()) {
          expected = "applied granted cross-kernel-contraction \"" + *effective.budget.reason(contraction) + "\"";
        }
        REQUIRE(decision_text(store.decide(effective, optimisation, backend)) == expected);
      }
    }
  });
}

TEST_CASE("P13: each outcome is told once, and the 4097th distinct one forgets the others") {
  Store store;
  std::vector<Event> heard;
  store.set_reporter([&](const Event& event) { heard.push_back(event); });
  const auto record = [](std::size_t n) {
    return Record{"k" + std::to_string(n), "Vulkan", Optimisation::LaunchWindow, Applied{ExactByConstruction{}}};
  };
  for (int round = 0; round < 2; ++round)
    for (std::size_t n = 0; n < 4096; ++n) store.report(record(n));
  REQUIRE(heard.size() == 4096);
  store.report(record(4096));
  REQUIRE(heard.size() == 4097);
  store.report(record(4096));
  REQUIRE(heard.size() == 4097);
  store.report(record(0));
  REQUIRE(heard.size() == 4098);
  store.report_gate("k0", "Vulkan", Applied{ExactByConstruction{}});
  store.report_gate("k0", "Vulkan", Applied{ExactByConstruction{}});
  REQUIRE(heard.size() == 4099);
  store.set_reporter([&](const Event& event) { heard.push_back(event); });
  store.report(record(0));
  REQUIRE(heard.size() == 4100);
  store.set_reporter({});
  REQUIRE(!store.reporting());
  store.report(record(7));
  REQUIRE(heard.size() == 4100);
}

TEST_CASE("P14: a derived name has its source's budget at any depth") {
  Store store;
  const std::size_t depth = 20000;
  for (std::size_t n = 0; n < depth; ++n) store.register_derived("d" + std::to_string(n + 1), n == 0 ? "source" : "d" + std::to_string(n));
  REQUIRE(!store.grant(Scope::kernel("source"), Deviation::single_rounding(), "late"));
  const std::string last = "d" + std::to_string(depth);
  REQUIRE(store.budget({last}) == store.budget({"source"}));
  REQUIRE(store.reason(last, Deviation::single_rounding()) == "late");
}

TEST_CASE("P15: a name that contains itself holds nothing, and asking ends") {
  Store store;
  REQUIRE(!store.grant(Scope::process(), Deviation::accumulation_order(), "everywhere"));
  REQUIRE(!store.grant(Scope::kernel("a"), Deviation::single_rounding(), "here"));
  store.register_fused("f", {"a", "g"});
  REQUIRE(store.budget({"f"}).grants() == GrantSet{Deviation::accumulation_order()});
  store.register_fused("g", {"h"});
  store.register_fused("h", {"f"});
  for (const char* name : {"f", "g", "h"}) REQUIRE(store.budget({name}).grants().empty());
  store.register_fused("above", {"a", "f"});
  REQUIRE(store.budget({"above"}).grants().empty());
  REQUIRE(store.budget({"a", "h"}).grants().empty());
  REQUIRE(store.budget({"a"}).grants().size() == 2);
}

TEST_CASE("members shared at every level cost no exponential time") {
  Store store;
  for (int level = 1; level <= 60; ++level) {
    const std::string below = std::to_string(level - 1);
    store.register_fused("x" + std::to_string(level), {"x" + below, "y" + below});
    store.register_fused("y" + std::to_string(level), {"y" + below, "x" + below});
  }
  REQUIRE(!store.grant(Scope::kernel("x0"), Deviation::single_rounding(), "x"));
  REQUIRE(store.budget({"x60"}).grants().empty());
  REQUIRE(!store.grant(Scope::kernel("y0"), Deviation::single_rounding(), "y"));
  REQUIRE(store.reason("x60", Deviation::single_rounding()) == "x; y");
}

TEST_CASE("the memo reads again after a change and counts the changes that matter") {
  Store store;
  EffectiveMemo memo(store, {"a"});
  REQUIRE(memo.get().budget.grants().empty());
  REQUIRE(!store.grant(Scope::kernel("b"), Deviation::single_rounding(), "b"));
  REQUIRE(memo.get().budget.grants().empty());
  REQUIRE(memo.generation() == 0);
  REQUIRE(!store.grant(Scope::kernel("a"), Deviation::single_rounding(), "a"));
  REQUIRE(memo.get().budget.contains(Deviation::single_rounding()));
  REQUIRE(memo.generation() == 1);
}

}  // namespace
}  // namespace sarek::policy::test
