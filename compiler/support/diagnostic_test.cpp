#include "compiler/support/diagnostic.h"

#include <catch2/catch_test_macros.hpp>

using namespace sarek;

TEST_CASE("the text form shows the place, the kind, a caret line, notes and fixes") {
  SourceManager sources;
  const FileId file = sources.add("k.sarek", "let x = 1\nfoo(y);\n");
  DiagnosticSink sink;
  sink.report(DiagnosticKind::FileNotFound, {file, 14, 15}, "no such thing")
      .note({file, 4, 5}, "declared here")
      .fix({file, 9, 9}, ";", "end the statement");
  CHECK(render_text(sources, sink.diagnostics(), false) ==
        "k.sarek:2:5: error: no such thing [file-not-found]\n"
        " 2 | foo(y);\n"
        "   |     ^\n"
        "k.sarek:1:5: note: declared here\n"
        " 1 | let x = 1\n"
        "   |     ^\n"
        "k.sarek:1:10: note: fix: end the statement: `;`\n"
        " 1 | let x = 1\n"
        "   |          ^\n");
}

TEST_CASE("the JSON form has the same facts and escapes hostile text") {
  SourceManager sources;
  const FileId file = sources.add("k\"\x01.sarek", "abc");
  DiagnosticSink sink;
  sink.report(DiagnosticKind::InternalError, {file, 1, 2}, "bad \xff byte");
  const std::string json = render_json(sources, sink.diagnostics());
  CHECK(json.find("\"kind\":\"internal-error\"") != std::string::npos);
  CHECK(json.find("k\\\"\\u0001.sarek") != std::string::npos);
  CHECK(json.find("bad \\ufffd byte") != std::string::npos);
  CHECK(json.find("\"line\":1,\"column\":2,\"end_line\":1,\"end_column\":3,\"begin\":1,\"end\":2") != std::string::npos);
}

TEST_CASE("errors past the limit are counted but not kept") {
  DiagnosticSink sink({}, 2);
  for (int i = 0; i < 5; ++i) sink.report(DiagnosticKind::InternalError, {}, "x");
  CHECK(sink.error_count() == 5);
  CHECK(sink.diagnostics().size() == 2);
}

TEST_CASE("a caret at the end of the text or in a huge line stays in the shown window") {
  SourceManager sources;
  const FileId file = sources.add("k", std::string(100000, 'a'));
  DiagnosticSink sink;
  sink.report(DiagnosticKind::InternalError, {file, 100000, 100000}, "end");
  const std::string text = render_text(sources, sink.diagnostics(), false);
  CHECK(text.size() < 1000);
  CHECK(text.find('^') != std::string::npos);
}

TEST_CASE("every kind has a distinct stable name that is found again") {
  for (const DiagnosticKind kind : all_diagnostic_kinds()) CHECK(kind_by_name(kind_name(kind)) == kind);
}
