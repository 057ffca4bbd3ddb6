// Events as text, one line each: the form of `--explain` and of SAREK_EXPLAIN=1. Every other form of report is in report.h.
#pragma once

#include <string>
#include <string_view>

#include "policy/decision.h"

namespace sarek::policy {

/// One line for an event, without a line break: "[sarek] " and `event_text`.
std::string explain_line(const Event& event);

/// The line without its prefix, in the form of the text report: `KERNEL TARGET OPTIMISATION applied exact`, and so on.
std::string event_text(const Event& event);
/// The part after the optimisation: `applied exact`, `applied granted GRANTS "REASON" LOWERING`, `applied proof "TEXT"`, `refused "WHY"`.
std::string decision_text(const Decision& decision);

/// A name as a field of a line: bare, or quoted where it would break the line or the split at spaces.
std::string name_text(std::string_view name);

/// A text in double quotes on one line: quotes and backslashes escaped, control characters as \\n or \\xHH.
std::string quoted_text(std::string_view text);

}  // namespace sarek::policy
