// Greedy: each round tries larger edits before smaller ones and keeps what still fails, until a round changes nothing. Edits work on
// positions of the body; the program is rebuilt without what became unused.
#include "tests/property/shrink.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/builder.h"
#include "compiler/ir/evaluate.h"

namespace sarek::testgen {
namespace {

using ir::NodeId;
using ir::Op;
using ir::Program;
using ir::Type;

/// What happens to a position of the body.
struct Edit {
  std::set<std::size_t> drop;                    // an effect goes; a value becomes zero
  std::map<std::size_t, std::uint64_t> literal;  // a value becomes these bits
  std::map<std::size_t, std::size_t> operand;    // a value becomes its source of this number
};

bool is_leaf(const Program& p, NodeId id) {
  const Op op = p.graph.op(id);
  return op == Op::Param || op == Op::Buffer || op == Op::Special || op == Op::Const || op == Op::Group ||
         (op == Op::Cast && p.graph.op(p.graph.source(id, 0)) == Op::Const);
}
bool is_structure(Op op) { return op == Op::If || op == Op::Endif || op == Op::Range || op == Op::End || op == Op::Backedge; }

/// Positions that an effect needs, directly or by way of values.
std::vector<bool> needed(const Program& p) {
  std::vector<std::size_t> position(p.graph.size());
  for (std::size_t at = 0; at < p.body.size(); ++at) position[p.body[at].index()] = at;
  std::vector<bool> keep(p.body.size());
  for (std::size_t at = p.body.size(); at-- > 0;) {
    const NodeId id = p.body[at];
    const Op op = p.graph.op(id);
    const auto* ins = p.graph.arg_as<ir::InsArg>(id);
    const bool effect =
        is_structure(op) || op == Op::Store || op == Op::Barrier || (ins && ir::ins_info(ins->code).kind != ir::InsKind::Pure);
    keep[at] = keep[at] || effect;
    if (!keep[at]) continue;
    for (const NodeId s : p.graph.sources(id)) keep[position[s.index()]] = true;
  }
  return keep;
}

Program apply(const Program& p, const Edit& edit) {
  ir::ProgramBuilder b = ir::rebuild(p);
  std::map<NodeId, NodeId> map;
  const ir::Graph& g = p.graph;
  const auto constant = [&](Type t, std::uint64_t bits) { return b.constant(t, *ir::value_of(bits, t)); };
  const std::vector<bool> keep = needed(p);
  for (std::size_t at = 0; at < p.body.size(); ++at) {
    const NodeId id = p.body[at];
    if (!keep[at]) continue;
    const bool value = ir::type_bits(g.type(id)) != 0 && g.op(id) != Op::Index;
    if (const auto l = edit.literal.find(at); l != edit.literal.end()) {
      map[id] = constant(g.type(id), l->second);
      continue;
    }
    if (const auto o = edit.operand.find(at); o != edit.operand.end()) {
      map[id] = map.at(g.source(id, o->second));
      continue;
    }
    if (edit.drop.contains(at) && !is_leaf(p, id)) {
      if (value) map[id] = constant(g.type(id), 0);
      continue;
    }
    std::vector<NodeId> sources;
    for (const NodeId s : g.sources(id)) sources.push_back(map.at(s));
    map[id] = is_leaf(p, id) ? b.leaf(g.op(id), sources, g.arg(id)) : b.op(g.op(id), sources, g.arg(id));
  }
  Program made = b.finish();
  // What the edit left without a user goes at once.
  const std::vector<bool> used = needed(made);
  std::vector<NodeId> body;
  for (std::size_t at = 0; at < made.body.size(); ++at)
    if (used[at]) body.push_back(made.body[at]);
  made.body = std::move(body);
  return made;
}

class Shrinker {
 public:
  Shrinker(Case c, const StillFails& fails, int budget) : best_(std::move(c)), fails_(fails), budget_(budget) {}

  Case run() {
    bool again = true;
    while (again && budget_ > 0) {
      again = grid();
      again = spans() || again;
      again = statements() || again;
      again = values() || again;
      again = inputs() || again;
    }
    return std::move(best_);
  }

 private:
  bool accept(Case c) {
    if (budget_-- <= 0) return false;
    if (!fails_(c)) return false;
    best_ = std::move(c);
    return true;
  }
  bool accept(const Edit& edit) {
    Case c = best_;
    c.program = apply(best_.program, edit);
    if (c.program.body.size() >= best_.program.body.size() && edit.literal.empty() && edit.operand.empty()) return false;
    return accept(std::move(c));
  }
  Op op(std::size_t at) const { return best_.program.graph.op(best_.program.body[at]); }

  bool grid() {
    bool any = false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (best_.grid[axis] == 1) continue;
      Case c = best_;
      c.grid[axis] = 1;
      any = accept(std::move(c)) || any;
    }
    return any;
  }

  /// Whole branches and loops: with what is in them, then without.
  bool spans() {
    bool any = false;
    for (std::size_t at = 0; at < best_.program.body.size(); ++at) {
      if (op(at) != Op::If && op(at) != Op::Range) continue;
      const std::optional<ir::Structure> s = ir::structure_of(best_.program);
      if (!s) return any;
      const auto end = static_cast<std::size_t>(s->partner[at]);
      Edit all;
      for (std::size_t i = at; i <= end; ++i) all.drop.insert(i);
      if (accept(all)) {
        any = true;
        continue;
      }
      Edit shell;
      shell.drop = {at, end};
      any = accept(shell) || any;
    }
    return any;
  }

  /// Effects, in halves of the body, quarters, ... single ones.
  bool statements() {
    bool any = false;
    for (std::size_t size = best_.program.body.size() / 2; size >= 1; size /= 2) {
      for (std::size_t begin = 0; begin < best_.program.body.size();) {
        Edit edit;
        for (std::size_t at = begin; at < std::min(begin + size, best_.program.body.size()); ++at)
          if (!is_structure(op(at)) && !is_leaf(best_.program, best_.program.body[at]) &&
              ir::type_bits(best_.program.graph.type(best_.program.body[at])) == 0)
            edit.drop.insert(at);
        if (!edit.drop.empty() && accept(edit)) any = true;
        else begin += size;
      }
    }
    return any;
  }

  bool values() {
    bool any = false;
    for (std::size_t at = best_.program.body.size(); at-- > 0;) {
      if (at >= best_.program.body.size()) continue;
      const NodeId id = best_.program.body[at];
      const ir::Graph& g = best_.program.graph;
      const Type t = g.type(id);
      if (is_leaf(best_.program, id) || ir::type_bits(t) == 0 || is_structure(g.op(id)) || g.op(id) == Op::Index) continue;
      bool done = false;
      for (const std::uint64_t bits :
           {std::uint64_t{0}, ir::is_float(t) ? *ir::bits_of(ir::ConstValue::of_float(1), t) : std::uint64_t{1}}) {
        Edit edit;
        edit.literal[at] = bits;
        if (!done) done = accept(edit);
      }
      const std::size_t count = done ? 0 : g.sources(id).size();
      for (std::size_t s = 0; s < count && !done; ++s) {
        const NodeId source = best_.program.graph.source(id, s);
        if (best_.program.graph.type(source) != t || best_.program.graph.op(source) == Op::Index ||
            best_.program.graph.op(source) == Op::Buffer)
          continue;
        Edit edit;
        edit.operand[at] = s;
        done = accept(edit);
      }
      any = any || done;
    }
    return any;
  }

  bool inputs() {
    bool any = false;
    for (std::size_t i = 0; i < best_.inputs.size(); ++i) {
      const std::vector<std::uint64_t>& bits = best_.inputs[i].bits;
      if (std::all_of(bits.begin(), bits.end(), [](std::uint64_t v) { return v == 0; })) continue;
      Case c = best_;
      std::fill(c.inputs[i].bits.begin(), c.inputs[i].bits.end(), 0);
      any = accept(std::move(c)) || any;
    }
    return any;
  }

  Case best_;
  const StillFails& fails_;
  int budget_;
};

}  // namespace

Case shrink(Case c, const StillFails& fails, int budget) { return Shrinker(std::move(c), fails, budget).run(); }

}  // namespace sarek::testgen
