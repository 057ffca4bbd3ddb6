// For the tests of this folder: short ways to make nodes, also nodes that construction would refuse.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/spec/spec.h"

namespace sarek::spec::test {

using namespace ir;  // NOLINT: tests

struct TestGraph {
  Graph g;

  NodeId raw(Op op, Type type, std::vector<NodeId> sources = {}, Arg arg = {}, std::uint32_t tag = 0) {
    return g.make_raw(op, type, sources, std::move(arg), tag);
  }
  NodeId weak(Int128 v) { return g.make(Op::Const, {}, ConstValue::of_int(v)); }
  NodeId weak_float(double v) { return g.make(Op::Const, {}, ConstValue::of_float(v)); }
  NodeId boolean(bool v) { return g.make(Op::Const, {}, ConstValue::of_bool(v)); }
  NodeId invalid() { return g.make(Op::Const, {}, ConstValue::invalid()); }
  NodeId lit(Type t, Int128 v) { return g.make(Op::Cast, {weak(v)}, TypeArg{t}); }
  /// A scalar of type t that is no literal.
  NodeId var(Type t, int slot = 0) {
    ParamArg p;
    p.slot = slot;
    p.type = t;
    return g.make(Op::Param, {}, p);
  }
  NodeId ranged(Type t, std::int64_t lo, std::int64_t hi, int slot = 0) {
    ParamArg p;
    p.slot = slot;
    p.type = t;
    p.range = {lo, hi};
    return g.make(Op::Param, {}, p);
  }
  NodeId storage(Op op, Type t, AddressSpace space, std::optional<std::int64_t> size, std::vector<std::string> devices = {}, int slot = 0) {
    ParamArg p;
    p.slot = slot;
    p.type = t;
    p.space = space;
    p.size = size;
    p.devices = std::move(devices);
    return g.make(op, {}, p);
  }
  NodeId param(Type t, std::int64_t size, int slot = 0) { return storage(Op::Param, t, AddressSpace::Global, size, {}, slot); }
  NodeId range(NodeId end, AxisType axis = AxisType::Loop, int id = 0) { return g.make(Op::Range, {end}, RangeArg{{id}, axis}); }
  NodeId void_value() { return g.make(Op::Group, {}); }
  NodeId index(NodeId base, NodeId i) { return g.make(Op::Index, {base, i}); }
  NodeId empty_stack() { return g.make(Op::Stack, {}); }
  NodeId stack(std::initializer_list<NodeId> s) { return g.make(Op::Stack, s); }
  /// A store that makes a plausible effect.
  NodeId effect() { return g.make(Op::Store, {index(param(Type::F32, 16), lit(Type::I32, 0)), lit(Type::F32, 0)}); }

  Spec::Decision decide(const Spec& spec, NodeId n, Options options = {}) {
    Context c(g, options);
    return spec.decide(c, n);
  }
  bool ok(const Spec& spec, NodeId n, Options options = {}) { return decide(spec, n, options).accepted; }
};

}  // namespace sarek::spec::test
