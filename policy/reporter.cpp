// Deduplication of what a listener is told.
#include "policy/reporter.h"

#include <string_view>
#include <utility>

namespace sarek::policy::detail {
namespace {

/// Lengths stand before texts, so that no two outcomes share a key whatever their names hold.
void append_part(std::string& key, std::string_view part) {
  key += std::to_string(part.size());
  key += ':';
  key += part;
}

void append_decision(std::string& key, const Decision& decision) {
  if (const auto* refused = std::get_if<Refused>(&decision)) {
    key += 'r';
    append_part(key, refused->why);
    return;
  }
  const Evidence& evidence = std::get<Applied>(decision).evidence;
  if (const auto* proof = std::get_if<Proof>(&evidence)) {
    key += 'p';
    append_part(key, proof->text);
  } else if (const auto* granted = std::get_if<Granted>(&evidence)) {
    key += 'g';
    for (Grant grant : granted->grants) key += static_cast<char>('0' + grant.index());
    append_part(key, granted->reason);
    if (granted->lowering) append_part(key, *granted->lowering);
  } else {
    key += 'e';
  }
}

std::string key_of(std::string_view kernel, std::string_view target, std::string_view what, const Decision& decision) {
  std::string key;
  append_part(key, kernel);
  append_part(key, target);
  append_part(key, what);
  append_decision(key, decision);
  return key;
}

/// True when the key is new. A full memory is forgotten first.
bool remember(std::unordered_set<std::string>& seen, std::string key) {
  if (seen.contains(key)) return false;
  if (seen.size() >= Reporter::memory) seen.clear();
  seen.insert(std::move(key));
  return true;
}

}  // namespace

void Reporter::set_sink(Sink sink) {
  auto installed = sink ? std::make_shared<const Sink>(std::move(sink)) : nullptr;
  const std::scoped_lock guard(lock_);
  sink_.swap(installed);
  seen_decisions_.clear();
  seen_gates_.clear();
  seen_ignored_.clear();
  listening_.store(sink_ != nullptr, std::memory_order_release);
}

void Reporter::tell(const Event& outcome, const std::vector<IgnoredGrant>& ignored) {
  std::shared_ptr<const Sink> sink;
  std::vector<Event> events;
  {
    const std::scoped_lock guard(lock_);
    if (sink_ == nullptr) return;
    sink = sink_;
    if (const auto* record = std::get_if<Record>(&outcome)) {
      const std::string_view what = optimisation_name(record->optimisation);
      if (remember(seen_decisions_, key_of(record->kernel, record->target, what, record->decision))) events.push_back(outcome);
    } else if (const auto* gate = std::get_if<GateEvent>(&outcome)) {
      if (remember(seen_gates_, key_of(gate->kernel, gate->target, "gate", gate->decision))) events.push_back(outcome);
    }
    for (const IgnoredGrant& grant : ignored)
      if (seen_ignored_.emplace(grant.kernel, grant.grant.index(), grant.cause).second) events.emplace_back(grant);
  }
  for (const Event& event : events) (*sink)(event);
}

}  // namespace sarek::policy::detail
