// Warp operations on targets that have none: every live lane leaves its value in block-shared memory, the block meets, each lane reads what
// it wants, the block meets again. So a warp operation costs two block barriers, and those must be reached by the whole block: a branch
// that only part of the block takes is split around them. Which flow the whole block takes is found by data flow, below.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/passes/expr.h"
#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"

namespace sarek::passes {

using namespace ir;

namespace {

constexpr int kWarp = 32;

bool is_warp(const Graph& graph, NodeId id) { return ins_kind(graph, id) == InsKind::Warp || is_ins(graph, id, Ins::WarpBarrier); }
bool has_warps(const Program& program) {
  return std::any_of(program.body.begin(), program.body.end(), [&](NodeId id) { return is_warp(program.graph, id); });
}

/// What differs between the threads of a block. A value is varying when two threads that compute it may get different ones; flow is varying
/// where some threads of the block may be elsewhere. Memory at one place holds one value for all: a program in which it does not has a
/// race.
class Uniformity {
 public:
  explicit Uniformity(const Program& program) : program_(program), graph_(program.graph), structure_(*structure_of(program)) {
    varying_.resize(graph_.size());
    flow_.resize(program.body.size());
    do changed_ = false, pass();
    while (changed_);
  }

  bool flow_varies(std::size_t position) const { return flow_[position]; }
  const Structure& structure() const { return structure_; }

 private:
  bool varies(NodeId id) const { return varying_[id.index()]; }
  void mark(NodeId id, bool varying) {
    if (!varying || varying_[id.index()]) return;
    varying_[id.index()] = true;
    changed_ = true;
  }

  /// Is the stretch that the RANGE or IF at `position` opens taken by a part of the block only?
  bool opens_varying(std::size_t position) const {
    const NodeId id = program_.body[position];
    if (flow_[position] || varies(graph_.source(id, 0))) return true;
    if (graph_.op(id) != Op::Range || graph_.type(id) != Type::Void) return false;
    // An unbounded loop that threads leave at different turns.
    return varies(graph_.source(program_.body[static_cast<std::size_t>(structure_.partner[position])], 2));
  }

  void pass() {
    for (std::size_t i = 0; i < program_.body.size(); ++i) {
      const NodeId id = program_.body[i];
      const int parent = structure_.parent[i];
      flow_[i] = parent >= 0 && opens_varying(static_cast<std::size_t>(parent));
      visit(i, id);
    }
  }

  void visit(std::size_t i, NodeId id) {
    const Op op = graph_.op(id);
    const auto sources = graph_.sources(id);
    const auto any = [&](std::span<const NodeId> list) {
      return std::any_of(list.begin(), list.end(), [&](NodeId s) { return varies(s); });
    };
    if (op == Op::Special) {
      const std::string& name = graph_.arg_as<NameArg>(id)->name;
      const auto axis = static_cast<std::size_t>(name.back() - 'x');
      return mark(id, name.substr(0, 9) == "local_id." && program_.block[axis] > 1);
    }
    if (op == Op::Buffer || op == Op::Index) return;
    if (op == Op::Load) return mark(id, any(graph_.sources(sources[0])) || any(sources.subspan(1)));
    if (op == Op::Store) {
      // Private cells remember what differed when they were written; the mark stands at their buffer.
      const NodeId buffer = graph_.source(sources[0], 0);
      if (space_of(graph_, buffer) == AddressSpace::Reg)
        mark(buffer, flow_[i] || any(graph_.sources(sources[0])) || any(sources.subspan(1)));
      return;
    }
    if (op == Op::Ins) {
      const InsKind kind = *ins_kind(graph_, id);
      const Ins code = graph_.arg_as<InsArg>(id)->code;
      const bool own = code == Ins::Shuffle || code == Ins::ShuffleUp || code == Ins::ShuffleDown || code == Ins::ShuffleXor;
      if (kind == InsKind::Atomic) return mark(id, true);
      if (kind == InsKind::Warp) return mark(id, own || program_.block_threads() > kWarp);
    }
    mark(id, any(sources));  // every other operation is a function of its sources
  }

  const Program& program_;
  const Graph& graph_;
  Structure structure_;
  std::vector<bool> varying_;  // by node; a BUFFER in Reg: of its contents
  std::vector<bool> flow_;     // by position
  bool changed_ = false;
};

/// The branches around `position` that only a part of the block takes, outermost first; none when one of them is a loop.
std::optional<std::vector<std::size_t>> branches_around(const Graph& graph, std::span<const NodeId> body, const Uniformity& uniformity,
                                                        std::size_t position) {
  std::vector<std::size_t> chain;
  if (!uniformity.flow_varies(position)) return chain;
  for (std::size_t at = position; uniformity.flow_varies(at);) {
    at = static_cast<std::size_t>(uniformity.structure().parent[at]);
    if (graph.op(body[at]) != Op::If) return std::nullopt;
    chain.push_back(at);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

class Emulator {
 public:
  explicit Emulator(Program program) : uniformity_(program), rw_(std::move(program)), graph_(rw_.graph()) {}

  Program run() {
    plan();
    for (position_ = 0; position_ < rw_.body().size(); ++position_) {
      const NodeId id = rw_.body()[position_];
      rw_.at(graph_.range(id));
      if (is_warp(graph_, id)) {
        emulate(id);
      } else {
        if (const auto flags = reset_before_.find(position_); flags != reset_before_.end())
          for (const std::size_t branch : flags->second) set(flags_.at(branch), rw_.boolean(false));
        rw_.keep(id);
        if (const auto flag = flags_.find(position_); flag != flags_.end()) set(flag->second, rw_.boolean(true));
      }
      if (const auto cell = cells_.find(id); cell != cells_.end() && !is_warp(graph_, id)) set(cell->second, rw_.now(id));
    }
    return rw_.finish();
  }

 private:
  // --- what is split, and what must survive the split ------------------------------------------------------------------------------

  void plan() {
    const std::vector<NodeId>& body = rw_.body();
    for (const NodeId id : body) {
      const auto* a = graph_.op(id) == Op::Buffer ? graph_.arg_as<ParamArg>(id) : nullptr;
      if (a) next_buffer_ = std::max(next_buffer_, a->slot + 1);
    }
    std::vector<std::size_t> splits;
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (!is_warp(graph_, body[i])) continue;
      const std::vector<std::size_t> chain = *branches_around(graph_, body, uniformity_, i);
      if (chain.empty()) continue;
      splits.push_back(i);
      chains_[i] = chain;
      for (const std::size_t branch : chain)
        if (!flags_.contains(branch)) {
          flags_[branch] = variable("taken", Type::Bool);
          reset_before_[chain.front()].push_back(branch);
        }
    }
    if (splits.empty()) return;
    for (std::size_t i = 0; i < body.size(); ++i) {
      made_[body[i]] = i;
      for (const NodeId s : sources_of(body[i])) use(splits, s, i);
    }
  }
  /// A copy: the graph grows while variables are made.
  std::vector<NodeId> sources_of(NodeId id) const { return {graph_.sources(id).begin(), graph_.sources(id).end()}; }

  /// `value` is used at `position`: when a split closes its scope in between, it travels through a variable. Places are made again instead.
  void use(const std::vector<std::size_t>& splits, NodeId value, std::size_t position) {
    const auto from = made_.find(value);
    if (from == made_.end() || is_leaf(graph_, value)) return;
    const int scope = uniformity_.structure().parent[from->second];
    const bool closed = scope >= 0 && std::any_of(splits.begin(), splits.end(), [&](std::size_t split) {
                          const std::vector<std::size_t>& chain = chains_.at(split);
                          return split >= from->second && split < position &&
                                 std::find(chain.begin(), chain.end(), static_cast<std::size_t>(scope)) != chain.end();
                        });
    if (graph_.op(value) == Op::Index) {
      if (closed) places_[static_cast<std::size_t>(scope)].insert(value);
      for (const NodeId s : sources_of(value)) use(splits, s, position);
    } else if (closed && graph_.type(value) != Type::Void && !cells_.contains(value)) {
      cells_[value] = variable("kept", graph_.type(value));
      kept_[static_cast<std::size_t>(scope)].push_back(value);
    }
  }

  // --- storage
  // ----------------------------------------------------------------------------------------------------------------------------

  NodeId storage(std::string name, Type type, std::int64_t size, AddressSpace space) {
    ParamArg a;
    a.slot = next_buffer_++;
    a.type = type;
    a.size = size;
    a.name = std::move(name);
    a.space = space;
    return rw_.leaf(Op::Buffer, {}, a);
  }
  NodeId variable(std::string name, Type type) { return storage(std::move(name), type, 1, AddressSpace::Reg); }
  /// The lanes' published values of one type, one array for all operations: each ends with a barrier.
  NodeId published(Type type) {
    NodeId& buffer = published_[type];
    if (!buffer) buffer = storage("warp_" + std::string(type_name(type)), type, rw_.program().block_threads(), AddressSpace::Local);
    return buffer;
  }
  NodeId live_flags() {
    if (!live_) live_ = storage("warp_live", Type::Bool, rw_.program().block_threads(), AddressSpace::Local);
    return live_;
  }
  Expr i32(Int128 v) { return {&rw_, rw_.integer(Type::I32, v)}; }
  NodeId cell(NodeId buffer, Expr i) { return rw_.emit(Op::Index, {buffer, i.id}); }
  void store(NodeId buffer, Expr i, NodeId value) { rw_.emit(Op::Store, {cell(buffer, i), value}); }
  Expr load(NodeId buffer, Expr i) { return {&rw_, rw_.emit(Op::Load, {cell(buffer, i)})}; }
  void set(NodeId variable, NodeId value) { store(variable, i32(0), value); }
  Expr get(NodeId variable) { return load(variable, i32(0)); }

  // --- control
  // ----------------------------------------------------------------------------------------------------------------------------

  NodeId open(Expr condition) { return rw_.emit(Op::If, {condition.id, rw_.integer(Type::I32, rw_.fresh_axis())}); }
  void close(NodeId opened) { rw_.emit(Op::Endif, {opened}); }

  /// A barrier of the whole block. Branches that only a part of it takes are closed before and opened again after it.
  void meet(const std::vector<std::size_t>& chain, bool publish_live) {
    for (std::size_t k = chain.size(); k-- > 0;) close(rw_.now(rw_.body()[chain[k]]));
    if (publish_live) store(live_flags(), thread(), get(flags_.at(chain.back())).id);
    rw_.emit(Op::Barrier, {});
    for (const std::size_t branch : chain) {
      rw_.replace(rw_.body()[branch], open(get(flags_.at(branch))));
      for (const NodeId value : kept_[branch])
        if (made_before(value)) rw_.replace(value, get(cells_.at(value)).id);
      for (const NodeId place : places_[branch]) {
        if (!made_before(place)) continue;
        std::vector<NodeId> sources;
        for (const NodeId s : sources_of(place)) sources.push_back(rw_.now(s));
        rw_.replace(place, rw_.emit(Op::Index, sources));
      }
    }
  }
  bool made_before(NodeId value) const { return made_.at(value) < position_; }

  // --- lanes
  // ------------------------------------------------------------------------------------------------------------------------------

  /// The linear number of the thread in its block, x fastest.
  Expr thread() {
    const std::array<int, 3>& block = rw_.program().block;
    const auto id = [&](std::size_t axis) {
      return Expr{
          &rw_, rw_.leaf(Op::Special, std::array{i32(block[axis]).id}, NameArg{std::string("local_id.") + static_cast<char>('x' + axis)})};
    };
    Expr linear = id(0);
    if (block[1] > 1) linear = linear + id(1) * block[0];
    if (block[2] > 1) linear = linear + id(2) * (block[0] * block[1]);
    return linear;
  }
  Expr first_of_warp() { return thread() & ~(kWarp - 1); }
  /// Lanes of the thread's warp that exist: fewer in the last one of a block that 32 does not divide.
  Expr lanes() {
    const int threads = rw_.program().block_threads();
    if (threads % kWarp == 0) return i32(kWarp);
    if (threads < kWarp) return i32(threads);
    const Expr left = threads - first_of_warp();
    return select(left < kWarp, left, i32(kWarp));
  }

  void emulate(NodeId id) {
    const InsArg a = *graph_.arg_as<InsArg>(id);
    const auto found = chains_.find(position_);
    const std::vector<std::size_t> chain = found == chains_.end() ? std::vector<std::size_t>{} : found->second;
    if (a.code == Ins::WarpBarrier) {
      meet(chain, false);
      return;
    }
    const bool partly = !chain.empty();
    const std::vector<NodeId> old_sources = sources_of(id);
    std::optional<NodeId> buffer;
    if (!old_sources.empty()) {
      buffer = published(graph_.type(old_sources[0]));
      store(*buffer, thread(), rw_.now(old_sources[0]));
      // Read behind the barrier, where the scope of the operands is another one.
      operands_.clear();
      for (const NodeId s : old_sources) {
        if (partly && !is_leaf(graph_, s)) {
          operands_.push_back(variable("operand", graph_.type(s)));
          set(operands_.back(), rw_.now(s));
        } else {
          operands_.push_back({});
        }
      }
    }
    const bool needs_meeting = buffer.has_value() || partly;
    if (needs_meeting) meet(chain, partly);
    const auto operand = [&](std::size_t i) { return operands_[i] ? get(operands_[i]) : Expr{&rw_, rw_.now(old_sources[i])}; };
    Expr result;
    if (a.code == Ins::Shuffle || a.code == Ins::ShuffleUp || a.code == Ins::ShuffleDown || a.code == Ins::ShuffleXor)
      result = shuffled(a.code, *buffer, operand(0), operand(1), partly);
    else result = folded(a, buffer, partly);
    if (const auto kept = cells_.find(id); kept != cells_.end()) set(kept->second, result.id);
    rw_.replace(id, result.id);
    if (!needs_meeting) return;
    // Nobody overwrites a value before all have read it.
    ++position_;  // the result counts as made before the second meeting
    meet(chain, false);
    --position_;
  }

  Expr shuffled(Ins code, NodeId buffer, Expr own, Expr d, bool partly) {
    const Expr lane = thread() & (kWarp - 1);
    Expr from = lane;
    if (code == Ins::Shuffle) {
      from = (d & (kWarp - 1)).to(Type::I32);
    } else {
      // Past 32 nothing is in range, and narrower arithmetic would wrap. An unsigned distance has no lower end.
      Expr near = d < kWarp + 1;
      if (is_signed(d.type())) near = near & (d.lit(-kWarp - 1) < d);
      const Expr distance = d.to(Type::I32);
      from = code == Ins::ShuffleXor ? lane ^ distance : code == Ins::ShuffleUp ? lane - distance : lane + distance;
      from = select(near, from, from.lit(-1));
    }
    const Expr in_range = (i32(-1) < from) & (from < lanes());
    const Expr source = first_of_warp() + select(in_range, from, lane);
    const Expr value = load(buffer, source);
    if (!partly) return select(in_range, value, own);
    return select(in_range & load(live_flags(), source), value, own);
  }

  /// Votes and reductions: over the live lanes of the warp, lane 0 first.
  Expr folded(const InsArg& a, std::optional<NodeId> buffer, bool partly) {
    const bool vote = a.code == Ins::VoteAll || a.code == Ins::VoteAny || a.code == Ins::Ballot || a.code == Ins::ActiveMask;
    const NodeId total = variable("total", a.type);
    // A reduction starts with the first live lane: there is no neutral element of every type.
    const NodeId begun = vote ? NodeId{} : variable("begun", Type::Bool);
    if (vote) set(total, a.code == Ins::VoteAll ? rw_.boolean(true) : rw_.zero(a.type));
    else set(begun, rw_.boolean(false));
    const Expr first = first_of_warp();
    const Expr count = lanes();
    const Expr lane{&rw_, rw_.emit(Op::Range, {count.id}, RangeArg{{rw_.fresh_axis()}, AxisType::Loop})};
    const Expr at = first + lane;
    const NodeId live = partly ? open(load(live_flags(), at)) : NodeId{};
    if (a.code == Ins::ActiveMask) {
      set(total, (get(total) | bit(lane, a.type)).id);
    } else {
      const Expr value = load(*buffer, at);
      const Expr so_far = get(total);
      if (vote) {
        const Expr next = a.code == Ins::VoteAll   ? so_far & value
                          : a.code == Ins::VoteAny ? so_far | value
                                                   : so_far | select(value, bit(lane, a.type), so_far.lit(0));
        set(total, next.id);
      } else {
        set(total, select(get(begun), step(a.code, so_far, value), value).id);
        set(begun, rw_.boolean(true));
      }
    }
    if (partly) close(live);
    rw_.emit(Op::End, {rw_.void_value(), lane.id});
    return get(total);
  }

  static Expr bit(Expr lane, Type type) { return Expr{lane.rw, lane.rw->integer(type, 1)} << lane.to(type); }

  static Expr step(Ins code, Expr total, Expr value) {
    if (code == Ins::ReduceAdd) return total + value;
    if (code == Ins::ReduceMin) return total.ins(Ins::Min, value);
    if (code == Ins::ReduceMax) return total.op(Op::Max, value);
    if (code == Ins::ReduceAnd) return total & value;
    if (code == Ins::ReduceOr) return total | value;
    return total ^ value;
  }

  Uniformity uniformity_;
  Rewriter rw_;
  const Graph& graph_;
  std::size_t position_ = 0;
  int next_buffer_ = 0;
  std::map<std::size_t, std::vector<std::size_t>> chains_;  // by the position of a warp operation in varying flow: the branches around it
  std::map<std::size_t, NodeId> flags_;                     // by the position of a branch that is split: does this thread take it?
  std::map<std::size_t, std::vector<std::size_t>> reset_before_;  // by the outermost branch: those inside it that are split
  std::map<NodeId, std::size_t> made_;                            // by node: its position; filled when something is split
  std::map<NodeId, NodeId> cells_;                                // variables of values that cross a split
  std::map<std::size_t, std::vector<NodeId>> kept_;               // by branch: those values, in order
  std::map<std::size_t, std::set<NodeId>> places_;                // by branch: the places that cross a split
  std::map<Type, NodeId> published_;
  NodeId live_;
  std::vector<NodeId> operands_;
};

}  // namespace

std::vector<Diagnostic> unemulatable_warps(const Program& program, const Capabilities& capabilities) {
  std::vector<Diagnostic> found;
  if (capabilities.warp_operations || !has_warps(program)) return found;
  const Uniformity uniformity(program);
  std::set<std::string> said;
  for (std::size_t i = 0; i < program.body.size(); ++i) {
    const NodeId id = program.body[i];
    if (!is_warp(program.graph, id) || branches_around(program.graph, program.body, uniformity, i)) continue;
    const std::string target = capabilities.framework.empty() ? "the target" : capabilities.framework;
    std::string message = "kernel `" + program.name + "` uses " + std::string(ins_info(program.graph.arg_as<InsArg>(id)->code).name) +
                          " in a loop whose turns differ between the threads of a block, but " + target +
                          " has no warp operations, and the barriers that stand in for them must be reached by the whole block";
    if (!said.insert(message).second) continue;
    const SourceRange place = program.graph.range(id) ? program.graph.range(id) : program.range;
    found.push_back(
        {DiagnosticKind::MissingCapability, default_severity(DiagnosticKind::MissingCapability), place, std::move(message), {}, {}});
    if (place != program.range && program.range) found.back().note(program.range, "the kernel is compiled for " + target + " here");
  }
  return found;
}

Program emulate_warps(Program program) {
  if (!has_warps(program)) return program;
  return Emulator(std::move(program)).run();
}

}  // namespace sarek::passes
