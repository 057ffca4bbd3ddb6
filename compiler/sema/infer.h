// Inference variables of one body: kinds of weak literals, unification, defaults. What is reported when types do not fit is check.h's.
#pragma once

#include "compiler/sema/types.h"

namespace sarek::sema {

/// What a variable may stand for. Number is a plain integer literal: it takes any numeric type and is i32 by default; a variable that an
/// integer literal was bound to is Integer from then on, so that what it meant does not change with a later use.
enum class VarKind : std::uint8_t { Any, Number, Integer, Float };

class Inference {
 public:
  explicit Inference(TypeTable& types) : types_(types) {}

  TypeId fresh(VarKind kind, SourceRange range);
  /// Follows bound variables at the top.
  TypeId resolve(TypeId type) const;
  /// Follows them everywhere. Unbound ones stay.
  TypeId deep(TypeId type);
  /// As deep; weak numbers become i32 and f32. Variables of which nothing is known become the error type and are told to `unknown`.
  template <class Unknown>
  TypeId settle(TypeId type, Unknown unknown);
  /// Makes both the same, if they can be; otherwise binds nothing at the top.
  bool unify(TypeId a, TypeId b);
  /// Narrows an unbound variable; false when its kind cannot be that. Types that are known are left alone.
  bool constrain(TypeId type, VarKind kind);
  /// The kind of an unbound variable.
  std::optional<VarKind> kind(TypeId type) const;
  /// Is the type, as far as it is known, written with more than kMaxTypeParts names? Looks at no more of it than that.
  bool too_large(TypeId type) const;
  SourceRange origin(TypeId var) const { return vars_[types_[var].def].range; }
  /// As TypeTable::text, with words for weak literals.
  std::string text(TypeId type);

 private:
  struct Var {
    VarKind kind = VarKind::Any;
    TypeId bound;
    SourceRange range;
  };
  static std::optional<VarKind> meet(VarKind a, VarKind b);
  bool fits(VarKind kind, TypeId type) const;
  bool occurs(std::uint32_t var, TypeId type);

  TypeTable& types_;
  std::vector<Var> vars_;
};

template <class Unknown>
TypeId Inference::settle(TypeId type, Unknown unknown) {
  type = resolve(type);
  const TypeNode node = types_[type];
  if (node.form == TypeForm::Var) {
    switch (vars_[node.def].kind) {
      case VarKind::Number:
      case VarKind::Integer: vars_[node.def].bound = types_.scalar(ir::Type::I32); break;
      case VarKind::Float: vars_[node.def].bound = types_.scalar(ir::Type::F32); break;
      case VarKind::Any:
        unknown(vars_[node.def].range);
        vars_[node.def].bound = types_.error();
        break;
    }
    return vars_[node.def].bound;
  }
  if (node.args.empty()) return type;
  TypeNode changed = node;
  for (TypeId& arg : changed.args) arg = settle(arg, unknown);
  return types_.intern(std::move(changed));
}

}  // namespace sarek::sema
