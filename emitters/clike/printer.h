// Prints a legalised program in a C-like language. Decides nothing: what a target's operation cannot do exactly was rewritten before
// (compiler/passes/legalize) or refused (compiler/passes/requirements).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/support/result.h"
#include "emitters/clike/dialect.h"

namespace sarek::emit {

/// A place that a checked kernel reports by number (from 1).
struct CheckSite {
  std::string kind;    // "bounds", "trap"
  std::string detail;  // buffer name, or the trap's text
  SourceRange range;
};

struct PrintOptions {
  bool line_directives = false;  // #line, from the nodes' source ranges; needs `sources`
  const SourceManager* sources = nullptr;
  bool checked = false;  // every access that nothing proves asks first, and traps report
};

struct PrintedKernel {
  std::string entry;                   // the function's name in the text
  std::vector<std::string> requires_;  // device capabilities: "fp64", "int64-atomics", "fp32-exact-divide", "fp32-denormals"
  std::int64_t shared_bytes = 0;       // static
  std::vector<CheckSite> sites;        // of a checked kernel
};

struct PrintedModule {
  std::string text;
  std::vector<PrintedKernel> kernels;  // in the order of the programs
};

/// One text with one entry a program. The entry's arguments are Program::slots in order, then a pointer to each dynamic shared array in
/// order of its slot, then a checked kernel's record of faults (runtime/artifact/fault_record.h). A thread goes on after its first fault,
/// for others may wait for it: what it reads out of bounds is 0, what it writes there is dropped, and it leaves loops in which nobody
/// waits. An error means that a program was not legalised for the dialect: a fault of the compiler, named.
Result<PrintedModule> print_clike(const Dialect& dialect, std::span<const ir::Program* const> programs, const PrintOptions& options);

}  // namespace sarek::emit
