// Scalar types of the IR: properties, promotion, matching with weak literals. Vectors and shapes are not types here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sarek::ir {

enum class Type : std::uint8_t {
#define SAREK_TYPE(name, text, bits, kind) name,
#include "compiler/ir/types.def"
};
enum class TypeKind : std::uint8_t { None, Bool, Signed, Unsigned, Float, WeakInt, WeakFloat };

std::string_view type_name(Type type);
std::optional<Type> type_by_name(std::string_view name);
TypeKind type_kind(Type type);
/// Bits in memory; 0 for Void and the weak types, 8 for Bool.
int type_bits(Type type);
/// Bytes in memory.
inline int type_bytes(Type type) { return type_bits(type) / 8; }

inline bool is_weak(Type t) { return t == Type::WeakInt || t == Type::WeakFloat; }
/// Integers of either sign, weak ones included; not Bool.
inline bool is_int(Type t) {
  const TypeKind k = type_kind(t);
  return k == TypeKind::Signed || k == TypeKind::Unsigned || k == TypeKind::WeakInt;
}
inline bool is_signed(Type t) { return type_kind(t) == TypeKind::Signed || t == Type::WeakInt; }
inline bool is_unsigned(Type t) { return type_kind(t) == TypeKind::Unsigned; }
/// Floats of every width, the weak one included.
inline bool is_float(Type t) { return type_kind(t) == TypeKind::Float || t == Type::WeakFloat; }

/// The weak type of t's kind: WeakInt for integers, WeakFloat for floats, itself for Bool and Void.
Type weak_of(Type t);
/// The least type that holds both (JAX's lattice: Bool below WeakInt below the integers below WeakFloat below the floats). Void with
/// anything is the other.
Type promote(Type a, Type b);
/// The least float type that holds t: WeakFloat for WeakInt, F32 for committed integers and Bool, t for floats.
Type least_upper_float(Type t);

}  // namespace sarek::ir
