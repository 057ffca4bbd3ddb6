// How a case is made. Each thread owns `kOwn` cells of every output buffer and writes no others. Input buffers are read anywhere in bounds.
// Shared tiles are used in phases: every thread writes its own cell, all meet, any cell is read, all meet. Atomics go to cells with one
// commuting operation each. Barriers and warp instructions stand where control flow is the same for the whole block, which the generator
// knows because it makes conditions there from uniform values only.
#include "tests/property/generator.h"

#include <algorithm>
#include <limits>

#include "compiler/ir/builder.h"
#include "compiler/ir/evaluate.h"

namespace sarek::testgen {
namespace {

using ir::Access;
using ir::Ins;
using ir::NodeId;
using ir::Op;
using ir::ProgramBuilder;
using ir::Type;

constexpr int kOwn = 3;  // output cells per thread and type

constexpr std::array<int, 3> kBlocks[] = {{1, 1, 1},  {2, 1, 1},  {7, 1, 1},  {8, 1, 1},  {13, 1, 1},  {16, 1, 1}, {31, 1, 1}, {32, 1, 1},
                                          {33, 1, 1}, {40, 1, 1}, {64, 1, 1}, {65, 1, 1}, {100, 1, 1}, {8, 4, 1},  {5, 3, 1},  {16, 2, 1},
                                          {3, 5, 2},  {1, 9, 1},  {4, 4, 4},  {1, 1, 6},  {33, 3, 1},  {128, 1, 1}};
constexpr std::array<std::int64_t, 3> kGrids[] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {2, 2, 1}, {1, 3, 2}};

/// One atomic operation per cell, so that the order of threads does not show.
constexpr Ins kAtomics[][3] = {{Ins::AtomicAdd, Ins::AtomicSub, Ins::AtomicInc}, {Ins::AtomicMin, Ins::AtomicMin, Ins::AtomicMin},
                               {Ins::AtomicMax, Ins::AtomicMax, Ins::AtomicMax}, {Ins::AtomicAnd, Ins::AtomicAnd, Ins::AtomicAnd},
                               {Ins::AtomicOr, Ins::AtomicOr, Ins::AtomicOr},    {Ins::AtomicXor, Ins::AtomicXor, Ins::AtomicXor},
                               {Ins::AtomicDec, Ins::AtomicAdd, Ins::AtomicDec}};
constexpr int kAtomicCells = static_cast<int>(std::size(kAtomics));

class Generator {
 public:
  Generator(std::uint64_t seed, const Features& features) : features_(features), random_(seed), b_("random", pick_block()) {
    out_.seed = seed;
  }

  Case run() {
    out_.grid = kGrids[random_.below(std::size(kGrids))];
    for (const Type t : features_.types)
      if (t == Type::Bool || t == Type::I32 || random_.one_in(3) || types_.size() < 4) types_.push_back(t);
    declare();
    open_scope();
    for (int i = 0; i < features_.size; ++i) statement(0, true);
    // What is left in variables must count.
    for (std::size_t k = 0; k < types_.size(); ++k) b_.store(outputs_[k], own_index(), b_.get(variables_[k]));
    out_.program = b_.finish();
    make_inputs();
    return std::move(out_);
  }

 private:
  struct Known {
    NodeId id;
    bool uniform;
  };

  std::array<int, 3> pick_block() {
    while (true) {
      const std::array<int, 3> block = kBlocks[random_.below(std::size(kBlocks))];
      if (block[0] * block[1] * block[2] <= features_.max_block) return block;
    }
  }
  int block_threads() { return b_.program().block_threads(); }
  std::size_t any_type() { return random_.below(types_.size()); }
  bool has(Type t) const { return std::find(types_.begin(), types_.end(), t) != types_.end(); }
  std::size_t number_of(Type t) const { return static_cast<std::size_t>(std::find(types_.begin(), types_.end(), t) - types_.begin()); }
  std::string named(std::string_view what, Type t) { return std::string(what) + "_" + std::string(ir::type_name(t)); }

  void declare() {
    open_scope();
    for (const Type t : types_) {
      keep(b_.scalar_param(named("s", t), t), true);
      inputs_.push_back(b_.buffer_param(named("in", t), t, Access::In));
      outputs_.push_back(b_.buffer_param(named("out", t), t, random_.one_in(2) ? Access::InOut : Access::Out));
      variables_.push_back(b_.reg(named("v", t), t));
      arrays_.push_back(b_.reg(named("a", t), t, 4));
    }
    if (features_.atomics)
      for (const Type t : {Type::I32, Type::U32, Type::I64, Type::U64})
        if (has(t) && (ir::type_bits(t) == 32 || features_.wide_atomics))
          counters_.push_back({t, b_.buffer_param(named("count", t), t, Access::InOut)});
    local_ = b_.linear_local_id();
    keep(local_, false);
    for (int axis = 0; axis < 3; ++axis) {
      if (b_.program().block[static_cast<std::size_t>(axis)] > 1) keep(b_.local_id(axis), false);
      keep(b_.group_id(axis), true);
    }
    NodeId group = b_.op(Op::Add, {b_.op(Op::Mul, {b_.group_id(2), b_.num_groups(1)}), b_.group_id(1)});
    group = b_.op(Op::Add, {b_.op(Op::Mul, {group, b_.num_groups(0)}), b_.group_id(0)});
    keep(group, true);
    global_ = b_.op(Op::Add, {b_.op(Op::Mul, {group, b_.i32(block_threads())}), local_});
    keep(global_, false);
    own_ = b_.op(Op::Mul, {global_, b_.i32(kOwn)});
  }

  void make_inputs() {
    const std::int64_t threads = out_.grid[0] * out_.grid[1] * out_.grid[2] * out_.program.block_threads();
    for (const ir::KernelParam& p : out_.program.params) {
      const Type t = p.element.fields.front().type;
      Input in;
      std::int64_t cells = 1;
      if (p.is_buffer) {
        if (p.name.starts_with("out")) cells = threads * kOwn;
        else if (p.name.starts_with("count")) cells = kAtomicCells;
        else cells = 1 + static_cast<std::int64_t>(random_.below(70));
      }
      for (std::int64_t i = 0; i < cells; ++i) in.bits.push_back(any_bits(t));
      out_.inputs.push_back(std::move(in));
    }
    for (const ir::Slot& s : out_.program.slots)
      if (s.kind == ir::Slot::Kind::SharedLength)
        out_.dynamic_shared.push_back(out_.program.block_threads() + static_cast<std::int64_t>(random_.below(5)));
  }

  std::uint64_t any_bits(Type t) {
    if (t == Type::Bool) return random_.below(2);
    const std::vector<std::uint64_t> edges = edge_values(t);
    switch (random_.below(4)) {
      case 0: return edges[random_.below(edges.size())];
      case 1: return ir::canonical_nan(t, random_.next() >> (64 - ir::type_bits(t)));
      default: {  // of everyday size
        const auto n = static_cast<std::int64_t>(random_.below(41)) - 20;
        return *ir::bits_of(ir::is_float(t) ? ir::ConstValue::of_float(static_cast<double>(n) / 4) : ir::ConstValue::of_int(n), t);
      }
    }
  }

  // --- values ---------------------------------------------------------------------------------------------------------------

  void open_scope() { scopes_.emplace_back(); }
  void close_scope() { scopes_.pop_back(); }
  NodeId keep(NodeId id, bool uniform) {
    scopes_.back().push_back({id, uniform});
    return id;
  }
  NodeId literal(Type t) { return b_.constant(t, *ir::value_of(any_bits(t), t)); }
  NodeId known(Type t, bool uniform) {
    std::vector<NodeId> found;
    for (const std::vector<Known>& s : scopes_)
      for (const Known& k : s)
        if (b_.graph().type(k.id) == t && (k.uniform || !uniform)) found.push_back(k.id);
    return found.empty() ? literal(t) : found[random_.below(found.size())];
  }

  /// A value of type t; with `uniform` the same for all threads of the block.
  NodeId value(Type t, int depth, bool uniform = false) {
    if (depth <= 0 || random_.one_in(5)) return random_.one_in(4) ? literal(t) : known(t, uniform);
    return keep(operation(t, depth - 1, uniform), uniform);
  }

  NodeId operation(Type t, int depth, bool uniform) {
    const auto again = [&](Type of) { return value(of, depth, uniform); };
    const std::size_t k = number_of(t);
    switch (random_.below(9)) {
      case 0:
        if (uniform) break;
        return random_.one_in(3) ? b_.load(arrays_[k], small_index(3)) : b_.get(variables_[k]);
      case 1: {
        const NodeId place = any_index(inputs_[k], depth, uniform);
        return random_.one_in(3) ? b_.load(inputs_[k], place, again(t), again(Type::Bool)) : b_.load(inputs_[k], place);
      }
      case 2: return b_.op(Op::Where, {again(Type::Bool), again(t), again(t)});
      case 3: {
        const Type from = types_[any_type()];
        if (from != t) return b_.cast(again(from), t);
        break;
      }
      case 4: {
        // Between two float types payloads of NaN would show.
        const Type from = types_[any_type()];
        if (from != t && ir::type_bits(from) == ir::type_bits(t) && t != Type::Bool && from != Type::Bool &&
            !(ir::is_float(from) && ir::is_float(t)))
          return b_.bitcast(again(from), t);
        break;
      }
      case 5:
        if (uniform ||
            b_.program()
                    .params[static_cast<std::size_t>(b_.program().slots[static_cast<std::size_t>(b_.slot_of(outputs_[k]))].param)]
                    .access != Access::InOut)
          break;
        return b_.load(outputs_[k], own_index());
      default: break;
    }
    if (t == Type::Bool) return condition(depth, uniform);
    return ir::is_float(t) ? float_operation(t, depth, uniform) : integer_operation(t, depth, uniform);
  }

  NodeId condition(int depth, bool uniform) {
    const Type of = types_[any_type()];
    const NodeId x = value(of, depth, uniform);
    const NodeId y = random_.one_in(3) ? literal(of) : value(of, depth, uniform);
    switch (random_.below(6)) {
      case 0: return b_.op(Op::Cmpeq, {x, y});
      case 1: return b_.op(Op::Cmpne, {x, y});
      case 2: return b_.op(random_.one_in(2) ? Op::And : Op::Or, {value(Type::Bool, depth, uniform), b_.op(Op::Cmplt, {x, y})});
      case 3: return b_.logical_not(b_.op(Op::Cmplt, {x, y}));
      default: return b_.op(Op::Cmplt, {x, y});
    }
  }

  NodeId float_operation(Type t, int depth, bool uniform) {
    const auto x = [&] { return value(t, depth, uniform); };
    constexpr Op kBinary[] = {Op::Add, Op::Sub, Op::Mul, Op::Fdiv, Op::Max};
    constexpr Op kUnary[] = {Op::Sqrt, Op::Reciprocal, Op::Neg, Op::Trunc};
    constexpr Ins kUnaryIns[] = {Ins::Abs, Ins::Floor, Ins::Ceil, Ins::Round};
    switch (random_.below(8)) {
      case 0: return b_.op(Op::Mulacc, {x(), x(), x()});
      case 1: return b_.op(kUnary[random_.below(4)], {x()});
      case 2: return b_.ins(kUnaryIns[random_.below(4)], t, {x()});
      case 3: return b_.ins(random_.one_in(2) ? Ins::Min : Ins::Copysign, t, {x(), x()});
      default: return b_.op(kBinary[random_.below(5)], {x(), x()});
    }
  }

  NodeId integer_operation(Type t, int depth, bool uniform) {
    const auto x = [&] { return value(t, depth, uniform); };
    constexpr Op kBinary[] = {Op::Add, Op::Sub, Op::Mul,  Op::Add,  Op::Sub,      Op::Mul,      Op::And, Op::Or,
                              Op::Xor, Op::Max, Op::Cdiv, Op::Cmod, Op::Floordiv, Op::Floormod, Op::Shl, Op::Shr};
    constexpr Ins kCounts[] = {Ins::Clz, Ins::Ctz, Ins::Popcount};
    switch (random_.below(12)) {
      case 0: return b_.op(Op::Mulacc, {x(), x(), x()});
      case 1: return b_.op(Op::Neg, {x()});
      case 2: return b_.ins(Ins::Abs, t, {x()});
      case 3: return b_.ins(kCounts[random_.below(3)], t, {x()});
      case 4: return b_.ins(random_.one_in(2) ? Ins::Min : Ins::MulHigh, t, {x(), x()});
      case 5:  // by a literal: what strength reduction rewrites
        return b_.op(random_.one_in(2) ? Op::Cdiv : Op::Cmod, {x(), literal(t)});
      case 6:
        if (t == Type::U64 && random_.one_in(4)) return b_.op(Op::Threefry, {x(), x()});
        [[fallthrough]];
      default: return b_.op(kBinary[random_.below(std::size(kBinary))], {x(), x()});
    }
  }

  /// 0 to mask, of a varying value or a literal.
  NodeId small_index(int mask) {
    if (random_.one_in(2)) return b_.i32(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(mask) + 1)));
    return b_.op(Op::And, {value(Type::I32, 1), b_.i32(mask)});
  }
  /// A cell of the buffer, in one of several shapes; lengths are at least 1.
  NodeId any_index(NodeId buffer, int depth, bool uniform) {
    const NodeId length = b_.length(b_.slot_of(buffer));
    const NodeId x = value(Type::I32, depth, uniform);
    switch (random_.below(4)) {
      case 0: return b_.op(Op::Max, {b_.ins(Ins::Min, Type::I32, {x, b_.op(Op::Sub, {length, b_.i32(1)})}), b_.i32(0)});
      case 1:
        if (has(Type::I64)) return b_.op(Op::Floormod, {b_.cast(x, Type::I64), b_.cast(length, Type::I64)});
        [[fallthrough]];
      case 2:
        if (!uniform) return b_.op(Op::Floormod, {random_.one_in(2) ? global_ : local_, length});
        [[fallthrough]];
      default: return b_.op(Op::Floormod, {x, length});
    }
  }
  /// A cell that this thread owns.
  NodeId own_index() {
    if (random_.one_in(3)) {
      const NodeId offset = b_.op(Op::Floormod, {value(Type::I32, 1), b_.i32(kOwn)});
      return b_.op(Op::Add, {own_, offset});
    }
    return b_.op(Op::Add, {own_, b_.i32(static_cast<std::int64_t>(random_.below(kOwn)))});
  }

  // --- statements -------------------------------------------------------------------------------------------------------------

  /// `uniform`: control flow here is the same for the whole block.
  void block(int depth, bool uniform) {
    open_scope();
    for (std::uint64_t i = 1 + random_.below(3); i > 0; --i) statement(depth + 1, uniform);
    close_scope();
  }

  void statement(int depth, bool uniform) {
    const std::size_t k = any_type();
    const Type t = types_[k];
    switch (random_.below(depth < 3 ? 16 : 8)) {
      case 0:
      case 1: return b_.set(variables_[k], value(t, 4));
      case 2: return b_.store(arrays_[k], small_index(3), value(t, 3));
      case 3:
      case 4: return b_.store(outputs_[k], own_index(), value(t, 4));
      case 5: return b_.store(outputs_[k], own_index(), value(t, 3), value(Type::Bool, 2));
      case 6: return atomic();
      case 7:
      case 8:
        if (uniform && random_.one_in(2) && features_.warps) return warp();
        return b_.set(variables_[k], value(t, 5));
      case 9:
      case 10:
        if (uniform && features_.barriers) return shared_phase(depth);
        return branch(depth, uniform);
      case 11:
      case 12: return branch(depth, uniform);
      case 13:
      case 14: return bounded(depth, uniform);
      default: return unbounded(depth, uniform);
    }
  }

  void branch(int depth, bool uniform) {
    const bool same = uniform && random_.one_in(2);
    const NodeId c = random_.one_in(4) && !same ? b_.op(Op::Cmplt, {random_.one_in(2) ? global_ : local_, literal(Type::I32)})
                                                : value(Type::Bool, 3, same);
    const NodeId opened = b_.begin_if(c);
    block(depth, same);
    b_.end_if(opened);
    if (random_.one_in(2)) return;
    const NodeId otherwise = b_.begin_if(b_.logical_not(c));
    block(depth, same);
    b_.end_if(otherwise);
  }

  void bounded(int depth, bool uniform) {
    const bool same = uniform && random_.one_in(2);
    std::vector<Type> integers;
    for (const Type t : types_)
      if (ir::is_int(t)) integers.push_back(t);
    const Type t = random_.one_in(3) ? integers[random_.below(integers.size())] : Type::I32;
    NodeId count;
    switch (random_.below(3)) {
      case 0: count = b_.int_constant(t, static_cast<std::int64_t>(random_.below(6))); break;
      case 1: count = b_.op(Op::And, {value(t, 2, same), b_.int_constant(t, 3)}); break;
      default:
        count = b_.op(Op::Floormod, {value(t, 2, same), b_.int_constant(t, 5)});
        if (ir::is_signed(t)) count = b_.op(Op::Sub, {count, b_.int_constant(t, 1)});  // -1 turns are none
        break;
    }
    const NodeId range =
        random_.one_in(4)
            ? b_.op(Op::Range, {count}, ir::RangeArg{{1000 + loops_++, static_cast<int>(random_.below(4))}, ir::AxisType::Unroll})
            : b_.begin_range(count);
    open_scope();
    keep(range, same);
    block(depth, same);
    close_scope();
    b_.end_range(range);
  }

  /// A loop that counts itself: at most five turns, perhaps fewer by a condition on values.
  void unbounded(int depth, bool uniform) {
    const bool same = uniform && random_.one_in(2);
    const NodeId counter = b_.reg("turn" + std::to_string(loops_++), Type::I32);
    b_.set(counter, b_.i32(0));
    const NodeId loop = b_.begin_loop();
    open_scope();
    const NodeId turn = keep(b_.get(counter), same);
    const NodeId next = b_.op(Op::Add, {turn, b_.i32(1)});
    b_.set(counter, next);
    block(depth, same);
    const NodeId again =
        b_.op(Op::And, {b_.op(Op::Cmplt, {next, b_.i32(1 + static_cast<std::int64_t>(random_.below(5)))}), value(Type::Bool, 2, same)});
    close_scope();
    b_.end_loop(loop, again);
  }

  void shared_phase(int depth) {
    const std::size_t k = any_type();
    const Type t = types_[k];
    const int threads = block_threads();
    const bool dynamic = dynamic_ == NodeId() && random_.one_in(4);
    const std::string name = named("tile" + std::to_string(tiles_++), t);
    const NodeId tile = dynamic ? b_.dynamic_shared(name, t) : b_.shared(name, t, threads);
    if (dynamic) dynamic_ = tile;
    b_.store(tile, local_, value(t, 3));
    // Counted between the same two barriers, by atomics that commute.
    NodeId counts;
    if (features_.atomics && random_.one_in(3)) {
      counts = b_.shared("counts" + std::to_string(tiles_++), Type::I32, 4);
      const NodeId few = b_.begin_if(b_.op(Op::Cmplt, {local_, b_.i32(4)}));
      b_.store(counts, local_, literal(Type::I32));
      if (threads < 4)
        for (int i = threads; i < 4; ++i) b_.store(counts, b_.i32(i), literal(Type::I32), b_.op(Op::Cmpeq, {local_, b_.i32(0)}));
      b_.end_if(few);
    }
    b_.barrier();
    for (std::uint64_t i = 1 + random_.below(2); i > 0; --i) {
      const NodeId place = b_.op(
          Op::Floormod,
          {random_.one_in(2) ? b_.op(Op::Add, {local_, b_.i32(1 + static_cast<std::int64_t>(random_.below(3)))}) : value(Type::I32, 2),
           b_.i32(threads)});
      const NodeId read = keep(b_.load(tile, place), false);
      if (random_.one_in(2)) b_.store(outputs_[k], own_index(), read);
      else b_.set(variables_[k], read);
    }
    if (counts) {
      constexpr Ins kCommuting[] = {Ins::AtomicAdd, Ins::AtomicMax, Ins::AtomicXor, Ins::AtomicMin};
      const std::size_t which = random_.below(4);
      const NodeId place = b_.index(counts, b_.i32(static_cast<std::int64_t>(which)));
      const NodeId some = b_.begin_if(value(Type::Bool, 2));
      open_scope();
      b_.ins(kCommuting[which], Type::I32, {place, value(Type::I32, 2)});
      close_scope();
      b_.end_if(some);
      b_.barrier();
      keep(b_.load(counts, b_.op(Op::And, {value(Type::I32, 1), b_.i32(3)})), false);
    }
    if (depth < 2 && random_.one_in(2)) statement(depth + 1, true);
    b_.barrier();
  }

  void warp() {
    constexpr Ins kShuffles[] = {Ins::Shuffle, Ins::ShuffleUp, Ins::ShuffleDown, Ins::ShuffleXor};
    constexpr Ins kReduces[] = {Ins::ReduceAdd, Ins::ReduceMin, Ins::ReduceMax, Ins::ReduceAnd, Ins::ReduceOr, Ins::ReduceXor};
    const Type t = types_[any_type()];
    switch (random_.below(6)) {
      case 0: keep(b_.ins(random_.one_in(2) ? Ins::VoteAll : Ins::VoteAny, Type::Bool, {value(Type::Bool, 3)}), false); return;
      case 1:
        if (has(Type::U32)) keep(b_.ins(Ins::Ballot, Type::U32, {value(Type::Bool, 3)}), false);
        else keep(b_.ins(Ins::VoteAny, Type::Bool, {value(Type::Bool, 3)}), false);
        return;
      case 2:
        if (t != Type::Bool && (features_.half_reductions || (t != Type::F16 && t != Type::Bf16))) {
          const std::size_t count = ir::is_float(t) ? 3 : 6;
          keep(b_.ins(kReduces[random_.below(count)], t, {value(t, 3)}), false);
          return;
        }
        b_.ins(Ins::WarpBarrier, Type::Void, {});
        return;
      default: {
        const Ins code = kShuffles[random_.below(4)];
        const NodeId lane =
            random_.one_in(2) ? b_.i32(static_cast<std::int64_t>(random_.below(34))) : b_.op(Op::And, {value(Type::I32, 2), b_.i32(31)});
        keep(b_.ins(code, t, {value(t, 3), lane}), false);
        return;
      }
    }
  }

  void atomic() {
    if (counters_.empty()) return;
    const auto& [t, buffer] = counters_[random_.below(counters_.size())];
    const std::size_t cell = random_.below(kAtomicCells);
    const Ins code = kAtomics[cell][random_.below(3)];
    const NodeId place = b_.index(buffer, b_.i32(static_cast<std::int64_t>(cell)));
    if (ir::ins_info(code).sources == 1) b_.ins(code, t, {place});
    else b_.ins(code, t, {place, value(t, 3)});
  }

  const Features& features_;
  Random random_;
  ProgramBuilder b_;
  Case out_;
  std::vector<Type> types_;
  std::vector<NodeId> inputs_, outputs_, variables_, arrays_;  // by type
  std::vector<std::pair<Type, NodeId>> counters_;
  NodeId local_, global_, own_, dynamic_;
  std::vector<std::vector<Known>> scopes_;
  int loops_ = 0;
  int tiles_ = 0;
};

}  // namespace

std::vector<std::uint64_t> edge_values(Type t) {
  std::vector<std::uint64_t> v;
  if (t == Type::Bool) return {0, 1};
  if (ir::is_float(t)) {
    const int bits = ir::type_bits(t);
    const int mantissa = t == Type::F16 ? 10 : t == Type::Bf16 ? 7 : t == Type::F32 ? 23 : 52;
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    const std::uint64_t one = std::uint64_t{1} << mantissa;
    const std::uint64_t infinity = sign - one;
    const std::uint64_t unit = *ir::bits_of(ir::ConstValue::of_float(1), t);
    // zero, least and greatest subnormal, least normal and its neighbour, 1 and its neighbours, greatest finite, infinity
    for (const std::uint64_t m :
         {std::uint64_t{0}, std::uint64_t{1}, one - 1, one, one + 1, unit - 1, unit, unit + 1, infinity - 1, infinity}) {
      v.push_back(m);
      v.push_back(m | sign);
    }
    v.push_back(ir::canonical_nan(t, infinity + 1));
    return v;
  }
  const int bits = ir::type_bits(t);
  const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  for (const std::uint64_t x : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{7}, all, all - 1, all >> 1,
                                (all >> 1) + 1, (all >> 1) + 2, std::uint64_t{1} << (bits / 2)})
    v.push_back(x);
  return v;
}

Case generate(std::uint64_t seed, const Features& features) { return Generator(seed, features).run(); }

}  // namespace sarek::testgen
