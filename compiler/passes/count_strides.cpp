// Grid-stride loops as counted loops. `i = first; while i < n { ...; i += stride }` says neither how often it turns nor that threads which
// start side by side stay side by side: i is a variable, and every thread leaves when it likes. Where all threads of a block share n and
// stride, the loop also is "as many turns as the block's first thread needs; in turn k, if first + k * stride < n: ...", whose count the
// block shares and whose index is a sum of thread indices again. A test in front of it asks whether the sums stay in the type's range;
// where they do not, the loop runs as it was written.
#include <algorithm>
#include <cstdint>

#include "compiler/passes/expr.h"
#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/spec/bounds.h"

namespace sarek::passes {

using namespace ir;

namespace {

// Bodies of so many nodes are written twice at most: an index that is not affine costs less than the code then.
constexpr std::size_t kBodyNodes = 300;
// How deep a start, a stride or a limit is looked into.
constexpr int kDepth = 8;
// How far apart the threads of a block may start.
constexpr std::int64_t kMaxSpan = std::int64_t{1} << 20;

struct Strided {
  std::size_t branch = 0;  // position of the IF that holds the body
  std::size_t first_store = 0, step_store = 0;
  NodeId variable;   // the BUFFER
  NodeId index;      // its one LOAD
  NodeId condition;  // index < limit
  NodeId start, limit, stride;
  std::int64_t span = 0;  // start of the block's last thread - start of its first, at most
};

class Counter {
 public:
  explicit Counter(Program program)
      : structure_(structure_of(program).value_or(Structure{})),
        rw_(std::move(program)),
        graph_(rw_.graph()),
        bounds_(graph_, &rw_.program()) {
    position_.assign(graph_.size(), 0);
    const std::vector<NodeId>& body = rw_.body();
    uses_.resize(graph_.size());
    for (std::size_t at = 0; at < body.size(); ++at) {
      position_[body[at].index()] = at;
      if (const auto buffer = accessed_buffer(graph_, body[at])) uses_[buffer->index()].push_back(at);
    }
  }

  Program run() {
    const std::vector<NodeId>& body = rw_.body();
    // Decided beforehand: the walk drops the stores in front of the loops.
    std::vector<std::optional<Strided>> loops(body.size());
    std::vector<bool> dropped(body.size());
    for (std::size_t at = 0; at < body.size(); ++at) {
      loops[at] = match(at);
      if (loops[at]) dropped[loops[at]->first_store] = true;
    }
    for (std::size_t at = 0; at < body.size(); ++at) {
      if (dropped[at]) continue;
      if (!loops[at]) {
        rw_.keep(body[at]);
        continue;
      }
      const auto close = static_cast<std::size_t>(structure_.partner[at]);
      write(*loops[at], at, close);
      at = close;
    }
    return rw_.finish();
  }

 private:
  // --- which loops ----------------------------------------------------------------------------------------------------------------

  /// One value for the block, made of the launch alone.
  bool is_uniform(NodeId id, int depth = kDepth) const {
    const Op op = graph_.op(id);
    if (literal(graph_, id)) return true;
    if (op == Op::Param) return space_of(graph_, id) == AddressSpace::None;
    if (op == Op::Special) return !graph_.arg_as<NameArg>(id)->name.starts_with("local_id.");
    if (depth == 0 || !is_pure(graph_, id) || op == Op::Range || op == Op::Index) return false;
    const auto sources = graph_.sources(id);
    return !sources.empty() && std::all_of(sources.begin(), sources.end(), [&](NodeId s) { return is_uniform(s, depth - 1); });
  }

  /// By how much the value differs within a block at most; none when it is no sum of uniform values and thread indices that stays in range.
  std::optional<std::int64_t> span(NodeId id, int depth = kDepth) {
    if (is_uniform(id)) return 0;
    const Op op = graph_.op(id);
    if (op == Op::Special) {
      const std::string& name = graph_.arg_as<NameArg>(id)->name;
      return rw_.program().block[static_cast<std::size_t>(name.back() - 'x')] - 1;
    }
    if (depth == 0 || (op != Op::Add && op != Op::Mul)) return std::nullopt;
    const NodeId x = graph_.source(id, 0), y = graph_.source(id, 1);
    const std::optional<std::int64_t> factor = integer_literal(graph_, y);
    const auto exact = spec::exact_interval(op, {bounds_.of(x), bounds_.of(y)}, factor, graph_.type(id));
    if (!exact || !spec::type_interval(graph_.type(id)).contains(*exact)) return std::nullopt;
    const std::optional<std::int64_t> of_x = span(x, depth - 1);
    if (!of_x || *of_x > kMaxSpan) return std::nullopt;
    if (op == Op::Mul) return factor && *factor >= 0 && *factor <= kMaxSpan ? std::optional(*of_x * *factor) : std::nullopt;
    const std::optional<std::int64_t> of_y = span(y, depth - 1);
    if (!of_y || *of_y > kMaxSpan) return std::nullopt;
    return *of_x + *of_y;
  }

  /// Does the value stand before the loop at `open`, where its sources can be computed once more too?
  bool stands_before(NodeId id, std::size_t open) const { return position_[id.index()] < open; }

  std::optional<Strided> match(std::size_t open) {
    const std::vector<NodeId>& body = rw_.body();
    const NodeId range = body[open];
    if (graph_.op(range) != Op::Range || graph_.type(graph_.source(range, 0)) != Type::Void) return std::nullopt;
    const auto close = static_cast<std::size_t>(structure_.partner[open]);
    if (close - open > kBodyNodes || graph_.op(body[close - 1]) != Op::Endif) return std::nullopt;
    Strided s;
    s.branch = static_cast<std::size_t>(structure_.partner[close - 1]);
    s.condition = graph_.source(body[s.branch], 0);
    if (s.branch <= open || graph_.source(body[close], 2) != s.condition || graph_.op(s.condition) != Op::Cmplt) return std::nullopt;
    s.index = graph_.source(s.condition, 0);
    s.limit = graph_.source(s.condition, 1);
    if (graph_.op(s.index) != Op::Load || graph_.type(s.index) != Type::I32 || graph_.sources(s.index).size() != 1) return std::nullopt;
    s.variable = *accessed_buffer(graph_, s.index);
    const auto* storage = graph_.arg_as<ParamArg>(s.variable);
    if (space_of(graph_, s.variable) != AddressSpace::Reg || storage->size != 1) return std::nullopt;

    // In front of the branch only what may run in every turn; nowhere a meeting of threads.
    for (std::size_t at = open + 1; at < close; ++at) {
      if (is_synchronising(graph_, body[at])) return std::nullopt;
      const bool place = graph_.op(body[at]) == Op::Index;
      if (at < s.branch && body[at] != s.index && !place && !is_pure(graph_, body[at])) return std::nullopt;
    }
    // The variable: set before the loop, read once, advanced once a turn, nothing else anywhere.
    const std::vector<std::size_t>& uses = uses_[s.variable.index()];
    if (uses.size() != 3) return std::nullopt;
    s.first_store = uses[0];
    s.step_store = uses[2];
    const NodeId first = body[s.first_store], step = body[s.step_store];
    if (uses[1] != position_[s.index.index()] || uses[1] < open || uses[1] > s.branch || s.first_store > open) return std::nullopt;
    if (graph_.op(first) != Op::Store || graph_.sources(first).size() != 2 || graph_.op(step) != Op::Store ||
        graph_.sources(step).size() != 2)
      return std::nullopt;
    if (structure_.parent[s.first_store] != structure_.parent[open] || structure_.parent[s.step_store] != static_cast<int>(s.branch))
      return std::nullopt;
    const NodeId next = graph_.source(step, 1);
    if (graph_.op(next) != Op::Add) return std::nullopt;
    const bool swapped = graph_.source(next, 1) == s.index;
    s.stride = graph_.source(next, swapped ? 0 : 1);
    if (graph_.source(next, swapped ? 1 : 0) != s.index || s.stride == s.index) return std::nullopt;

    s.start = graph_.source(first, 1);
    if (!is_uniform(s.stride) || !is_uniform(s.limit) || is_uniform(s.start)) return std::nullopt;
    if (!stands_before(s.stride, open) || !stands_before(s.limit, open)) return std::nullopt;
    const std::optional<std::int64_t> apart = span(s.start);
    if (!apart || *apart > kMaxSpan || bounds_.vmin(s.start) < 0) return std::nullopt;
    s.span = *apart;
    return s;
  }

  // --- both versions --------------------------------------------------------------------------------------------------------------

  /// The value for the block's first thread.
  Expr least(NodeId id) {
    if (is_uniform(id)) return {&rw_, rw_.now(id)};
    if (graph_.op(id) == Op::Special) return {&rw_, rw_.integer(graph_.type(id), 0)};
    const NodeId x = graph_.source(id, 0), y = graph_.source(id, 1);
    return graph_.op(id) == Op::Add ? least(x) + least(y) : least(x) * least(y);
  }

  NodeId open_branch(Expr condition) { return rw_.emit(Op::If, {condition.id, rw_.integer(Type::I32, rw_.fresh_axis())}); }

  /// Positions [begin, end) once more, but for the step; loops and branches get numbers of their own.
  void copy(std::size_t begin, std::size_t end, const Strided& s) {
    for (std::size_t at = begin; at < end; ++at) {
      const NodeId id = rw_.body()[at];
      if (id == s.index || id == s.condition || at == s.step_store) continue;
      rw_.at(graph_.range(id));
      if (graph_.op(id) == Op::If) {
        rw_.replace(id, open_branch({&rw_, rw_.now(graph_.source(id, 0))}));
      } else if (graph_.op(id) == Op::Range) {
        RangeArg fresh = *graph_.arg_as<RangeArg>(id);
        fresh.axis_id.front() = rw_.fresh_axis();
        rw_.replace(id, rw_.emit(Op::Range, {rw_.now(graph_.source(id, 0))}, fresh));
      } else {
        rw_.copy(id);
      }
    }
  }

  void write(const Strided& s, std::size_t open, std::size_t close) {
    const std::vector<NodeId>& body = rw_.body();
    rw_.at(graph_.range(body[open]));
    const auto now = [&](NodeId id) { return Expr{&rw_, rw_.now(id)}; };
    const Expr start = now(s.start), limit = now(s.limit), stride = now(s.stride);
    // No sum below leaves the type: the last index that anybody compares is less than limit + span + stride.
    const Expr room = limit.lit(INT32_MAX - s.span) - limit;
    const Expr fits = (stride.lit(0) < stride) & (limit.lit(-1) < limit) & !(room < stride);

    const NodeId counted = open_branch(fits);
    const Expr turns = (limit - least(s.start) + (stride - 1)).op(Op::Cdiv, stride);
    const Expr wide_start = start.to(Type::I64), wide_limit = limit.to(Type::I64), wide_stride = stride.to(Type::I64);
    const Expr turn{&rw_, rw_.emit(Op::Range, {turns.id}, RangeArg{{rw_.fresh_axis()}, AxisType::Loop})};
    // In 64 bits intervals alone show that nothing wraps.
    const Expr inside = wide_start + turn.to(Type::I64) * wide_stride < wide_limit;
    rw_.replace(s.index, (start + turn * stride).id);
    rw_.replace(s.condition, inside.id);
    copy(open + 1, s.branch, s);
    const NodeId guarded = open_branch(inside);
    copy(s.branch + 1, close - 1, s);
    rw_.emit(Op::Endif, {guarded});
    rw_.emit(Op::End, {rw_.void_value(), turn.id});
    rw_.emit(Op::Endif, {counted});

    const NodeId as_written = open_branch(!fits);
    rw_.keep(body[s.first_store]);
    for (std::size_t at = open; at <= close; ++at) rw_.keep(body[at]);
    rw_.emit(Op::Endif, {as_written});
  }

  Structure structure_;
  Rewriter rw_;
  const Graph& graph_;
  spec::BoundsTable bounds_;
  std::vector<std::size_t> position_;           // by node
  std::vector<std::vector<std::size_t>> uses_;  // by BUFFER: positions of its accesses
};

}  // namespace

Program count_strides(Program program) {
  const bool any = std::any_of(program.body.begin(), program.body.end(), [&](NodeId id) {
    return program.graph.op(id) == Op::Range && program.graph.type(program.graph.source(id, 0)) == Type::Void;
  });
  return any ? Counter(std::move(program)).run() : program;
}

}  // namespace sarek::passes
