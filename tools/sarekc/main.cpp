// sarekc: picks the verb. Without one, `sarekc INPUT...` compiles.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <new>

#include "tools/sarekc/command_line.h"

namespace {

using Verb = int (*)(std::vector<std::string>);

const std::map<std::string, std::pair<Verb, const char*>>& verbs() {
  static const std::map<std::string, std::pair<Verb, const char*>> table = {
      {"compile", {&sarek::tool::compile_verb, "compile to a package, or to what --emit names (the default verb)"}},
      {"check", {&sarek::tool::check_verb, "report errors and warnings, write nothing"}},
      {"run", {&sarek::tool::run_verb, "run a kernel on generated or given arguments"}},
      {"test", {&sarek::tool::test_verb, "run the tests written beside the kernels"}},
      {"fmt", {&sarek::tool::fmt_verb, "format source files"}},
      {"devices", {&sarek::tool::devices_verb, "list the devices that kernels can run on"}},
      {"explain", {&sarek::tool::explain_verb, "show or compare explain reports"}},
      {"policy", {&sarek::tool::policy_verb, "check, show, compare or edit a policy manifest"}},
  };
  return table;
}

int usage() {
  std::cout << "usage: sarekc [VERB] [OPTIONS] INPUT...\n\nverbs:\n";
  for (const auto& [name, verb] : verbs()) std::cout << "  " << name << std::string(10 - name.size(), ' ') << verb.second << "\n";
  std::cout << "\nwithout a verb:\n"
               "  --print-targets  list the targets that --target takes\n"
               "  --version        show the version\n"
               "  --help           show this\n";
  std::cout
      << "\n`sarekc VERB --help` lists a verb's options; `sarekc compile --help` those of a compile.\n"
         "Exit status: 0 done, 1 the input has errors, 2 the command line is wrong, 3 an environment fault, 70 a fault of the compiler.\n";
  return sarek::tool::kDone;
}

/// A word of letters that names no file: sources have an extension.
bool is_mistyped_verb(const std::string& word) {
  const bool letters = std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  std::error_code ignored;
  return letters && !std::filesystem::exists(word, ignored);
}

int run(int argc, char** argv) {
  sarek::Result<std::vector<std::string>> words = sarek::tool::expand_arguments(argc, argv);
  if (!words) return sarek::tool::complain(sarek::tool::kEnvironment, words.error().message);
  if (words->empty()) {
    usage();
    return sarek::tool::kUsage;
  }
  const std::string& first = words->front();
  if (first == "--help" || first == "-h" || first == "help") return usage();
  if (first == "--version") {
    std::cout << "sarekc " << SAREK_VERSION << "\n";
    return sarek::tool::kDone;
  }
  const auto verb = verbs().find(first);
  if (verb == verbs().end()) {
    if (is_mistyped_verb(first)) {
      std::string names;
      for (const auto& [name, row] : verbs()) names += (names.empty() ? "" : ", ") + name;
      return sarek::tool::complain(sarek::tool::kUsage, "`" + first + "` is neither a file nor a verb; the verbs are " + names);
    }
    return sarek::tool::compile_verb(std::move(words).value());
  }
  words->erase(words->begin());
  return verb->second.first(std::move(words).value());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int status = run(argc, argv);
    std::cout.flush();
    if (!std::cout) return std::max(status, sarek::tool::complain(sarek::tool::kEnvironment, "cannot write standard output"));
    return status;
  } catch (const std::bad_alloc&) {
    return sarek::tool::complain(sarek::tool::kEnvironment, "out of memory");
  } catch (const std::exception& e) {
    std::cerr << "sarekc: internal error: " << e.what() << "\nplease report this with the source and the output of `sarekc --version`\n";
    return sarek::tool::kCompilerFault;
  }
}
