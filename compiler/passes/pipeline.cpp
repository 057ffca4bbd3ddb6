#include "compiler/passes/pipeline.h"

#include <utility>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/spec/verify.h"

namespace sarek::passes {

using ir::Program;

namespace {

/// Runs passes on a program and stops at the first fault, or at the pass the caller asked for.
class Run {
 public:
  Run(Program program, const PipelineOptions& options) : options_(options), program_(std::move(program)) {
    verify("the program as it came in");
  }

  bool goes_on() const { return failures_.empty() && !stopped_; }
  const Program& program() const { return program_; }

  template <class Pass>
  void operator()(std::string_view name, Pass pass) {
    if (!goes_on()) return;
    const Clock::time_point start = Clock::now();
    program_ = pass(std::move(program_));
    if (options_.time_sink) options_.time_sink(name, Clock::now() - start);
    verify(name);
    if (options_.after_pass) options_.after_pass(name, program_);
    stopped_ = options_.stop_after == name;
  }

  void refuse(std::vector<Diagnostic> diagnostics) {
    if (goes_on()) failures_ = std::move(diagnostics);
  }

  Result<Program, std::vector<Diagnostic>> finish() && {
    if (!failures_.empty()) return Err(std::move(failures_));
    return std::move(program_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void verify(std::string_view after) {
    if (!options_.verify) return;
    const Clock::time_point start = Clock::now();
    const std::vector<spec::ProgramFailure> faults = spec::verify_program(program_, 5);
    if (options_.time_sink) options_.time_sink("verify", Clock::now() - start);
    if (faults.empty()) return;
    failures_.push_back(
        {DiagnosticKind::InternalError,
         Severity::Error,
         program_.range,
         "kernel `" + program_.name + "` is malformed after " + std::string(after) + ": " + spec::describe(program_, faults),
         {},
         {}});
  }

  const PipelineOptions& options_;
  Program program_;
  std::vector<Diagnostic> failures_;
  bool stopped_ = false;
};

/// The policy's decisions for one kernel and target, each reported.
class Decisions {
 public:
  Decisions(const Program& program, const ir::Capabilities& capabilities, const PipelineOptions& options)
      : options_(options), kernel_(program.name), target_("gen:" + capabilities.generator) {
    if (options.store) effective_ = options.store->effective(kernel_);
  }

  bool asks() const { return options_.store != nullptr; }
  bool may_unroll(SourceRange loop) {
    return report(policy::Optimisation::AutoUnroll, options_.store->decide(effective_, policy::Optimisation::AutoUnroll, target_), loop);
  }
  bool may_round_once(const NarrowingCandidate& candidate) {
    policy::Decision decision = options_.store->decide_narrowing(effective_, candidate.proof);
    // The grant speaks of f32 to f16; it does not cover other pairs, held or not.
    if (!candidate.proof && !candidate.grantable && !effective_.disabled.contains(policy::Optimisation::NarrowingProof))
      decision = policy::Refused{"no proof, and no grant covers " + candidate.what};
    return report(policy::Optimisation::NarrowingProof, std::move(decision), candidate.range);
  }

 private:
  bool report(policy::Optimisation optimisation, policy::Decision decision, SourceRange place) {
    const bool applied = policy::is_applied(decision);
    if (!options_.store->reporting() && !options_.on_decision) return applied;
    const policy::Record record{kernel_, target_, optimisation, std::move(decision)};
    options_.store->report(record);
    if (options_.on_decision) options_.on_decision(record, place);
    return applied;
  }

  const PipelineOptions& options_;
  std::string kernel_;
  std::string target_;
  policy::Effective effective_;
};

void optimise(Run& run, const PipelineOptions& options) {
  // Before anything moves or drops a division: a check belongs to the division as it was written.
  if (options.checked) run("insert_checks", insert_checks);
  if (options.opt_level <= 0) return;

  // Records first fall apart into cells, then cells into values: the more values, the more every later pass sees.
  run("split_variables", split_variables);
  run("forward_stores", forward_stores);
  run("fold", [](Program p) { return fold(std::move(p)); });

  if (options.opt_level >= 2) {
    // After folding, which makes counts literal. The copies index with literals, so arrays split and fold once more.
    UnrollOptions unrolling;
    if (options.on_unroll)
      unrolling.report = [&](const UnrollEvent& e) { options.on_unroll(e.range, (e.applied ? "unrolled: " : "not unrolled: ") + e.what); };
    run("unroll", [&](Program p) { return unroll(std::move(p), unrolling); });
    run("split_variables", split_variables);
    run("forward_stores", forward_stores);
    // Before branches become selects, which no longer say what holds inside them.
    run("prove_conditions", prove_conditions);
    run("fold", [](Program p) { return fold(std::move(p)); });
    // Selects replace the cells that branches write; forwarding then sees through them.
    run("convert_branches", convert_branches);
    run("forward_stores", forward_stores);
    run("fold", [](Program p) { return fold(std::move(p)); });
  }
  run("merge_common", merge_common);
  if (options.opt_level >= 2) {
    run("reduce_strength", reduce_strength);
    // After merging: one copy of an invariant is hoisted, not each of them.
    run("hoist_invariants", hoist_invariants);
  }
  run("remove_dead", [&](Program p) { return remove_dead(std::move(p), {options.checked}); });
}

void lower(Run& run, const ir::Capabilities& capabilities, const PipelineOptions& options) {
  Decisions decisions(run.program(), capabilities, options);
  if (options.opt_level >= 2 && decisions.asks()) {
    UnrollOptions unrolling;
    bool unrolled = false;
    unrolling.allow_automatic = [&](SourceRange loop) { return decisions.may_unroll(loop) && (unrolled = true); };
    if (options.opt_level >= 3) {
      unrolling.automatic_turns *= 2;
      unrolling.automatic_operations *= 3;
    }
    run("unroll", [&](Program p) { return unroll(std::move(p), unrolling); });
    if (unrolled) {
      run("split_variables", split_variables);
      run("forward_stores", forward_stores);
      run("fold", [](Program p) { return fold(std::move(p)); });
      run("merge_common", merge_common);
      run("remove_dead", [&](Program p) { return remove_dead(std::move(p), {options.checked}); });
    }
  }
  // While the source's conversions still stand as written: legalisation takes 16-bit floats apart.
  if (options.opt_level >= 1 && decisions.asks())
    run("round_once", [&](Program p) {
      return round_once(std::move(p), capabilities, [&](const NarrowingCandidate& c) { return decisions.may_round_once(c); });
    });

  if (!capabilities.warp_operations) {
    if (run.goes_on()) run.refuse(unemulatable_warps(run.program(), capabilities));
    run("emulate_warps", emulate_warps);
  }
  // Before legalisation, whose passes hoist and merge what this writes. A checked kernel keeps one body: its proofs and faults are told
  // once.
  if (capabilities.counted_strides && options.opt_level >= 2 && !options.checked) run("count_strides", count_strides);
  // Refuse before anything is written out or printed.
  if (run.goes_on()) run.refuse(missing_capabilities(run.program(), capabilities));
  run("legalise", [&](Program p) { return legalise(std::move(p), capabilities); });
  if (options.opt_level >= 1) {
    // Formulas share subexpressions and have literal operands. Conversions stay as legalisation wrote them.
    run("fold", [](Program p) { return fold(std::move(p), {.merge_casts = false}); });
    run("merge_common", merge_common);
    if (options.opt_level >= 2) run("hoist_invariants", hoist_invariants);
  }
  run("remove_dead", [&](Program p) { return remove_dead(std::move(p), {options.checked}); });
  run("compact", compact);
}

}  // namespace

const std::vector<std::string_view>& pass_names() {
  static const std::vector<std::string_view> names = {"insert_checks",   "split_variables",  "forward_stores",   "fold",
                                                      "unroll",          "prove_conditions", "convert_branches", "merge_common",
                                                      "reduce_strength", "hoist_invariants", "remove_dead",      "round_once",
                                                      "emulate_warps",   "count_strides",    "legalise",         "compact"};
  return names;
}

Result<Program, std::vector<Diagnostic>> optimise(Program program, const PipelineOptions& options) {
  Run run(std::move(program), options);
  optimise(run, options);
  return std::move(run).finish();
}

Result<Program, std::vector<Diagnostic>> lower_for_target(Program program, const ir::Capabilities& capabilities,
                                                          const PipelineOptions& options) {
  Run run(std::move(program), options);
  lower(run, capabilities, options);
  return std::move(run).finish();
}

Result<Program, std::vector<Diagnostic>> run_pipeline(Program program, const ir::Capabilities& capabilities,
                                                      const PipelineOptions& options) {
  Run run(std::move(program), options);
  optimise(run, options);
  if (run.goes_on()) lower(run, capabilities, options);
  return std::move(run).finish();
}

}  // namespace sarek::passes
