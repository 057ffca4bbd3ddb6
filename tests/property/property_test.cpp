// Random programs: the generator keeps its promises, the pipeline keeps the interpreter's bits, the shrinker finds small cases.
#include <catch2/catch_test_macros.hpp>

#include <map>

#include "compiler/ir/builder.h"
#include "compiler/ir/printer.h"
#include "tests/property/generator.h"
#include "tests/property/runners.h"
#include "tests/property/shrink.h"

using namespace sarek;
using namespace sarek::testgen;

namespace {

/// A target that promises nothing beyond what every target must: everything is written out.
ir::Capabilities bare_target() {
  ir::Capabilities c;
  c.framework = "Test";
  c.generator = "test";
  c.fma_f32 = c.fma_f64 = false;
  c.rounding_functions = c.bit_counting = c.multiply_high = false;
  return c;
}

void check(std::uint64_t first, std::uint64_t count, const Features& features, const Runner& runner) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Case c = generate(seed, features);
    const std::optional<std::string> d = disagreement(c, interpreter(), runner);
    if (!d) continue;
    const auto fails = [&](const Case& smaller) { return !invalid(smaller) && disagreement(smaller, interpreter(), runner); };
    const Case small = fails(c) ? shrink(c, fails, 600) : c;
    FAIL_CHECK("seed " << seed << ": " << *d << "\n" << describe(small));
    return;
  }
}

}  // namespace

TEST_CASE("generated programs are whole, free of races and deterministic, and hold every kind of statement") {
  std::map<ir::Op, int> ops;
  std::map<ir::Ins, int> instructions;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Case c = generate(seed);
    const std::optional<std::string> why_not = invalid(c);
    if (why_not) FAIL("seed " << seed << ": " << *why_not << "\n" << describe(c));
    REQUIRE(describe(generate(seed)) == describe(c));
    for (const ir::NodeId id : c.program.body) {
      ++ops[c.program.graph.op(id)];
      if (const auto* a = c.program.graph.arg_as<ir::InsArg>(id)) ++instructions[a->code];
    }
  }
  for (const ir::Op op :
       {ir::Op::Barrier, ir::Op::If, ir::Op::Range, ir::Op::Backedge, ir::Op::Bitcast, ir::Op::Fdiv, ir::Op::Threefry, ir::Op::Mulacc}) {
    INFO(ir::op_info(op).name);
    CHECK(ops[op] > 10);
  }
  for (const ir::Ins i : {ir::Ins::Shuffle, ir::Ins::Ballot, ir::Ins::ReduceAdd, ir::Ins::AtomicXor, ir::Ins::MulHigh, ir::Ins::Copysign}) {
    INFO(ir::ins_info(i).name);
    CHECK(instructions[i] > 10);
  }
}

TEST_CASE("features leave out what they name") {
  Features few;
  few.types = {ir::Type::Bool, ir::Type::I32, ir::Type::F32};
  few.barriers = few.warps = few.atomics = false;
  few.max_block = 8;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Case c = generate(seed, few);
    CHECK(c.program.block_threads() <= 8);
    for (const ir::NodeId id : c.program.body) {
      const ir::Type t = c.program.graph.type(id);
      const auto* a = c.program.graph.arg_as<ir::InsArg>(id);
      if (t == ir::Type::F64 || t == ir::Type::U8 || t == ir::Type::I64) FAIL("seed " << seed << " has " << ir::type_name(t));
      if (c.program.graph.op(id) == ir::Op::Barrier || (a && ir::ins_info(a->code).kind != ir::InsKind::Pure))
        FAIL("seed " << seed << " has an effect left out");
    }
  }
}

TEST_CASE("the pipeline keeps the interpreter's bits: a target with everything") {
  ir::Capabilities rich;
  rich.framework = "Test";
  rich.generator = "test";
  rich.f16_arithmetic = rich.bf16_arithmetic = rich.f16_conversion = rich.bf16_conversion = rich.narrow_f64_once = true;
  rich.total_integer_division = rich.masked_shifts = rich.saturating_casts = rich.ordered_min_max = rich.canonical_nan_bits =
      rich.float_atomics = true;
  check(10'000, 700, {}, after_pipeline(rich, 2));
  check(20'000, 300, {}, after_pipeline(rich, 3));
}

TEST_CASE("the pipeline keeps the interpreter's bits: a target that promises little") {
  Features features;
  features.half_reductions = false;
  check(30'000, 700, features, after_pipeline(bare_target(), 2));
  check(40'000, 300, features, after_pipeline(bare_target(), 0));
}

TEST_CASE("a planted fault is found and shrunk to a few nodes") {
  // A runner that takes remainders of u8 for quotients.
  const Runner faulty = [](const Case& c) -> Result<Outputs> {
    Case wrong = c;
    ir::Program p = c.program;
    ir::ProgramBuilder b = ir::rebuild(p);
    std::map<ir::NodeId, ir::NodeId> map;
    for (const ir::NodeId id : p.body) {
      std::vector<ir::NodeId> sources;
      for (const ir::NodeId s : p.graph.sources(id)) sources.push_back(map.at(s));
      const ir::Op op = p.graph.op(id);
      const bool leaf = op == ir::Op::Param || op == ir::Op::Buffer || op == ir::Op::Special || op == ir::Op::Const ||
                        op == ir::Op::Group || ir::literal(p.graph, id);
      if (op == ir::Op::Cmod && p.graph.type(id) == ir::Type::U8) map[id] = b.op(ir::Op::Floordiv, sources);
      else map[id] = leaf ? b.leaf(op, sources, p.graph.arg(id)) : b.op(op, sources, p.graph.arg(id));
    }
    wrong.program = b.finish();
    return interpreter()(wrong);
  };
  int found = 0;
  for (std::uint64_t seed = 0; seed < 300 && found < 3; ++seed) {
    const Case c = generate(seed);
    const auto fails = [&](const Case& smaller) { return !invalid(smaller) && disagreement(smaller, interpreter(), faulty); };
    if (!fails(c)) continue;
    ++found;
    const Case small = shrink(c, fails);
    std::size_t statements = 0;
    for (const ir::NodeId id : small.program.body) statements += small.program.graph.op(id) == ir::Op::Store;
    INFO(describe(small));
    CHECK(fails(small));
    CHECK(statements <= 3);
    CHECK(small.program.body.size() < 60);
  }
  CHECK(found == 3);
}
