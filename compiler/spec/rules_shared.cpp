// The rules that hold at every stage (semantics-spec 1.5.1). S11 is the order itself: S8 to S10 stand before S12.
#include <algorithm>
#include <iostream>

#include "compiler/ir/printer.h"
#include "compiler/spec/rules.h"

namespace sarek::spec::rules {

using namespace ir;  // NOLINT: a table of rules over the IR's names

bool matches(const Graph& g, NodeId x, Type type) { return g.type(x) == type || is_invalid(g, x); }

bool weak_ok(const Graph& g, NodeId x, Type type) { return matches(g, x, type) || (is_weak(g.type(x)) && weak_of(type) == g.type(x)); }

bool is_disk(const std::string& device) {
  const std::string kind = device.substr(0, device.find(':'));
  return kind.size() == 4 && std::equal(kind.begin(), kind.end(), "DISK", [](char a, char b) { return (a & ~0x20) == b; });
}

bool device_sources_ok(Context& c, NodeId node, const std::vector<std::string>& devices) {
  const std::span<const NodeId> sources = c.graph.sources(node);
  const std::size_t first = has_trait(c.graph.op(node), kDefine) ? 0 : 1;
  const std::size_t count = sources.size() - first;
  if (devices.size() <= 1) return count == 0;
  if (count != 1) return false;
  const auto* range = c.graph.op(sources[first]) == Op::Range ? c.graph.arg_as<RangeArg>(sources[first]) : nullptr;
  return range && range->axis_type == AxisType::Device && c.bounds.vmax(sources[first]) + 1 == static_cast<Int128>(devices.size());
}

bool is_opaque_body(Op op) {
  return op == Op::Sink || op == Op::Program || op == Op::Linear || op == Op::Store || op == Op::CustomFunction;
}

bool every_source(const Graph& g, NodeId node, std::size_t first, bool (*test)(const Graph&, NodeId)) {
  const std::span<const NodeId> s = g.sources(node);
  for (std::size_t i = first; i < s.size(); ++i)
    if (!test(g, s[i])) return false;
  return true;
}

bool has_no_arg(const Graph& g, NodeId node) { return std::holds_alternative<std::monostate>(g.arg(node)); }

namespace {

bool is_integer(const Graph& g, NodeId s) { return is_int(g.type(s)); }
bool is_integer_or_invalid(const Graph& g, NodeId s) { return is_int(g.type(s)) || is_invalid(g, s); }

/// INDEX, SHRINK, or a CAST of one: what a LOAD or STORE may go through.
NodeId memory_place(const Graph& g, NodeId p) {
  if (g.op(p) == Op::Cast && !g.sources(p).empty()) p = g.source(p, 0);
  return g.op(p) == Op::Index || g.op(p) == Op::Shrink ? p : NodeId{};
}

/// The bounds rule (semantics-spec 1.7): whatever the gate, the bounds of a single index must lie within the storage.
bool in_bounds(Context& c, NodeId place, NodeId gate) {
  const Graph& g = c.graph;
  if (!c.options.check_oob || g.op(place) != Op::Index || g.sources(place).size() != 2) return true;
  const NodeId storage = g.source(place, 0), index = g.source(place, 1);
  if (is_invalid(g, index)) return true;
  const Interval at = c.bounds.of(index);
  if (at.empty()) return true;  // inside a loop that never runs
  const std::optional<Shape>& shape = c.shapes.of(storage);
  const auto most = [&](NodeId symbol) -> std::optional<std::int64_t> {
    const Int128 v = c.bounds.vmax(symbol);
    // Storage without a size is its own extent: nothing is known of it.
    if (has_trait(g.op(symbol), kDefine) && g.arg_as<ParamArg>(symbol) && g.arg_as<ParamArg>(symbol)->space != AddressSpace::None)
      return std::nullopt;
    return v > INT64_MAX ? std::nullopt : std::optional<std::int64_t>(static_cast<std::int64_t>(v));
  };
  const std::optional<std::int64_t> size = shape ? max_numel(*shape, most) : std::nullopt;
  if (size && at.lo >= 0 && at.hi < *size) return true;
  std::ostream& log = c.options.log ? *c.options.log : std::cerr;
  log << "# INDEX NOT PROVEN IN BOUNDS: [" << to_text(at.lo) << ", " << to_text(at.hi) << "] is not within 0 - "
      << (size ? std::to_string(*size) : std::string("(unknown size)")) << ", and the bound cannot be proven without a solver\n"
      << "idx=" << render(g, index) << '\n'
      << "mask=" << (gate ? render(g, gate) : std::string("True")) << '\n';
  return false;
}

Verdict accept(Context&, NodeId) { return true; }

Verdict sink(Context& c, NodeId n) { return c.graph.type(n) == Type::Void ? Verdict(true) : std::nullopt; }

Verdict constant(Context& c, NodeId n) {
  const auto* v = c.graph.arg_as<ConstValue>(n);
  if (!v) return false;
  const Type type = c.graph.type(n);
  switch (v->kind) {
    case ConstValue::Kind::Int: return type == Type::WeakInt;
    case ConstValue::Kind::Float: return type == Type::WeakFloat;
    case ConstValue::Kind::Bool:
    case ConstValue::Kind::Invalid: return type == Type::Bool;
  }
  return false;
}

Verdict empty_stack(Context& c, NodeId n) {
  return c.graph.sources(n).empty() && c.graph.type(n) == Type::Void ? Verdict(true) : std::nullopt;
}

Verdict stack(Context& c, NodeId n) {
  const std::span<const NodeId> sources = c.graph.sources(n);
  if (sources.empty()) return std::nullopt;
  const std::optional<Shape> first = c.shapes.of(sources[0]);
  for (const NodeId s : sources)
    if (!first || c.shapes.of(s) != first || !weak_ok(c.graph, s, c.graph.type(n))) return false;
  return true;
}

Verdict where(Context& c, NodeId n) {
  const Graph& g = c.graph;
  // A condition that is not Bool would be accepted as arithmetic by S12: construction refuses it, and so does this.
  if (g.type(g.source(n, 0)) != Type::Bool) return false;
  return weak_ok(g, g.source(n, 1), g.type(n)) && weak_ok(g, g.source(n, 2), g.type(n));
}

Verdict comparison(Context& c, NodeId n) {
  const Graph& g = c.graph;
  if (g.type(n) != Type::Bool) return false;
  const NodeId x = g.source(n, 0), y = g.source(n, 1);
  return weak_ok(g, x, g.type(y)) || weak_ok(g, y, g.type(x));
}

Verdict bitwise(Context& c, NodeId n) {
  for (const NodeId s : c.graph.sources(n))
    if (is_float(c.graph.type(s))) return false;
  return std::nullopt;
}

Verdict shift(Context& c, NodeId n) {
  const Graph& g = c.graph;
  const NodeId x = g.source(n, 0), count = g.source(n, 1);
  const Type own = g.type(n), type = g.type(count);
  return weak_ok(g, x, own) && (matches(g, count, own) || type == Type::U32 || type == Type::WeakInt);
}

Verdict integer_division(Context& c, NodeId n) {
  const Graph& g = c.graph;
  if (is_int(g.type(n))) return std::nullopt;
  for (const NodeId s : g.sources(n))
    if (is_invalid(g, s)) return std::nullopt;
  return false;
}

Verdict arithmetic(Context& c, NodeId n) {
  for (const NodeId s : c.graph.sources(n))
    if (!weak_ok(c.graph, s, c.graph.type(n))) return false;
  return true;
}

Verdict cast(Context& c, NodeId n) {
  const auto* t = c.graph.arg_as<TypeArg>(n);
  return t && t->type == c.graph.type(n);
}

Verdict range(Context& c, NodeId n) {
  const auto* r = c.graph.arg_as<RangeArg>(n);
  return r && !r->axis_id.empty() && matches(c.graph, c.graph.source(n, 0), c.graph.type(n));
}

Verdict index(Context& c, NodeId n) { return every_source(c.graph, n, 1, is_integer_or_invalid) ? Verdict(true) : std::nullopt; }

Verdict end(Context& c, NodeId n) {
  const Graph& g = c.graph;
  const auto bounded = [](const Graph& graph, NodeId s) { return graph.op(s) == Op::Range && is_integer(graph, s); };
  return has_no_arg(g, n) && g.type(g.source(n, 0)) == Type::Void && every_source(g, n, 1, bounded);
}

Verdict backedge(Context& c, NodeId n) {
  const Graph& g = c.graph;
  const NodeId loop = g.source(n, 1), again = g.source(n, 2);
  const std::optional<Shape>& shape = c.shapes.of(again);
  return has_no_arg(g, n) && g.type(n) == Type::Void && g.op(loop) == Op::Range && g.type(loop) == Type::Void &&
         g.type(again) == Type::Bool && shape && shape->empty() && !is_invalid(g, again);
}

Verdict parameter(Context& c, NodeId n) {
  return c.graph.sources(n).empty() ? Verdict(c.graph.arg_as<ParamArg>(n) != nullptr) : std::nullopt;
}

Verdict buffer(Context& c, NodeId n) {
  if (!c.graph.sources(n).empty()) return std::nullopt;
  const auto* p = c.graph.arg_as<ParamArg>(n);
  return p && (p->space == AddressSpace::Reg || p->space == AddressSpace::Local);
}

Verdict binary(Context& c, NodeId n) { return c.graph.type(n) == Type::U8 && c.graph.arg_as<BytesArg>(n) != nullptr; }

Verdict group(Context& c, NodeId n) {
  const auto effect = [](const Graph& g, NodeId s) { return g.type(s) == Type::Void; };
  return c.graph.type(n) == Type::Void && every_source(c.graph, n, 0, effect) ? Verdict(true) : std::nullopt;
}

Verdict after(Context& c, NodeId n) {
  const Op op = c.graph.op(c.graph.source(n, 0));
  const bool storage = has_trait(op, kMovement) || has_trait(op, kDefine) || op == Op::Stage || op == Op::Index || op == Op::After ||
                       op == Op::Unshard || op == Op::Bitcast || op == Op::Ins;
  return storage ? Verdict(true) : std::nullopt;
}

Verdict custom_function(Context& c, NodeId n) { return c.graph.arg_as<NameArg>(n) != nullptr; }

Verdict call(Context& c, NodeId n) {
  if (!is_opaque_body(c.graph.op(c.graph.source(n, 0)))) return std::nullopt;
  return c.graph.arg_as<CallArg>(n) != nullptr && args_fit(c.graph, n, c.shapes);
}

Verdict barrier(Context& c, NodeId n) { return c.graph.type(n) == Type::Void ? Verdict(true) : std::nullopt; }

Verdict instruction(Context& c, NodeId n) { return c.graph.arg_as<InsArg>(n) != nullptr; }

Verdict load(Context& c, NodeId n) {
  if (c.graph.sources(n).size() != 1) return std::nullopt;
  const NodeId place = memory_place(c.graph, c.graph.source(n, 0));
  return place ? Verdict(in_bounds(c, place, {})) : std::nullopt;
}

Verdict gated_load(Context& c, NodeId n) {
  const Graph& g = c.graph;
  if (g.sources(n).size() != 3 || g.type(g.source(n, 2)) != Type::Bool) return std::nullopt;
  const NodeId place = memory_place(g, g.source(n, 0));
  if (!place) return std::nullopt;
  return matches(g, g.source(n, 1), g.type(n)) && in_bounds(c, place, g.source(n, 2));
}

bool stores_its_type(const Graph& g, NodeId n) { return weak_ok(g, g.source(n, 1), g.type(g.source(n, 0))); }

Verdict store(Context& c, NodeId n) {
  if (c.graph.sources(n).size() != 2) return std::nullopt;
  const NodeId place = memory_place(c.graph, c.graph.source(n, 0));
  return place ? Verdict(stores_its_type(c.graph, n) && in_bounds(c, place, {})) : std::nullopt;
}

Verdict gated_store(Context& c, NodeId n) {
  const Graph& g = c.graph;
  if (g.sources(n).size() != 3 || g.type(g.source(n, 2)) != Type::Bool) return std::nullopt;
  const NodeId place = memory_place(g, g.source(n, 0));
  return place ? Verdict(stores_its_type(g, n) && in_bounds(c, place, g.source(n, 2))) : std::nullopt;
}

Verdict whole_store(Context& c, NodeId n) {
  const Graph& g = c.graph;
  if (g.sources(n).size() != 2 || g.type(n) != Type::Void) return std::nullopt;
  const Op op = g.op(storage_base(g, g.source(n, 0)));
  if (op == Op::Index) return std::nullopt;
  return (has_trait(op, kDefine) || op == Op::Stage) && stores_its_type(g, n);
}

Verdict wmma(Context& c, NodeId n) { return c.graph.arg_as<WmmaArg>(n) != nullptr; }

}  // namespace

std::vector<Rule> shared() {
  return {
      {"S1", {Op::Sink}, "a sink keeps anything alive", sink},
      {"S2", {Op::Noop}, "a no-op groups anything", accept},
      {"S3", {Op::Const}, "a constant has the weak type of its value, or Bool", constant},
      {"S4", {Op::Stack}, "the empty stack is the shape of a scalar", empty_stack},
      {"S5", {Op::Stack}, "a stack holds values of one shape and its type", stack},
      {"S6", {Op::Where}, "a select has a Bool condition and alternatives of its type", where},
      {"S7", OpSet::where(is_comparison), "a comparison is Bool and compares operands of one type", comparison},
      {"S8", {Op::And, Op::Or, Op::Xor, Op::Shl, Op::Shr}, "bitwise operations take no floats", bitwise},
      {"S9", {Op::Shl, Op::Shr}, "a shift keeps its operand's type; its count has that type or is u32", shift},
      {"S10", {Op::Cdiv, Op::Cmod, Op::Floordiv, Op::Floormod}, "integer divisions and remainders take integers only", integer_division},
      {"S12", OpSet::where(is_alu), "arithmetic has operands of its type", arithmetic},
      {"S13", {Op::Cast, Op::Bitcast}, "a cast names its type", cast},
      {"S14", {Op::Range}, "a range has an axis and the type of its end", range},
      {"S15", {Op::Index}, "indexes are integers", index},
      {"S16", {Op::End}, "an end closes bounded loops around an effect", end},
      {"S17", {Op::Backedge}, "a back-edge closes an unbounded loop on a scalar Bool", backedge},
      {"S18", {Op::Param}, "a parameter names its slot", parameter},
      {"S19", {Op::Buffer}, "a program's own buffers are registers or block-shared", buffer},
      {"S20", {Op::Binary}, "a binary holds bytes", binary},
      {"S21", {Op::Group}, "a group holds effects", group},
      {"S22", {Op::After}, "what is ordered is storage", after},
      {"S23", {Op::Custom, Op::Customi}, "text of a target is not looked into", accept},
      {"S24", {Op::CustomFunction}, "a custom function has a name", custom_function},
      {"S25", {Op::Call}, "a call's arguments start where its body assumes", call},
      {"S26", {Op::Barrier}, "a barrier orders any effects", barrier},
      {"S27", {Op::Ins}, "an instruction of ins.def", instruction},
      {"S28", {Op::Load}, "a load goes through an index or a shrink, in bounds", load},
      {"S29", {Op::Load}, "a gated load has an alternative of its type", gated_load},
      {"S30", {Op::Store}, "a store writes a value of its target's type, in bounds", store},
      {"S31", {Op::Store}, "a gated store writes a value of its target's type, in bounds", gated_store},
      {"S32", {Op::Store}, "a whole store goes to storage", whole_store},
      {"S33", {Op::Wmma}, "a matrix multiply-accumulate has its argument", wmma},
  };
}

}  // namespace sarek::spec::rules
