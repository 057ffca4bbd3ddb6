// One compile: from the text of a module to an artifact, with everything a caller may want to show. Prints nothing, exits nowhere, keeps no
// state between calls; several may run at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/targets.h"
#include "compiler/ir/program.h"
#include "compiler/sema/sema.h"
#include "compiler/support/diagnostic.h"
#include "policy/decision.h"
#include "policy/environment.h"
#include "runtime/artifact/package.h"

namespace sarek::driver {

enum class Emit : std::uint8_t { Package, Source, Ir, Ast, Asm, LlvmIr, Object, Header, Metadata, Nothing };

struct Request {
  std::string input_name;                 // as diagnostics show it; also where imports and the manifest are looked for
  std::optional<std::string> input_text;  // none: read the file `input_name`
  std::vector<std::string> include_dirs;
  std::vector<std::string> defines;  // "NAME=VALUE" or "NAME"
  std::vector<Target> targets;       // empty: native
  Emit emit = Emit::Package;
  int opt_level = 2;  // 0 to 3
  bool debug_info = false;
  bool checked = false;
  WarningOptions warnings;
  bool use_policy = true;
  std::string policy_file;                  // empty: sarek.policy.json beside the input or above it
  std::vector<std::string> policy_sources;  // other sources whose kernels the manifest may name
  bool prove_accesses = false;              // look for accesses that nothing proves; see Compilation::unproven
  policy::Environment environment;          // what SAREK_OPT_DISABLE and SAREK_EXPLAIN said
  std::string header_namespace;             // Emit::Header; empty: from the input's name
  std::string only_kernel;                  // empty: every kernel of the module
  std::string dump_after;                   // a pass
  std::string stop_after;                   // a pass
};

/// One step and how long it took.
struct StepTime {
  std::string name;
  double milliseconds = 0;
};

/// One decision of the policy, with its place in the source.
struct DecisionAt {
  policy::Record record;
  SourceRange range;
};

/// A grant without effect, with the place of its entry in the manifest. It was heard of with the decision before `decisions[after]`.
struct IgnoredAt {
  policy::IgnoredGrant grant;
  SourceRange range;
  std::size_t after = 0;
};

/// An access of a kernel that nothing proves to stay inside of its buffer.
struct UnprovenAt {
  std::string kernel;
  std::string why;
  SourceRange range;
};

/// What a compile gave. `output` is there when no error was reported.
struct Compilation {
  SourceManager sources;
  DiagnosticSink diagnostics;
  std::optional<std::vector<std::uint8_t>> output;
  std::vector<std::string> dependencies;  // files that were read, in order: sources, imports, manifest
  std::vector<DecisionAt> decisions;      // in the order in which they were taken, each once
  std::vector<IgnoredAt> ignored_grants;
  std::vector<UnprovenAt> unproven;  // in the optimised kernels, each place once; none in checked mode, which looks at run time
  std::string policy_digest;         // of the policy that the compile ran under
  std::string manifest;              // its path; empty without one
  std::vector<StepTime> times;
  std::string dump;                          // text of --dump-after
  std::vector<ir::Program> programs;         // as lowered, one a kernel, before any pass: what the interpreter runs as the oracle
  std::vector<sema::TestInfo> tests;         // the module's `test` items, typed
  std::optional<artifact::Package> package;  // Emit::Package, Header, Metadata
  bool internal_fault = false;               // a diagnostic of kind internal-error was reported
};

Compilation compile(const Request& request);

}  // namespace sarek::driver
