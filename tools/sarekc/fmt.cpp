// sarekc fmt: canonical layout of source files, in place, to standard output, or as a check.
#include <iostream>
#include <iterator>

#include "compiler/syntax/format.h"
#include "tools/sarekc/array_file.h"
#include "tools/sarekc/command_line.h"

namespace sarek::tool {

int fmt_verb(std::vector<std::string> words) {
  CLI::App app("formats source files in place; only white space changes", "sarekc fmt");
  std::vector<std::string> inputs;
  bool check = false;
  bool to_stdout = false;
  app.add_option("INPUT", inputs, "source files; - formats standard input to standard output")->required();
  app.add_flag("--check", check, "write nothing; exit 1 and name the files that are not formatted");
  app.add_flag("--stdout", to_stdout, "write to standard output");
  int status = kDone;
  if (!parse(app, std::move(words), status)) return status;
  for (const std::string& input : inputs) {
    std::string text;
    if (input == "-") {
      text.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
    } else {
      const Result<std::vector<std::uint8_t>> bytes = read_file(input);
      if (!bytes) return complain(kEnvironment, bytes.error().message);
      text.assign(bytes->begin(), bytes->end());
    }
    SourceManager sources;
    DiagnosticSink sink;
    const FileId file = sources.add(input == "-" ? "<stdin>" : input, text);
    const std::optional<std::string> formatted = syntax::format(sources, file, sink);
    if (!formatted) {
      std::cerr << render_text(sources, sink.diagnostics(), false);
      status = kInputErrors;
    } else if (check) {
      if (*formatted == text) continue;
      std::cout << input << " is not formatted\n";
      status = kInputErrors;
    } else if (input == "-" || to_stdout) {
      std::cout << *formatted;
    } else if (*formatted != text) {
      if (const Result<Unit> done = replace_file(input, formatted->data(), formatted->size()); !done)
        return complain(kEnvironment, done.error().message);
    }
  }
  return status;
}

}  // namespace sarek::tool
