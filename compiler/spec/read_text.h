// Programs from the IR's text form, read and verified: what `sarekc file.sir` takes as input. The reading itself is compiler/ir's.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/text_parser.h"

namespace sarek::spec {

/// Reads every program of a file and verifies each; reports what cannot be read (ir-syntax, ir-limit) and what breaks the specification
/// (ir-invalid) at its line. None when anything was reported, or when two programs have one name.
std::optional<std::vector<ir::Program>> read_programs(SourceManager& sources, FileId file, DiagnosticSink& sink,
                                                      const ir::TextLimits& limits = {});

}  // namespace sarek::spec
