// Makes a failing case smaller while it keeps failing: drops statements, unwraps branches and loops, puts constants or operands in place of
// values, cuts the grid, calms the inputs.
#pragma once

#include <functional>

#include "tests/property/case.h"

namespace sarek::testgen {

/// Does the (smaller) case still show the fault? It should also say no to cases that are not valid (see invalid in runners.h).
using StillFails = std::function<bool(const Case&)>;

/// The smallest case found with at most `budget` questions. `c` itself must fail.
Case shrink(Case c, const StillFails& fails, int budget = 3000);

}  // namespace sarek::testgen
