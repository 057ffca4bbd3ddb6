// The smallest emitter: a program as pseudo-C for people to read. It runs nowhere; it shows what an emitter is, and compiles, so that
// emitters/README.md ("how to add a backend") stays true.
#pragma once

#include <string>

#include "compiler/ir/capabilities.h"
#include "compiler/ir/program.h"
#include "compiler/support/result.h"

namespace sarek::emit {

/// What the target does exactly as the contract asks. Paper does everything, so nothing needs to be legalised.
const ir::Capabilities& null_capabilities();

/// One function of pseudo-C for a program that `spec::verify_program` finds whole. An error names a node that no program holds.
Result<std::string> print_null(const ir::Program& program);

}  // namespace sarek::emit
