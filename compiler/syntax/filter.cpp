// Between lexer and parser: what makes the grammar decidable with one token (the comment of grammar/Sarek.g4 lists it, language.md
// gives the rules to users), nesting levels for recovery, and the bound on nesting. Works on tokens alone and makes no tree.
#include <algorithm>
#include <array>
#include <string>

#include "compiler/syntax/tokens.h"

namespace sarek::syntax {
namespace {

using K = TokenKind;

bool is_scalar_name(std::string_view name) {
  static constexpr std::array<std::string_view, 13> kNames = {"bool", "i8",  "u8",  "i16",  "u16", "i32", "u32",
                                                              "i64",  "u64", "f16", "bf16", "f32", "f64"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// A token that can begin an operand, other than an opening bracket: behind a `>` it shows that the `>` was a comparison.
bool starts_plain_operand(K kind) {
  return kind == K::Ident || kind == K::Int || kind == K::Float || kind == K::True || kind == K::False || kind == K::Minus ||
         kind == K::Bang || kind == K::Tilde || kind == K::If || kind == K::Match || kind == K::Native;
}

bool ends_operand(K kind) { return kind == K::Ident || kind == K::Int || kind == K::Float || kind == K::Rparen || kind == K::Rbracket; }

// Finds the `<` and `>` that enclose type arguments and splits the `>>` of nested ones. A `<` qualifies behind a name that is no
// scalar type, when only names, integers, commas, dots and bracketed types follow until a `>` of the same nesting, and what stands
// behind that `>` does not begin another operand. Since comparisons do not chain, this takes nothing from a valid program except
// f(a < b, c > (d)), which needs parentheses.
class TemplateFinder {
 public:
  TemplateFinder(std::string_view text, std::vector<Token>& tokens) : text_(text), tokens_(tokens) {}

  void run() {
    out_.reserve(tokens_.size() + 8);
    for (std::size_t i = 0; i < tokens_.size(); ++i) step(i);
    tokens_ = std::move(out_);
  }

 private:
  struct Candidate {
    std::size_t open;
    std::size_t depth;
    bool declares;  // behind fn, struct, enum NAME: bounds may stand inside, and `>` always closes
    bool tensor;
  };

  K raw(std::size_t i) const { return i < tokens_.size() ? tokens_[i].kind : K::End; }
  std::string_view spelled(const Token& token) const { return text_.substr(token.begin, token.end - token.begin); }

  void drop(std::size_t depth) {
    while (!open_.empty() && open_.back().depth >= depth) open_.pop_back();
  }

  bool closes(K next) const {
    const Candidate& candidate = open_.back();
    if (out_.size() == candidate.open + 1) return false;  // nothing inside
    if (candidate.declares) return true;
    if (next == K::Lbracket) return candidate.tensor;
    return !starts_plain_operand(next);
  }

  void close(Token token) {
    out_[open_.back().open].kind = K::TemplateOpen;
    open_.pop_back();
    token.kind = K::TemplateClose;
    out_.push_back(token);
  }

  void step(std::size_t i) {
    const Token token = tokens_[i];
    const bool top = !open_.empty() && open_.back().depth == depth_;
    if (token.kind == K::Lt && !out_.empty() && out_.back().kind == K::Ident && !is_scalar_name(spelled(out_.back()))) {
      const K before = out_.size() >= 2 ? out_[out_.size() - 2].kind : K::End;
      open_.push_back({out_.size(), depth_, before == K::Fn || before == K::Struct || before == K::Enum, spelled(out_.back()) == "tensor"});
      out_.push_back(token);
      return;
    }
    if (token.kind == K::Gt && top) {
      if (closes(raw(i + 1))) return close(token);
      drop(depth_);
    } else if (token.kind == K::Shr && top && open_.size() >= 2 && open_[open_.size() - 2].depth == depth_) {
      if (closes(K::Gt)) {
        close({K::Gt, token.begin, token.begin + 1});
        const Token second{K::Gt, token.begin + 1, token.end};
        if (closes(raw(i + 1))) return close(second);
        drop(depth_);
        out_.push_back(second);
        return;
      }
      drop(depth_);
    } else if (token.kind == K::Lparen || token.kind == K::Lbracket) {
      ++depth_;
    } else if (token.kind == K::Rparen || token.kind == K::Rbracket) {
      drop(depth_);
      if (depth_ > 0) --depth_;
    } else if (token.kind == K::Lbrace || token.kind == K::Rbrace) {
      open_.clear();
    } else if (top && !(token.kind == K::Ident || token.kind == K::Int || token.kind == K::Comma || token.kind == K::Dot ||
                        (token.kind == K::Colon && open_.back().declares))) {
      drop(depth_);
    }
    out_.push_back(token);
  }

  std::string_view text_;
  std::vector<Token>& tokens_;
  std::vector<Token> out_;
  std::vector<Candidate> open_;
  std::size_t depth_ = 0;
};

class ContextFilter {
 public:
  ContextFilter(std::string_view text, FileId file, std::vector<Token>& tokens, Faults& faults)
      : text_(text), file_(file), in_(tokens), faults_(faults) {}

  bool run() {
    out_.reserve(in_.size() + in_.size() / 8);
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (stack_.size() + waiting_ > kMaxNesting) {
        faults_
            .add(DiagnosticKind::NestingTooDeep, range(out_.back()),
                 "brackets and branches nest deeper than " + std::to_string(kMaxNesting) + " levels")
            .note(range(out_.back()), "the rest of the file has not been read");
        return false;
      }
      step(i);
    }
    in_ = std::move(out_);
    return true;
  }

 private:
  enum class Shape : std::uint8_t { Paren, Bracket, Template, Launch, Block, Match, Record, Native, Body, TestBody };
  struct Frame {
    Shape shape;
    bool allows_else = false;
    std::vector<K> heads{};  // `if`, `match`, `native` whose `{` has not come yet
  };

  SourceRange range(const Token& token) const { return {file_, token.begin, token.end}; }
  std::string_view spelled(const Token& token) const { return text_.substr(token.begin, token.end - token.begin); }
  K raw(std::size_t i) const { return i < in_.size() ? in_[i].kind : K::End; }
  K previous(std::size_t back = 1) const { return out_.size() >= back ? out_[out_.size() - back].kind : K::End; }
  bool at_line_start(const Token& token) const { return token.begin == 0 || text_[token.begin - 1] == '\n'; }
  static bool is_brace(Shape shape) { return shape >= Shape::Block; }
  std::vector<K>& heads() { return stack_.empty() ? outer_heads_ : stack_.back().heads; }

  void push(Token token, K kind) {
    token.kind = kind;
    token.level = static_cast<std::uint16_t>(stack_.size());
    out_.push_back(token);
  }
  void push_virtual(K kind) {
    const std::uint32_t at = out_.empty() ? 0 : out_.back().end;
    push({kind, at, at}, kind);
  }
  void open(Shape shape, bool allows_else = false) { stack_.push_back({shape, allows_else}); }
  void pop() {
    waiting_ -= stack_.back().heads.size();
    stack_.pop_back();
  }
  void clear_heads() {
    waiting_ -= heads().size();
    heads().clear();
  }
  // Brackets that a `;`, a statement or a `}` shows to be unclosed.
  void pop_to_brace() {
    if (std::none_of(stack_.begin(), stack_.end(), [](const Frame& f) { return is_brace(f.shape); })) return;
    while (!is_brace(stack_.back().shape)) pop();
  }
  void start_over() {
    while (!stack_.empty()) pop();
    clear_heads();
  }

  // pipeline NAME, graph NAME, test NAME outside of all braces; inside them only with the next token too, at the start of a line where no
  // expression could go on: then a brace is missing above.
  bool starts_item_here(std::size_t i, K third) const {
    if (raw(i + 1) != K::Ident) return false;
    const K before = previous();
    const bool after_end = before == K::End || before == K::Rbrace || before == K::Semi;
    if (stack_.empty() && after_end) return true;
    return raw(i + 2) == third && at_line_start(in_[i]) && (after_end || before == K::Lbrace || ends_operand(before));
  }
  // A reserved word that begins items, where one begins. Everything that is still open is then missing its end.
  bool reserved_item_word(std::size_t i) const {
    const K kind = in_[i].kind;
    if (kind == K::Fn || kind == K::Kernel || kind == K::Struct || kind == K::Enum) return raw(i + 1) == K::Ident || stack_.empty();
    if (kind == K::Import) return raw(i + 1) == K::String || stack_.empty();
    return kind == K::Inline && (stack_.empty() || at_line_start(in_[i]));
  }
  bool at_statement_start() const {
    const K before = previous();
    return before == K::Lbrace || before == K::Rbrace || before == K::Semi || before == K::Tail;
  }

  K contextual(std::size_t i) const {
    const std::string_view word = spelled(in_[i]);
    const K before = previous();
    switch (word.size()) {
      case 3:
        if (word == "out" && before == K::Colon && !stack_.empty() && stack_.back().shape == Shape::Paren) return K::Out;
        break;
      case 4:
        if (word == "step" && ends_operand(before)) return K::Step;
        if (word == "wide" && stack_.empty() && before == K::Rparen && item_ == K::Kernel) return K::Wide;
        if (word == "same" && before == K::Expect && raw(i + 1) == K::As) return K::Same;
        if (word == "test" && starts_item_here(i, K::For)) return K::Test;
        break;
      case 5:
        if (word == "inout" && before == K::Colon && !stack_.empty() && stack_.back().shape == Shape::Paren) return K::Inout;
        if (word == "block" && stack_.empty() && before != K::Kernel && item_ == K::Kernel) return K::Block;
        if (word == "error" && before == K::Expect && raw(i + 1) == K::String) return K::Error;
        if (word == "graph" && starts_item_here(i, K::Lparen)) return K::Graph;
        break;
      case 6:
        if (word == "tensor" && raw(i + 1) == K::TemplateOpen) return K::Tensor;
        if (word == "expect" && !stack_.empty() && stack_.back().shape == Shape::TestBody && at_statement_start() &&
            raw(i + 1) != K::Assign && raw(i + 1) != K::Lparen)
          return K::Expect;
        break;
      case 8:
        if (word == "pipeline" && starts_item_here(i, K::Lparen)) return K::Pipeline;
        break;
      case 9:
        if (word == "divergent" && before == K::Ident && previous(2) == K::Superstep) return K::Divergent;
        break;
      default: break;
    }
    return K::Ident;
  }

  // kernel<<grid>>(args): marks the `<<` at `shift` and the `>>` that ends its list and is followed by `(`.
  void mark_launch(std::size_t shift) {
    std::size_t depth = 0;
    int semicolons = 0;  // one stands before the dynamic elements
    for (std::size_t j = shift + 1; j < in_.size(); ++j) {
      const K kind = in_[j].kind;
      if (kind == K::Semi && ++semicolons == 2) break;
      if (kind == K::Lparen || kind == K::Lbracket) ++depth;
      if (kind == K::Rparen || kind == K::Rbracket) depth -= depth > 0;
      if (kind == K::Lbrace || kind == K::Rbrace || kind == K::End) break;
      if (kind == K::Shr && depth == 0 && raw(j + 1) == K::Lparen) {
        in_[j].kind = K::LaunchClose;
        break;
      }
    }
    in_[shift].kind = K::LaunchOpen;
  }

  void identifier(std::size_t i) {
    const K kind = contextual(i);
    if (kind == K::Pipeline || kind == K::Graph || kind == K::Test) {
      start_over();
      item_ = kind;
      item_body_ = true;
    }
    if (kind == K::Ident && item_ == K::Pipeline && at_statement_start()) {
      const std::size_t shift = raw(i + 1) == K::Dot && raw(i + 2) == K::Ident ? i + 3 : i + 1;
      if (raw(shift) == K::Shl) {
        mark_launch(shift);
        return push(in_[i], K::LaunchName);
      }
    }
    push(in_[i], kind);
  }

  void open_brace(std::size_t i) {
    const K before = previous();
    const bool named = before == K::Ident || before == K::TemplateClose;
    if (stack_.empty() && item_body_) {
      item_body_ = false;
      push(in_[i], K::Lbrace);
      return open(item_ == K::Struct || item_ == K::Enum ? Shape::Body : item_ == K::Test ? Shape::TestBody : Shape::Block);
    }
    if (named && ((raw(i + 1) == K::Ident && raw(i + 2) == K::Colon) || raw(i + 1) == K::Range)) {
      push(in_[i], K::RecordOpen);
      return open(Shape::Record);
    }
    Shape shape = Shape::Block;
    bool allows_else = false;
    if (!heads().empty()) {
      const K head = heads().back();
      heads().pop_back();
      --waiting_;
      if (head == K::Match) shape = Shape::Match;
      if (head == K::Native) shape = Shape::Native;
      allows_else = head != K::Match;
    }
    push(in_[i], K::Lbrace);
    open(shape, allows_else);
  }

  void close_brace(std::size_t i) {
    pop_to_brace();
    if (stack_.empty() || !is_brace(stack_.back().shape)) {
      push(in_[i], K::Rbrace);
      out_.back().unmatched = true;
      return;
    }
    const Shape shape = stack_.back().shape;
    if (shape == Shape::Block && previous() != K::Semi && previous() != K::Lbrace) push_virtual(K::Tail);
    if (shape == Shape::Match && previous() != K::Comma && previous() != K::Lbrace) push_virtual(K::Comma);
    closed_allows_else_ = stack_.back().allows_else;
    pop();
    push(in_[i], K::Rbrace);
  }

  void open_bracket(std::size_t i, Shape shape) {
    push(in_[i], in_[i].kind);
    open(shape);
  }

  void close_bracket(std::size_t i, Shape shape) {
    // Pop up to the bracket's partner, if it is open inside the innermost brace.
    std::size_t at = stack_.size();
    while (at > 0 && !is_brace(stack_[at - 1].shape) && stack_[at - 1].shape != shape) --at;
    const bool found = at > 0 && stack_[at - 1].shape == shape;
    if (found)
      while (stack_.size() >= at) pop();
    push(in_[i], in_[i].kind);
    out_.back().unmatched = !found;
  }

  void step(std::size_t i) {
    const Token token = in_[i];
    const K kind = token.kind;
    if (kind == K::Ident) return identifier(i);
    if (kind == K::Lbrace) return open_brace(i);
    if (kind == K::Rbrace) return close_brace(i);
    if (kind == K::Lparen) return open_bracket(i, Shape::Paren);
    if (kind == K::Lbracket) return open_bracket(i, Shape::Bracket);
    if (kind == K::TemplateOpen) return open_bracket(i, Shape::Template);
    if (kind == K::LaunchOpen) return open_bracket(i, Shape::Launch);
    if (kind == K::Rparen) return close_bracket(i, Shape::Paren);
    if (kind == K::Rbracket) return close_bracket(i, Shape::Bracket);
    if (kind == K::TemplateClose) return close_bracket(i, Shape::Template);
    if (kind == K::LaunchClose) return close_bracket(i, Shape::Launch);
    if (kind == K::Float && previous() == K::Dot) return tuple_indexes(i);
    if (kind == K::Else) return push(token, previous() == K::Rbrace && closed_allows_else_ ? K::Else : K::StrayElse);
    if (kind == K::Semi) {
      while (!stack_.empty() && (stack_.back().shape == Shape::Paren || stack_.back().shape == Shape::Template)) pop();
      clear_heads();
    } else if (kind == K::FatArrow) {
      clear_heads();  // the `if` of a guard
    } else if (kind == K::If || kind == K::Match || kind == K::Native) {
      heads().push_back(kind);
      ++waiting_;
    } else if (kind == K::Let || kind == K::Var || kind == K::For || kind == K::While || kind == K::Loop || kind == K::Return ||
               kind == K::Break || kind == K::Continue || kind == K::Superstep) {
      if (!(kind == K::For && item_ == K::Test)) pop_to_brace();
    } else if (reserved_item_word(i)) {
      start_over();
      item_ = kind;
      item_body_ = kind != K::Import && kind != K::Inline;
    } else if (kind == K::Const && stack_.empty()) {
      item_ = K::Const;
      item_body_ = false;
    }
    push(token, kind);
  }

  // t.0.1: the lexer sees the number 0.1.
  void tuple_indexes(std::size_t i) {
    const Token token = in_[i];
    const std::string_view number = spelled(token);
    const std::size_t dot = number.find('.');
    const auto is_digits = [](std::string_view part) {
      return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    if (dot == std::string_view::npos || !is_digits(number.substr(0, dot)) || !is_digits(number.substr(dot + 1)))
      return push(token, K::Float);
    const auto middle = static_cast<std::uint32_t>(token.begin + dot);
    push({K::Int, token.begin, middle}, K::Int);
    push({K::Dot, middle, middle + 1}, K::Dot);
    push({K::Int, middle + 1, token.end}, K::Int);
  }

  std::string_view text_;
  FileId file_;
  std::vector<Token>& in_;
  Faults& faults_;
  std::vector<Token> out_;
  std::vector<Frame> stack_;
  std::vector<K> outer_heads_;
  std::size_t waiting_ = 0;  // heads in all frames
  K item_ = K::End;          // the word that began the item
  bool item_body_ = false;   // the item's own `{` has not come yet
  bool closed_allows_else_ = false;
};

}  // namespace

std::string_view describe(TokenKind kind) {
  switch (kind) {
    case TokenKind::End: return "the end of the file";
#define SAREK_TOKEN(name, kind_name, text) \
  case TokenKind::kind_name: return text;
#include "compiler/syntax/tokens.def"
  }
  return "";
}

bool filter_tokens(std::string_view text, FileId file, std::vector<Token>& tokens, Faults& faults) {
  TemplateFinder(text, tokens).run();
  return ContextFilter(text, file, tokens, faults).run();
}

}  // namespace sarek::syntax
