// From a file to lowered kernels: reading, parsing, imports, typing, lowering; or reading the IR's text form. The one part of the driver
// that reads source files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "compiler/sema/sema.h"

namespace sarek::driver {

struct FrontEndResult {
  std::vector<ir::Program> programs;  // in source order
  sema::ModuleInterface interface;    // empty for IR text
  std::vector<sema::TestInfo> tests;
};

/// Faults go to `sink`; `dependencies` receives every file that was read, the input first. With Emit::Nothing nothing but kernels that need
/// lowering for their diagnostics is done.
FrontEndResult run_front_end(const Request& request, SourceManager& sources, DiagnosticSink& sink, std::vector<std::string>& dependencies);

/// The syntax tree as text, for --emit=ast; none after faults.
std::optional<std::string> ast_text(const Request& request, SourceManager& sources, DiagnosticSink& sink,
                                    std::vector<std::string>& dependencies);

}  // namespace sarek::driver
