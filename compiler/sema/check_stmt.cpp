// Typing of statements, and the entry points for whole bodies.
#include <algorithm>

#include "compiler/sema/check.h"

namespace sarek::sema {

Stmt* BodyChecker::make_stmt(StmtForm form, SourceRange range) {
  body.stmts.emplace_back();
  Stmt* s = &body.stmts.back();
  s->form = form;
  s->range = range;
  return s;
}

Stmt* BodyChecker::check_statement(const syntax::Stmt& s) {
  switch (s.kind) {
    case syntax::StmtKind::Let: return check_let(s.as<syntax::LetStmt>());
    case syntax::StmtKind::Const: check_local_constant(s.as<syntax::ConstStmt>()); return nullptr;
    case syntax::StmtKind::Shared: check_shared(s.as<syntax::SharedStmt>()); return nullptr;
    case syntax::StmtKind::Assign: return check_assign(s.as<syntax::AssignStmt>());
    case syntax::StmtKind::Expr: {
      Expr* e = check(*s.as<syntax::ExprStmt>().expr, {});
      Stmt* out = make_stmt(StmtForm::Expr, s.range);
      out->value = e;
      out->exits = e->exits;
      out->diverges = e->diverges;
      const TypeId type = infer.resolve(e->type);
      const bool discards = e->form == ExprForm::Unary || e->form == ExprForm::Binary || e->form == ExprForm::Logic ||
                            e->form == ExprForm::Local || e->form == ExprForm::Literal || e->form == ExprForm::Cast ||
                            e->form == ExprForm::Construct;
      if (discards && types.form(type) != TypeForm::Error && type != types.unit())
        report(DiagnosticKind::UnusedValue, e->range, "the value of this expression is not used");
      return out;
    }
    case syntax::StmtKind::For: return check_for(s.as<syntax::ForStmt>());
    case syntax::StmtKind::While: return check_while(s.as<syntax::WhileStmt>());
    case syntax::StmtKind::Loop: return check_loop(s.as<syntax::LoopStmt>());
    case syntax::StmtKind::Break:
    case syntax::StmtKind::Continue: {
      const bool is_break = s.kind == syntax::StmtKind::Break;
      if (loop_depth == 0) {
        report(DiagnosticKind::JumpOutsideLoop, s.range, std::string(is_break ? "`break`" : "`continue`") + " stands in no loop");
        return nullptr;
      }
      Stmt* out = make_stmt(is_break ? StmtForm::Break : StmtForm::Continue, s.range);
      out->exits = is_break ? kBreak : kContinue;
      out->diverges = true;
      return out;
    }
    case syntax::StmtKind::Return: return check_return(s.as<syntax::ReturnStmt>());
    case syntax::StmtKind::Superstep: return check_superstep(s.as<syntax::SuperstepStmt>());
    case syntax::StmtKind::Launch:
      if (kind != Kind::Pipeline)
        report(DiagnosticKind::InvalidLaunch, s.range, "kernels are launched in pipelines, not in kernels and functions");
      return nullptr;
    case syntax::StmtKind::Error: body.faulty = true; return nullptr;
  }
  return nullptr;
}

Stmt* BodyChecker::check_let(const syntax::LetStmt& s) {
  TypeId type;
  if (s.type) type = resolve_type(*s.type);
  Expr* init = s.init ? check(*s.init, type) : nullptr;
  if (init && type) expect(init, type);
  if (!type && init) type = init->type;
  if (!type) {
    // Neither is there after a fault of syntax.
    body.faulty = true;
    type = types.error();
  }
  if (types.form(infer.resolve(type)) == TypeForm::Never) type = types.error();
  // From here on the variable is an integer, whatever it meets later.
  if (infer.kind(type) == VarKind::Number) infer.constrain(type, VarKind::Integer);
  Stmt* out = make_stmt(s.is_mutable ? StmtForm::Var : StmtForm::Let, s.range);
  out->value = init;
  if (init) {
    out->exits = init->exits;
    out->diverges = init->diverges;
  } else if (!s.is_mutable) {
    report(DiagnosticKind::InvalidLet, s.range, "`let` needs a value; only `var` may start at zero");
  }
  out->pattern = check_pattern(*s.pattern, type, s.is_mutable);
  return out;
}

void BodyChecker::check_local_constant(const syntax::ConstStmt& s) {
  TypeId type;
  if (s.type) type = resolve_type(*s.type);
  Body scratch;
  BodyChecker inner(up, file, Kind::Constant, scratch, false);
  lend_scopes(inner);
  const std::optional<std::vector<std::uint64_t>> cells = inner.constant_value(*s.value, type);
  Scoped scoped;
  scoped.is_constant = true;
  scoped.range = s.name.range;
  scoped.type = cells ? type : types.error();
  if (cells) scoped.cells = *cells;
  if (!cells) body.faulty = true;
  scopes.back()[std::string(s.name.text)] = std::move(scoped);
}

void BodyChecker::check_shared(const syntax::SharedStmt& s) {
  if (kind != Kind::Kernel) {
    report(DiagnosticKind::InvalidShared, s.range, "shared memory is declared in kernels; hand it to a function as a parameter");
    add_local(s.name.text, s.name.range, types.error(), LocalKind::Shared);
    return;
  }
  if (s.type->kind == syntax::TypeKind::Array && s.type->as<syntax::ArrayType>().dynamic) {
    TypeId element = resolve_type(*s.type->as<syntax::ArrayType>().element);
    if (!types.is_error(element) && types.form(element) != TypeForm::Scalar) {
      report(DiagnosticKind::InvalidShared, s.type->range,
             "a shared array whose length the launch gives has scalar elements, not `" + types.text(element) + "`");
      element = types.error();
    }
    for (const Local& l : body.locals)
      if (l.kind == LocalKind::DynamicShared) {
        report(DiagnosticKind::InvalidShared, s.range, "a kernel has at most one shared array whose length the launch gives")
            .note(l.range, "this is the first");
        break;
      }
    add_local(s.name.text, s.name.range, types.is_error(element) ? element : types.buffer(element, {}), LocalKind::DynamicShared);
    return;
  }
  TypeId type = resolve_type(*s.type);
  if (!types.is_error(type) && types.cells(type) == 0) {
    report(DiagnosticKind::InvalidShared, s.type->range, "shared memory of type `" + types.text(type) + "` holds nothing");
    type = types.error();
  }
  add_local(s.name.text, s.name.range, type, LocalKind::Shared);
}

Stmt* BodyChecker::check_assign(const syntax::AssignStmt& s) {
  Stmt* out = make_stmt(StmtForm::Assign, s.range);
  // `_ = e` is no assignment of this language; the parser has refused what is not a name, field or element.
  out->target = check_raw(*s.target, {});
  const TypeId type = out->target->type;
  if (types.form(infer.resolve(type)) == TypeForm::Buffer) {
    report(DiagnosticKind::InvalidAssignment, s.target->range, "a buffer cannot be assigned as a whole; assign its elements");
    check(*s.value);
    return nullptr;
  }
  const bool shift = s.is_compound && (s.op == syntax::BinaryOp::Shl || s.op == syntax::BinaryOp::Shr);
  out->value = check(*s.value, shift ? TypeId{} : type);
  if (out->target->form != ExprForm::Error) use_place(out->target, s.is_compound ? Use::ReadWrite : Use::Write, s.target->range);
  out->exits = static_cast<std::uint8_t>(out->target->exits | out->value->exits);
  out->diverges = out->value->diverges;
  if (!s.is_compound) {
    expect(out->value, type);
    return out;
  }
  static constexpr std::pair<syntax::BinaryOp, Op> kOps[] = {{syntax::BinaryOp::Mul, Op::Mul},       {syntax::BinaryOp::Div, Op::Div},
                                                             {syntax::BinaryOp::Mod, Op::Mod},       {syntax::BinaryOp::Add, Op::Add},
                                                             {syntax::BinaryOp::Sub, Op::Sub},       {syntax::BinaryOp::Shl, Op::Shl},
                                                             {syntax::BinaryOp::Shr, Op::Shr},       {syntax::BinaryOp::BitAnd, Op::BitAnd},
                                                             {syntax::BinaryOp::BitXor, Op::BitXor}, {syntax::BinaryOp::BitOr, Op::BitOr}};
  for (const auto& [from, to] : kOps)
    if (from == s.op) out->op = to;
  out->is_compound = true;
  // The sum itself is only typed here: the lowering computes the place once and uses `op`.
  binary(out->op, out->target, out->value, s.range, s.op_range);
  return out;
}

void BodyChecker::set_unroll(Stmt* out, const syntax::Unroll& unroll) {
  out->unroll = unroll.present;
  if (!unroll.present || !unroll.factor) return;
  const std::optional<std::int64_t> factor = constant_integer(*unroll.factor);
  if (!factor) return;
  if (*factor < 1 || *factor > 1024) {
    report(DiagnosticKind::InvalidUnroll, unroll.factor->range,
           "a loop cannot be unrolled " + std::to_string(*factor) + " times; 1 to 1024 are possible");
    return;
  }
  out->unroll_factor = static_cast<int>(*factor);
}

Expr* BodyChecker::loop_body(const syntax::BlockExpr& e) {
  ++loop_depth;
  Expr* out = check_block(e, types.unit());
  --loop_depth;
  if (!infer.unify(out->type, types.unit())) {
    Expr* at = out->args[0] ? out->args[0] : out;
    mismatch(at->range, types.unit(), out->type)
        .fix({at->range.file, at->range.end, at->range.end}, ";", "end it with `;` to discard the value");
  }
  return out;
}

Stmt* BodyChecker::check_for(const syntax::ForStmt& s) {
  Stmt* out = make_stmt(s.is_list ? StmtForm::ForList : StmtForm::For, s.range);
  set_unroll(out, s.unroll);
  TypeId type = s.type ? resolve_type(*s.type) : fresh(VarKind::Any, s.variable.range);
  if (s.is_list) {
    if (s.list.size() > 1024)
      report(DiagnosticKind::InvalidUnroll, s.range, "a loop over a list is unrolled, and this list has more than 1024 elements");
    for (const syntax::Expr* item : s.list) {
      Expr* e = check(*item, type);
      expect(e, type);
      out->list.push_back(e);
    }
    if (s.list.empty() && !s.type) type = types.scalar(ir::Type::I32);
    if (infer.kind(type) == VarKind::Number) infer.constrain(type, VarKind::Integer);
  } else {
    out->first = check(*s.first, type);
    expect(out->first, type);
    out->last = check(*s.last, type);
    expect(out->last, type);
    if (!infer.constrain(type, VarKind::Integer)) report(DiagnosticKind::TypeMismatch, s.first->range, "a range counts integers");
    out->inclusive = s.inclusive;
    if (s.step) {
      out->step = check(*s.step);
      if (infer.kind(out->step->type)) {
        if (!infer.constrain(out->step->type, VarKind::Integer)) mismatch(out->step->range, type, out->step->type);
      }
      if (out->step->form == ExprForm::Literal && !out->step->is_float && out->step->integer == 0)
        report(DiagnosticKind::InvalidStep, s.step->range, "a step of zero never ends");
    }
  }
  const ScopeGuard guard(*this);
  out->local = add_local(s.variable.text, s.variable.range, type, LocalKind::LoopVariable);
  out->body = loop_body(*s.body);
  out->exits = out->body->exits & kReturn;
  for (const Expr* e : {out->first, out->last, out->step})
    if (e) out->exits |= e->exits;
  return out;
}

Stmt* BodyChecker::check_while(const syntax::WhileStmt& s) {
  Stmt* out = make_stmt(StmtForm::While, s.range);
  set_unroll(out, s.unroll);
  out->value = check(*s.condition, types.boolean());
  expect(out->value, types.boolean());
  out->body = loop_body(*s.body);
  out->exits = static_cast<std::uint8_t>((out->body->exits & kReturn) | out->value->exits);
  return out;
}

Stmt* BodyChecker::check_loop(const syntax::LoopStmt& s) {
  Stmt* out = make_stmt(StmtForm::Loop, s.range);
  set_unroll(out, s.unroll);
  out->body = loop_body(*s.body);
  out->exits = out->body->exits & kReturn;
  out->diverges = (out->body->exits & kBreak) == 0;
  return out;
}

Stmt* BodyChecker::check_return(const syntax::ReturnStmt& s) {
  Stmt* out = make_stmt(StmtForm::Return, s.range);
  out->exits = kReturn;
  out->diverges = true;
  if (s.value) {
    out->value = check(*s.value, result);
    if (kind == Kind::Kernel) {
      report(DiagnosticKind::KernelReturnsValue, s.value->range, "a kernel returns nothing; its results go to its buffers");
    } else {
      expect(out->value, result);
    }
    out->exits |= out->value->exits;
  } else if (result && !infer.unify(types.unit(), result)) {
    mismatch(s.range, result, types.unit()).note(result_range, "the result is declared here");
  }
  return out;
}

Stmt* BodyChecker::check_superstep(const syntax::SuperstepStmt& s) {
  Stmt* out = make_stmt(StmtForm::Superstep, s.range);
  out->name_range = s.name.range;
  out->divergent = s.divergent;
  if (kind != Kind::Kernel && kind != Kind::Function) return nullptr;
  // Leaving the body would leave the barrier out.
  const int outer = loop_depth;
  loop_depth = 0;
  out->body = check_block(*s.body, types.unit());
  loop_depth = outer;
  if (!infer.unify(out->body->type, types.unit())) mismatch(out->body->range, types.unit(), out->body->type);
  if (out->body->exits & kReturn)
    report(DiagnosticKind::InvalidReturn, s.name.range, "a `return` inside of a superstep would miss its barrier");
  out->exits = out->body->exits;
  return out;
}

// --- bodies ----------------------------------------------------------------------------------------------------------------------

std::optional<std::vector<std::uint64_t>> BodyChecker::constant_value(const syntax::Expr& expr, TypeId& want) {
  Expr* e = check(expr, want);
  if (want) expect(e, want);
  body.root = e;
  finish();
  if (body.faulty) return std::nullopt;
  want = e->type;
  if (!types.is_concrete(want)) return std::nullopt;
  return evaluate(up, body, *e);
}

void BodyChecker::lend_scopes(BodyChecker& inner) const {
  inner.type_names = type_names;
  for (const Scope& scope : scopes)
    for (const auto& [name, scoped] : scope) {
      Scoped there = scoped;
      if (!scoped.is_constant) {
        Local copy = body.locals[scoped.local];
        copy.type = infer_type(copy.type);
        inner.body.locals.push_back(std::move(copy));
        there.local = static_cast<std::uint32_t>(inner.body.locals.size() - 1);
      }
      inner.scopes.back()[name] = std::move(there);
    }
}

/// A type without the inference variables of this body, which another body cannot know.
TypeId BodyChecker::infer_type(TypeId type) const {
  type = infer.resolve(type);
  if (types.form(type) == TypeForm::Var)
    return infer.kind(type) == VarKind::Float ? types.scalar(ir::Type::F32) : types.scalar(ir::Type::I32);
  return types.is_concrete(type) || types.form(type) == TypeForm::Buffer ? type : types.error();
}

std::optional<std::int64_t> BodyChecker::constant_integer(const syntax::Expr& expr) {
  Body scratch;
  BodyChecker inner(up, file, Kind::Constant, scratch, false);
  lend_scopes(inner);
  TypeId type;
  const std::optional<std::vector<std::uint64_t>> cells = inner.constant_value(expr, type);
  if (!cells) {
    body.faulty = true;
    return std::nullopt;
  }
  const ir::Type scalar = types.scalar_of(type);
  if (!ir::is_int(scalar)) {
    report(DiagnosticKind::TypeMismatch, expr.range,
           "cannot unify types `i32` and `" + types.text(type) + "`: a constant integer is needed");
    return std::nullopt;
  }
  const std::uint64_t bits = (*cells)[0];
  switch (ir::type_bits(scalar)) {
    case 8: return ir::is_signed(scalar) ? static_cast<std::int8_t>(bits) : static_cast<std::int64_t>(bits);
    case 16: return ir::is_signed(scalar) ? static_cast<std::int16_t>(bits) : static_cast<std::int64_t>(bits);
    case 32: return ir::is_signed(scalar) ? static_cast<std::int32_t>(bits) : static_cast<std::int64_t>(bits);
    default: break;
  }
  if (!ir::is_signed(scalar) && bits > static_cast<std::uint64_t>(INT64_MAX)) {
    report(DiagnosticKind::LiteralOutOfRange, expr.range, "this constant is larger than 2^63 - 1");
    return std::nullopt;
  }
  return static_cast<std::int64_t>(bits);
}

void BodyChecker::bind_type_params(const std::vector<std::pair<std::string, std::uint32_t>>& params) {
  for (const auto& [name, number] : params) type_names[name] = types.param(number);
}

void BodyChecker::check_function(Function& f) {
  function = &f;
  bind_type_params(f.type_params);
  for (const ParamDef& p : f.params) {
    const bool buffer = types.form(p.type) == TypeForm::Buffer;
    const std::uint32_t local = add_local(p.name, p.range, p.type, buffer ? LocalKind::Buffer : LocalKind::Param);
    body.locals[local].access = p.access;
  }
  for (std::size_t i = 0; i < f.params.size(); ++i)
    for (const syntax::Expr* extent : f.params[i].extents) {
      Expr* e = check(*extent, index_type());
      expect(e, ids_used());
      body.locals[i].extents.push_back(e);
    }
  result = f.result;
  result_range = f.item->result ? f.item->result->range : f.item->name.range;
  Expr* root = check_block(*f.item->body, result);
  body.root = root;
  if (!f.item->broken && !infer.unify(root->type, result)) {
    const bool no_value = !root->args[0] || infer.resolve(root->args[0]->type) == types.unit();
    if (no_value && f.result != types.unit()) {
      Diagnostic& d = report(DiagnosticKind::MissingReturn, f.item->name.range,
                             "`" + f.name + "` must give a value of type `" + types.text(result) + "` on every path");
      d.note(result_range, "the result is declared here");
      if (root->args[0]) d.note(root->args[0]->range, "this may come to its end without a value");
      // The usual slip: the last expression ends in `;`.
      if (!root->statements.empty() && root->statements.back()->form == StmtForm::Expr && root->statements.back()->value &&
          infer.unify(root->statements.back()->value->type, result)) {
        const SourceRange last = root->statements.back()->range;
        const std::string_view text = up.sources.text(last.file);
        std::uint32_t at = last.end;
        if (at > 0 && text[at - 1] == ';') --at;
        if (at < text.size() && text[at] == ';') d.fix({last.file, at, at + 1}, "", "leave out the `;` to make this the value");
      }
    } else if (root->args[0]) {
      expect(root->args[0], result);
    }
  }
  finish();
  if (f.item->broken) body.faulty = true;
  // The same text a second time, with ids of the other width, has the same warnings.
  if (!body.faulty && !f.bodies[wide ? 0 : 1]) warn_unused();
}

void BodyChecker::check_kernel(Kernel& k) {
  kernel = &k;
  result = types.unit();
  result_range = k.item->name.range;
  for (const ParamDef& p : k.params) {
    const bool buffer = types.form(p.type) == TypeForm::Buffer;
    const std::uint32_t local = add_local(p.name, p.range, p.type, buffer ? LocalKind::Buffer : LocalKind::Param);
    body.locals[local].access = p.access;
  }
  for (std::size_t i = 0; i < k.params.size(); ++i)
    for (const syntax::Expr* extent : k.params[i].extents) {
      Expr* e = check(*extent, index_type());
      expect(e, index_type());
      body.locals[i].extents.push_back(e);
    }
  Expr* root = check_block(*k.item->body, result);
  body.root = root;
  if (root->args[0]) expect(root->args[0], types.unit());
  finish();
  if (k.item->broken || k.broken) body.faulty = true;
  if (!body.faulty) warn_unused();
}

}  // namespace sarek::sema
