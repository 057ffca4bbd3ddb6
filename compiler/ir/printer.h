// The text form of the IR, writing side: programs and graphs, one node a line. README.md in this folder documents the format; text_parser.h
// reads it back bit for bit.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/support/source.h"

namespace sarek::ir {

struct PrintOptions {
  /// Adds the place in the source to each node: ` @LINE:COLUMN`, which the reader gives back; null: no places. In listings of graphs a
  /// comment.
  const SourceManager* sources = nullptr;
};

/// The first line of every file in the text form.
inline constexpr std::string_view kTextHeader = "sarek-ir 1";

/// Lines times columns of a source file whose places the text form keeps; columns beyond are cut.
inline constexpr std::uint32_t kMaxSourceCells = 1u << 24;

/// A program: declaration and body; nodes are numbered by their position. Sources that are not in the body (a broken program) are printed
/// as `%?`, which the reader refuses. The header line is not included.
std::string print(const Program& program, const PrintOptions& options = {});
/// A file of several programs, header line included.
std::string print_module(const std::vector<const Program*>& programs, const PrintOptions& options = {});
/// The nodes below `root`, sources first, numbered in that order: for listings and tests.
std::string print(const Graph& graph, NodeId root, const PrintOptions& options = {});
/// One node's line without its number and its sources' names replaced by ids: "ADD i32 %3 %7".
std::string print_node(const Graph& graph, NodeId id);

/// A node as a nested expression, not simplified: "(group_id.x * 256 + local_id.x)". Cut with "..." past `limit` characters.
std::string render(const Graph& graph, NodeId id, std::size_t limit = 400);

/// The argument as the text form writes it, with its leading space; empty when the op and the type imply it.
std::string print_arg(const Graph& graph, NodeId id);
/// `text` in double quotes; quotes, backslashes and bytes outside of printable ASCII escaped (\" \\ \n \t \xHH).
std::string quote(std::string_view text);
/// A double as a hexadecimal float, `inf`, `-inf`, or `nan:0x` and its bits: every bit survives.
std::string print_float(double value);

std::string_view address_space_name(AddressSpace space);
std::string_view access_name(Access access);
std::string_view slot_kind_name(Slot::Kind kind);

}  // namespace sarek::ir
