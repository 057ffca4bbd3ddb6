#include <catch2/catch_test_macros.hpp>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/test_support.h"

using namespace sarek;
using namespace sarek::passes;
using namespace sarek::passes::test;
using ir::Ins;

namespace {

const std::vector<Type> kInts = {Type::I8, Type::U8, Type::I16, Type::U16, Type::I32, Type::U32, Type::I64, Type::U64};
const std::vector<Type> kFloats = {Type::F16, Type::Bf16, Type::F32, Type::F64};

/// Every target that the tests lower to: the least capable one, and ones that have some things themselves.
std::vector<ir::Capabilities> targets() {
  std::vector<ir::Capabilities> all{least_capable(), {}, {}, {}};
  all[1].generator = "usual";
  all[2].f16_arithmetic = all[2].f16_conversion = all[2].bf16_conversion = all[2].saturating_casts = all[2].masked_shifts = true;
  all[2].generator = "halves";
  all[3].f16_arithmetic = all[3].bf16_arithmetic = all[3].f16_conversion = all[3].bf16_conversion = true;
  all[3].narrow_f64_once = all[3].total_integer_division = all[3].ordered_min_max = all[3].canonical_nan_bits = true;
  all[3].generator = "everything";
  return all;
}

/// Runs the formula before and after legalisation, and after the clean-up that follows it, on edge values and random ones.
void check(const std::string& what, const std::vector<Type>& operands,
           const std::function<NodeId(ProgramBuilder&, const std::vector<NodeId>&)>& formula) {
  INFO(what);
  const Program before = formula_kernel(operands, formula);
  REQUIRE(faults(before) == "");
  const NodeId last = before.body.back();
  const Type result = before.graph.type(before.graph.source(last, 1));

  std::vector<std::vector<std::uint64_t>> inputs;
  std::vector<std::vector<std::uint64_t>> edges;
  for (const Type t : operands) {
    edges.push_back(edge_values(t));
    // Three operands: a third of the values, or the grid grows too large for a quick test.
    if (operands.size() == 3) {
      std::vector<std::uint64_t> fewer;
      for (std::size_t i = edges.size() % 3; i < edges.back().size(); i += 4) fewer.push_back(edges.back()[i]);
      edges.back() = fewer;
    }
  }
  inputs.emplace_back();
  for (const std::vector<std::uint64_t>& values : edges) {
    std::vector<std::vector<std::uint64_t>> longer;
    for (const std::vector<std::uint64_t>& input : inputs)
      for (const std::uint64_t v : values) {
        longer.push_back(input);
        longer.back().push_back(v);
      }
    inputs = std::move(longer);
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::uint64_t> input;
    for (const Type t : operands) input.push_back(random_value(t, random));
    inputs.push_back(input);
  }

  for (const ir::Capabilities& target : targets()) {
    INFO("target " << target.generator);
    REQUIRE(missing_capabilities(before, target).empty());
    const Program after = legalise(before, target);
    const Program tidy = compact(remove_dead(merge_common(fold(after, {.merge_casts = false}))));
    REQUIRE(faults(after) == "");
    REQUIRE(faults(tidy) == "");
    for (const std::vector<std::uint64_t>& input : inputs) {
      const std::uint64_t expected = run_straight(before, input).at(0);
      const std::uint64_t actual = run_straight(after, input).at(0);
      const std::uint64_t tidied = run_straight(tidy, input).at(0);
      if (same_value(result, expected, actual) && same_value(result, expected, tidied)) continue;
      std::string values;
      for (const std::uint64_t v : input) values += " " + std::to_string(v);
      FAIL("operands" << values << ": " << expected << " became " << actual << ", tidied " << tidied);
    }
  }
}

void check_binary(Op op, Type t) {
  check(std::string(ir::op_info(op).name) + " " + std::string(ir::type_name(t)), {t, t},
        [&](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.op(op, {p[0], p[1]}); });
}
void check_unary(Op op, Type t) {
  check(std::string(ir::op_info(op).name) + " " + std::string(ir::type_name(t)), {t},
        [&](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.op(op, {p[0]}); });
}
void check_ins(Ins code, Type t) {
  const int operands = ir::ins_info(code).sources;
  check(std::string(ir::ins_info(code).name) + " " + std::string(ir::type_name(t)),
        std::vector<Type>(static_cast<std::size_t>(operands), t), [&](ProgramBuilder& b, const std::vector<NodeId>& p) {
          return operands == 1 ? b.ins(code, t, {p[0]}) : b.ins(code, t, {p[0], p[1]});
        });
}

}  // namespace

TEST_CASE("legalised integer arithmetic means the same") {
  for (const Type t : kInts) {
    for (const Op op : {Op::Cdiv, Op::Cmod, Op::Floordiv, Op::Floormod, Op::Shl, Op::Shr, Op::Add, Op::Mul, Op::Max}) check_binary(op, t);
    for (const Ins code : {Ins::Abs, Ins::Clz, Ins::Ctz, Ins::Popcount, Ins::MulHigh, Ins::Min}) check_ins(code, t);
    check("MULACC", {t, t, t}, [](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.op(Op::Mulacc, {p[0], p[1], p[2]}); });
  }
  check_binary(Op::Threefry, Type::U64);
}

TEST_CASE("division by a literal needs no guard, except by 0 and -1") {
  for (const std::int64_t divisor : {0, 1, -1, 7, -7}) {
    check("by " + std::to_string(divisor), {Type::I32},
          [&](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.op(Op::Cdiv, {p[0], b.i32(divisor)}); });
  }
  const Program p = legalise(
      formula_kernel({Type::I32}, [](ProgramBuilder& b, const std::vector<NodeId>& v) { return b.op(Op::Cdiv, {v[0], b.i32(7)}); }),
      least_capable());
  CHECK(count(p, Op::Where) == 0);
}

TEST_CASE("legalised float arithmetic means the same") {
  for (const Type t : kFloats) {
    for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Fdiv, Op::Max, Op::Cmplt, Op::Cmpne, Op::Cmpeq}) check_binary(op, t);
    for (const Op op : {Op::Neg, Op::Sqrt, Op::Reciprocal, Op::Trunc}) check_unary(op, t);
    for (const Ins code : {Ins::Min, Ins::Abs, Ins::Copysign, Ins::Floor, Ins::Ceil, Ins::Round}) check_ins(code, t);
    check("fma " + std::string(ir::type_name(t)), {t, t, t},
          [](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.op(Op::Mulacc, {p[0], p[1], p[2]}); });
  }
}

TEST_CASE("legalised conversions mean the same") {
  std::vector<Type> all = kInts;
  all.insert(all.end(), kFloats.begin(), kFloats.end());
  all.push_back(Type::Bool);
  for (const Type from : all)
    for (const Type to : all)
      if (from != to)
        check("cast " + std::string(ir::type_name(from)) + " to " + std::string(ir::type_name(to)), {from},
              [&](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.cast(p[0], to); });
}

TEST_CASE("legalised bit casts give canonical NaN bits") {
  const std::vector<std::pair<Type, Type>> pairs = {{Type::F16, Type::U16}, {Type::F16, Type::I16}, {Type::Bf16, Type::U16},
                                                    {Type::F32, Type::U32}, {Type::F32, Type::I32}, {Type::F64, Type::U64},
                                                    {Type::U32, Type::F32}, {Type::I64, Type::F64}};
  for (const auto& [from, to] : pairs)
    check("bit cast " + std::string(ir::type_name(from)) + " to " + std::string(ir::type_name(to)), {from},
          [t = to](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.bitcast(p[0], t); });
}

TEST_CASE("all 65536 values of the 16-bit formats convert exactly, and all of f32's halfway cases") {
  for (const Type t : {Type::F16, Type::Bf16}) {
    const Program widen = formula_kernel({t}, [](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.cast(p[0], Type::F32); });
    const Program narrow = formula_kernel({Type::F32}, [&](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.cast(p[0], t); });
    const Program widen_after = legalise(widen, least_capable());
    const Program narrow_after = legalise(narrow, least_capable());
    int wrong = 0;
    for (std::uint64_t h = 0; h < 0x10000; ++h) {
      const std::uint64_t w = run_straight(widen, {h})[0];
      wrong += !same_value(Type::F32, w, run_straight(widen_after, {h})[0]);
      // The value itself and, from its neighbour upwards, the middle and what lies just beside it.
      const std::uint64_t half = t == Type::F16 ? 0x1000 : 0x8000;
      for (const std::uint64_t f : {w, w + half - 1, w + half, w + half + 1})
        wrong += !same_value(t, run_straight(narrow, {f & 0xffffffff})[0], run_straight(narrow_after, {f & 0xffffffff})[0]);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a legalised program holds only what the target promises") {
  const Program p = legalise(formula_kernel({Type::F16, Type::F16},
                                            [](ProgramBuilder& b, const std::vector<NodeId>& v) {
                                              const NodeId sum = b.op(Op::Add, {v[0], v[1]});
                                              return b.op(Op::Mulacc, {sum, b.op(Op::Sqrt, {sum}), b.ins(Ins::Round, Type::F16, {v[1]})});
                                            }),
                             least_capable());
  for (const NodeId id : p.body) {
    const Op op = p.graph.op(id);
    CHECK(op != Op::Mulacc);
    if (p.graph.type(id) == Type::F16 && !p.graph.sources(id).empty() && op != Op::Index && op != Op::Cast) CHECK(op == Op::Bitcast);
    if (op == Op::Cast && p.graph.type(id) == Type::F16) CHECK(ir::literal(p.graph, id));
  }
}

TEST_CASE("a Bool in memory is a byte") {
  ProgramBuilder b("bools", {4, 1, 1});
  const NodeId in = b.buffer_param("in", Type::Bool, ir::Access::In);
  const NodeId out = b.buffer_param("out", Type::Bool, ir::Access::Out);
  const NodeId shared = b.shared("s", Type::Bool, 4);
  const NodeId i = b.local_id(0);
  b.store(shared, i, b.logical_not(b.load(in, i)));
  b.barrier();
  b.store(out, i, b.load(shared, i, b.bool_constant(true), b.op(Op::Cmplt, {i, b.i32(3)})));
  const Program after = legalise(b.finish(), least_capable());
  CHECK(faults(after) == "");
  for (const NodeId id : after.body) {
    const Op op = after.graph.op(id);
    if (op == Op::Load || op == Op::Param || op == Op::Buffer) CHECK(after.graph.type(id) != Type::Bool);
    if (op == Op::Store) CHECK(after.graph.type(after.graph.source(id, 1)) == Type::U8);
  }
}

TEST_CASE("least and greatest over a warp go through f32, a sum of 16-bit floats is refused") {
  const auto kernel = [](Ins code) {
    return formula_kernel({Type::F16}, [=](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.ins(code, Type::F16, {p[0]}); });
  };
  CHECK(missing_capabilities(kernel(Ins::ReduceMax), least_capable()).empty());
  const Program p = legalise(kernel(Ins::ReduceMax), least_capable());
  CHECK(faults(p) == "");
  for (const NodeId id : p.body)
    if (p.graph.op(id) == Op::Ins) CHECK(p.graph.type(id) == Type::F32);
  const std::vector<Diagnostic> found = missing_capabilities(kernel(Ins::ReduceAdd), least_capable());
  REQUIRE(found.size() == 1);
  CHECK(found[0].message == "kernel `formula` uses warp_reduce_add on f16, but Nothing does not compute in f16");
}
