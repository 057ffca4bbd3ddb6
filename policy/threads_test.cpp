// P12 and the listener under threads. Run them under ThreadSanitizer too (SAREK_SANITIZE=thread).
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "policy/store.h"

namespace sarek::policy {
namespace {

constexpr std::size_t thread_count = 8;

template <typename Body>
void in_threads(Body body) {
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      ++ready;
      while (ready.load() < thread_count) std::this_thread::yield();
      body(t);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("P12: threads that grant distinct pairs each count once, and no change is lost") {
  Store store;
  constexpr std::size_t kernels_each = 40;
  in_threads([&](std::size_t t) {
    for (std::size_t n = 0; n < kernels_each; ++n)
      for (Grant grant : all_grants()) (void)store.grant(Scope::kernel(std::to_string(t) + "_" + std::to_string(n)), grant, "why");
  });
  REQUIRE(store.version() == thread_count * kernels_each * Grant::count);
  for (std::size_t t = 0; t < thread_count; ++t)
    for (std::size_t n = 0; n < kernels_each; ++n)
      REQUIRE(store.budget({std::to_string(t) + "_" + std::to_string(n)}).grants().size() == Grant::count);
}

TEST_CASE("P12: threads that make the same calls count each of them once") {
  Store store;
  in_threads([&](std::size_t t) {
    for (std::size_t n = 0; n < 50; ++n) {
      (void)store.grant(Scope::kernel("k" + std::to_string(n)), Deviation::single_rounding(), "thread " + std::to_string(t));
      store.register_fused("f" + std::to_string(n), {"k" + std::to_string(n)});
    }
    store.restrict(Optimisation::AutoUnroll);
  });
  REQUIRE(store.version() == 101);
}

TEST_CASE("P12: a reader never sees a version without its change, or a grant that goes away") {
  Store store;
  constexpr std::size_t changes = 400;
  std::atomic<bool> wrong{false};
  in_threads([&](std::size_t t) {
    if (t == 0) {
      for (std::size_t n = 0; n < changes; ++n)
        (void)store.grant(Scope::kernel("k" + std::to_string(n)), Deviation::single_rounding(), "why");
      return;
    }
    std::uint64_t last = 0;
    while (last < changes) {
      const std::uint64_t version = store.version();
      if (version < last) wrong = true;
      last = version;
      // The writer makes change n as version n + 1, so under version v the first v kernels hold the grant.
      if (version > 0 && !store.budget({"k" + std::to_string(version - 1)}).contains(Deviation::single_rounding())) wrong = true;
      if (version > 0 && !store.budget({"k0"}).contains(Deviation::single_rounding())) wrong = true;
    }
  });
  REQUIRE(!wrong);
}

TEST_CASE("reports from many threads reach the listener once each") {
  Store store;
  std::atomic<std::size_t> heard{0};
  store.set_reporter([&](const Event&) { ++heard; });
  in_threads([&](std::size_t) {
    for (std::size_t n = 0; n < 300; ++n) store.report({"k" + std::to_string(n), "Vulkan", Optimisation::LaunchWindow, Refused{"no"}});
  });
  REQUIRE(heard == 300);
}

TEST_CASE("listeners come and go while others report") {
  Store store;
  std::atomic<std::size_t> heard{0};
  in_threads([&](std::size_t t) {
    for (std::size_t n = 0; n < 300; ++n) {
      if (t < 2) store.set_reporter(n % 2 == 0 ? Sink([&](const Event&) { ++heard; }) : Sink());
      else store.report({"k" + std::to_string(n), "Vulkan", Optimisation::LaunchWindow, Refused{"no"}});
    }
  });
  store.set_reporter([&](const Event&) { ++heard; });
  const std::size_t before = heard;
  store.report({"last", "Vulkan", Optimisation::LaunchWindow, Refused{"no"}});
  REQUIRE(heard == before + 1);
}

}  // namespace
}  // namespace sarek::policy
