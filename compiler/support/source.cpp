#include "compiler/support/source.h"

#include <algorithm>

namespace sarek {

SourceRange join(SourceRange a, SourceRange b) {
  if (!a) return b;
  if (!b || a.file != b.file) return a;
  return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

FileId SourceManager::add(std::string name, std::string text) {
  File file{std::move(name), std::move(text), {0}};
  for (std::size_t i = 0; i < file.text.size(); ++i)
    if (file.text[i] == '\n') file.line_starts.push_back(static_cast<std::uint32_t>(i + 1));
  files_.push_back(std::move(file));
  return FileId(static_cast<std::uint32_t>(files_.size() - 1));
}

const std::string& SourceManager::name(FileId file) const { return files_[file.index()].name; }

std::string_view SourceManager::text(FileId file) const { return files_[file.index()].text; }

std::string_view SourceManager::text(SourceRange range) const {
  if (!range) return {};
  std::string_view all = text(range.file);
  const std::size_t begin = std::min<std::size_t>(range.begin, all.size());
  const std::size_t end = std::clamp<std::size_t>(range.end, begin, all.size());
  return all.substr(begin, end - begin);
}

LineColumn SourceManager::line_column(FileId file, std::uint32_t offset) const {
  const File& f = files_[file.index()];
  offset = std::min(offset, static_cast<std::uint32_t>(f.text.size()));
  const auto after = std::upper_bound(f.line_starts.begin(), f.line_starts.end(), offset);
  const auto line = static_cast<std::uint32_t>(after - f.line_starts.begin());
  return {line, offset - f.line_starts[line - 1] + 1};
}

std::string_view SourceManager::line_text(FileId file, std::uint32_t line) const {
  const File& f = files_[file.index()];
  if (line == 0 || line > f.line_starts.size()) return {};
  const std::size_t begin = f.line_starts[line - 1];
  std::size_t end = line < f.line_starts.size() ? f.line_starts[line] - 1 : f.text.size();
  if (end > begin && f.text[end - 1] == '\r') --end;
  return std::string_view(f.text).substr(begin, end - begin);
}

}  // namespace sarek
