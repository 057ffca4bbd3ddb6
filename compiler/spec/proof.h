// Which accesses of a program stay in bounds, whatever the launch: intervals, the conditions of the IFs and loops around an access, its
// gate, and sums and products of what they say. Used by the passes that drop checks, by checked mode, and by --explain for what stays
// unproven. Sound, not complete: "unproven" means that nothing here shows it.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/program.h"

namespace sarek::spec {

/// One LOAD, STORE or atomic instruction of a program.
struct AccessProof {
  int position = -1;    // in the body
  ir::NodeId access;    // the LOAD, STORE or INS
  ir::NodeId place;     // its INDEX
  bool proven = false;  // whenever the access happens (its gate is true), 0 <= index < elements of the storage
  std::string reason;   // for people: why it holds, or what nothing shows
};

/// Every access of a verified program, in order of the body. Assumes what a launch promises (launch_interval in bounds.h): the language
/// refuses launches of more than 2^31 - 1 threads along an axis and buffers of more than 2^31 - 1 cells, so ids do not wrap and lengths are
/// not negative. Registers hold zero when a program starts. Near linear: every query has a budget, and gives up as unproven beyond it.
std::vector<AccessProof> prove_in_bounds(const ir::Program& program);

}  // namespace sarek::spec
