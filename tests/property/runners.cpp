// See runners.h.
#include "tests/property/runners.h"

#include "compiler/passes/pipeline.h"
#include "compiler/spec/verify.h"

namespace sarek::testgen {
namespace {

Result<Outputs> interpret(const Case& c, const ir::Program& program, interp::Checks checks, std::uint64_t step_limit) {
  const auto made = interp::Interpreter::create(program, checks);
  if (!made) return err(made.error().message);
  Memory memory(c);
  interp::Options options;
  options.step_limit = step_limit;
  const auto ran = made.value().run(memory.launch(), options);
  if (!ran) return err(std::string(interp::error_kind_name(ran.error().kind)) + ": " + ran.error().message);
  return memory.outputs();
}

}  // namespace

Runner interpreter(interp::Checks checks, std::uint64_t step_limit) {
  return [=](const Case& c) { return interpret(c, c.program, checks, step_limit); };
}

Runner after_pipeline(const ir::Capabilities& capabilities, int opt_level) {
  return [=](const Case& c) -> Result<Outputs> {
    passes::PipelineOptions options;
    options.opt_level = opt_level;
    const auto lowered = passes::run_pipeline(c.program, capabilities, options);
    if (!lowered)
      return err("the pipeline refuses: " + (lowered.error().empty() ? std::string("without a word") : lowered.error().front().message));
    return interpret(c, *lowered, {}, 500'000'000);
  };
}

std::optional<std::string> invalid(const Case& c) {
  const std::vector<spec::ProgramFailure> failures = spec::verify_program(c.program);
  if (!failures.empty()) return spec::describe(c.program, failures);
  const Result<Outputs> r = interpreter({.division = false, .memory = true, .lanes = false})(c);
  if (!r) return r.error().message;
  return std::nullopt;
}

}  // namespace sarek::testgen
