#include "emitters/llvm/analysis.h"

#include <algorithm>
#include <bit>

#include "compiler/spec/bounds.h"

namespace sarek::emit {

using namespace ir;  // NOLINT: this file is about the IR

namespace {

constexpr std::int64_t kMaxStride = 1 << 16;  // strides beyond it gain nothing over an index vector, and products with lanes stay small
constexpr int kRecomputeNodes = 12;           // a value of so few operations is computed again rather than saved across a barrier

bool is_leaf(Op op) {
  return op == Op::Const || op == Op::Param || op == Op::Special || op == Op::Buffer || op == Op::Alloc || op == Op::Group;
}

bool is_word(Type t) { return t == Type::I32 || t == Type::U32 || t == Type::I64 || t == Type::U64; }

const InsArg* instruction(const Graph& g, NodeId id) { return g.op(id) == Op::Ins ? g.arg_as<InsArg>(id) : nullptr; }

}  // namespace

NodeId access_place(const Graph& graph, NodeId id) {
  const Op op = graph.op(id);
  const InsArg* ins = instruction(graph, id);
  if (op == Op::Load || op == Op::Store || (ins && ins_info(ins->code).kind == InsKind::Atomic)) {
    const NodeId place = graph.source(id, 0);
    if (graph.op(place) == Op::Index) return place;
  }
  return {};
}

int choose_width(const Program& program, int natural) {
  for (const NodeId id : program.body) {
    const InsArg* ins = instruction(program.graph, id);
    // A warp of the language is one vector, so that exchange stays in registers and needs no synchronisation.
    if (ins && (ins_info(ins->code).kind == InsKind::Warp || ins->code == Ins::WarpBarrier)) return 32;
  }
  const int threads = program.block_threads();
  // Two vectors a chunk hide the latency of arithmetic; wide elements fill two by themselves, and narrow vectors have neither masked
  // accesses nor the registers.
  int width = natural > 4 ? 2 * natural : natural;
  for (const NodeId id : program.body) {
    const NodeId place = access_place(program.graph, id);
    if (place && type_bits(program.graph.type(place)) == 64) width = natural;
  }
  // Rows of a block should fill chunks: otherwise no index is consecutive.
  if (threads > program.block[0])
    while (width > 4 && program.block[0] % width != 0) width /= 2;
  while (width > 1 && width / 2 >= threads) width /= 2;
  return width;
}

Result<Analysis> Analysis::create(const Program& program, int width) {
  Analysis a;
  a.program = &program;
  a.width = width;
  a.chunks = (program.block_threads() + width - 1) / width;
  a.tail = program.block_threads() % width;
  std::optional<Structure> structure = structure_of(program);
  if (!structure) return err("broken nesting");
  a.partner = std::move(structure->partner);
  a.parent = std::move(structure->parent);
  const std::size_t nodes = program.graph.size();
  const std::size_t positions = program.body.size();
  a.position.assign(nodes, -1);
  for (std::size_t p = 0; p < positions; ++p) a.position[program.body[p].index()] = static_cast<int>(p);
  a.block_level.assign(positions, false);
  for (std::size_t p = 0; p < positions; ++p) {
    const NodeId id = program.body[p];
    if (const InsArg* ins = instruction(program.graph, id))
      a.uses_warp |= ins_info(ins->code).kind == InsKind::Warp || ins->code == Ins::WarpBarrier;
    if (program.graph.op(id) != Op::Barrier) continue;
    a.has_barrier = true;
    for (int up = a.parent[p]; up >= 0; up = a.parent[static_cast<std::size_t>(up)]) {
      a.block_level[static_cast<std::size_t>(up)] = true;
      a.block_level[static_cast<std::size_t>(a.partner[static_cast<std::size_t>(up)])] = true;
    }
  }
  a.find_variables();
  a.compute_liveness();
  a.compute_variance();
  a.raise_loops();
  if (Result<Unit> r = a.find_regions(); !r) return Err(r.error());
  a.find_crossings();
  return a;
}

void Analysis::find_variables() {
  const Graph& g = program->graph;
  variable_of.assign(g.size(), -1);
  for (const NodeId id : program->body) {
    const auto* arg = g.op(id) == Op::Buffer ? g.arg_as<ParamArg>(id) : nullptr;
    if (!arg || arg->space != AddressSpace::Reg) continue;
    variable_of[id.index()] = static_cast<int>(variables.size());
    Variable v;
    v.node = id;
    v.type = arg->type;
    v.cells = arg->size.value_or(1);
    variables.push_back(v);
  }
}

// --- liveness: of the variables, for one thread, ignoring who else runs ------------------------------------------------------------

bool Analysis::is_loop_exit(int if_position) const {
  const Graph& g = program->graph;
  const auto at = static_cast<std::size_t>(if_position);
  if (g.op(program->body[at]) != Op::If) return false;
  const auto close = static_cast<std::size_t>(partner[at]) + 1;
  if (close >= program->body.size() || g.op(program->body[close]) != Op::Backedge) return false;
  return g.source(program->body[close], 2) == g.source(program->body[at], 0);
}

void Analysis::live_range(int begin, int end, std::vector<std::uint64_t>& live) {
  const Graph& g = program->graph;
  const auto merge = [&](std::vector<std::uint64_t>& into, const std::vector<std::uint64_t>& from) {
    bool grew = false;
    for (std::size_t w = 0; w < words_; ++w) {
      grew |= (from[w] & ~into[w]) != 0;
      into[w] |= from[w];
    }
    return grew;
  };
  for (int p = end - 1; p >= begin; --p) {
    const auto at = static_cast<std::size_t>(p);
    const NodeId id = program->body[at];
    const Op op = g.op(id);
    if (op == Op::Endif) {
      const int open = partner[at];
      live_[at] = live;
      // A lane that skips the last IF of `loop { ... IF(c) { ... } BACKEDGE(c) }` goes to what follows the loop.
      std::vector<std::uint64_t> skip = is_loop_exit(open) ? live_[at + 2] : live;
      live_range(open + 1, p, live);
      merge(live, skip);
      p = open;
    } else if (op == Op::End || op == Op::Backedge) {
      const int open = partner[at];
      // The header of a bounded loop may leave it; that of an unbounded one is part of its body.
      std::vector<std::uint64_t> header = op == Op::End ? live : live_[static_cast<std::size_t>(open)];
      for (;;) {
        std::vector<std::uint64_t> inside = header;
        if (op == Op::Backedge) merge(inside, live);
        live_[at] = inside;
        live_range(open + 1, p, inside);
        if (!merge(header, inside)) break;
      }
      live = header;
      p = open;
    } else if (const NodeId place = access_place(g, id)) {
      const int v = variable_of[place_base(g, place).index()];
      if (v >= 0) {
        const std::uint64_t bit = 1ull << (v % 64);
        const auto word = static_cast<std::size_t>(v / 64);
        if (op != Op::Store) live[word] |= bit;
        else if (variables[static_cast<std::size_t>(v)].cells == 1 && g.sources(id).size() == 2) live[word] &= ~bit;
      }
    }
    live_[static_cast<std::size_t>(p)] = live;
  }
}

void Analysis::compute_liveness() {
  words_ = (variables.size() + 63) / 64;
  const std::size_t n = program->body.size();
  live_.assign(n + 2, std::vector<std::uint64_t>(words_, 0));
  std::vector<std::uint64_t> live(words_, 0);
  live_range(0, static_cast<int>(n), live);
}

bool Analysis::live_before(int variable, int at) const {
  return (live_[static_cast<std::size_t>(at)][static_cast<std::size_t>(variable / 64)] >> (variable % 64) & 1) != 0;
}

bool Analysis::live_at_exit(int variable, int opener) const {
  const int close = partner[static_cast<std::size_t>(opener)];
  return live_before(variable, is_loop_exit(opener) ? close + 2 : close + 1);
}

NodeId Analysis::stored_value(int store_position) const {
  const Graph& g = program->graph;
  const auto at = static_cast<std::size_t>(store_position);
  const NodeId store = program->body[at];
  const NodeId value = g.source(store, 1);
  const NodeId place = access_place(g, store);
  const int v = place ? variable_of[place_base(g, place).index()] : -1;
  const int loop = parent[at];
  if (v < 0 || variables[static_cast<std::size_t>(v)].cells != 1 || g.op(value) != Op::Where || loop < 0) return value;
  const int close = partner[static_cast<std::size_t>(loop)];
  if (g.op(program->body[static_cast<std::size_t>(close)]) != Op::Backedge) return value;
  if (g.source(program->body[static_cast<std::size_t>(close)], 2) != g.source(value, 0) || live_before(v, close + 1)) return value;
  for (int q = store_position + 1; q < close; ++q) {
    const NodeId later = access_place(g, program->body[static_cast<std::size_t>(q)]);
    if (later && place_base(g, later) == place_base(g, place)) return value;
  }
  return g.source(value, 1);
}

// --- variance ------------------------------------------------------------------------------------------------------------------------

NodeFacts Analysis::facts_of(NodeId id) const {
  const Graph& g = program->graph;
  const Op op = g.op(id);
  const auto sources = g.sources(id);
  NodeFacts f;
  const auto w = static_cast<std::int64_t>(width);
  if (const std::optional<std::int64_t> literal = integer_literal(g, id)) {
    f.aligned = *literal % w == 0;
    return f;
  }
  if (op == Op::Special) {
    const auto* name = g.arg_as<NameArg>(id);
    if (!name || !name->name.starts_with("local_id.")) return f;
    const int axis = name->name.back() - 'x';
    const auto& block = program->block;
    const int extent = block[static_cast<std::size_t>(axis)];
    const int inner = axis == 0 ? 1 : axis == 1 ? block[0] : block[0] * block[1];
    const int outer = program->block_threads() / (inner * extent);
    if (extent == 1) return f;
    if (inner % width == 0) f.variance = Variance::Chunk;
    else if (inner == 1 && (outer == 1 || extent % width == 0)) f = {Variance::Affine, 1, true, true};
    else f.variance = Variance::Varying;
    return f;
  }
  if (is_leaf(op)) return f;
  Variance join = Variance::Block;
  for (const NodeId s : sources) join = std::max(join, of(s).variance);
  if (const InsArg* ins = instruction(g, id)) {
    const InsKind kind = ins_info(ins->code).kind;
    if (kind == InsKind::Atomic || ins->code == Ins::Shuffle || ins->code == Ins::ShuffleUp || ins->code == Ins::ShuffleDown ||
        ins->code == Ins::ShuffleXor)
      f.variance = Variance::Varying;
    else if (kind == InsKind::Warp) f.variance = Variance::Chunk;
    else f.variance = join == Variance::Affine ? Variance::Varying : join;
    return f;
  }
  if (op == Op::Range) {
    // Every lane counts from 0 in the same steps: the counter is uniform even where the lanes leave at different times.
    f.variance = join <= Variance::Chunk ? join : Variance::Chunk;
    return f;
  }
  if (op == Op::Load) {
    const NodeId place = g.source(id, 0);
    if (g.op(place) == Op::Index) {
      const int v = variable_of[place_base(g, place).index()];
      if (v >= 0) join = std::max(join, variables[static_cast<std::size_t>(v)].variance);
    }
    f.variance = join == Variance::Affine ? Variance::Varying : join;
    return f;
  }
  if (op == Op::After) return of(g.source(id, 0));
  const Type type = g.type(id);
  if (join <= Variance::Chunk) {
    f.variance = join;
    if (!is_word(type)) return f;
    const auto aligned = [&](std::size_t i) { return of(sources[i]).aligned; };
    if (op == Op::Mul) f.aligned = aligned(0) || aligned(1);
    if (op == Op::Add || op == Op::Sub) f.aligned = aligned(0) && aligned(1);
    if (op == Op::Cast && is_word(g.type(sources[0]))) f.aligned = aligned(0);
    if (op == Op::Shl) {
      const auto count = integer_literal(g, sources[1]);
      f.aligned = aligned(0) || (count && *count >= 0 && *count < 31 && (std::int64_t{1} << *count) % w == 0);
    }
    return f;
  }
  f.variance = Variance::Varying;
  if (!is_word(type) || join == Variance::Varying) return f;
  // One operand is affine at least, the others are uniform or affine.
  const auto affine = [&](std::int64_t stride, bool aligned) {
    if (stride == 0) return NodeFacts{Variance::Chunk, 0, aligned, f.exact};
    if (stride < -kMaxStride || stride > kMaxStride) return f;
    return NodeFacts{Variance::Affine, stride, aligned, f.exact};
  };
  const NodeFacts& a = of(sources[0]);
  const NodeFacts b = sources.size() > 1 ? of(sources[1]) : NodeFacts{};
  // A literal operand, -1 when it is none or negative: every use below wants small positive ones.
  const auto small_literal = [&](std::size_t i) {
    const std::optional<std::int64_t> v = i < sources.size() ? integer_literal(g, sources[i]) : std::nullopt;
    return v.value_or(-1);
  };
  const std::int64_t right = small_literal(1), left = small_literal(0);
  if (op == Op::Add) return affine(a.stride + b.stride, a.aligned && b.aligned);
  if (op == Op::Sub) return affine(a.stride - b.stride, a.aligned && b.aligned);
  if (op == Op::Neg) return affine(-a.stride, a.aligned);
  if (op == Op::Mul && right >= 0 && right <= kMaxStride) return affine(a.stride * right, a.aligned);
  if (op == Op::Mul && left >= 0 && left <= kMaxStride) return affine(b.stride * left, b.aligned);
  if (op == Op::Shl && right >= 0 && right <= 16) return affine(a.stride * (std::int64_t{1} << right), a.aligned);
  if (op == Op::Cast) {
    if (type_bits(type) == type_bits(g.type(sources[0]))) return affine(a.stride, a.aligned);
    if (type_bits(type) > type_bits(g.type(sources[0])) && a.exact) return affine(a.stride, a.aligned);
    return f;
  }
  // Consecutive lanes from a multiple of the width: the low bits are the lane's, the high bits are those of the base.
  if (a.variance != Variance::Affine || a.stride != 1 || !a.aligned || right < 0 || width == 1) return f;
  if (op == Op::Shr && right < type_bits(type) && right >= std::countr_zero(static_cast<unsigned>(width)))
    return NodeFacts{Variance::Chunk, 0, false, false};
  const bool low_mask = right >= w - 1 && ((right + 1) & right) == 0;
  if (op == Op::And && low_mask) return affine(1, true);
  return f;
}

void Analysis::compute_variance() {
  const Graph& g = program->graph;
  facts.assign(g.size(), {});
  divergent.assign(program->body.size(), false);
  blend.assign(program->body.size(), false);

  // Which integer operations stay in range: intervals do not depend on variance, so once is enough.
  std::vector<bool> in_range(g.size(), false);
  spec::BoundsTable bounds(g, program);
  for (const NodeId id : program->body) {
    if (!is_word(g.type(id))) continue;
    const Op op = g.op(id);
    if (op == Op::Special || op == Op::Load || op == Op::Param || op == Op::Range || integer_literal(g, id)) in_range[id.index()] = true;
    if (op != Op::Add && op != Op::Sub && op != Op::Mul && op != Op::Cast) continue;
    bool exact = true;
    std::vector<spec::Interval> from;
    for (const NodeId s : g.sources(id)) {
      exact &= is_word(g.type(s)) && in_range[s.index()];
      from.push_back(bounds.of(s));
    }
    if (!exact) continue;
    if (op == Op::Cast) {
      in_range[id.index()] = spec::type_interval(g.type(id)).contains(from[0]);
      continue;
    }
    const auto interval = spec::exact_interval(op, from, integer_literal(g, g.source(id, 1)), g.type(id));
    in_range[id.index()] = interval && spec::type_interval(g.type(id)).contains(*interval);
  }

  // Leaves may stand anywhere before their use, so they and their literals come first.
  const std::size_t count = program->body.size();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t p = 0; p < count; ++p) {
      const NodeId id = program->body[p];
      const Op op = g.op(id);
      facts[id.index()].exact = in_range[id.index()];
      NodeFacts f = facts_of(id);
      f.exact = in_range[id.index()];
      NodeFacts& known = facts[id.index()];
      if (f.variance != known.variance || f.stride != known.stride || f.aligned != known.aligned) {
        changed = true;
        known = f;
      }
      if (op == Op::If || op == Op::Range) {
        const NodeId condition =
            op == Op::Range && partner[p] >= 0 && g.op(program->body[static_cast<std::size_t>(partner[p])]) == Op::Backedge
                ? g.source(program->body[static_cast<std::size_t>(partner[p])], 2)
                : g.source(id, 0);
        const bool d = of(condition).variance > Variance::Chunk;
        if (d != divergent[p]) {
          divergent[p] = d;
          changed = true;
        }
      }
      const NodeId place = op == Op::Store ? access_place(g, id) : NodeId{};
      const int v = place ? variable_of[place_base(g, place).index()] : -1;
      if (v < 0) continue;
      Variance variance = Variance::Block;
      for (const NodeId s : g.sources(id)) variance = std::max(variance, of(s).variance);
      variance = std::max(variance, of(g.source(place, 1)).variance);
      bool blends = false;
      for (int up = parent[p]; up >= 0; up = parent[static_cast<std::size_t>(up)]) {
        const auto at = static_cast<std::size_t>(up);
        if (!live_at_exit(v, up)) continue;
        const Op opener = g.op(program->body[at]);
        const bool unbounded = opener == Op::Range && g.op(program->body[static_cast<std::size_t>(partner[at])]) == Op::Backedge;
        const NodeId condition =
            unbounded ? g.source(program->body[static_cast<std::size_t>(partner[at])], 2) : g.source(program->body[at], 0);
        variance = std::max(variance, of(condition).variance);
        blends |= divergent[at];
      }
      if (blends != blend[p]) {
        blend[p] = blends;
        changed = true;
      }
      if (variance == Variance::Affine) variance = Variance::Varying;
      Variance& var = variables[static_cast<std::size_t>(v)].variance;
      if (variance > var) {
        var = variance;
        changed = true;
      }
    }
  }
}

/// Moves bounded loops out of the loop over chunks where that costs nothing: all chunks then do a turn before the next one. Threads that
/// walk an array together, a block's length at a time, read it in order this way. Branches around loops that the whole block takes or not
/// move with them; one whose loop stays inside is still asked once a block then.
void Analysis::raise_loops() {
  const Graph& g = program->graph;
  if (chunks == 1) return;
  for (std::size_t p = 0; p < program->body.size(); ++p) {
    const NodeId id = program->body[p];
    const bool is_branch = g.op(id) == Op::If;
    if ((g.op(id) != Op::Range && !is_branch) || block_level[p] || partner[p] < 0) continue;
    if (parent[p] >= 0 && !block_level[static_cast<std::size_t>(parent[p])]) continue;
    const auto close = static_cast<std::size_t>(partner[p]);
    if ((!is_branch && g.op(program->body[close]) != Op::End) || !is_block_uniform(g.source(id, 0))) continue;
    bool pays = false;
    for (std::size_t q = p + 1; q < close; ++q) {
      if (is_branch) pays |= g.op(program->body[q]) == Op::Range;
      const NodeId inner = program->body[q];
      const InsArg* ins = instruction(g, inner);
      // What lanes carry from turn to turn, or out of the loop, would travel through memory. So would values from before it.
      if (ins && ins_info(ins->code).kind == InsKind::Warp) pays = false, q = close;
      const NodeId place = access_place(g, inner);
      if (!place) continue;
      const NodeId base = place_base(g, place);
      const int v = variable_of[base.index()];
      if (v < 0) {
        const auto* storage = g.arg_as<ParamArg>(base);
        pays |= !is_branch && storage && storage->space == AddressSpace::Global && of(g.source(place, 1)).variance > Variance::Chunk;
      } else if (live_before(v, static_cast<int>(p)) || live_before(v, static_cast<int>(close) + 1)) {
        pays = false;
        break;
      }
    }
    if (!pays || uses_loads_from_before(static_cast<int>(p))) continue;
    block_level[p] = block_level[close] = true;
  }
}

/// Does the loop at `opener` use values from outside of it that are not computed again easily?
bool Analysis::uses_loads_from_before(int opener) const {
  const Graph& g = program->graph;
  const int close = partner[static_cast<std::size_t>(opener)];
  // Each node once: shared operands would be walked as often as there are paths to them.
  std::vector<bool> seen(g.size());
  for (int q = opener + 1; q < close; ++q) {
    std::vector<NodeId> used(g.sources(program->body[static_cast<std::size_t>(q)]).begin(),
                             g.sources(program->body[static_cast<std::size_t>(q)]).end());
    for (std::size_t i = 0; i < used.size(); ++i) {
      const int at = position[used[i].index()];
      if (at < 0 || at >= opener || literal(g, used[i]) || is_leaf(g.op(used[i]))) continue;
      if (seen[used[i].index()]) continue;
      seen[used[i].index()] = true;
      if (!is_pure(g, used[i])) return true;
      const NodeId from = used[i];
      for (const NodeId s : g.sources(from)) used.push_back(s);
    }
  }
  return false;
}

// --- regions ---------------------------------------------------------------------------------------------------------------------------

Result<Unit> Analysis::find_regions() {
  const Graph& g = program->graph;
  const auto count = static_cast<int>(program->body.size());
  region_of.assign(program->body.size(), -1);
  for (int p = 0; p < count;) {
    const auto at = static_cast<std::size_t>(p);
    const NodeId id = program->body[at];
    if (block_level[at]) {
      const Op op = g.op(id);
      const NodeId condition = op == Op::Backedge ? g.source(id, 2) : op == Op::Range || op == Op::If ? g.source(id, 0) : NodeId{};
      if (condition && g.type(condition) != Type::Void && !is_block_uniform(condition))
        return err("a barrier stands under control flow that is not the same for the whole block");
    }
    if (block_level[at] || g.op(id) == Op::Barrier) {
      ++p;
      continue;
    }
    Region r;
    r.begin = p;
    const auto stops = [&](int q) {
      return block_level[static_cast<std::size_t>(q)] || g.op(program->body[static_cast<std::size_t>(q)]) == Op::Barrier;
    };
    while (p < count && !stops(p)) {
      const NodeId n = program->body[static_cast<std::size_t>(p)];
      const InsArg* ins = instruction(g, n);
      const Op op = g.op(n);
      r.has_effect |= op == Op::Store || op == Op::Range || op == Op::If || (ins && ins_info(ins->code).kind != InsKind::Pure);
      region_of[static_cast<std::size_t>(p)] = static_cast<int>(regions.size());
      ++p;
    }
    r.end = p;
    regions.push_back(r);
  }
  return Unit{};
}

bool Analysis::recomputable(NodeId id, int& budget, int user_position) const {
  const Graph& g = program->graph;
  const Op op = g.op(id);
  if (literal(g, id) || is_leaf(op)) return true;
  if (position[id.index()] >= 0 && region_of[static_cast<std::size_t>(position[id.index()])] < 0)
    return op == Op::Range;  // block level: at hand
  if (!is_pure(g, id) || op == Op::Index || --budget < 0) return false;
  for (const NodeId s : g.sources(id))
    if (!recomputable(s, budget, user_position)) return false;
  return true;
}

void Analysis::find_crossings() {
  const Graph& g = program->graph;
  crossing.assign(g.size(), Crossing::None);
  imports.assign(regions.size(), {});
  const auto count = program->body.size();
  std::vector<int> imported_by(g.size(), -1);
  const auto add_variable = [&](int v, int region) {
    std::vector<int>& list = variables[static_cast<std::size_t>(v)].regions;
    if (list.empty() || list.back() != region) list.push_back(region);
  };
  for (std::size_t p = 0; p < count; ++p) {
    const NodeId id = program->body[p];
    const int region = region_of[p];
    if (const NodeId place = access_place(g, id)) {
      const int v = variable_of[place_base(g, place).index()];
      if (v >= 0 && region >= 0) add_variable(v, region);
    }
    std::vector<NodeId> used(g.sources(id).begin(), g.sources(id).end());
    for (std::size_t i = 0; i < used.size(); ++i) {
      const NodeId s = used[i];
      const int at = position[s.index()];
      if (at < 0 || literal(g, s) || is_leaf(g.op(s))) continue;
      if (g.op(s) == Op::Index) {  // an access reaches through its place
        for (const NodeId inner : g.sources(s)) used.push_back(inner);
        continue;
      }
      const int home = region_of[static_cast<std::size_t>(at)];
      if (home == region || home < 0) continue;
      if (crossing[s.index()] == Crossing::None) {
        int budget = kRecomputeNodes;
        crossing[s.index()] = recomputable(s, budget, static_cast<int>(p)) ? Crossing::Recompute : Crossing::Save;
        if (crossing[s.index()] == Crossing::Save) regions[static_cast<std::size_t>(home)].has_effect = true;
      }
      if (region >= 0 && imported_by[s.index()] != region) {
        imported_by[s.index()] = region;
        imports[static_cast<std::size_t>(region)].push_back(s);
      }
    }
  }
  for (auto& list : imports) std::sort(list.begin(), list.end(), [](NodeId x, NodeId y) { return x.value < y.value; });
  for (std::size_t v = 0; v < variables.size(); ++v) {
    Variable& var = variables[v];
    if (var.regions.size() > 1) var.persistent = true;
    if (var.regions.size() == 1) {
      const Region& r = regions[static_cast<std::size_t>(var.regions[0])];
      const int inside = parent[static_cast<std::size_t>(r.begin)];
      // In a loop at block level the next turn of the region may read what this turn wrote.
      var.persistent = inside >= 0 && live_before(static_cast<int>(v), r.begin);
    }
  }
}

}  // namespace sarek::emit
