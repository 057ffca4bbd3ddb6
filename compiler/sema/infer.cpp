#include "compiler/sema/infer.h"

namespace sarek::sema {

TypeId Inference::fresh(VarKind kind, SourceRange range) {
  vars_.push_back({kind, {}, range});
  return types_.var(static_cast<std::uint32_t>(vars_.size() - 1));
}

TypeId Inference::resolve(TypeId type) const {
  while (types_.form(type) == TypeForm::Var && vars_[types_[type].def].bound) type = vars_[types_[type].def].bound;
  return type;
}

TypeId Inference::deep(TypeId type) {
  type = resolve(type);
  const TypeNode node = types_[type];
  if (node.args.empty()) return type;
  TypeNode changed = node;
  for (TypeId& arg : changed.args) arg = deep(arg);
  return types_.intern(std::move(changed));
}

bool Inference::too_large(TypeId type) const {
  if (types_[resolve(type)].args.empty()) return false;
  std::int64_t seen = 0;
  std::vector<TypeId> open{type};
  while (!open.empty()) {
    const TypeNode& node = types_[resolve(open.back())];
    open.pop_back();
    if (++seen > kMaxTypeParts) return true;
    open.insert(open.end(), node.args.begin(), node.args.end());
  }
  return false;
}

std::optional<VarKind> Inference::kind(TypeId type) const {
  type = resolve(type);
  if (types_.form(type) != TypeForm::Var) return std::nullopt;
  return vars_[types_[type].def].kind;
}

std::optional<VarKind> Inference::meet(VarKind a, VarKind b) {
  if (a == b || b == VarKind::Any) return a;
  if (a == VarKind::Any) return b;
  if (a == VarKind::Number) return b;
  if (b == VarKind::Number) return a;
  return std::nullopt;
}

bool Inference::fits(VarKind kind, TypeId type) const {
  if (kind == VarKind::Any) return true;
  const TypeNode& node = types_[type];
  if (node.form == TypeForm::Scalar) {
    const bool integer = ir::is_int(node.scalar);
    const bool floating = ir::is_float(node.scalar);
    return (integer && kind != VarKind::Float) || (floating && kind != VarKind::Integer);
  }
  if (node.form == TypeForm::Param) {
    switch (types_.param_info(node.def).bound) {
      case Bound::None:
      case Bound::Scalar: return false;
      case Bound::Number: return kind == VarKind::Number;
      case Bound::Integer: return kind != VarKind::Float;
      case Bound::Float: return kind != VarKind::Integer;
    }
  }
  return false;
}

bool Inference::occurs(std::uint32_t var, TypeId type) {
  type = resolve(type);
  const TypeNode node = types_[type];
  if (node.form == TypeForm::Var) return node.def == var;
  for (const TypeId arg : node.args)
    if (occurs(var, arg)) return true;
  return false;
}

bool Inference::unify(TypeId a, TypeId b) {
  a = resolve(a);
  b = resolve(b);
  if (a == b) return true;
  const TypeNode left = types_[a];
  const TypeNode right = types_[b];
  const auto lenient = [](TypeForm form) { return form == TypeForm::Error || form == TypeForm::Never; };
  if (left.form == TypeForm::Error || right.form == TypeForm::Error) {
    // Whatever is still open becomes the error type too: nothing more is said about it.
    if (left.form == TypeForm::Var) vars_[left.def].bound = b;
    if (right.form == TypeForm::Var) vars_[right.def].bound = a;
    return true;
  }
  if (lenient(left.form) || lenient(right.form)) return true;
  if (left.form == TypeForm::Var && right.form == TypeForm::Var) {
    const std::optional<VarKind> both = meet(vars_[left.def].kind, vars_[right.def].kind);
    if (!both) return false;
    vars_[left.def].bound = b;
    vars_[right.def].kind = *both;
    // What stands first in the text is where a missing type is told.
    if (vars_[left.def].range.begin < vars_[right.def].range.begin) vars_[right.def].range = vars_[left.def].range;
    return true;
  }
  if (left.form == TypeForm::Var) {
    if (!fits(vars_[left.def].kind, b) || occurs(left.def, b)) return false;
    vars_[left.def].bound = b;
    return true;
  }
  if (right.form == TypeForm::Var) return unify(b, a);
  if (left.form != right.form || left.scalar != right.scalar || left.def != right.def || left.extents != right.extents ||
      left.args.size() != right.args.size())
    return false;
  if (left.args.empty()) return false;
  for (std::size_t i = 0; i < left.args.size(); ++i)
    if (!unify(left.args[i], right.args[i])) return false;
  return true;
}

bool Inference::constrain(TypeId type, VarKind kind) {
  type = resolve(type);
  if (types_.form(type) != TypeForm::Var) return true;
  Var& var = vars_[types_[type].def];
  const std::optional<VarKind> both = meet(var.kind, kind);
  if (!both) return false;
  var.kind = *both;
  return true;
}

std::string Inference::text(TypeId type) {
  return types_.text(deep(type), [this](TypeId var) -> std::string {
    switch (kind(var).value_or(VarKind::Any)) {
      case VarKind::Any: return "_";
      case VarKind::Number:
      case VarKind::Integer: return "{integer}";
      case VarKind::Float: return "{float}";
    }
    return "_";
  });
}

}  // namespace sarek::sema
