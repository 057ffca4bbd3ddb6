// The wording of lexical and grammatical faults. The parser says which token was wrong and what it could have used; here that becomes
// a sentence about the program, with the place of the opening bracket and a fix-it where there is one. Faults that the tree builder
// finds are worded there.
#include <algorithm>
#include <string>

#include "compiler/syntax/cst.h"

namespace sarek::syntax {
namespace {

using K = TokenKind;

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 32;
  std::string out = "`";
  for (const char c : text.substr(0, kLongest)) out += (static_cast<unsigned char>(c) < 0x20) ? ' ' : c;
  if (text.size() > kLongest) out += "...";
  return out + "`";
}

// What the messages of one file need to look at.
class Wording {
 public:
  Wording(std::string_view text, FileId file, const Cst& cst, Faults& faults)
      : text_(text), file_(file), cst_(cst), faults_(faults), lexical_(faults.places()) {}

  void report(const SyntaxFault& fault) {
    if (follows_from_lexical_fault(fault)) return;
    const Token& token = cst_.tokens[fault.token];
    if (fault.inserted) return missing(fault);
    if (token.unmatched) {
      faults_.add(DiagnosticKind::UnmatchedBracket, range(fault.token), "unmatched " + quoted(spelled(fault.token)))
          .fix(range(fault.token), "", "remove it");
      return;
    }
    const std::string wanted = wanted_here(fault);
    Diagnostic& made = faults_.add(DiagnosticKind::SyntaxError, range(fault.token), wanted + ", found " + found(fault.token));
    hint(fault, made);
  }

 private:
  std::string_view spelled(std::size_t token) const {
    const Token& t = cst_.tokens[token];
    return text_.substr(t.begin, t.end - t.begin);
  }
  SourceRange range(std::size_t token) const { return {file_, cst_.tokens[token].begin, cst_.tokens[token].end}; }

  // The last token before `token` that stands in the text.
  std::size_t before(std::size_t token) const {
    while (token > 0 && cst_.tokens[token - 1].is_virtual()) --token;
    return token == 0 ? token : token - 1;
  }

  std::string found(std::size_t token) const {
    const K kind = cst_.tokens[token].kind;
    if (kind == K::End) return "the end of the file";
    // A virtual token stands for the bracket behind it.
    if (cst_.tokens[token].is_virtual()) return found(token + 1);
    return quoted(spelled(token));
  }

  static bool has(const SyntaxFault& fault, K kind) { return std::binary_search(fault.expected.begin(), fault.expected.end(), kind); }

  // The bracket that is still open at `token` and that `closing` would close; the token itself when there is none.
  std::size_t opening(std::size_t token, K closing) const {
    const K opener = closing == K::Rparen ? K::Lparen : closing == K::Rbracket ? K::Lbracket : K::Lbrace;
    std::size_t closed = 0;
    for (std::size_t i = token; i-- > 0;) {
      const K kind = cst_.tokens[i].kind;
      if (kind == closing && !cst_.tokens[i].unmatched) ++closed;
      if (kind == opener || (closing == K::Rbrace && kind == K::RecordOpen)) {
        if (closed == 0) return i;
        --closed;
      }
    }
    return token;
  }

  void note_opening(std::size_t token, K closing, Diagnostic& made) const {
    const std::size_t open = opening(token, closing);
    if (open != token) made.note(range(open), "to close the " + quoted(spelled(open)) + " opened here");
  }

  void missing(const SyntaxFault& fault) {
    const K what = fault.expected.front();
    const std::string name{describe(what)};
    const std::string_view spelling = std::string_view(name).substr(1, name.size() - 2);
    const std::uint32_t end = cst_.tokens[before(fault.token)].end;
    // The caret belongs where the token should be: right behind what came before.
    const SourceRange at{file_, end, end};
    std::string message = "missing " + name;
    if (fault.token > 0 && what != K::Rbrace) message += " after " + quoted(spelled(before(fault.token)));
    Diagnostic& made = faults_.add(DiagnosticKind::MissingToken, at, std::move(message));
    if (what == K::Rparen || what == K::Rbracket || what == K::Rbrace) note_opening(fault.token, what, made);
    if (what != K::Rbrace) made.fix(at, std::string(spelling), "add " + name);
  }

  std::string after(std::size_t token) const {
    if (token == 0) return "";
    return " after " + quoted(spelled(before(token)));
  }

  std::string wanted_here(const SyntaxFault& fault) const {
    if (fault.rule == Rule::Item || fault.rule == Rule::File) return "expected a declaration such as `kernel` or `fn`";
    if (has(fault, K::Int) && has(fault, K::Ident) && has(fault, K::Lbracket) && has(fault, K::True))
      return "expected an expression" + after(fault.token);
    const K previous_kind = cst_.tokens[before(fault.token)].kind;
    if (previous_kind == K::Let || previous_kind == K::Var) return "expected a name" + after(fault.token);
    if (has(fault, K::True) && has(fault, K::Ident)) return "expected a pattern" + after(fault.token);
    if (has(fault, K::Ident) && has(fault, K::Lbracket)) return "expected a type" + after(fault.token);
    if (fault.rule == Rule::Block && has(fault, K::Let)) return "expected a statement or `}`";
    if (has(fault, K::Semi) && has(fault, K::Tail)) return "expected `;`" + after(fault.token);
    std::vector<std::string_view> names;
    if (fault.expected.size() == 1) {
      // A list ends here: the grammar no longer remembers that a comma could have continued it.
      const K only = fault.expected.front();
      const bool other = cst_.tokens[fault.token].kind != K::Comma;
      const bool closes = only == K::Rparen || only == K::Rbracket || only == K::Rbrace || only == K::TemplateClose;
      const K previous = cst_.tokens[before(fault.token)].kind;
      if (closes && previous == K::Comma) names.push_back("another element");
      if (closes && other && fault.rule != Rule::Block && previous != K::Comma && previous != K::Lparen) names.push_back("`,`");
    }
    for (const K kind : fault.expected)
      if (kind != K::Tail && names.size() < 6) names.push_back(describe(kind));
    std::string out = "expected ";
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
      out += names[i];
    }
    return out + after(fault.token);
  }

  bool before_is(std::size_t token, std::string_view word) const { return token > 0 && spelled(before(token)) == word; }
  // Whether the token before `token` is the first of its statement.
  bool starts_statement_before(std::size_t token) const {
    if (token < 2) return false;
    const K kind = cst_.tokens[before(before(token))].kind;
    return kind == K::Lbrace || kind == K::Rbrace || kind == K::Semi;
  }

  // A removed character or a broken string makes the rest of its line unreadable; complaining about that as well helps nobody.
  bool follows_from_lexical_fault(const SyntaxFault& fault) const {
    const std::size_t token = fault.inserted ? before(fault.token) : fault.token;
    const std::uint32_t end = cst_.tokens[token].end;
    const std::size_t newline = text_.rfind('\n', cst_.tokens[token].begin);
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline;
    return std::any_of(lexical_.begin(), lexical_.end(), [&](std::uint32_t place) { return place >= begin && place <= end; });
  }

  // What people coming from other languages write.
  void hint(const SyntaxFault& fault, Diagnostic& made) const {
    const K kind = cst_.tokens[fault.token].kind;
    const K previous = cst_.tokens[before(fault.token)].kind;
    const K previous2 = fault.token >= 2 ? cst_.tokens[before(before(fault.token))].kind : K::End;
    if (previous == K::Plus && (kind == K::Plus || previous2 == K::Plus)) made.note(made.range, "there is no `++`; write `x += 1`");
    if (kind == K::Semi && previous == K::Minus && previous2 == K::Minus) made.note(made.range, "there is no `--`; write `x -= 1`");
    if (kind == K::Assign && has(fault, K::Lbrace)) made.note(made.range, "an assignment is a statement; to compare, write `==`");
    if (kind == K::Ident && before_is(fault.token, "mut")) {
      made.note(made.range, "a variable that changes is declared with `var`");
    } else if (kind == K::Ident && previous == K::Ident && has(fault, K::Tail) && starts_statement_before(fault.token)) {
      made.note(made.range, "declarations begin with `let` or `var`, and the type stands behind the name: `var x: f32 = 0.0;`");
    }
    if (kind == K::Lparen && previous == K::For) made.note(made.range, "a loop is written `for i in 0..n { ... }`");
    if (kind == K::Amp && has(fault, K::Lbracket) && !has(fault, K::True))
      made.note(made.range, "there are no references; a buffer is `x: in [f32]`");
    if ((kind == K::In || spelled(fault.token) == "out" || spelled(fault.token) == "inout") && previous == K::Lbracket)
      made.note(made.range, "the access stands before the bracket: `x: in [f32]`");
    if (kind == K::Comma && fault.rule == Rule::Type && has(fault, K::Rbracket))
      made.note(made.range, "a length stands behind a semicolon: `[f32; 4]`");
    if (kind == K::Semi && (fault.rule == Rule::StructItem || fault.rule == Rule::EnumItem))
      made.note(made.range, "the parts are separated by commas").fix(made.range, ",", "write `,`");
    if (kind == K::Assign && previous != K::Assign && has(fault, K::Tail)) made.note(made.range, "assignments do not chain");
    if (kind == K::Lt && previous == K::LaunchOpen) made.note(made.range, "a launch is written `kernel<<grid>>(arguments);`");
    if (kind == K::StrayElse) made.note(made.range, "no `if` ends right before this `else`");
    if (has(fault, K::Lbrace) && fault.expected.size() == 1)
      made.note(made.range, "a body stands in braces, also when it is one statement");
    const bool wants_name = has(fault, K::Ident) && (fault.expected.size() == 1 || previous == K::Let || previous == K::Var);
    if (kind != K::Ident && kind != K::End && wants_name && !spelled(fault.token).empty() && spelled(fault.token).front() >= 'a' &&
        spelled(fault.token).front() <= 'z')
      made.note(made.range, quoted(spelled(fault.token)) + " is a word of the language and cannot be a name");
    if (fault.expected.size() == 1 && fault.rule != Rule::Block) {
      const K only = fault.expected.front();
      if (only == K::Rparen || only == K::Rbracket || only == K::Rbrace) note_opening(fault.token, only, made);
    }
  }

  std::string_view text_;
  FileId file_;
  const Cst& cst_;
  Faults& faults_;
  std::vector<std::uint32_t> lexical_;  // where the lexical faults begin
};

}  // namespace

void Faults::report(DiagnosticSink& sink) {
  std::vector<std::size_t> order(faults_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // By place; of two at one place the one found first. (std::stable_sort would do, but libstdc++ implements it with a deprecated call.)
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return faults_[a].range.begin != faults_[b].range.begin ? faults_[a].range.begin < faults_[b].range.begin : a < b;
  });
  for (const std::size_t i : order) {
    Diagnostic& fault = faults_[i];
    Diagnostic& reported = sink.report(fault.kind, fault.range, std::move(fault.message));
    reported.notes = std::move(fault.notes);
    reported.fixes = std::move(fault.fixes);
  }
  faults_.clear();
}

void report_syntax_faults(std::string_view text, FileId file, const Cst& cst, Faults& faults) {
  Wording wording(text, file, cst, faults);
  for (const SyntaxFault& fault : cst.faults) {
    if (faults.full()) return;
    wording.report(fault);
  }
}

// Some editors begin every file with it. At the start of a file it means nothing; elsewhere it is no character of the language.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

void report_lexical_faults(std::string_view text, FileId file, std::vector<Token>& tokens, Faults& faults) {
  std::uint32_t last_end = 0xffffffffu;  // of the last bad character: a run of them is one fault
  std::vector<Token> kept;
  kept.reserve(tokens.size());
  for (Token& token : tokens) {
    const SourceRange range{file, token.begin, token.end};
    const std::string_view spelled = text.substr(token.begin, token.end - token.begin);
    if (token.kind == K::BadCharacter) {
      if (token.begin < kByteOrderMark.size() && text.substr(0, kByteOrderMark.size()) == kByteOrderMark) continue;
      if (token.begin == last_end) {
        last_end = token.end;
        continue;
      }
      last_end = token.end;
      // The whole character, when it takes several bytes.
      std::uint32_t end = token.end;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
      Diagnostic& made = faults.add(DiagnosticKind::InvalidCharacter, {file, token.begin, end},
                                    "unexpected character " + quoted(text.substr(token.begin, end - token.begin)));
      if (spelled == "?") made.note(range, "a choice is written `if condition { a } else { b }`");
      if (spelled == "'") made.note(range, "strings stand in double quotes");
      continue;
    }
    if (token.kind == K::BadNumber) {
      faults.add(DiagnosticKind::InvalidNumber, range, quoted(spelled) + " is no number")
          .note(range,
                "numbers look like 42, 0xff, 0b1010, 1_000i64, 1.5, 1e-3f32, 0x1.8p3; a fraction has digits on both sides of the point");
      token.kind = K::Int;  // so that the parser goes on; the builder sees that it is broken
    } else if (token.kind == K::UnterminatedString) {
      faults.add(DiagnosticKind::UnterminatedString, range, "missing closing quote")
          .fix({file, token.end, token.end}, "\"", "add a quote at the end of the line");
      token.kind = K::String;
    } else if (token.kind == K::UnterminatedComment) {
      faults.add(DiagnosticKind::UnterminatedComment, range, "this comment has no closing `*/`");
      // The rest of the file is comment.
      kept.push_back({K::End, token.begin, token.begin});
      tokens = std::move(kept);
      return;
    }
    kept.push_back(token);
  }
  tokens = std::move(kept);
}

std::size_t first_invalid_byte(std::string_view text) {
  // RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead == 0) return i;
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = lead >= 0xc2 && lead <= 0xdf ? 2 : lead >= 0xe0 && lead <= 0xef ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return i;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return i;
    const auto second = static_cast<unsigned char>(text[i + 1]);
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
        (lead == 0xf4 && second > 0x8f))
      return i;
    i += length;
  }
  return std::string_view::npos;
}

}  // namespace sarek::syntax
