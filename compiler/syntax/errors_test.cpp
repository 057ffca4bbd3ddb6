// Faults: every file of tests/errors/syntax, fix-its that mend what they are attached to, and input that tries to break the parser.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler/syntax/test_support.h"

using namespace sarek;
using namespace sarek::syntax;
using namespace sarek::syntax::testing;

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// "kind line:column" of each error, in the order of the report.
std::vector<std::string> places(const Parsed& parsed) {
  std::vector<std::string> out;
  for (const Diagnostic& d : parsed.sink.diagnostics()) {
    const LineColumn at = parsed.sources.line_column(d.range.file, d.range.begin);
    out.push_back(std::string(kind_name(d.kind)) + " " + std::to_string(at.line) + ":" + std::to_string(at.column));
  }
  return out;
}

}  // namespace

TEST_CASE("each file of tests/errors/syntax is refused as it says") {
  std::set<std::string> kinds;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(SAREK_SOURCE_DIR) / "tests/errors/syntax")) {
    if (entry.path().extension() != ".sarek") continue;
    INFO(entry.path().filename().string());
    ++files;
    const std::string text = read(entry.path());
    std::vector<std::string> expected_places;
    std::vector<std::string> expected_messages;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("//! ")) continue;
      const std::size_t kind_end = line.find(' ', 4);
      const std::size_t place_end = line.find(' ', kind_end + 1);
      REQUIRE(place_end != std::string::npos);
      kinds.insert(line.substr(4, kind_end - 4));
      expected_places.push_back(line.substr(4, place_end - 4));
      expected_messages.push_back(line.substr(place_end + 1));
    }
    REQUIRE(!expected_places.empty());
    const Parsed parsed(text);
    INFO(parsed.errors());
    REQUIRE(places(parsed) == expected_places);
    for (std::size_t i = 0; i < expected_messages.size(); ++i) {
      INFO(expected_messages[i]);
      CHECK(parsed.sink.diagnostics()[i].message.find(expected_messages[i]) != std::string::npos);
    }
  }
  CHECK(files >= 20);
  for (const DiagnosticKind kind :
       {DiagnosticKind::SyntaxError, DiagnosticKind::MissingToken, DiagnosticKind::UnmatchedBracket, DiagnosticKind::InvalidEncoding,
        DiagnosticKind::InvalidCharacter, DiagnosticKind::InvalidNumber, DiagnosticKind::NumberTooLarge, DiagnosticKind::UnterminatedString,
        DiagnosticKind::InvalidEscape, DiagnosticKind::UnterminatedComment, DiagnosticKind::NestingTooDeep, DiagnosticKind::ComparisonChain,
        DiagnosticKind::AmbiguousPrecedence, DiagnosticKind::InvalidAssignment, DiagnosticKind::InvalidPattern,
        DiagnosticKind::KernelReturnsValue, DiagnosticKind::InvalidTest}) {
    INFO(kind_name(kind));
    CHECK(kinds.contains(std::string(kind_name(kind))));
  }
}

TEST_CASE("applying a fix-it mends the fault") {
  for (const char* text :
       {"fn f() {\n  let x = 1\n  g(x);\n}\n", "fn f() { let x = (1 + 2; }\n", "fn f() { g(1)); }\n", "fn f() -> bool { a & 1 == b }\n",
        "fn f() { let x = 1 }\n", "fn f() { g(1,, 2); }\n", "const N: i32 = 3\nfn f() {}\n"}) {
    INFO(text);
    const Parsed broken(text);
    REQUIRE(broken.sink.diagnostics().size() == 1);
    REQUIRE(broken.sink.diagnostics()[0].fixes.size() == 1);
    const FixIt& fix = broken.sink.diagnostics()[0].fixes[0];
    std::string mended = text;
    mended.replace(fix.range.begin, fix.range.end - fix.range.begin, fix.replacement);
    const Parsed again(mended);
    INFO(again.errors());
    CHECK(again.sink.diagnostics().empty());
  }
}

TEST_CASE("what stands around a fault keeps its tree") {
  const Parsed parsed("fn a() { let x = 1; let y = ; let z = 3; }\nfn b() -> i32 { 4 }\n");
  REQUIRE(parsed.sink.error_count() == 1);
  REQUIRE(parsed.ast.items.size() == 2);
  CHECK(parsed.ast.items[0]->broken);
  CHECK(!parsed.ast.items[1]->broken);
  const auto& body = *parsed.ast.items[0]->as<FunctionItem>().body;
  REQUIRE(body.statements.size() == 3);
  CHECK(body.statements[0]->kind == StmtKind::Let);
  CHECK(body.statements[1]->kind == StmtKind::Error);
  CHECK(body.statements[2]->kind == StmtKind::Let);
}

TEST_CASE("a fault inside a nested body does not hide the others") {
  const Parsed parsed("fn f(n: i32) {\n  for i in 0..n {\n    let a = ;\n    if a < b < c { }\n    while x { y = * 2; }\n  }\n}\n");
  CHECK(places(parsed) == std::vector<std::string>{"syntax-error 3:13", "comparison-chain 4:14", "syntax-error 5:19"});
}

TEST_CASE("hostile nesting is refused, not crashed into") {
  const auto repeated = [](std::string_view what, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += what;
    return out;
  };
  for (const std::string& text :
       {"fn f() { let x = " + repeated("(", 100000) + "; }", "fn f() { let x = " + repeated("[", 100000) + "; }",
        "fn f() " + repeated("{", 100000), "fn f() { let x = " + repeated("if ", 100000) + "; }",
        "fn f() { let x = " + repeated("match ", 100000) + "; }", "fn f() { let x: " + repeated("[", 100000) + "; }",
        "fn f(x: " + repeated("A<", 500) + "i32" + repeated(">", 500) + ") {}", "fn f() { let x = " + repeated("-", 100000) + "1; }",
        "fn f() { let x = 1" + repeated(" + 1", 100000) + "; }", "fn f() { let x = a" + repeated(".b", 100000) + "; }",
        "fn f() { let x = a" + repeated(" as i32", 100000) + "; }", "fn f() { " + repeated("if a { } else ", 100000) + "{ } }",
        "fn f() { let x = a" + repeated("(1)", 100000) + "; }"}) {
    INFO(text.substr(0, 60));
    const Parsed parsed(text);
    REQUIRE(!parsed.sink.diagnostics().empty());
    bool deep = false;
    for (const Diagnostic& d : parsed.sink.diagnostics()) deep |= d.kind == DiagnosticKind::NestingTooDeep;
    CHECK(deep);
  }
}

TEST_CASE("hostile tokens are survived") {
  CHECK(Parsed("fn " + std::string(1 << 20, 'x') + "() {}").sink.diagnostics().empty());
  CHECK(Parsed("const N: i32 = " + std::string(1 << 20, '0') + "1;").sink.diagnostics().empty());
  CHECK(Parsed("const N: i32 = " + std::string(1 << 20, '9') + ";").sink.error_count() == 1);
  CHECK(Parsed("// " + std::string(1 << 20, 'x')).sink.diagnostics().empty());
  CHECK(Parsed(std::string(1 << 16, '}')).sink.error_count() == 1);
  CHECK(Parsed(std::string(1 << 16, '?')).sink.error_count() == 1);
  CHECK(Parsed("").sink.diagnostics().empty());
  // A byte order mark means nothing at the start, and is no character anywhere else.
  CHECK(Parsed("\xef\xbb\xbf"
               "fn f() {}")
            .sink.diagnostics()
            .empty());
  CHECK(Parsed("fn f() \xef\xbb\xbf{}").sink.error_count() == 1);
}

TEST_CASE("the time for hostile text grows with its length only") {
  // Quadratic work on any of these takes minutes; the test's time limit then fails it.
  const auto repeated = [](std::string_view what, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += what;
    return out;
  };
  CHECK(Parsed(repeated("/* ", 200000)).sink.error_count() == 1);
  CHECK(Parsed("pipeline p() { " + repeated("k<<1; ", 20000) + "}").sink.has_errors());
  CHECK(Parsed(repeated("fn f(){;)}", 20000)).sink.has_errors());
  CHECK(Parsed("fn f() { " + repeated("a ) ", 20000) + "}").sink.has_errors());
  CHECK(Parsed("fn f() { " + repeated("a < ", 20000) + "}").sink.has_errors());
  CHECK(Parsed(repeated("\"\"\"", 20001)).sink.has_errors());
  CHECK(Parsed(repeated("/// doc\n", 50000) + "fn f() {}").sink.diagnostics().empty());
  CHECK(Parsed("fn f() { g(" + repeated("1,", 50000) + "); }").sink.diagnostics().empty());
}

TEST_CASE("invalid UTF-8 is found at its first byte") {
  for (const auto& [text, column] : {std::pair<std::string, std::uint32_t>{"// \xc0\xaf", 4},
                                     {"// \xed\xa0\x80", 4},
                                     {"// \xf4\x90\x80\x80", 4},
                                     {"// \xe2\x82", 4},
                                     {"// \xff", 4},
                                     {"// \xc3\xa9 \x80", 7},
                                     {"// \xf0\x80\x80\x80", 4}}) {
    const Parsed parsed(text);
    REQUIRE(parsed.sink.diagnostics().size() == 1);
    CHECK(parsed.sink.diagnostics()[0].kind == DiagnosticKind::InvalidEncoding);
    CHECK(parsed.sources.line_column(parsed.file, parsed.sink.diagnostics()[0].range.begin).column == column);
  }
  CHECK(Parsed("// \xe2\x82\xac \xf0\x9f\x98\x80 \xc3\xa9").sink.diagnostics().empty());
}

TEST_CASE("random damage never crashes the parser and always leaves a tree") {
  std::mt19937 random(7);
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::string text = RandomSource(seed).file();
    for (int k = 0; k < 3 && !text.empty(); ++k) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text.erase(at, 1 + random() % 5); break;
        case 1: text.insert(at, 1, "(){}[]<>;,.=+-*/&|\"'?$0aif"[random() % 26]); break;
        default: std::swap(text[at], text[random() % text.size()]); break;
      }
    }
    const Parsed parsed(text);
    CHECK(parsed.dump().size() < (1u << 22));
    for (const Diagnostic& d : parsed.sink.diagnostics()) {
      CHECK(d.range.begin <= d.range.end);
      CHECK(d.range.end <= text.size());
      CHECK(!d.message.empty());
    }
  }
}
