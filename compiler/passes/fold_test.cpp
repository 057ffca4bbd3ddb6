#include <catch2/catch_test_macros.hpp>

#include <cmath>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/test_machine.h"

using namespace sarek;
using namespace sarek::passes;
using namespace sarek::passes::test;
using ir::Ins;

namespace {

using Formula = std::function<NodeId(ProgramBuilder&, const std::vector<NodeId>&)>;

/// The stored value after folding, as an expression.
std::string folded(const std::vector<Type>& operands, const Formula& formula) {
  const Program p = remove_dead(fold(formula_kernel(operands, formula)));
  CHECK(faults(p) == "");
  return ir::render(p.graph, p.graph.source(p.body.back(), 1));
}
std::string folded(Type t, const Formula& formula) { return folded(std::vector<Type>{t}, formula); }

/// Does folding leave exactly the operand?
bool is_operand(Type t, const Formula& formula) { return folded(t, formula) == "p0"; }

NodeId f32(ProgramBuilder& b, double v) { return b.float_constant(Type::F32, v); }

}  // namespace

TEST_CASE("float identities keep the sign of zero, NaN and every rounding") {
  const auto with = [](Op op, double v) {
    return [=](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.op(op, {p[0], b.float_constant(Type::F32, v)}); };
  };
  CHECK(is_operand(Type::F32, with(Op::Mul, 1.0)));
  CHECK(is_operand(Type::F32, with(Op::Fdiv, 1.0)));
  CHECK(is_operand(Type::F32, with(Op::Sub, 0.0)));
  CHECK(is_operand(Type::F32, with(Op::Add, -0.0)));
  CHECK_FALSE(is_operand(Type::F32, with(Op::Add, 0.0)));   // -0.0 + 0.0 = +0.0
  CHECK_FALSE(is_operand(Type::F32, with(Op::Sub, -0.0)));  // -0.0 - -0.0 = +0.0
  CHECK(folded(Type::F32, with(Op::Mul, 0.0)).find("p0") != std::string::npos);
  const Formula minus_itself = [](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.op(Op::Sub, {p[0], p[0]}); };
  CHECK(folded(Type::F32, minus_itself).find("p0") != std::string::npos);  // NaN for infinities
  const Formula equals_itself = [](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.op(Op::Cmpeq, {p[0], p[0]}); };
  CHECK(folded(Type::F32, equals_itself).find("p0") != std::string::npos);
}

TEST_CASE("division by a power of two becomes a product where the reciprocal is a normal number") {
  const auto has_division = [](Type t, double divisor) {
    const Program p = fold(formula_kernel(
        {t}, [&](ProgramBuilder& b, const std::vector<NodeId>& v) { return b.op(Op::Fdiv, {v[0], b.float_constant(t, divisor)}); }));
    return count(p, Op::Fdiv) > 0;
  };
  CHECK_FALSE(has_division(Type::F32, 8.0));
  CHECK_FALSE(has_division(Type::F32, -0.25));
  CHECK(has_division(Type::F32, 3.0));
  CHECK(has_division(Type::F32, 0x1p127));
  CHECK(has_division(Type::F32, 0x1p-140));
  CHECK(has_division(Type::F32, INFINITY));
  CHECK(has_division(Type::F16, 0x1p15));
  CHECK_FALSE(has_division(Type::F64, 0x1p900));
}

TEST_CASE("a pair of conversions goes only when it widens and comes back (T8)") {
  const auto through = [](Type from, Type middle) {
    return is_operand(from, [=](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.cast(b.cast(p[0], middle), from); });
  };
  CHECK(through(Type::F16, Type::F32));
  CHECK(through(Type::Bf16, Type::F32));
  CHECK(through(Type::F32, Type::F64));
  CHECK(through(Type::I32, Type::F64));
  CHECK(through(Type::I32, Type::U32));
  CHECK(through(Type::I32, Type::U64));
  CHECK_FALSE(through(Type::F32, Type::Bf16));
  CHECK_FALSE(through(Type::F32, Type::F16));
  CHECK_FALSE(through(Type::F64, Type::F32));
  CHECK_FALSE(through(Type::I32, Type::F32));
  CHECK_FALSE(through(Type::I64, Type::I32));
  CHECK_FALSE(through(Type::F16, Type::Bf16));
  CHECK_FALSE(through(Type::I16, Type::F16));
  CHECK_FALSE(through(Type::Bf16, Type::F16));
}

TEST_CASE("random chains of conversions mean the same after folding") {
  const std::vector<Type> types = {Type::Bool, Type::I8,  Type::U8,  Type::I16,  Type::U16, Type::I32, Type::U32,
                                   Type::I64,  Type::U64, Type::F16, Type::Bf16, Type::F32, Type::F64};
  std::mt19937_64 random(3);
  for (const Type a : types)
    for (const Type m : types)
      for (const Type z : types) {
        const Program before =
            formula_kernel({a}, [&](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.cast(b.cast(p[0], m), z); });
        const Program after = fold(before);
        for (const std::uint64_t v : edge_values(a)) {
          INFO(ir::type_name(a) << " " << ir::type_name(m) << " " << ir::type_name(z) << " of " << v);
          REQUIRE(same_value(z, run_straight(before, {v})[0], run_straight(after, {v})[0]));
        }
      }
}

TEST_CASE("folding agrees with evaluation on every operation, type and edge value") {
  const std::vector<Type> types = {Type::I8,  Type::U8,   Type::I32, Type::U32, Type::I64, Type::U64,
                                   Type::F16, Type::Bf16, Type::F32, Type::F64, Type::Bool};
  const Op ops[] = {Op::Add,   Op::Sub,   Op::Mul,   Op::Cdiv, Op::Cmod, Op::Floordiv, Op::Floormod, Op::Fdiv, Op::Max,
                    Op::Cmplt, Op::Cmpeq, Op::Cmpne, Op::And,  Op::Or,   Op::Xor,      Op::Shl,      Op::Shr};
  std::mt19937_64 random(4);
  int folded_count = 0;
  for (const Type t : types)
    for (const Op op : ops) {
      const bool fits = ir::is_float(t) ? (op != Op::Cdiv && op != Op::Cmod && op != Op::Floordiv && op != Op::Floormod && op != Op::And &&
                                           op != Op::Or && op != Op::Xor && op != Op::Shl && op != Op::Shr)
                        : t == Type::Bool ? (op == Op::And || op == Op::Or || op == Op::Xor || op == Op::Cmpeq || op == Op::Cmpne)
                                          : op != Op::Fdiv;
      if (!fits) continue;
      const std::vector<std::uint64_t> edges = edge_values(t);
      for (int i = 0; i < 40; ++i) {
        const std::uint64_t x = edges[random() % edges.size()], y = edges[random() % edges.size()];
        // Both literal; one literal on either side: each against the value of the operation itself.
        const Program plain =
            formula_kernel({t, t}, [&](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.op(op, {p[0], p[1]}); });
        const std::uint64_t expected = run_straight(plain, {x, y})[0];
        const Type result = plain.graph.type(plain.graph.source(plain.body.back(), 1));
        for (int form = 0; form < 3; ++form) {
          const Program p = fold(formula_kernel({t, t}, [&](ProgramBuilder& b, const std::vector<NodeId>& v) {
            const NodeId left = form == 1 ? v[0] : b.constant(t, *ir::value_of(x, t));
            const NodeId right = form == 2 ? v[1] : b.constant(t, *ir::value_of(y, t));
            return b.op(op, {left, right});
          }));
          INFO(ir::op_info(op).name << " " << ir::type_name(t) << " " << x << " " << y << " form " << form);
          REQUIRE(same_value(result, run_straight(p, {x, y})[0], expected));
          if (form == 0) folded_count += ir::literal(p.graph, p.graph.source(p.body.back(), 1)).has_value();
        }
      }
    }
  CHECK(folded_count > 4000);
}

TEST_CASE("selects, gates, branches and loops with literal conditions go") {
  ProgramBuilder b("k");
  const NodeId x = b.scalar_param("x", Type::I32);
  const NodeId out = b.buffer_param("out", Type::I32, ir::Access::Out);
  const NodeId yes = b.begin_if(b.op(Op::Cmplt, {b.i32(1), b.i32(2)}));
  b.store(out, b.i32(0), b.op(Op::Where, {b.bool_constant(false), b.i32(9), x}));
  b.end_if(yes);
  const NodeId no = b.begin_if(b.bool_constant(false));
  b.store(out, b.i32(1), x);
  b.end_if(no);
  const NodeId once = b.begin_range(b.i32(1));
  b.store(out, b.op(Op::Add, {once, b.i32(2)}), x, b.bool_constant(true));
  b.end_range(once);
  const NodeId never = b.begin_range(b.i32(-3));
  b.store(out, never, x);
  b.end_range(never);
  b.store(out, b.i32(3), x, b.bool_constant(false));
  b.store(out, b.i32(4), b.load(out, b.i32(0), b.i32(7), b.bool_constant(false)));
  b.trap(b.bool_constant(false), "never");
  const NodeId loop = b.begin_loop();
  b.store(out, b.i32(5), x);
  b.end_loop(loop, b.bool_constant(false));
  const Program p = remove_dead(fold(b.finish()));
  CHECK(faults(p) == "");
  CHECK(count(p, Op::If) == 0);
  CHECK(count(p, Op::Range) == 0);
  CHECK(count(p, Op::Backedge) == 0);
  CHECK(count(p, Op::Load) == 0);
  CHECK(count(p, Op::Ins) == 0);
  CHECK(count(p, Op::Store) == 4);
  for (const NodeId id : p.body)
    if (p.graph.op(id) == Op::Store) CHECK(p.graph.sources(id).size() == 2);
}

TEST_CASE("the small kernels that compilers get wrong keep their bits (T1, T3, T5, T6, T8, T9, T13)") {
  struct Case {
    std::string id;
    Type type;
    std::vector<std::uint64_t> input;
    Formula formula;
    std::uint64_t right;
  };
  const std::vector<Case> cases = {
      {"T1",
       Type::F32,
       {0x3f800800, 0x3f800800, 0xbf801000},
       [](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.op(Op::Add, {b.op(Op::Mul, {p[0], p[1]}), p[2]}); },
       0x00000000},
      {"T3",
       Type::F32,
       {0x3ebe97aa, 0x3ea726d6, 0x409d64ef},
       [](ProgramBuilder& b, const std::vector<NodeId>& p) {
         const NodeId xy = b.op(Op::Mul, {p[0], p[1]}), yz = b.op(Op::Mul, {p[1], p[2]}), zx = b.op(Op::Mul, {p[2], p[0]});
         return b.op(Op::Add, {b.op(Op::Add, {xy, yz}), zx});
       },
       0x4063b9fe},
      {"T5",
       Type::F32,
       {0x3f800000, 0x3f800000},
       [](ProgramBuilder& b, const std::vector<NodeId>& p) {
         const NodeId rest = b.op(Op::Mul, {f32(b, -1e10), b.op(Op::Sub, {f32(b, 1.0), p[1]})});
         return b.op(Op::Add, {b.op(Op::Mul, {p[0], p[1]}), rest});
       },
       0x3f800000},
      {"T6",
       Type::F32,
       {0x3f400000},
       [](ProgramBuilder& b, const std::vector<NodeId>& p) {
         const NodeId t = b.op(Op::Add, {b.op(Op::Mul, {b.op(Op::Fdiv, {f32(b, -0.25), p[0]}), p[0]}), f32(b, 0.25)});
         return b.op(Op::Sqrt, {t});
       },
       0x00000000},
      {"T8",
       Type::F32,
       {0x3f8147ae},
       [](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.cast(b.cast(p[0], Type::Bf16), Type::F32); },
       0x3f810000},
      {"T9 bf16",
       Type::F32,
       {0x4788b800},
       [](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.cast(b.cast(p[0], Type::Bf16), Type::F32); },
       0x47890000},
      {"T9 f16", Type::F32, {0x47800000}, [](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.cast(p[0], Type::F16); }, 0x7c00},
      {"T13 abs",
       Type::F32,
       {0x80000001},
       [](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.ins(Ins::Abs, Type::F32, {p[0]}); },
       0x00000001},
      {"T13 x * 1",
       Type::F32,
       {0x00000001},
       [](ProgramBuilder& b, const std::vector<NodeId>& p) { return b.op(Op::Mul, {p[0], f32(b, 1.0)}); },
       0x00000001},
  };
  for (const Case& c : cases) {
    INFO(c.id);
    const Program before = formula_kernel(std::vector<Type>(c.input.size(), c.type), c.formula);
    CHECK(run_straight(before, c.input)[0] == c.right);
    const Program after = fold(legalise(merge_common(fold(before)), least_capable()), {.merge_casts = false});
    CHECK(run_straight(after, c.input)[0] == c.right);
    // The same with the inputs as literals, so that the whole formula folds.
    const Program constant = fold(formula_kernel({Type::I32}, [&](ProgramBuilder& b, const std::vector<NodeId>&) {
      std::vector<NodeId> literals;
      for (const std::uint64_t v : c.input) literals.push_back(b.constant(c.type, *ir::value_of(v, c.type)));
      return c.formula(b, literals);
    }));
    CHECK(ir::literal(constant.graph, constant.graph.source(constant.body.back(), 1)));
    CHECK(run_straight(constant, {0})[0] == c.right);
  }
}

TEST_CASE("integer chains of constants meet, wrapping as the type does") {
  CHECK(folded(Type::I32, [](ProgramBuilder& b, const std::vector<NodeId>& p) {
          return b.op(Op::Sub, {b.op(Op::Add, {p[0], b.i32(2147483647)}), b.i32(-1)});
        }) == "(p0 + -2147483648)");
  CHECK(is_operand(Type::U8, [](ProgramBuilder& b, const std::vector<NodeId>& p) {
    return b.op(Op::Add, {b.op(Op::Add, {p[0], b.int_constant(Type::U8, 200)}), b.int_constant(Type::U8, 56)});
  }));
}
