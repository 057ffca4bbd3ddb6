// What `sarekc explain diff` and `sarekc policy check|show|diff|add` do, as functions from values to values: no files, no printing. Each
// result has the text to print and the exit status for CI. Adding an entry is `add_to_manifest` in manifest.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/environment.h"
#include "policy/manifest.h"
#include "policy/report.h"

namespace sarek::policy {

/// How a decision differs between two reports.
enum class Change : std::uint8_t {
  NewlyRefused,  // applied before, refused now
  NewlyGranted,  // applied now on a grant that it did not rest on before (or new, and resting on a grant)
  NewlyExact,    // applied now without a grant; refused or granted before
  Added,         // a decision that the old report does not have, resting on no grant
  Removed,       // a decision that the new report does not have
  Reworded,      // the same outcome with another reason, proof, lowering or fewer grants
};

std::string_view change_name(Change change);
std::optional<Change> change_by_name(std::string_view name);
const std::vector<Change>& all_changes();

struct ExplainChange {
  Change change;
  std::string kernel;
  std::string target;
  std::string subject;  // see event_subject
  std::optional<Decision> before;
  std::optional<Decision> after;
  SourcePlace place;  // in the new report where it has one, else in the old
};

/// The changes between two reports, in the order of the new one, the removed last. Decisions are matched by kernel, target and subject:
/// equal ones first, the others in order. Lines play no part, so moving code changes nothing. Ignored grants are not compared.
std::vector<ExplainChange> explain_diff(const ExplainReport& before, const ExplainReport& after);

/// One line a change: `CHANGE KERNEL TARGET OPTIMISATION: BEFORE -> AFTER (FILE:LINE)`.
std::string explain_diff_text(const std::vector<ExplainChange>& changes);

/// 1 when one of the changes is among `fail_on`, else 0.
int explain_diff_status(const std::vector<ExplainChange>& changes, const std::vector<Change>& fail_on);

/// Reads a comma list of change names; the first unknown one comes back in `unknown`.
std::optional<std::vector<Change>> parse_changes(std::string_view list, std::string& unknown);

struct CommandResult {
  std::string text;
  int status = 0;
};

/// What B grants and A does not, what A grants and B does not, and changed reasons; one line each. Status 1 when B grants more than A: when
/// some kernel would hold a grant under B that it does not hold under A. A kernel's grant that A makes for the process is not more.
/// Both are without errors.
CommandResult policy_diff(const Manifest& a, const Manifest& b);

/// The budget of a kernel: of each of the seven grants whether it is held, from which entry, why; then what the environment took away.
/// `file_name` is how entries are cited. Status 0.
CommandResult policy_show(const Manifest& manifest, std::string_view file_name, std::string_view kernel, const Environment& environment);

/// The manifest's diagnostics. `kernels`: what the inputs define; nothing when no input was given, then kernel scopes are not checked.
/// Status 1 when there is an error, or a warning and `warnings_are_errors`.
CommandResult policy_check(std::string_view text, std::string_view file_name, const std::optional<std::vector<std::string>>& kernels,
                           bool warnings_are_errors);

}  // namespace sarek::policy
