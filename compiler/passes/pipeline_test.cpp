#include "compiler/passes/pipeline.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

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
  const char* wanted = std::getenv("SAREK_SEEDS");
  const std::uint64_t seeds = wanted ? std::strtoull(wanted, nullptr, 10) : 300;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const ir::Capabilities targets[] = {usual, halves, least_capable()};
    check_random(seed, static_cast<int>(seed % 4), targets[seed / 4 % 3], &store);
  }
}

TEST_CASE("a pass that breaks a program is named in an internal error") {
  ProgramBuilder b("k");
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::Out);
  const NodeId opened = b.begin_if(b.bool_constant(true));
  const NodeId inside = b.op(Op::Add, {b.i32(1), b.i32(2)});
  b.end_if(opened);
  b.store(out, b.i32(0), inside);  // out of its scope
  const auto result = run_pipeline(b.finish(), least_capable(), {});
  REQUIRE_FALSE(result);
  CHECK(result.error().front().kind == DiagnosticKind::InternalError);
  CHECK(result.error().front().message.find("as it came in") != std::string::npos);
}

TEST_CASE("the pipeline stops after the pass that is asked for, and names every pass it runs") {
  policy::Store store;
  std::vector<std::string> seen;
  PipelineOptions options;
  options.store = &store;
  options.checked = true;
  options.opt_level = 3;
  options.after_pass = [&](std::string_view pass, const Program&) { seen.emplace_back(pass); };
  ir::Capabilities target = least_capable();
  target.warp_operations = false;  // every pass of the list has something to answer for
  REQUIRE(run_pipeline(Generator(5).program(), target, options));
  options.checked = false;  // nor do checked kernels see all
  target.counted_strides = true;
  REQUIRE(run_pipeline(Generator(5).program(), target, options));
  options.checked = true;
  for (const std::string& name : seen) CHECK(std::find(pass_names().begin(), pass_names().end(), name) != pass_names().end());
  for (const std::string_view name : pass_names()) CHECK(std::find(seen.begin(), seen.end(), name) != seen.end());
  seen.clear();
  options.stop_after = "fold";
  REQUIRE(run_pipeline(Generator(5).program(), least_capable(), options));
  CHECK(seen.back() == "fold");
  CHECK(seen.size() == 4);
}

TEST_CASE("automatic unrolling is decided by the policy and reported with its target") {
  ProgramBuilder b("k");
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::InOut);
  const NodeId range = b.begin_range(b.i32(4));
  b.store(out, range, range);
  b.end_range(range);
  const Program p = b.finish();
  ir::Capabilities target;
  target.generator = "llvm";
  for (const bool restricted : {false, true}) {
    policy::Store store;
    if (restricted) store.restrict(policy::Optimisation::AutoUnroll);
    std::vector<policy::Record> records;
    PipelineOptions options;
    options.store = &store;
    options.on_decision = [&](const policy::Record& r, SourceRange) { records.push_back(r); };
    const auto result = run_pipeline(p, target, options);
    REQUIRE(result);
    REQUIRE(records.size() == 1);
    CHECK(records[0].target == "gen:llvm");
    CHECK(records[0].kernel == "k");
    CHECK(policy::is_applied(records[0].decision) == !restricted);
    CHECK(count(*result, Op::Range) == (restricted ? 1 : 0));
  }
}

TEST_CASE("the same program gives the same text every time") {
  policy::Store store;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    PipelineOptions options;
    options.store = &store;
    const Program p = Generator(seed).program();
    const auto first = run_pipeline(p, least_capable(), options);
    const auto second = run_pipeline(Generator(seed).program(), least_capable(), options);
    CHECK(ir::print(*first) == ir::print(*second));
  }
}

TEST_CASE("accumulations keep their order and every rounding (T10, T11)") {
  policy::Store store;
  for (int level = 0; level <= 3; ++level) {
    PipelineOptions options;
    options.opt_level = level;
    options.store = &store;
    {
      // 64 times acc = acc + v * v in f16, v = f16(0.1): in an f32 accumulator it would be 0x391e.
      ProgramBuilder b("t10");
      const NodeId v = b.scalar_param("v", Type::F16);
      const NodeId out = b.buffer_param("out", Type::F16, ir::Access::Out);
      const NodeId acc = b.reg("acc", Type::F16);
      const NodeId range = b.op(Op::Range, {b.i32(64)}, ir::RangeArg{{0, 0}, ir::AxisType::Unroll});
      b.set(acc, b.op(Op::Add, {b.get(acc), b.op(Op::Mul, {v, v})}));
      b.end_range(range);
      b.store(out, b.i32(0), b.get(acc));
      const auto p = run_pipeline(b.finish(), least_capable(), options);
      REQUIRE(p);
      Input in;
      in.scalars[0] = 0x2e66;
      in.buffers[1] = {0};
      CHECK(run(*p, in).buffers.at(1)[0] == 0x3918);
    }
    {
      // {1e8, 1, -1e8, 1} summed in order: as a tree of stride 2 it would be 2.
      ProgramBuilder b("t11");
      const NodeId x = b.buffer_param("x", Type::F32, ir::Access::In);
      const NodeId out = b.buffer_param("out", Type::F32, ir::Access::Out);
      const NodeId acc = b.reg("acc", Type::F32);
      const NodeId range = b.begin_range(b.length(b.slot_of(x)));
      b.set(acc, b.op(Op::Add, {b.get(acc), b.load(x, range)}));
      b.end_range(range);
      b.store(out, b.i32(0), b.get(acc));
      const auto p = run_pipeline(b.finish(), least_capable(), options);
      REQUIRE(p);
      Input in;
      in.buffers[0] = {0x4cbebc20, 0x3f800000, 0xccbebc20, 0x3f800000};
      in.buffers[1] = {0};
      CHECK(run(*p, in).buffers.at(1)[0] == 0x3f800000);
    }
  }
}

TEST_CASE("integers at their limits, and literals, have one answer at every level (T22, T27)") {
  struct Case {
    Op op;
    std::int64_t x, y, right;
  };
  const Case cases[] = {{Op::Cdiv, 5, 0, 5},          {Op::Cmod, 5, 0, 0}, {Op::Cdiv, INT32_MIN, -1, INT32_MIN},
                        {Op::Cmod, INT32_MIN, -1, 0}, {Op::Shl, 1, 32, 1}, {Op::Add, INT32_MAX, 1, INT32_MIN}};
  const std::uint32_t literals[] = {0x3dcccccd, 0x7f7fffff, 0x00000001, 0x80000000, 0x7f800000};
  for (int level = 0; level <= 3; ++level) {
    PipelineOptions options;
    options.opt_level = level;
    for (const Case& c : cases)
      for (const bool folded : {false, true}) {
        const auto p = run_pipeline(formula_kernel({Type::I32, Type::I32},
                                                   [&](ProgramBuilder& b, const std::vector<NodeId>& v) {
                                                     return folded ? b.op(c.op, {b.i32(c.x), b.i32(c.y)}) : b.op(c.op, {v[0], v[1]});
                                                   }),
                                    least_capable(), options);
        REQUIRE(p);
        CHECK(run_straight(*p, {static_cast<std::uint32_t>(c.x), static_cast<std::uint32_t>(c.y)})[0] ==
              static_cast<std::uint32_t>(c.right));
      }
    for (const std::uint32_t bits : literals) {
      const auto p = run_pipeline(
          formula_kernel({Type::I32}, [&](ProgramBuilder& b,
                                          const std::vector<NodeId>&) { return b.constant(Type::F32, *ir::value_of(bits, Type::F32)); }),
          least_capable(), options);
      REQUIRE(p);
      CHECK(run_straight(*p, {0})[0] == bits);
    }
  }
}

TEST_CASE("the page lists every pass, and stays short") {
  std::ifstream file(SAREK_SOURCE_DIR "/compiler/passes/README.md");
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  for (const std::string_view name : pass_names())
    if (name != "compact") CHECK(page.find("| " + std::string(name) + " |") != std::string::npos);
  CHECK(std::count(page.begin(), page.end(), '\n') <= 60);
}
