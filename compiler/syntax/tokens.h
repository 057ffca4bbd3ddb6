// Tokens as the folder's own values, so that only antlr_front.cpp sees the generated lexer. Also the filter between lexer and parser,
// whose rules stand in grammar/language.md ("Tokens"), and the lexical faults. Nothing here knows the grammar's rules.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/syntax/ast.h"
#include "compiler/syntax/fault.h"

namespace sarek::syntax {

enum class TokenKind : std::uint8_t {
  End = 0,
#define SAREK_TOKEN(name, kind, text) kind,
#include "compiler/syntax/tokens.def"
};

/// How a message names a token kind: "`;`", "a name".
std::string_view describe(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::End;
  std::uint32_t begin = 0;  // bytes of the file
  std::uint32_t end = 0;    // begin == end: put in by the filter, or the end of the file
  std::uint16_t level = 0;  // how many brackets are open around it; a closing bracket has the level of its opening one
  bool unmatched = false;   // a closing bracket without an opening one

  bool is_virtual() const { return begin == end; }
};

/// What the lexer saw: tokens without comments and space, ending in one End token.
struct LexedFile {
  std::vector<Token> tokens;
  std::vector<Comment> comments;
};

/// The greatest number of brackets (and of `if` and `match` heads still waiting for their `{`) that may be open at one place. It bounds
/// the recursion of the parser and of everything that walks its tree.
inline constexpr std::size_t kMaxNesting = 200;
/// The greatest depth of an expression tree, which chains like a + b + c + ... deepen without brackets.
inline constexpr std::uint32_t kMaxExpressionDepth = 1000;

/// Removes tokens that are faults in themselves (bad characters, numbers, strings) and reports them.
void report_lexical_faults(std::string_view text, FileId file, std::vector<Token>& tokens, Faults& faults);

/// Contextual words, brackets that look like operators, ends of blocks, nesting levels. Returns false when the nesting is too deep to be
/// parsed; that is then reported.
bool filter_tokens(std::string_view text, FileId file, std::vector<Token>& tokens, Faults& faults);

/// Where `text` stops being UTF-8, or npos. NUL bytes count as faults too: no editor writes them.
std::size_t first_invalid_byte(std::string_view text);

}  // namespace sarek::syntax
