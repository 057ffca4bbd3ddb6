// The SARIF 2.1.0 form of a report, for code review tools. Only what was refused or has no effect is a result: what was applied as the
// program asked is nothing to review.
//
// A region has a line and no column: SARIF counts columns in characters and reports here count bytes.
#include <array>

#include "policy/event_text.h"
#include "policy/json_text.h"
#include "policy/report.h"

namespace sarek::policy {
namespace {

using detail::json_string;

struct Rule {
  std::string_view id;
  std::string_view text;
};

// In the order of `all_optimisations`, then the gate and the ignored grants.
constexpr std::array<Rule, optimisation_count + 2> rules{{
    {"refused-window", "a launch was not put into the launch window"},
    {"refused-epilogue", "an epilogue was not fused into its producer"},
    {"refused-matrix", "a matrix product was not rewritten for matrix units"},
    {"refused-narrowing-proof", "an f32 to f16 narrowing keeps its two roundings"},
    {"refused-unroll", "a loop was not unrolled"},
    {"refused-gate", "a kernel that uses cooperative matrices was refused on a device"},
    {"ignored-grant", "a grant of the manifest has no effect"},
}};

std::size_t rule_of(const Event& event) {
  if (const auto* record = std::get_if<Record>(&event)) return static_cast<std::size_t>(record->optimisation);
  return std::holds_alternative<GateEvent>(event) ? optimisation_count : optimisation_count + 1;
}

/// A path as a URI reference (RFC 3986): `/` separates, everything outside the unreserved characters is percent-encoded. A drive letter's
/// colon and any other colon are encoded too, so that no path reads as a scheme.
std::string uri_of(std::string_view path) {
  std::string uri;
  for (char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
                       c == '~' || c == '/';
    if (plain) {
      uri += c;
    } else {
      constexpr char digits[] = "0123456789ABCDEF";
      uri += '%';
      uri += digits[static_cast<unsigned char>(c) >> 4];
      uri += digits[static_cast<unsigned char>(c) & 15];
    }
  }
  return uri;
}

std::string message_of(const Event& event, const std::optional<Remedy>& remedy) {
  std::string text;
  if (const Decision* decision = event_decision(event)) {
    text = "kernel " + std::string(event_kernel(event)) + " on " + std::string(event_target(event)) + ": " +
           std::string(event_subject(event)) + " " + decision_text(*decision);
  } else {
    text = event_text(event);
  }
  if (remedy) {
    text += "; the grant " + std::string(grant_name(remedy->grant)) + " would allow it (" + std::string(grant_meaning(remedy->grant)) +
            "): add to `grants` in sarek.policy.json: " + remedy->entry;
  }
  return text;
}

std::string result_text(const ExplainEntry& entry) {
  const std::size_t rule = rule_of(entry.event);
  const std::optional<Remedy> remedy = remedy_for(entry.event);
  const std::string kernel(event_kernel(entry.event));
  std::string text = "{\n          \"ruleId\": " + json_string(rules[rule].id) + ",\n          \"ruleIndex\": " + std::to_string(rule);
  text += std::string(",\n          \"level\": ") + (event_decision(entry.event) != nullptr ? "\"note\"" : "\"warning\"");
  text += ",\n          \"message\": { \"text\": " + json_string(message_of(entry.event, remedy)) + " }";
  text += ",\n          \"locations\": [ { ";
  if (entry.place.line != 0) {
    text += "\"physicalLocation\": { \"artifactLocation\": { \"uri\": " + json_string(uri_of(entry.place.file)) +
            " }, \"region\": { \"startLine\": " + std::to_string(entry.place.line) + " } }, ";
  }
  text += "\"logicalLocations\": [ { \"name\": " + json_string(kernel) + ", \"kind\": \"function\" } ] } ]";
  // What stays the same when lines move, so that a tool sees one finding across commits.
  text += ",\n          \"partialFingerprints\": { \"sarekDecision/v1\": " +
          json_string(kernel + "|" + std::string(event_target(entry.event)) + "|" + event_text(entry.event)) + " }";
  if (remedy) {
    text += ",\n          \"properties\": { \"grant\": " + json_string(grant_name(remedy->grant)) +
            ", \"manifestEntry\": " + json_string(remedy->entry) + ", \"command\": " + json_string(remedy->command) + " }";
  }
  return text + "\n        }";
}

}  // namespace

std::string report_as_sarif(const ExplainReport& report) {
  std::string text =
      "{\n  \"$schema\": \"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json\",\n"
      "  \"version\": \"2.1.0\",\n  \"runs\": [\n    {\n      \"tool\": {\n        \"driver\": {\n          \"name\": \"sarekc\"";
  if (!report.tool_version.empty()) text += ",\n          \"version\": " + json_string(report.tool_version);
  text += ",\n          \"rules\": [";
  for (std::size_t i = 0; i < rules.size(); ++i) {
    text += std::string(i == 0 ? "" : ",") + "\n            { \"id\": " + json_string(rules[i].id) +
            ", \"shortDescription\": { \"text\": " + json_string(rules[i].text) + " } }";
  }
  text += "\n          ]\n        }\n      },\n      \"results\": [";
  bool first = true;
  for (const ExplainEntry& entry : report.entries) {
    const Decision* decision = event_decision(entry.event);
    if (decision != nullptr && is_applied(*decision)) continue;
    text += std::string(first ? "" : ",") + "\n        " + result_text(entry);
    first = false;
  }
  return text + (first ? "]" : "\n      ]") + "\n    }\n  ]\n}\n";
}

}  // namespace sarek::policy
