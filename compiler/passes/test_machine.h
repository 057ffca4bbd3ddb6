// Running and making whole programs in tests of the passes. The machine runs one thread at a time with compiler/ir/evaluate and maps: slow
// and obvious, and independent of the interpreter. The generator makes typed, terminating programs with variables, arrays, branches, loops
// and gates.
#pragma once

#include "compiler/passes/test_support.h"

namespace sarek::passes::test {

/// What a launch gives to a program with `threads` threads in one block along x.
struct Input {
  std::map<int, std::uint64_t> scalars;               // by slot
  std::map<int, std::vector<std::uint64_t>> buffers;  // by slot; cells as bits
  int threads = 1;
};

struct Outcome {
  std::map<int, std::vector<std::uint64_t>> buffers;
  bool trapped = false;
};

/// Runs the threads one after the other, each up to the next barrier: for programs whose barriers stand outside of branches and loops, and
/// without warp instructions. Throws on an access out of bounds, on nodes that have no meaning here, and after ten million steps.
inline Outcome run(const Program& program, const Input& input) {
  const ir::Graph& g = program.graph;
  const auto structure = ir::structure_of(program).value();
  Outcome out{input.buffers, false};
  long steps = 0;
  struct Thread {
    std::vector<std::uint64_t> value;
    std::map<NodeId, std::vector<std::uint64_t>> variables;
    std::size_t at = 0;
  };
  std::vector<Thread> threads(static_cast<std::size_t>(input.threads));
  for (Thread& t : threads) t.value.resize(g.size());
  std::map<NodeId, std::vector<std::uint64_t>> shared;
  for (std::size_t turn = 0; threads.back().at < program.body.size(); ++turn) {
    const std::size_t thread = turn % threads.size();
    std::vector<std::uint64_t>& value = threads[thread].value;
    std::map<NodeId, std::vector<std::uint64_t>>& variables = threads[thread].variables;
    const auto cell = [&](NodeId place) -> std::uint64_t& {
      const NodeId buffer = g.source(place, 0);
      const auto index =
          static_cast<std::int64_t>(g.type(g.source(place, 1)) == Type::I32 ? static_cast<std::int32_t>(value[g.source(place, 1).index()])
                                                                            : static_cast<std::int64_t>(value[g.source(place, 1).index()]));
      const auto& p = *g.arg_as<ir::ParamArg>(buffer);
      std::vector<std::uint64_t>& cells = p.space == ir::AddressSpace::Global  ? out.buffers.at(p.slot)
                                          : p.space == ir::AddressSpace::Local ? shared[buffer]
                                                                               : variables[buffer];
      if (p.space != ir::AddressSpace::Global && cells.empty()) cells.resize(static_cast<std::size_t>(*p.size));
      if (index < 0 || index >= static_cast<std::int64_t>(cells.size()))
        throw std::runtime_error("index out of bounds: " + ir::render(g, place));
      return cells[static_cast<std::size_t>(index)];
    };
    std::size_t& at = threads[thread].at;
    for (; at < program.body.size(); ++at) {
      if (++steps > 10000000) throw std::runtime_error("too many steps");
      const NodeId id = program.body[at];
      const Op op = g.op(id);
      const auto source = [&](std::size_t i) { return g.source(id, i); };
      const auto of = [&](std::size_t i) { return value[source(i).index()]; };
      const auto partner = static_cast<std::size_t>(structure.partner[at]);
      std::uint64_t& result = value[id.index()];
      if (op == Op::Barrier) {
        ++at;
        break;
      }
      if (op == Op::Const || op == Op::Buffer || op == Op::Group || op == Op::Index || op == Op::Endif) continue;
      if (const auto literal = ir::literal(g, id)) {
        result = *ir::bits_of(*literal, g.type(id));
      } else if (op == Op::Special) {
        result = g.arg_as<ir::NameArg>(id)->name == "local_id.x" ? thread : 0;
      } else if (op == Op::Param) {
        const auto& p = *g.arg_as<ir::ParamArg>(id);
        const ir::Slot& slot = program.slots[static_cast<std::size_t>(p.slot)];
        if (slot.kind == ir::Slot::Kind::Scalar) result = input.scalars.at(p.slot);
        if (slot.kind == ir::Slot::Kind::Length) result = input.buffers.at(slot.of_slot).size();
        if (slot.kind == ir::Slot::Kind::NumGroups) result = 1;
      } else if (op == Op::If) {
        if (of(0) == 0) at = partner;
      } else if (op == Op::Range) {
        result = 0;
        if (g.type(source(0)) != Type::Void && static_cast<std::int64_t>(of(0) << (64 - ir::type_bits(g.type(id)))) <= 0) at = partner;
      } else if (op == Op::End) {
        std::uint64_t& i = value[source(1).index()];
        if (++i < value[g.source(source(1), 0).index()]) at = partner;
      } else if (op == Op::Backedge) {
        if (of(2) != 0) at = partner;
      } else if (op == Op::Store) {
        if (g.sources(id).size() < 3 || of(2) != 0) cell(source(0)) = of(1);
      } else if (op == Op::Load) {
        result = g.sources(id).size() == 3 && of(2) == 0 ? of(1) : cell(source(0));
      } else if (op == Op::Ins && g.arg_as<ir::InsArg>(id)->code == ir::Ins::Trap) {
        if (of(0) != 0) {
          out.trapped = true;
          return out;
        }
      } else {
        std::vector<Type> types;
        std::vector<std::uint64_t> operands;
        for (const NodeId s : g.sources(id)) {
          types.push_back(g.type(s));
          operands.push_back(value[s.index()]);
        }
        const auto* ins = g.arg_as<ir::InsArg>(id);
        const auto computed = ins ? ir::evaluate(ins->code, g.type(id), types, operands) : ir::evaluate(op, g.type(id), types, operands);
        if (!computed) throw std::runtime_error("cannot run " + ir::print_node(g, id));
        result = *computed;
      }
    }
  }
  return out;
}

/// Equal cells, NaN for NaN; the type is the element type of each buffer's first PARAM.
inline bool same_outcome(const Program& program, const Outcome& a, const Outcome& b) {
  if (a.trapped != b.trapped) return false;
  for (const auto& [slot, cells] : a.buffers) {
    const Type t =
        program.params[static_cast<std::size_t>(program.slots[static_cast<std::size_t>(slot)].param)].element.fields.front().type;
    const std::vector<std::uint64_t>& others = b.buffers.at(slot);
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (!same_value(t, cells[i], others[i])) return false;
  }
  return true;
}

/// Random programs over a fixed set of types.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed), b_("random", {4, 1, 1}) {}

  Program program() {
    for (const Type t : kTypes) {
      scope().push_back(b_.scalar_param("s_" + std::string(ir::type_name(t)), t));
      buffers_.push_back(b_.buffer_param("b_" + std::string(ir::type_name(t)), t, ir::Access::InOut));
      variables_.push_back(b_.reg("v_" + std::string(ir::type_name(t)), t));
      arrays_.push_back(b_.reg("a_" + std::string(ir::type_name(t)), t, 4));
    }
    scope().push_back(b_.local_id(0));
    // Supersteps: each thread writes its own cell of a shared array, all meet, each reads any cell, all meet.
    for (int step = 0; step < 3; ++step) {
      const std::size_t k = any_type();
      const NodeId tile = b_.shared("t" + std::to_string(step), kTypes[k], 4);
      for (int i = 0; i < 2; ++i) statement(0);
      b_.store(tile, b_.local_id(0), value(kTypes[k]));
      b_.barrier();
      const NodeId place = small_index(3);  // the same before and after: what is merged too eagerly shows
      const NodeId first = b_.load(tile, place);
      b_.store(buffers_[k], b_.local_id(0), first);
      statement(0);
      scope().push_back(b_.load(tile, small_index(3)));
      if (below(2)) continue;
      b_.barrier();
      b_.store(tile, b_.local_id(0), value(kTypes[k]));
      b_.barrier();
      b_.store(buffers_[k], b_.op(Op::Add, {b_.local_id(0), b_.i32(4)}), b_.load(tile, place));
    }
    // What is left in variables must count.
    for (std::size_t i = 0; i < kTypes.size(); ++i) b_.store(buffers_[i], b_.local_id(0), b_.get(variables_[i]));
    return b_.finish();
  }

  /// A launch for the program made: every buffer has 8 cells.
  Input input() {
    Input in;
    in.threads = 4;
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
      const std::vector<std::uint64_t> edges = edge_values(kTypes[i]);
      const auto any = [&] { return below(2) ? edges[below(edges.size())] : random_value(kTypes[i], random_); };
      in.scalars[static_cast<int>(2 * i)] = any();
      std::vector<std::uint64_t>& cells = in.buffers[static_cast<int>(2 * i + 1)];
      for (int c = 0; c < 8; ++c) cells.push_back(any());
    }
    return in;
  }

 private:
  inline static const std::vector<Type> kTypes = {Type::I32, Type::U32, Type::F32, Type::Bool, Type::I64,
                                                  Type::F64, Type::F16, Type::U8,  Type::Bf16};

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::vector<NodeId>& scope() {
    if (scopes_.empty()) scopes_.emplace_back();
    return scopes_.back();
  }
  std::size_t any_type() { return below(kTypes.size()); }

  NodeId known(Type t) {
    std::vector<NodeId> found;
    for (const std::vector<NodeId>& s : scopes_)
      for (const NodeId id : s)
        if (b_.graph().type(id) == t) found.push_back(id);
    return found.empty() ? b_.zero(t) : found[below(found.size())];
  }

  NodeId literal(Type t) {
    const std::vector<std::uint64_t> edges = edge_values(t);
    if (below(3) == 0 && t != Type::Bool)
      return ir::is_float(t) ? b_.float_constant(t, static_cast<double>(below(5)) - 2) : b_.int_constant(t, below(9));
    return b_.constant(t, *ir::value_of(edges[below(edges.size())], t));
  }

  NodeId value(Type t, int depth = 3) {
    const auto keep = [&](NodeId id) {
      scope().push_back(id);
      return id;
    };
    if (depth == 0 || below(5) == 0) return below(3) ? known(t) : literal(t);
    const auto again = [&](Type of) { return value(of, depth - 1); };
    const std::size_t k = static_cast<std::size_t>(std::find(kTypes.begin(), kTypes.end(), t) - kTypes.begin());
    switch (below(8)) {
      case 0: return keep(b_.get(variables_[k]));
      case 1:
        return keep(below(2) ? b_.load(arrays_[k], b_.i32(static_cast<std::int64_t>(below(4)))) : b_.load(arrays_[k], small_index(3)));
      case 2:
        return keep(below(3) ? b_.load(buffers_[k], small_index(7)) : b_.load(buffers_[k], small_index(7), again(t), again(Type::Bool)));
      case 3: return keep(b_.op(Op::Where, {again(Type::Bool), again(t), again(t)}));
      case 4: {
        const Type from = kTypes[any_type()];
        return from == t ? again(t) : keep(b_.cast(again(from), t));
      }
      default: break;
    }
    if (t == Type::Bool) {
      const Type of = kTypes[any_type()];
      const Op ops[] = {Op::Cmplt, Op::Cmpeq, Op::Cmpne};
      if (below(3) == 0) return keep(b_.op(below(2) ? Op::And : Op::Or, {again(t), again(t)}));
      if (below(4) == 0) return keep(b_.logical_not(again(t)));
      return keep(b_.op(ops[below(3)], {again(of), again(of)}));
    }
    if (ir::is_float(t)) {
      const Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Fdiv, Op::Max};
      switch (below(8)) {
        case 0: return keep(b_.op(Op::Neg, {again(t)}));
        case 1: return keep(b_.op(Op::Mulacc, {again(t), again(t), again(t)}));
        case 2: return keep(b_.ins(below(2) ? ir::Ins::Floor : ir::Ins::Abs, t, {again(t)}));
        case 3: return keep(b_.ins(ir::Ins::Min, t, {again(t), again(t)}));
        default: return keep(b_.op(ops[below(5)], {again(t), again(t)}));
      }
    }
    const Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Cdiv, Op::Cmod,     Op::Shl,     Op::Shr,
                      Op::And, Op::Or,  Op::Xor, Op::Max,  Op::Floordiv, Op::Floormod};
    return keep(b_.op(ops[below(13)], {again(t), again(t)}));
  }

  /// 0 to mask. Often one of few literals, so that places meet again.
  NodeId small_index(int mask) {
    if (below(3) == 0) return b_.i32(static_cast<std::int64_t>(below(2)));
    return b_.op(Op::And, {value(Type::I32, 1), b_.i32(mask)});
  }

  void block(int depth) {
    scopes_.emplace_back();
    const std::uint64_t statements = 1 + below(3);
    for (std::uint64_t i = 0; i < statements; ++i) statement(depth + 1);
    scopes_.pop_back();
  }

  void statement(int depth) {
    const std::size_t k = any_type();
    const Type t = kTypes[k];
    switch (depth < 3 ? below(9) : below(5)) {
      case 0:
      case 1: return b_.set(variables_[k], value(t));
      case 2: return b_.store(arrays_[k], below(2) ? b_.i32(static_cast<std::int64_t>(below(4))) : small_index(3), value(t));
      case 3: return b_.store(buffers_[k], small_index(7), value(t));
      case 4: return b_.store(buffers_[k], small_index(7), value(t), value(Type::Bool));
      case 5:
      case 6: {
        const NodeId condition = value(Type::Bool);
        const NodeId opened = b_.begin_if(condition);
        block(depth);
        b_.end_if(opened);
        if (below(2)) return;
        const NodeId otherwise = b_.begin_if(b_.logical_not(condition));
        block(depth);
        b_.end_if(otherwise);
        return;
      }
      case 7: {
        const NodeId n = below(2) ? b_.i32(static_cast<std::int64_t>(below(7)) - 1) : b_.op(Op::Sub, {small_index(7), b_.i32(2)});
        const NodeId range =
            below(3) ? b_.begin_range(n)
                     : b_.op(Op::Range, {n}, ir::RangeArg{{1000 + next_loop_++, static_cast<int>(below(4))}, ir::AxisType::Unroll});
        scopes_.push_back({range});
        block(depth);
        scopes_.pop_back();
        b_.end_range(range);
        return;
      }
      default: {
        // A loop that counts itself: at most four turns.
        const NodeId counter = b_.reg("count", Type::I32);
        b_.set(counter, b_.i32(0));
        const NodeId loop = b_.begin_loop();
        scopes_.emplace_back();
        const NodeId next = b_.op(Op::Add, {b_.get(counter), b_.i32(1)});
        b_.set(counter, next);
        block(depth);
        const NodeId again = b_.op(Op::And, {b_.op(Op::Cmplt, {next, b_.i32(4)}), value(Type::Bool, 1)});
        scopes_.pop_back();
        b_.end_loop(loop, again);
        return;
      }
    }
  }

  std::mt19937_64 random_;
  ProgramBuilder b_;
  std::vector<NodeId> buffers_, variables_, arrays_;
  std::vector<std::vector<NodeId>> scopes_;
  int next_loop_ = 0;
};

}  // namespace sarek::passes::test
