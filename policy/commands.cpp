// The commands over reports and manifests.
#include "policy/commands.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "policy/event_text.h"

namespace sarek::policy {
namespace {

constexpr std::array<std::string_view, 6> change_names{"newly-refused", "newly-granted", "newly-exact", "added", "removed", "reworded"};

GrantSet grants_of(const Decision& decision) {
  const auto* applied = std::get_if<Applied>(&decision);
  const auto* granted = applied != nullptr ? std::get_if<Granted>(&applied->evidence) : nullptr;
  return granted != nullptr ? granted->grants : GrantSet{};
}

/// For two decisions that differ.
Change classify(const Decision& before, const Decision& after) {
  if (!is_applied(after)) return is_applied(before) ? Change::NewlyRefused : Change::Reworded;
  if (!grants_of(before).contains_all(grants_of(after))) return Change::NewlyGranted;
  if (!is_applied(before) || (grants_of(after).empty() && !grants_of(before).empty())) return Change::NewlyExact;
  return Change::Reworded;
}

using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

Key key_of(const Event& event) { return {event_kernel(event), event_target(event), event_subject(event)}; }

std::string decision_or_nothing(const std::optional<Decision>& decision) { return decision ? decision_text(*decision) : "nothing"; }

std::string scope_text(const Scope& scope) { return scope.is_process() ? "the process" : "kernel " + quoted_text(scope.kernel_name()); }

const ManifestGrant* find_grant(const Manifest& manifest, const Scope& scope, Grant grant) {
  const auto found = std::find_if(manifest.grants.begin(), manifest.grants.end(),
                                  [&](const ManifestGrant& entry) { return entry.grant == grant && entry.scope == scope; });
  return found == manifest.grants.end() ? nullptr : &*found;
}

}  // namespace

std::string_view change_name(Change change) { return change_names[static_cast<std::size_t>(change)]; }

const std::vector<Change>& all_changes() {
  static const std::vector<Change> changes{Change::NewlyRefused, Change::NewlyGranted, Change::NewlyExact,
                                           Change::Added,        Change::Removed,      Change::Reworded};
  return changes;
}

std::optional<Change> change_by_name(std::string_view name) {
  for (Change change : all_changes())
    if (change_name(change) == name) return change;
  return std::nullopt;
}

std::vector<ExplainChange> explain_diff(const ExplainReport& before, const ExplainReport& after) {
  std::map<Key, std::vector<const ExplainEntry*>> old_entries;
  for (const ExplainEntry& entry : before.entries)
    if (event_decision(entry.event) != nullptr) old_entries[key_of(entry.event)].push_back(&entry);

  // Equal decisions pair off first, so that one changed site among many is told as that one.
  std::vector<const ExplainEntry*> unpaired;
  for (const ExplainEntry& entry : after.entries) {
    const Decision* decision = event_decision(entry.event);
    if (decision == nullptr) continue;
    auto& candidates = old_entries[key_of(entry.event)];
    const auto same = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const ExplainEntry* old) { return *event_decision(old->event) == *decision; });
    if (same != candidates.end()) candidates.erase(same);
    else unpaired.push_back(&entry);
  }

  std::vector<ExplainChange> changes;
  const auto note = [&](Change change, const ExplainEntry& at, std::optional<Decision> old, std::optional<Decision> now) {
    changes.push_back({change, std::string(event_kernel(at.event)), std::string(event_target(at.event)),
                       std::string(event_subject(at.event)), std::move(old), std::move(now), at.place});
  };
  for (const ExplainEntry* entry : unpaired) {
    const Decision& decision = *event_decision(entry->event);
    auto& candidates = old_entries[key_of(entry->event)];
    if (candidates.empty()) {
      note(grants_of(decision).empty() ? Change::Added : Change::NewlyGranted, *entry, std::nullopt, decision);
      continue;
    }
    const Decision& old = *event_decision(candidates.front()->event);
    candidates.erase(candidates.begin());
    note(classify(old, decision), *entry, old, decision);
  }
  std::set<const ExplainEntry*> left;
  for (const auto& [key, entries] : old_entries) left.insert(entries.begin(), entries.end());
  for (const ExplainEntry& entry : before.entries)
    if (left.contains(&entry)) note(Change::Removed, entry, *event_decision(entry.event), std::nullopt);
  return changes;
}

std::string explain_diff_text(const std::vector<ExplainChange>& changes) {
  std::string text;
  for (const ExplainChange& change : changes) {
    text += std::string(change_name(change.change)) + " " + change.kernel + " " + change.target + " " + change.subject + ": " +
            decision_or_nothing(change.before) + " -> " + decision_or_nothing(change.after);
    if (change.place.line != 0) text += " (" + change.place.file + ":" + std::to_string(change.place.line) + ")";
    text += "\n";
  }
  return text;
}

int explain_diff_status(const std::vector<ExplainChange>& changes, const std::vector<Change>& fail_on) {
  return std::any_of(changes.begin(), changes.end(),
                     [&](const ExplainChange& change) { return std::find(fail_on.begin(), fail_on.end(), change.change) != fail_on.end(); })
             ? 1
             : 0;
}

std::optional<std::vector<Change>> parse_changes(std::string_view list, std::string& unknown) {
  std::vector<Change> changes;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (name.empty()) continue;
    const std::optional<Change> change = change_by_name(name);
    if (!change) {
      unknown = name;
      return std::nullopt;
    }
    changes.push_back(*change);
  }
  return changes;
}

CommandResult policy_diff(const Manifest& a, const Manifest& b) {
  CommandResult result;
  for (const ManifestGrant& entry : b.grants) {
    const std::string what = std::string(grant_name(entry.grant)) + " for " + scope_text(entry.scope);
    const ManifestGrant* before = find_grant(a, entry.scope, entry.grant);
    if (before == nullptr) {
      const bool covered = find_grant(a, Scope::process(), entry.grant) != nullptr;
      result.text += "+ " + what + ": " + quoted_text(entry.reason) + (covered ? " (held before, through the process)" : "") + "\n";
      if (!covered) result.status = 1;
    } else if (before->reason != entry.reason) {
      result.text += "~ " + what + ": " + quoted_text(before->reason) + " -> " + quoted_text(entry.reason) + "\n";
    }
  }
  for (const ManifestGrant& entry : a.grants) {
    if (find_grant(b, entry.scope, entry.grant) != nullptr) continue;
    result.text +=
        "- " + std::string(grant_name(entry.grant)) + " for " + scope_text(entry.scope) + ": " + quoted_text(entry.reason) + "\n";
  }
  return result;
}

CommandResult policy_show(const Manifest& manifest, std::string_view file_name, std::string_view kernel, const Environment& environment) {
  Environment quiet = environment;
  quiet.explain = false;  // showing a budget takes no decision
  Store store({quiet, Frameworks::defaults()});
  apply(manifest, store);
  const Effective effective = store.effective(kernel);
  CommandResult result;
  result.text = "kernel " + quoted_text(kernel) + "\n";
  for (Grant grant : all_grants()) {
    const ManifestGrant* own = find_grant(manifest, Scope::kernel(std::string(kernel)), grant);
    const ManifestGrant* entry = own != nullptr ? own : find_grant(manifest, Scope::process(), grant);
    std::string line = "  " + std::string(grant_name(grant)) + ": ";
    if (entry == nullptr) {
      line += store.revoked(grant) ? "not granted, and revoked (SAREK_OPT_DISABLE)" : "not granted";
    } else {
      line += effective.budget.contains(grant) ? "granted" : "granted, but revoked (SAREK_OPT_DISABLE)";
      line += std::string(" for ") + (own != nullptr ? "the kernel" : "the process") + " at " + std::string(file_name) + ":" +
              std::to_string(entry->line) + ":" + std::to_string(entry->column) + ": " + quoted_text(entry->reason);
    }
    result.text += line + "\n";
  }
  for (Optimisation optimisation : effective.disabled)
    result.text += "  optimisation " + std::string(optimisation_name(optimisation)) + ": " + std::string(disabled_reason) + "\n";
  result.text += "  digest " + effective_digest(effective) + "\n";
  return result;
}

CommandResult policy_check(std::string_view text, std::string_view file_name, const std::optional<std::vector<std::string>>& kernels,
                           bool warnings_are_errors) {
  Manifest manifest = read_manifest(text);
  if (kernels) check_kernels(manifest, text, *kernels);
  CommandResult result;
  for (const ManifestDiagnostic& diagnostic : manifest.diagnostics) result.text += manifest_diagnostic_text(diagnostic, file_name);
  const bool fails = manifest.has_errors() || (warnings_are_errors && !manifest.diagnostics.empty());
  result.status = fails ? 1 : 0;
  return result;
}

}  // namespace sarek::policy
