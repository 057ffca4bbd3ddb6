// round_once, with the policy's answers, and missing_capabilities.
#include <catch2/catch_test_macros.hpp>

#include "compiler/passes/passes.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/test_machine.h"

using namespace sarek;
using namespace sarek::passes;
using namespace sarek::passes::test;

namespace {

/// A target that computes in f16 and narrows f64 to f16 in one instruction.
ir::Capabilities half_target() {
  ir::Capabilities c;
  c.framework = "Half";
  c.generator = "half";
  c.f16_arithmetic = c.f16_conversion = c.narrow_f64_once = true;
  return c;
}

struct Lowered {
  Program program;
  std::vector<policy::Record> records;
};

Lowered lower(const Program& p, policy::Store& store, const ir::Capabilities& target = half_target()) {
  Lowered result;
  PipelineOptions options;
  options.store = &store;
  options.on_decision = [&](const policy::Record& r, SourceRange) { result.records.push_back(r); };
  auto lowered = run_pipeline(p, target, options);
  REQUIRE(lowered);
  result.program = std::move(lowered).value();
  return result;
}

const policy::Evidence& evidence(const Lowered& l) {
  REQUIRE(l.records.size() == 1);
  CHECK(l.records[0].optimisation == policy::Optimisation::NarrowingProof);
  CHECK(l.records[0].target == "gen:half");
  REQUIRE(policy::is_applied(l.records[0].decision));
  return std::get<policy::Applied>(l.records[0].decision).evidence;
}

Program double_narrowing(bool integers) {
  return formula_kernel({Type::F64, Type::I16}, [=](ProgramBuilder& b, const std::vector<NodeId>& p) {
    const NodeId i = b.cast(p[1], Type::F64);
    const NodeId x = integers ? b.op(Op::Max, {b.op(Op::Mul, {i, b.float_constant(Type::F64, 3)}), i}) : p[0];
    return b.cast(b.cast(x, Type::F32), Type::F16);
  });
}
Program half_formula(Op op) {
  return formula_kernel({Type::F16, Type::F16, Type::F16}, [=](ProgramBuilder& b, const std::vector<NodeId>& p) {
    std::vector<NodeId> s;
    for (std::size_t i = 0; i < (op == Op::Mulacc ? 3u : op == Op::Sqrt ? 1u : 2u); ++i) s.push_back(b.cast(p[i], Type::F32));
    return b.cast(b.op(op, s), Type::F16);
  });
}

bool same_everywhere(const Program& a, const Program& b, const std::vector<Type>& types) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 40000; ++i) {
    std::vector<std::uint64_t> input;
    for (const Type t : types) {
      const std::vector<std::uint64_t> edges = edge_values(t);
      input.push_back(random() % 3 ? random_value(t, random) : edges[random() % edges.size()]);
    }
    if (!same_value(Type::F16, run_straight(a, input)[0], run_straight(b, input)[0])) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a narrowing whose first step is exact rounds once on proof") {
  policy::Store store;
  const Program source = double_narrowing(true);
  const Lowered l = lower(source, store);
  REQUIRE(std::holds_alternative<policy::Proof>(evidence(l)));
  CHECK(std::get<policy::Proof>(evidence(l)).text.find("which f32 holds exactly") != std::string::npos);
  int casts_to_f32 = 0;
  for (const NodeId id : l.program.body)
    casts_to_f32 += l.program.graph.op(id) == Op::Cast && l.program.graph.type(id) == Type::F32 && !ir::literal(l.program.graph, id);
  CHECK(casts_to_f32 == 0);
  CHECK(same_everywhere(source, l.program, {Type::F64, Type::I16}));
}

TEST_CASE("without a proof f64 -> f32 -> f16 rounds once on the grant only") {
  const Program source = double_narrowing(false);
  // 1 + 2^-11 + 2^-40: the f32 step drops the last term and leaves a tie, which goes to even; once rounded it is above the tie.
  const std::uint64_t near_tie = 0x3ff0020000000000ull | 1ull << 12;
  policy::Store strict;
  const Lowered refused = lower(source, strict);
  REQUIRE(refused.records.size() == 1);
  REQUIRE(std::holds_alternative<policy::Refused>(refused.records[0].decision));
  CHECK(std::get<policy::Refused>(refused.records[0].decision).why.find("single-rounding") != std::string::npos);
  CHECK(run_straight(refused.program, {near_tie, 0})[0] == 0x3c00);

  policy::Store granted;
  REQUIRE_FALSE(granted.grant(policy::Scope::kernel("formula"), policy::Deviation::single_rounding(), "half an ulp is fine here"));
  const Lowered applied = lower(source, granted);
  REQUIRE(std::holds_alternative<policy::Granted>(evidence(applied)));
  CHECK(std::get<policy::Granted>(evidence(applied)).reason == "half an ulp is fine here");
  CHECK(run_straight(applied.program, {near_tie, 0})[0] == 0x3c01);
  // A target without the instruction rounds once, too, by way of an f32 rounded to odd.
  ir::Capabilities plain;
  plain.generator = "half";
  CHECK(run_straight(lower(source, granted, plain).program, {near_tie, 0})[0] == 0x3c01);

  // The environment takes the optimisation away, grant or not.
  granted.restrict(policy::Optimisation::NarrowingProof);
  const Lowered off = lower(source, granted);
  CHECK(std::holds_alternative<policy::Refused>(off.records.at(0).decision));
}

TEST_CASE("f16 arithmetic written in f32 is done in f16 on proof, fma on the grant only") {
  policy::Store store;
  for (const Op op : {Op::Add, Op::Sub, Op::Mul}) {
    const Program source = half_formula(op);
    const Lowered l = lower(source, store);
    CHECK(std::holds_alternative<policy::Proof>(evidence(l)));
    for (const NodeId id : l.program.body)
      if (l.program.graph.op(id) == op) CHECK(l.program.graph.type(id) == Type::F16);
    CHECK(same_everywhere(source, l.program, {Type::F16, Type::F16, Type::F16}));
  }
  const Lowered fma = lower(half_formula(Op::Mulacc), store);
  REQUIRE(fma.records.size() == 1);
  CHECK(std::holds_alternative<policy::Refused>(fma.records[0].decision));
  CHECK(same_everywhere(half_formula(Op::Mulacc), fma.program, {Type::F16, Type::F16, Type::F16}));
  REQUIRE_FALSE(store.grant(policy::Scope::process(), policy::Deviation::single_rounding(), "wanted"));
  CHECK(std::holds_alternative<policy::Granted>(evidence(lower(half_formula(Op::Mulacc), store))));
}

TEST_CASE("f64 arithmetic on f32 values, narrowed, is done in f32 on every target") {
  policy::Store store;
  for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Fdiv}) {
    const Program source = formula_kernel({Type::F32, Type::F32}, [&](ProgramBuilder& b, const std::vector<NodeId>& p) {
      return b.cast(b.op(op, {b.cast(p[0], Type::F64), b.cast(p[1], Type::F64)}), Type::F32);
    });
    ir::Capabilities plain;
    plain.generator = "half";
    const Lowered l = lower(source, store, plain);
    CHECK(std::holds_alternative<policy::Proof>(evidence(l)));
    CHECK(count(l.program, Op::Cast) <= 1);  // the literal index
    for (const std::uint64_t x : edge_values(Type::F32))
      for (const std::uint64_t y : edge_values(Type::F32))
        REQUIRE(same_value(Type::F32, run_straight(source, {x, y})[0], run_straight(l.program, {x, y})[0]));
  }
}

TEST_CASE("atomics on f32 and on f64 are two capabilities, other floats have none") {
  const auto found = [](Type type, bool f32, bool f64) {
    ProgramBuilder b("k");
    const NodeId out = b.buffer_param("out", type, ir::Access::InOut);
    b.ins(ir::Ins::AtomicMin, type, {b.index(out, b.i32(0)), b.float_constant(type, 1)});
    ir::Capabilities c;
    c.framework = "Machine";
    c.f16_arithmetic = c.bf16_arithmetic = true;
    c.float_atomics = f32;
    c.double_atomics = f64;
    const std::vector<Diagnostic> all = missing_capabilities(b.finish(), c);
    return all.empty() ? std::string() : all.front().message;
  };
  CHECK(found(Type::F32, true, false).empty());
  CHECK(found(Type::F64, false, true).empty());
  CHECK(found(Type::F32, false, true) == "kernel `k` uses atomic_min on f32, but Machine has no such atomic operation");
  CHECK(found(Type::F64, true, false) == "kernel `k` uses atomic_min on f64, but Machine has no such atomic operation");
  CHECK(found(Type::F16, true, true) == "kernel `k` uses atomic_min on f16, but Machine has no such atomic operation");
}

TEST_CASE("what the target lacks is named once, at its first use, before anything is printed") {
  ProgramBuilder b("k", {512, 4, 1});
  const NodeId x = b.scalar_param("x", Type::F64);
  const NodeId out = b.buffer_param("out", Type::F32, ir::Access::InOut);
  const SourceRange place{FileId(0), 3, 4};
  b.at(place);
  b.ins(ir::Ins::AtomicAdd, Type::F32, {b.index(out, b.i32(0)), b.cast(x, Type::F32)});
  b.ins(ir::Ins::AtomicAdd, Type::F32, {b.index(out, b.i32(1)), b.op(Op::Sin, {b.cast(x, Type::F32)})});
  const Program p = b.finish();
  ir::Capabilities c;
  c.framework = "OpenCL";
  c.f64 = false;
  const std::vector<Diagnostic> found = missing_capabilities(p, c);
  std::vector<std::string> messages;
  for (const Diagnostic& d : found) {
    CHECK(d.kind == DiagnosticKind::MissingCapability);
    messages.push_back(d.message);
  }
  CHECK(messages == std::vector<std::string>{"kernel `k` has blocks of 2048 threads, but OpenCL allows 1024",
                                             "kernel `k` uses f64, but OpenCL has no 64-bit floats",
                                             "kernel `k` uses atomic_add on f32, but OpenCL has no such atomic operation",
                                             "kernel `k` computes SIN, but there is no correctly defined SIN yet"});
  CHECK(found[2].range == place);
  PipelineOptions options;
  const auto result = run_pipeline(p, c, options);
  REQUIRE_FALSE(result);
  CHECK(result.error().size() == 4);
}
