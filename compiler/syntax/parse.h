// The front door of the folder: from the text of a file to its AST, and the stable text form of the AST.
#pragma once

#include <string>

#include "compiler/support/diagnostic.h"
#include "compiler/support/source.h"
#include "compiler/syntax/ast.h"

namespace sarek::syntax {

/// Parses one file. Faults go to `sink` in the order of the text, several a run. The AST is whole up to the faults: a broken part is an
/// Error node, its item is marked `broken`, and everything around it is usable. Limits (reported, never crashed into): 200 brackets
/// deep, expressions 1000 levels deep.
Ast parse(const SourceManager& sources, FileId file, DiagnosticSink& sink);

/// The tree as indented text, one node a line, for --emit=ast and tests. `sources` gives line:column when `with_places` is set; without
/// them two files that differ in layout only have the same dump.
std::string dump_ast(const SourceManager& sources, const Ast& ast, bool with_places);

}  // namespace sarek::syntax
