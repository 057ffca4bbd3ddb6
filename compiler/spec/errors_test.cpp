// Every refusal of the IR's text form: the files of tests/errors/ir against the expectations inside them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler/spec/read_text.h"

using namespace sarek;
namespace fs = std::filesystem;

TEST_CASE("files in tests/errors/ir are refused as they say") {
  std::vector<fs::path> files;
  for (const fs::directory_entry& e : fs::directory_iterator(std::string(SAREK_SOURCE_DIR) + "/tests/errors/ir"))
    if (e.path().extension() == ".sir") files.push_back(e.path());
  std::sort(files.begin(), files.end());
  std::set<std::string> seen;
  for (const fs::path& path : files) {
    std::ifstream in(path);
    std::stringstream stream;
    stream << in.rdbuf();
    ir::TextLimits limits;
    std::vector<std::string> expected;
    std::string line;
    for (std::istringstream lines(stream.str()); std::getline(lines, line);) {
      if (!line.starts_with("#! ")) continue;
      line.erase(0, 3);
      if (line.starts_with("with list=")) {
        limits.list = std::stoul(line.substr(10));
      } else {
        expected.push_back(line);
      }
    }
    SourceManager sources;
    DiagnosticSink sink;
    const auto programs = spec::read_programs(sources, sources.add(path.filename().string(), stream.str()), sink, limits);
    INFO(render_text(sources, sink.diagnostics(), false));
    CHECK_FALSE(programs);
    REQUIRE_FALSE(expected.empty());
    REQUIRE(sink.diagnostics().size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Diagnostic& d = sink.diagnostics()[i];
      const LineColumn at = sources.line_column(d.range.file, d.range.begin);
      const std::string head = std::string(kind_name(d.kind)) + " " + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
      INFO(expected[i]);
      CHECK(expected[i].substr(0, head.size()) == head);
      CHECK(d.message.find(expected[i].substr(std::min(head.size(), expected[i].size()))) != std::string::npos);
      seen.insert(std::string(kind_name(d.kind)));
    }
  }
  for (const DiagnosticKind kind : {DiagnosticKind::IrSyntax, DiagnosticKind::IrInvalid, DiagnosticKind::IrLimit}) {
    INFO(kind_name(kind) << " has no case in tests/errors/ir");
    CHECK(seen.count(std::string(kind_name(kind))) == 1);
  }
}
