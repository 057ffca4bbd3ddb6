// What tensor graphs add (semantics-spec 1.5.2), and the graph of kernel calls that they are scheduled into (1.5.5).
#include <algorithm>

#include "compiler/spec/rules.h"

namespace sarek::spec::rules {

using namespace ir;  // NOLINT: a table of rules over the IR's names

namespace {

bool is_reduction(Op op) { return has_trait(op, kReduce); }

Verdict float_unary(Context& c, NodeId n) { return is_float(c.graph.type(n)) || is_invalid(c.graph, c.graph.source(n, 0)); }

Verdict global_buffer(Context& c, NodeId n) {
  const auto* p = c.graph.arg_as<ParamArg>(n);
  if (!p || p->space != AddressSpace::Global) return std::nullopt;
  return p->size.has_value() && !p->devices.empty() && device_sources_ok(c, n, p->devices);
}

Verdict alloc(Context& c, NodeId n) {
  const auto* p = c.graph.arg_as<ParamArg>(n);
  if (!p) return false;
  const bool space = p->space == AddressSpace::Global || p->space == AddressSpace::Local || p->space == AddressSpace::Reg;
  return space && (p->devices.empty() || p->space == AddressSpace::Global) && device_sources_ok(c, n, p->devices);
}

Verdict variable(Context& c, NodeId n) {
  const auto* p = c.graph.arg_as<ParamArg>(n);
  if (!p || !c.graph.sources(n).empty() || p->space != AddressSpace::None || !p->range) return std::nullopt;
  return p->devices.empty();
}

Verdict unlowered_special(Context& c, NodeId n) {
  if (c.graph.type(c.graph.source(n, 0)) != Type::WeakInt) return std::nullopt;
  return c.graph.arg_as<NameArg>(n) != nullptr;
}

bool is_integer_list(const Graph& g, NodeId s) {
  return is_int(g.type(s)) || (g.op(s) == Op::Stack && g.type(s) == Type::Void && g.sources(s).empty());
}

Verdict reshape(Context& c, NodeId n) { return is_integer_list(c.graph, c.graph.source(n, 1)); }

Verdict pad(Context& c, NodeId n) {
  const NodeId a = c.graph.source(n, 1), b = c.graph.source(n, 2);
  const std::optional<Shape> first = c.shapes.of(a);
  return first && first == c.shapes.of(b) && is_integer_list(c.graph, a) && is_integer_list(c.graph, b);
}

Verdict permute(Context& c, NodeId n) {
  if (c.graph.op(n) == Op::Flip) return c.graph.arg_as<FlipArg>(n) != nullptr;
  const auto* a = c.graph.arg_as<AxesArg>(n);
  if (!a) return false;
  std::vector<int> sorted = a->axes;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int>(i)) return false;
  return true;
}

Verdict reduce(Context& c, NodeId n) {
  const auto* r = c.graph.arg_as<ReduceArg>(n);
  const auto narrow = [](const Graph& g, NodeId s) { return g.type(s) == Type::WeakInt || g.type(s) == Type::I32; };
  return r && is_reduction(r->op) && every_source(c.graph, n, 1, narrow);
}

Verdict copy(Context& c, NodeId n) {
  const auto* d = c.graph.arg_as<DeviceArg>(n);
  return d && !d->devices.empty() && std::none_of(d->devices.begin(), d->devices.end(), is_disk) && device_sources_ok(c, n, d->devices);
}

Verdict several_devices(Context& c, NodeId n) {
  const Graph& g = c.graph;
  const std::span<const NodeId> sources = g.sources(n);
  const auto devices = [&](NodeId s) -> std::vector<std::string> {
    const NodeId base = storage_base(g, s);
    if (const auto* p = g.arg_as<ParamArg>(base)) return p->devices;
    if (const auto* d = g.arg_as<DeviceArg>(base)) return d->devices;
    return {};
  };
  const Op op = g.op(n);
  if (op == Op::Allreduce) {
    const auto* r = g.arg_as<ReduceArg>(n);
    return r && (is_reduction(r->op) || r->op == Op::Or);
  }
  const auto* axes = g.arg_as<AxesArg>(n);
  if (op == Op::Unshard) {
    const auto weak = [](const Graph& graph, NodeId s) { return graph.type(s) == Type::WeakInt; };
    return axes && sources.size() == 1 + axes->axes.size() && std::is_sorted(axes->axes.begin(), axes->axes.end()) &&
           every_source(g, n, 1, weak);
  }
  if (op == Op::Mselect)
    return axes && axes->axes.size() == 1 && axes->axes[0] >= 0 && static_cast<std::size_t>(axes->axes[0]) < devices(sources[0]).size();
  // MSTACK: every part on one device, or one part without a device several times.
  bool on_devices = true, identical = true;
  for (const NodeId s : sources) {
    on_devices = on_devices && devices(s).size() == 1;
    identical = identical && s == sources[0] && devices(s).empty();
  }
  return on_devices || identical;
}

Verdict gradient_mark(Context& c, NodeId n) { return has_no_arg(c.graph, n); }

Verdict accept(Context&, NodeId) { return true; }

Verdict listing(Context& c, NodeId n) { return c.graph.type(n) == Type::Void ? Verdict(true) : std::nullopt; }

Verdict compiled_program(Context& c, NodeId n) {
  constexpr Op kStages[] = {Op::Sink, Op::Linear, Op::Source, Op::Binary};
  const std::span<const NodeId> sources = c.graph.sources(n);
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (c.graph.op(sources[i]) != kStages[i]) return false;
  return c.graph.type(n) == Type::Void;
}

Verdict tensor_call(Context& c, NodeId n) {
  if (!is_opaque_body(c.graph.op(c.graph.source(n, 0)))) return std::nullopt;
  return c.graph.arg_as<CallArg>(n) != nullptr;
}

// --- the graph of kernel calls ---------------------------------------------------------------------------------------------

bool is_loop_range(const Graph& g, NodeId n) {
  const auto* r = g.op(n) == Op::Range ? g.arg_as<RangeArg>(n) : nullptr;
  return r && r->axis_type == AxisType::Loop;
}

/// A constant, a Loop range, or weak integer sums and products of them. Walks with a list, not the call stack.
bool is_loop_bound(const Graph& g, NodeId root) {
  std::vector<NodeId> pending{root};
  std::vector<bool> seen(root.index() + 1);
  while (!pending.empty()) {
    const NodeId n = pending.back();
    pending.pop_back();
    if (seen[n.index()]) continue;
    seen[n.index()] = true;
    if (g.op(n) == Op::Const || is_loop_range(g, n)) continue;
    if ((g.op(n) != Op::Add && g.op(n) != Op::Mul) || g.type(n) != Type::WeakInt) return false;
    pending.insert(pending.end(), g.sources(n).begin(), g.sources(n).end());
  }
  return true;
}

Verdict kernel_constant(Context& c, NodeId n) {
  if (c.graph.op(n) != Op::Cast) return true;
  return c.graph.op(c.graph.source(n, 0)) == Op::Const ? Verdict(true) : std::nullopt;
}

Verdict kernel_stack(Context& c, NodeId n) {
  const auto fits = [](const Graph& g, NodeId s) { return g.op(s) == Op::Param || is_loop_bound(g, s); };
  return every_source(c.graph, n, 0, fits) ? Verdict(true) : std::nullopt;
}

Verdict kernel_parameter(Context& c, NodeId n) { return c.graph.sources(n).empty() ? Verdict(true) : std::nullopt; }

Verdict kernel_storage(Context& c, NodeId n) {
  const auto* p = c.graph.arg_as<ParamArg>(n);
  if (!p || !device_sources_ok(c, n, p->devices)) return false;
  if (c.graph.op(n) == Op::Alloc) return p->space == AddressSpace::Global;
  return p->space == AddressSpace::Global || p->space == AddressSpace::Local || p->space == AddressSpace::Reg;
}

Verdict kernel_range(Context& c, NodeId n) {
  const auto* r = c.graph.arg_as<RangeArg>(n);
  return r && (r->axis_type == AxisType::Device || r->axis_type == AxisType::Loop);
}

Verdict kernel_end(Context& c, NodeId n) {
  return c.graph.op(c.graph.source(n, 0)) == Op::Call && every_source(c.graph, n, 1, is_loop_range);
}

Verdict kernel_shrink(Context& c, NodeId n) {
  const std::vector<NodeId>& inside = c.ranges.of(n);
  return !inside.empty() && std::all_of(inside.begin(), inside.end(), [&](NodeId r) { return is_loop_range(c.graph, r); });
}

Verdict kernel_bound(Context& c, NodeId n) { return is_loop_bound(c.graph, n); }

Verdict kernel_call(Context& c, NodeId n) {
  if (!is_opaque_body(c.graph.op(c.graph.source(n, 0)))) return std::nullopt;
  return args_fit(c.graph, n, c.shapes);
}

Verdict kernel_after(Context& c, NodeId n) {
  const Op op = c.graph.op(c.graph.source(n, 0));
  const bool storage =
      has_trait(op, kMovement) || has_trait(op, kDefine) || op == Op::After || op == Op::Mstack || op == Op::Mselect || op == Op::Bitcast;
  return storage ? Verdict(true) : std::nullopt;
}

}  // namespace

std::vector<Rule> tensor() {
  return {
      {"T1", {Op::Sin, Op::Log2, Op::Exp2, Op::Sqrt, Op::Reciprocal}, "these functions are of floats", float_unary},
      {"T2", {Op::Buffer}, "a global buffer has a size and a device", global_buffer},
      {"T3", {Op::Alloc}, "storage not yet a buffer has a place; only global storage has a device", alloc},
      {"T4", {Op::Param}, "a variable has no device", variable},
      {"T5", {Op::Special}, "an index not lowered yet has a name", unlowered_special},
      {"T6", {Op::Reshape, Op::Expand}, "a shape is integers", reshape},
      {"T7", {Op::Pad, Op::Shrink}, "start and size are integers of one shape", pad},
      {"T8", {Op::Permute, Op::Flip}, "the argument is a permutation, or a bool for each axis", permute},
      {"T9", {Op::Reduce}, "a reduction sums, multiplies or takes the greatest over narrow ranges", reduce},
      {"T10", {Op::Copy}, "nothing is copied to a disk", copy},
      {"T11", {Op::Allreduce, Op::Unshard, Op::Mselect, Op::Mstack}, "what spans several devices names them", several_devices},
      {"T12", {Op::Detach, Op::ContiguousBackward}, "marks for gradients have no argument", gradient_mark},
      {"T13", {Op::Stage}, "anything may be materialised", accept},
      {"T14", {Op::Linear, Op::Source}, "a program's linear form and source", listing},
      {"T15", {Op::Program}, "a program is filled in order: sink, linear form, source, binary", compiled_program},
      {"T16", {Op::Call}, "a call's arguments may start anywhere before scheduling", tensor_call},
  };
}

std::vector<Rule> kernel_graph() {
  return {
      {"K1",
       {Op::Sink},
       "a sink of calls",
       [](Context& c, NodeId n) { return c.graph.type(n) == Type::Void ? Verdict(true) : std::nullopt; }},
      {"K2", {Op::Const, Op::Cast, Op::Bitcast}, "constants, casts of constants and bitcasts make arguments", kernel_constant},
      {"K3", {Op::Stack}, "a stack of parameters and loop bounds", kernel_stack},
      {"K4", {Op::Param}, "a parameter names its slot", kernel_parameter},
      {"K5", {Op::Buffer, Op::Alloc}, "storage has a place", kernel_storage},
      {"K6", {Op::Range}, "only devices and loops are walked over", kernel_range},
      {"K7", {Op::End}, "only calls run in loops", kernel_end},
      {"K8", {Op::Shrink}, "a view moves with loops; a view at rest was resolved", kernel_shrink},
      {"K9",
       {Op::Add, Op::Mul},
       "bounds are sums and products of loop ranges and constants",
       [](Context& c, NodeId n) { return c.graph.type(n) == Type::WeakInt ? kernel_bound(c, n) : std::nullopt; }},
      {"K10", {Op::Call}, "a call's arguments start where its body assumes", kernel_call},
      {"K11", {Op::After}, "what is ordered is storage", kernel_after},
      {"K12", {Op::Mstack, Op::Mselect}, "what spans several devices names them", several_devices},
  };
}

}  // namespace sarek::spec::rules
