// Expressions and literals of the tree builder. Binary operators arrive as flat lists; the precedence table is here.
#include <optional>

#include "compiler/syntax/build_ast.h"

namespace sarek::syntax {
namespace {

using K = TokenKind;

struct BinaryRow {
  K token;
  BinaryOp op;
  int precedence;
  std::string_view text;
};

// The table of grammar/Sarek.g4.
constexpr BinaryRow kBinary[] = {
    {K::Star, BinaryOp::Mul, 10, "*"},    {K::Slash, BinaryOp::Div, 10, "/"}, {K::Percent, BinaryOp::Mod, 10, "%"},
    {K::At, BinaryOp::MatMul, 10, "@"},   {K::Plus, BinaryOp::Add, 9, "+"},   {K::Minus, BinaryOp::Sub, 9, "-"},
    {K::Shl, BinaryOp::Shl, 8, "<<"},     {K::Shr, BinaryOp::Shr, 8, ">>"},   {K::Amp, BinaryOp::BitAnd, 7, "&"},
    {K::Caret, BinaryOp::BitXor, 6, "^"}, {K::Bar, BinaryOp::BitOr, 5, "|"},  {K::Eq, BinaryOp::Eq, 4, "=="},
    {K::Ne, BinaryOp::Ne, 4, "!="},       {K::Lt, BinaryOp::Lt, 4, "<"},      {K::Le, BinaryOp::Le, 4, "<="},
    {K::Gt, BinaryOp::Gt, 4, ">"},        {K::Ge, BinaryOp::Ge, 4, ">="},     {K::And, BinaryOp::And, 3, "&&"},
    {K::Or, BinaryOp::Or, 2, "||"},
};
constexpr int kComparison = 4;

const BinaryRow& row(K kind) {
  for (const BinaryRow& r : kBinary)
    if (r.token == kind) return r;
  return kBinary[0];  // binaryOp of the grammar holds these tokens and no others
}
const BinaryRow& row(BinaryOp op) {
  for (const BinaryRow& r : kBinary)
    if (r.op == op) return r;
  return kBinary[0];
}

bool is_bitwise(BinaryOp op) { return op == BinaryOp::BitAnd || op == BinaryOp::BitOr || op == BinaryOp::BitXor; }

SourceRange span_of(const Expr* a, const Expr* b) { return join(a->range, b->range); }

}  // namespace

std::string_view spelling(BinaryOp op) { return row(op).text; }
std::string_view spelling(UnaryOp op) { return op == UnaryOp::Neg ? "-" : op == UnaryOp::Not ? "!" : "~"; }

std::uint32_t Builder::deepest(List<const Expr*> exprs) const {
  std::uint32_t deepest_so_far = 0;
  for (const Expr* e : exprs) deepest_so_far = std::max(deepest_so_far, depth(e));
  return deepest_so_far;
}

void Builder::check_depth(std::uint32_t depth, SourceRange range) {
  if (depth <= kMaxExpressionDepth || too_deep_) return;
  too_deep_ = true;
  faults_.add(DiagnosticKind::NestingTooDeep, range, "this expression is deeper than " + std::to_string(kMaxExpressionDepth) + " levels")
      .note(here(range), "name parts of it with `let`");
}

const Expr* Builder::bounded(const Expr* made) { return depth(made) > kMaxExpressionDepth ? error_expr(made->range) : made; }

List<const Expr*> Builder::expr_list(Cursor& cursor) {
  std::vector<const Expr*> out;
  list(cursor, [](const Cursor& c) { return c.at(Rule::Expr); }, [&](Cursor& c) { out.push_back(expr(c.take())); });
  return ast_.arena.copy(out);
}

const Expr* Builder::combine(BinaryOp op, SourceRange op_range, const Expr* left, bool left_bare, const Expr* right, bool right_bare) {
  if (row(op).precedence == kComparison) {
    for (const auto& [side, bare] : {std::pair{left, left_bare}, std::pair{right, right_bare}}) {
      if (!bare || side->kind != ExprKind::Binary) continue;
      const auto& inner = side->as<BinaryExpr>();
      if (row(inner.op).precedence == kComparison) {
        faults_.add(DiagnosticKind::ComparisonChain, op_range, "comparisons do not chain")
            .note(inner.op_range, "the other comparison is here; join two comparisons with `&&`, or compare booleans in parentheses");
      } else if (is_bitwise(inner.op)) {
        faults_
            .add(DiagnosticKind::AmbiguousPrecedence, op_range,
                 "`" + std::string(spelling(inner.op)) + "` next to `" + std::string(spelling(op)) + "` needs parentheses")
            .note(inner.op_range, "C reads this otherwise than most languages do")
            .fix({ast_.file, side->range.begin, side->range.end},
                 "(" + std::string(text_.substr(side->range.begin, side->range.end - side->range.begin)) + ")", "add parentheses");
      }
    }
  }
  auto* made = make_expr<BinaryExpr>(ExprKind::Binary, span_of(left, right), deepest(left, right));
  made->op = op;
  made->op_range = op_range;
  made->left = left;
  made->right = right;
  return made;
}

const Expr* Builder::expr(CstId id) {
  if (!id) return error_expr({});
  Cursor cursor(*this, id);
  struct Value {
    const Expr* expr;
    bool bare;  // a binary expression without parentheses around it
  };
  struct Operator {
    const BinaryRow* row;
    SourceRange range;
  };
  std::vector<Value> values{{operand(cursor.take()), false}};
  std::vector<Operator> operators;
  const auto reduce = [&] {
    const Value right = values.back();
    values.pop_back();
    const Value left = values.back();
    values.back() = {combine(operators.back().row->op, operators.back().range, left.expr, left.bare, right.expr, right.bare), true};
    operators.pop_back();
  };
  while (cursor.at(Rule::BinaryOp)) {
    const CstId op = cursor.take();
    if (cst_[op].count == 0) break;
    const BinaryRow& next = row(token(cst_.children(op)[0]).kind);
    while (!operators.empty() && operators.back().row->precedence >= next.precedence) reduce();
    operators.push_back({&next, range(op)});
    values.push_back({operand(cursor.take()), false});
  }
  while (!operators.empty()) reduce();
  return bounded(values.back().expr);
}

const Expr* Builder::operand(CstId id) {
  if (!id) return error_expr({});
  Cursor cursor(*this, id);
  std::vector<CstId> prefixes;
  while (cursor.at(K::Minus) || cursor.at(K::Bang) || cursor.at(K::Tilde)) prefixes.push_back(cursor.take());
  const Expr* value = cursor.at(Rule::Primary)     ? primary(cursor.take())
                      : cursor.at(Rule::BlockLike) ? block_like(cursor.take())
                                                   : error_expr(range(id));
  List<TypeArg> pending;
  CstId pending_at;
  while (cursor.at(Rule::Suffix)) {
    const CstId next = cursor.take();
    const bool had = !pending.empty();
    value = suffix(value, next, pending);
    if (!had && !pending.empty()) pending_at = next;
  }
  if (!pending.empty() && !cst_[id].broken)
    faults_.add(DiagnosticKind::SyntaxError, range(pending_at), "type arguments are followed by a call, a record literal or `.name`");
  while (!prefixes.empty()) {
    const CstId op = prefixes.back();
    prefixes.pop_back();
    auto* made = make_expr<UnaryExpr>(ExprKind::Unary, join(range(op), value->range), depth(value));
    made->op = token(op).kind == K::Minus ? UnaryOp::Neg : token(op).kind == K::Bang ? UnaryOp::Not : UnaryOp::BitNot;
    made->op_range = range(op);
    made->operand = value;
    value = made;
  }
  while (cursor.accept(K::As)) {
    const Type* target = type(cursor.take(Rule::Type));
    auto* made = make_expr<CastExpr>(ExprKind::Cast, join(value->range, target->range), depth(value));
    made->operand = value;
    made->type = target;
    value = made;
  }
  return value;
}

const Expr* Builder::primary(CstId id) {
  Cursor cursor(*this, id);
  if (cursor.at(K::Int)) return integer(cursor.take());
  if (cursor.at(K::Float)) return floating(cursor.take());
  if (cursor.at(K::True) || cursor.at(K::False)) {
    const bool value = cursor.at(K::True);
    auto* made = make_expr<BoolExpr>(ExprKind::Bool, range(id), 0);
    made->value = value;
    return made;
  }
  if (cursor.at(K::Ident)) {
    auto* made = make_expr<NameExpr>(ExprKind::Name, range(id), 0);
    made->name = name(cursor.take());
    return made;
  }
  if (cursor.accept(K::Lparen)) {
    const bool comma = std::any_of(cst_.children(id).begin(), cst_.children(id).end(),
                                   [&](CstId child) { return cst_[child].is_token && token(child).kind == K::Comma; });
    const List<const Expr*> elements = expr_list(cursor);
    if (elements.size() == 1 && comma) faults_.add(DiagnosticKind::SyntaxError, range(id), "a tuple has no element or at least two");
    if (elements.size() == 1) return elements[0];
    auto* made = make_expr<TupleExpr>(ExprKind::Tuple, range(id), deepest(elements));
    made->elements = elements;
    return made;
  }
  if (cursor.accept(K::Lbracket)) {
    if (!cursor.at(Rule::Expr)) return make_expr<ArrayExpr>(ExprKind::Array, range(id), 0);
    const List<const Expr*> elements = expr_list(cursor);
    if (cursor.accept(K::Semi)) {
      const Expr* count = expr(cursor.take(Rule::Expr));
      auto* made = make_expr<ArrayRepeatExpr>(ExprKind::ArrayRepeat, range(id), deepest(elements[0], count));
      made->value = elements[0];
      made->count = count;
      return made;
    }
    auto* made = make_expr<ArrayExpr>(ExprKind::Array, range(id), deepest(elements));
    made->elements = elements;
    return made;
  }
  return error_expr(range(id));
}

const Expr* Builder::suffix(const Expr* base, CstId id, List<TypeArg>& pending) {
  Cursor cursor(*this, id);
  const SourceRange whole = join(base->range, range(id));
  if (cursor.at(Rule::TypeArgs)) {
    const CstId args = cursor.take();
    if (base->kind != ExprKind::Name && base->kind != ExprKind::Member)
      faults_.add(DiagnosticKind::SyntaxError, range(args), "type arguments stand behind a name");
    pending = type_args(args);
    return base;
  }
  const List<TypeArg> given = std::exchange(pending, {});
  if (cursor.accept(K::Lparen)) {
    const List<const Expr*> args = expr_list(cursor);
    auto* made = make_expr<CallExpr>(ExprKind::Call, whole, std::max(depth(base), deepest(args)));
    made->callee = base;
    made->type_args = given;
    made->args = args;
    return made;
  }
  if (cursor.accept(K::Dot)) {
    if (cursor.at(K::Int)) {
      const CstId number = cursor.take();
      auto* made = make_expr<TupleIndexExpr>(ExprKind::TupleIndex, whole, depth(base));
      made->base = base;
      made->index_range = range(number);
      std::uint32_t index = 0;
      bool plain = true;
      for (const char c : spelled(number)) {
        plain &= c >= '0' && c <= '9';
        if (plain && index < 100000) index = index * 10 + static_cast<std::uint32_t>(c - '0');
      }
      if (!plain || !given.empty())
        faults_.add(DiagnosticKind::SyntaxError, range(number), "expected a field name or a tuple index after `.`");
      made->index = index;
      return made;
    }
    auto* made = make_expr<MemberExpr>(ExprKind::Member, whole, depth(base));
    made->base = base;
    made->base_type_args = given;
    made->name = name(cursor.take(K::Ident));
    return made;
  }
  if (cursor.accept(K::Lbracket)) {
    if (!given.empty())
      faults_.add(DiagnosticKind::SyntaxError, range(id), "type arguments are followed by a call, a record literal or `.name`");
    const List<const Expr*> indexes = expr_list(cursor);
    auto* made = make_expr<IndexExpr>(ExprKind::Index, whole, std::max(depth(base), deepest(indexes)));
    made->base = base;
    made->indexes = indexes;
    return made;
  }
  return record(base, id, given);
}

const Expr* Builder::record(const Expr* base, CstId id, List<TypeArg> given) {
  Cursor cursor(*this, id);
  cursor.accept(K::RecordOpen);
  std::vector<RecordField> fields;
  const Expr* rest = nullptr;
  std::uint32_t deep = 0;
  list(
      cursor, [](const Cursor& c) { return c.at(Rule::RecordPart); },
      [&](Cursor& c) {
        const CstId part = c.take();
        Cursor inside(*this, part);
        if (rest != nullptr) faults_.add(DiagnosticKind::SyntaxError, range(part), "`..base` is the last part of a record literal");
        if (inside.accept(K::Range)) {
          rest = expr(inside.take(Rule::Expr));
          deep = std::max(deep, depth(rest));
          return;
        }
        const Name field = name(inside.take(K::Ident));
        inside.accept(K::Colon);
        const Expr* value = expr(inside.take(Rule::Expr));
        deep = std::max(deep, depth(value));
        fields.push_back({field, value});
      });
  auto* made = make_expr<RecordExpr>(ExprKind::Record, join(base->range, range(id)), deep);
  if (base->kind == ExprKind::Name) {
    made->name = base->as<NameExpr>().name;
  } else if (base->kind == ExprKind::Member && base->as<MemberExpr>().base->kind == ExprKind::Name) {
    made->module = base->as<MemberExpr>().base->as<NameExpr>().name;
    made->name = base->as<MemberExpr>().name;
  } else {
    faults_.add(DiagnosticKind::SyntaxError, base->range, "a record literal begins with the name of its type");
  }
  made->type_args = given;
  made->fields = ast_.arena.copy(fields);
  made->base = rest;
  return made;
}

const Expr* Builder::block_like(CstId id) {
  Cursor cursor(*this, id);
  if (cursor.at(Rule::IfExpr)) return bounded(if_expr(cursor.take()));
  if (cursor.at(Rule::MatchExpr)) return bounded(match_expr(cursor.take()));
  if (cursor.at(Rule::NativeExpr)) return bounded(native_expr(cursor.take()));
  if (cursor.at(Rule::Block)) return bounded(block(cursor.take()));
  return error_expr(range(id));
}

const Expr* Builder::if_expr(CstId id) {
  struct Part {
    SourceRange at;
    const Expr* condition;  // null: a plain else
    const BlockExpr* body;
  };
  Cursor cursor(*this, id);
  std::vector<Part> parts;
  const auto branch = [&](CstId word) {
    const Expr* condition = expr(cursor.take(Rule::Expr));
    parts.push_back({range(word), condition, block(cursor.take(Rule::Block))});
  };
  branch(cursor.take(K::If));
  while (cursor.at(K::Else)) {
    const CstId word = cursor.take();
    if (parts.back().condition == nullptr)
      faults_.add(DiagnosticKind::SyntaxError, range(word), "this `if` has had its last `else`").note(parts.back().at, "here");
    if (cursor.at(K::If)) {
      branch(cursor.take());
    } else {
      parts.push_back({range(word), nullptr, block(cursor.take(Rule::Block))});
    }
  }
  const Expr* made = nullptr;
  while (!parts.empty()) {
    const Part part = parts.back();
    parts.pop_back();
    if (part.condition == nullptr) {
      made = part.body;
      continue;
    }
    SourceRange whole = join(part.at, part.body->range);
    if (made != nullptr) whole = join(whole, made->range);
    const std::uint32_t deep = std::max(deepest(part.condition, static_cast<const Expr*>(part.body)), depth(made));
    auto* choice = make_expr<IfExpr>(ExprKind::If, whole, deep);
    choice->condition = part.condition;
    choice->then_branch = part.body;
    choice->else_branch = made;
    made = choice;
  }
  return made;
}

const Expr* Builder::match_expr(CstId id) {
  Cursor cursor(*this, id);
  cursor.accept(K::Match);
  const Expr* scrutinee = expr(cursor.take(Rule::Expr));
  cursor.accept(K::Lbrace);
  std::vector<MatchArm> arms;
  std::uint32_t deep = depth(scrutinee);
  while (cursor.at(Rule::MatchArm)) {
    const CstId arm_id = cursor.take();
    Cursor inside(*this, arm_id);
    MatchArm arm{};
    arm.range = range(arm_id);
    arm.pattern = pattern(inside.take(Rule::Pattern));
    if (inside.accept(K::If)) arm.guard = expr(inside.take(Rule::Expr));
    inside.accept(K::FatArrow);
    arm.body = inside.at(Rule::BlockLike) ? block_like(inside.take()) : expr(inside.take(Rule::StatementExpr));
    // The comma is no part of what a message about the arm points at.
    if (arm.body->range) arm.range = join(arm.pattern->range, arm.body->range);
    deep = std::max({deep, depth(arm.guard), depth(arm.body)});
    arms.push_back(arm);
  }
  auto* made = make_expr<MatchExpr>(ExprKind::Match, range(id), deep);
  made->scrutinee = scrutinee;
  made->arms = ast_.arena.copy(arms);
  return made;
}

const Expr* Builder::native_expr(CstId id) {
  Cursor cursor(*this, id);
  cursor.accept(K::Native);
  cursor.accept(K::Lbrace);
  std::vector<NativeText> texts;
  list(
      cursor, [](const Cursor& c) { return c.at(Rule::NativeText); },
      [&](Cursor& c) {
        Cursor inside(*this, c.take());
        NativeText entry{};
        entry.target = name(inside.take(K::Ident));
        inside.accept(K::Colon);
        const CstId string = inside.take(K::String);
        if (string) {
          entry.text = string_value(string);
          entry.text_range = range(string);
        }
        texts.push_back(entry);
      });
  cursor.accept(K::Rbrace);
  cursor.accept(K::Else);
  const BlockExpr* reference = block(cursor.take(Rule::Block));
  auto* made = make_expr<NativeExpr>(ExprKind::Native, range(id), depth(reference));
  made->texts = ast_.arena.copy(texts);
  made->reference = reference;
  return made;
}

// --- literals ---------------------------------------------------------------------------------------------------------------

const Expr* Builder::integer(CstId id) {
  const std::string_view text = spelled(id);
  auto* made = make_expr<IntExpr>(ExprKind::Int, range(id), 0);
  made->text = ast_.arena.copy(text);
  std::size_t at = 0;
  unsigned base = 10;
  if (text.starts_with("0x")) base = 16;
  if (text.starts_with("0b")) base = 2;
  if (base != 10) at = 2;
  bool overflow = false;
  std::uint64_t value = 0;
  for (; at < text.size() && text[at] != 'i' && text[at] != 'u'; ++at) {
    const char c = text[at];
    if (c == '_') continue;
    const unsigned digit = c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>((c | 0x20) - 'a') + 10;
    if (digit >= base) {
      // A malformed literal that the lexer has reported already.
      return made;
    }
    overflow |= value > (~std::uint64_t{0} - digit) / base;
    value = value * base + digit;
  }
  if (at < text.size()) made->suffix = ast_.arena.copy(text.substr(at));
  made->value = value;
  if (overflow) faults_.add(DiagnosticKind::NumberTooLarge, range(id), "this number needs more than 64 bits");
  return made;
}

const Expr* Builder::floating(CstId id) {
  const std::string_view text = spelled(id);
  auto* made = make_expr<FloatExpr>(ExprKind::Float, range(id), 0);
  made->text = ast_.arena.copy(text);
  std::string_view number = text;
  // In a hexadecimal literal f and b are digits before the exponent; behind `p` they begin the suffix as everywhere.
  const bool hex = text.starts_with("0x");
  const std::size_t from = hex ? text.find_first_of("pP") : 0;
  if (text.starts_with("inf") || text.starts_with("nan")) {
    number = text.substr(0, 3);
    if (text.size() > 4) made->suffix = ast_.arena.copy(text.substr(4));
  } else if (from != std::string_view::npos) {
    const std::size_t suffix = text.find_first_of("bf", from);
    if (suffix != std::string_view::npos) {
      number = text.substr(0, suffix);
      made->suffix = ast_.arena.copy(text.substr(suffix));
    }
  }
  std::string digits;
  for (const char c : number)
    if (c != '_') digits += c;
  made->digits = ast_.arena.copy(std::string_view(digits));
  return made;
}

std::string_view Builder::string_value(CstId id) {
  const std::string_view text = spelled(id);
  if (text.size() >= 6 && text.starts_with("\"\"\"")) return ast_.arena.copy(text.substr(3, text.size() - 6));
  std::string out;
  const std::size_t last = text.size() >= 2 && text.back() == '"' ? text.size() - 1 : text.size();
  for (std::size_t i = 1; i < last; ++i) {
    if (text[i] != '\\' || i + 1 >= last) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (c == '\\' || c == '"') {
      out += c;
    } else {
      const auto at = cst_[id].begin + static_cast<std::uint32_t>(i) - 1;
      faults_.add(DiagnosticKind::InvalidEscape, {ast_.file, at, at + 2}, "unknown escape; strings have \\n, \\t, \\\\ and \\\"")
          .note({ast_.file, at, at + 2}, "between triple quotes nothing is an escape");
    }
  }
  return ast_.arena.copy(std::string_view(out));
}

}  // namespace sarek::syntax
