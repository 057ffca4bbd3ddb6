// What the policy costs on the hot path: a version check, a decision, a report that nobody hears. Not a test: it prints nanoseconds, the
// best of several rounds.
#include <chrono>
#include <cstdio>
#include <string>

#include "policy/store.h"

namespace {

/// Keeps a value, so that the call that made it cannot be left out.
template <typename Value>
void keep(const Value& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

template <typename Body>
void measure(const char* name, Body body) {
  constexpr int rounds = 7;
  constexpr int calls = 1'000'000;
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) body();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    if (spent.count() / calls < best) best = spent.count() / calls;
  }
  std::printf("%-52s %8.1f ns\n", name, best);
}

}  // namespace

int main() {
  using namespace sarek::policy;
  Store store;
  if (store.grant(Scope::kernel("gemm"), Deviation::cross_kernel_contraction(), "accepted in review QA-112, error below 1e-6")) return 1;
  for (int i = 0; i < 1000; ++i)
    if (store.grant(Scope::kernel("kernel_" + std::to_string(i)), Deviation::single_rounding(), "one of many")) return 1;
  const Effective granted = store.effective("gemm");
  const Effective bare = store.effective("blur");
  EffectiveMemo memo(store, {"gemm"});
  const Record record{"gemm", "Vulkan", Optimisation::EpilogueFusion, store.decide(granted, Optimisation::EpilogueFusion, "Vulkan")};

  measure("version", [&] { keep(store.version()); });
  measure("reporting", [&] { keep(store.reporting()); });
  measure("memo, nothing changed", [&] { keep(memo.get()); });
  measure("decide, exact", [&] { keep(store.decide(memo.get(), Optimisation::LaunchWindow, "Vulkan")); });
  measure("decide, granted", [&] { keep(store.decide(memo.get(), Optimisation::EpilogueFusion, "Vulkan")); });
  measure("decide, refused", [&] { keep(store.decide(bare, Optimisation::EpilogueFusion, "Vulkan")); });
  measure("report, nobody listens", [&] { store.report(record); });
  measure("effective of one kernel among 1000", [&] { keep(store.effective("gemm")); });
  store.set_reporter([](const Event&) {});
  measure("report, heard before", [&] { store.report(record); });
  return 0;
}
