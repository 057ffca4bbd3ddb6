// The line forms of decisions and events.
#include "policy/event_text.h"

#include <algorithm>

namespace sarek::policy {
namespace {

std::string granted_text(const Granted& granted) {
  std::string names;
  for (Grant grant : granted.grants) {
    if (!names.empty()) names += ',';
    names += grant_name(grant);
  }
  std::string result = "applied granted " + names + " " + quoted_text(granted.reason);
  if (granted.lowering) result += " " + quoted_text(*granted.lowering);
  return result;
}

}  // namespace

std::string name_text(std::string_view name) {
  const bool plain = !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7F || c == '"' || c == '\\';
  });
  return plain ? std::string(name) : quoted_text(name);
}

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      constexpr char digits[] = "0123456789abcdef";
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string decision_text(const Decision& decision) {
  if (const auto* refused = std::get_if<Refused>(&decision)) return "refused " + quoted_text(refused->why);
  const Evidence& evidence = std::get<Applied>(decision).evidence;
  if (const auto* proof = std::get_if<Proof>(&evidence)) return "applied proof " + quoted_text(proof->text);
  if (const auto* granted = std::get_if<Granted>(&evidence)) return granted_text(*granted);
  return "applied exact";
}

std::string event_text(const Event& event) {
  if (const auto* record = std::get_if<Record>(&event)) {
    std::string result = name_text(record->kernel) + " " + name_text(record->target) + " ";
    return result.append(optimisation_name(record->optimisation)) + " " + decision_text(record->decision);
  }
  if (const auto* gate = std::get_if<GateEvent>(&event))
    return name_text(gate->kernel) + " " + name_text(gate->target) + " gate " + decision_text(gate->decision);
  const auto& ignored = std::get<IgnoredGrant>(event);
  std::string result = name_text(ignored.kernel) + " grant ";
  return result.append(grant_name(ignored.grant)) + " ignored " + quoted_text(ignored_message(ignored.cause));
}

std::string explain_line(const Event& event) { return "[sarek] " + event_text(event); }

}  // namespace sarek::policy
