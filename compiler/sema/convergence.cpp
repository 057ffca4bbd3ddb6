// Convergence by data flow, on the lowered program: may every thread of the block reach this barrier, every lane of the warp this
// operation? Values are uniform (the same in all threads of the block that get there), warp-uniform, or varying; control is what the values
// that branch say. Register cells are followed through stores, branches and loops to a fixed point, so that `let`, `var`, calls and flags
// of early exits need no rules of their own. An element at a uniform index counts as uniform: what contradicts that is a race, and refused
// elsewhere.
#include <algorithm>
#include <map>

#include "compiler/sema/lower.h"

namespace sarek::sema {

namespace {

using ir::NodeId;
using ir::Op;

enum Level : std::uint8_t { kUniform = 0, kWarpUniform = 1, kVarying = 2 };

/// A level and the node that it comes from.
struct Mark {
  Level level = kUniform;
  NodeId cause;
};

Mark join(Mark a, Mark b) { return b.level > a.level ? b : a; }

class Analysis {
 public:
  Analysis(const ir::Program& p, const LoweringNotes& notes, const SourceManager& sources, DiagnosticSink& sink)
      : p_(p), g_(p.graph), notes_(notes), sources_(sources), sink_(sink), structure_(ir::structure_of(p).value_or(ir::Structure{})) {
    marks_.resize(g_.size());
    stored_.resize(p.body.size());
    // Which variables a loop or IF writes.
    for (std::size_t at = 0; at < p.body.size(); ++at) {
      if (g_.op(p.body[at]) != Op::Store) continue;
      const NodeId base = ir::place_base(g_, g_.source(p.body[at], 0));
      if (!is_register(base)) continue;
      for (int up = structure_.parent[at]; up >= 0; up = structure_.parent[static_cast<std::size_t>(up)])
        stored_[static_cast<std::size_t>(up)].push_back(base);
    }
    for (auto& list : stored_) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  bool run() {
    walk(0, p_.body.size(), {});
    report_ = true;
    cells_.clear();
    walk(0, p_.body.size(), {});
    return !failed_;
  }

 private:
  using Cells = std::vector<Mark>;

  bool is_register(NodeId id) const {
    const auto* p = g_.op(id) == Op::Buffer ? g_.arg_as<ir::ParamArg>(id) : nullptr;
    return p && p->space == ir::AddressSpace::Reg;
  }
  Cells& cells_of(NodeId buffer) {
    Cells& c = cells_[buffer];
    // Large arrays are one cell.
    if (c.empty()) c.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(g_.arg_as<ir::ParamArg>(buffer)->size.value_or(1), 1, 64)));
    return c;
  }

  Mark of_sources(NodeId id) const {
    Mark out;
    for (const NodeId s : g_.sources(id)) out = join(out, {marks_[s.index()].level, s});
    return out;
  }

  /// local_id along an axis: which threads share it.
  Level local_id(char axis) const {
    const auto& b = p_.block;
    if (p_.block_threads() == 1 || b[static_cast<std::size_t>(axis - 'x')] == 1) return kUniform;
    if (axis == 'y' && b[0] % 32 == 0) return kWarpUniform;
    if (axis == 'z' && (b[0] * b[1]) % 32 == 0) return kWarpUniform;
    return kVarying;
  }

  /// local_id.x / 32 is the number of the warp.
  bool is_warp_number(NodeId id) const {
    const Op op = g_.op(id);
    if (op != Op::Cdiv && op != Op::Shr) return false;
    NodeId x = g_.source(id, 0);
    if (g_.op(x) == Op::Cast) x = g_.source(x, 0);
    const auto* name = g_.op(x) == Op::Special ? g_.arg_as<ir::NameArg>(x) : nullptr;
    if (!name || name->name != "local_id.x") return false;
    if (p_.block[0] % 32 != 0 && p_.block[1] * p_.block[2] != 1) return false;
    const auto by = ir::integer_literal(g_, g_.source(id, 1));
    return by && (op == Op::Cdiv ? *by > 0 && *by % 32 == 0 : *by >= 5 && *by < 31);
  }

  Mark mark(NodeId id) {
    const Op op = g_.op(id);
    if (op == Op::Special) {
      const std::string& name = g_.arg_as<ir::NameArg>(id)->name;
      return {name.starts_with("local_id.") ? local_id(name.back()) : kUniform, id};
    }
    if (op == Op::Load) return loaded(id);
    if (op == Op::Ins) {
      const ir::Ins ins = g_.arg_as<ir::InsArg>(id)->code;
      const ir::InsKind kind = ir::ins_info(ins).kind;
      if (kind == ir::InsKind::Atomic) return {kVarying, id};
      if (kind != ir::InsKind::Warp) return of_sources(id);
      const bool shuffles =
          ins == ir::Ins::Shuffle || ins == ir::Ins::ShuffleUp || ins == ir::Ins::ShuffleDown || ins == ir::Ins::ShuffleXor;
      return {shuffles ? kVarying : kWarpUniform, id};
    }
    if (is_warp_number(id)) return {kWarpUniform, id};
    return of_sources(id);
  }

  Mark loaded(NodeId id) {
    const NodeId place = g_.source(id, 0);
    const NodeId base = ir::place_base(g_, place);
    Mark out = of_sources(id);
    if (!is_register(base)) return out;
    const Cells& c = cells_of(base);
    const auto index = g_.sources(place).size() > 1 ? ir::integer_literal(g_, g_.source(place, 1)) : std::nullopt;
    if (index && *index >= 0 && *index < static_cast<std::int64_t>(c.size()) && c.size() > 1)
      return join(out, c[static_cast<std::size_t>(*index)]);
    for (const Mark& m : c) out = join(out, m);
    return out;
  }

  /// A block of one warp makes no difference between warp-uniform and uniform, a block of one thread none at all.
  Level limited(Level level) const {
    if (p_.block_threads() == 1) return kUniform;
    return p_.block_threads() <= 32 && level == kWarpUniform ? kUniform : level;
  }

  void store(NodeId id) {
    const NodeId place = g_.source(id, 0);
    const NodeId base = ir::place_base(g_, place);
    if (!is_register(base)) return;
    Cells& c = cells_of(base);
    const NodeId value = g_.source(id, 1);
    const Mark m{marks_[value.index()].level, value};
    const NodeId index_node = g_.source(place, 1);
    const auto index = ir::integer_literal(g_, index_node);
    const bool whole = c.size() == 1 && g_.arg_as<ir::ParamArg>(base)->size.value_or(1) == 1;
    if (index && (whole || (c.size() > 1 && *index >= 0 && *index < static_cast<std::int64_t>(c.size())))) {
      c[whole ? 0 : static_cast<std::size_t>(*index)] = m;
      return;
    }
    const Mark any = join(m, {marks_[index_node.index()].level, index_node});
    for (Mark& cell : c) cell = join(cell, any);
  }

  bool join_cells(std::map<NodeId, Cells>& into, const std::map<NodeId, Cells>& from) {
    bool changed = false;
    for (const auto& [buffer, cells] : from) {
      Cells& there = into[buffer];
      if (there.empty()) there.resize(cells.size());
      for (std::size_t i = 0; i < cells.size(); ++i)
        if (cells[i].level > there[i].level) {
          there[i] = cells[i];
          changed = true;
        }
    }
    return changed;
  }

  /// What was written under a condition depends on the condition afterwards.
  void taint(std::size_t at, Mark condition) {
    if (condition.level == kUniform) return;
    for (const NodeId buffer : stored_[at])
      for (Mark& c : cells_of(buffer)) c = join(c, condition);
  }

  void walk(std::size_t begin, std::size_t end, Mark control) {
    for (std::size_t at = begin; at < end; ++at) {
      const NodeId id = p_.body[at];
      const Op op = g_.op(id);
      if (op == Op::If) {
        at = walk_branch(at, control);
      } else if (op == Op::Range) {
        at = walk_loop(at, control);
      } else if (op == Op::Store) {
        store(id);
      } else if (op == Op::Barrier) {
        if (report_ && control.level != kUniform) refuse_barrier(id, control);
      } else {
        marks_[id.index()] = mark(id);
        marks_[id.index()].level = limited(marks_[id.index()].level);
        if (report_ && op == Op::Ins && control.level == kVarying) check_collective(id, control);
      }
    }
  }

  std::size_t walk_branch(std::size_t at, Mark control) {
    const NodeId id = p_.body[at];
    const auto close = static_cast<std::size_t>(structure_.partner[at]);
    const NodeId condition = g_.source(id, 0);
    const Mark m{marks_[condition.index()].level, condition};
    const std::map<NodeId, Cells> before = cells_;
    if (report_) check_superstep(id, m);
    walk(at + 1, close, join(control, m));
    join_cells(cells_, before);
    taint(at, m);
    return close;
  }

  std::size_t walk_loop(std::size_t at, Mark control) {
    const NodeId id = p_.body[at];
    const auto close = static_cast<std::size_t>(structure_.partner[at]);
    const NodeId count = g_.source(id, 0);
    const NodeId closer = p_.body[close];
    const auto with_end = [&](Mark m) {
      if (g_.op(closer) != Op::Backedge) return m;
      const NodeId again = g_.source(closer, 2);
      return join(m, {marks_[again.index()].level, again});
    };
    const bool reporting = report_;
    report_ = false;
    std::map<NodeId, Cells> start = cells_;
    marks_[id.index()] = {marks_[count.index()].level, count};
    Mark m = marks_[id.index()];
    // Levels only rise, so this ends; most loops need two rounds.
    for (bool changed = true; changed;) {
      cells_ = start;
      walk(at + 1, close, join(control, m));
      const Mark after = with_end(m);
      changed = join_cells(start, cells_) || after.level > m.level;
      m = after;
    }
    report_ = reporting;
    if (report_) {
      check_superstep(id, m);
      cells_ = start;
      walk(at + 1, close, join(control, m));
    }
    join_cells(cells_, start);
    taint(at, m);
    return close;
  }

  // --- reporting --------------------------------------------------------------------------------------------------------------

  std::string text(SourceRange range) const {
    if (!range) return {};
    std::string out(sources_.text(range));
    if (out.size() > 40 || out.find('\n') != std::string::npos) return {};
    return "`" + out + "`";
  }

  bool first_time(SourceRange range) { return told_.insert({range.file.value, range.begin}).second; }

  /// Where the condition stands, and where what it depends on came from.
  void explain(Diagnostic& d, Mark control) {
    const SourceRange branch = g_.range(control.cause);
    if (branch) d.note(branch, "the threads part ways here" + (text(branch).empty() ? std::string() : ": " + text(branch) + " varies"));
    // Back along the causes to the first one that varies by itself.
    std::set<NodeId> seen;
    NodeId at = control.cause;
    NodeId user = at;
    while (at && seen.insert(at).second) {
      const Mark m = marks_[at.index()];
      if (m.cause == at || !m.cause) break;
      user = at;
      at = m.cause;
    }
    if (g_.op(at) == Op::Special) {
      SourceRange origin;
      for (const LoweringNotes::Occurrence& o : notes_.occurrences)
        if (o.leaf == at && o.when <= user.index()) origin = o.range;
      if (!origin) origin = g_.range(user);
      if (origin && !(origin == branch)) d.note(origin, text(origin) + " differs between the threads of a block");
    } else if (g_.op(at) == Op::Ins && g_.range(at) && !(g_.range(at) == branch)) {
      d.note(g_.range(at),
             "the result of `" + std::string(ir::ins_info(g_.arg_as<ir::InsArg>(at)->code).name) + "` differs between threads");
    }
  }

  void refuse_barrier(NodeId id, Mark control) {
    failed_ = true;
    const SourceRange range = g_.range(id);
    if (!first_time(range)) return;
    Diagnostic& d = sink_.report(DiagnosticKind::BarrierInDivergentFlow, range,
                                 "barrier called in diverged control flow: some threads of the block may not reach it");
    explain(d, control);
  }

  void check_collective(NodeId id, Mark control) {
    const ir::Ins ins = g_.arg_as<ir::InsArg>(id)->code;
    if (ir::ins_info(ins).kind != ir::InsKind::Warp && ins != ir::Ins::WarpBarrier) return;
    failed_ = true;
    const SourceRange range = g_.range(id);
    if (!first_time(range)) return;
    Diagnostic& d = sink_.report(DiagnosticKind::CollectiveInDivergentFlow, range,
                                 "warp collective `" + std::string(ir::ins_info(ins).name) +
                                     "` called in diverged control flow: some lanes of the warp may not reach it");
    explain(d, control);
  }

  void check_superstep(NodeId id, Mark condition) {
    if (condition.level == kUniform || notes_.value_branches.contains(id)) return;
    for (const LoweringNotes::Superstep& s : notes_.supersteps) {
      if (s.divergent || id.index() < s.begin || id.index() >= s.end) continue;
      failed_ = true;
      if (!first_time(s.name)) return;
      Diagnostic& d = sink_.report(
          DiagnosticKind::DivergentSuperstep, s.name,
          "barrier called in diverged control flow: superstep " + text(s.name) + " branches by thread and is not marked `divergent`");
      explain(d, condition);
      d.fix({s.name.file, s.name.end, s.name.end}, " divergent", "say that its body branches by thread");
      return;
    }
  }

  const ir::Program& p_;
  const ir::Graph& g_;
  const LoweringNotes& notes_;
  const SourceManager& sources_;
  DiagnosticSink& sink_;
  ir::Structure structure_;
  std::vector<Mark> marks_;                  // by node
  std::map<NodeId, Cells> cells_;            // register variables, now
  std::vector<std::vector<NodeId>> stored_;  // by position: variables that a loop or IF writes
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;
  bool report_ = false;
  bool failed_ = false;
};

}  // namespace

bool check_convergence(const ir::Program& program, const LoweringNotes& notes, const SourceManager& sources, DiagnosticSink& sink) {
  // Without anything that threads wait for there is nothing to ask.
  const ir::Graph& g = program.graph;
  const bool waits = std::any_of(program.body.begin(), program.body.end(), [&](NodeId id) {
    if (g.op(id) == ir::Op::Barrier) return true;
    const auto* ins = g.op(id) == ir::Op::Ins ? g.arg_as<ir::InsArg>(id) : nullptr;
    return ins && (ir::ins_info(ins->code).kind == ir::InsKind::Warp || ins->code == ir::Ins::WarpBarrier);
  });
  return !waits || Analysis(program, notes, sources, sink).run();
}

bool check_convergence(const ir::Program& program, const SourceManager& sources, DiagnosticSink& sink) {
  return check_convergence(program, LoweringNotes{}, sources, sink);
}

}  // namespace sarek::sema
