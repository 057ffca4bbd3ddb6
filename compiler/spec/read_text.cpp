// The reader, then the verifier, with failures turned into diagnostics.
#include "compiler/spec/read_text.h"

#include <map>

#include "compiler/ir/printer.h"
#include "compiler/spec/verify.h"

namespace sarek::spec {

std::optional<std::vector<ir::Program>> read_programs(SourceManager& sources, FileId file, DiagnosticSink& sink,
                                                      const ir::TextLimits& limits) {
  std::vector<std::vector<SourceRange>> lines;
  std::optional<std::vector<ir::Program>> programs = ir::parse_program_text(sources, file, sink, limits, &lines);
  if (!programs) return std::nullopt;
  bool whole = true;
  std::map<std::string, SourceRange> names;
  for (std::size_t n = 0; n < programs->size(); ++n) {
    const ir::Program& p = (*programs)[n];
    const auto [first, is_new] = names.emplace(p.name, p.range);
    if (!is_new) {
      sink.report(DiagnosticKind::IrInvalid, p.range, "two programs have the name " + ir::quote(p.name))
          .note(first->second, "the first one stands here");
      whole = false;
    }
    for (const ProgramFailure& f : verify_program(p)) {
      sink.report(DiagnosticKind::IrInvalid, f.position >= 0 ? lines[n][static_cast<std::size_t>(f.position)] : p.range,
                  f.message + " (" + f.rule + ")");
      whole = false;
    }
  }
  if (!whole) return std::nullopt;
  return programs;
}

}  // namespace sarek::spec
