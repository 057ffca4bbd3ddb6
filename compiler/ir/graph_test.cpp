#include "compiler/ir/graph.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>
#include <stdexcept>

using namespace sarek::ir;

namespace {

NodeId constant(Graph& g, Type type, Int128 value) {
  return g.make(Op::Cast, {g.make(Op::Const, {}, ConstValue::of_int(value))}, TypeArg{type});
}

}  // namespace

TEST_CASE("equal nodes have one id, a tag keeps them apart") {
  Graph g;
  const NodeId a = constant(g, Type::I32, 1);
  const NodeId b = constant(g, Type::I32, 2);
  CHECK(g.make(Op::Add, {a, b}) == g.make(Op::Add, {a, b}));
  CHECK(g.make(Op::Add, {a, b}) != g.make(Op::Add, {b, a}));
  CHECK(g.make(Op::Add, {a, b}) != g.make(Op::Add, {a, b}, {}, 1));
  CHECK(g.make(Op::Const, {}, ConstValue::of_float(0.0)) != g.make(Op::Const, {}, ConstValue::of_float(-0.0)));
}

TEST_CASE("types follow from the row of the table") {
  Graph g;
  const NodeId i = constant(g, Type::I32, 1);
  const NodeId f = g.make(Op::Cast, {i}, TypeArg{Type::F32});
  const NodeId weak = g.make(Op::Const, {}, ConstValue::of_int(3));
  CHECK(g.type(weak) == Type::WeakInt);
  CHECK(g.type(g.make(Op::Add, {i, weak})) == Type::I32);
  CHECK(g.type(g.make(Op::Add, {f, weak})) == Type::F32);
  CHECK(g.type(g.make(Op::Cmplt, {i, weak})) == Type::Bool);
  CHECK(g.type(g.make(Op::Sqrt, {i})) == Type::F32);
  CHECK(g.type(g.make(Op::Sink, {i})) == Type::Void);
}

TEST_CASE("a node that cannot be is refused when it is made") {
  Graph g;
  const NodeId i = constant(g, Type::I32, 1);
  const NodeId f = g.make(Op::Cast, {i}, TypeArg{Type::F32});
  CHECK_THROWS_AS(g.make(Op::Where, {i, i, i}), std::invalid_argument);
  CHECK_THROWS_AS(g.make(Op::Shl, {f, i}), std::invalid_argument);
  CHECK_THROWS_AS(g.make(Op::Add, {i}), std::invalid_argument);
  CHECK_THROWS_AS(g.make(Op::Cast, {i}), std::invalid_argument);
  CHECK_THROWS_AS(g.make(Op::Add, {i, NodeId(999)}), std::invalid_argument);
}

TEST_CASE("promotion is a join: commutative, associative, idempotent") {
  std::array all = {
#define SAREK_TYPE(name, text, bits, kind) Type::name,
#include "compiler/ir/types.def"
  };
  for (const Type a : all) {
    CHECK(promote(a, a) == a);
    for (const Type b : all) CHECK(promote(a, b) == promote(b, a));
  }
  CHECK(promote(Type::WeakInt, Type::I8) == Type::I8);
  CHECK(promote(Type::WeakFloat, Type::F16) == Type::F16);
  CHECK(promote(Type::WeakInt, Type::WeakFloat) == Type::WeakFloat);
  CHECK(promote(Type::Bool, Type::WeakInt) == Type::WeakInt);
  CHECK(promote(Type::I32, Type::U32) == Type::I64);
  CHECK(promote(Type::F16, Type::Bf16) == Type::F32);
}

TEST_CASE("a literal converts as its cast does") {
  Graph g;
  const auto value = [&](Type type, ConstValue v) { return *literal(g, g.make(Op::Cast, {g.make(Op::Const, {}, v)}, TypeArg{type})); };
  CHECK(value(Type::I8, ConstValue::of_int(200)).integer == -56);
  CHECK(value(Type::U8, ConstValue::of_int(300)).integer == 44);
  CHECK(value(Type::I32, ConstValue::of_float(3e9)).integer == 2147483647);
  CHECK(value(Type::F16, ConstValue::of_float(65520.0)).number == INFINITY);
  CHECK(value(Type::F32, ConstValue::of_int(16777217)).number == 16777216.0);
  CHECK(value(Type::F32, ConstValue::of_int((Int128{1} << 62) + (Int128{1} << 38) + 1)).number == 4611686568183201792.0);
  CHECK(value(Type::Bool, ConstValue::of_float(0.5)).integer == 1);
}

TEST_CASE("names of operations, instructions and types are found again") {
  for (int i = 0; i < kOpCount; ++i) CHECK(op_by_name(op_info(static_cast<Op>(i)).name) == static_cast<Op>(i));
  CHECK(ins_by_name("warp_ballot") == Ins::Ballot);
  CHECK(type_by_name("bf16") == Type::Bf16);
  CHECK_FALSE(op_by_name("NOPE"));
}
