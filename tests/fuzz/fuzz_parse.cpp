// libFuzzer target: any bytes through the parser, and what parses through the formatter. Looks for crashes, hangs, ranges outside the
// text, and broken promises of the formatter. Seeds: samples/, tests/errors/ and the examples of the documentation.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "compiler/syntax/format.h"
#include "compiler/syntax/parse.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sarek;
  const std::string text(reinterpret_cast<const char*>(data), size);
  SourceManager sources;
  const FileId file = sources.add("fuzz.sarek", text);
  DiagnosticSink sink;
  const syntax::Ast ast = syntax::parse(sources, file, sink);
  const std::string tree = syntax::dump_ast(sources, ast, false);
  for (const Diagnostic& d : sink.diagnostics()) {
    require(d.range.begin <= d.range.end && d.range.end <= size);
    for (const DiagnosticNote& note : d.notes) require(note.range.end <= size);
    for (const FixIt& fix : d.fixes) require(fix.range.begin <= fix.range.end && fix.range.end <= size);
  }
  (void)render_text(sources, sink.diagnostics(), false);
  if (sink.has_errors()) return 0;
  const auto once = syntax::format(sources, file, sink);
  require(once.has_value());
  const FileId formatted = sources.add("formatted.sarek", *once);
  require(syntax::dump_ast(sources, syntax::parse(sources, formatted, sink), false) == tree);
  require(!sink.has_errors());
  const auto twice = syntax::format(sources, formatted, sink);
  require(twice.has_value() && *twice == *once);
  return 0;
}
