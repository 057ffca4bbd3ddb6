// The examples of grammar/language.md: each fenced block tagged `sarek` parses, or is refused with the kind that it names. Types are
// checked by the folder that knows them.
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "compiler/syntax/format.h"
#include "compiler/syntax/test_support.h"

using namespace sarek;
using namespace sarek::syntax;
using namespace sarek::syntax::testing;

namespace {

struct Example {
  int line;
  std::string tag;
  std::string text;
};

std::vector<Example> examples() {
  std::ifstream in(std::string(SAREK_SOURCE_DIR) + "/grammar/language.md");
  REQUIRE(in);
  std::vector<Example> out;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) {
      if (!inside) out.push_back({number, line.substr(3), ""});
      inside = !inside;
    } else if (inside) {
      out.back().text += line + "\n";
    }
  }
  REQUIRE(!inside);
  return out;
}

// Kinds that the parser itself can report; an example of another kind must parse.
bool is_syntax_kind(DiagnosticKind kind) { return kind >= DiagnosticKind::SyntaxError && kind <= DiagnosticKind::InvalidTest; }

}  // namespace

TEST_CASE("every example of the language's documentation is what it says") {
  int compiled = 0;
  int refused = 0;
  for (const Example& example : examples()) {
    INFO("grammar/language.md:" << example.line);
    const Parsed parsed(example.text);
    INFO(parsed.errors());
    if (example.tag == "sarek compiles" || example.tag == "sarek parses") {
      CHECK(parsed.sink.diagnostics().empty());
      ++compiled;
    } else {
      REQUIRE(example.tag.starts_with("sarek error "));
      const auto kind = kind_by_name(example.tag.substr(12));
      REQUIRE(kind);
      if (is_syntax_kind(*kind)) {
        REQUIRE(parsed.sink.diagnostics().size() == 1);
        CHECK(parsed.sink.diagnostics()[0].kind == *kind);
      } else {
        CHECK(parsed.sink.diagnostics().empty());
      }
      ++refused;
    }
  }
  CHECK(compiled >= 10);
  CHECK(refused >= 5);
}

TEST_CASE("the examples of the documentation keep their trees when formatted") {
  for (const Example& example : examples()) {
    if (!example.tag.starts_with("sarek compiles")) continue;
    INFO("grammar/language.md:" << example.line);
    SourceManager sources;
    DiagnosticSink sink;
    const auto text = format(sources, sources.add("t.sarek", example.text), sink);
    REQUIRE(text);
    CHECK(Parsed(*text).dump() == Parsed(example.text).dump());
  }
}
