// What a body's check decides once all of its types are known: defaults of weak literals, ranges of literals, which operators and
// conversions a type has, bounds of generic calls, and what was declared and never used.
#include <algorithm>

#include "compiler/sema/check.h"

namespace sarek::sema {

bool BodyChecker::satisfies(TypeId type, Bound bound) const {
  const TypeNode& node = types[type];
  if (node.form == TypeForm::Error || node.form == TypeForm::Never || bound == Bound::None) return true;
  if (node.form == TypeForm::Scalar) {
    switch (bound) {
      case Bound::None:
      case Bound::Scalar: return true;
      case Bound::Number: return node.scalar != ir::Type::Bool;
      case Bound::Integer: return ir::is_int(node.scalar);
      case Bound::Float: return ir::is_float(node.scalar);
    }
  }
  if (node.form == TypeForm::Param) {
    const Bound has = types.param_info(node.def).bound;
    switch (bound) {
      case Bound::None: return true;
      case Bound::Scalar: return has != Bound::None;
      case Bound::Number: return has == Bound::Number || has == Bound::Integer || has == Bound::Float;
      case Bound::Integer: return has == Bound::Integer;
      case Bound::Float: return has == Bound::Float;
    }
  }
  return false;
}

void BodyChecker::finish() {
  std::set<std::pair<std::uint32_t, std::uint32_t>> told;
  const auto unknown = [&](SourceRange range) {
    if (body.faulty) return;  // what a fault left open is no fault of its own
    if (told.emplace(range.begin, range.end).second)
      report(DiagnosticKind::CannotInfer, range, "the type of this cannot be inferred; say what it is");
  };
  // What inference made of a type after the expression was built counts too, and so do the fields behind a record's name.
  const auto settle = [&](TypeId type, SourceRange range) {
    if (infer.too_large(type)) return too_large(range);
    const TypeId settled = infer.settle(type, unknown);
    return types.part_count(settled) > kMaxTypeParts ? too_large(range) : settled;
  };
  for (Expr& e : body.exprs) {
    e.type = settle(e.type, e.range);
    for (TypeId& t : e.type_args) t = settle(t, e.range);
  }
  for (Pattern& p : body.patterns) p.type = settle(p.type, p.range);
  for (Local& l : body.locals) l.type = settle(l.type, l.range);
  for (Expr& e : body.exprs) finish_expr(e);
  for (Pattern& p : body.patterns) {
    if (p.form != PatternForm::Literal) continue;
    const ir::Type scalar = types.scalar_of(p.type);
    if (!ir::is_int(scalar)) continue;
    const int bits = ir::type_bits(scalar);
    const ir::Int128 top = ir::is_signed(scalar) ? (ir::Int128{1} << (bits - 1)) - 1 : (ir::Int128{1} << bits) - 1;
    const ir::Int128 bottom = ir::is_signed(scalar) ? -(ir::Int128{1} << (bits - 1)) : ir::Int128{0};
    if (p.value < bottom || p.value > top)
      report(DiagnosticKind::LiteralOutOfRange, p.range, "this value does not fit `" + types.text(p.type) + "`");
  }
  if (body.faulty) return;
  for (Expr& e : body.exprs)
    if (e.form == ExprForm::Match) check_exhaustive(&e);
}

void BodyChecker::finish_expr(Expr& e) {
  if (types.is_error(e.type)) return;
  for (const Expr* a : e.args)
    if (a && types.is_error(a->type)) return;
  const auto operand_is = [&](std::size_t i, Bound bound) { return satisfies(e.args[i]->type, bound); };
  switch (e.form) {
    case ExprForm::Literal: {
      const ir::Type scalar = types.scalar_of(e.type);
      if (scalar == ir::Type::Void) {
        // Of a type parameter: every type it may stand for holds 0 to 127.
        if (!e.is_float && types.form(e.type) == TypeForm::Param && (e.integer > 127 || e.negative))
          report(DiagnosticKind::LiteralOutOfRange, e.range, "not every type of `" + types.text(e.type) + "` holds this value");
        return;
      }
      if (!literal_bits(e, scalar)) {
        const std::string type = types.text(e.type);
        report(DiagnosticKind::LiteralOutOfRange, e.range, "this value does not fit `" + type + "`");
      }
      return;
    }
    case ExprForm::Unary: {
      const Bound bound = e.op == Op::Neg ? Bound::Number : e.op == Op::BitNot ? Bound::Integer : Bound::None;
      if (operand_is(0, bound)) return;
      report(DiagnosticKind::InvalidOperand, e.range,
             "operator `" + std::string(op_text(e.op)) + "` does not work on `" + types.text(e.args[0]->type) + "`");
      return;
    }
    case ExprForm::Binary: check_arithmetic(e); return;
    case ExprForm::Cast: {
      const TypeId from = e.args[0]->type;
      if (satisfies(from, Bound::Scalar) && satisfies(e.type, Bound::Scalar)) return;
      report(DiagnosticKind::InvalidCast, e.range, "`" + types.text(from) + "` cannot be converted to `" + types.text(e.type) + "`");
      return;
    }
    case ExprForm::Bitcast: {
      const ir::Type from = types.scalar_of(e.args[0]->type);
      const ir::Type to = types.scalar_of(e.type);
      if (from == ir::Type::Void || to == ir::Type::Void || from == ir::Type::Bool || to == ir::Type::Bool ||
          ir::type_bits(from) != ir::type_bits(to))
        report(DiagnosticKind::InvalidCast, e.range,
               "`" + types.text(e.args[0]->type) + "` and `" + types.text(e.type) +
                   "` have no bits in common: bitcast is between numbers of the same width");
      return;
    }
    case ExprForm::Call:
      for (std::size_t i = 0; i < e.type_args.size(); ++i) {
        const TypeParamInfo& info = types.param_info(e.callee->type_params[i].second);
        if (types.is_error(e.type_args[i]) || satisfies(e.type_args[i], info.bound)) continue;
        report(DiagnosticKind::UnmetBound, e.range,
               "`" + types.text(e.type_args[i]) + "` does not fit the bound of `" + info.name + "` of `" + e.callee->name + "`")
            .note(info.range, "the bound is declared here");
      }
      return;
    case ExprForm::Intrinsic: {
      const BuiltinInfo& info = builtin_info(e.builtin);
      const auto refuse = [&](std::string_view what) {
        report(DiagnosticKind::InvalidOperand, e.range,
               "`" + std::string(info.name) + "` does not work on `" + types.text(e.args[0]->type) + "`: it takes " + std::string(what));
      };
      switch (info.shape) {
        case BuiltinShape::Float1:
        case BuiltinShape::Float2:
        case BuiltinShape::Float3:
        case BuiltinShape::Later1:
        case BuiltinShape::Later2:
          if (!operand_is(0, Bound::Float)) refuse("floating-point numbers");
          return;
        case BuiltinShape::Number1:
        case BuiltinShape::Number2:
        case BuiltinShape::Reduce:
          if (!operand_is(0, Bound::Number)) refuse("numbers");
          return;
        case BuiltinShape::Integer2:
        case BuiltinShape::Count:
        case BuiltinShape::ReduceBits:
          if (!operand_is(0, Bound::Integer)) refuse("integers");
          return;
        case BuiltinShape::Shuffle:
          if (!operand_is(0, Bound::Scalar)) refuse("scalars");
          return;
        case BuiltinShape::Effect:
        case BuiltinShape::Vote:
        case BuiltinShape::Ballot:
        case BuiltinShape::Mask: return;
        case BuiltinShape::Atomic:
        case BuiltinShape::AtomicBits:
        case BuiltinShape::AtomicStep:
        case BuiltinShape::AtomicCas: {
          const bool integers_only = info.shape == BuiltinShape::AtomicBits || info.shape == BuiltinShape::AtomicStep;
          const ir::Type scalar = types.scalar_of(e.args[0]->type);
          const bool wide_enough = ir::type_bits(scalar) >= 32 && (integers_only ? ir::is_int(scalar) : scalar != ir::Type::Bool);
          if (!wide_enough) refuse(integers_only ? "places of 32 or 64-bit integers" : "places of 32 or 64-bit numbers");
          return;
        }
      }
      return;
    }
    case ExprForm::Index: {
      // An index that is known is checked now; of the others the running program knows.
      if (types.form(e.args[0]->type) != TypeForm::Array) return;
      const std::vector<std::int64_t> extents = types[e.args[0]->type].extents;
      for (std::size_t i = 1; i < e.args.size(); ++i) {
        const Expr& index = *e.args[i];
        std::optional<std::int64_t> at;
        if (index.form == ExprForm::Literal && !index.is_float)
          at = index.negative ? -static_cast<std::int64_t>(index.integer) : static_cast<std::int64_t>(index.integer);
        if (index.form == ExprForm::Cells && index.cells.size() == 1)
          at = types.scalar_of(index.type) == ir::Type::I32 ? static_cast<std::int32_t>(index.cells[0])
                                                            : static_cast<std::int64_t>(index.cells[0]);
        if (at && (*at < 0 || *at >= extents[i - 1]))
          report(DiagnosticKind::InvalidIndex, index.range,
                 "index " + std::to_string(*at) + " is outside of `" + types.text(e.args[0]->type) + "`");
      }
      return;
    }
    case ExprForm::Error:
    case ExprForm::Cells:
    case ExprForm::Local:
    case ExprForm::Id:
    case ExprForm::Logic:
    case ExprForm::Construct:
    case ExprForm::Repeat:
    case ExprForm::Inject:
    case ExprForm::Field:
    case ExprForm::Length:
    case ExprForm::If:
    case ExprForm::Match:
    case ExprForm::Block: return;
  }
}

void BodyChecker::check_arithmetic(Expr& e) {
  const TypeId type = e.args[0]->type;
  bool holds = true;
  switch (e.op) {
    case Op::Mul:
    case Op::Div:
    case Op::Add:
    case Op::Sub:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge: holds = satisfies(type, Bound::Number); break;
    case Op::Mod: holds = satisfies(type, Bound::Integer); break;
    case Op::Shl:
    case Op::Shr: holds = satisfies(type, Bound::Integer) && satisfies(e.args[1]->type, Bound::Integer); break;
    case Op::BitAnd:
    case Op::BitXor:
    case Op::BitOr: holds = satisfies(type, Bound::Integer) || type == types.boolean(); break;
    case Op::Eq:
    case Op::Ne: {
      // Field by field; the cells of a variant that its constructor does not use have no meaning, so these are compared with `match`.
      const std::function<bool(TypeId)> comparable = [&](TypeId t) -> bool {
        const TypeNode node = types[t];
        switch (node.form) {
          case TypeForm::Scalar: return true;
          case TypeForm::Param: return types.param_info(node.def).bound != Bound::None;
          case TypeForm::Tuple:
          case TypeForm::Array: return std::all_of(node.args.begin(), node.args.end(), comparable);
          case TypeForm::Record:
            for (const FieldDef& f : std::vector<FieldDef>(types.def_of(t).fields))
              if (!comparable(types.member(t, f.type))) return false;
            return true;
          case TypeForm::Variant: {
            const auto& all = types.def_of(t).constructors;
            return std::all_of(all.begin(), all.end(), [](const ConstructorDef& c) { return c.payload.empty(); });
          }
          case TypeForm::Error:
          case TypeForm::Never: return true;
          case TypeForm::Buffer:
          case TypeForm::Var:
          case TypeForm::Fragment:
          case TypeForm::Tensor: return false;
        }
        return false;
      };
      holds = comparable(type);
      break;
    }
    case Op::Neg:
    case Op::Not:
    case Op::BitNot:
    case Op::And:
    case Op::Or: break;
  }
  if (holds) return;
  Diagnostic& d = report(DiagnosticKind::InvalidOperand, e.range,
                         "operator `" + std::string(op_text(e.op)) + "` does not work on `" + types.text(type) + "`");
  if (types.form(type) == TypeForm::Param) {
    const TypeParamInfo& info = types.param_info(types[type].def);
    d.note(info.range, "`" + info.name + "` promises too little: a bound such as `" + info.name + ": number` is needed");
  }
}

void BodyChecker::warn_unused() {
  for (const Local& l : body.locals) {
    if (l.name.empty() || l.name[0] == '_') continue;
    const std::string name = "`" + l.name + "`";
    switch (l.kind) {
      case LocalKind::LoopVariable: break;  // some loops only count
      case LocalKind::Let:
      case LocalKind::Param:
      case LocalKind::Shared:
      case LocalKind::DynamicShared:
        if (!l.used) report(DiagnosticKind::UnusedVariable, l.range, name + " is never used");
        break;
      case LocalKind::Var:
        if (!l.used) report(DiagnosticKind::UnusedVariable, l.range, name + " is never used");
        else if (!l.read) report(DiagnosticKind::UnusedVariable, l.range, name + " is written but never read");
        else if (!l.written) report(DiagnosticKind::NeverAssigned, l.range, name + " is a `var` that is never assigned again");
        break;
      case LocalKind::Buffer:
        if (!l.used) report(DiagnosticKind::UnusedVariable, l.range, "buffer " + name + " is never used");
        else if (!l.written && (l.access == ir::Access::InOut || l.access == ir::Access::Out))
          report(DiagnosticKind::UnusedAccess, l.range,
                 "buffer " + name + " is declared `" + (l.access == ir::Access::Out ? "out" : "inout") + "` and never written");
        break;
    }
  }
}

}  // namespace sarek::sema
