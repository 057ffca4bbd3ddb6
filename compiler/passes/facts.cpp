#include "compiler/passes/facts.h"

#include <algorithm>
#include <bit>

namespace sarek::passes {

using namespace ir;

bool is_literal(const Graph& graph, NodeId id, Int128 value) {
  const std::optional<ConstValue> v = literal(graph, id);
  return v && (v->kind == ConstValue::Kind::Int || v->kind == ConstValue::Kind::Bool) && v->integer == value;
}

bool is_float_literal(const Graph& graph, NodeId id, double value) {
  const std::optional<ConstValue> v = literal(graph, id);
  return v && *v == ConstValue::of_float(value);
}

std::optional<NodeId> accessed_buffer(const Graph& graph, NodeId id) {
  const Op op = graph.op(id);
  if (op == Op::Load || op == Op::Store || (op == Op::Ins && ins_kind(graph, id) == InsKind::Atomic))
    return place_base(graph, graph.source(id, 0));
  return std::nullopt;
}

AddressSpace space_of(const Graph& graph, NodeId buffer) {
  const auto* p = graph.arg_as<ParamArg>(buffer);
  return p ? p->space : AddressSpace::None;
}

std::optional<InsKind> ins_kind(const Graph& graph, NodeId id) {
  const auto* a = graph.op(id) == Op::Ins ? graph.arg_as<InsArg>(id) : nullptr;
  if (!a) return std::nullopt;
  return ins_info(a->code).kind;
}

bool is_synchronising(const Graph& graph, NodeId id) {
  if (graph.op(id) == Op::Barrier) return true;
  const std::optional<InsKind> kind = ins_kind(graph, id);
  return kind == InsKind::Warp || kind == InsKind::Sync;
}

MemoryClasses::MemoryClasses(const Program& program) : class_(program.graph.size(), -1) {
  shared_.push_back(true);
  count_ = 1;
  for (const NodeId id : program.body) {
    const Op op = program.graph.op(id);
    if (op != Op::Buffer && op != Op::Param) continue;
    switch (space_of(program.graph, id)) {
      case AddressSpace::None:
      case AddressSpace::Alu: break;
      case AddressSpace::Global: class_[id.index()] = 0; break;
      case AddressSpace::Local:
      case AddressSpace::Reg:
        class_[id.index()] = count_++;
        shared_.push_back(is_visible_to_others(program.graph, id));
        break;
    }
  }
}

std::vector<std::vector<int>> changed_classes(const Program& program, const Structure& structure, const MemoryClasses& classes) {
  const Graph& graph = program.graph;
  std::vector<std::vector<int>> changed(program.body.size());
  const auto add = [&](std::size_t at, int memory) {
    for (int opener = structure.parent[at]; opener >= 0; opener = structure.parent[static_cast<std::size_t>(opener)]) {
      std::vector<int>& list = changed[static_cast<std::size_t>(opener)];
      // Lists are short (variables that one loop writes); when the class is here it is in every list further out, too.
      if (std::find(list.begin(), list.end(), memory) != list.end()) return;
      list.push_back(memory);
    }
  };
  for (std::size_t at = 0; at < program.body.size(); ++at) {
    const NodeId id = program.body[at];
    const Op op = graph.op(id);
    if (is_synchronising(graph, id)) {
      for (int memory = 0; memory < classes.count(); ++memory)
        if (classes.is_shared(memory)) add(at, memory);
    } else if (op == Op::Store || (op == Op::Ins && ins_kind(graph, id) == InsKind::Atomic)) {
      const int memory = classes.of(*accessed_buffer(graph, id));
      if (memory >= 0) add(at, memory);
    }
  }
  return changed;
}

}  // namespace sarek::passes
