// Ways to run a case: the interpreter, the interpreter after passes, native code. Each makes a Runner.
#pragma once

#include <string>

#include "compiler/ir/capabilities.h"
#include "tests/property/case.h"

namespace sarek::testgen {

/// The oracle. Gives up after `step_limit` steps of one thread.
Runner interpreter(interp::Checks checks = {}, std::uint64_t step_limit = 50'000'000);

/// The whole pipeline for a target with these capabilities, then the interpreter.
Runner after_pipeline(const ir::Capabilities& capabilities, int opt_level);

/// Is the case one that every implementation must agree on: whole by the specification, without races, uninitialised reads, accesses out of
/// bounds, deadlocks? The text says why not.
std::optional<std::string> invalid(const Case& c);

}  // namespace sarek::testgen
