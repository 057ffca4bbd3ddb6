// The concrete syntax tree: what the generated parser recognised, as flat tables without any of its types. The tree builder turns it
// into the AST and the formatter reads token roles from it; nothing outside this folder includes it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/syntax/tokens.h"

namespace sarek::syntax {

enum class Rule : std::uint8_t {
#define SAREK_RULE(name) name,
#include "compiler/syntax/rules.def"
};

using CstId = Id<struct CstTag>;

struct CstNode {
  bool is_token;
  bool broken;              // parsing stopped inside: children after the fault are missing
  Rule rule;                // when it is no token
  std::uint32_t token;      // the token, or the first token of the rule
  std::uint32_t first = 0;  // children: child_ids[first, first + count)
  std::uint32_t count = 0;
  std::uint32_t begin = 0;  // bytes; virtual tokens do not count
  std::uint32_t end = 0;
};

/// The parser met a token that the grammar does not allow there.
struct SyntaxFault {
  std::uint32_t token;              // the wrong token
  Rule rule;                        // the innermost rule being parsed
  std::vector<TokenKind> expected;  // ascending
  bool inserted;                    // the one expected token was taken as if it were there
};

struct Cst {
  std::vector<Token> tokens;  // after the filter
  std::vector<CstNode> nodes;
  std::vector<CstId> child_ids;
  std::vector<SyntaxFault> faults;
  CstId root;

  const CstNode& operator[](CstId id) const { return nodes[id.index()]; }
  std::span<const CstId> children(CstId id) const { return {child_ids.data() + nodes[id.index()].first, nodes[id.index()].count}; }
};

/// Runs the generated lexer over `text` (bytes). Never fails: what is no token comes out as one of the BAD and UNTERMINATED kinds.
LexedFile run_lexer(std::string_view text, FileId file);

/// Runs the generated parser over filtered tokens. `text` is their file.
Cst run_parser(std::string_view text, std::vector<Token> tokens);

/// Says in the user's words what each fault is about.
void report_syntax_faults(std::string_view text, FileId file, const Cst& cst, Faults& faults);

/// Fills `ast` from the tree; what the grammar is too coarse to refuse is refused here.
void build_ast(std::string_view text, const Cst& cst, Ast& ast, Faults& faults);

}  // namespace sarek::syntax
