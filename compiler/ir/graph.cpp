// Hash-consing, type derivation, and the small questions about one node.
#include "compiler/ir/graph.h"

#include <algorithm>
#include <stdexcept>

#include "compiler/support/numeric.h"

namespace sarek::ir {
namespace {

const Arg kNoArg{};

class Hasher {
 public:
  void add(std::uint64_t v) { state_ = (state_ ^ v) * 0x9e3779b97f4a7c15ull, state_ ^= state_ >> 29; }
  void add(const std::string& s) { add(std::hash<std::string>{}(s)); }
  void add(const std::vector<std::string>& list) {
    add(list.size());
    for (const std::string& s : list) add(s);
  }
  void add(const std::vector<int>& list) {
    add(list.size());
    for (const int v : list) add(static_cast<std::uint64_t>(v));
  }
  template <class E>
    requires std::is_enum_v<E>
  void add(E e) {
    add(static_cast<std::uint64_t>(e));
  }
  std::size_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3ull;
};

void hash_into(Hasher&, const std::monostate&) {}
void hash_into(Hasher& h, const ConstValue& v) {
  h.add(v.kind);
  h.add(static_cast<std::uint64_t>(v.integer));
  h.add(static_cast<std::uint64_t>(v.integer >> 64));
  h.add(numeric::bits(v.number));
}
void hash_into(Hasher& h, const ParamArg& p) {
  h.add(static_cast<std::uint64_t>(p.slot));
  h.add(p.type);
  h.add(p.space);
  h.add(static_cast<std::uint64_t>(p.size.value_or(-1)));
  h.add(p.name);
}
void hash_into(Hasher& h, const RangeArg& r) {
  h.add(r.axis_id);
  h.add(r.axis_type);
}
void hash_into(Hasher& h, const NameArg& n) { h.add(n.name); }
void hash_into(Hasher& h, const TypeArg& t) { h.add(t.type); }
void hash_into(Hasher& h, const InsArg& i) {
  h.add(i.code);
  h.add(i.type);
  h.add(i.text);
}
void hash_into(Hasher& h, const CodeArg& c) {
  h.add(c.code);
  h.add(c.type);
}
void hash_into(Hasher& h, const CallArg& c) {
  h.add(c.name);
  h.add(c.type);
}
void hash_into(Hasher& h, const WmmaArg& w) {
  for (const int d : w.dims) h.add(static_cast<std::uint64_t>(d));
  h.add(w.type_in);
}
void hash_into(Hasher& h, const ReduceArg& r) {
  h.add(r.op);
  h.add(static_cast<std::uint64_t>(r.axes));
}
void hash_into(Hasher& h, const StageArg& s) {
  h.add(s.space);
  h.add(s.devices);
}
void hash_into(Hasher& h, const DeviceArg& d) { h.add(d.devices); }
void hash_into(Hasher& h, const AxesArg& a) { h.add(a.axes); }
void hash_into(Hasher& h, const FlipArg& f) {
  for (const bool b : f.flips) h.add(static_cast<std::uint64_t>(b));
}
void hash_into(Hasher& h, const BytesArg& b) {
  h.add(b.bytes.size());
  for (const std::uint8_t v : b.bytes) h.add(static_cast<std::uint64_t>(v));
}

std::size_t hash_node(Op op, Type type, std::span<const NodeId> sources, ArgId arg, std::uint32_t tag) {
  Hasher h;
  h.add(op);
  h.add(type);
  h.add(static_cast<std::uint64_t>(arg.value));
  h.add(static_cast<std::uint64_t>(tag));
  for (const NodeId s : sources) h.add(static_cast<std::uint64_t>(s.value));
  return h.value();
}

[[noreturn]] void misuse(Op op, std::string_view what) {
  throw std::invalid_argument("no node " + std::string(op_info(op).name) + ": " + std::string(what));
}

Type argument_type(Op op, const Arg& arg) {
  if (const auto* t = std::get_if<TypeArg>(&arg)) return t->type;
  if (const auto* p = std::get_if<ParamArg>(&arg)) return p->type;
  if (const auto* i = std::get_if<InsArg>(&arg)) return i->type;
  if (const auto* c = std::get_if<CodeArg>(&arg)) return c->type;
  if (const auto* c = std::get_if<CallArg>(&arg)) return c->type;
  if (op == Op::Call && std::holds_alternative<std::monostate>(arg)) return Type::Void;
  misuse(op, "the argument names no type");
}

}  // namespace

std::size_t hash_value(const Arg& arg) {
  Hasher h;
  h.add(arg.index());
  std::visit([&](const auto& a) { hash_into(h, a); }, arg);
  return h.value();
}

Type derive_type(const Graph& graph, Op op, std::span<const NodeId> sources, const Arg& arg) {
  const auto type = [&](std::size_t i) { return graph.type(sources[i]); };
  switch (op_info(op).rule) {
    case TypeRule::Void: return Type::Void;
    case TypeRule::Arg: return argument_type(op, arg);
    case TypeRule::First: return type(0);
    case TypeRule::Third: return type(2);
    case TypeRule::Promote: {
      Type all = Type::Void;
      for (std::size_t i = 0; i < sources.size(); ++i) all = promote(all, type(i));
      return all;
    }
    case TypeRule::Bool: return Type::Bool;
    case TypeRule::Value: {
      const auto* v = std::get_if<ConstValue>(&arg);
      if (!v) misuse(op, "the argument is no value");
      switch (v->kind) {
        case ConstValue::Kind::Int: return Type::WeakInt;
        case ConstValue::Kind::Float: return Type::WeakFloat;
        case ConstValue::Kind::Bool:
        case ConstValue::Kind::Invalid: return Type::Bool;
      }
      return Type::Void;
    }
    case TypeRule::FloatUp: return is_invalid(graph, sources[0]) ? Type::Bool : least_upper_float(type(0));
    case TypeRule::Select:
      if (type(0) != Type::Bool) misuse(op, "the condition is not bool");
      return promote(type(1), type(2));
    case TypeRule::Bytes: return Type::U8;
    case TypeRule::Address: return Type::U64;
    case TypeRule::Any: return sources.empty() ? Type::Void : type(0);
  }
  return Type::Void;
}

NodeId Graph::make(Op op, std::span<const NodeId> sources, Arg arg, std::uint32_t tag, SourceRange range) {
  const OpInfo& info = op_info(op);
  const auto count = static_cast<int>(sources.size());
  if (count < info.min_sources || count > info.max_sources) misuse(op, "wrong number of sources (" + std::to_string(count) + ")");
  for (const NodeId source : sources)  // before its type is asked for
    if (source.index() >= nodes_.size()) misuse(op, "a source does not exist");
  if ((op == Op::Shl || op == Op::Shr) && !is_int(type(sources[0])) && !is_invalid(*this, sources[0]))
    misuse(op, "a shift needs an integer");
  const Type type = derive_type(*this, op, sources, arg);
  return make_raw(op, type, sources, std::move(arg), tag, range);
}

NodeId Graph::make_raw(Op op, Type type, std::span<const NodeId> sources, Arg arg, std::uint32_t tag, SourceRange range) {
  for (const NodeId s : sources)
    if (s.index() >= nodes_.size()) misuse(op, "a source does not exist");
  if (sources.size() > 0xffff) misuse(op, "more than 65535 sources");
  const ArgId arg_id = intern(std::move(arg));
  const std::size_t hash = hash_node(op, type, sources, arg_id, tag);
  for (auto [it, end] = node_index_.equal_range(hash); it != end; ++it) {
    const Node& n = nodes_[it->second];
    const NodeId id(it->second);
    const std::span<const NodeId> existing = this->sources(id);
    if (n.op == op && n.type == type && n.arg == arg_id && n.tag == tag &&
        std::equal(existing.begin(), existing.end(), sources.begin(), sources.end()))
      return id;
  }
  Node n;
  n.op = op;
  n.type = type;
  n.source_count = static_cast<std::uint16_t>(sources.size());
  n.source_begin = static_cast<std::uint32_t>(source_pool_.size());
  n.arg = arg_id;
  n.tag = tag;
  n.range = range;
  // The span may point into the pool itself: copy by index.
  const std::vector<NodeId> copy(sources.begin(), sources.end());
  source_pool_.insert(source_pool_.end(), copy.begin(), copy.end());
  nodes_.push_back(n);
  const auto id = static_cast<std::uint32_t>(nodes_.size() - 1);
  node_index_.emplace(hash, id);
  return NodeId(id);
}

const Arg& Graph::arg(NodeId id) const {
  const ArgId a = nodes_[id.index()].arg;
  return a ? args_[a.index()] : kNoArg;
}

ArgId Graph::intern(Arg arg) {
  if (std::holds_alternative<std::monostate>(arg)) return {};
  const std::size_t hash = hash_value(arg);
  for (auto [it, end] = arg_index_.equal_range(hash); it != end; ++it)
    if (args_[it->second] == arg) return ArgId(it->second);
  args_.push_back(std::move(arg));
  const auto id = static_cast<std::uint32_t>(args_.size() - 1);
  arg_index_.emplace(hash, id);
  return ArgId(id);
}

namespace {

Int128 wrap_to(Int128 value, Type type) {
  const int bits = type_bits(type);
  if (bits == 0 || bits >= 128) return value;
  const Int128 span = Int128{1} << bits;
  Int128 r = value & (span - 1);
  if (is_signed(type) && r >= span / 2) r -= span;
  return r;
}

double round_to(double value, Type type) {
  switch (type) {
    case Type::F16: return numeric::f32_from_f16(numeric::f16_from(value));
    case Type::Bf16: return numeric::f32_from_bf16(numeric::bf16_from(value));
    case Type::F32: return static_cast<double>(static_cast<float>(value));
    case Type::Void:
    case Type::Bool:
    case Type::WeakInt:
    case Type::I8:
    case Type::U8:
    case Type::I16:
    case Type::U16:
    case Type::I32:
    case Type::U32:
    case Type::I64:
    case Type::U64:
    case Type::WeakFloat:
    case Type::F8e4m3:
    case Type::F8e5m2:
    case Type::F8e4m3fnuz:
    case Type::F8e5m2fnuz:
    case Type::F64: return value;
  }
  return value;
}

/// An integer as the nearest double, then narrowed: only for integers that a double holds exactly, so one rounding happens.
std::optional<double> exact_double(Int128 v) {
  const auto d = static_cast<double>(v);
  if (static_cast<Int128>(d) != v) return std::nullopt;
  return d;
}

Int128 saturate(double v, Type type) {
  const int bits = type_bits(type);
  if (std::isnan(v)) return 0;
  const Int128 top = is_signed(type) ? (Int128{1} << (bits - 1)) - 1 : (Int128{1} << bits) - 1;
  const Int128 bottom = is_signed(type) ? -(Int128{1} << (bits - 1)) : Int128{0};
  if (v >= std::ldexp(1.0, 100)) return top;
  if (v <= -std::ldexp(1.0, 100)) return bottom;
  const auto truncated = static_cast<Int128>(v);
  return truncated > top ? top : truncated < bottom ? bottom : truncated;
}

}  // namespace

std::optional<ConstValue> literal(const Graph& graph, NodeId id) {
  const Node& n = graph[id];
  if (n.op == Op::Const) {
    const auto* v = graph.arg_as<ConstValue>(id);
    if (!v || v->kind == ConstValue::Kind::Invalid) return std::nullopt;
    return *v;
  }
  if (n.op != Op::Cast || n.source_count == 0 || graph.op(graph.source(id, 0)) != Op::Const) return std::nullopt;
  const auto* v = graph.arg_as<ConstValue>(graph.source(id, 0));
  if (!v || v->kind == ConstValue::Kind::Invalid) return std::nullopt;
  const bool from_float = v->kind == ConstValue::Kind::Float;
  switch (type_kind(n.type)) {
    case TypeKind::None: return std::nullopt;
    case TypeKind::Bool: return ConstValue::of_bool(from_float ? v->number != 0 : v->integer != 0);
    case TypeKind::WeakInt: return from_float ? std::optional<ConstValue>() : *v;
    case TypeKind::Signed:
    case TypeKind::Unsigned: return ConstValue::of_int(from_float ? saturate(v->number, n.type) : wrap_to(v->integer, n.type));
    case TypeKind::WeakFloat:
    case TypeKind::Float: {
      if (from_float) return ConstValue::of_float(round_to(v->number, n.type));
      if (n.type == Type::F32 && !exact_double(v->integer))
        return ConstValue::of_float(static_cast<double>(static_cast<float>(v->integer)));
      if (n.type == Type::F64) return ConstValue::of_float(static_cast<double>(v->integer));
      const std::optional<double> exact = exact_double(v->integer);
      if (!exact) return std::nullopt;
      return ConstValue::of_float(round_to(*exact, n.type));
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> integer_literal(const Graph& graph, NodeId id) {
  const std::optional<ConstValue> v = literal(graph, id);
  if (!v || v->kind == ConstValue::Kind::Float || v->kind == ConstValue::Kind::Invalid) return std::nullopt;
  if (v->integer > INT64_MAX || v->integer < INT64_MIN) return std::nullopt;
  return static_cast<std::int64_t>(v->integer);
}

NodeId base(const Graph& graph, NodeId id) {
  while (has_trait(graph.op(id), kMovement) && !graph.sources(id).empty()) id = graph.source(id, 0);
  return id;
}

NodeId place_base(const Graph& graph, NodeId id) {
  while (true) {
    const Op op = graph.op(id);
    if ((!has_trait(op, kMovement) && op != Op::Bitcast && op != Op::After && op != Op::Unshard && op != Op::Index) ||
        graph.sources(id).empty())
      return id;
    id = graph.source(id, 0);
  }
}

bool is_invalid(const Graph& graph, NodeId id) {
  id = base(graph, id);
  const auto* v = graph.op(id) == Op::Const ? graph.arg_as<ConstValue>(id) : nullptr;
  return v && v->kind == ConstValue::Kind::Invalid;
}

bool is_pure(const Graph& graph, NodeId id) {
  const Op op = graph.op(id);
  if (op == Op::Ins) {
    const auto* a = graph.arg_as<InsArg>(id);
    return a && ins_info(a->code).kind == InsKind::Pure;
  }
  return !has_trait(op, kEffect);
}

}  // namespace sarek::ir
