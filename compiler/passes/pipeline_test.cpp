#include "compiler/passes/pipeline.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

#include "compiler/passes/test_machine.h"

using namespace sarek;
using namespace sarek::passes;
using namespace sarek::passes::test;

namespace {

/// Runs a random program before the pipeline and after every pass of it.
void check_random(std::uint64_t seed, int opt_level, const ir::Capabilities& target, policy::Store* store) {
  Generator generator(seed);
  const Program source = generator.program();
  REQUIRE(faults(source) == "");
  std::vector<Input> inputs;
  std::vector<Outcome> expected;
  for (int i = 0; i < 2; ++i) {
    inputs.push_back(generator.input());
    expected.push_back(run(source, inputs.back()));
  }
  std::string broken;
  PipelineOptions options;
  options.opt_level = opt_level;
  options.store = store;
  options.after_pass = [&](std::string_view pass, const Program& p) {
    for (std::size_t i = 0; i < inputs.size() && broken.empty(); ++i)
      if (!same_outcome(source, expected[i], run(p, inputs[i]))) broken = std::string(pass);
  };
  const auto result = run_pipeline(source, target, options);
  INFO("seed " << seed << ", -O" << opt_level << ", target " << target.generator);
  if (!result) FAIL(result.error().front().message);
  REQUIRE(broken == "");
}

}  // namespace

TEST_CASE("every pass keeps the results of random programs, at every level and for unlike targets") {
  policy::Store store;
  ir::Capabilities usual;
  usual.generator = "usual";
  ir::Capabilities halves = usual;
  halves.f16_arithmetic = halves.bf16_arithmetic = halves.f16_conversion = halves.bf16_conversion = halves.saturating_casts = true;
  halves.generator = "halves";
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const ir::Capabilities targets[] = {usual, halves, least_capable()};
    check_random(seed, static_cast<int>(seed % 4), targets[seed / 4 % 3], &store);
  }
}
