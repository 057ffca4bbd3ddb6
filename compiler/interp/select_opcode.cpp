// See select_opcode.h. The tables come from opcodes.def.
#include "compiler/interp/select_opcode.h"

namespace sarek::interp {
namespace {

using ir::Ins;
using ir::Op;
using ir::Type;

/// Opcodes by base and type, filled from the table.
enum class Base : std::uint8_t {
  Neg,
  Abs,
  Trunc,
  Floor,
  Ceil,
  Round,
  Sqrt,
  Reciprocal,
  Clz,
  Ctz,
  Popcount,
  CanonicalNan,
  Add,
  Sub,
  Mul,
  Max,
  Min,
  Less,
  Equal,
  NotEqual,
  Fdiv,
  Copysign,
  Cdiv,
  Cmod,
  Floordiv,
  Floormod,
  MulHigh,
  Shl,
  Shr,
  Mulacc,
  JumpIfNotLess
};
struct TypedCode {
  Base base;
  Type type;
  Opcode code;
};
constexpr TypedCode kTyped[] = {
#define SAREK_UNARY(base, function, type) {Base::base, Type::type, Opcode::base##_##type},
#define SAREK_BINARY(base, function, type) {Base::base, Type::type, Opcode::base##_##type},
#define SAREK_SHIFT(base, function, type) {Base::base, Type::type, Opcode::base##_##type},
#define SAREK_TERNARY(base, function, type) {Base::base, Type::type, Opcode::base##_##type},
#define SAREK_COMPARE_JUMP(base, function, type) {Base::base, Type::type, Opcode::base##_##type},
#include "compiler/interp/opcodes.def"
};
std::optional<Opcode> find(Base base, Type type) {
  for (const TypedCode& t : kTyped)
    if (t.base == base && t.type == type) return t.code;
  return std::nullopt;
}
struct Conversion {
  Type to, from;
  Opcode code;
};
constexpr Conversion kConversions[] = {
#define SAREK_CONVERT(to, from) {Type::to, Type::from, Opcode::Cast_##to##_##from},
#include "compiler/interp/opcodes.def"
};
struct RangeRow {
  Type type;
  RangeCodes codes;
};
constexpr RangeRow kRanges[] = {
#define SAREK_RANGE(type) {Type::type, {Opcode::RangeBegin_##type, Opcode::RangeEnd_##type}},
#include "compiler/interp/opcodes.def"
};

Type unsigned_of(Type type) {
  switch (type) {
    case Type::I8: return Type::U8;
    case Type::I16: return Type::U16;
    case Type::I32: return Type::U32;
    case Type::I64: return Type::U64;
    case Type::Void:
    case Type::Bool:
    case Type::WeakInt:
    case Type::U8:
    case Type::U16:
    case Type::U32:
    case Type::U64:
    case Type::WeakFloat:
    case Type::F8e4m3:
    case Type::F8e5m2:
    case Type::F8e4m3fnuz:
    case Type::F8e5m2fnuz:
    case Type::F16:
    case Type::Bf16:
    case Type::F32:
    case Type::F64: return type;
  }
  return type;
}

}  // namespace

std::optional<Opcode> find_conversion(Type to, Type from) {
  for (const Conversion& c : kConversions)
    if (c.to == to && c.from == from) return c.code;
  return std::nullopt;
}

std::optional<RangeCodes> range_codes(Type type) {
  for (const RangeRow& r : kRanges)
    if (r.type == type) return r.codes;
  return std::nullopt;
}

std::optional<Opcode> alu_code(Op op, Type type) {
  const bool is_float = ir::is_float(type);
  // Signedness matters only where named.
  const Type bits = unsigned_of(type);
  const Type ordered = type == Type::Bool ? Type::U8 : type;
  const auto plain = [&](Opcode code) { return is_float ? std::nullopt : std::optional(code); };
  if (op == Op::Sqrt) return find(Base::Sqrt, type);
  if (op == Op::Reciprocal) return find(Base::Reciprocal, type);
  if (op == Op::Neg) return find(Base::Neg, bits);
  if (op == Op::Trunc) return is_float ? find(Base::Trunc, type) : ir::is_int(type) ? std::optional(Opcode::Move) : std::nullopt;
  if (op == Op::Add) return find(Base::Add, bits);
  if (op == Op::Sub) return find(Base::Sub, bits);
  if (op == Op::Mul) return find(Base::Mul, bits);
  if (op == Op::Mulacc) return find(Base::Mulacc, bits);
  if (op == Op::Shl) return find(Base::Shl, bits);
  if (op == Op::Shr) return find(Base::Shr, type);
  if (op == Op::Cdiv) return find(Base::Cdiv, type);
  if (op == Op::Cmod) return find(Base::Cmod, type);
  if (op == Op::Floordiv) return find(Base::Floordiv, type);
  if (op == Op::Floormod) return find(Base::Floormod, type);
  if (op == Op::Fdiv) return find(Base::Fdiv, type);
  if (op == Op::Max) return find(Base::Max, ordered);
  if (op == Op::Cmplt) return find(Base::Less, ordered);
  if (op == Op::Cmpeq) return is_float ? find(Base::Equal, type) : std::optional(Opcode::EqualBits);
  if (op == Op::Cmpne) return is_float ? find(Base::NotEqual, type) : std::optional(Opcode::NotEqualBits);
  if (op == Op::And) return plain(Opcode::And);
  if (op == Op::Or) return plain(Opcode::Or);
  if (op == Op::Xor) return plain(Opcode::Xor);
  if (op == Op::Threefry) return type == Type::U64 ? std::optional(Opcode::Threefry) : std::nullopt;
  return std::nullopt;
}

std::optional<Opcode> pure_code(Ins ins, Type type) {
  if (ins == Ins::Min) return find(Base::Min, type == Type::Bool ? Type::U8 : type);
  if (ins == Ins::Abs) return ir::is_unsigned(type) ? std::optional(Opcode::Move) : find(Base::Abs, type);
  if (ins == Ins::Floor) return find(Base::Floor, type);
  if (ins == Ins::Ceil) return find(Base::Ceil, type);
  if (ins == Ins::Round) return find(Base::Round, type);
  if (ins == Ins::Copysign) return find(Base::Copysign, type);
  if (ins == Ins::Clz) return find(Base::Clz, unsigned_of(type));
  if (ins == Ins::Ctz) return find(Base::Ctz, unsigned_of(type));
  if (ins == Ins::Popcount) return find(Base::Popcount, unsigned_of(type));
  if (ins == Ins::MulHigh) return find(Base::MulHigh, type);
  return std::nullopt;
}

std::optional<Opcode> canonical_nan_code(Type type) { return find(Base::CanonicalNan, type); }

Opcode branch_unless_code(Op comparison, Type type) {
  if (comparison == Op::Cmpeq) return Opcode::JumpIfNotEqualBits;
  if (comparison == Op::Cmpne) return Opcode::JumpIfEqualBits;
  return *find(Base::JumpIfNotLess, type == Type::Bool ? Type::U8 : type);
}

Opcode load_code(Type type, bool narrow) {
  if (type == Type::Bool) return narrow ? Opcode::LoadBool_I32 : Opcode::LoadBool_I64;
  switch (ir::type_bytes(type)) {
    case 1: return narrow ? Opcode::Load1_I32 : Opcode::Load1_I64;
    case 2: return narrow ? Opcode::Load2_I32 : Opcode::Load2_I64;
    case 4: return narrow ? Opcode::Load4_I32 : Opcode::Load4_I64;
    default: return narrow ? Opcode::Load8_I32 : Opcode::Load8_I64;
  }
}
Opcode store_code(Type type, bool narrow) {
  switch (ir::type_bytes(type)) {
    case 1: return narrow ? Opcode::Store1_I32 : Opcode::Store1_I64;
    case 2: return narrow ? Opcode::Store2_I32 : Opcode::Store2_I64;
    case 4: return narrow ? Opcode::Store4_I32 : Opcode::Store4_I64;
    default: return narrow ? Opcode::Store8_I32 : Opcode::Store8_I64;
  }
}

bool warp_fits(const WarpInfo& w) {
  const bool integer = ir::is_int(w.type) && !ir::is_weak(w.type);
  switch (w.code) {
    case Ins::Shuffle:
    case Ins::ShuffleUp:
    case Ins::ShuffleDown:
    case Ins::ShuffleXor: return w.type == w.source && is_value_type(w.type) && ir::is_int(w.distance) && !ir::is_weak(w.distance);
    case Ins::VoteAll:
    case Ins::VoteAny: return w.type == Type::Bool && w.source == Type::Bool;
    case Ins::Ballot: return integer && ir::type_bits(w.type) >= 32 && w.source == Type::Bool;
    case Ins::ActiveMask: return integer && ir::type_bits(w.type) >= 32;
    case Ins::ReduceAdd: return w.type == w.source && alu_code(Op::Add, w.type).has_value();
    case Ins::ReduceMin:
    case Ins::ReduceMax: return w.type == w.source && alu_code(Op::Max, w.type).has_value();
    case Ins::ReduceAnd:
    case Ins::ReduceOr:
    case Ins::ReduceXor: return w.type == w.source && (integer || w.type == Type::Bool);
    case Ins::WarpBarrier: return true;
    case Ins::Min:
    case Ins::Abs:
    case Ins::Floor:
    case Ins::Ceil:
    case Ins::Round:
    case Ins::Copysign:
    case Ins::Clz:
    case Ins::Ctz:
    case Ins::Popcount:
    case Ins::MulHigh:
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
    case Ins::Trap: return false;
  }
  return false;
}

}  // namespace sarek::interp
