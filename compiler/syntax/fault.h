// Syntax faults on their way to the sink. Lexer, filter, parser and tree builder find theirs in separate passes; a user reads them in
// the order of the text, so they are gathered here and reported together.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/support/diagnostic.h"

namespace sarek::syntax {

class Faults {
 public:
  /// Nobody reads more, and the passes may then look through all of them at each item.
  static constexpr std::size_t kMost = 1000;

  /// Adds an error. The reference stays valid until the next one.
  Diagnostic& add(DiagnosticKind kind, SourceRange range, std::string message) {
    Diagnostic diagnostic;
    diagnostic.kind = kind;
    diagnostic.range = range;
    diagnostic.message = std::move(message);
    if (full()) return discarded_ = std::move(diagnostic);
    faults_.push_back(std::move(diagnostic));
    return faults_.back();
  }
  bool full() const { return faults_.size() >= kMost; }
  bool any_in(std::uint32_t begin, std::uint32_t end) const {
    for (const Diagnostic& fault : faults_)
      if (fault.range.begin >= begin && fault.range.begin <= end) return true;
    return false;
  }
  /// Where the faults found so far begin.
  std::vector<std::uint32_t> places() const {
    std::vector<std::uint32_t> out;
    for (const Diagnostic& fault : faults_) out.push_back(fault.range.begin);
    return out;
  }
  /// Hands everything to the sink in the order of the text.
  void report(DiagnosticSink& sink);

 private:
  std::vector<Diagnostic> faults_;
  Diagnostic discarded_{};
};

}  // namespace sarek::syntax
