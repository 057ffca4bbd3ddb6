#include "compiler/passes/rewrite.h"

#include <algorithm>
#include <array>

namespace sarek::passes {

using namespace ir;

bool is_leaf(const Graph& graph, NodeId id) {
  const Op op = graph.op(id);
  if (op == Op::Const || op == Op::Param || op == Op::Buffer) return true;
  if (op == Op::Cast) return graph.op(graph.source(id, 0)) == Op::Const;
  if (op == Op::Special) return is_leaf(graph, graph.source(id, 0));
  return op == Op::Group && graph.sources(id).empty();
}

Rewriter::Rewriter(Program program) : program_(std::move(program)), old_body_(std::move(program_.body)) {
  program_.body.clear();
  now_.resize(program_.graph.size());
  emitted_.resize(program_.graph.size());
  lists_.emplace_back();
  lists_.back().reserve(old_body_.size());
  for (std::uint32_t i = 0; i < program_.graph.size(); ++i) next_tag_ = std::max(next_tag_, program_.graph[NodeId(i)].tag + 1);
}

NodeId Rewriter::place(NodeId id) {
  if (emitted_.size() <= id.index()) emitted_.resize(program_.graph.size() + program_.graph.size() / 2);
  emitted_[id.index()] = true;
  lists_[lists_.size() - 1 - outwards_].push_back(id);
  return id;
}

void Rewriter::map_sources(NodeId old) {
  const std::span<const NodeId> sources = program_.graph.sources(old);
  scratch_.assign(sources.begin(), sources.end());
  for (NodeId& s : scratch_) s = now(s);
}

NodeId Rewriter::remake(NodeId old, std::span<const NodeId> sources, bool always_new) {
  Graph& graph = program_.graph;
  const Node node = graph[old];
  range_ = node.range;
  if (!always_new) {
    const std::span<const NodeId> before = graph.sources(old);
    NodeId id = old;
    if (!std::equal(before.begin(), before.end(), sources.begin(), sources.end()))
      id = graph.make(node.op, sources, Arg(graph.arg(old)), node.tag, node.range);
    // A node with this tag may stand in the new body already (in another branch, say): then this one needs an identity of its own.
    if (!emitted(id)) return place(id);
  }
  return place(graph.make(node.op, sources, Arg(graph.arg(old)), next_tag_++, node.range));
}

NodeId Rewriter::keep(NodeId old) {
  map_sources(old);
  return keep_with(old, scratch_);
}

NodeId Rewriter::keep_with(NodeId old, std::span<const NodeId> sources) {
  if (is_leaf(program_.graph, old)) {
    if (!emitted(old)) {
      place(old);
      lists_[lists_.size() - 1 - outwards_].pop_back();
      leaves_.push_back(old);
    }
    return old;
  }
  const NodeId id = remake(old, sources, false);
  replace(old, id);
  return id;
}

NodeId Rewriter::keep_outwards(NodeId old, std::size_t outwards) {
  outwards_ = outwards;
  const NodeId id = keep(old);
  outwards_ = 0;
  return id;
}

NodeId Rewriter::copy_outwards(NodeId old, std::size_t outwards) {
  outwards_ = outwards;
  const NodeId id = copy(old);
  outwards_ = 0;
  return id;
}

NodeId Rewriter::copy(NodeId old) {
  if (is_leaf(program_.graph, old)) return keep(old);
  map_sources(old);
  const NodeId id = remake(old, scratch_, true);
  replace(old, id);
  return id;
}

void Rewriter::replace(NodeId old, NodeId by) {
  if (now_.size() <= old.index()) now_.resize(program_.graph.size());
  now_[old.index()] = by;
}

NodeId Rewriter::emit(Op op, std::span<const NodeId> sources, Arg arg) {
  return place(program_.graph.make(op, sources, std::move(arg), next_tag_++, range_));
}

NodeId Rewriter::leaf(Op op, std::span<const NodeId> sources, Arg arg) {
  const NodeId id = program_.graph.make(op, sources, std::move(arg));
  return keep_with(id, {});
}

NodeId Rewriter::constant(Type type, ConstValue value) {
  const NodeId c = leaf(Op::Const, {}, value);
  return leaf(Op::Cast, std::array{c}, TypeArg{type});
}

NodeId Rewriter::zero(Type type) {
  if (type == Type::Bool) return boolean(false);
  return is_float(type) ? constant(type, ConstValue::of_float(0.0)) : integer(type, 0);
}

NodeId Rewriter::cast(NodeId x, Type type) { return program_.graph.type(x) == type ? x : emit(Op::Cast, {x}, TypeArg{type}); }

NodeId Rewriter::bitcast(NodeId x, Type type) { return program_.graph.type(x) == type ? x : emit(Op::Bitcast, {x}, TypeArg{type}); }

void Rewriter::scan_numbers() {
  next_axis_ = 0;
  next_buffer_ = 0;
  const Graph& graph = program_.graph;
  for (const NodeId id : old_body_) {
    const Op op = graph.op(id);
    if (op == Op::Buffer) next_buffer_ = std::max(next_buffer_, graph.arg_as<ParamArg>(id)->slot + 1);
    if (op == Op::Range) next_axis_ = std::max(next_axis_, graph.arg_as<RangeArg>(id)->axis_id.front() + 1);
    if (op == Op::If) {
      const std::optional<std::int64_t> distinct = integer_literal(graph, graph.source(id, 1));
      if (distinct && *distinct < INT32_MAX) next_axis_ = std::max(next_axis_, static_cast<int>(*distinct) + 1);
    }
  }
}

NodeId Rewriter::reg(std::string name, Type type) {
  if (next_buffer_ < 0) scan_numbers();
  ParamArg p;
  p.slot = next_buffer_++;
  p.type = type;
  p.size = 1;
  p.name = std::move(name);
  p.space = AddressSpace::Reg;
  return leaf(Op::Buffer, {}, p);
}

int Rewriter::fresh_axis() {
  if (next_axis_ < 0) scan_numbers();
  return next_axis_++;
}

std::vector<NodeId> Rewriter::take_list() {
  std::vector<NodeId> list = std::move(lists_.back());
  lists_.pop_back();
  return list;
}

void Rewriter::append_list(const std::vector<NodeId>& list) { lists_.back().insert(lists_.back().end(), list.begin(), list.end()); }

Program Rewriter::finish() {
  program_.body = std::move(leaves_);
  program_.body.insert(program_.body.end(), lists_.front().begin(), lists_.front().end());
  return std::move(program_);
}

Program compact(Program program) {
  Graph fresh;
  std::vector<NodeId> now(program.graph.size());
  std::vector<NodeId> sources;
  std::uint32_t tag = 1;
  for (NodeId& id : program.body) {
    const Node& node = program.graph[id];
    sources.clear();
    for (const NodeId s : program.graph.sources(id)) sources.push_back(now[s.index()]);
    now[id.index()] =
        fresh.make_raw(node.op, node.type, sources, Arg(program.graph.arg(id)), is_leaf(program.graph, id) ? 0 : tag++, node.range);
    id = now[id.index()];
  }
  program.graph = std::move(fresh);
  return program;
}

}  // namespace sarek::passes
