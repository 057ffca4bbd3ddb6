// What the forms of a report share, and the text form.
#include "policy/report.h"

#include <algorithm>
#include <set>

#include "policy/event_text.h"
#include "policy/manifest.h"

namespace sarek::policy {

std::string_view event_kernel(const Event& event) {
  return std::visit([](const auto& e) { return std::string_view(e.kernel); }, event);
}

std::string_view event_target(const Event& event) {
  if (const auto* record = std::get_if<Record>(&event)) return record->target;
  if (const auto* gate = std::get_if<GateEvent>(&event)) return gate->target;
  return "";
}

std::string_view event_subject(const Event& event) {
  if (const auto* record = std::get_if<Record>(&event)) return optimisation_name(record->optimisation);
  return std::holds_alternative<GateEvent>(event) ? "gate" : "grant";
}

const Decision* event_decision(const Event& event) {
  if (const auto* record = std::get_if<Record>(&event)) return &record->decision;
  if (const auto* gate = std::get_if<GateEvent>(&event)) return &gate->decision;
  return nullptr;
}

namespace {

/// A word as a shell takes it whole; names and paths mostly need no quotes.
std::string shell_word(const std::string& text) {
  if (!text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+/") == std::string::npos)
    return text;
  std::string word = "'";
  for (char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string place_text(const SourcePlace& place) {
  if (place.line == 0) return "";
  return place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

}  // namespace

std::string manifest_to_edit(const ExplainReport& report) {
  if (!report.manifest.empty()) return report.manifest;
  return report.new_manifest.empty() ? std::string(manifest_file_name) : report.new_manifest;
}

std::optional<Remedy> remedy_for(const Event& event, const ExplainReport& report) {
  const Decision* decision = event_decision(event);
  if (decision == nullptr) return std::nullopt;
  for (Grant grant : missing_grants(*decision)) {
    const std::string kernel(event_kernel(event));
    std::string command = "sarekc policy add --grant=" + std::string(grant_name(grant)) + " --kernel=" + shell_word(kernel) +
                          " --reason=\"" + std::string(placeholder_reason) + "\"";
    // The command looks from the current folder upward, the compile looked from the input's: the file is named where that may differ.
    if (const std::string manifest = manifest_to_edit(report); manifest != manifest_file_name)
      command += " --policy=" + shell_word(manifest);
    return Remedy{grant, manifest_entry_text(Scope::kernel(kernel), grant, placeholder_reason), std::move(command)};
  }
  return std::nullopt;
}

void merge_report(ExplainReport& report, const ExplainReport& more) {
  const auto list = [](std::string& all, const std::string& one) {
    if (one.empty() || one == all) return;
    all += (all.empty() ? "" : ", ") + one;
  };
  list(report.policy_digest, more.policy_digest);
  list(report.manifest, more.manifest);
  if (report.new_manifest.empty()) report.new_manifest = more.new_manifest;
  report.entries.insert(report.entries.end(), more.entries.begin(), more.entries.end());
  report.plans.insert(report.plans.end(), more.plans.begin(), more.plans.end());
  report.unproven.insert(report.unproven.end(), more.unproven.begin(), more.unproven.end());
}

std::string report_as_text(const ExplainReport& report) {
  std::string text;
  for (const ExplainEntry& entry : report.entries) text += event_text(entry.event) + "\n";
  for (const UnprovenAccess& access : report.unproven) {
    text += name_text(access.kernel) + " access unproven " + quoted_text(access.why);
    if (access.place.line != 0) text += " " + place_text(access.place);
    text += "\n";
  }
  return text;
}

std::string remedies_as_text(const ExplainReport& report) {
  std::string text;
  std::set<std::string> told;
  for (const ExplainEntry& entry : report.entries) {
    const std::optional<Remedy> remedy = remedy_for(entry.event, report);
    if (!remedy || !told.insert(remedy->entry).second) continue;
    // The first place stands for all: one entry covers the kernel.
    const std::string place = place_text(entry.place);
    text.append("note: ").append(event_subject(entry.event)).append(" of ").append(event_kernel(entry.event));
    if (!place.empty()) text.append(" at ").append(place);
    text.append(" needs the grant ").append(grant_name(remedy->grant)).append(" (").append(grant_meaning(remedy->grant)).append(")\n");
    text += "note: where that is acceptable, say why: " + remedy->command + "\n";
    text += "note: or add to `grants` in " + manifest_to_edit(report) + ": " + remedy->entry + "\n";
  }
  return text;
}

}  // namespace sarek::policy
