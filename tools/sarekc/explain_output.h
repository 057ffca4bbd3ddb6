// From a compile's decisions to the report that --explain asks for.
#pragma once

#include <string>

#include "compiler/driver/compile.h"

namespace sarek::tool {

/// Writes the report in `format` ("text", "json", "sarif", "html"; empty: nothing) to `path`. Without a path text goes to standard error,
/// the others to standard output.
Result<Unit> write_explain(const driver::Compilation& compilation, const std::string& format, const std::string& path);

}  // namespace sarek::tool
