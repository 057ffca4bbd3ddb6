// Is a program whole? Its nodes against the program specification, and what no single node shows: order, scope, nesting, slots, access, and
// the sources of instructions. Run around every pass, so linear in the program. Whether accesses stay in bounds is proof.h's question.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/program.h"

namespace sarek::spec {

/// One fault of a program.
struct ProgramFailure {
  int position = -1;    // in the body; -1: the declaration
  ir::NodeId node;      // none for the declaration
  std::string rule;     // the specification's rule ("S30"), or "structure", "scope", "declaration", "access", "instruction"
  std::string message;  // lower case, one sentence, no full stop
};

/// Every fault of the program, at most `limit`, in order of position; empty when it is whole. Never throws and reads nothing out of bounds,
/// however broken the program is.
std::vector<ProgramFailure> verify_program(const ir::Program& program, std::size_t limit = 20);

/// The failures as text, one a line, each followed by its node: what an internal error of a pass shows.
std::string describe(const ir::Program& program, const std::vector<ProgramFailure>& failures);

}  // namespace sarek::spec
