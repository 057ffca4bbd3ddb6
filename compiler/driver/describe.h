// From a program to the package's description of it. No emitter is called here.
#pragma once

#include "compiler/ir/program.h"
#include "compiler/support/source.h"
#include "runtime/artifact/package.h"

namespace sarek::driver {

/// Everything of artifact::Kernel but its variants.
artifact::Kernel describe_kernel(const ir::Program& program, const SourceManager& sources, bool checked);

/// Where a check stands, as a package tells it. `sources` may be null: then without a place.
artifact::FaultSite describe_site(const std::string& kind, const std::string& detail, SourceRange range, const SourceManager* sources);

/// "in", "out", "inout", or empty.
std::string access_text(ir::Access access);

}  // namespace sarek::driver
