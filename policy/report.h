// The report of one compile: every decision with its place in the source, in the forms that people and tools read. What a decision is
// stands in decision.h; comparing reports and asking a manifest questions is in commands.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/decision.h"

namespace sarek::policy {

/// A place in a source file; line 0 is "no place known". Both count from 1; the column counts bytes.
struct SourcePlace {
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;
  friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};

/// One event and where its cause stands in the source.
struct ExplainEntry {
  Event event;
  SourcePlace place;
  friend bool operator==(const ExplainEntry&, const ExplainEntry&) = default;
};

/// A fusion plan as text, drawn by the planner. It is shown, not interpreted.
struct FusionPlan {
  std::string kernel;
  std::string text;
  friend bool operator==(const FusionPlan&, const FusionPlan&) = default;
};

/// An access that nothing proves to stay inside of its buffer, and that nothing checks at run time. No grant is asked for it: it is stated,
/// so that a reader knows where the contract rests on the program's own care.
struct UnprovenAccess {
  std::string kernel;
  std::string why;  // what nothing shows
  SourcePlace place;
  friend bool operator==(const UnprovenAccess&, const UnprovenAccess&) = default;
};

struct ExplainReport {
  std::string tool_version;           // of the compiler, for example "0.1.0"
  std::string policy_digest;          // of the effective policy that the compile ran under
  std::string manifest;               // its path; empty without one
  std::string new_manifest;           // without one: where it would be found, as a path; empty: in the current folder
  std::vector<ExplainEntry> entries;  // in the order of decision
  std::vector<FusionPlan> plans;
  std::vector<UnprovenAccess> unproven;
  friend bool operator==(const ExplainReport&, const ExplainReport&) = default;
};

/// The kernel, target and name ("window", ..., "gate", "grant") of an event.
std::string_view event_kernel(const Event& event);
std::string_view event_target(const Event& event);
std::string_view event_subject(const Event& event);
/// The decision of a Record or a GateEvent; null for an ignored grant.
const Decision* event_decision(const Event& event);

/// What would allow a refused optimisation: the manifest entry to add, ready to paste (the reason is for the user to write), and the
/// `sarekc policy add` command, for the manifest of the report. Nothing where no grant can help.
struct Remedy {
  Grant grant;
  std::string entry;
  std::string command;
};
std::optional<Remedy> remedy_for(const Event& event, const ExplainReport& report);
/// The path of the manifest that an entry goes into: the one in force, or the one to make.
std::string manifest_to_edit(const ExplainReport& report);

/// Adds what another compile of the same command reported. Differing digests and manifests are listed.
void merge_report(ExplainReport& report, const ExplainReport& more);

/// One line an event: `KERNEL TARGET OPTIMISATION applied exact`, and so on; then one an unproven access:
/// `KERNEL access unproven "WHY" FILE:LINE:COLUMN`.
std::string report_as_text(const ExplainReport& report);
/// For people, after the text report: per refusal that a grant would lift, where it was, which grant, what it means, the command that adds
/// it and the entry to write by hand. Each once; empty when no grant would help.
std::string remedies_as_text(const ExplainReport& report);
/// JSON after sarek.explain.schema.json.
std::string report_as_json(const ExplainReport& report);
/// SARIF 2.1.0: one result a refused decision (an ignored grant, an unproven access) at its place, with the grant that would allow it.
std::string report_as_sarif(const ExplainReport& report);
/// One self-contained HTML file: no script, no external resource.
std::string report_as_html(const ExplainReport& report);

/// A fault of a JSON report: where and what.
struct ReportFault {
  std::size_t line = 1;
  std::size_t column = 1;
  std::string message;
};
/// Reads what `report_as_json` wrote. Unknown keys are skipped, so that older tools read newer reports of the same version.
std::variant<ExplainReport, ReportFault> read_json_report(std::string_view text);

}  // namespace sarek::policy
