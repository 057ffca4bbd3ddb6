#include "compiler/support/diagnostic.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace sarek {
namespace {

struct KindRow {
  std::string_view name;
  Severity severity;
  std::string_view meaning;
};

constexpr KindRow kKinds[] = {
#define SAREK_DIAGNOSTIC(name, kind, severity, meaning) {kind, Severity::severity, meaning},
#include "compiler/support/diagnostics.def"
};

std::string_view severity_word(Severity severity) {
  switch (severity) {
    case Severity::Error: return "error";
    case Severity::Warning: return "warning";
    case Severity::Note: return "note";
  }
  return "";
}

const char* severity_color(Severity severity) {
  switch (severity) {
    case Severity::Error: return "\x1b[1;31m";
    case Severity::Warning: return "\x1b[1;35m";
    case Severity::Note: return "\x1b[1;36m";
  }
  return "";
}

/// The columns a terminal uses for `text`: code points, with tabs shown as four spaces.
std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) {
    if (c == '\t') width += 4;
    else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++width;
  }
  return width;
}

std::string shown_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\t') out += "    ";
    else out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out;
}

void append_place(std::string& out, const SourceManager& sources, SourceRange range) {
  const LineColumn at = sources.line_column(range.file, range.begin);
  out += sources.name(range.file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
}

void append_snippet(std::string& out, const SourceManager& sources, SourceRange range, bool color, Severity severity) {
  const LineColumn at = sources.line_column(range.file, range.begin);
  const std::string_view line = sources.line_text(range.file, at.line);
  // A line of generated text can be megabytes long: show a window around the caret.
  constexpr std::size_t kWindow = 200;
  const std::size_t column = std::min<std::size_t>(at.column - 1, line.size());
  const std::size_t start = column > kWindow / 2 && line.size() > kWindow ? column - kWindow / 2 : 0;
  const std::string_view shown = line.substr(start, kWindow);
  const std::size_t before = column - start;
  const std::string number = std::to_string(at.line);
  out += " " + number + " | " + shown_line(shown) + "\n";
  const std::size_t marked_bytes = std::min<std::size_t>(range.end > range.begin ? range.end - range.begin : 1, shown.size() - before);
  const std::size_t marked = std::max<std::size_t>(1, shown_width(shown.substr(before, marked_bytes)));
  out += " " + std::string(number.size(), ' ') + " | " + std::string(shown_width(shown.substr(0, before)), ' ');
  if (color) out += severity_color(severity);
  out += "^" + std::string(marked - 1, '~');
  if (color) out += "\x1b[0m";
  out += "\n";
}

void append_message(std::string& out, const SourceManager& sources, Severity severity, SourceRange range, std::string_view message,
                    std::string_view kind, bool color) {
  if (range) append_place(out, sources, range);
  if (color) out += severity_color(severity);
  out += severity_word(severity);
  out += ":";
  if (color) out += "\x1b[0m";
  out += " ";
  out += message;
  if (!kind.empty()) {
    out += " [";
    out += kind;
    out += "]";
  }
  out += "\n";
  if (range) append_snippet(out, sources, range, color, severity);
}

void append_json_range(std::string& out, const SourceManager& sources, SourceRange range) {
  if (!range) return;
  const LineColumn begin = sources.line_column(range.file, range.begin);
  const LineColumn end = sources.line_column(range.file, range.end);
  out += ",\"file\":" + json_quote(sources.name(range.file)) + ",\"line\":" + std::to_string(begin.line) +
         ",\"column\":" + std::to_string(begin.column) + ",\"end_line\":" + std::to_string(end.line) +
         ",\"end_column\":" + std::to_string(end.column) + ",\"begin\":" + std::to_string(range.begin) +
         ",\"end\":" + std::to_string(range.end);
}

/// The length of the valid UTF-8 sequence at the start of `text`, or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t length = 0;
  std::uint32_t value = 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) {
    length = 2;
    value = first & 0x1fu;
  } else if (first >= 0xe0 && first < 0xf0) {
    length = 3;
    value = first & 0x0fu;
  } else if (first >= 0xf0 && first < 0xf5) {
    length = 4;
    value = first & 0x07u;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3fu);
  }
  if ((length == 3 && (value < 0x800 || (value >= 0xd800 && value < 0xe000))) || (length == 4 && (value < 0x10000 || value > 0x10ffff)))
    return 0;
  return length;
}

}  // namespace

std::string_view kind_name(DiagnosticKind kind) { return kKinds[static_cast<std::size_t>(kind)].name; }
Severity default_severity(DiagnosticKind kind) { return kKinds[static_cast<std::size_t>(kind)].severity; }
std::string_view kind_meaning(DiagnosticKind kind) { return kKinds[static_cast<std::size_t>(kind)].meaning; }

const std::vector<DiagnosticKind>& all_diagnostic_kinds() {
  static const std::vector<DiagnosticKind> kinds = [] {
    std::vector<DiagnosticKind> all;
    for (std::size_t i = 0; i < std::size(kKinds); ++i) all.push_back(static_cast<DiagnosticKind>(i));
    return all;
  }();
  return kinds;
}

std::optional<DiagnosticKind> kind_by_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kKinds); ++i)
    if (kKinds[i].name == name) return static_cast<DiagnosticKind>(i);
  return std::nullopt;
}

Diagnostic& DiagnosticSink::report(DiagnosticKind kind, SourceRange range, std::string message) {
  Diagnostic diagnostic{kind, default_severity(kind), range, std::move(message), {}, {}};
  const bool is_warning = diagnostic.severity == Severity::Warning;
  if (is_warning && options_.errors) diagnostic.severity = Severity::Error;
  const bool kept = !(is_warning && options_.disabled.count(kind)) && (diagnostic.severity != Severity::Error || errors_ < limit_);
  if (!(is_warning && options_.disabled.count(kind)) && diagnostic.severity == Severity::Error) ++errors_;
  if (!kept) {
    discarded_ = std::move(diagnostic);
    return discarded_;
  }
  diagnostics_.push_back(std::move(diagnostic));
  return diagnostics_.back();
}

std::string render_text(const SourceManager& sources, const std::vector<Diagnostic>& diagnostics, bool color) {
  std::string out;
  for (const Diagnostic& d : diagnostics) {
    append_message(out, sources, d.severity, d.range, d.message, kind_name(d.kind), color);
    for (const DiagnosticNote& note : d.notes) append_message(out, sources, Severity::Note, note.range, note.message, "", color);
    for (const FixIt& fix : d.fixes) {
      std::string text = fix.message;
      if (!fix.replacement.empty()) text += ": `" + fix.replacement + "`";
      append_message(out, sources, Severity::Note, fix.range, "fix: " + text, "", color);
    }
  }
  return out;
}

std::string render_json(const SourceManager& sources, const std::vector<Diagnostic>& diagnostics) {
  std::string out = "[";
  for (std::size_t i = 0; i < diagnostics.size(); ++i) {
    const Diagnostic& d = diagnostics[i];
    out += i ? ",\n " : "\n ";
    out += "{\"kind\":" + json_quote(kind_name(d.kind)) + ",\"severity\":" + json_quote(severity_word(d.severity)) +
           ",\"message\":" + json_quote(d.message);
    append_json_range(out, sources, d.range);
    out += ",\"notes\":[";
    for (std::size_t n = 0; n < d.notes.size(); ++n) {
      out += n ? "," : "";
      out += "{\"message\":" + json_quote(d.notes[n].message);
      append_json_range(out, sources, d.notes[n].range);
      out += "}";
    }
    out += "],\"fixes\":[";
    for (std::size_t n = 0; n < d.fixes.size(); ++n) {
      out += n ? "," : "";
      out += "{\"message\":" + json_quote(d.fixes[n].message) + ",\"replacement\":" + json_quote(d.fixes[n].replacement);
      append_json_range(out, sources, d.fixes[n].range);
      out += "}";
    }
    out += "]}";
  }
  return out + (diagnostics.empty() ? "]\n" : "\n]\n");
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\\ufffd";
      text.remove_prefix(1);
      continue;
    }
    if (length == 1) {
      switch (c) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\n': out += "\\n"; break;
        case '\t': out += "\\t"; break;
        case '\r': out += "\\r"; break;
        default:
          if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            std::array<char, 8> buffer{};
            std::snprintf(buffer.data(), buffer.size(), "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
            out += buffer.data();
          } else {
            out += c;
          }
      }
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out + "\"";
}

}  // namespace sarek
