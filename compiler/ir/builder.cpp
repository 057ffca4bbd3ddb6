#include "compiler/ir/builder.h"

#include <algorithm>

namespace sarek::ir {
namespace {

constexpr std::int64_t kMaxLength = 2147483647;  // lengths and grids are i32 unless a kernel is wide
constexpr const char* kAxis[] = {"x", "y", "z"};

}  // namespace

ProgramBuilder::ProgramBuilder(std::string name, std::array<int, 3> block) {
  program_.name = std::move(name);
  program_.block = block;
}

NodeId ProgramBuilder::scalar_param(std::string name, Type type) {
  const int param = static_cast<int>(program_.params.size());
  const int slot = static_cast<int>(program_.slots.size());
  KernelParam p;
  p.name = name;
  p.element = {std::string(type_name(type)), type_bytes(type), type_bytes(type), {{"", type, 0}}};
  p.first_slot = slot;
  program_.params.push_back(std::move(p));
  program_.slots.push_back({Slot::Kind::Scalar, type, std::move(name), param, -1, 0});
  return slot_value(slot);
}

NodeId ProgramBuilder::buffer_param(std::string name, Type element, Access access) {
  const int param = static_cast<int>(program_.params.size());
  const int slot = static_cast<int>(program_.slots.size());
  KernelParam p;
  p.name = name;
  p.is_buffer = true;
  p.access = access;
  p.element = {std::string(type_name(element)), type_bytes(element), type_bytes(element), {{"", element, 0}}};
  p.first_slot = slot;
  program_.params.push_back(std::move(p));
  program_.slots.push_back({Slot::Kind::Buffer, Type::Void, std::move(name), param, -1, 0});
  return view(slot, element);
}

NodeId ProgramBuilder::view(int slot, Type type) {
  ParamArg p;
  p.slot = slot;
  p.type = type;
  p.name = program_.slots[static_cast<std::size_t>(slot)].name;
  p.space = AddressSpace::Global;
  return leaf(Op::Param, {}, p);
}

NodeId ProgramBuilder::slot_value(int slot) {
  const Slot& s = program_.slots[static_cast<std::size_t>(slot)];
  ParamArg p;
  p.slot = slot;
  p.type = s.type;
  p.name = s.name;
  switch (s.kind) {
    case Slot::Kind::Buffer:
    case Slot::Kind::Scalar: break;
    case Slot::Kind::Length:
    case Slot::Kind::SharedLength: p.range = {0, s.type == Type::I64 ? INT64_MAX : kMaxLength}; break;
    case Slot::Kind::NumGroups: p.range = {1, kMaxLength}; break;
  }
  return leaf(Op::Param, {}, p);
}

NodeId ProgramBuilder::length(int buffer_slot) {
  for (std::size_t i = 0; i < program_.slots.size(); ++i)
    if (program_.slots[i].kind == Slot::Kind::Length && program_.slots[i].of_slot == buffer_slot) return slot_value(static_cast<int>(i));
  const std::string name = program_.slots[static_cast<std::size_t>(buffer_slot)].name + ".len";
  program_.slots.push_back({Slot::Kind::Length, program_.wide ? Type::I64 : Type::I32, name, -1, buffer_slot, 0});
  return slot_value(static_cast<int>(program_.slots.size() - 1));
}

NodeId ProgramBuilder::num_groups(int axis) {
  for (std::size_t i = 0; i < program_.slots.size(); ++i)
    if (program_.slots[i].kind == Slot::Kind::NumGroups && program_.slots[i].axis == axis) return slot_value(static_cast<int>(i));
  program_.slots.push_back({Slot::Kind::NumGroups, Type::I32, std::string("num_groups.") + kAxis[axis], -1, -1, axis});
  return slot_value(static_cast<int>(program_.slots.size() - 1));
}

int ProgramBuilder::slot_of(NodeId param) const {
  const auto* p = program_.graph.arg_as<ParamArg>(param);
  return p ? p->slot : -1;
}

NodeId ProgramBuilder::constant(Type type, ConstValue value) {
  const NodeId c = leaf(Op::Const, {}, value);
  return leaf(Op::Cast, std::array{c}, TypeArg{type});
}

NodeId ProgramBuilder::zero(Type type) {
  if (type == Type::Bool) return bool_constant(false);
  return is_float(type) ? float_constant(type, 0.0) : int_constant(type, 0);
}

NodeId ProgramBuilder::local_id(int axis) {
  return leaf(Op::Special, std::array{i32(program_.block[static_cast<std::size_t>(axis)])},
              NameArg{std::string("local_id.") + kAxis[axis]});
}

NodeId ProgramBuilder::group_id(int axis) {
  return leaf(Op::Special, std::array{num_groups(axis)}, NameArg{std::string("group_id.") + kAxis[axis]});
}

NodeId ProgramBuilder::global_id(int axis) {
  NodeId group = group_id(axis);
  NodeId local = local_id(axis);
  NodeId extent = i32(program_.block[static_cast<std::size_t>(axis)]);
  if (program_.wide) {
    group = cast(group, Type::I64);
    local = cast(local, Type::I64);
    extent = int_constant(Type::I64, program_.block[static_cast<std::size_t>(axis)]);
  }
  return op(Op::Add, {op(Op::Mul, {group, extent}), local});
}

NodeId ProgramBuilder::linear_local_id() {
  NodeId linear = local_id(0);
  if (program_.block[1] > 1) linear = op(Op::Add, {linear, op(Op::Mul, {local_id(1), i32(program_.block[0])})});
  if (program_.block[2] > 1) linear = op(Op::Add, {linear, op(Op::Mul, {local_id(2), i32(program_.block[0] * program_.block[1])})});
  return linear;
}

NodeId ProgramBuilder::void_value() { return leaf(Op::Group, {}, {}); }

NodeId ProgramBuilder::reg(std::string name, Type type, std::int64_t size) {
  ParamArg p;
  p.slot = next_buffer_++;
  p.type = type;
  p.size = size;
  p.name = std::move(name);
  p.space = AddressSpace::Reg;
  return leaf(Op::Buffer, {}, p);
}

NodeId ProgramBuilder::shared(std::string name, Type type, std::int64_t size) {
  ParamArg p;
  p.slot = next_buffer_++;
  p.type = type;
  p.size = size;
  p.name = std::move(name);
  p.space = AddressSpace::Local;
  return leaf(Op::Buffer, {}, p);
}

NodeId ProgramBuilder::dynamic_shared(std::string name, Type type) {
  ParamArg p;
  p.slot = next_buffer_++;
  p.type = type;
  p.name = name;
  p.space = AddressSpace::Local;
  const NodeId buffer = leaf(Op::Buffer, {}, p);
  program_.slots.push_back({Slot::Kind::SharedLength, Type::I32, name + ".len", -1, p.slot, 0});
  return buffer;
}

NodeId ProgramBuilder::dynamic_shared_length(NodeId buffer) {
  const int number = slot_of(buffer);
  for (std::size_t i = 0; i < program_.slots.size(); ++i)
    if (program_.slots[i].kind == Slot::Kind::SharedLength && program_.slots[i].of_slot == number) return slot_value(static_cast<int>(i));
  return {};
}

NodeId ProgramBuilder::op(Op op, std::initializer_list<NodeId> sources, Arg arg) {
  return this->op(op, std::span<const NodeId>(sources.begin(), sources.size()), std::move(arg));
}

NodeId ProgramBuilder::op(Op op, std::span<const NodeId> sources, Arg arg) {
  return append(program_.graph.make(op, sources, std::move(arg), next_tag_++, range_));
}

NodeId ProgramBuilder::cast(NodeId x, Type type) {
  if (program_.graph.type(x) == type) return x;
  return op(Op::Cast, {x}, TypeArg{type});
}

NodeId ProgramBuilder::bitcast(NodeId x, Type type) {
  if (program_.graph.type(x) == type) return x;
  return op(Op::Bitcast, {x}, TypeArg{type});
}

NodeId ProgramBuilder::logical_not(NodeId x) { return op(Op::Xor, {x, bool_constant(true)}); }

NodeId ProgramBuilder::ins(Ins code, Type type, std::initializer_list<NodeId> sources, std::string text) {
  return op(Op::Ins, sources, InsArg{code, type, std::move(text)});
}

NodeId ProgramBuilder::index(NodeId buffer, NodeId i) { return op(Op::Index, {buffer, i}); }

void ProgramBuilder::trap(NodeId condition, std::string message) { ins(Ins::Trap, Type::Void, {condition}, std::move(message)); }

NodeId ProgramBuilder::begin_if(NodeId condition) {
  const NodeId distinct = i32(next_axis_++);
  return op(Op::If, {condition, distinct});
}

void ProgramBuilder::end_if(NodeId opened) { op(Op::Endif, {opened}); }

NodeId ProgramBuilder::begin_range(NodeId count) { return op(Op::Range, {count}, RangeArg{{next_axis_++}, AxisType::Loop}); }

NodeId ProgramBuilder::begin_unrolled(NodeId count, int factor) {
  return op(Op::Range, {count}, RangeArg{{next_axis_++, factor}, AxisType::Unroll});
}

void ProgramBuilder::end_range(NodeId range) { op(Op::End, {void_value(), range}); }

NodeId ProgramBuilder::begin_loop() { return op(Op::Range, {void_value()}, RangeArg{{next_axis_++}, AxisType::Loop}); }

void ProgramBuilder::end_loop(NodeId loop, NodeId again) { op(Op::Backedge, {void_value(), loop, again}); }

NodeId ProgramBuilder::leaf(Op op, std::span<const NodeId> sources, Arg arg) {
  const NodeId id = program_.graph.make(op, sources, std::move(arg));
  if (is_leaf_.size() <= id.index()) is_leaf_.resize(id.index() + 1);
  if (!is_leaf_[id.index()]) {
    is_leaf_[id.index()] = true;
    leaves_.push_back(id);
  }
  return id;
}

NodeId ProgramBuilder::append(NodeId id) {
  rest_.push_back(id);
  return id;
}

Program ProgramBuilder::finish() {
  program_.body = leaves_;
  program_.body.insert(program_.body.end(), rest_.begin(), rest_.end());
  return std::move(program_);
}

ProgramBuilder rebuild(const Program& from) {
  ProgramBuilder builder(from.name, from.block);
  // Numbers that the new program gives out must not meet those that are copied.
  for (const NodeId id : from.body) {
    const auto* buffer = from.graph.op(id) == Op::Buffer ? from.graph.arg_as<ParamArg>(id) : nullptr;
    if (buffer) builder.next_buffer_ = std::max(builder.next_buffer_, buffer->slot + 1);
    if (const auto* range = from.graph.arg_as<RangeArg>(id))
      for (const int axis : range->axis_id) builder.next_axis_ = std::max(builder.next_axis_, axis + 1);
    if (from.graph.op(id) == Op::If) {
      const std::optional<std::int64_t> distinct = integer_literal(from.graph, from.graph.source(id, 1));
      if (distinct) builder.next_axis_ = std::max(builder.next_axis_, static_cast<int>(*distinct) + 1);
    }
  }
  Program& p = builder.program();
  p.params = from.params;
  p.slots = from.slots;
  p.wide = from.wide;
  p.module_file = from.module_file;
  p.range = from.range;
  return builder;
}

}  // namespace sarek::ir
