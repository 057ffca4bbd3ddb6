// Canonical layout of source text (`sarekc fmt`).
#pragma once

#include <optional>
#include <string>

#include "compiler/support/diagnostic.h"
#include "compiler/support/source.h"

namespace sarek::syntax {

/// The file in canonical layout. Formatting changes white space only: the tokens and comments stay, so the result parses to the same AST,
/// and formatting it again changes nothing. Line breaks inside expressions and single blank lines are the author's and are kept; braces
/// written on one line stay there when they hold one statement at most and at most 80 columns. Nothing when the file has syntax faults,
/// which go to `sink`.
std::optional<std::string> format(const SourceManager& sources, FileId file, DiagnosticSink& sink);

}  // namespace sarek::syntax
