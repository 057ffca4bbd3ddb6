// The formatter's promises, on generated programs and on every .sarek file of the repository; and its layout on a few by hand.
#include "compiler/syntax/format.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/syntax/test_support.h"

using namespace sarek;
using namespace sarek::syntax;
using namespace sarek::syntax::testing;

namespace {

std::optional<std::string> formatted(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  return format(sources, sources.add("t.sarek", text), sink);
}

// Doc comments take part in the tree by their text; a formatter may strip their trailing space, so generated ones have none.
void check_promises(const std::string& text) {
  INFO("source:\n" << text);
  const std::optional<std::string> once = formatted(text);
  REQUIRE(once);
  INFO("formatted:\n" << *once);
  const Parsed before(text);
  const Parsed after(*once);
  INFO(after.errors());
  REQUIRE(after.sink.diagnostics().empty());
  REQUIRE(after.dump() == before.dump());
  REQUIRE(after.ast.comments.size() == before.ast.comments.size());
  const std::optional<std::string> twice = formatted(*once);
  REQUIRE(twice);
  REQUIRE(*twice == *once);
}

}  // namespace

TEST_CASE("formatting keeps the tree and the comments, and a second run changes nothing") {
  for (std::uint32_t seed = 0; seed < 1500; ++seed) check_promises(RandomSource(seed).file());
}

TEST_CASE("every .sarek file of the repository without faults keeps its tree") {
  std::size_t files = 0;
  for (const char* folder : {"samples", "tests"}) {
    const auto root = std::filesystem::path(SAREK_SOURCE_DIR) / folder;
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".sarek") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      if (!Parsed(text.str()).sink.diagnostics().empty()) continue;
      INFO(entry.path().string());
      check_promises(text.str());
      ++files;
    }
  }
  INFO(files);
}

TEST_CASE("layout") {
  const std::pair<const char*, const char*> kCases[] = {
      {"kernel   k( x:in[f32],y :out [f32] )block( 64 ){let i=global_id.x;y[i]=-x[i]*2.0;}",
       "kernel k(x: in [f32], y: out [f32]) block(64) {\n  let i = global_id.x;\n  y[i] = -x[i] * 2.0;\n}\n"},
      {"fn f(a:i32)->i32{a+1}", "fn f(a: i32) -> i32 { a + 1 }\n"},
      {"fn f() {\n\n\n  g();\n\n\n  h();\n\n}", "fn f() {\n  g();\n\n  h();\n}\n"},
      {"fn f() {\n  let x = a\n+ b;\n  g(\n1,\n2\n);\n}", "fn f() {\n  let x = a\n      + b;\n  g(\n    1,\n    2\n  );\n}\n"},
      {"fn f() { // why\n  g(); // what\n    // alone\n}", "fn f() {  // why\n  g();  // what\n  // alone\n}\n"},
      {"pipeline p(n: i32) { k <<n,2;64 >>( n ); }", "pipeline p(n: i32) { k<<n, 2; 64>>(n); }\n"},
      {"fn f(s:S)->i32{match s{a(x)=>x,\nb=>2}}", "fn f(s: S) -> i32 {\n  match s {\n    a(x) => x,\n    b => 2\n  }\n}\n"},
      {"fn f() { for i in 0 ..= 7 step - 1 { } }", "fn f() { for i in 0..=7 step -1 {} }\n"},
      {"", ""},
  };
  for (const auto& [source, wanted] : kCases) {
    INFO(source);
    const std::optional<std::string> out = formatted(source);
    REQUIRE(out);
    CHECK(*out == wanted);
  }
}

TEST_CASE("a file with faults is left alone") {
  SourceManager sources;
  DiagnosticSink sink;
  CHECK(!format(sources, sources.add("t.sarek", "fn f( {}"), sink));
  CHECK(sink.error_count() == 1);
}
