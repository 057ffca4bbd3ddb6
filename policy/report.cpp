// What the forms of a report share, and the text form.
#include "policy/report.h"

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

std::optional<Remedy> remedy_for(const Event& event) {
  const Decision* decision = event_decision(event);
  if (decision == nullptr) return std::nullopt;
  for (Grant grant : missing_grants(*decision)) {
    const std::string kernel(event_kernel(event));
    // The shell's own quoting, for names that a shell would split; kernel names of the language need none.
    const bool plain = kernel.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+") == std::string::npos;
    std::string shell_name = kernel;
    if (!plain) {
      shell_name = "'";
      for (char c : kernel) shell_name += c == '\'' ? std::string("'\\''") : std::string(1, c);
      shell_name += "'";
    }
    return Remedy{grant, manifest_entry_text(Scope::kernel(kernel), grant, placeholder_reason),
                  "sarekc policy add --grant=" + std::string(grant_name(grant)) + " --kernel=" + shell_name + " --reason=\"" +
                      std::string(placeholder_reason) + "\""};
  }
  return std::nullopt;
}

std::string report_as_text(const ExplainReport& report) {
  std::string text;
  for (const ExplainEntry& entry : report.entries) text += event_text(entry.event) + "\n";
  return text;
}

std::string remedies_as_text(const ExplainReport& report) {
  std::string text;
  std::set<std::string> told;
  for (const ExplainEntry& entry : report.entries) {
    const std::optional<Remedy> remedy = remedy_for(entry.event);
    if (!remedy || !told.insert(remedy->entry).second) continue;
    text.append("note: ").append(event_subject(entry.event)).append(" of ").append(event_kernel(entry.event)).append(" needs the grant ");
    text.append(grant_name(remedy->grant)).append(" (").append(grant_meaning(remedy->grant)).append(")\n");
    text += "note: where that is acceptable, say why: " + remedy->command + "\n";
    text += "note: or add to `grants` in sarek.policy.json: " + remedy->entry + "\n";
  }
  return text;
}

}  // namespace sarek::policy
