// Items, statements, types and patterns of the tree builder, and what the grammar leaves to it: list commas, semicolons, the value of a
// block, where patterns and types may stand. Expressions are in build_expr.cpp.
#include "compiler/syntax/build_ast.h"

namespace sarek::syntax {

std::string_view spelling(Access access) {
  switch (access) {
    case Access::None: return "";
    case Access::In: return "in";
    case Access::Out: return "out";
    case Access::InOut: return "inout";
  }
  return "";
}

void build_ast(std::string_view text, const Cst& cst, Ast& ast, Faults& faults) { Builder(text, cst, ast, faults).file(); }

// --- items ------------------------------------------------------------------------------------------------------------------

void Builder::file() {
  const std::span<const CstId> children = cst_.children(cst_.root);
  for (std::size_t at = 0; at < children.size();) {
    const CstNode& node = cst_[children[at]];
    if (node.is_token) {
      ++at;
    } else if (node.rule == Rule::StrayItem) {
      report_strays(children, at, "expected a declaration such as `kernel` or `fn`");
    } else {
      if (const Item* made = item(children[at])) ast_.items.push_back(made);
      ++at;
    }
  }
}

void Builder::report_strays(std::span<const CstId> children, std::size_t& at, std::string_view wanted) {
  const CstId first = children[at];
  const std::uint32_t index = cst_[first].token;
  const Token& wrong = cst_.tokens[index];
  const std::string found = "`" + std::string(spelled(first)) + "`";
  // After a fault on the same line (a removed character, say) the rest of it is not worth a message.
  const std::size_t newline = faults_.full() ? 0 : text_.rfind('\n', wrong.begin);
  const bool follows = faults_.any_in(newline == std::string_view::npos ? 0 : static_cast<std::uint32_t>(newline), wrong.begin);
  if (follows) {
    // nothing more to say
  } else if (wrong.unmatched) {
    faults_.add(DiagnosticKind::UnmatchedBracket, range(first), "unmatched " + found).fix(range(first), "", "remove it");
  } else if (!wrong.is_virtual()) {
    Diagnostic& made = faults_.add(DiagnosticKind::SyntaxError, range(first), std::string(wanted) + ", found " + found);
    if (wrong.kind == K::StrayElse) made.note(range(first), "no `if` ends right before this `else`");
  }
  // Whatever follows without a recognised construct in between belongs to the same fault.
  const Rule rule = cst_[first].rule;
  while (at < children.size() && !cst_[children[at]].is_token && cst_[children[at]].rule == rule) ++at;
}

const Item* Builder::item(CstId id) {
  Cursor cursor(*this, id);
  if (cursor.done()) return nullptr;
  const CstId inner = cursor.take();
  if (cst_[inner].is_token) return nullptr;
  const Rule rule = cst_[inner].rule;
  const Item* made = rule == Rule::ImportItem     ? import_item(inner)
                     : rule == Rule::ConstItem    ? const_item(inner)
                     : rule == Rule::StructItem   ? struct_item(inner)
                     : rule == Rule::EnumItem     ? enum_item(inner)
                     : rule == Rule::FunctionItem ? function_item(inner)
                     : rule == Rule::KernelItem   ? kernel_item(inner)
                     : rule == Rule::PipelineItem ? pipeline_item(inner)
                     : rule == Rule::GraphItem    ? graph_item(inner)
                                                  : test_item(inner);
  // Every item is made here and nowhere else; the constness of the interface starts behind this line.
  const_cast<Item*>(made)->broken = cst_[id].broken || faults_.any_in(made->range.begin, made->range.end);
  return made;
}

std::string_view Builder::doc_before(std::uint32_t offset) {
  // Upwards from the item: only `///` lines with nothing but space between them.
  const auto& comments = ast_.comments;
  auto it = std::upper_bound(comments.begin(), comments.end(), offset,
                             [](std::uint32_t value, const Comment& c) { return value < c.range.end; });
  std::vector<std::string_view> lines;
  std::uint32_t below = offset;
  while (it != comments.begin()) {
    --it;
    const std::string_view comment = text_.substr(it->range.begin, it->range.end - it->range.begin);
    const std::string_view gap = text_.substr(it->range.end, below - it->range.end);
    if (!comment.starts_with("///") || gap.find_first_not_of(" \t\r\n") != std::string_view::npos) break;
    if (std::count(gap.begin(), gap.end(), '\n') > 1) break;
    std::string_view line = comment.substr(3);
    if (line.starts_with(" ")) line.remove_prefix(1);
    lines.push_back(line);
    below = it->range.begin;
  }
  std::string doc;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) doc.append(*line).append("\n");
  return ast_.arena.copy(std::string_view(doc));
}

const Item* Builder::import_item(CstId id) {
  Cursor cursor(*this, id);
  cursor.accept(K::Import);
  auto* made = make_item<ImportItem>(ItemKind::Import, id);
  if (const CstId string = cursor.take(K::String)) {
    made->path = string_value(string);
    made->path_range = range(string);
  }
  if (cursor.accept(K::As)) made->alias = name(cursor.take(K::Ident));
  return made;
}

const Item* Builder::const_item(CstId id) {
  Cursor cursor(*this, id);
  cursor.accept(K::Const);
  auto* made = make_item<ConstItem>(ItemKind::Const, id);
  made->name = name(cursor.take(K::Ident));
  if (cursor.accept(K::Colon)) made->type = type(cursor.take(Rule::Type));
  cursor.accept(K::Assign);
  made->value = expr(cursor.take(Rule::Expr));
  require_semicolon(cursor.take(Rule::End), "constant");
  return made;
}

List<TypeParam> Builder::type_params(Cursor& cursor) {
  std::vector<TypeParam> out;
  if (!cursor.at(Rule::TypeParams)) return {};
  Cursor inside(*this, cursor.take());
  inside.accept(K::TemplateOpen);
  list(inside, [](const Cursor& c) { return c.at(Rule::TypeParam); },
       [&](Cursor& c) {
         Cursor param(*this, c.take());
         TypeParam made;
         made.name = name(param.take(K::Ident));
         if (param.accept(K::Colon)) made.bound = name(param.take(K::Ident));
         out.push_back(made);
       });
  return ast_.arena.copy(out);
}

const Item* Builder::struct_item(CstId id) {
  Cursor cursor(*this, id);
  cursor.accept(K::Struct);
  auto* made = make_item<StructItem>(ItemKind::Struct, id);
  made->name = name(cursor.take(K::Ident));
  made->type_params = type_params(cursor);
  cursor.accept(K::Lbrace);
  std::vector<Field> fields;
  list(cursor, [](const Cursor& c) { return c.at(Rule::Field); },
       [&](Cursor& c) {
         const CstId field = c.take();
         Cursor inside(*this, field);
         Field f{};
         f.name = name(inside.take(K::Ident));
         inside.accept(K::Colon);
         f.type = type(inside.take(Rule::Type));
         f.doc = doc_before(cst_[field].begin);
         fields.push_back(f);
       });
  made->fields = ast_.arena.copy(fields);
  return made;
}

const Item* Builder::enum_item(CstId id) {
  Cursor cursor(*this, id);
  cursor.accept(K::Enum);
  auto* made = make_item<EnumItem>(ItemKind::Enum, id);
  made->name = name(cursor.take(K::Ident));
  made->type_params = type_params(cursor);
  cursor.accept(K::Lbrace);
  std::vector<Variant> variants;
  list(cursor, [](const Cursor& c) { return c.at(Rule::Variant); },
       [&](Cursor& c) {
         const CstId variant = c.take();
         Cursor inside(*this, variant);
         Variant v{};
         v.range = range(variant);
         v.name = name(inside.take(K::Ident));
         if (inside.accept(K::Lparen)) v.payload = type_list(inside);
         variants.push_back(v);
       });
  made->variants = ast_.arena.copy(variants);
  return made;
}

List<Param> Builder::params(CstId id) {
  if (!id) return {};
  Cursor cursor(*this, id);
  cursor.accept(K::Lparen);
  std::vector<Param> out;
  list(cursor, [](const Cursor& c) { return c.at(Rule::Param); },
       [&](Cursor& c) {
         const CstId param = c.take();
         Cursor inside(*this, param);
         Param made{};
         made.range = range(param);
         made.name = name(inside.take(K::Ident));
         inside.accept(K::Colon);
         made.access_range = range(inside.peek());
         made.access = inside.accept(K::In)      ? Access::In
                       : inside.accept(K::Out)   ? Access::Out
                       : inside.accept(K::Inout) ? Access::InOut
                                                 : Access::None;
         if (made.access == Access::None) made.access_range = {};
         made.type = type(inside.take(Rule::Type));
         out.push_back(made);
       });
  return ast_.arena.copy(out);
}

Unroll Builder::unroll(CstId id) {
  Unroll out;
  if (!id) return out;
  Cursor cursor(*this, id);
  cursor.accept(K::Unroll);
  out.present = true;
  out.range = range(id);
  if (cursor.accept(K::Lparen)) out.factor = expr(cursor.take(Rule::Expr));
  return out;
}

const Item* Builder::function_item(CstId id) {
  Cursor cursor(*this, id);
  auto* made = make_item<FunctionItem>(ItemKind::Function, id);
  while (cursor.at(Rule::InlineMark) || cursor.at(Rule::UnrollMark)) {
    const CstId mark = cursor.take();
    const bool repeated = cst_[mark].rule == Rule::InlineMark ? made->inline_depth != nullptr : made->unroll.present;
    if (repeated) faults_.add(DiagnosticKind::SyntaxError, range(mark), "this mark stands twice");
    if (cst_[mark].rule == Rule::UnrollMark) {
      made->unroll = unroll(mark);
      continue;
    }
    Cursor inside(*this, mark);
    inside.accept(K::Inline);
    inside.accept(K::Lparen);
    made->inline_range = range(mark);
    made->inline_depth = expr(inside.take(Rule::Expr));
  }
  cursor.accept(K::Fn);
  made->name = name(cursor.take(K::Ident));
  made->type_params = type_params(cursor);
  made->params = params(cursor.take(Rule::Params));
  if (cursor.accept(K::Arrow)) made->result = type(cursor.take(Rule::Type));
  made->body = block(cursor.take(Rule::Block));
  return made;
}

const Item* Builder::kernel_item(CstId id) {
  Cursor cursor(*this, id);
  cursor.accept(K::Kernel);
  auto* made = make_item<KernelItem>(ItemKind::Kernel, id);
  made->name = name(cursor.take(K::Ident));
  made->params = params(cursor.take(Rule::Params));
  if (cursor.at(K::Arrow)) {
    const CstId arrow = cursor.take();
    const Type* result = type(cursor.take(Rule::Type));
    faults_.add(DiagnosticKind::KernelReturnsValue, join(range(arrow), result->range), "a kernel returns nothing")
        .note(result->range, "hand results out through a parameter: `result: out [T]`");
  }
  if (const CstId word = cursor.take(K::Block)) {
    cursor.accept(K::Lparen);
    made->block = expr_list(cursor);
    made->block_range = join(range(word), range(cursor.take(K::Rparen)));
    if (made->block.size() > 3) faults_.add(DiagnosticKind::SyntaxError, made->block_range, "a block has one to three dimensions");
  }
  if (const CstId word = cursor.take(K::Wide)) {
    made->wide = true;
    made->wide_range = range(word);
  }
  made->body = block(cursor.take(Rule::Block));
  return made;
}

const Item* Builder::pipeline_item(CstId id) {
  Cursor cursor(*this, id);
  cursor.accept(K::Pipeline);
  auto* made = make_item<PipelineItem>(ItemKind::Pipeline, id);
  made->name = name(cursor.take(K::Ident));
  made->params = params(cursor.take(Rule::Params));
  made->body = block(cursor.take(Rule::Block));
  return made;
}

const Item* Builder::graph_item(CstId id) {
  Cursor cursor(*this, id);
  cursor.accept(K::Graph);
  auto* made = make_item<GraphItem>(ItemKind::Graph, id);
  made->name = name(cursor.take(K::Ident));
  made->params = params(cursor.take(Rule::Params));
  cursor.accept(K::Arrow);
  made->result = type(cursor.take(Rule::Type));
  made->body = block(cursor.take(Rule::Block));
  return made;
}

const Item* Builder::test_item(CstId id) {
  Cursor cursor(*this, id);
  cursor.accept(K::Test);
  auto* made = make_item<TestItem>(ItemKind::Test, id);
  made->name = name(cursor.take(K::Ident));
  cursor.accept(K::For);
  made->subject = name(cursor.take(K::Ident));
  cursor.accept(K::Lbrace);
  std::vector<TestStmt> statements;
  while (cursor.at(Rule::TestStatement)) {
    const CstId next = cursor.take();
    if (!cst_[next].broken) statements.push_back(test_statement(next));
  }
  made->statements = ast_.arena.copy(statements);
  return made;
}

TestStmt Builder::test_statement(CstId id) {
  Cursor cursor(*this, id);
  TestStmt made{};
  made.range = range(id);
  if (cursor.accept(K::Let)) {
    made.kind = TestStmtKind::Let;
    made.name = name(cursor.take(K::Ident));
    cursor.accept(K::Assign);
    made.value = expr(cursor.take(Rule::Expr));
  } else if (cursor.accept(K::Expect)) {
    if (cursor.accept(K::Same)) {
      made.kind = TestStmtKind::ExpectSame;
      cursor.accept(K::As);
      made.name = name(cursor.take(K::Ident));
    } else if (cursor.accept(K::Error)) {
      made.kind = TestStmtKind::ExpectError;
      if (const CstId string = cursor.take(K::String)) made.text = string_value(string);
    } else {
      made.kind = TestStmtKind::ExpectValue;
      made.name = name(cursor.take(K::Ident));
      cursor.accept(K::Assign);
      made.value = expr(cursor.take(Rule::Expr));
    }
  } else {
    made.name = name(cursor.take());
    if (cursor.accept(K::Lparen)) {
      made.args = expr_list(cursor);
      check_directive(made);
    } else {
      made.kind = TestStmtKind::Bind;
      cursor.accept(K::Assign);
      made.value = expr(cursor.take(Rule::Expr));
    }
  }
  return made;
}

void Builder::check_directive(TestStmt& statement) {
  struct Directive {
    std::string_view name;
    TestStmtKind kind;
    std::size_t least;
    std::size_t most;
  };
  static constexpr Directive kDirectives[] = {{"grid", TestStmtKind::Grid, 1, 3},
                                              {"shared", TestStmtKind::Shared, 1, 1},
                                              {"cases", TestStmtKind::Cases, 1, 1},
                                              {"seed", TestStmtKind::Seed, 1, 1}};
  for (const Directive& directive : kDirectives) {
    if (directive.name != statement.name.text) continue;
    statement.kind = directive.kind;
    if (statement.args.size() < directive.least || statement.args.size() > directive.most)
      faults_.add(DiagnosticKind::InvalidTest, statement.range,
                  "`" + std::string(directive.name) + "` takes " + (directive.most == 1 ? "one argument" : "one to three arguments"));
    return;
  }
  faults_.add(DiagnosticKind::InvalidTest, statement.name.range, "unknown directive `" + std::string(statement.name.text) + "`")
      .note(statement.name.range, "a test has the directives `grid`, `shared`, `cases` and `seed`");
}

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
  list(cursor, [](const Cursor& c) { return c.at(Rule::TypeArg); },
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
      {K::PlusEq, BinaryOp::Add},    {K::MinusEq, BinaryOp::Sub},   {K::StarEq, BinaryOp::Mul}, {K::SlashEq, BinaryOp::Div},
      {K::PercentEq, BinaryOp::Mod}, {K::AmpEq, BinaryOp::BitAnd},  {K::BarEq, BinaryOp::BitOr}, {K::CaretEq, BinaryOp::BitXor},
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
