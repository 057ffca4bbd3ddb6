#include "compiler/ir/types.h"

#include <iterator>

namespace sarek::ir {
namespace {

struct Row {
  std::string_view name;
  int bits;
  TypeKind kind;
};
constexpr Row kRows[] = {
#define SAREK_TYPE(name, text, bits, kind) {text, bits, TypeKind::kind},
#include "compiler/ir/types.def"
};

const Row& row(Type type) { return kRows[static_cast<std::size_t>(type)]; }

/// Position in the lattice's levels: Void, Bool, weak int, integers, weak float, floats.
int level(Type t) {
  switch (type_kind(t)) {
    case TypeKind::None: return 0;
    case TypeKind::Bool: return 1;
    case TypeKind::WeakInt: return 2;
    case TypeKind::Signed:
    case TypeKind::Unsigned: return 3;
    case TypeKind::WeakFloat: return 4;
    case TypeKind::Float: return 5;
  }
  return 0;
}

/// The signed type of `bits` or more, or the least float above every integer when there is none.
Type signed_above(int bits) {
  if (bits <= 8) return Type::I8;
  if (bits <= 16) return Type::I16;
  if (bits <= 32) return Type::I32;
  if (bits <= 64) return Type::I64;
  return Type::WeakFloat;
}

Type promote_integers(Type a, Type b) {
  if (is_signed(a) == is_signed(b)) return type_bits(a) >= type_bits(b) ? a : b;
  const Type s = is_signed(a) ? a : b;
  const Type u = is_signed(a) ? b : a;
  return type_bits(s) > type_bits(u) ? s : signed_above(type_bits(u) * 2);
}

Type promote_floats(Type a, Type b) {
  if (type_bits(a) == type_bits(b)) return type_bits(a) == 8 ? Type::F16 : Type::F32;  // two different formats of one width
  return type_bits(a) > type_bits(b) ? a : b;
}

}  // namespace

std::string_view type_name(Type type) { return row(type).name; }
TypeKind type_kind(Type type) { return row(type).kind; }
int type_bits(Type type) { return row(type).bits; }

std::optional<Type> type_by_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].name == name) return static_cast<Type>(i);
  return std::nullopt;
}

Type weak_of(Type t) {
  if (is_int(t)) return Type::WeakInt;
  if (is_float(t)) return Type::WeakFloat;
  return t;
}

Type promote(Type a, Type b) {
  if (a == b) return a;
  const int la = level(a);
  const int lb = level(b);
  if (la != lb) return la > lb ? a : b;
  return la == 5 ? promote_floats(a, b) : promote_integers(a, b);
}

Type least_upper_float(Type t) {
  if (is_float(t)) return t;
  return t == Type::WeakInt ? Type::WeakFloat : Type::F32;
}

}  // namespace sarek::ir
