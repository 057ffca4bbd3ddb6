// Cases 1 to 27 of the specification, by number, and the walk: positions, messages, listings.
#include <catch2/catch_test_macros.hpp>
#include <sstream>
#include <stdexcept>

#include "compiler/spec/test_graph.h"

using namespace sarek;
using namespace sarek::spec;
using namespace sarek::spec::test;

namespace {
const std::vector<const Spec*> kAll = {&shared(), &tensor(), &spec::program(), &full(), &kernel_graph()};
}

TEST_CASE("case 1: arithmetic of two types is rejected at its position") {
  TestGraph t;
  const NodeId i = t.var(Type::I32), f = t.var(Type::F32, 1);
  const NodeId add = t.raw(Op::Add, Type::F32, {i, f});
  CHECK_FALSE(t.ok(shared(), add));
  const auto result = type_verify(t.g, add, shared(), Calls::Enter);
  REQUIRE_FALSE(result);
  CHECK(result.error().position == 2);
  CHECK(result.error().node == add);
  CHECK(result.error().rule == "S12");
  CHECK_THROWS_AS(require_verified(t.g, add, shared(), Calls::Enter), std::invalid_argument);
}

TEST_CASE("the message of a failure names position, operation, type, sources and arguments") {
  TestGraph t;
  const NodeId bad = t.raw(Op::Add, Type::F32, {t.weak(42), t.weak_float(1.5), t.boolean(true)});
  const auto result = type_verify(t.g, bad, shared(), Calls::Enter);
  REQUIRE_FALSE(result);
  CHECK(result.error().message ==
        "UOp verification failed at 3 on Ops.ADD f32 3 [(Ops.CONST, weak_int, 42), (Ops.CONST, weak_float, ConstFloat(1.5)), (Ops.CONST, "
        "bool, True)] None");
  const NodeId disk = t.g.make(Op::Copy, {t.var(Type::F32)}, DeviceArg{{"DISK:x"}});
  const NodeId over = t.g.make(Op::Detach, {disk});
  CHECK(type_verify(t.g, disk, tensor(), Calls::Enter).error().message ==
        "UOp verification failed at 1 on Ops.COPY f32 1 [(Ops.PARAM, f32, {param slot=0})] DISK:x");
  const NodeId wrong = t.raw(Op::Detach, Type::F32, {disk}, NameArg{"x"});
  CHECK(type_verify(t.g, wrong, full(), Calls::Enter).error().position == 1);
  CHECK(t.decide(tensor(), wrong).accepted == false);
  CHECK(over != wrong);
  const NodeId wrong_const = t.raw(Op::Const, Type::F32, {}, ConstValue::of_float(1));
  CHECK(type_verify(t.g, wrong_const, shared(), Calls::Enter).error().message == "UOp verification failed at 0 on Ops.CONST f32 0 [] 1.0");
}

TEST_CASE("case 2: bitwise operations on floats fail everywhere") {
  TestGraph t;
  const NodeId x = t.var(Type::F32);
  for (const Spec* s : kAll) CHECK_FALSE(t.ok(*s, t.raw(Op::And, Type::F32, {x, x})));
}

TEST_CASE("case 3: shift counts have the operand's type, u32, or are weak") {
  TestGraph t;
  const NodeId i64 = t.var(Type::I64), i32 = t.var(Type::I32), u32 = t.var(Type::U32);
  CHECK(t.ok(shared(), t.g.make(Op::Shl, {i64, u32})));
  CHECK_FALSE(t.ok(shared(), t.g.make(Op::Shl, {i32, i64})));
  CHECK(t.ok(shared(), t.g.make(Op::Shl, {i32, t.weak(3)})));
}

TEST_CASE("case 4: truncating division is for integers, FDIV for floats") {
  TestGraph t;
  const NodeId x = t.var(Type::F32);
  CHECK_FALSE(t.ok(shared(), t.raw(Op::Cdiv, Type::F32, {x, x})));
  CHECK(t.ok(shared(), t.g.make(Op::Fdiv, {x, x})));
}

TEST_CASE("case 5: WHERE on an integer condition cannot be built, and is rejected when built raw") {
  TestGraph t;
  const NodeId i = t.var(Type::I32);
  CHECK_THROWS_AS(t.g.make(Op::Where, {i, i, i}), std::invalid_argument);
  const auto d = t.decide(shared(), t.raw(Op::Where, Type::I32, {i, i, i}));
  CHECK_FALSE(d.accepted);
  REQUIRE(d.rule);
  CHECK(d.rule->id == "S6");
}

TEST_CASE("case 6: Invalid matches any type") {
  TestGraph t;
  CHECK(t.ok(shared(), t.g.make(Op::Where, {t.var(Type::Bool), t.invalid(), t.var(Type::F32)})));
}

TEST_CASE("case 7: comparisons compare one type; weak literals of its kind match") {
  TestGraph t;
  const NodeId i = t.var(Type::I32), f = t.var(Type::F32);
  CHECK_FALSE(t.ok(shared(), t.g.make(Op::Cmplt, {i, f})));
  CHECK(t.ok(shared(), t.g.make(Op::Cmplt, {i, t.weak(3)})));
  CHECK_FALSE(t.ok(shared(), t.g.make(Op::Cmplt, {f, t.weak(3)})));
  CHECK_FALSE(t.ok(shared(), t.raw(Op::Cmplt, Type::I32, {i, i})));
}

TEST_CASE("a weak integer is no operand of a float operation, a weak float is") {
  TestGraph t;
  const NodeId f = t.var(Type::F32);
  CHECK_FALSE(t.ok(shared(), t.g.make(Op::Add, {f, t.weak(3)})));
  CHECK(t.ok(shared(), t.g.make(Op::Add, {f, t.weak_float(3)})));
  CHECK_FALSE(t.ok(shared(), t.g.make(Op::Where, {t.var(Type::Bool), f, t.weak(1)})));
}

TEST_CASE("case 8: a square root of an integer fails in tensor graphs") {
  TestGraph t;
  const NodeId sqrt = t.raw(Op::Sqrt, Type::I32, {t.var(Type::I32)});
  const auto d = t.decide(tensor(), sqrt);
  CHECK_FALSE(d.accepted);
  CHECK(d.rule->id == "T1");
}

TEST_CASE("case 9: a bare constant is an operand in shared, not in program; under its cast it is") {
  TestGraph t;
  const NodeId i = t.var(Type::I32);
  const NodeId bare = t.g.make(Op::Add, {i, t.weak(3)});
  CHECK(t.ok(shared(), bare));
  CHECK_FALSE(t.ok(spec::program(), bare));
  CHECK(t.ok(spec::program(), t.g.make(Op::Add, {i, t.lit(Type::I32, 3)})));
}

TEST_CASE("case 10: Invalid is in shared, not in program") {
  TestGraph t;
  CHECK(t.ok(shared(), t.invalid()));
  CHECK_FALSE(t.ok(spec::program(), t.invalid()));
}

TEST_CASE("case 11: with check_oob an access must be proved in bounds by its interval, whatever its gate") {
  TestGraph t;
  const NodeId p = t.param(Type::F32, 16);
  const auto load = [&](std::int64_t lo, std::int64_t hi) { return t.g.make(Op::Load, {t.index(p, t.ranged(Type::I32, lo, hi, 1))}); };
  std::ostringstream log;
  const Options check{true, 0, &log};
  CHECK(t.ok(shared(), load(0, 15), check));
  CHECK(log.str().empty());
  CHECK_FALSE(t.ok(shared(), load(0, 16), check));
  CHECK(log.str() ==
        "# INDEX NOT PROVEN IN BOUNDS: [0, 16] is not within 0 - 16, and the bound cannot be proven without a solver\nidx=%4\nmask=True\n");
  CHECK_FALSE(t.ok(shared(), load(-1, 3), check));
  log.str("");
  const NodeId i = t.ranged(Type::I32, 0, 16, 1);
  const NodeId gate = t.g.make(Op::Cmplt, {i, t.lit(Type::I32, 16)});
  CHECK_FALSE(t.ok(shared(), t.g.make(Op::Load, {t.index(p, i), t.lit(Type::F32, 0), gate}), check));
  CHECK(log.str().find("mask=(%4 < 16)") != std::string::npos);
  CHECK(t.ok(shared(), load(0, 16)));
  // Stores alike; a loop that never runs and an index that is Invalid access nothing.
  CHECK_FALSE(t.ok(shared(), t.g.make(Op::Store, {t.index(p, i), t.lit(Type::F32, 0)}), check));
  CHECK(t.ok(shared(), t.g.make(Op::Load, {t.index(p, t.range(t.weak(0)))}), check));
  CHECK(t.ok(shared(), t.g.make(Op::Load, {t.index(p, t.invalid())}), check));
  CHECK(t.ok(shared(), t.g.make(Op::Load, {t.index(p, t.g.make(Op::Where, {gate, t.ranged(Type::I32, 0, 15, 2), t.invalid()}))}), check));
}

TEST_CASE("case 12: the alternative of a gated load has its type") {
  TestGraph t;
  const NodeId place = t.index(t.param(Type::F32, 16), t.lit(Type::I32, 0)), gate = t.var(Type::Bool, 1);
  CHECK_FALSE(t.ok(shared(), t.g.make(Op::Load, {place, t.var(Type::I32, 2), gate})));
  CHECK(t.ok(shared(), t.g.make(Op::Load, {place, t.var(Type::F32, 2), gate})));
}

TEST_CASE("case 13: a load with an alternative but no gate is for full alone") {
  TestGraph t;
  const NodeId load = t.g.make(Op::Load, {t.index(t.param(Type::F32, 16), t.lit(Type::I32, 0)), t.var(Type::F32, 2)});
  CHECK_FALSE(t.ok(shared(), load));
  CHECK_FALSE(t.ok(spec::program(), load));
  CHECK(t.ok(full(), load));
}

TEST_CASE("case 14: a load through a bitcast of an index fails") {
  TestGraph t;
  const NodeId place = t.index(t.param(Type::F32, 16), t.lit(Type::I32, 0));
  CHECK_FALSE(t.ok(shared(), t.g.make(Op::Load, {t.g.make(Op::Bitcast, {place}, TypeArg{Type::I32})})));
  CHECK(t.ok(shared(), t.g.make(Op::Load, {t.g.make(Op::Cast, {place}, TypeArg{Type::F64})})));
}

TEST_CASE("case 15: an end closes ranges; what replaced them is for full") {
  TestGraph t;
  CHECK(t.ok(shared(), t.g.make(Op::End, {t.effect(), t.range(t.weak(8))})));
  const NodeId special = t.g.make(Op::Special, {t.lit(Type::I32, 8)}, NameArg{"group_id.x"});
  const NodeId end = t.g.make(Op::End, {t.effect(), special});
  CHECK_FALSE(t.ok(shared(), end));
  CHECK(t.ok(full(), end));
}

TEST_CASE("case 16: a back-edge decides on a scalar Bool") {
  TestGraph t;
  const NodeId loop = t.range(t.void_value()), c = t.var(Type::Bool);
  CHECK_FALSE(t.ok(shared(), t.g.make(Op::Backedge, {t.effect(), loop, t.stack({c, c})})));
  CHECK(t.ok(shared(), t.g.make(Op::Backedge, {t.effect(), loop, c})));
  CHECK_FALSE(t.ok(shared(), t.g.make(Op::Backedge, {t.effect(), loop, t.invalid()})));
}

TEST_CASE("case 17: a global buffer is for tensor graphs, with size and device") {
  TestGraph t;
  const NodeId whole = t.storage(Op::Buffer, Type::F32, AddressSpace::Global, 4, {"CPU"});
  CHECK_FALSE(t.ok(shared(), whole));
  CHECK(t.ok(tensor(), whole));
  CHECK_FALSE(t.ok(tensor(), t.storage(Op::Buffer, Type::F32, AddressSpace::Global, std::nullopt, {"CPU"})));
  CHECK_FALSE(t.ok(tensor(), t.storage(Op::Buffer, Type::F32, AddressSpace::Global, 4)));
  // On several devices exactly one Device range walks over them.
  ParamArg two;
  two.type = Type::F32;
  two.space = AddressSpace::Global;
  two.size = 4;
  two.devices = {"CPU:0", "CPU:1"};
  CHECK(t.ok(tensor(), t.g.make(Op::Buffer, {t.range(t.weak(2), AxisType::Device)}, two)));
  CHECK_FALSE(t.ok(tensor(), t.g.make(Op::Buffer, {t.range(t.weak(3), AxisType::Device)}, two)));
  CHECK_FALSE(t.ok(tensor(), t.g.make(Op::Buffer, {t.range(t.weak(2))}, two)));
}

TEST_CASE("case 18: nothing is copied to a disk, in any case of letters") {
  TestGraph t;
  const NodeId x = t.var(Type::F32);
  for (const char* disk : {"DISK:x", "disk:x", "Disk", "dIsK:a:b"}) CHECK_FALSE(t.ok(tensor(), t.g.make(Op::Copy, {x}, DeviceArg{{disk}})));
  for (const char* device : {"CPU", "DISKS:x", "CUDA:1"}) CHECK(t.ok(tensor(), t.g.make(Op::Copy, {x}, DeviceArg{{device}})));
}

TEST_CASE("case 19: a shape is integers") {
  TestGraph t;
  const NodeId x = t.param(Type::F32, 16);
  CHECK_FALSE(t.ok(tensor(), t.g.make(Op::Reshape, {x, t.stack({t.weak_float(4), t.weak_float(4)})})));
  CHECK(t.ok(tensor(), t.g.make(Op::Reshape, {x, t.stack({t.weak(4), t.weak(4)})})));
  CHECK(t.ok(tensor(), t.g.make(Op::Reshape, {x, t.empty_stack()})));
}

TEST_CASE("case 20: a program is filled in order") {
  TestGraph t;
  const NodeId sink = t.g.make(Op::Sink, {}), linear = t.g.make(Op::Linear, {}), source = t.g.make(Op::Source, {}, NameArg{"text"});
  CHECK_FALSE(t.ok(tensor(), t.g.make(Op::Program, {sink, source})));
  CHECK(t.ok(tensor(), t.g.make(Op::Program, {sink, linear, source})));
  CHECK(t.ok(tensor(), t.g.make(Op::Program, {sink})));
}

TEST_CASE("case 21: indices are weak before and i32 after lowering") {
  TestGraph t;
  const NodeId weak = t.g.make(Op::Special, {t.weak(8)}, NameArg{"gidx0"}),
               i32 = t.g.make(Op::Special, {t.lit(Type::I32, 8)}, NameArg{"gidx0"});
  CHECK(t.ok(tensor(), weak));
  CHECK_FALSE(t.ok(spec::program(), weak));
  CHECK(t.ok(spec::program(), i32));
  CHECK(t.ok(full(), i32));
}

TEST_CASE("case 22: programs shrink storage to a constant length, and move nothing else") {
  TestGraph t;
  const NodeId p = t.param(Type::F32, 16);
  CHECK(t.ok(spec::program(), t.g.make(Op::Shrink, {p, t.var(Type::I32, 1), t.lit(Type::I32, 4)})));
  CHECK_FALSE(t.ok(spec::program(), t.g.make(Op::Shrink, {p, t.var(Type::I32, 1), t.var(Type::I32, 2)})));
  CHECK_FALSE(t.ok(spec::program(), t.g.make(Op::Reshape, {p, t.stack({t.lit(Type::I32, 4), t.lit(Type::I32, 4)})})));
}

TEST_CASE("case 23: conditionals are for programs") {
  TestGraph t;
  const NodeId branch = t.g.make(Op::If, {t.var(Type::Bool), t.index(t.param(Type::F32, 16), t.lit(Type::I32, 0))});
  CHECK(t.ok(spec::program(), branch));
  CHECK_FALSE(t.ok(shared(), branch));
  CHECK(t.ok(spec::program(), t.g.make(Op::Endif, {branch})));
}

namespace {
NodeId call_of(TestGraph& t, std::vector<NodeId> arguments, int align = 16) {
  ParamArg p;
  p.type = Type::F32;
  p.space = AddressSpace::Global;
  p.size = 16;
  p.align = align;
  const NodeId inner = t.g.make(Op::Param, {}, p);
  const NodeId load = t.g.make(Op::Load, {t.index(inner, t.lit(Type::I32, 0))});
  const NodeId body = t.g.make(Op::Sink, {t.g.make(Op::Store, {t.index(inner, t.lit(Type::I32, 1)), load})});
  arguments.insert(arguments.begin(), body);
  return t.g.make(Op::Call, std::span<const NodeId>(arguments), CallArg{});
}
NodeId row(TestGraph& t, std::int64_t width, AxisType axis = AxisType::Loop) {
  const NodeId buffer = t.storage(Op::Buffer, Type::F32, AddressSpace::Global, 1000, {"CPU"}, 7);
  const NodeId r = t.range(t.weak(4), axis);
  return t.g.make(Op::Shrink, {buffer, t.g.make(Op::Mul, {r, t.weak(width)}), t.weak(width)});
}
}  // namespace

TEST_CASE("case 24: the kernel graph has calls in loops, and views that move with them") {
  TestGraph t;
  const NodeId call = call_of(t, {row(t, 4)});
  CHECK(t.ok(kernel_graph(), t.g.make(Op::End, {call, t.range(t.weak(4))})));
  CHECK_FALSE(t.ok(kernel_graph(), t.g.make(Op::End, {call, t.range(t.weak(4), AxisType::Reduce)})));
  CHECK_FALSE(t.ok(kernel_graph(), t.g.make(Op::End, {call, t.range(t.weak(4), AxisType::Global)})));
  CHECK_FALSE(t.ok(kernel_graph(), t.g.make(Op::Add, {t.ranged(Type::WeakInt, 0, 4), t.weak(1)})));
  CHECK(t.ok(kernel_graph(), t.g.make(Op::Add, {t.range(t.weak(4)), t.weak(1)})));
  CHECK(t.ok(kernel_graph(), row(t, 4)));
  CHECK_FALSE(t.ok(kernel_graph(), row(t, 4, AxisType::Global)));
  CHECK_FALSE(t.ok(kernel_graph(), t.g.make(Op::Shrink, {t.param(Type::F32, 16), t.weak(0), t.weak(4)})));
}

TEST_CASE("case 25: arguments start where the body assumes") {
  TestGraph t;
  const NodeId five = call_of(t, {row(t, 5)}), four = call_of(t, {row(t, 4)}), five_of_4 = call_of(t, {row(t, 5)}, 4);
  for (const Spec* s : {&shared(), &kernel_graph()}) {
    CHECK_FALSE(t.ok(*s, five));
    CHECK(t.ok(*s, four));
    CHECK(t.ok(*s, five_of_4));
  }
  CHECK(t.ok(tensor(), five));
}

TEST_CASE("case 26: whether call bodies are entered is the caller's choice") {
  TestGraph t;
  const NodeId bad = t.raw(Op::And, Type::F32, {t.var(Type::F32), t.var(Type::F32)});
  const NodeId call = t.g.make(Op::Call, {t.g.make(Op::Sink, {bad})}, CallArg{});
  CHECK(type_verify(t.g, call, shared(), Calls::Skip));
  const auto entered = type_verify(t.g, call, shared(), Calls::Enter);
  REQUIRE_FALSE(entered);
  CHECK(entered.error().node == bad);
  CHECK(toposort(t.g, call, Calls::Skip).size() == 1);
  CHECK(toposort(t.g, call, Calls::Enter).size() == 4);
}

TEST_CASE("case 27: the listing is printed at debug 3") {
  TestGraph t;
  const NodeId bad = t.raw(Op::Add, Type::F32, {t.var(Type::I32), t.var(Type::F32, 1)});
  std::ostringstream log;
  CHECK_FALSE(type_verify(t.g, bad, shared(), Calls::Enter, {false, 2, &log}));
  CHECK(log.str().empty());
  CHECK_FALSE(type_verify(t.g, bad, shared(), Calls::Enter, {false, 3, &log}));
  CHECK(log.str() == "0: %0 = PARAM i32 {param slot=0}\n1: %1 = PARAM f32 {param slot=1}\n2: %2 = ADD f32 %0 %1\n");
  log.str("");
  CHECK(type_verify(t.g, t.var(Type::I32), shared(), Calls::Enter, {false, 3, &log}));
  CHECK(log.str().empty());
}

TEST_CASE("full rejects what tensor rejects, and takes conditionals through program") {
  TestGraph t;
  CHECK_FALSE(t.ok(full(), t.raw(Op::Sqrt, Type::I32, {t.var(Type::I32)})));
  CHECK(t.ok(full(), t.g.make(Op::If, {t.var(Type::Bool), t.lit(Type::I32, 0)})));
  CHECK(t.ok(full(), t.g.make(Op::After, {t.var(Type::I32), t.effect()})));
}

TEST_CASE("a node with an impossible number of sources fails in every specification") {
  TestGraph t;
  for (const Spec* s : kAll) {
    CHECK_FALSE(t.ok(*s, t.raw(Op::Add, Type::I32, {t.var(Type::I32)})));
    CHECK_FALSE(t.ok(*s, t.raw(Op::Cast, Type::I32, {}, TypeArg{Type::I32})));
    CHECK_FALSE(t.ok(*s, t.raw(Op::Load, Type::I32)));
  }
}

TEST_CASE("a deep graph is verified without recursion") {
  TestGraph t;
  NodeId x = t.var(Type::I32);
  for (int i = 0; i < 200000; ++i) x = t.g.make(Op::Add, {x, t.lit(Type::I32, 1)});
  CHECK(type_verify(t.g, x, shared(), Calls::Enter));
}
