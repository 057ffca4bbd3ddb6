// The formatter: prints the tokens of a file again, with spaces and line breaks chosen from their place in the tree. It never prints from
// the AST, so it cannot change what a program means or lose a comment. Every choice depends only on what formatting preserves (tokens,
// presence of a line break where breaks are kept, flat widths), which is why a second run changes nothing.
#include "compiler/syntax/format.h"

#include <algorithm>
#include <vector>

#include "compiler/syntax/cst.h"
#include "compiler/syntax/parse.h"

namespace sarek::syntax {
namespace {

using K = TokenKind;

constexpr std::size_t kIndent = 2;
constexpr std::size_t kContinuation = 4;
constexpr std::size_t kWidestFlat = 80;

bool is_brace(K kind) { return kind == K::Lbrace || kind == K::RecordOpen; }
bool opens(K kind) {
  return is_brace(kind) || kind == K::Lparen || kind == K::Lbracket || kind == K::TemplateOpen || kind == K::LaunchOpen;
}
bool closes(K kind) {
  return kind == K::Rbrace || kind == K::Rparen || kind == K::Rbracket || kind == K::TemplateClose || kind == K::LaunchClose;
}

class Formatter {
 public:
  Formatter(std::string_view text, const Cst& cst, const std::vector<Comment>& comments)
      : text_(text), cst_(cst), parent_(cst.tokens.size(), Rule::File), starts_(cst.tokens.size(), false), flat_(cst.tokens.size(), false) {
    learn(cst.root);
    merge(comments);
    find_flat_braces();
  }

  std::string run() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) print(i);
    if (!out_.empty()) out_ += '\n';
    return std::move(out_);
  }

 private:
  struct Piece {
    bool comment;
    std::uint32_t token;  // when it is no comment
    std::uint32_t begin;
    std::uint32_t end;
  };
  struct Open {
    K kind;
    bool flat;
    bool fresh = true;  // nothing printed inside yet
    bool broken = false;
    std::size_t line_indent;  // of the line that the bracket stands on
  };

  // The rule around each token, and the tokens that begin an element which may get a line of its own.
  void learn(CstId id) {
    const CstNode& node = cst_[id];
    const Rule rule = node.rule;
    const bool element = rule == Rule::Item || rule == Rule::Statement || rule == Rule::MatchArm || rule == Rule::Field ||
                         rule == Rule::Variant || rule == Rule::NativeText || rule == Rule::TestStatement || rule == Rule::RecordPart;
    if (element && cst_.tokens[node.token].kind != K::Semi && !cst_.tokens[node.token].is_virtual()) starts_[node.token] = true;
    for (const CstId child : cst_.children(id)) {
      if (cst_[child].is_token) {
        parent_[cst_[child].token] = rule;
      } else {
        learn(child);
      }
    }
  }

  void merge(const std::vector<Comment>& comments) {
    auto comment = comments.begin();
    for (std::uint32_t i = 0; i < cst_.tokens.size(); ++i) {
      const Token& token = cst_.tokens[i];
      for (; comment != comments.end() && comment->range.begin < token.begin; ++comment)
        pieces_.push_back({true, 0, comment->range.begin, comment->range.end});
      if (!token.is_virtual()) pieces_.push_back({false, i, token.begin, token.end});
    }
    for (; comment != comments.end(); ++comment) pieces_.push_back({true, 0, comment->range.begin, comment->range.end});
  }

  K kind(std::size_t piece) const { return pieces_[piece].comment ? K::LineComment : cst_.tokens[pieces_[piece].token].kind; }
  std::string_view spelled(std::size_t piece) const {
    return text_.substr(pieces_[piece].begin, pieces_[piece].end - pieces_[piece].begin);
  }
  bool is_line_comment(std::size_t piece) const { return pieces_[piece].comment && spelled(piece).starts_with("//"); }
  std::size_t breaks_before(std::size_t piece) const {
    if (piece == 0) return 0;
    const std::string_view gap = text_.substr(pieces_[piece - 1].end, pieces_[piece].begin - pieces_[piece - 1].end);
    return static_cast<std::size_t>(std::count(gap.begin(), gap.end(), '\n'));
  }

  // Braces that stay on one line: written so, short, at most one statement, and the same for every brace inside.
  void find_flat_braces() {
    struct Group {
      std::size_t open;
      std::size_t width = 0;
      std::size_t statements = 0;
      bool flat = true;
    };
    std::vector<Group> groups;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const K k = kind(i);
      if (k == K::Rbrace && !groups.empty()) {
        const Group group = groups.back();
        groups.pop_back();
        const std::string_view source = text_.substr(pieces_[group.open].begin, pieces_[i].end - pieces_[group.open].begin);
        const bool flat = group.flat && group.statements <= 1 && group.width <= kWidestFlat && source.find('\n') == std::string_view::npos;
        flat_[pieces_[group.open].token] = flat;
        if (!groups.empty()) {
          groups.back().flat &= flat;
          groups.back().width += group.width + 2;
        }
        continue;
      }
      if (!groups.empty()) {
        groups.back().width += spelled(i).size() + (needs_space(i) ? 1 : 0);
        groups.back().flat &= !is_line_comment(i);
        if (!pieces_[i].comment && starts_[pieces_[i].token] && parent_[pieces_[groups.back().open].token] == Rule::Block)
          ++groups.back().statements;
      }
      if (is_brace(k)) groups.push_back({i});
    }
  }

  bool is_prefix(std::size_t piece) const {
    const K k = kind(piece);
    const Rule parent = pieces_[piece].comment ? Rule::File : parent_[pieces_[piece].token];
    return (k == K::Minus || k == K::Bang || k == K::Tilde) &&
           (parent == Rule::Operand || parent == Rule::StatementOperand || parent == Rule::PatternAtom);
  }

  // Whether a space separates the piece from the one before it on the same line.
  bool needs_space(std::size_t piece) const {
    if (piece == 0) return false;
    if (pieces_[piece].comment || pieces_[piece - 1].comment) return true;
    const K previous = kind(piece - 1);
    const K current = kind(piece);
    const Rule parent = parent_[pieces_[piece].token];
    if (previous == K::Lparen || previous == K::Lbracket || previous == K::TemplateOpen || previous == K::LaunchOpen ||
        previous == K::Dot || previous == K::Range || previous == K::RangeEq || is_prefix(piece - 1))
      return false;
    if (is_brace(previous) && current == K::Rbrace) return false;
    // `0 .0` without its space would be another number.
    if (current == K::Dot && (previous == K::Int || previous == K::Float) && parent_[pieces_[piece - 1].token] == Rule::Primary)
      return true;
    if (current == K::Rparen || current == K::Rbracket || current == K::Comma || current == K::Semi || current == K::Dot ||
        current == K::TemplateOpen || current == K::TemplateClose || current == K::LaunchOpen || current == K::LaunchClose ||
        current == K::Colon || current == K::RangeEq)
      return false;
    if (current == K::Range) return parent == Rule::RecordPart;
    if (current == K::Lparen) {
      if (parent == Rule::PatternAtom) return previous != K::Ident || parent_[pieces_[piece - 1].token] != Rule::PatternAtom;
      return parent == Rule::Primary || parent == Rule::Type;
    }
    if (current == K::Lbracket) return parent != Rule::Suffix && previous != K::TemplateClose;
    return true;
  }

  // A line break of the author that is not kept: these tokens cling to what stands before them.
  bool clings(std::size_t piece) const {
    const K current = kind(piece);
    if (pieces_[piece].comment) return false;
    if (closes(current) && current != K::Rbrace) return !open_.back().broken || open_.back().fresh;
    return current == K::Semi || current == K::Comma || is_brace(current) || current == K::Else || current == K::Rbrace ||
           current == K::Colon || current == K::TemplateOpen || current == K::LaunchOpen || (current == K::Lparen && !needs_space(piece)) ||
           (current == K::Lbracket && !needs_space(piece));
  }

  // 0: stay on the line. 1: a new line. 2: a new line after an empty one.
  int line_break(std::size_t piece) const {
    if (piece == 0) return 0;
    const std::size_t written = breaks_before(piece);
    const bool first_inside = !open_.empty() && open_.back().fresh;
    const bool in_brace = open_.empty() || is_brace(open_.back().kind);
    const bool closing = !pieces_[piece].comment && kind(piece) == K::Rbrace;
    const int with_blank = written >= 2 && in_brace && !first_inside && !closing ? 2 : 1;
    if (pieces_[piece].comment) return written == 0 ? (is_line_comment(piece - 1) ? 1 : 0) : with_blank;
    if (is_line_comment(piece - 1)) return starts_[pieces_[piece].token] ? with_blank : 1;
    const bool flat = !open_.empty() && open_.back().flat;
    if (flat) return 0;
    if (in_brace && closing && !open_.empty()) return first_inside ? 0 : 1;
    if (in_brace && starts_[pieces_[piece].token]) return with_blank;
    if (written == 0 || clings(piece)) return 0;
    return 1;
  }

  std::size_t indent_for(std::size_t piece) const {
    const bool comment = pieces_[piece].comment;
    if (open_.empty()) return comment || starts_[pieces_[piece].token] ? 0 : kContinuation;
    const Open& top = open_.back();
    if (!comment && closes(kind(piece))) return top.line_indent;
    if (is_brace(top.kind)) {
      const std::size_t inner = top.line_indent + kIndent;
      return comment || starts_[pieces_[piece].token] ? inner : inner + kContinuation;
    }
    return top.line_indent + (top.broken ? kIndent : kContinuation);
  }

  void print(std::size_t piece) {
    const int lines = line_break(piece);
    const bool token = !pieces_[piece].comment;
    const K current = kind(piece);
    if (!open_.empty() && open_.back().fresh && !(token && closes(current))) {
      open_.back().fresh = false;
      open_.back().broken = lines > 0;
    }
    if (lines > 0) {
      out_.append(static_cast<std::size_t>(lines), '\n');
      line_indent_ = indent_for(piece);
      out_.append(line_indent_, ' ');
    } else if (piece > 0 && needs_space(piece)) {
      out_ += is_line_comment(piece) ? "  " : " ";
    }
    if (token && closes(current) && !open_.empty()) open_.pop_back();
    std::string_view spelling = spelled(piece);
    if (is_line_comment(piece))
      while (!spelling.empty() && (spelling.back() == ' ' || spelling.back() == '\t')) spelling.remove_suffix(1);
    out_ += spelling;
    if (token && opens(current)) {
      Open opened{};
      opened.kind = current;
      opened.flat = is_brace(current) ? flat_[pieces_[piece].token] : !open_.empty() && open_.back().flat;
      opened.fresh = true;
      opened.line_indent = line_indent_;
      open_.push_back(opened);
    }
  }

  std::string_view text_;
  const Cst& cst_;
  std::vector<Rule> parent_;  // by token
  std::vector<bool> starts_;  // by token
  std::vector<bool> flat_;    // by token, for opening braces
  std::vector<Piece> pieces_;
  std::vector<Open> open_;
  std::size_t line_indent_ = 0;
  std::string out_;
};

}  // namespace

std::optional<std::string> format(const SourceManager& sources, FileId file, DiagnosticSink& sink) {
  const std::size_t before = sink.error_count();
  parse(sources, file, sink);
  if (sink.error_count() != before) return std::nullopt;
  const std::string_view text = sources.text(file);
  Faults none;
  LexedFile lexed = run_lexer(text, file);
  filter_tokens(text, file, lexed.tokens, none);
  const Cst cst = run_parser(text, std::move(lexed.tokens));
  return Formatter(text, cst, lexed.comments).run();
}

}  // namespace sarek::syntax
