// The only file that sees ANTLR: drives the generated lexer and parser and copies what they recognise into this folder's own tables.
// The grammar decides everything with one token, so the parser never simulates its automaton except to list what it expected after
// a fault; that is why neither the two-stage (SLL, LL) prediction nor a token buffer with lookahead is here.
// No messages: messages.cpp words them.
#include <antlr4-runtime.h>

#include <algorithm>
#include <memory>

#include "SarekLexer.h"
#include "SarekParser.h"
#include "compiler/syntax/cst.h"

namespace sarek::syntax {
namespace {

#define SAREK_TOKEN(name, kind, text) static_assert(static_cast<std::size_t>(TokenKind::kind) == SarekParser::name, #name);
#include "compiler/syntax/tokens.def"
#define SAREK_RULE(name) static_assert(static_cast<std::size_t>(Rule::name) == SarekParser::Rule##name, #name);
#include "compiler/syntax/rules.def"

// The file as a stream of bytes. ANTLR's own streams decode UTF-8 into code points first, which costs time and loses byte offsets.
class ByteStream final : public antlr4::CharStream {
 public:
  explicit ByteStream(std::string_view text) : text_(text) {}

  void consume() override { ++position_; }
  std::size_t LA(ssize_t i) override {
    if (i == 0) return 0;
    const ssize_t at = static_cast<ssize_t>(position_) + i - (i > 0 ? 1 : 0);
    if (at < 0 || at >= static_cast<ssize_t>(text_.size())) return EOF;
    return static_cast<unsigned char>(text_[static_cast<std::size_t>(at)]);
  }
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  std::size_t index() override { return position_; }
  void seek(std::size_t index) override { position_ = std::min(index, text_.size()); }
  std::size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return "source"; }
  std::string getText(const antlr4::misc::Interval& interval) override {
    const auto begin = static_cast<std::size_t>(interval.a);
    if (begin >= text_.size() || interval.b < interval.a) return {};
    return std::string(text_.substr(begin, static_cast<std::size_t>(interval.b - interval.a + 1)));
  }
  std::string toString() const override { return std::string(text_); }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

// The filtered tokens as ANTLR wants them.
class FilteredStream final : public antlr4::TokenStream {
 public:
  explicit FilteredStream(const std::vector<Token>& tokens) {
    tokens_.reserve(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      const std::size_t type = token.kind == TokenKind::End ? antlr4::Token::EOF : static_cast<std::size_t>(token.kind);
      auto made = std::make_unique<antlr4::CommonToken>(type);
      made->setTokenIndex(i);
      made->setStartIndex(token.begin);
      made->setStopIndex(token.end);
      tokens_.push_back(std::move(made));
    }
  }

  antlr4::Token* LT(ssize_t k) override {
    if (k == 0) return nullptr;
    const ssize_t at = static_cast<ssize_t>(position_) + k - (k > 0 ? 1 : 0);
    if (at < 0) return nullptr;
    return tokens_[std::min(static_cast<std::size_t>(at), tokens_.size() - 1)].get();
  }
  antlr4::Token* get(std::size_t index) const override { return tokens_.at(index).get(); }
  antlr4::TokenSource* getTokenSource() const override { return nullptr; }
  std::string getText(const antlr4::misc::Interval&) override { return {}; }
  std::string getText() override { return {}; }
  std::string getText(antlr4::RuleContext*) override { return {}; }
  std::string getText(antlr4::Token*, antlr4::Token*) override { return {}; }
  void consume() override {
    if (position_ + 1 < tokens_.size()) ++position_;
  }
  std::size_t LA(ssize_t i) override {
    const antlr4::Token* token = LT(i);
    return token == nullptr ? antlr4::Token::INVALID_TYPE : token->getType();
  }
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  std::size_t index() override { return position_; }
  void seek(std::size_t index) override { position_ = std::min(index, tokens_.size() - 1); }
  std::size_t size() override { return tokens_.size(); }
  std::string getSourceName() const override { return "source"; }

 private:
  std::vector<std::unique_ptr<antlr4::CommonToken>> tokens_;
  std::size_t position_ = 0;
};

// The filter gives the first token of an item level 0, also when the item before it lacks its end.
bool is_item_start(const Token& token) {
  const TokenKind kind = token.kind;
  return token.level == 0 && (kind == TokenKind::Import || kind == TokenKind::Struct || kind == TokenKind::Enum || kind == TokenKind::Fn ||
                              kind == TokenKind::Kernel || kind == TokenKind::Inline || kind == TokenKind::Pipeline ||
                              kind == TokenKind::Graph || kind == TokenKind::Test);
}

// Words that begin a statement and nothing else.
bool is_statement_word(TokenKind kind) {
  return kind == TokenKind::Let || kind == TokenKind::Var || kind == TokenKind::Const || kind == TokenKind::Shared ||
         kind == TokenKind::For || kind == TokenKind::While || kind == TokenKind::Loop || kind == TokenKind::Return ||
         kind == TokenKind::Break || kind == TokenKind::Continue || kind == TokenKind::Superstep;
}

bool starts_statement(TokenKind kind) {
  return is_statement_word(kind) || kind == TokenKind::Ident || kind == TokenKind::If || kind == TokenKind::Match ||
         kind == TokenKind::Unroll || kind == TokenKind::Rbrace || kind == TokenKind::LaunchName || kind == TokenKind::Lbrace ||
         kind == TokenKind::Native;
}

// What to do at a wrong token. A missing `;`, `,` or closing bracket that is plainly just missing is reported and taken as read.
// Anything else gives up rules from the inside out until the statement, match arm or item around it, and goes on behind that: one
// mistake, one message, and nothing in between is guessed.
class Recovery final : public antlr4::ANTLRErrorStrategy {
 public:
  Recovery(std::string_view text, const std::vector<Token>& tokens, std::vector<SyntaxFault>& faults)
      : text_(text), tokens_(tokens), faults_(faults) {}

  void reset(antlr4::Parser*) override { reported_ = false; }
  void sync(antlr4::Parser*) override {}  // every fault shows at a match or a decision; looking ahead for it costs time
  bool inErrorRecoveryMode(antlr4::Parser*) override { return false; }
  void reportMatch(antlr4::Parser*) override {}

  antlr4::Token* recoverInline(antlr4::Parser* parser) override {
    const std::vector<TokenKind> expected = expected_here(parser);
    const std::size_t at = parser->getInputStream()->index();
    if (can_insert(expected, at)) {
      // One missing `}` leaves every block around it open, and the statement before it without its end; one message is enough.
      const TokenKind found = tokens_[at].kind;
      const bool repeated = expected[0] == TokenKind::Rbrace
                                ? !faults_.empty() && faults_.back().inserted && faults_.back().token == at
                                : rule_of(parser) == Rule::End && (is_item_start(tokens_[at]) || found == TokenKind::End) &&
                                      tokens_[start_of_statement(parser)].level > 0;
      if (!repeated) faults_.push_back({static_cast<std::uint32_t>(at), rule_of(parser), expected, true});
      return parser->getCurrentToken();
    }
    throw antlr4::InputMismatchException(parser);
  }

  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException&) override {
    if (reported_) return;
    reported_ = true;
    const std::size_t at = parser->getInputStream()->index();
    faults_.push_back({static_cast<std::uint32_t>(at), rule_of(parser), expected_here(parser), false});
  }

  void recover(antlr4::Parser* parser, std::exception_ptr error) override {
    const Rule rule = rule_of(parser);
    const std::size_t start = parser->getContext()->getStart() ? parser->getContext()->getStart()->getTokenIndex() : 0;
    if (rule == Rule::Statement || rule == Rule::TestStatement) {
      skip_statement(parser->getInputStream(), start);
    } else if (rule == Rule::MatchArm) {
      skip_arm(parser->getInputStream(), start);
    } else if (rule == Rule::Params && tokens_[start].kind == TokenKind::Lparen) {
      skip_params(parser->getInputStream(), start);
    } else if (rule == Rule::Item || rule == Rule::File) {
      skip_item(parser->getInputStream(), start);
    } else {
      std::rethrow_exception(error);
    }
    reported_ = false;
  }

 private:
  static std::size_t start_of_statement(antlr4::Parser* parser) {
    auto* outer = dynamic_cast<antlr4::ParserRuleContext*>(parser->getContext()->parent);
    return outer == nullptr ? 0 : outer->getStart()->getTokenIndex();
  }
  static Rule rule_of(antlr4::Parser* parser) { return static_cast<Rule>(parser->getContext()->getRuleIndex()); }

  static std::vector<TokenKind> expected_here(antlr4::Parser* parser) {
    std::vector<TokenKind> kinds;
    for (const ssize_t type : parser->getExpectedTokens().toList())
      kinds.push_back(type < 0 ? TokenKind::End : static_cast<TokenKind>(type));
    std::sort(kinds.begin(), kinds.end());
    return kinds;
  }

  bool on_new_line(std::size_t at) const {
    if (at == 0) return true;
    const std::uint32_t from = tokens_[at - 1].end;
    return text_.substr(from, tokens_[at].begin - from).find('\n') != std::string_view::npos;
  }

  bool can_insert(const std::vector<TokenKind>& expected, std::size_t at) const {
    const TokenKind found = tokens_[at].kind;
    if (expected.size() == 2 && expected[0] == TokenKind::Semi && expected[1] == TokenKind::Tail)
      return is_statement_word(found) || is_item_start(tokens_[at]) || found == TokenKind::Rbrace || found == TokenKind::End ||
             (on_new_line(at) && starts_statement(found));
    if (expected.size() != 1) return false;
    const TokenKind only = expected[0];
    if (only == TokenKind::Semi)
      return is_item_start(tokens_[at]) || found == TokenKind::Const || found == TokenKind::Rbrace || found == TokenKind::End ||
             (on_new_line(at) && starts_statement(found));
    if (only == TokenKind::Rparen || only == TokenKind::Rbracket)
      return found == TokenKind::Semi || found == TokenKind::Tail || found == TokenKind::Lbrace || is_statement_word(found);
    if (only == TokenKind::Rbrace) return is_item_start(tokens_[at]) || found == TokenKind::End;
    if (only == TokenKind::Comma) return on_new_line(at) && !tokens_[at].unmatched;
    return false;
  }

  // Behind the `;` of the statement that starts at token `start`, or before the next statement or closing brace.
  void skip_statement(antlr4::IntStream* input, std::size_t start) const {
    const std::uint16_t level = tokens_[start].level;
    for (std::size_t at = input->index();; ++at) {
      const Token& token = tokens_[at];
      if (token.kind == TokenKind::End || is_item_start(token) || token.level < level) return input->seek(at);
      if (token.level > level) continue;
      if (token.kind == TokenKind::Semi || token.kind == TokenKind::Tail) return input->seek(at + 1);
      if (is_statement_word(token.kind) && at > start) return input->seek(at);
      if (token.kind == TokenKind::Rbrace && at > start && starts_statement(tokens_[at + 1].kind)) return input->seek(at + 1);
    }
  }

  void skip_arm(antlr4::IntStream* input, std::size_t start) const {
    const std::uint16_t level = tokens_[start].level;
    for (std::size_t at = input->index();; ++at) {
      const Token& token = tokens_[at];
      if (token.kind == TokenKind::End || is_item_start(token) || token.level < level) return input->seek(at);
      if (token.level == level && token.kind == TokenKind::Comma) return input->seek(at + 1);
    }
  }

  // Behind the `)` of the list that starts at token `start`, or before the body when there is none: the body is still worth reading.
  void skip_params(antlr4::IntStream* input, std::size_t start) const {
    for (std::size_t at = input->index();; ++at) {
      const Token& token = tokens_[at];
      if (token.kind == TokenKind::Rparen && token.level == tokens_[start].level) return input->seek(at + 1);
      if (token.kind == TokenKind::End || token.kind == TokenKind::Lbrace || is_item_start(token)) return input->seek(at);
    }
  }

  void skip_item(antlr4::IntStream* input, std::size_t start) const {
    for (std::size_t at = input->index();; ++at) {
      const Token& token = tokens_[at];
      if (token.kind == TokenKind::End) return input->seek(at);
      if (at > start && token.level == 0 && (is_item_start(token) || token.kind == TokenKind::Const)) return input->seek(at);
    }
  }

  std::string_view text_;
  const std::vector<Token>& tokens_;
  std::vector<SyntaxFault>& faults_;
  bool reported_ = false;
};

// Copies the parse tree. The recursion is as deep as the parser's own, which the filter has bounded.
class Copy {
 public:
  explicit Copy(Cst& cst) : cst_(cst) {}

  CstId rule(antlr4::ParserRuleContext* context) {
    const CstId id(static_cast<std::uint32_t>(cst_.nodes.size()));
    CstNode node{};
    node.rule = static_cast<Rule>(context->getRuleIndex());
    node.broken = context->exception != nullptr;
    node.token = context->getStart() ? static_cast<std::uint32_t>(context->getStart()->getTokenIndex()) : 0;
    node.begin = node.end = cst_.tokens[node.token].begin;
    cst_.nodes.push_back(node);
    const std::size_t mark = pending_.size();
    bool placed = false;
    for (antlr4::tree::ParseTree* child : context->children) {
      auto* terminal = dynamic_cast<antlr4::tree::TerminalNode*>(child);
      const CstId child_id =
          terminal ? token(terminal->getSymbol()->getTokenIndex()) : rule(static_cast<antlr4::ParserRuleContext*>(child));
      pending_.push_back(child_id);
      const CstNode& made = cst_.nodes[child_id.index()];
      // A rule that recovers behind its fault leaves the rule around it whole.
      if (!recovers(made)) node.broken |= made.broken;
      if (made.begin == made.end) continue;
      if (!placed) node.begin = made.begin;
      node.end = made.end;
      placed = true;
    }
    node.first = static_cast<std::uint32_t>(cst_.child_ids.size());
    node.count = static_cast<std::uint32_t>(pending_.size() - mark);
    cst_.child_ids.insert(cst_.child_ids.end(), pending_.begin() + static_cast<std::ptrdiff_t>(mark), pending_.end());
    pending_.resize(mark);
    cst_.nodes[id.index()] = node;
    return id;
  }

 private:
  static bool recovers(const CstNode& node) {
    return !node.is_token && (node.rule == Rule::Statement || node.rule == Rule::MatchArm || node.rule == Rule::TestStatement ||
                              node.rule == Rule::Params || node.rule == Rule::Item);
  }

  CstId token(std::size_t index) {
    CstNode node{};
    node.is_token = true;
    node.token = static_cast<std::uint32_t>(index);
    node.begin = cst_.tokens[index].begin;
    node.end = cst_.tokens[index].end;
    cst_.nodes.push_back(node);
    return CstId(static_cast<std::uint32_t>(cst_.nodes.size() - 1));
  }

  Cst& cst_;
  std::vector<CstId> pending_;
};

}  // namespace

LexedFile run_lexer(std::string_view text, FileId file) {
  ByteStream input(text);
  SarekLexer lexer(&input);
  lexer.removeErrorListeners();
  LexedFile lexed;
  lexed.tokens.reserve(text.size() / 4 + 1);
  for (;;) {
    const std::unique_ptr<antlr4::Token> token = lexer.nextToken();
    if (token->getType() == antlr4::Token::EOF) break;
    const auto begin = static_cast<std::uint32_t>(token->getStartIndex());
    const auto end = static_cast<std::uint32_t>(token->getStopIndex() + 1);
    if (token->getChannel() != antlr4::Token::DEFAULT_CHANNEL) lexed.comments.push_back({SourceRange{file, begin, end}});
    else lexed.tokens.push_back({static_cast<TokenKind>(token->getType()), begin, end});
  }
  const auto size = static_cast<std::uint32_t>(text.size());
  lexed.tokens.push_back({TokenKind::End, size, size});
  return lexed;
}

Cst run_parser(std::string_view text, std::vector<Token> tokens) {
  Cst cst;
  cst.tokens = std::move(tokens);
  FilteredStream stream(cst.tokens);
  SarekParser parser(&stream);
  parser.removeErrorListeners();
  parser.setErrorHandler(std::make_shared<Recovery>(text, cst.tokens, cst.faults));
  antlr4::ParserRuleContext* root = parser.file();
  cst.nodes.reserve(cst.tokens.size() * 4);
  cst.root = Copy(cst).rule(root);
  return cst;
}

}  // namespace sarek::syntax
