// Shapes, address spaces, ranges and storage phases. Tables fill in the order of node ids: sources always have smaller ids, so one
// forward pass needs no recursion, however deep the graph is.
#include "compiler/ir/shape.h"

#include <algorithm>
#include <bit>

namespace sarek::ir {
namespace {

constexpr std::int64_t kMaxExtent = INT64_MAX;

/// The shape of an elementwise node: the longest of its sources', where an extent 1 gives way.
std::optional<Shape> broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::nullopt;
  const Shape& longer = a->size() >= b->size() ? *a : *b;
  const Shape& shorter = a->size() >= b->size() ? *b : *a;
  Shape result = longer;
  const std::size_t skip = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const Dim one{1, {}};
    Dim& d = result[skip + i];
    if (d == shorter[i] || shorter[i] == one) continue;
    if (d != one) return std::nullopt;
    d = shorter[i];
  }
  return result;
}

std::int64_t element_bytes(const Graph& graph, NodeId id) { return std::max(1, type_bytes(graph.type(id))); }

/// The greatest power of two, at most `limit`, that divides `bytes`.
int alignment_of(std::int64_t bytes, int limit) {
  if (bytes == 0) return limit;
  const auto lowest = std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(bytes));
  return static_cast<int>(std::min<std::int64_t>(lowest, limit));
}

/// A number that divides the value of an integer node whatever its symbols are; 0 when the value is 0. Bounded in depth: index arithmetic
/// of starts is shallow, and 1 is always right.
std::int64_t known_multiple(const Graph& graph, NodeId id, int depth = 0) {
  if (const auto v = integer_literal(graph, id)) return *v < 0 ? -(*v + 1) + 1 : *v;
  if (depth > 16) return 1;
  const Op op = graph.op(id);
  if (op == Op::Param) {
    const auto* p = graph.arg_as<ParamArg>(id);
    return p ? std::max<std::int64_t>(1, p->multiple_of) : 1;
  }
  if (op == Op::Mul) {
    std::int64_t product = 1;
    for (const NodeId s : graph.sources(id)) {
      const std::int64_t m = known_multiple(graph, s, depth + 1);
      // Only powers of two matter to alignment, so a product that leaves i64 is cut to one.
      if (__builtin_mul_overflow(product, m, &product)) return std::int64_t{1} << 32;
    }
    return product;
  }
  if (op == Op::Add || op == Op::Sub) {
    const std::int64_t a = known_multiple(graph, graph.source(id, 0), depth + 1), b = known_multiple(graph, graph.source(id, 1), depth + 1);
    if (a == 0 || b == 0) return a + b;
    return std::int64_t{1} << std::min(std::countr_zero(static_cast<std::uint64_t>(a)), std::countr_zero(static_cast<std::uint64_t>(b)));
  }
  return 1;
}

bool is_storage(Op op) { return op == Op::Param || op == Op::Buffer || op == Op::Alloc; }

bool is_disk(const std::vector<std::string>& devices) {
  return std::any_of(devices.begin(), devices.end(), [](const std::string& d) {
    const std::string kind = d.substr(0, d.find(':'));
    return kind.size() == 4 && std::equal(kind.begin(), kind.end(), "DISK", [](char a, char b) { return (a & ~0x20) == b; });
  });
}

}  // namespace

bool has_valid_arity(const Graph& graph, NodeId id) {
  const OpInfo& info = op_info(graph.op(id));
  const int n = static_cast<int>(graph.sources(id).size());
  return n >= info.min_sources && n <= info.max_sources;
}

std::optional<Shape> dims_of(const Graph& graph, NodeId id) {
  const auto dim = [&](NodeId s) -> std::optional<Dim> {
    if (const auto v = integer_literal(graph, s)) return Dim{*v, {}};
    if (!is_int(graph.type(s))) return std::nullopt;
    return Dim{0, s};
  };
  Shape shape;
  if (graph.op(id) == Op::Stack) {
    for (const NodeId s : graph.sources(id)) {
      const auto d = dim(s);
      if (!d) return std::nullopt;
      shape.push_back(*d);
    }
    return shape;
  }
  const auto d = dim(id);
  if (!d) return std::nullopt;
  shape.push_back(*d);
  return shape;
}

const std::optional<Shape>& ShapeTable::of(NodeId id) {
  known_.reserve(graph_.size());
  while (known_.size() <= id.index()) known_.push_back(compute(NodeId(static_cast<std::uint32_t>(known_.size()))));
  return known_[id.index()];
}

std::optional<Shape> ShapeTable::compute(NodeId id) const {
  if (!has_valid_arity(graph_, id)) return std::nullopt;
  const std::span<const NodeId> sources = graph_.sources(id);
  const auto shape = [&](std::size_t i) -> const std::optional<Shape>& { return known_[sources[i].index()]; };
  switch (graph_.op(id)) {
    case Op::Const:
    case Op::Special:
    case Op::Getaddr: return Shape{};
    case Op::Param:
    case Op::Buffer:
    case Op::Alloc: {
      const auto* p = graph_.arg_as<ParamArg>(id);
      if (!p) return std::nullopt;
      if (p->space == AddressSpace::None) return Shape{};
      return Shape{p->size ? Dim{*p->size, {}} : Dim{0, id}};
    }
    case Op::Range: return graph_.type(id) == Type::Void ? std::optional<Shape>() : Shape{};
    case Op::Index: {
      if (!shape(0) || shape(0)->size() < sources.size() - 1) return std::nullopt;
      return Shape(shape(0)->begin() + static_cast<std::ptrdiff_t>(sources.size() - 1), shape(0)->end());
    }
    case Op::Shrink:
    case Op::Pad: return dims_of(graph_, sources[2]);
    case Op::Reshape:
    case Op::Expand: return dims_of(graph_, sources[1]);
    case Op::Permute: {
      const auto* axes = graph_.arg_as<AxesArg>(id);
      if (!axes || !shape(0) || axes->axes.size() != shape(0)->size()) return std::nullopt;
      Shape result;
      for (const int a : axes->axes) {
        if (a < 0 || static_cast<std::size_t>(a) >= shape(0)->size()) return std::nullopt;
        result.push_back((*shape(0))[static_cast<std::size_t>(a)]);
      }
      return result;
    }
    case Op::Stack: {
      Shape result{Dim{static_cast<std::int64_t>(sources.size()), {}}};
      if (sources.empty()) return result;
      if (!shape(0)) return std::nullopt;
      result.insert(result.end(), shape(0)->begin(), shape(0)->end());
      return result;
    }
    case Op::Bitcast: {
      if (!shape(0)) return std::nullopt;
      const int from = type_bits(graph_.type(sources[0])), to = type_bits(graph_.type(id));
      if (from == to || from == 0 || to == 0 || shape(0)->empty()) return *shape(0);
      Shape result = *shape(0);
      Dim& last = result.back();
      if (!last.is_constant() || last.value < 0 || last.value > kMaxExtent / 128 || last.value * from % to != 0) return std::nullopt;
      last.value = last.value * from / to;
      return result;
    }
    case Op::Reduce: {
      const auto* r = graph_.arg_as<ReduceArg>(id);
      if (!r || !shape(0) || r->axes < 0 || static_cast<std::size_t>(r->axes) > shape(0)->size()) return std::nullopt;
      return Shape(shape(0)->begin(), shape(0)->end() - r->axes);
    }
    case Op::Stage: {
      if (!shape(0)) return std::nullopt;
      Shape result;
      for (std::size_t i = 1; i < sources.size(); ++i) {
        if (graph_.op(sources[i]) != Op::Range) return std::nullopt;
        const auto extent = dims_of(graph_, graph_.source(sources[i], 0));
        if (!extent || extent->size() != 1) return std::nullopt;
        result.push_back(extent->front());
      }
      result.insert(result.end(), shape(0)->begin(), shape(0)->end());
      return result;
    }
    case Op::Wmma: return shape(2);
    case Op::Cast:
    case Op::Load:
    case Op::Flip:
    case Op::Copy:
    case Op::Detach:
    case Op::ContiguousBackward:
    case Op::Mselect:
    case Op::Mstack:
    case Op::Allreduce:
    case Op::Unshard:
    case Op::After: return shape(0);
    case Op::Noop: return sources.empty() || graph_.type(id) == Type::Void ? std::optional<Shape>() : shape(0);
    case Op::Customi:
    case Op::Ins:
    case Op::Call:
    case Op::Custom: return graph_.type(id) == Type::Void ? std::optional<Shape>() : Shape{};
    case Op::Binary: {
      const auto* b = graph_.arg_as<BytesArg>(id);
      return b ? std::optional<Shape>(Shape{Dim{static_cast<std::int64_t>(b->bytes.size()), {}}}) : std::nullopt;
    }
    case Op::Program:
    case Op::Linear:
    case Op::Source:
    case Op::Sink:
    case Op::Group:
    case Op::Store:
    case Op::Barrier:
    case Op::If:
    case Op::End:
    case Op::Endif:
    case Op::Backedge:
    case Op::CustomFunction: return std::nullopt;
    case Op::Exp2:
    case Op::Log2:
    case Op::Sin:
    case Op::Sqrt:
    case Op::Reciprocal:
    case Op::Neg:
    case Op::Trunc:
    case Op::Add:
    case Op::Mul:
    case Op::Shl:
    case Op::Shr:
    case Op::Cdiv:
    case Op::Max:
    case Op::Cmod:
    case Op::Cmplt:
    case Op::Cmpne:
    case Op::Cmpeq:
    case Op::Xor:
    case Op::Or:
    case Op::And:
    case Op::Threefry:
    case Op::Sub:
    case Op::Fdiv:
    case Op::Pow:
    case Op::Floordiv:
    case Op::Floormod:
    case Op::Where:
    case Op::Mulacc: {
      std::optional<Shape> result = shape(0);
      for (std::size_t i = 1; i < sources.size(); ++i) result = broadcast(result, shape(i));
      return result;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> max_numel(const Shape& shape, const MaxOf& max_of) {
  std::int64_t product = 1;
  for (const Dim& d : shape) {
    const std::optional<std::int64_t> extent = d.is_constant() ? d.value : max_of(d.symbol);
    if (!extent || __builtin_mul_overflow(product, *extent, &product)) return std::nullopt;
  }
  return product;
}

NodeId storage_base(const Graph& graph, NodeId id) {
  while (has_valid_arity(graph, id)) {
    const Op op = graph.op(id);
    if (!has_trait(op, kMovement) && op != Op::Unshard && op != Op::Bitcast && op != Op::After) break;
    id = graph.source(id, 0);
  }
  return id;
}

AddressSpace address_space(const Graph& graph, NodeId id) {
  while (has_valid_arity(graph, id)) {
    const Op op = graph.op(id);
    if (is_storage(op)) {
      const auto* p = graph.arg_as<ParamArg>(id);
      if (!p) return AddressSpace::None;
      return p->space == AddressSpace::None ? AddressSpace::Alu : p->space;
    }
    if (op == Op::Stage) {
      const auto* s = graph.arg_as<StageArg>(id);
      return s ? s->space : AddressSpace::Global;
    }
    const bool views = has_trait(op, kMovement) || op == Op::Index || op == Op::After || op == Op::Cast || op == Op::Bitcast ||
                       op == Op::Unshard || op == Op::Mselect || op == Op::Mstack || op == Op::Copy;
    if (!views) break;
    id = graph.source(id, 0);
  }
  return graph.type(id) == Type::Void ? AddressSpace::None : AddressSpace::Alu;
}

std::vector<NodeId> ended_ranges(const Graph& graph, NodeId id) {
  std::vector<NodeId> ended;
  const std::span<const NodeId> sources = graph.sources(id);
  const auto from = [&](std::size_t first) {
    for (std::size_t i = first; i < sources.size(); ++i) ended.push_back(sources[i]);
  };
  const Op op = graph.op(id);
  if (op == Op::Stage || op == Op::Reduce || op == Op::End || op == Op::Call || op == Op::Unshard) from(1);
  if (op == Op::Linear) from(0);
  if (op == Op::Backedge && sources.size() > 1) ended.push_back(sources[1]);
  if (op == Op::Barrier || op == Op::After) {
    for (std::size_t i = op == Op::After ? 1 : 0; i < sources.size(); ++i) {
      // One level is enough to name the loop: an effect that only orders others runs outside of what they closed already.
      if (graph.op(sources[i]) == Op::Barrier || graph.op(sources[i]) == Op::After) continue;
      const std::vector<NodeId> inner = ended_ranges(graph, sources[i]);
      ended.insert(ended.end(), inner.begin(), inner.end());
    }
  }
  return ended;
}

const std::vector<NodeId>& RangeTable::of(NodeId id) {
  while (known_.size() <= id.index()) {
    const NodeId current(static_cast<std::uint32_t>(known_.size()));
    std::vector<NodeId> inside;
    for (const NodeId s : graph_.sources(current)) {
      const std::vector<NodeId>& below = known_[s.index()];
      std::vector<NodeId> merged;
      std::set_union(inside.begin(), inside.end(), below.begin(), below.end(), std::back_inserter(merged));
      inside = std::move(merged);
    }
    if (graph_.op(current) != Op::Range) {
      for (const NodeId closed : ended_ranges(graph_, current)) {
        if (graph_.op(closed) == Op::Range) {
          std::erase(inside, closed);
        } else {
          for (const NodeId r : known_[closed.index()]) std::erase(inside, r);
        }
      }
    } else if (!std::binary_search(inside.begin(), inside.end(), current)) {
      inside.push_back(current);  // the greatest id so far: stays sorted
    }
    known_.push_back(std::move(inside));
  }
  return known_[id.index()];
}

StoragePhase storage_phase(const Graph& graph, NodeId id, ShapeTable& shapes) {
  if (!has_valid_arity(graph, id)) return {};
  const NodeId base_id = storage_base(graph, id);
  if (graph.op(base_id) == Op::Stage) {
    // What a STAGE of a view of a BUFFER becomes starts where the view's first byte lies.
    const NodeId source = graph.source(base_id, 0);
    if (graph.op(storage_base(graph, source)) != Op::Buffer || graph.op(source) == Op::Permute || graph.op(source) == Op::Flip ||
        graph.op(source) == Op::Pad)
      return {};
    const StoragePhase inner = storage_phase(graph, source, shapes);
    return {alignment_of(inner.phase, inner.align), 0};
  }
  const auto* storage = is_storage(graph.op(base_id)) ? graph.arg_as<ParamArg>(base_id) : nullptr;
  if (!storage || storage->space == AddressSpace::None || is_disk(storage->devices)) return {};
  StoragePhase result{storage->align, storage->phase};

  // Views from the outside in: only a SHRINK moves the start. `whole` holds while everything below keeps row-major order.
  std::vector<NodeId> views;
  for (NodeId v = id; v != base_id; v = graph.source(v, 0)) views.push_back(v);
  bool row_major = true;
  for (auto it = views.rbegin(); it != views.rend(); ++it) {
    const Op op = graph.op(*it);
    if (op == Op::Permute || op == Op::Flip || op == Op::Pad || op == Op::Expand) row_major = false;
    if (op != Op::Shrink) continue;
    const NodeId start_source = graph.source(*it, 1);
    std::vector<NodeId> starts;
    if (graph.op(start_source) == Op::Stack) {
      starts.assign(graph.sources(start_source).begin(), graph.sources(start_source).end());
    } else {
      starts.push_back(start_source);
    }
    const std::optional<Shape>& below = shapes.of(graph.source(*it, 0));
    const std::int64_t bytes = element_bytes(graph, *it);
    if (!below || below->size() != starts.size() || !row_major) {
      const bool still = std::all_of(starts.begin(), starts.end(), [&](NodeId s) { return integer_literal(graph, s) == 0; });
      if (!still) result = {alignment_of(bytes, result.align), 0};
      continue;
    }
    std::int64_t stride = bytes;
    for (std::size_t i = starts.size(); i-- > 0;) {
      if (const auto start = integer_literal(graph, starts[i])) {
        std::int64_t skipped = 0;
        if (__builtin_mul_overflow(*start, stride, &skipped)) skipped = 0;
        // Bytes modulo align, also for a negative start.
        result.phase = static_cast<int>((((result.phase + skipped % result.align) % result.align) + result.align) % result.align);
      } else {
        std::int64_t step = 0;
        if (__builtin_mul_overflow(known_multiple(graph, starts[i]), stride, &step)) step = bytes;
        result.align = alignment_of(step, result.align);
        result.phase %= result.align;
      }
      const Dim& d = (*below)[i];
      if (i > 0 && (!d.is_constant() || __builtin_mul_overflow(stride, d.value, &stride))) stride = bytes;
    }
  }
  return result;
}

bool args_fit(const Graph& graph, NodeId call, ShapeTable& shapes) {
  const std::span<const NodeId> sources = graph.sources(call);
  if (sources.empty()) return false;
  for (const NodeId id : toposort(graph, sources[0], Calls::Skip)) {
    const auto* p = graph.op(id) == Op::Param ? graph.arg_as<ParamArg>(id) : nullptr;
    if (!p || p->space != AddressSpace::Global || p->slot < 0 || static_cast<std::size_t>(p->slot) + 1 >= sources.size()) continue;
    const StoragePhase at = storage_phase(graph, sources[static_cast<std::size_t>(p->slot) + 1], shapes);
    if (p->align < 1 || at.align < p->align || at.phase % p->align != p->phase) return false;
  }
  return true;
}

std::vector<NodeId> toposort(const Graph& graph, NodeId root, Calls calls) {
  struct Frame {
    NodeId id;
    std::size_t next;
  };
  std::vector<NodeId> order;
  std::vector<bool> seen(graph.size());
  std::vector<Frame> stack;
  const auto enter = [&](NodeId id) {
    if (seen[id.index()]) return;
    seen[id.index()] = true;
    stack.push_back({id, calls == Calls::Skip && graph.op(id) == Op::Call ? std::size_t{1} : std::size_t{0}});
  };
  enter(root);
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next < graph.sources(top.id).size()) {
      enter(graph.source(top.id, top.next++));
    } else {
      order.push_back(top.id);
      stack.pop_back();
    }
  }
  return order;
}

}  // namespace sarek::ir
