// Diagnostics: what the user did wrong, where, and what would mend it. Kinds stand in diagnostics.def; this header has the values
// and the two renderings (text with carets, JSON). Who decides what to say is in the folder that found the fault.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/source.h"

namespace sarek {

enum class Severity : std::uint8_t { Error, Warning, Note };

enum class DiagnosticKind : std::uint16_t {
#define SAREK_DIAGNOSTIC(name, kind, severity, meaning) name,
#include "compiler/support/diagnostics.def"
};

/// The stable name that stands in brackets, for example "barrier-in-divergent-flow".
std::string_view kind_name(DiagnosticKind kind);
Severity default_severity(DiagnosticKind kind);
std::string_view kind_meaning(DiagnosticKind kind);
/// Every kind, in the order of the table.
const std::vector<DiagnosticKind>& all_diagnostic_kinds();
std::optional<DiagnosticKind> kind_by_name(std::string_view name);

/// A second place that explains the first: "note: `t` varies between threads here".
struct DiagnosticNote {
  SourceRange range;
  std::string message;
};

/// A change of the source that would mend the fault: replace `range` (empty: insert at begin) by `replacement`.
struct FixIt {
  SourceRange range;
  std::string replacement;
  std::string message;
};

struct Diagnostic {
  DiagnosticKind kind;
  Severity severity = Severity::Error;
  SourceRange range;
  std::string message;  // lower case, one sentence, no full stop
  std::vector<DiagnosticNote> notes;
  std::vector<FixIt> fixes;

  Diagnostic& note(SourceRange at, std::string text) {
    notes.push_back({at, std::move(text)});
    return *this;
  }
  Diagnostic& fix(SourceRange at, std::string replacement, std::string text) {
    fixes.push_back({at, std::move(replacement), std::move(text)});
    return *this;
  }
};

/// Which warnings are on, and whether they count as errors.
struct WarningOptions {
  bool all = false;     // -Wall
  bool errors = false;  // -Werror
  std::set<DiagnosticKind> disabled;
};

/// Collects diagnostics in the order of their report. At most `limit` errors are kept; the rest are counted.
class DiagnosticSink {
 public:
  explicit DiagnosticSink(WarningOptions options = {}, std::size_t limit = 100) : options_(std::move(options)), limit_(limit) {}

  /// Reports with the kind's default severity. The reference stays valid until the next report. A disabled warning is
  /// returned to the caller but not kept.
  Diagnostic& report(DiagnosticKind kind, SourceRange range, std::string message);

  bool has_errors() const { return errors_ != 0; }
  std::size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  WarningOptions options_;
  std::size_t limit_;
  std::size_t errors_ = 0;
  std::vector<Diagnostic> diagnostics_;
  Diagnostic discarded_{};
};

/// Text form: "file:line:column: error: message [kind]", the line, a caret line, notes, fix-its.
std::string render_text(const SourceManager& sources, const std::vector<Diagnostic>& diagnostics, bool color);
/// JSON form, an array with the same facts: kind, severity, message, file, line, column, end_line, end_column, offsets, notes, fixes.
std::string render_json(const SourceManager& sources, const std::vector<Diagnostic>& diagnostics);
/// `text` as a JSON string, quotes included. Invalid UTF-8 becomes U+FFFD.
std::string json_quote(std::string_view text);

}  // namespace sarek
