// Shapes, address spaces, ranges and where storage starts.
#include "compiler/ir/shape.h"

#include <catch2/catch_test_macros.hpp>

using namespace sarek::ir;

namespace {
struct G {
  Graph g;
  NodeId weak(Int128 v) { return g.make(Op::Const, {}, ConstValue::of_int(v)); }
  NodeId storage(Op op, AddressSpace space, std::optional<std::int64_t> size, int align = 16, int phase = 0) {
    ParamArg p;
    p.type = Type::F32;
    p.space = space;
    p.size = size;
    p.align = align;
    p.phase = phase;
    return g.make(op, {}, p);
  }
  NodeId variable(Type t, std::int64_t multiple = 1) {
    ParamArg p;
    p.type = t;
    p.slot = 9;
    p.multiple_of = multiple;
    return g.make(Op::Param, {}, p);
  }
  NodeId range(std::int64_t n, int id = 0) { return g.make(Op::Range, {weak(n)}, RangeArg{{id}, AxisType::Loop}); }
};
Shape dims(std::initializer_list<std::int64_t> values) {
  Shape s;
  for (const std::int64_t v : values) s.push_back({v, {}});
  return s;
}
}  // namespace

TEST_CASE("shapes follow from operations") {
  G t;
  ShapeTable shapes(t.g);
  const NodeId x = t.storage(Op::Param, AddressSpace::Global, 24);
  CHECK(shapes.of(x) == dims({24}));
  CHECK(shapes.of(t.weak(3)) == dims({}));
  const NodeId rows = t.g.make(Op::Reshape, {x, t.g.make(Op::Stack, {t.weak(4), t.weak(6)})});
  CHECK(shapes.of(rows) == dims({4, 6}));
  CHECK(shapes.of(t.g.make(Op::Permute, {rows}, AxesArg{{1, 0}})) == dims({6, 4}));
  CHECK(shapes.of(t.g.make(Op::Index, {rows, t.weak(1)})) == dims({6}));
  CHECK(shapes.of(t.g.make(Op::Load, {t.g.make(Op::Index, {rows, t.weak(1), t.weak(2)})})) == dims({}));
  CHECK_FALSE(shapes.of(t.g.make(Op::Index, {x, t.weak(1), t.weak(2)})));
  CHECK(shapes.of(t.g.make(Op::Shrink, {x, t.weak(2), t.weak(5)})) == dims({5}));
  CHECK(shapes.of(t.g.make(Op::Add, {rows, x})) == std::nullopt);
  CHECK(shapes.of(t.g.make(Op::Add, {rows, t.g.make(Op::Const, {}, ConstValue::of_float(1))})) == dims({4, 6}));
  CHECK(shapes.of(t.g.make(Op::Stack, {t.weak(1), t.weak(2)})) == dims({2}));
  CHECK(shapes.of(t.g.make(Op::Reduce, {rows}, ReduceArg{Op::Add, 1, {}})) == dims({4}));
  CHECK(shapes.of(t.g.make(Op::Bitcast, {x}, TypeArg{Type::U8})) == dims({96}));
  CHECK_FALSE(shapes.of(t.g.make(Op::Barrier, {})));
  const NodeId unsized = t.storage(Op::Param, AddressSpace::Global, std::nullopt);
  CHECK(shapes.of(unsized) == Shape{Dim{0, unsized}});
}

TEST_CASE("the number of elements takes symbols at their greatest") {
  G t;
  ShapeTable shapes(t.g);
  const NodeId n = t.variable(Type::WeakInt), x = t.storage(Op::Param, AddressSpace::Global, 1000);
  const NodeId view = t.g.make(Op::Reshape, {x, t.g.make(Op::Stack, {t.weak(4), n})});
  REQUIRE(shapes.of(view));
  CHECK(max_numel(*shapes.of(view), [&](NodeId s) { return s == n ? std::optional<std::int64_t>(10) : std::nullopt; }) == 40);
  CHECK_FALSE(max_numel(*shapes.of(view), [](NodeId) { return std::optional<std::int64_t>(); }));
  CHECK_FALSE(max_numel(dims({INT64_MAX, 2}), [](NodeId) { return std::optional<std::int64_t>(); }));
}

TEST_CASE("places have the address space of their storage, values Alu, effects none") {
  G t;
  const NodeId x = t.storage(Op::Buffer, AddressSpace::Local, 4);
  const NodeId place = t.g.make(Op::Index, {x, t.weak(0)});
  CHECK(address_space(t.g, x) == AddressSpace::Local);
  CHECK(address_space(t.g, place) == AddressSpace::Local);
  CHECK(address_space(t.g, t.g.make(Op::Load, {place})) == AddressSpace::Alu);
  CHECK(address_space(t.g, t.variable(Type::I32)) == AddressSpace::Alu);
  CHECK(address_space(t.g, t.g.make(Op::Barrier, {})) == AddressSpace::None);
}

TEST_CASE("a node runs inside the ranges of its sources until something closes them") {
  G t;
  RangeTable ranges(t.g);
  const NodeId i = t.range(4, 0), j = t.range(5, 1);
  const NodeId sum = t.g.make(Op::Add, {i, j});
  CHECK(ranges.of(sum) == std::vector<NodeId>{i, j});
  const NodeId x = t.storage(Op::Buffer, AddressSpace::Reg, 40);
  const NodeId store = t.g.make(Op::Store, {t.g.make(Op::Index, {x, sum}), t.g.make(Op::Cast, {sum}, TypeArg{Type::F32})});
  const NodeId end = t.g.make(Op::End, {store, j});
  CHECK(ranges.of(end) == std::vector<NodeId>{i});
  CHECK(ended_ranges(t.g, end) == std::vector<NodeId>{j});
  CHECK(ranges.of(t.g.make(Op::After, {x, end})) == std::vector<NodeId>{i});
  CHECK(ranges.of(t.g.make(Op::Reduce, {sum, i}, ReduceArg{Op::Add, 0, {}})) == std::vector<NodeId>{j});
}

TEST_CASE("storage starts where its own phase and what a view skips put it") {
  G t;
  ShapeTable shapes(t.g);
  const auto phase = [&](NodeId id) { return storage_phase(t.g, id, shapes); };
  const NodeId x = t.storage(Op::Buffer, AddressSpace::Global, 1000);
  CHECK(phase(x) == StoragePhase{16, 0});
  CHECK(phase(t.g.make(Op::Shrink, {x, t.weak(1), t.weak(4)})) == StoragePhase{16, 4});
  CHECK(phase(t.g.make(Op::Shrink, {x, t.weak(-1), t.weak(4)})) == StoragePhase{16, 12});
  CHECK(phase(t.g.make(Op::Shrink, {x, t.variable(Type::WeakInt), t.weak(4)})) == StoragePhase{4, 0});
  CHECK(phase(t.g.make(Op::Shrink, {x, t.variable(Type::WeakInt, 2), t.weak(4)})) == StoragePhase{8, 0});
  const NodeId r = t.range(8);
  const auto row = [&](std::int64_t width) { return t.g.make(Op::Shrink, {x, t.g.make(Op::Mul, {r, t.weak(width)}), t.weak(width)}); };
  CHECK(phase(row(5)) == StoragePhase{4, 0});
  CHECK(phase(row(4)) == StoragePhase{16, 0});
  CHECK(phase(row(6)) == StoragePhase{8, 0});
  const NodeId matrix = t.g.make(Op::Reshape, {x, t.g.make(Op::Stack, {t.weak(200), t.weak(5)})});
  CHECK(phase(t.g.make(Op::Shrink, {matrix, t.g.make(Op::Stack, {t.weak(1), t.weak(0)}), t.g.make(Op::Stack, {t.weak(1), t.weak(5)})})) ==
        StoragePhase{16, 4});
  const NodeId odd = t.storage(Op::Buffer, AddressSpace::Global, 1000, 8, 4);
  CHECK(phase(odd) == StoragePhase{8, 4});
  CHECK(phase(t.g.make(Op::Shrink, {odd, t.weak(3), t.weak(4)})) == StoragePhase{8, 0});
  const NodeId flipped = t.g.make(Op::Flip, {x}, FlipArg{{true}});
  CHECK(phase(t.g.make(Op::Shrink, {flipped, r, t.weak(4)})) == StoragePhase{4, 0});
  CHECK(phase(t.g.make(Op::Stage, {t.g.make(Op::Shrink, {x, t.weak(2), t.weak(4)})}, StageArg{})) == StoragePhase{8, 0});
  CHECK(phase(t.weak(1)) == StoragePhase{16, 0});
}

TEST_CASE("toposort goes deep without recursion, sources in order") {
  G t;
  NodeId x = t.weak(0);
  for (int i = 1; i < 300000; ++i) x = t.g.make(Op::Add, {x, t.weak(i % 7)});
  CHECK(toposort(t.g, x, Calls::Enter).back() == x);
  const NodeId a = t.weak(100), b = t.weak(101);
  CHECK(toposort(t.g, t.g.make(Op::Sub, {b, a}), Calls::Enter)[0] == b);
}
