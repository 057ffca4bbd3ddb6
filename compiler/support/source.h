// Source text and places in it. A SourceManager owns the text of every file of one compile; a SourceRange is four bytes of file
// and two byte offsets, cheap enough for every AST and IR node. Reading files from disk is the driver's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/ids.h"

namespace sarek {

using FileId = Id<struct FileTag>;

/// Bytes [begin, end) of a file. A range with no file (the default) is "no place known".
struct SourceRange {
  FileId file;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  explicit operator bool() const { return static_cast<bool>(file); }
  friend bool operator==(const SourceRange&, const SourceRange&) = default;
};

/// The smallest range that covers both; the other one when one has no place.
SourceRange join(SourceRange a, SourceRange b);

/// A place as a person reads it: both count from 1; the column counts bytes.
struct LineColumn {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

class SourceManager {
 public:
  /// Adds a file under the name that diagnostics show. The text may not exceed 2^32 - 2 bytes.
  FileId add(std::string name, std::string text);

  const std::string& name(FileId file) const;
  std::string_view text(FileId file) const;
  std::string_view text(SourceRange range) const;
  /// The line and column of a byte offset; an offset past the end is the end.
  LineColumn line_column(FileId file, std::uint32_t offset) const;
  /// The text of line `line` (from 1) without its line end; empty past the end.
  std::string_view line_text(FileId file, std::uint32_t line) const;
  std::size_t file_count() const { return files_.size(); }

 private:
  struct File {
    std::string name;
    std::string text;
    std::vector<std::uint32_t> line_starts;
  };
  std::vector<File> files_;
};

}  // namespace sarek
