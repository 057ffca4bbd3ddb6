// What programs restrict and add (semantics-spec 1.5.3), and the few lenient rules of the forms between stages (1.5.4).
#include "compiler/spec/rules.h"

namespace sarek::spec::rules {

using namespace ir;  // NOLINT: a table of rules over the IR's names

namespace {

bool is_literal(const Graph& g, NodeId n) {
  return g.op(n) == Op::Const || (g.op(n) == Op::Cast && !g.sources(n).empty() && g.op(g.source(n, 0)) == Op::Const);
}

Verdict typed_literals(Context& c, NodeId n) {
  for (const NodeId s : c.graph.sources(n))
    if (c.graph.op(s) == Op::Const) return false;
  return std::nullopt;
}

Verdict no_weak_type(Context& c, NodeId n) { return is_weak(c.graph.type(n)) ? Verdict(false) : std::nullopt; }

Verdict shrink_of_storage(Context& c, NodeId n) {
  NodeId base = c.graph.source(n, 0);
  while (c.graph.op(base) == Op::Bitcast && !c.graph.sources(base).empty()) base = c.graph.source(base, 0);
  const Op op = c.graph.op(base);
  return (has_trait(op, kDefine) || op == Op::After) && is_literal(c.graph, c.graph.source(n, 2)) ? Verdict(true) : std::nullopt;
}

Verdict reject(Context&, NodeId) { return false; }

Verdict own_storage(Context& c, NodeId n) {
  const auto* p = c.graph.arg_as<ParamArg>(n);
  return p && (p->space == AddressSpace::Reg || p->space == AddressSpace::Local);
}

Verdict no_device(Context& c, NodeId n) {
  const auto* p = c.graph.arg_as<ParamArg>(n);
  return p && !p->devices.empty() ? Verdict(false) : std::nullopt;
}

Verdict no_invalid(Context& c, NodeId n) { return is_invalid(c.graph, n) ? Verdict(false) : std::nullopt; }

Verdict branch(Context& c, NodeId n) {
  const Graph& g = c.graph;
  if (g.type(n) != Type::Void) return std::nullopt;
  const Op first = g.op(g.source(n, 0));
  if (g.op(n) == Op::Endif) return first == Op::If ? Verdict(true) : std::nullopt;
  const Op distinct = g.op(g.source(n, 1));
  return g.type(g.source(n, 0)) == Type::Bool && (distinct == Op::Cast || distinct == Op::Index || distinct == Op::Shrink) ? Verdict(true)
                                                                                                                           : std::nullopt;
}

Verdict lowered_special(Context& c, NodeId n) {
  if (c.graph.type(c.graph.source(n, 0)) != Type::I32) return std::nullopt;
  return c.graph.arg_as<NameArg>(n) != nullptr;
}

Verdict unpaired_gate(Context& c, NodeId n) { return c.graph.sources(n).size() == 2 ? Verdict(false) : std::nullopt; }

Verdict integer_end(Context& c, NodeId n) {
  const Graph& g = c.graph;
  if (g.type(g.source(n, 0)) != Type::Void || g.sources(n).size() < 2) return std::nullopt;
  const auto integer = [](const Graph& graph, NodeId s) { return is_int(graph.type(s)); };
  return has_no_arg(g, n) && every_source(g, n, 1, integer);
}

Verdict accept(Context&, NodeId) { return true; }

}  // namespace

std::vector<Rule> program() {
  return {
      {"P1", OpSet::where([](Op op) { return op != Op::Cast; }), "a constant appears only under the cast that types it", typed_literals},
      {"P2", OpSet::where([](Op op) { return op != Op::Const; }), "every width is stated", no_weak_type},
      {"P3", {Op::Shrink}, "storage may be cut to a constant length", shrink_of_storage},
      {"P4", OpSet::where([](Op op) { return has_trait(op, kMovement); }), "there is no other movement", reject},
      {"P5", {Op::Buffer, Op::Alloc}, "a program's own buffers are registers or block-shared", own_storage},
      {"P6", {Op::Param}, "a program runs on the devices of its call's arguments", no_device},
      {"P7", {Op::Const}, "no index is Invalid any more", no_invalid},
      {"P8", {Op::If, Op::Endif}, "an IF has a Bool condition and a mark; an ENDIF closes it", branch},
      {"P9", {Op::Special}, "a lowered index is i32 and has a name", lowered_special},
      {"P10", {Op::Load}, "an alternative needs a gate", unpaired_gate},
  };
}

std::vector<Rule> between_stages() {
  return {
      {"F1", {Op::End}, "an end over any integers: what replaced a range counts", integer_end},
      {"F2", {Op::After}, "anything may be ordered", accept},
      {"F3", {Op::Load, Op::Store}, "loads and stores of any form", accept},
  };
}

}  // namespace sarek::spec::rules
