// parse(): the order of the steps between text and AST. Each step has its own file.
#include "compiler/syntax/parse.h"

#include "compiler/syntax/cst.h"

namespace sarek::syntax {

Ast parse(const SourceManager& sources, FileId file, DiagnosticSink& sink) {
  const std::string_view text = sources.text(file);
  Faults faults;
  Ast ast;
  ast.file = file;
  if (const std::size_t bad = first_invalid_byte(text); bad != std::string_view::npos) {
    const auto at = static_cast<std::uint32_t>(bad);
    sink.report(DiagnosticKind::InvalidEncoding, {file, at, at + 1},
                text[bad] == '\0' ? "the file holds a NUL byte: it is no text" : "the file is not UTF-8 text from here on");
    return ast;
  }
  LexedFile lexed = run_lexer(text, file);
  ast.comments = std::move(lexed.comments);
  // Faulty tokens first: the filter looks at neighbours and must not see what is about to be removed.
  report_lexical_faults(text, file, lexed.tokens, faults);
  if (filter_tokens(text, file, lexed.tokens, faults)) {
    const Cst cst = run_parser(text, std::move(lexed.tokens));
    report_syntax_faults(text, file, cst, faults);
    build_ast(text, cst, ast, faults);
  }
  faults.report(sink);
  return ast;
}

}  // namespace sarek::syntax
