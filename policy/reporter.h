// The listener of a store and the memory of what it was told. Private to store.cpp: users see Store::set_reporter and Store::report.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "policy/decision.h"

namespace sarek::policy {

/// Receives events. It is called without any lock held, possibly from several threads at once, so it must be thread-safe.
using Sink = std::function<void(const Event&)>;

namespace detail {

class Reporter {
 public:
  /// Distinct outcomes remembered before all are forgotten; decisions and gates count apart.
  static constexpr std::size_t memory = 4096;

  /// One atomic read.
  bool listening() const { return listening_.load(std::memory_order_acquire); }
  /// An empty sink removes the listener. Either way what was reported is forgotten.
  void set_sink(Sink sink);
  /// Tells the listener about `outcome` (a Record or a GateEvent) unless it knows it, then about each of `ignored` it does not know.
  void tell(const Event& outcome, const std::vector<IgnoredGrant>& ignored);

 private:
  std::atomic<bool> listening_{false};
  std::mutex lock_;
  std::shared_ptr<const Sink> sink_;
  std::unordered_set<std::string> seen_decisions_;
  std::unordered_set<std::string> seen_gates_;
  // Bounded by the grants that the program made, so it needs no limit of its own.
  std::set<std::tuple<std::string, std::size_t, Ignored>> seen_ignored_;
};

}  // namespace detail
}  // namespace sarek::policy
