// From compiles' decisions to the report that --explain asks for: one report a command, however many inputs it has.
#pragma once

#include <string>

#include "compiler/driver/compile.h"
#include "policy/report.h"

namespace sarek::tool {

/// Adds what one compile decided to the report of the command.
void add_to_report(policy::ExplainReport& report, const driver::Compilation& compilation, const driver::Request& request);

/// Writes the report in `format` ("text", "json", "sarif", "html"; empty: nothing) to `path`. Without a path text goes to standard error,
/// the others to standard output.
Result<Unit> write_explain(const policy::ExplainReport& report, const std::string& format, const std::string& path);

}  // namespace sarek::tool
