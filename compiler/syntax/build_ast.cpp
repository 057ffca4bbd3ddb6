// Statements, types and patterns of the tree builder, and what the grammar leaves to it: semicolons, the value of a block, where patterns
// may stand. Items are in build_items.cpp, expressions in build_expr.cpp.
#include "compiler/syntax/build_ast.h"

namespace sarek::syntax {

// --- types ------------------------------------------------------------------------------------------------------------------

List<const Type*> Builder::type_list(Cursor& cursor) {
  std::vector<const Type*> out;
  list(cursor, [](const Cursor& c) { return c.at(Rule::Type); }, [&](Cursor& c) { out.push_back(type(c.take())); });
  return ast_.arena.copy(out);
}

List<TypeArg> Builder::type_args(CstId id) {
  std::vector<TypeArg> out;
  Cursor cursor(*this, id);
  cursor.accept(K::TemplateOpen);
  list(
      cursor, [](const Cursor& c) { return c.at(Rule::TypeArg); },
      [&](Cursor& c) {
        Cursor inside(*this, c.take());
        TypeArg arg;
        if (inside.at(K::Int)) {
          arg.value = integer(inside.take());
        } else {
          arg.type = type(inside.take(Rule::Type));
        }
        out.push_back(arg);
      });
  return ast_.arena.copy(out);
}

const Type* Builder::type(CstId id) {
  if (!id) return make_type<Type>(TypeKind::Error, {});
  Cursor cursor(*this, id);
  if (cursor.at(K::Ident)) {
    auto* made = make_type<NamedType>(TypeKind::Named, range(id));
    made->name = name(cursor.take());
    if (cursor.accept(K::Dot)) made->module = std::exchange(made->name, name(cursor.take(K::Ident)));
    if (cursor.at(Rule::TypeArgs)) made->args = type_args(cursor.take());
    return made;
  }
  if (cursor.accept(K::Lbracket)) {
    auto* made = make_type<ArrayType>(TypeKind::Array, range(id));
    made->element = type(cursor.take(Rule::Type));
    if (cursor.accept(K::Semi)) {
      if (cursor.accept(K::Dyn)) {
        made->dynamic = true;
      } else {
        made->extents = expr_list(cursor);
      }
    }
    return made;
  }
  if (cursor.accept(K::Lparen)) {
    const List<const Type*> elements = type_list(cursor);
    if (elements.size() == 1) {
      if (!cst_[id].broken) faults_.add(DiagnosticKind::SyntaxError, range(id), "a tuple type has no element or at least two");
      return elements[0];
    }
    auto* made = make_type<TupleType>(TypeKind::Tuple, range(id));
    made->elements = elements;
    return made;
  }
  if (cursor.accept(K::Tensor)) {
    auto* made = make_type<TensorType>(TypeKind::Tensor, range(id));
    cursor.accept(K::TemplateOpen);
    made->element = type(cursor.take(Rule::Type));
    cursor.accept(K::TemplateClose);
    cursor.accept(K::Lbracket);
    made->extents = expr_list(cursor);
    return made;
  }
  return make_type<Type>(TypeKind::Error, range(id));
}

// --- patterns ---------------------------------------------------------------------------------------------------------------

const Pattern* Builder::pattern(CstId id) {
  if (!id) return make_pattern<Pattern>(PatternKind::Error, {});
  Cursor cursor(*this, id);
  std::vector<const Pattern*> alternatives;
  while (cursor.at(Rule::PatternAtom)) {
    alternatives.push_back(pattern_atom(cursor.take()));
    cursor.accept(K::Bar);
  }
  if (alternatives.empty()) return make_pattern<Pattern>(PatternKind::Error, range(id));
  if (alternatives.size() == 1) return alternatives[0];
  auto* made = make_pattern<OrPattern>(PatternKind::Or, range(id));
  made->alternatives = ast_.arena.copy(alternatives);
  return made;
}

const Pattern* Builder::pattern_atom(CstId id) {
  Cursor cursor(*this, id);
  const auto patterns = [&] {
    std::vector<const Pattern*> out;
    list(cursor, [](const Cursor& c) { return c.at(Rule::Pattern); }, [&](Cursor& c) { out.push_back(pattern(c.take())); });
    return ast_.arena.copy(out);
  };
  if (cursor.at(K::Ident)) {
    Name first = name(cursor.take());
    Name second;
    if (cursor.accept(K::Dot)) second = name(cursor.take(K::Ident));
    const bool parenthesised = cursor.accept(K::Lparen);
    if (!second && !parenthesised) {
      if (first.text == "_") return make_pattern<Pattern>(PatternKind::Wildcard, range(id));
      auto* made = make_pattern<NamePattern>(PatternKind::Name, range(id));
      made->name = first;
      return made;
    }
    const List<const Pattern*> arguments = parenthesised ? List<const Pattern*>(patterns()) : List<const Pattern*>();
    auto* made = make_pattern<ConstructorPattern>(PatternKind::Constructor, range(id));
    made->enum_name = second ? first : Name{};
    made->name = second ? second : first;
    made->arguments = arguments;
    made->parenthesised = parenthesised;
    return made;
  }
  if (cursor.accept(K::Lparen)) {
    const List<const Pattern*> elements = patterns();
    if (elements.size() == 1) return elements[0];
    auto* made = make_pattern<TuplePattern>(PatternKind::Tuple, range(id));
    made->elements = elements;
    return made;
  }
  const CstId minus = cursor.take(K::Minus);
  const Expr* value = nullptr;
  if (cursor.at(K::Float)) {
    faults_.add(DiagnosticKind::InvalidPattern, range(id), "a float cannot be a pattern")
        .note(range(id), "bind a name and compare in a guard: `x if x == 1.0 => ...`");
    return make_pattern<Pattern>(PatternKind::Error, range(id));
  }
  if (cursor.at(K::Int)) {
    value = integer(cursor.take());
    if (minus) {
      auto* negated = make_expr<UnaryExpr>(ExprKind::Unary, range(id), depth(value));
      negated->op = UnaryOp::Neg;
      negated->op_range = range(minus);
      negated->operand = value;
      value = negated;
    }
  } else if (cursor.at(K::True) || cursor.at(K::False)) {
    auto* boolean = make_expr<BoolExpr>(ExprKind::Bool, range(id), 0);
    boolean->value = cursor.at(K::True);
    value = boolean;
  } else {
    return make_pattern<Pattern>(PatternKind::Error, range(id));
  }
  auto* made = make_pattern<LiteralPattern>(PatternKind::Literal, range(id));
  made->value = value;
  return made;
}

void Builder::check_binding(const Pattern* pattern) {
  if (pattern->kind == PatternKind::Tuple) {
    for (const Pattern* element : pattern->as<TuplePattern>().elements) check_binding(element);
    return;
  }
  if (pattern->kind == PatternKind::Literal || pattern->kind == PatternKind::Constructor || pattern->kind == PatternKind::Or)
    faults_.add(DiagnosticKind::InvalidPattern, pattern->range, "a declaration binds a name or a tuple of names")
        .note(pattern->range, "a pattern that may fail belongs into a `match`");
}

// --- statements -------------------------------------------------------------------------------------------------------------

const Expr* Builder::part(CstId id) {
  const Expr* made = expr(id);
  body_depth_ = std::max(body_depth_, depth(made));
  return made;
}

const BlockExpr* Builder::part_block(CstId id) {
  const BlockExpr* made = block(id);
  body_depth_ = std::max(body_depth_, depth(made));
  return made;
}

const BlockExpr* Builder::block(CstId id) {
  const std::uint32_t outer_depth = std::exchange(body_depth_, 0);
  std::vector<const Stmt*> statements;
  const Expr* value = nullptr;
  const std::span<const CstId> children = id ? cst_.children(id) : std::span<const CstId>();
  // An expression whose fate depends on what follows: value of the block, or a statement.
  const Expr* open = nullptr;
  const auto settle = [&] {
    if (open == nullptr) return;
    auto* made = make_stmt<ExprStmt>(StmtKind::Expr, open->range);
    made->expr = open;
    statements.push_back(made);
    open = nullptr;
  };
  for (std::size_t at = 0; at < children.size();) {
    const CstId child = children[at];
    if (cst_[child].is_token) {
      ++at;
      continue;
    }
    if (cst_[child].rule == Rule::Stray) {
      settle();
      report_strays(children, at, "expected a statement");
      continue;
    }
    ++at;
    Cursor cursor(*this, child);
    if (cst_[child].broken || cursor.done()) {
      settle();
      statements.push_back(make_stmt<Stmt>(StmtKind::Error, range(child)));
    } else if (cursor.at(Rule::End)) {
      // A lone `;` makes a statement of the block before it; the end of the block does not.
      const CstId end = cursor.take();
      if (cst_[end].count != 0 && token(end).kind == K::Semi) settle();
    } else if (cursor.at(Rule::BlockLike)) {
      settle();
      open = block_like(cursor.take());
      body_depth_ = std::max(body_depth_, depth(open));
    } else if (cursor.at(Rule::ExprStatement)) {
      settle();
      const std::span<const CstId> parts = cst_.children(cursor.peek());
      const CstId end = parts.empty() ? CstId{} : parts.back();
      const bool is_value = parts.size() == 2 && cst_[end].count != 0 && token(end).kind == K::Tail;
      if (is_value) {
        open = part(parts[0]);
      } else {
        statements.push_back(expr_statement(cursor.take()));
      }
    } else {
      settle();
      statements.push_back(statement(cursor.take()));
    }
  }
  value = std::exchange(open, nullptr);
  const std::uint32_t deep = std::max(body_depth_, depth(value));
  body_depth_ = outer_depth;
  auto* made = make_expr<BlockExpr>(ExprKind::Block, range(id), deep);
  made->statements = ast_.arena.copy(statements);
  made->value = value;
  return made;
}

const Stmt* Builder::statement(CstId id) {
  const Rule rule = cst_[id].rule;
  Cursor cursor(*this, id);
  if (rule == Rule::LetStatement) return let_statement(id);
  if (rule == Rule::LoopStatement) return loop_statement(id);
  if (rule == Rule::JumpStatement) return jump_statement(id);
  if (rule == Rule::LaunchStatement) return launch_statement(id);
  if (rule == Rule::ConstItem) {
    cursor.accept(K::Const);
    auto* made = make_stmt<ConstStmt>(StmtKind::Const, range(id));
    made->name = name(cursor.take(K::Ident));
    if (cursor.accept(K::Colon)) made->type = type(cursor.take(Rule::Type));
    cursor.accept(K::Assign);
    made->value = part(cursor.take(Rule::Expr));
    require_semicolon(cursor.take(Rule::End), "constant");
    return made;
  }
  if (rule == Rule::SharedStatement) {
    cursor.accept(K::Shared);
    auto* made = make_stmt<SharedStmt>(StmtKind::Shared, range(id));
    made->name = name(cursor.take(K::Ident));
    cursor.accept(K::Colon);
    made->type = type(cursor.take(Rule::Type));
    require_semicolon(cursor.take(Rule::End), "declaration");
    return made;
  }
  if (rule == Rule::SuperstepStatement) {
    cursor.accept(K::Superstep);
    auto* made = make_stmt<SuperstepStmt>(StmtKind::Superstep, range(id));
    made->name = name(cursor.take(K::Ident));
    made->divergent = cursor.accept(K::Divergent);
    made->body = part_block(cursor.take(Rule::Block));
    return made;
  }
  return make_stmt<Stmt>(StmtKind::Error, range(id));
}

void Builder::require_semicolon(CstId end, std::string_view what) {
  if (!end || cst_[end].count == 0 || token(end).kind == K::Semi) return;
  const SourceRange at = range(end);
  faults_.add(DiagnosticKind::MissingToken, at, "missing `;` after this " + std::string(what)).fix(at, ";", "add `;`");
}

const Stmt* Builder::let_statement(CstId id) {
  Cursor cursor(*this, id);
  auto* made = make_stmt<LetStmt>(StmtKind::Let, range(id));
  made->is_mutable = cursor.at(K::Var);
  cursor.take();
  made->pattern = pattern(cursor.take(Rule::Pattern));
  check_binding(made->pattern);
  if (cursor.accept(K::Colon)) made->type = type(cursor.take(Rule::Type));
  if (cursor.accept(K::Assign)) made->init = part(cursor.take(Rule::Expr));
  require_semicolon(cursor.take(Rule::End), "declaration");
  if (made->init == nullptr && made->type == nullptr && made->pattern->kind != PatternKind::Error)
    faults_.add(DiagnosticKind::SyntaxError, made->range, "a declaration needs a type or a value");
  return made;
}

const Stmt* Builder::loop_statement(CstId id) {
  Cursor cursor(*this, id);
  const Unroll mark = unroll(cursor.take(Rule::UnrollMark));
  if (cursor.at(Rule::ForLoop)) return for_loop(cursor.take(), id, mark);
  if (cursor.accept(K::While)) {
    auto* made = make_stmt<WhileStmt>(StmtKind::While, range(id));
    made->unroll = mark;
    made->condition = part(cursor.take(Rule::Expr));
    made->body = part_block(cursor.take(Rule::Block));
    return made;
  }
  cursor.accept(K::Loop);
  auto* made = make_stmt<LoopStmt>(StmtKind::Loop, range(id));
  made->unroll = mark;
  made->body = part_block(cursor.take(Rule::Block));
  return made;
}

const Stmt* Builder::for_loop(CstId id, CstId whole, Unroll mark) {
  Cursor cursor(*this, id);
  cursor.accept(K::For);
  auto* made = make_stmt<ForStmt>(StmtKind::For, range(whole));
  made->unroll = mark;
  made->variable = name(cursor.take(K::Ident));
  if (cursor.accept(K::Colon)) made->type = type(cursor.take(Rule::Type));
  cursor.accept(K::In);
  const Expr* first = part(cursor.take(Rule::Expr));
  if (cursor.at(K::Range) || cursor.at(K::RangeEq)) {
    made->first = first;
    made->inclusive = cursor.at(K::RangeEq);
    cursor.take();
    made->last = part(cursor.take(Rule::Expr));
    if (cursor.accept(K::Step)) made->step = part(cursor.take(Rule::Expr));
  } else {
    made->is_list = true;
    if (first->kind == ExprKind::Array) {
      made->list = first->as<ArrayExpr>().elements;
    } else if (first->kind != ExprKind::Error) {
      faults_.add(DiagnosticKind::SyntaxError, first->range, "a loop runs over a range `a..b` or a list `[a, b, c]`");
    }
  }
  made->body = part_block(cursor.take(Rule::Block));
  return made;
}

const Stmt* Builder::jump_statement(CstId id) {
  Cursor cursor(*this, id);
  if (cursor.accept(K::Break)) return make_stmt<Stmt>(StmtKind::Break, range(id));
  if (cursor.accept(K::Continue)) return make_stmt<Stmt>(StmtKind::Continue, range(id));
  cursor.accept(K::Return);
  auto* made = make_stmt<ReturnStmt>(StmtKind::Return, range(id));
  if (cursor.at(Rule::Expr)) made->value = part(cursor.take());
  return made;
}

const Stmt* Builder::launch_statement(CstId id) {
  Cursor cursor(*this, id);
  auto* made = make_stmt<LaunchStmt>(StmtKind::Launch, range(id));
  made->kernel = name(cursor.take(K::LaunchName));
  if (cursor.accept(K::Dot)) made->module = std::exchange(made->kernel, name(cursor.take(K::Ident)));
  cursor.accept(K::LaunchOpen);
  made->grid = expr_list(cursor);
  if (made->grid.size() > 3) faults_.add(DiagnosticKind::SyntaxError, made->grid[3]->range, "a grid has one to three dimensions");
  if (cursor.accept(K::Semi)) made->dynamic_elements = expr(cursor.take(Rule::Expr));
  cursor.accept(K::LaunchClose);
  cursor.accept(K::Lparen);
  made->args = expr_list(cursor);
  cursor.accept(K::Rparen);
  require_semicolon(cursor.take(Rule::End), "launch");
  body_depth_ = std::max({body_depth_, deepest(made->grid), deepest(made->args), depth(made->dynamic_elements)});
  return made;
}

const Stmt* Builder::expr_statement(CstId id) {
  Cursor cursor(*this, id);
  const Expr* first = part(cursor.take(Rule::StatementExpr));
  if (!cursor.at(Rule::AssignOp)) {
    auto* made = make_stmt<ExprStmt>(StmtKind::Expr, first->range);
    made->expr = first;
    return made;
  }
  static constexpr std::pair<K, BinaryOp> kCompound[] = {
      {K::PlusEq, BinaryOp::Add},    {K::MinusEq, BinaryOp::Sub},  {K::StarEq, BinaryOp::Mul},  {K::SlashEq, BinaryOp::Div},
      {K::PercentEq, BinaryOp::Mod}, {K::AmpEq, BinaryOp::BitAnd}, {K::BarEq, BinaryOp::BitOr}, {K::CaretEq, BinaryOp::BitXor},
      {K::ShlEq, BinaryOp::Shl},     {K::ShrEq, BinaryOp::Shr}};
  const CstId op = cursor.take();
  auto* made = make_stmt<AssignStmt>(StmtKind::Assign, range(id));
  made->op_range = range(op);
  for (const auto& [kind, binary] : kCompound) {
    if (token(op).kind != kind) continue;
    made->is_compound = true;
    made->op = binary;
  }
  made->target = first;
  made->value = part(cursor.take(Rule::Expr));
  const Expr* place = first;
  while (place->kind == ExprKind::Member || place->kind == ExprKind::TupleIndex || place->kind == ExprKind::Index)
    place = place->kind == ExprKind::Member       ? place->as<MemberExpr>().base
            : place->kind == ExprKind::TupleIndex ? place->as<TupleIndexExpr>().base
                                                  : place->as<IndexExpr>().base;
  if (place->kind != ExprKind::Name && place->kind != ExprKind::Error)
    faults_.add(DiagnosticKind::InvalidAssignment, first->range, "this is no place that a value can be assigned to")
        .note(first->range, "assign to a `var`, an element, or a field of one of these");
  return made;
}

}  // namespace sarek::syntax
