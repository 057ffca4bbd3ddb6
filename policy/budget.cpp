// Budget algebra and digests.
#include "policy/budget.h"

#include <algorithm>

#include "policy/decision.h"

namespace sarek::policy {
namespace {

void append_unique(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& reason : from)
    if (std::find(to.begin(), to.end(), reason) == to.end()) to.push_back(reason);
}

template <typename Set, typename Name>
std::string join_names(const Set& set, Name name) {
  std::string result;
  for (auto item : set) {
    if (!result.empty()) result += ',';
    result += name(item);
  }
  return result;
}

}  // namespace

std::optional<Refusal> Budget::add(Grant grant, std::string reason) {
  if (is_blank(reason)) return Refusal::BlankReason;
  if (!held_.contains(grant)) {
    held_.insert(grant);
    reasons_[grant.index()].push_back(std::move(reason));
  }
  return std::nullopt;
}

void Budget::add_reason(Grant grant, const std::string& reason) {
  held_.insert(grant);
  append_unique(reasons_[grant.index()], {reason});
}

Budget Budget::meet(const Budget& a, const Budget& b) {
  Budget result;
  result.held_ = a.held_ & b.held_;
  for (Grant grant : result.held_) {
    append_unique(result.reasons_[grant.index()], a.reasons(grant));
    append_unique(result.reasons_[grant.index()], b.reasons(grant));
  }
  return result;
}

std::optional<std::string> Budget::reason(Grant grant) const {
  if (!contains(grant)) return std::nullopt;
  return join_reasons(reasons(grant));
}

std::string Budget::digest() const { return join_names(held_, grant_name); }

std::string effective_digest(const Effective& effective) {
  return effective.budget.digest() + "|" + join_names(effective.disabled, optimisation_name);
}

}  // namespace sarek::policy
