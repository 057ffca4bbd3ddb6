// The way from a lowered kernel to what an emitter prints: the list of passes, the checks around each, and the questions put to the policy.
// What a pass does is in passes.h.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/capabilities.h"
#include "compiler/ir/program.h"
#include "compiler/support/diagnostic.h"
#include "compiler/support/result.h"
#include "policy/store.h"

namespace sarek::passes {

struct PipelineOptions {
  /// 0: only what the target needs. 1: simplification without loops copied or moved. 2: everything. 3: larger limits for copies.
  int opt_level = 2;
  bool checked = false;
  /// Checks the program before the first pass and after each one.
  bool verify = true;

  /// Decides automatic unrolling and narrowing, each reported with target "gen:<generator>". Null: neither happens.
  policy::Store* store = nullptr;
  /// Hears every decision with its place in the source, also those that the store reported before.
  std::function<void(const policy::Record&, SourceRange)> on_decision;
  /// Hears what became of loops marked `unroll` in words; not a decision of the policy, since the source asks for it.
  std::function<void(SourceRange, const std::string&)> on_unroll;

  /// Called after each pass: --dump-after.
  std::function<void(std::string_view pass, const ir::Program&)> after_pass;
  /// Returns the program as it is after the first pass of this name; empty: runs to the end.
  std::string stop_after;
  /// Called after each pass with the time it took, verification apart as "verify".
  std::function<void(std::string_view pass, std::chrono::nanoseconds)> time_sink;
};

/// Every name that after_pass, stop_after and time_sink use, in the order of first use.
const std::vector<std::string_view>& pass_names();

/// The part that knows no target. Requires a well-formed program. Fails only by a fault of a pass (internal-error, naming it).
Result<ir::Program, std::vector<Diagnostic>> optimise(ir::Program program, const PipelineOptions& options);

/// The part for one target, after optimise: decisions of the policy, missing capabilities as diagnostics, then legalisation. The program
/// that comes back holds only what `capabilities` promises and gives the interpreter's bits.
Result<ir::Program, std::vector<Diagnostic>> lower_for_target(ir::Program program, const ir::Capabilities& capabilities,
                                                              const PipelineOptions& options);

/// Both parts.
Result<ir::Program, std::vector<Diagnostic>> run_pipeline(ir::Program program, const ir::Capabilities& capabilities,
                                                          const PipelineOptions& options);

}  // namespace sarek::passes
