// compiler/ir/README.md stays true: its example is read and verified, its files exist, and "how to add an op" stays short.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "compiler/ir/printer.h"
#include "compiler/spec/read_text.h"

using namespace sarek;

namespace {
std::string read(const std::string& path) {
  std::ifstream in(std::string(SAREK_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}
}  // namespace

TEST_CASE("the examples of the IR's README are whole programs in the printer's form") {
  const std::string readme = read("compiler/ir/README.md");
  int examples = 0;
  for (std::size_t at = readme.find("```sir\n"); at != std::string::npos; at = readme.find("```sir\n", at + 1)) {
    const std::size_t begin = at + 7, end = readme.find("```", begin);
    SourceManager sources;
    DiagnosticSink sink;
    const auto programs = spec::read_programs(sources, sources.add("README.md", readme.substr(begin, end - begin)), sink);
    INFO(render_text(sources, sink.diagnostics(), false));
    REQUIRE(programs);
    REQUIRE(programs->size() == 1);
    std::string written = std::regex_replace(sources.text(FileId(0)).data(), std::regex(" *#[^\n]*"), "");
    CHECK("sarek-ir 1\n" + ir::print(programs->front()) == written);
    ++examples;
  }
  CHECK(examples == 1);
}

TEST_CASE("the IR's README names files that exist and is a page") {
  const std::string readme = read("compiler/ir/README.md");
  CHECK(std::count(readme.begin(), readme.end(), '\n') <= 60);
  const std::regex file("`([a-z_/]+\\.(h|cpp|def))`");
  int files = 0;
  for (auto it = std::sregex_iterator(readme.begin(), readme.end(), file); it != std::sregex_iterator(); ++it) {
    const std::string name = (*it)[1];
    INFO(name);
    const std::string root = SAREK_SOURCE_DIR;
    const bool exists = std::filesystem::exists(root + "/" + name) || std::filesystem::exists(root + "/compiler/ir/" + name) ||
                        std::filesystem::exists(root + "/compiler/spec/" + name);
    CHECK(exists);
    ++files;
  }
  CHECK(files > 10);
}
