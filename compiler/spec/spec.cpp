// Rule lists made into specifications, and the walk over a graph.
#include "compiler/spec/spec.h"

#include <charconv>
#include <iostream>
#include <stdexcept>

#include "compiler/ir/printer.h"
#include "compiler/spec/rules.h"

namespace sarek::spec {

using ir::NodeId;

Spec::Spec(std::string_view name, std::vector<Rule> rules) : name_(name), rules_(std::move(rules)) {
  for (std::size_t i = 0; i < rules_.size(); ++i)
    for (int op = 0; op < ir::kOpCount; ++op)
      if (rules_[i].ops.contains(static_cast<ir::Op>(op))) by_op_[static_cast<std::size_t>(op)].push_back(static_cast<std::uint16_t>(i));
}

Spec::Decision Spec::decide(Context& context, NodeId node) const {
  if (!ir::has_valid_arity(context.graph, node)) return {};
  for (const std::uint16_t i : by_op_[static_cast<std::size_t>(context.graph.op(node))]) {
    const Verdict verdict = rules_[i].decide(context, node);
    if (verdict) return {*verdict, &rules_[i]};
  }
  return {};
}

namespace {

std::vector<Rule> joined(std::initializer_list<std::vector<Rule>> lists) {
  std::vector<Rule> all;
  for (const std::vector<Rule>& l : lists) all.insert(all.end(), l.begin(), l.end());
  return all;
}

std::string shortest(double v) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, v);
  std::string out(text, end);
  // A float reads as a float: 1 is written 1.0.
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

/// An argument inside a failure's message. A node's own argument is bare text; that of a source is a literal (`'CPU'`, ConstFloat(1.5)).
std::string argument_text(const ir::Graph& graph, NodeId node, bool own) {
  const ir::Arg& arg = graph.arg(node);
  const auto text = [&](const std::string& s) { return own ? s : "'" + s + "'"; };
  if (std::holds_alternative<std::monostate>(arg)) return "None";
  if (const auto* v = std::get_if<ir::ConstValue>(&arg)) {
    switch (v->kind) {
      case ir::ConstValue::Kind::Int: return to_text(v->integer);
      case ir::ConstValue::Kind::Float: return own ? shortest(v->number) : "ConstFloat(" + shortest(v->number) + ")";
      case ir::ConstValue::Kind::Bool: return v->integer ? "True" : "False";
      case ir::ConstValue::Kind::Invalid: return "Invalid";
    }
  }
  if (const auto* n = std::get_if<ir::NameArg>(&arg)) return text(n->name);
  if (const auto* d = std::get_if<ir::DeviceArg>(&arg); d && d->devices.size() == 1) return text(d->devices[0]);
  if (const auto* t = std::get_if<ir::TypeArg>(&arg)) return std::string(ir::type_name(t->type));
  const std::string printed = ir::print_arg(graph, node);
  return printed.empty() ? "None" : printed.substr(1);
}

std::string failure_message(const ir::Graph& graph, std::size_t position, NodeId node) {
  std::string out = "UOp verification failed at " + std::to_string(position) + " on Ops." + std::string(ir::op_info(graph.op(node)).name) +
                    " " + std::string(ir::type_name(graph.type(node))) + " " + std::to_string(graph.sources(node).size()) + " [";
  bool first = true;
  for (const NodeId s : graph.sources(node)) {
    if (!first) out += ", ";
    first = false;
    out += "(Ops." + std::string(ir::op_info(graph.op(s)).name) + ", " + std::string(ir::type_name(graph.type(s))) + ", " +
           argument_text(graph, s, false) + ")";
  }
  return out + "] " + argument_text(graph, node, true);
}

}  // namespace

const Spec& shared() {
  static const Spec spec("shared", rules::shared());
  return spec;
}
const Spec& tensor() {
  static const Spec spec("tensor", joined({rules::tensor(), rules::shared()}));
  return spec;
}
const Spec& program() {
  static const Spec spec("program", joined({rules::program(), rules::shared()}));
  return spec;
}
const Spec& full() {
  static const Spec spec("full", joined({rules::between_stages(), tensor().rules(), program().rules()}));
  return spec;
}
const Spec& kernel_graph() {
  static const Spec spec("kernel_graph", rules::kernel_graph());
  return spec;
}

Result<Unit, VerifyFailure> type_verify(const ir::Graph& graph, NodeId root, const Spec& spec, ir::Calls calls, const Options& options) {
  Context context(graph, options);
  const std::vector<NodeId> order = ir::toposort(graph, root, calls);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Spec::Decision decision = spec.decide(context, order[i]);
    if (decision.accepted) continue;
    if (options.debug >= 3) {
      std::ostream& log = options.log ? *options.log : std::cerr;
      for (std::size_t j = 0; j < order.size(); ++j)
        log << j << ": %" << order[j].value << " = " << ir::print_node(graph, order[j]) << '\n';
    }
    return Err(
        VerifyFailure{i, order[i], decision.rule ? std::string(decision.rule->id) : std::string(), failure_message(graph, i, order[i])});
  }
  return Unit{};
}

void require_verified(const ir::Graph& graph, NodeId root, const Spec& spec, ir::Calls calls, const Options& options) {
  const Result<Unit, VerifyFailure> result = type_verify(graph, root, spec, calls, options);
  if (!result) throw std::invalid_argument(result.error().message);
}

}  // namespace sarek::spec
