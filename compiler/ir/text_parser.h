// The text form of the IR, reading side: back from text to programs, bit for bit what the printer wrote. Says where a line is wrong;
// whether the programs are whole is compiler/spec's question (read_programs in compiler/spec/read_text.h asks both). README.md in this
// folder documents the format.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/support/diagnostic.h"
#include "compiler/support/source.h"

namespace sarek::ir {

/// What the reader accepts at most. Input beyond it is refused with one diagnostic (ir-limit), so that hostile text costs time and memory
/// in proportion to its length.
struct TextLimits {
  std::size_t bytes = std::size_t{256} << 20;
  std::size_t line = std::size_t{1} << 20;
  std::size_t nodes = std::size_t{1} << 22;  // of one program
  std::size_t list = std::size_t{1} << 16;   // elements of a list, sources of a node
  std::size_t programs = std::size_t{1} << 14;
  std::size_t slots = std::size_t{1} << 16;  // of one program; also parameters
};

/// Reads every program of a file. Reports each wrong line (ir-syntax) and goes on with the next; none when anything was reported. Sources
/// and argument kinds are checked only as far as the node can be made: the number of sources fits the op, every source stands before its
/// use. A node with a place (` @LINE:COLUMN`) carries that place, in a file that is added to `sources` under the name that the text states,
/// blank but with the right lines and columns; any other node carries the range of its line here. So does the program, by its `declared`
/// line or its name. `lines`, when given, receives the ranges in this file: per program those of its nodes, in order of its body.
std::optional<std::vector<Program>> parse_program_text(SourceManager& sources, FileId file, DiagnosticSink& sink,
                                                       const TextLimits& limits = {},
                                                       std::vector<std::vector<SourceRange>>* lines = nullptr);

}  // namespace sarek::ir
