// Which operation gets which formula on which target. The formulas for 16-bit floats are in narrow_floats.h, fma on f64 in exact.h.
#include <array>
#include <bit>
#include <cmath>

#include "compiler/passes/exact.h"
#include "compiler/passes/expr.h"
#include "compiler/passes/facts.h"
#include "compiler/passes/narrow_floats.h"
#include "compiler/passes/passes.h"

namespace sarek::passes {

using namespace ir;

namespace {

Type unsigned_of(int bits) { return bits == 8 ? Type::U8 : bits == 16 ? Type::U16 : bits == 32 ? Type::U32 : Type::U64; }
Type signed_of(int bits) { return bits == 8 ? Type::I8 : bits == 16 ? Type::I16 : bits == 32 ? Type::I32 : Type::I64; }
Int128 least(Type t) { return is_signed(t) ? -(Int128{1} << (type_bits(t) - 1)) : Int128{0}; }
Int128 greatest(Type t) { return (Int128{1} << (type_bits(t) - (is_signed(t) ? 1 : 0))) - 1; }
Int128 canonical_nan(Type t) {
  return t == Type::F16 ? 0x7e00 : t == Type::Bf16 ? 0x7fc0 : t == Type::F32 ? Int128{0x7fc00000} : Int128{0x7ff8} << 48;
}

class Legaliser {
 public:
  Legaliser(Program program, const Capabilities& capabilities) : can_(capabilities), rw_(std::move(program)), graph_(rw_.graph()) {}

  Program run() {
    for (const NodeId id : rw_.body()) {
      sources_.clear();
      for (const NodeId s : graph_.sources(id)) sources_.push_back(rw_.now(s));
      rw_.at(graph_.range(id));
      const Expr by = rewritten(id);
      if (by.rw) rw_.replace(id, by.id);
      else if (!handled_) rw_.keep(id);
      handled_ = false;
    }
    return rw_.finish();
  }

 private:
  Expr at(std::size_t i) { return {&rw_, sources_[i]}; }
  Expr none() { return {}; }
  Expr done() {  // an effect that has been emitted already
    handled_ = true;
    return {};
  }
  bool computes(Type t) const { return t == Type::F16 ? can_.f16_arithmetic : t == Type::Bf16 ? can_.bf16_arithmetic : true; }

  /// What stands for the node: nothing when it is legal as it is.
  Expr rewritten(NodeId id) {
    const Op op = graph_.op(id);
    const Type type = graph_.type(id);
    if (is_leaf(graph_, id)) return leaf(id);
    if (op == Op::Load || op == Op::Store) return access(id, op);
    if (op == Op::Cast) return cast(at(0), type);
    if (op == Op::Bitcast) return bitcast(at(0), type);
    if (op == Op::Ins) return instruction(graph_.arg_as<InsArg>(id)->code, type);
    if (!is_alu(op) || op == Op::Where) return none();
    const Type operand = graph_.type(sources_[0]);
    if (is_comparison(op)) return comparison(op, operand);
    if (is_float(type)) return on_floats(op, type);
    if (is_int(type)) return on_integers(op, type);
    if (type == Type::Bool && (op == Op::Max || op == Op::Mul || op == Op::Add))
      return op == Op::Mul ? at(0) & at(1) : op == Op::Max ? at(0) | at(1) : none();
    return none();
  }

  // --- memory: a Bool is a byte, 0 or 1; any other byte reads as true -------------------------------------------------------------

  static bool is_memory(AddressSpace space) { return space == AddressSpace::Global || space == AddressSpace::Local; }

  Expr leaf(NodeId id) {
    const Op op = graph_.op(id);
    if ((op != Op::Param && op != Op::Buffer) || graph_.type(id) != Type::Bool || !is_memory(space_of(graph_, id))) return none();
    ParamArg bytes = *graph_.arg_as<ParamArg>(id);
    bytes.type = Type::U8;
    return {&rw_, rw_.leaf(op, {}, bytes)};
  }

  Expr access(NodeId id, Op op) {
    const NodeId buffer = *accessed_buffer(graph_, id);
    if (graph_.type(buffer) != Type::Bool || !is_memory(space_of(graph_, buffer))) return none();
    const auto byte = [&](Expr truth) { return truth.to(Type::U8); };
    if (op == Op::Store) {
      std::vector<NodeId> s = sources_;
      s[1] = byte(at(1)).id;
      rw_.emit(Op::Store, s);
      return done();
    }
    std::vector<NodeId> s = sources_;
    if (s.size() == 3) s[1] = byte(at(1)).id;
    return Expr{&rw_, rw_.emit(Op::Load, s)} != 0;
  }

  // --- conversions -------------------------------------------------------------------------------------------------------------------

  /// Exact: f16 and bf16 to f32 or f64.
  Expr widen(Expr x, Type to = Type::F32) {
    if (x.type() == Type::F16 && !can_.f16_conversion) x = f32_of_f16_bits(x.bits(Type::U16));
    else if (x.type() == Type::Bf16 && !can_.bf16_conversion) x = f32_of_bf16_bits(x.bits(Type::U16));
    return x.to(Type::F32).to(to);
  }

  /// One correct rounding of an f32, or of an f64 by way of an f32 rounded to odd.
  Expr narrow(Expr x, Type to) {
    if (x.type() == Type::F64 && to == Type::F16 && can_.narrow_f64_once) return x.to(to);
    if (x.type() == Type::F64) x = f32_to_odd(x);
    if (to == Type::F16) return can_.f16_conversion ? x.to(to) : f16_bits_of_f32(x).bits(to);
    return can_.bf16_conversion ? x.to(to) : bf16_bits_of_f32(x).bits(to);
  }

  Expr cast(Expr x, Type to) {
    const Type from = x.type();
    if (from == to) return x;
    if (to == Type::Bool) {
      if (from == Type::Bool) return x;
      return is_narrow_float(from) && !computes(from) ? widen(x) != 0 : x != 0;
    }
    if (is_narrow_float(from)) {
      if (is_float(to) && !is_narrow_float(to)) return widen(x, to);
      return is_narrow_float(to) ? narrow(widen(x), to) : float_to_int(widen(x), to);
    }
    if (is_narrow_float(to)) {
      if (is_float(from)) return narrow(x, to);
      // f16: an integer that f32 rounds is above 2^24 and infinite in f16 either way. bf16 reaches further and needs the sticky bit.
      if (to == Type::Bf16 && is_int(from) && type_bits(from) >= 32) return narrow(integer_for_bf16(x), to);
      return narrow(x.to(Type::F32), to);
    }
    return is_float(from) && is_int(to) ? float_to_int(x, to) : none();
  }

  /// Truncates and saturates; NaN gives 0. The limits -2^k and 2^k are floats; between them the target's own conversion is defined.
  Expr float_to_int(Expr x, Type to) {
    if (can_.saturating_casts) return x.to(to);
    const double limit = std::ldexp(1.0, type_bits(to) - (is_signed(to) ? 1 : 0));
    const Expr above_least = x.lit_float(is_signed(to) ? -limit : 0.0) < x;
    const Expr in_range = above_least & (x < x.lit_float(limit));
    const Expr value = select(in_range, x, x.lit(0)).to(to);
    // At or below the least value, and NaN: MIN and 0, which are one for unsigned types.
    const Expr otherwise = is_signed(to) ? select(x == x, value.lit(least(to)), value.lit(0)) : value.lit(0);
    return select(in_range, value, select(above_least, value.lit(greatest(to)), otherwise));
  }

  Expr bitcast(Expr x, Type to) {
    const Type from = x.type();
    if (!is_float(from) || from == to || can_.canonical_nan_bits) return none();
    // f16 as bf16, and back: the sign of a NaN of the one is a bit of a number of the other.
    const Expr raw = x.bits(is_float(to) ? unsigned_of(type_bits(to)) : to);
    const Expr number = is_narrow_float(from) && !computes(from) ? widen(x) : x;
    return select(number == number, raw, raw.lit(canonical_nan(from))).bits(to);
  }

  // --- comparisons -------------------------------------------------------------------------------------------------------------------

  Expr comparison(Op op, Type operand) {
    if (is_narrow_float(operand) && !computes(operand)) return widen(at(0)).op(op, widen(at(1)));
    if (operand == Type::Bool && op == Op::Cmplt) return (!at(0)) & at(1);
    return none();
  }

  // --- floats ------------------------------------------------------------------------------------------------------------------------

  Expr on_floats(Op op, Type type) {
    if (op == Op::Reciprocal) return divide(at(0).lit(1), at(0));
    if (op == Op::Fdiv && is_narrow_float(type)) return divide(at(0), at(1));
    if (op == Op::Max) return extreme(at(0), at(1), true);
    if (op == Op::Trunc) return rounded(at(0), nullptr);
    if (op == Op::Mulacc) return fma(at(0), at(1), at(2));
    if (!is_narrow_float(type) || computes(type))
      return op == Op::Sqrt && is_narrow_float(type) ? narrow(widen(at(0)).op(op), type) : none();
    if (op == Op::Neg) return (at(0).bits(Type::U16) ^ 0x8000).bits(type);
    // f32 has 24 >= 2p + 2 bits for p = 11 and 8: rounding twice is rounding once for sums, products, quotients and roots (Figueroa, 1995).
    if (op == Op::Sqrt) return narrow(widen(at(0)).op(op), type);
    if (op == Op::Add || op == Op::Sub || op == Op::Mul) return narrow(widen(at(0)).op(op, widen(at(1))), type);
    return none();
  }

  Expr divide(Expr x, Expr y) {
    if (!is_narrow_float(x.type())) return x.op(Op::Fdiv, y);
    return narrow(widen(x).op(Op::Fdiv, widen(y)), x.type());
  }

  /// x * y + z with one rounding.
  Expr fma(Expr x, Expr y, Expr z) {
    const Type type = x.type();
    // Products of f16 fit f32 and those of bf16 and f32 fit f64, exponents included; a sum rounded to odd survives the narrowing.
    if (type == Type::F16) return narrow(add_round_to_odd(widen(x) * widen(y), widen(z)), type);
    if (type == Type::Bf16) return narrow(add_round_to_odd(widen(x, Type::F64) * widen(y, Type::F64), widen(z, Type::F64)), type);
    if (type == Type::F32) {
      if (can_.fma_f32) return none();
      return add_round_to_odd(x.to(Type::F64) * y.to(Type::F64), z.to(Type::F64)).to(Type::F32);
    }
    if (can_.fma_f64) return none();
    const Expr product = x * y;
    const auto bits = [](Expr v) { return v.bits(Type::U64); };
    const auto clz = [&](Expr v) { return can_.bit_counting ? v.ins(Ins::Clz) : exact::leading_zeros(v); };
    const auto high = [&](Expr a, Expr b) { return can_.multiply_high ? a.ins(Ins::MulHigh, b) : exact::multiply_high(a, b); };
    return exact::fma_f64(bits(x), bits(y), bits(z), bits(product), bits(product + z), clz, high).bits(Type::F64);
  }

  /// Min or max: the number when one operand is NaN; zeros ordered by combining the sign bits, equal numbers have equal bits otherwise.
  Expr extreme(Expr x, Expr y, bool greater) {
    const Type type = x.type();
    if (is_narrow_float(type) && !computes(type)) return narrow(extreme(widen(x), widen(y), greater), type);
    if (can_.ordered_min_max && !is_narrow_float(type)) return greater ? x.op(Op::Max, y) : x.ins(Ins::Min, y);
    const Type word = unsigned_of(type_bits(type));
    const Expr tie = (greater ? x.bits(word) & y.bits(word) : x.bits(word) | y.bits(word)).bits(type);
    const Expr x_wins = (greater ? y < x : x < y) | (y != y);
    return select(x == y, tie, select(x_wins, x, y));
  }

  /// TRUNC (none), floor, ceil and round. Away from the target's own trunc they are exact: x - trunc(x) is, and a step of one is while it
  /// matters.
  Expr rounded(Expr x, const Ins* code) {
    const Type type = x.type();
    if (is_narrow_float(type)) return narrow(rounded(widen(x), code), type);
    if (can_.rounding_functions && code && *code != Ins::Round) return x.ins(*code);
    const Expr t = can_.rounding_functions ? x.op(Op::Trunc) : truncated(x);
    if (!code) return t;
    if (*code == Ins::Floor) return select(x < t, t - 1, t);
    if (*code == Ins::Ceil) return select(t < x, t + 1, t);
    const Expr fraction = x - t;
    const Expr one = x.lit_float(1.0);
    const Expr up = !(fraction < x.lit_float(0.5));  // true for NaN, which infinities give: guarded by the comparison with itself
    const Expr down = !(x.lit_float(-0.5) < fraction);
    const Expr step = select(fraction == fraction, select(up, one, select(down, -one, x.lit_float(0.0))), x.lit_float(0.0));
    // Adding +0.0 would turn -0.0 into +0.0.
    return select(step == 0, t, t + step);
  }

  /// Clears the bits behind the point.
  Expr truncated(Expr x) {
    const bool is_double = x.type() == Type::F64;
    const int mantissa = is_double ? 52 : 23;
    const Type word = is_double ? Type::U64 : Type::U32;
    const Type count = is_double ? Type::I64 : Type::I32;
    const Expr b = x.bits(word);
    const Expr exponent = ((b >> mantissa) & (is_double ? 0x7ff : 0xff)).to(count) - (is_double ? 1023 : 127);
    const Expr inside = select(exponent < 0, exponent.lit(0), select(exponent < mantissa, exponent, exponent.lit(mantissa)));
    const Expr mask = b.lit((Int128{1} << mantissa) - 1) >> inside.to(word);
    const Expr sign = b & (Int128{1} << (is_double ? 63 : 31));
    return select(exponent < 0, sign, b & (mask ^ (is_double ? b.lit(greatest(Type::U64)) : b.lit(greatest(Type::U32))))).bits(x.type());
  }

  // --- integers ----------------------------------------------------------------------------------------------------------------------

  Expr on_integers(Op op, Type type) {
    if (op == Op::Trunc) return at(0);
    if (op == Op::Mulacc) return at(0) * at(1) + at(2);
    if (op == Op::Shl || op == Op::Shr) return shift(op, type);
    if (op == Op::Cdiv || op == Op::Cmod) return at(0).op(op, divisor(at(0), at(1)));
    if (op == Op::Floordiv || op == Op::Floormod) return floor_division(op);
    if (op == Op::Threefry) return threefry(at(0), at(1));
    return none();
  }

  Expr shift(Op op, Type type) {
    const Expr count = at(1);
    const std::optional<std::int64_t> literal = integer_literal(graph_, count.id);
    const int mask = type_bits(type) - 1;
    if (can_.masked_shifts || (literal && *literal >= 0 && *literal <= mask)) return none();
    return at(0).op(op, literal ? count.lit(*literal & mask) : count & mask);
  }

  /// The divisor with 1 in the place of what the target cannot divide by: x / 1 = x is the answer for 0, and for MIN / -1 too.
  Expr divisor(Expr x, Expr y) {
    const std::optional<std::int64_t> literal = integer_literal(graph_, y.id);
    if (can_.total_integer_division || (literal && *literal != 0 && *literal != -1)) return y;
    Expr bad = y == 0;
    if (is_signed(x.type())) bad = bad | ((y == -1) & (x == least(x.type())));
    return select(bad, y.lit(1), y);
  }

  /// Towards minus infinity: one less than the truncated quotient where there is a remainder and the signs differ.
  Expr floor_division(Op op) {
    const Expr x = at(0), y = at(1);
    const Expr d = divisor(x, y);
    if (!is_signed(x.type())) return x.op(op == Op::Floordiv ? Op::Cdiv : Op::Cmod, d);
    const Expr remainder = x.op(Op::Cmod, d);
    const Expr adjust = (remainder != 0) & ((remainder ^ y) < 0);
    if (op == Op::Floormod) return select(adjust, remainder + y, remainder);
    const Expr quotient = x.op(Op::Cdiv, d);
    return select(adjust, quotient - 1, quotient);
  }

  /// Threefry 2x32 with 20 rounds (Salmon et al., 2011), as compiler/ir/evaluate.
  Expr threefry(Expr counter, Expr key) {
    constexpr std::array<int, 8> kRotations{13, 15, 26, 6, 17, 29, 16, 24};
    const auto low = [](Expr v) { return v.to(Type::U32); };
    const auto high = [](Expr v) { return (v >> 32).to(Type::U32); };
    const std::array<Expr, 3> keys{low(key), high(key), low(key) ^ high(key) ^ 0x1bd11bda};
    Expr x0 = low(counter) + keys[0];
    Expr x1 = high(counter) + keys[1];
    for (std::size_t group = 0; group < 5; ++group) {
      for (std::size_t i = 0; i < 4; ++i) {
        const int r = kRotations[(group & 1) * 4 + i];
        x0 = x0 + x1;
        x1 = ((x1 << r) | (x1 >> (32 - r))) ^ x0;
      }
      x0 = x0 + keys[(group + 1) % 3];
      x1 = x1 + keys[(group + 2) % 3] + (group + 1);
    }
    return (x1.to(Type::U64) << 32) | x0.to(Type::U64);
  }

  Expr instruction(Ins code, Type type) {
    if ((code == Ins::ReduceMin || code == Ins::ReduceMax) && is_narrow_float(type) && !computes(type))
      return narrow(widen(at(0)).ins(code), type);
    if (ins_info(code).kind != InsKind::Pure) return none();
    const Expr x = at(0);
    const Type operand = x.type();
    if (code == Ins::Clz || code == Ins::Ctz || code == Ins::Popcount) return bit_count(code, x).to(type);
    if (code == Ins::MulHigh) return multiply_high(x, at(1));
    if (is_float(operand)) {
      if (code == Ins::Min) return extreme(x, at(1), false);
      if (code == Ins::Floor || code == Ins::Ceil || code == Ins::Round) return rounded(x, &code);
      if (code == Ins::Abs) return is_narrow_float(operand) ? (x.bits(Type::U16) & 0x7fff).bits(operand) : none();
      if (code == Ins::Copysign) return copysign(x, at(1));
      return none();
    }
    if (code == Ins::Abs) return is_signed(operand) ? select(x < 0, -x, x) : x;
    return none();
  }

  /// The sign of a NaN is outside the contract and differs between processors: it counts as positive.
  Expr copysign(Expr x, Expr y) {
    const Type type = x.type();
    if (!is_narrow_float(type)) return x.ins(Ins::Copysign, select(y == y, y, y.lit(0)));
    const Expr number = computes(type) ? y : widen(y);
    const Expr sign = select(number == number, y.bits(Type::U16) & 0x8000, x.bits(Type::U16).lit(0));
    return ((x.bits(Type::U16) & 0x7fff) | sign).bits(type);
  }

  Expr bit_count(Ins code, Expr x) {
    const int bits = type_bits(x.type());
    const Expr word = x.to(unsigned_of(bits));
    if (bits < 32) {
      const Expr wide = word.to(Type::U32);
      if (code == Ins::Clz) return count_word(code, wide) - (32 - bits);
      return count_word(code, code == Ins::Ctz ? wide | (Int128{1} << bits) : wide);
    }
    return count_word(code, word);
  }

  /// On U32 and U64.
  Expr count_word(Ins code, Expr x) {
    if (can_.bit_counting) return x.ins(code);
    const Expr wide = x.to(Type::U64);
    const int bits = type_bits(x.type());
    if (code == Ins::Popcount) return exact::one_bits(wide);
    if (code == Ins::Clz) return exact::leading_zeros(wide) - (64 - bits);
    // The bits below the lowest one bit; all of them for 0.
    const Expr below = x & (x.lit(0) - x);
    return exact::one_bits((below - 1).to(Type::U64));
  }

  Expr multiply_high(Expr x, Expr y) {
    const Type type = x.type();
    const int bits = type_bits(type);
    if (bits < 32 || (bits == 32 && !can_.multiply_high)) {
      const Type wide = is_signed(type) ? signed_of(bits * 2) : unsigned_of(bits * 2);
      return ((x.to(wide) * y.to(wide)) >> bits).to(type);
    }
    if (can_.multiply_high) return none();
    const Expr ux = x.to(Type::U64), uy = y.to(Type::U64);
    const Expr high = exact::multiply_high(ux, uy).to(type);
    if (!is_signed(type)) return high;
    // A negative operand counts 2^64 too much: take the other one off.
    const Expr zero = x.lit(0);
    return high - select(x < 0, y, zero) - select(y < 0, x, zero);
  }

  const Capabilities& can_;
  Rewriter rw_;
  const Graph& graph_;
  std::vector<NodeId> sources_;
  bool handled_ = false;
};

}  // namespace

Program legalise(Program program, const Capabilities& capabilities) { return Legaliser(std::move(program), capabilities).run(); }

}  // namespace sarek::passes
