// Items of the tree builder: everything that stands at the top of a file, the tests, documentation comments, and what is no item.
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
  auto it =
      std::upper_bound(comments.begin(), comments.end(), offset, [](std::uint32_t value, const Comment& c) { return value < c.range.end; });
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
  list(
      inside, [](const Cursor& c) { return c.at(Rule::TypeParam); },
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
  list(
      cursor, [](const Cursor& c) { return c.at(Rule::Field); },
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
  list(
      cursor, [](const Cursor& c) { return c.at(Rule::Variant); },
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
  list(
      cursor, [](const Cursor& c) { return c.at(Rule::Param); },
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

}  // namespace sarek::syntax
