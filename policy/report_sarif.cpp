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

// In the order of `all_optimisations`, then the gate, the ignored grants, the unproven accesses.
constexpr std::array<Rule, optimisation_count + 3> rules{{
    {"refused-window", "a launch was not put into the launch window"},
    {"refused-epilogue", "an epilogue was not fused into its producer"},
    {"refused-matrix", "a matrix product was not rewritten for matrix units"},
    {"refused-narrowing-proof", "an f32 to f16 narrowing keeps its two roundings"},
    {"refused-unroll", "a loop was not unrolled"},
    {"refused-gate", "a kernel that uses cooperative matrices was refused on a device"},
    {"ignored-grant", "a grant of the manifest has no effect"},
    {"unproven-access", "nothing proves that an access stays inside of its buffer, and nothing checks it"},
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

std::string message_of(const Event& event, const std::optional<Remedy>& remedy, const std::string& manifest) {
  std::string text;
  if (const Decision* decision = event_decision(event)) {
    text = "kernel " + std::string(event_kernel(event)) + " on " + std::string(event_target(event)) + ": " +
           std::string(event_subject(event)) + " " + decision_text(*decision);
  } else {
    text = event_text(event);
  }
  if (remedy) {
    text += "; the grant " + std::string(grant_name(remedy->grant)) + " would allow it (" + std::string(grant_meaning(remedy->grant)) +
            "): add to `grants` in " + manifest + ": " + remedy->entry;
  }
  return text;
}

/// One result. `fingerprint` stays the same when lines move, so that a tool sees one finding across commits.
std::string result_text(std::size_t rule, std::string_view level, const std::string& message, const std::string& kernel,
                        const SourcePlace& place, const std::string& fingerprint, const std::optional<Remedy>& remedy) {
  std::string text = "{\n          \"ruleId\": " + json_string(rules[rule].id) + ",\n          \"ruleIndex\": " + std::to_string(rule);
  text += ",\n          \"level\": " + json_string(level);
  text += ",\n          \"message\": { \"text\": " + json_string(message) + " }";
  text += ",\n          \"locations\": [ { ";
  if (place.line != 0) {
    text += "\"physicalLocation\": { \"artifactLocation\": { \"uri\": " + json_string(uri_of(place.file)) +
            " }, \"region\": { \"startLine\": " + std::to_string(place.line) + " } }, ";
  }
  text += "\"logicalLocations\": [ { \"name\": " + json_string(kernel) + ", \"kind\": \"function\" } ] } ]";
  text += ",\n          \"partialFingerprints\": { \"sarekDecision/v1\": " + json_string(fingerprint) + " }";
  if (remedy) {
    text += ",\n          \"properties\": { \"grant\": " + json_string(grant_name(remedy->grant)) +
            ", \"manifestEntry\": " + json_string(remedy->entry) + ", \"command\": " + json_string(remedy->command) + " }";
  }
  return text + "\n        }";
}

std::string event_result(const ExplainEntry& entry, const ExplainReport& report) {
  const std::optional<Remedy> remedy = remedy_for(entry.event, report);
  const std::string kernel(event_kernel(entry.event));
  return result_text(rule_of(entry.event), event_decision(entry.event) != nullptr ? "note" : "warning",
                     message_of(entry.event, remedy, manifest_to_edit(report)), kernel, entry.place,
                     kernel + "|" + std::string(event_target(entry.event)) + "|" + event_text(entry.event), remedy);
}

std::string access_result(const UnprovenAccess& access) {
  return result_text(rules.size() - 1, "note", "kernel " + access.kernel + ": unproven access: " + access.why, access.kernel, access.place,
                     access.kernel + "|access|" + access.why, std::nullopt);
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
  const auto add = [&](const std::string& result) {
    text += std::string(first ? "" : ",") + "\n        " + result;
    first = false;
  };
  for (const ExplainEntry& entry : report.entries) {
    const Decision* decision = event_decision(entry.event);
    if (decision != nullptr && is_applied(*decision)) continue;
    add(event_result(entry, report));
  }
  for (const UnprovenAccess& access : report.unproven) add(access_result(access));
  return text + (first ? "]" : "\n      ]") + "\n    }\n  ]\n}\n";
}

}  // namespace sarek::policy
