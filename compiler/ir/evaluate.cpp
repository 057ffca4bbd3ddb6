// Picks the scalar operation for a node's types. One switch over the operations, one over the types.
#include "compiler/ir/evaluate.h"

#include <array>

#include "compiler/ir/scalar.h"

namespace sarek::ir {
namespace scalar {

std::uint64_t threefry(std::uint64_t counter, std::uint64_t key) {
  constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  const std::uint32_t keys[3] = {low(key), high(key), 0x1bd11bdau ^ low(key) ^ high(key)};
  std::uint32_t x0 = low(counter) + keys[0];
  std::uint32_t x1 = high(counter) + keys[1];
  for (std::uint32_t group = 0; group < 5; ++group) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      x0 += x1;
      x1 = std::rotl(x1, kRotations[(group & 1) * 4 + i]) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return static_cast<std::uint64_t>(x1) << 32 | x0;
}

}  // namespace scalar

namespace {

using Bits = std::optional<std::uint64_t>;

template <class T>
struct Tag {
  using type = T;
};

/// Calls f with the C++ type that stands for `type`; none for types without arithmetic.
template <class F>
Bits with_type(Type type, F&& f) {
  switch (type) {
    case Type::Bool: return f(Tag<bool>{});
    case Type::I8: return f(Tag<std::int8_t>{});
    case Type::U8: return f(Tag<std::uint8_t>{});
    case Type::I16: return f(Tag<std::int16_t>{});
    case Type::U16: return f(Tag<std::uint16_t>{});
    case Type::I32: return f(Tag<std::int32_t>{});
    case Type::U32: return f(Tag<std::uint32_t>{});
    case Type::I64: return f(Tag<std::int64_t>{});
    case Type::U64: return f(Tag<std::uint64_t>{});
    case Type::F16: return f(Tag<scalar::F16>{});
    case Type::Bf16: return f(Tag<scalar::Bf16>{});
    case Type::F32: return f(Tag<float>{});
    case Type::F64: return f(Tag<double>{});
    case Type::Void:
    case Type::WeakInt:
    case Type::WeakFloat:
    case Type::F8e4m3:
    case Type::F8e5m2:
    case Type::F8e4m3fnuz:
    case Type::F8e5m2fnuz: return std::nullopt;
  }
  return std::nullopt;
}

// Which types an operation takes: ints, floats, both, or those and Bool.
template <class F>
Bits for_ints(Type type, F&& f) {
  return with_type(type, [&](auto tag) -> Bits {
    if constexpr (scalar::kIsInt<typename decltype(tag)::type>) return f(tag);
    else return std::nullopt;
  });
}
template <class F>
Bits for_floats(Type type, F&& f) {
  return with_type(type, [&](auto tag) -> Bits {
    if constexpr (scalar::kIsFloat<typename decltype(tag)::type>) return f(tag);
    else return std::nullopt;
  });
}
template <class F>
Bits for_numbers(Type type, F&& f) {
  return with_type(type, [&](auto tag) -> Bits {
    if constexpr (!std::is_same_v<typename decltype(tag)::type, bool>) return f(tag);
    else return std::nullopt;
  });
}

Bits bit_cast(Type result, Type source, std::uint64_t x) {
  if (type_bits(result) != type_bits(source) || type_bits(source) == 0) return std::nullopt;
  if (result == Type::Bool && source != Type::Bool) return std::nullopt;
  // Payloads are outside the contract, so they may not leak into a type where they would be a number.
  return result == source ? x : canonical_nan(source, x);
}

Bits convert(Type result, Type source, std::uint64_t x) {
  return with_type(source, [&](auto from) {
    using From = typename decltype(from)::type;
    return with_type(result, [&](auto to) -> Bits {
      using To = typename decltype(to)::type;
      return scalar::pack(scalar::cast<To>(scalar::unpack<From>(x)));
    });
  });
}

/// All operands have the result's type.
bool all_are(Type type, std::span<const Type> sources) {
  for (const Type s : sources)
    if (s != type) return false;
  return true;
}

// f on operands 0, 1, 2 of the type that a for_ function chose.
#define SAREK_UNARY(f)                                       \
  [&](auto t) -> Bits {                                      \
    using T = typename decltype(t)::type;                    \
    return scalar::pack(scalar::f(scalar::unpack<T>(v[0]))); \
  }
#define SAREK_BINARY(f)                                                               \
  [&](auto t) -> Bits {                                                               \
    using T = typename decltype(t)::type;                                             \
    return scalar::pack(scalar::f(scalar::unpack<T>(v[0]), scalar::unpack<T>(v[1]))); \
  }

}  // namespace

bool is_nan(Type type, std::uint64_t bits) {
  switch (type) {
    case Type::F16: return (bits & 0x7fffu) > 0x7c00u;
    case Type::Bf16: return (bits & 0x7fffu) > 0x7f80u;
    case Type::F32: return (bits & 0x7fffffffu) > 0x7f800000u;
    case Type::F64: return (bits & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
    case Type::F8e4m3: return (bits & 0x7fu) == 0x7fu;
    case Type::F8e5m2: return (bits & 0x7fu) > 0x7cu;
    case Type::F8e4m3fnuz:
    case Type::F8e5m2fnuz: return bits == 0x80u;
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
    case Type::WeakFloat: return false;
  }
  return false;
}

std::uint64_t canonical_nan(Type type, std::uint64_t bits) {
  if (!is_nan(type, bits)) return bits;
  switch (type) {
    case Type::F16: return numeric::kNanF16;
    case Type::Bf16: return numeric::kNanBf16;
    case Type::F32: return numeric::kNanF32;
    case Type::F64: return numeric::kNanF64;
    case Type::F8e4m3: return 0x7f;
    case Type::F8e5m2: return 0x7e;
    case Type::F8e4m3fnuz:
    case Type::F8e5m2fnuz: return 0x80;
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
    case Type::WeakFloat: return bits;
  }
  return bits;
}

std::optional<std::uint64_t> evaluate(Op op, Type result, std::span<const Type> sources, std::span<const std::uint64_t> v) {
  const OpInfo& info = op_info(op);
  if (!is_elementwise(op) || sources.size() != v.size()) return std::nullopt;
  if (static_cast<int>(v.size()) < info.min_sources || static_cast<int>(v.size()) > info.max_sources) return std::nullopt;
  if (op == Op::Cast) return convert(result, sources[0], v[0]);
  if (op == Op::Bitcast) return bit_cast(result, sources[0], v[0]);
  if (op == Op::Where) {
    if (sources[0] != Type::Bool || sources[1] != result || sources[2] != result) return std::nullopt;
    return v[0] ? v[1] : v[2];
  }
  if (op == Op::Shl || op == Op::Shr) {
    if (sources[0] != result || !is_int(sources[1])) return std::nullopt;
    return for_ints(result, [&](auto t) -> Bits {
      using T = typename decltype(t)::type;
      const T x = scalar::unpack<T>(v[0]);
      return scalar::pack(op == Op::Shl ? scalar::shift_left(x, v[1]) : scalar::shift_right(x, v[1]));
    });
  }
  if (is_comparison(op)) {
    const Type of = sources[0];
    if (result != Type::Bool || !all_are(of, sources)) return std::nullopt;
    if (op == Op::Cmplt) return with_type(of, SAREK_BINARY(less));
    if (op == Op::Cmpeq) return with_type(of, SAREK_BINARY(equal));
    return with_type(of, SAREK_BINARY(not_equal));
  }
  if (!all_are(result, sources)) return std::nullopt;
  switch (op) {
    case Op::Sqrt: return for_floats(result, SAREK_UNARY(square_root));
    case Op::Reciprocal: return for_floats(result, SAREK_UNARY(reciprocal));
    case Op::Neg: return for_numbers(result, SAREK_UNARY(neg));
    case Op::Trunc: return for_numbers(result, SAREK_UNARY(truncate));
    case Op::Add: return for_numbers(result, SAREK_BINARY(add));
    case Op::Sub: return for_numbers(result, SAREK_BINARY(sub));
    case Op::Mul: return for_numbers(result, SAREK_BINARY(mul));
    case Op::Fdiv: return for_floats(result, SAREK_BINARY(fdiv));
    case Op::Cdiv: return for_ints(result, SAREK_BINARY(divide));
    case Op::Cmod: return for_ints(result, SAREK_BINARY(remainder));
    case Op::Floordiv: return for_ints(result, SAREK_BINARY(floor_divide));
    case Op::Floormod: return for_ints(result, SAREK_BINARY(floor_remainder));
    case Op::Max: return with_type(result, SAREK_BINARY(maximum));
    case Op::Mulacc:
      return for_numbers(result, [&](auto t) -> Bits {
        using T = typename decltype(t)::type;
        return scalar::pack(scalar::mulacc(scalar::unpack<T>(v[0]), scalar::unpack<T>(v[1]), scalar::unpack<T>(v[2])));
      });
    // Bits of equal types combine as they lie; the unused high ones stay zero.
    case Op::Xor: return is_float(result) || type_bits(result) == 0 ? Bits() : v[0] ^ v[1];
    case Op::Or: return is_float(result) || type_bits(result) == 0 ? Bits() : v[0] | v[1];
    case Op::And: return is_float(result) || type_bits(result) == 0 ? Bits() : v[0] & v[1];
    case Op::Threefry: return result == Type::U64 ? Bits(scalar::threefry(v[0], v[1])) : Bits();
    // Not fixed by the contract yet.
    case Op::Exp2:
    case Op::Log2:
    case Op::Sin:
    case Op::Pow: return std::nullopt;
    // Handled above.
    case Op::Cast:
    case Op::Bitcast:
    case Op::Where:
    case Op::Shl:
    case Op::Shr:
    case Op::Cmplt:
    case Op::Cmpne:
    case Op::Cmpeq:
    // No arithmetic.
    case Op::Special:
    case Op::Buffer:
    case Op::Alloc:
    case Op::Noop:
    case Op::Param:
    case Op::Call:
    case Op::Program:
    case Op::Linear:
    case Op::Source:
    case Op::Binary:
    case Op::Sink:
    case Op::After:
    case Op::Group:
    case Op::Stack:
    case Op::Getaddr:
    case Op::Index:
    case Op::Shrink:
    case Op::Load:
    case Op::Store:
    case Op::Wmma:
    case Op::Barrier:
    case Op::Range:
    case Op::If:
    case Op::End:
    case Op::Endif:
    case Op::Backedge:
    case Op::Const:
    case Op::Custom:
    case Op::Customi:
    case Op::Ins:
    case Op::ContiguousBackward:
    case Op::Detach:
    case Op::Stage:
    case Op::Copy:
    case Op::Mselect:
    case Op::Mstack:
    case Op::CustomFunction:
    case Op::Reshape:
    case Op::Permute:
    case Op::Expand:
    case Op::Pad:
    case Op::Flip:
    case Op::Unshard:
    case Op::Reduce:
    case Op::Allreduce: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> evaluate(Ins ins, Type result, std::span<const Type> sources, std::span<const std::uint64_t> v) {
  const InsInfo& info = ins_info(ins);
  if (info.kind != InsKind::Pure || sources.size() != v.size() || static_cast<int>(v.size()) != info.sources) return std::nullopt;
  const auto count = [&](auto f) -> Bits {
    if (!is_int(result) || !is_int(sources[0]) || is_weak(result)) return std::nullopt;
    return for_ints(sources[0], f);
  };
  if (ins == Ins::Clz) return count(SAREK_UNARY(leading_zeros));
  if (ins == Ins::Ctz) return count(SAREK_UNARY(trailing_zeros));
  if (ins == Ins::Popcount) return count(SAREK_UNARY(one_bits));
  if (!all_are(result, sources)) return std::nullopt;
  switch (ins) {
    case Ins::Min: return with_type(result, SAREK_BINARY(minimum));
    case Ins::Abs: return for_numbers(result, SAREK_UNARY(absolute));
    case Ins::Floor: return for_floats(result, SAREK_UNARY(floor));
    case Ins::Ceil: return for_floats(result, SAREK_UNARY(ceil));
    case Ins::Round: return for_floats(result, SAREK_UNARY(round));
    case Ins::Copysign: return for_floats(result, SAREK_BINARY(copysign));
    case Ins::MulHigh: return for_ints(result, SAREK_BINARY(multiply_high));
    case Ins::Clz:
    case Ins::Ctz:
    case Ins::Popcount:
    case Ins::Shuffle:
    case Ins::ShuffleUp:
    case Ins::ShuffleDown:
    case Ins::ShuffleXor:
    case Ins::VoteAll:
    case Ins::VoteAny:
    case Ins::Ballot:
    case Ins::ActiveMask:
    case Ins::ReduceAdd:
    case Ins::ReduceMin:
    case Ins::ReduceMax:
    case Ins::ReduceAnd:
    case Ins::ReduceOr:
    case Ins::ReduceXor:
    case Ins::WarpBarrier:
    case Ins::FenceBlock:
    case Ins::FenceDevice:
    case Ins::AtomicAdd:
    case Ins::AtomicSub:
    case Ins::AtomicExchange:
    case Ins::AtomicMin:
    case Ins::AtomicMax:
    case Ins::AtomicAnd:
    case Ins::AtomicOr:
    case Ins::AtomicXor:
    case Ins::AtomicInc:
    case Ins::AtomicDec:
    case Ins::AtomicCas:
    case Ins::Trap: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> bits_of(const ConstValue& value, Type type) {
  if (value.kind == ConstValue::Kind::Invalid) return std::nullopt;
  if (is_float(type)) {
    if (value.kind != ConstValue::Kind::Float) return std::nullopt;
    return convert(type, Type::F64, numeric::bits(value.number));
  }
  if (value.kind == ConstValue::Kind::Float) return std::nullopt;
  return with_type(type, [&](auto t) -> Bits {
    using T = typename decltype(t)::type;
    if constexpr (std::is_same_v<T, bool>) return value.integer != 0 ? 1 : 0;
    else if constexpr (scalar::kIsInt<T>) return scalar::pack(static_cast<T>(value.integer));
    else return std::nullopt;
  });
}

std::optional<ConstValue> value_of(std::uint64_t bits, Type type) {
  if (type == Type::Bool) return ConstValue::of_bool(bits != 0);
  if (is_float(type)) {
    const Bits widened = convert(Type::F64, type, bits);
    if (!widened) return std::nullopt;
    return ConstValue::of_float(numeric::f64(*widened));
  }
  if (is_weak(type) || !is_int(type)) return std::nullopt;
  if (is_unsigned(type)) return ConstValue::of_int(Int128{bits});
  const Bits extended = convert(Type::I64, type, bits);
  return ConstValue::of_int(Int128{static_cast<std::int64_t>(*extended)});
}

}  // namespace sarek::ir
