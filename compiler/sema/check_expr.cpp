// Typing of expressions: names, literals, operators, fields, elements, conversions, branches, blocks, and the places that reads and writes
// go to.
#include <algorithm>

#include "compiler/sema/check.h"

namespace sarek::sema {

namespace {

Op op_of(syntax::BinaryOp op) {
  switch (op) {
    case syntax::BinaryOp::Mul: return Op::Mul;
    case syntax::BinaryOp::Div: return Op::Div;
    case syntax::BinaryOp::Mod: return Op::Mod;
    case syntax::BinaryOp::MatMul: return Op::Mul;
    case syntax::BinaryOp::Add: return Op::Add;
    case syntax::BinaryOp::Sub: return Op::Sub;
    case syntax::BinaryOp::Shl: return Op::Shl;
    case syntax::BinaryOp::Shr: return Op::Shr;
    case syntax::BinaryOp::BitAnd: return Op::BitAnd;
    case syntax::BinaryOp::BitXor: return Op::BitXor;
    case syntax::BinaryOp::BitOr: return Op::BitOr;
    case syntax::BinaryOp::Eq: return Op::Eq;
    case syntax::BinaryOp::Ne: return Op::Ne;
    case syntax::BinaryOp::Lt: return Op::Lt;
    case syntax::BinaryOp::Le: return Op::Le;
    case syntax::BinaryOp::Gt: return Op::Gt;
    case syntax::BinaryOp::Ge: return Op::Ge;
    case syntax::BinaryOp::And: return Op::And;
    case syntax::BinaryOp::Or: return Op::Or;
  }
  return Op::Add;
}

bool is_comparison(Op op) { return op == Op::Eq || op == Op::Ne || op == Op::Lt || op == Op::Le || op == Op::Gt || op == Op::Ge; }

/// What people who come from CUDA, OpenCL or older versions of this language write for an index.
std::string_view foreign_name(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"threadIdx", "local_id"},
                                                                      {"blockIdx", "group_id"},
                                                                      {"blockDim", "group_size"},
                                                                      {"gridDim", "num_groups"},
                                                                      {"get_global_id", "global_id"},
                                                                      {"get_local_id", "local_id"},
                                                                      {"get_group_id", "group_id"},
                                                                      {"get_local_size", "group_size"},
                                                                      {"get_num_groups", "num_groups"},
                                                                      {"thread_idx_x", "local_id.x"},
                                                                      {"thread_idx_y", "local_id.y"},
                                                                      {"thread_idx_z", "local_id.z"},
                                                                      {"block_idx_x", "group_id.x"},
                                                                      {"block_dim_x", "group_size.x"},
                                                                      {"grid_dim_x", "num_groups.x"},
                                                                      {"global_thread_id", "global_id.x"},
                                                                      {"global_idx", "global_id.x"},
                                                                      {"__syncthreads", "barrier()"},
                                                                      {"block_barrier", "barrier()"},
                                                                      {"warpSize", "warp_size"},
                                                                      {"memory_fence_block", "fence_block()"},
                                                                      {"memory_fence_device", "fence_device()"}};
  for (const auto& [from, to] : kNames)
    if (name == from) return to;
  return {};
}

}  // namespace

std::string_view op_text(Op op) {
  switch (op) {
    case Op::Neg: return "-";
    case Op::Not: return "!";
    case Op::BitNot: return "~";
    case Op::Mul: return "*";
    case Op::Div: return "/";
    case Op::Mod: return "%";
    case Op::Add: return "+";
    case Op::Sub: return "-";
    case Op::Shl: return "<<";
    case Op::Shr: return ">>";
    case Op::BitAnd: return "&";
    case Op::BitXor: return "^";
    case Op::BitOr: return "|";
    case Op::Eq: return "==";
    case Op::Ne: return "!=";
    case Op::Lt: return "<";
    case Op::Le: return "<=";
    case Op::Gt: return ">";
    case Op::Ge: return ">=";
    case Op::And: return "&&";
    case Op::Or: return "||";
  }
  return {};
}

// --- reporting and building ------------------------------------------------------------------------------------------------------

Diagnostic& BodyChecker::report(DiagnosticKind diagnostic, SourceRange range, std::string message) {
  if (default_severity(diagnostic) == Severity::Error) body.faulty = true;
  return up.report(diagnostic, range, std::move(message));
}

Expr* BodyChecker::make(ExprForm form, TypeId type, SourceRange range, std::vector<Expr*> args) {
  body.exprs.emplace_back();
  Expr* e = &body.exprs.back();
  e->form = form;
  e->type = infer.too_large(type) ? too_large(range) : type;
  e->range = range;
  e->args = std::move(args);
  for (const Expr* a : e->args) {
    if (!a) continue;
    e->exits |= a->exits;
    e->diverges |= a->diverges;
  }
  return e;
}

Expr* BodyChecker::error(SourceRange range) {
  body.faulty = true;
  return make(ExprForm::Error, types.error(), range);
}

TypeId BodyChecker::too_large(SourceRange range) {
  body.faulty = true;
  if (!told_too_large)
    report(DiagnosticKind::TypeTooLarge, range, "the type of this has more than " + std::to_string(kMaxTypeParts) + " parts");
  told_too_large = true;
  return types.error();
}

Diagnostic& BodyChecker::mismatch(SourceRange range, TypeId a, TypeId b) {
  return report(DiagnosticKind::TypeMismatch, range, "cannot unify types `" + infer.text(a) + "` and `" + infer.text(b) + "`");
}

bool BodyChecker::expect(Expr* e, TypeId want) {
  if (!want || infer.unify(e->type, want)) return true;
  const TypeId have = e->type;
  Diagnostic& d = mismatch(e->range, want, have);
  const TypeId to = infer.resolve(want);
  const TypeId from = infer.resolve(have);
  const bool numbers = types.form(to) == TypeForm::Scalar && (types.form(from) == TypeForm::Scalar || types.form(from) == TypeForm::Var);
  if (numbers && to != types.boolean() && e->form != ExprForm::Block && e->form != ExprForm::If && e->form != ExprForm::Match) {
    const std::string written(up.sources.text(e->range));
    const bool simple = e->form != ExprForm::Binary && e->form != ExprForm::Logic;
    d.fix(e->range, (simple ? written : "(" + written + ")") + " as " + types.text(to), "convert it with `as`");
  } else if (to == types.unit() && types.form(from) != TypeForm::Var) {
    d.fix({e->range.file, e->range.end, e->range.end}, ";", "end it with `;` to discard the value");
  }
  e->type = types.error();
  return false;
}

void BodyChecker::unknown_name(const syntax::Name& name) {
  std::vector<std::string_view> names;
  for (const Scope& s : scopes)
    for (const auto& [text, scoped] : s) names.push_back(text);
  for (const auto& [text, entity] : file.visible) names.push_back(text);
  for (const std::string_view builtin : builtin_names()) names.push_back(builtin);
  for (const std::string_view id : {"global_id", "local_id", "group_id", "group_size", "num_groups", "warp_size", "lane_id", "bitcast"})
    names.push_back(id);
  const std::string_view foreign = foreign_name(name.text);
  const std::string near = foreign.empty() ? nearest_name(name.text, names) : std::string(foreign);
  Diagnostic& d = report(DiagnosticKind::UnknownName, name.range, "unbound variable `" + std::string(name.text) + "`");
  if (!near.empty()) d.fix(name.range, near, "did you mean `" + near + "`?");
}

TypeId BodyChecker::ids_used() {
  if (function) function->uses_ids = true;
  return index_type();
}

const BodyChecker::Scoped* BodyChecker::lookup(std::string_view name) const {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    const auto found = scope->find(name);
    if (found != scope->end()) return &found->second;
  }
  return nullptr;
}

std::uint32_t BodyChecker::add_local(std::string_view name, SourceRange range, TypeId type, LocalKind local_kind) {
  Local local;
  local.name = name;
  local.range = range;
  local.type = type;
  local.kind = local_kind;
  body.locals.push_back(std::move(local));
  const auto number = static_cast<std::uint32_t>(body.locals.size() - 1);
  if (!name.empty() && name != "_") {
    Scoped scoped;
    scoped.local = number;
    scoped.range = range;
    scopes.back()[std::string(name)] = std::move(scoped);
  }
  return number;
}

SourceRange BodyChecker::balanced(SourceRange range) const {
  const std::string_view text = up.sources.text(range.file);
  int open = 0;
  int missing = 0;
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    if (text[i] == '(') ++open;
    if (text[i] == ')' && --open < 0) {
      ++missing;
      open = 0;
    }
  }
  const auto space = [&](std::uint32_t at) { return text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r'; };
  SourceRange out = range;
  for (; missing > 0; --missing) {
    std::uint32_t at = out.begin;
    while (at > 0 && space(at - 1)) --at;
    if (at == 0 || text[at - 1] != '(') return range;
    out.begin = at - 1;
  }
  for (; open > 0; --open) {
    std::uint32_t at = out.end;
    while (at < text.size() && space(at)) ++at;
    if (at == text.size() || text[at] != ')') return range;
    out.end = at + 1;
  }
  return out;
}

// --- places ----------------------------------------------------------------------------------------------------------------------

Expr* BodyChecker::root_of(Expr* e) {
  while (e->form == ExprForm::Field || e->form == ExprForm::Index) e = e->args[0];
  return e;
}

void BodyChecker::use_place(Expr* e, Use use, SourceRange range) {
  Expr* root = root_of(e);
  const bool writes = use != Use::Read;
  const bool reads = use != Use::Write;
  if (root->form != ExprForm::Local) {
    if (!writes || root->form == ExprForm::Error) return;
    if (root->form == ExprForm::Cells) report(DiagnosticKind::ImmutableVariable, range, "a constant cannot be assigned");
    else report(DiagnosticKind::InvalidAssignment, range, "this is a value and no place that can be assigned");
    return;
  }
  Local& local = body.locals[root->index];
  local.used = true;
  if (reads) local.read = true;
  const std::string name = "`" + local.name + "`";
  switch (local.kind) {
    case LocalKind::Let:
    case LocalKind::Param:
    case LocalKind::LoopVariable: {
      if (!writes) return;
      const char* what = local.kind == LocalKind::Let     ? "is bound with `let`"
                         : local.kind == LocalKind::Param ? "is a parameter"
                                                          : "is the variable of a loop";
      Diagnostic& d = report(DiagnosticKind::ImmutableVariable, range, "cannot assign to " + name + ", which " + what);
      d.note(local.range, "declared here");
      if (local.kind == LocalKind::Let) {
        // The word `let` stands before the name; only then is the fix certain.
        const std::string_view text = up.sources.text(local.range.file);
        std::uint32_t at = local.range.begin;
        while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\n')) --at;
        if (at >= 3 && text.substr(at - 3, 3) == "let") d.fix({local.range.file, at - 3, at}, "var", "declare it with `var`");
      } else {
        d.note(range, "copy it into a `var` to change it");
      }
      return;
    }
    case LocalKind::Var:
    case LocalKind::Shared:
    case LocalKind::DynamicShared:
      if (writes) local.written = true;
      return;
    case LocalKind::Buffer:
      if (writes) local.written = true;
      if (writes && local.access == ir::Access::In)
        report(DiagnosticKind::BufferAccess, range, "buffer " + name + " is declared `in` and is written")
            .note(local.range, "declared here: `inout` allows both");
      else if (reads && local.access == ir::Access::Out)
        report(DiagnosticKind::BufferAccess, range, "buffer " + name + " is declared `out` and is read")
            .note(local.range, "declared here: `inout` allows both");
      return;
  }
}

// --- expressions -----------------------------------------------------------------------------------------------------------------

Expr* BodyChecker::check(const syntax::Expr& e, TypeId want) {
  Expr* out = check_raw(e, want);
  if (out->form == ExprForm::Local || out->form == ExprForm::Field || out->form == ExprForm::Index) {
    if (types.form(infer.resolve(out->type)) == TypeForm::Buffer && root_of(out)->form == ExprForm::Local) {
      const Local& local = body.locals[out->index];
      report(DiagnosticKind::InvalidOperand, out->range,
             "buffer `" + local.name + "` is no value: take an element, or `" + local.name + ".len`");
      return error(e.range);
    }
    use_place(out, Use::Read, e.range);
  }
  return out;
}

Expr* BodyChecker::constant_cells(TypeId type, const std::vector<std::uint64_t>& cells, SourceRange range) {
  Expr* out = make(ExprForm::Cells, type, range);
  out->cells = cells;
  return out;
}

Expr* BodyChecker::check_raw(const syntax::Expr& e, TypeId want) {
  switch (e.kind) {
    case syntax::ExprKind::Int: {
      const auto& literal = e.as<syntax::IntExpr>();
      const std::optional<ir::Type> suffix = ir::type_by_name(literal.suffix);
      Expr* out = make(ExprForm::Literal, suffix ? types.scalar(*suffix) : fresh(VarKind::Number, e.range), e.range);
      out->integer = literal.value;
      return out;
    }
    case syntax::ExprKind::Float: {
      const auto& literal = e.as<syntax::FloatExpr>();
      const std::optional<ir::Type> suffix = ir::type_by_name(literal.suffix);
      Expr* out = make(ExprForm::Literal, suffix ? types.scalar(*suffix) : fresh(VarKind::Float, e.range), e.range);
      out->is_float = true;
      out->digits = literal.digits;
      return out;
    }
    case syntax::ExprKind::Bool: return constant_cells(types.boolean(), {e.as<syntax::BoolExpr>().value ? 1u : 0u}, e.range);
    case syntax::ExprKind::Name: return check_name(e.as<syntax::NameExpr>(), want);
    case syntax::ExprKind::Unary: return check_unary(e.as<syntax::UnaryExpr>(), want);
    case syntax::ExprKind::Binary: return check_binary(e.as<syntax::BinaryExpr>(), want);
    case syntax::ExprKind::Call: return check_call(e.as<syntax::CallExpr>(), want);
    case syntax::ExprKind::Member: return check_member(e.as<syntax::MemberExpr>(), want);
    case syntax::ExprKind::TupleIndex: {
      const auto& t = e.as<syntax::TupleIndexExpr>();
      Expr* base = check_raw(*t.base, {});
      const TypeId type = infer.resolve(base->type);
      if (types.is_error(type)) return error(e.range);
      if (types.form(type) != TypeForm::Tuple) {
        report(DiagnosticKind::UnknownField, t.index_range,
               "`" + infer.text(type) + "` is no tuple and has no element " + std::to_string(t.index));
        return error(e.range);
      }
      if (t.index >= types[type].args.size()) {
        report(DiagnosticKind::UnknownField, t.index_range,
               "element " + std::to_string(t.index) + " not found in `" + infer.text(type) + "`");
        return error(e.range);
      }
      Expr* out = make(ExprForm::Field, types[type].args[t.index], e.range, {base});
      out->index = t.index;
      return out;
    }
    case syntax::ExprKind::Index: return check_index(e.as<syntax::IndexExpr>());
    case syntax::ExprKind::Cast: return check_cast(e.as<syntax::CastExpr>());
    case syntax::ExprKind::If: return check_if(e.as<syntax::IfExpr>(), want);
    case syntax::ExprKind::Match: return check_match(e.as<syntax::MatchExpr>(), want);
    case syntax::ExprKind::Block: return check_block(e.as<syntax::BlockExpr>(), want);
    case syntax::ExprKind::Record: return check_record(e.as<syntax::RecordExpr>(), want);
    case syntax::ExprKind::Array: return check_array(e.as<syntax::ArrayExpr>(), want);
    case syntax::ExprKind::ArrayRepeat: return check_repeat(e.as<syntax::ArrayRepeatExpr>(), want);
    case syntax::ExprKind::Tuple: {
      const auto& t = e.as<syntax::TupleExpr>();
      std::vector<Expr*> parts;
      std::vector<TypeId> part_types;
      const TypeId wanted = want ? infer.resolve(want) : TypeId{};
      for (std::size_t i = 0; i < t.elements.size(); ++i) {
        const bool hint = wanted && types.form(wanted) == TypeForm::Tuple && i < types[wanted].args.size();
        parts.push_back(check(*t.elements[i], hint ? types[wanted].args[i] : TypeId{}));
        part_types.push_back(parts.back()->type);
      }
      return make(ExprForm::Construct, types.tuple(std::move(part_types)), e.range, std::move(parts));
    }
    case syntax::ExprKind::Native: {
      // The reference body is the meaning; which target takes which text is not the checker's question.
      const auto& n = e.as<syntax::NativeExpr>();
      return check_block(*n.reference, want);
    }
    case syntax::ExprKind::Error: return error(e.range);
  }
  return error(e.range);
}

Expr* BodyChecker::check_name(const syntax::NameExpr& e, TypeId want) {
  const std::string_view name = e.name.text;
  if (const Scoped* scoped = lookup(name)) {
    if (scoped->is_constant) return constant_cells(scoped->type, scoped->cells, e.range);
    Local& local = body.locals[scoped->local];
    local.used = true;
    Expr* out = make(ExprForm::Local, local.type, e.range);
    out->index = scoped->local;
    return out;
  }
  if (const Entity* entity = up.find(file, name)) {
    switch (entity->kind) {
      case EntityKind::Constant: {
        const ConstantDef* constant = up.constant(entity->index, e.range);
        if (!constant) return error(e.range);
        return constant_cells(constant->resolved, constant->cells, e.range);
      }
      case EntityKind::Kernel:
        report(DiagnosticKind::InvalidLaunch, e.range,
               "`" + std::string(name) + "` is a kernel; kernels are launched in pipelines and from the host, not in kernels and functions")
            .note(entity->range, "it is declared here");
        return error(e.range);
      case EntityKind::Function:
      case EntityKind::Pipeline:
      case EntityKind::Graph:
      case EntityKind::Record:
      case EntityKind::Module:
        report(DiagnosticKind::InvalidOperand, e.range, "`" + std::string(name) + "` is no value")
            .note(entity->range, "it is declared here");
        return error(e.range);
    }
  }
  bool found = false;
  if (Expr* made = bare_constructor(e.name, false, {}, e.range, want, found); found) return made;
  if (const std::optional<IdKind> id = id_by_name(name)) {
    if (kind == Kind::Constant) {
      report(DiagnosticKind::NotConstant, e.range, "`" + std::string(name) + "` has no value before the kernel runs");
      return error(e.range);
    }
    if (id_has_axes(*id)) {
      report(DiagnosticKind::InvalidOperand, e.range, "`" + std::string(name) + "` has a value for each axis")
          .fix(e.range, std::string(name) + ".x", "take the first axis");
      return error(e.range);
    }
    Expr* out = make(ExprForm::Id, types.scalar(ir::Type::I32), e.range);
    out->id = *id;
    return out;
  }
  if (builtin_by_name(name) || name == "bitcast") {
    report(DiagnosticKind::InvalidOperand, e.range, "`" + std::string(name) + "` is a function; call it with its arguments in parentheses");
    return error(e.range);
  }
  unknown_name(e.name);
  return error(e.range);
}

Expr* BodyChecker::check_unary(const syntax::UnaryExpr& e, TypeId want) {
  // A minus sign belongs to the literal behind it: -2147483648 and -0.0 are numbers of their own.
  if (e.op == syntax::UnaryOp::Neg && (e.operand->kind == syntax::ExprKind::Int || e.operand->kind == syntax::ExprKind::Float)) {
    Expr* literal = check_raw(*e.operand, want);
    literal->negative = true;
    literal->range = e.range;
    return literal;
  }
  Expr* operand = check(*e.operand, want);
  Op op = Op::Neg;
  switch (e.op) {
    case syntax::UnaryOp::Neg: infer.constrain(operand->type, VarKind::Number); break;
    case syntax::UnaryOp::Not:
      op = Op::Not;
      expect(operand, types.boolean());
      break;
    case syntax::UnaryOp::BitNot:
      op = Op::BitNot;
      infer.constrain(operand->type, VarKind::Integer);
      break;
  }
  Expr* out = make(ExprForm::Unary, operand->type, e.range, {operand});
  out->op = op;
  return out;
}

Expr* BodyChecker::check_binary(const syntax::BinaryExpr& e, TypeId want) {
  if (e.op == syntax::BinaryOp::MatMul) {
    report(DiagnosticKind::InvalidOperand, e.op_range, "`@` multiplies tensors, and there are none outside graphs");
    check(*e.left);
    check(*e.right);
    return error(e.range);
  }
  const Op op = op_of(e.op);
  if (op == Op::And || op == Op::Or) {
    Expr* left = check(*e.left, types.boolean());
    expect(left, types.boolean());
    Expr* right = check(*e.right, types.boolean());
    expect(right, types.boolean());
    Expr* out = make(ExprForm::Logic, types.boolean(), balanced(e.range), {left, right});
    out->op = op;
    out->diverges = left->diverges;
    return out;
  }
  Expr* left = check(*e.left, is_comparison(op) ? TypeId{} : want);
  Expr* right = check(*e.right, op == Op::Shl || op == Op::Shr ? TypeId{} : left->type);
  return binary(op, left, right, balanced(e.range), e.op_range);
}

Expr* BodyChecker::binary(Op op, Expr* left, Expr* right, SourceRange range, SourceRange op_range) {
  TypeId type = left->type;
  if (op == Op::Shl || op == Op::Shr) {
    infer.constrain(left->type, VarKind::Integer);
    infer.constrain(right->type, VarKind::Integer);
  } else {
    if (!infer.unify(left->type, right->type)) {
      const TypeId l = infer.resolve(left->type);
      const TypeId r = infer.resolve(right->type);
      Diagnostic& d = mismatch(op_range, left->type, right->type);
      d.note(left->range, "this is `" + infer.text(left->type) + "`");
      d.note(right->range, "this is `" + infer.text(right->type) + "`");
      const bool left_scalar = types.form(l) == TypeForm::Scalar;
      if (left_scalar && (types.form(r) == TypeForm::Scalar || types.form(r) == TypeForm::Var) && l != types.boolean()) {
        const std::string written(up.sources.text(right->range));
        d.fix(right->range, (right->form == ExprForm::Binary ? "(" + written + ")" : written) + " as " + types.text(l),
              "convert it with `as`");
      }
      return error(range);
    }
    if (types.is_error(infer.resolve(left->type)) || types.is_error(infer.resolve(right->type))) type = types.error();
    const TypeId both = infer.resolve(left->type);
    switch (op) {
      case Op::Mod:
      case Op::BitAnd:
      case Op::BitXor:
      case Op::BitOr: infer.constrain(both, VarKind::Integer); break;
      case Op::Div:
        // 7 / 2 is 3 wherever it stands.
        infer.constrain(both, infer.kind(both) == VarKind::Number ? VarKind::Integer : VarKind::Number);
        break;
      case Op::Mul:
      case Op::Add:
      case Op::Sub:
      case Op::Lt:
      case Op::Le:
      case Op::Gt:
      case Op::Ge: infer.constrain(both, VarKind::Number); break;
      case Op::Neg:
      case Op::Not:
      case Op::BitNot:
      case Op::Shl:
      case Op::Shr:
      case Op::Eq:
      case Op::Ne:
      case Op::And:
      case Op::Or: break;
    }
    if (is_comparison(op)) type = types.boolean();
  }
  Expr* out = make(ExprForm::Binary, type, range, {left, right});
  out->op = op;
  return out;
}

Expr* BodyChecker::bare_member(std::uint32_t def, const syntax::MemberExpr& e, TypeId want) {
  const int ctor = types.def(def).constructor(e.name.text);
  if (ctor >= 0) return constructor(def, static_cast<std::uint32_t>(ctor), e.base_type_args, false, {}, e.range, want);
  unknown_constructor(def, e.name);
  return error(e.range);
}

void BodyChecker::unknown_constructor(std::uint32_t def, const syntax::Name& name) {
  std::vector<std::string_view> names;
  for (const ConstructorDef& c : types.def(def).constructors) names.push_back(c.name);
  const std::string near = nearest_name(name.text, names);
  Diagnostic& d = report(DiagnosticKind::UnknownConstructor, name.range,
                         "`" + types.def(def).name + "` has no constructor `" + std::string(name.text) + "`");
  if (!near.empty()) d.fix(name.range, near, "did you mean `" + near + "`?");
}

Expr* BodyChecker::check_member(const syntax::MemberExpr& e, TypeId want) {
  const std::string name(e.name.text);
  if (const std::optional<std::uint32_t> def = enum_of_module(e.base)) return bare_member(*def, e, want);
  if (e.base->kind == syntax::ExprKind::Name) {
    const syntax::Name& base = e.base->as<syntax::NameExpr>().name;
    if (!lookup(base.text)) {
      if (const Entity* entity = up.find(file, base.text)) {
        if (entity->kind == EntityKind::Module) {
          File& other = module.files[entity->index];
          const auto found = other.names.find(e.name.text);
          if (found != other.names.end() && found->second.kind == EntityKind::Constant) {
            const ConstantDef* constant = up.constant(found->second.index, e.range);
            return constant ? constant_cells(constant->resolved, constant->cells, e.range) : error(e.range);
          }
          report(DiagnosticKind::UnknownName, e.name.range, "module `" + std::string(base.text) + "` has no constant `" + name + "`");
          return error(e.range);
        }
        if (entity->kind == EntityKind::Record && types.def(entity->index).is_variant) return bare_member(entity->index, e, want);
      }
      if (const std::optional<IdKind> id = id_by_name(base.text); id && id_has_axes(*id)) {
        if (kind == Kind::Constant) {
          report(DiagnosticKind::NotConstant, e.range, "`" + std::string(base.text) + "` has no value before the kernel runs");
          return error(e.range);
        }
        if (kind == Kind::Pipeline) {
          report(DiagnosticKind::InvalidOperand, e.range, "`" + std::string(base.text) + "` exists in kernels, not in pipelines");
          return error(e.range);
        }
        if (name != "x" && name != "y" && name != "z") {
          report(DiagnosticKind::UnknownField, e.name.range,
                 "field `" + name + "` not found in `" + std::string(base.text) + "`, which has x, y and z");
          return error(e.range);
        }
        Expr* out = make(ExprForm::Id, ids_used(), e.range);
        out->id = *id;
        out->index = static_cast<std::uint32_t>(name[0] - 'x');
        return out;
      }
    }
  }
  Expr* base = check_raw(*e.base, {});
  const TypeId type = infer.resolve(base->type);
  switch (types.form(type)) {
    case TypeForm::Error: return error(e.range);
    case TypeForm::Record: {
      const RecordDef& record = types.def_of(type);
      const int field = record.field(name);
      if (field < 0) {
        std::vector<std::string_view> names;
        for (const FieldDef& f : record.fields) names.push_back(f.name);
        const std::string near = nearest_name(name, names);
        Diagnostic& d = report(DiagnosticKind::UnknownField, e.name.range, "field `" + name + "` not found in `" + infer.text(type) + "`");
        d.note(record.range, "the record is declared here");
        if (!near.empty()) d.fix(e.name.range, near, "did you mean `" + near + "`?");
        return error(e.range);
      }
      Expr* out = make(ExprForm::Field, types.member(type, record.fields[static_cast<std::size_t>(field)].type), e.range, {base});
      out->index = static_cast<std::uint32_t>(field);
      return out;
    }
    case TypeForm::Buffer:
    case TypeForm::Array:
      if (name == "len") {
        if (types.form(type) == TypeForm::Array) {
          ids_used();
          if (base->form == ExprForm::Local) body.locals[base->index].used = true;
          return constant_cells(index_type(), {static_cast<std::uint64_t>(types.element_count(type))}, e.range);
        }
        return make(ExprForm::Length, ids_used(), e.range, {base});
      }
      break;
    case TypeForm::Var:
      report(DiagnosticKind::CannotInfer, base->range, "the type of this value must be known before its field `" + name + "` is taken");
      return error(e.range);
    case TypeForm::Never:
    case TypeForm::Scalar:
    case TypeForm::Tuple:
    case TypeForm::Variant:
    case TypeForm::Param:
    case TypeForm::Fragment:
    case TypeForm::Tensor: break;
  }
  report(DiagnosticKind::UnknownField, e.name.range, "field `" + name + "` not found in `" + infer.text(type) + "`");
  return error(e.range);
}

Expr* BodyChecker::check_index(const syntax::IndexExpr& e) {
  Expr* base = check_raw(*e.base, {});
  std::vector<Expr*> args{base};
  bool constant = true;
  for (const syntax::Expr* i : e.indexes) {
    Expr* index = check(*i);
    // Ids and lengths of a wide kernel are i64; a plain literal takes any integer type.
    const TypeId type = infer.resolve(index->type);
    if (infer.kind(type)) {
      if (!infer.constrain(type, VarKind::Integer)) mismatch(index->range, index_type(), type);
    } else if (!types.is_error(type) && type != types.scalar(ir::Type::I32) && type != index_type()) {
      expect(index, index_type());
    }
    constant = constant && (index->form == ExprForm::Literal || index->form == ExprForm::Cells);
    args.push_back(index);
  }
  const TypeId type = infer.resolve(base->type);
  if (types.is_error(type)) return error(e.range);
  const TypeForm form = types.form(type);
  if (form != TypeForm::Buffer && form != TypeForm::Array) {
    report(DiagnosticKind::InvalidIndex, e.range, "`" + infer.text(type) + "` has no elements");
    return error(e.range);
  }
  const std::size_t rank = std::max<std::size_t>(types[type].extents.size(), 1);
  if (e.indexes.size() != rank) {
    report(DiagnosticKind::InvalidIndex, e.range,
           "`" + infer.text(type) + "` takes " + std::to_string(rank) + (rank == 1 ? " index" : " indexes") + ", not " +
               std::to_string(e.indexes.size()));
    return error(e.range);
  }
  if (!constant) {
    const Expr* root = root_of(base);
    if (root->form == ExprForm::Local) body.locals[root->index].indexed = true;
  }
  return make(ExprForm::Index, types[type].args[0], e.range, std::move(args));
}

Expr* BodyChecker::check_cast(const syntax::CastExpr& e) {
  const TypeId to = resolve_type(*e.type);
  Expr* operand = check(*e.operand);
  const TypeId from = infer.resolve(operand->type);
  if (types.is_error(from) || types.is_error(to)) return error(e.range);
  // A plain literal takes the type at once, where it fits: it is rounded from its text, not twice.
  if (operand->form == ExprForm::Literal && infer.kind(from) && types.form(to) == TypeForm::Scalar &&
      types.scalar_of(to) != ir::Type::Bool) {
    const bool same_sort = operand->is_float ? ir::is_float(types.scalar_of(to)) : literal_bits(*operand, types.scalar_of(to)).has_value();
    if (same_sort && infer.unify(from, to)) return operand;
    if (!operand->is_float && !literal_bits(*operand, ir::Type::I32)) infer.unify(from, types.scalar(ir::Type::I64));
  }
  return make(ExprForm::Cast, to, e.range, {operand});
}

Expr* BodyChecker::check_if(const syntax::IfExpr& e, TypeId want) {
  Expr* condition = check(*e.condition, types.boolean());
  expect(condition, types.boolean());
  Expr* then = check_block(*e.then_branch, want);
  Expr* otherwise = nullptr;
  TypeId type = types.unit();
  if (e.else_branch) {
    otherwise = e.else_branch->kind == syntax::ExprKind::If ? check_if(e.else_branch->as<syntax::IfExpr>(), want)
                                                            : check_block(e.else_branch->as<syntax::BlockExpr>(), want);
    type = types.form(infer.resolve(then->type)) == TypeForm::Never ? otherwise->type : then->type;
    if (!infer.unify(then->type, otherwise->type)) {
      Expr* at = otherwise->form == ExprForm::Block && otherwise->args[0] ? otherwise->args[0] : otherwise;
      mismatch(at->range, then->type, otherwise->type)
          .note(then->args[0] ? then->args[0]->range : then->range, "the other branch gives `" + infer.text(then->type) + "`");
      type = types.error();
    }
  } else if (!infer.unify(then->type, types.unit())) {
    Expr* at = then->args[0] ? then->args[0] : then;
    Diagnostic& d = mismatch(at->range, types.unit(), then->type);
    d.note(e.range, "without `else` the value of an `if` is ()");
    d.fix({at->range.file, at->range.end, at->range.end}, ";", "end it with `;` to discard the value");
  }
  Expr* out = make(ExprForm::If, type, e.range, {condition, then, otherwise});
  out->diverges = condition->diverges || (otherwise && then->diverges && otherwise->diverges);
  return out;
}

Expr* BodyChecker::check_block(const syntax::BlockExpr& e, TypeId want) {
  const ScopeGuard guard(*this);
  Expr* out = make(ExprForm::Block, types.unit(), e.range);
  bool warned = false;
  for (const syntax::Stmt* s : e.statements) {
    if (out->diverges && !warned) {
      warned = true;
      report(DiagnosticKind::UnreachableCode, s->range, "this is never reached");
    }
    Stmt* made = check_statement(*s);
    if (!made) continue;
    out->statements.push_back(made);
    out->exits |= made->exits;
    out->diverges |= made->diverges;
  }
  Expr* value = nullptr;
  if (e.value) {
    if (out->diverges && !warned) report(DiagnosticKind::UnreachableCode, e.value->range, "this is never reached");
    value = check(*e.value, want);
    out->type = value->type;
    out->exits |= value->exits;
    out->diverges |= value->diverges;
  }
  if (out->diverges && (!value || value->diverges)) out->type = types.never();
  out->args.push_back(value);
  return out;
}

}  // namespace sarek::sema
