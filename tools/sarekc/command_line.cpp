#include "tools/sarekc/command_line.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <iterator>

#include "policy/store.h"
#include "tools/sarekc/array_file.h"

namespace sarek::tool {
namespace {

constexpr int kMaxResponseDepth = 8;

/// The words of a response file: white space separates, single and double quotes group, a backslash takes the next character as it is.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
      else word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

Result<Unit> expand_into(std::vector<std::string>& out, const std::vector<std::string>& words, int depth) {
  for (const std::string& word : words) {
    if (word.size() > 1 && word.front() == '@') {
      if (depth >= kMaxResponseDepth) return err("response files are nested too deeply at `" + word + "`");
      const Result<std::vector<std::uint8_t>> text = read_file(word.substr(1));
      if (!text) return Err(text.error());
      if (const Result<Unit> r = expand_into(out, words_of(std::string(text->begin(), text->end())), depth + 1); !r) return r;
    } else if (word == "-MD") {
      out.emplace_back("--write-dependencies");
    } else if (word == "-M") {
      out.emplace_back("--only-dependencies");
    } else if (word == "-MF") {
      out.emplace_back("--dependency-file");
    } else if (word == "-MT") {
      out.emplace_back("--dependency-target");
    } else {
      out.push_back(word);
    }
  }
  return Unit{};
}

Result<WarningOptions> warning_options(const std::vector<std::string>& names) {
  WarningOptions options;
  for (const std::string& name : names) {
    if (name == "all") {
      options.all = true;
    } else if (name == "error") {
      options.errors = true;
    } else {
      const bool off = name.substr(0, 3) == "no-";
      const std::string kind_text = off ? name.substr(3) : name;
      const std::optional<DiagnosticKind> kind = kind_by_name(kind_text);
      if (!kind || default_severity(*kind) != Severity::Warning) return err("there is no warning `" + kind_text + "`");
      if (off) options.disabled.insert(*kind);
      else options.disabled.erase(*kind);
    }
  }
  return options;
}

}  // namespace

Result<std::vector<std::string>> expand_arguments(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::vector<std::string> out;
  if (const Result<Unit> r = expand_into(out, words, 0); !r) return Err(r.error());
  return out;
}

void CompileOptions::add_to(CLI::App& app, bool with_targets) {
  app.add_option("INPUT", inputs, "source file (.sarek or .sir); - is standard input")->required();
  if (with_targets) app.add_option("--target", targets, "comma list: native[:LEVEL], opencl, interp, host (default native)");
  app.add_option("-I", include_dirs, "folder that imports are looked for in")->allow_extra_args(false);
  app.add_option("-D", defines, "NAME=VALUE: gives a constant its value")->allow_extra_args(false);
  app.add_option("-W", warnings, "all, error, NAME or no-NAME")->allow_extra_args(false);
  app.add_option("-O", opt_level, "optimisation level, 0 to 3")->check(CLI::IsMember({"0", "1", "2", "3"}))->take_last();
  app.add_option("--policy", policy_file, "manifest (default: sarek.policy.json beside the input or above it)");
  app.add_option("--policy-source", policy_sources, "another source whose kernels the manifest may name")->allow_extra_args(false);
  app.add_flag("--no-policy", no_policy, "use no manifest");
  app.add_flag("-g", debug_info, "line information");
  app.add_flag("--checked", checked, "check bounds and divisions at run time");
  app.add_option("--diagnostics", diagnostics, "text or json")->check(CLI::IsMember({"text", "json"}));
  app.add_option("--color", color, "auto, always or never")->check(CLI::IsMember({"auto", "always", "never"}));
}

Result<driver::Request> CompileOptions::request(const std::string& input) const {
  driver::Request request;
  request.input_name = input;
  if (input == "-") {
    request.input_name = "<stdin>";
    request.input_text = std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  for (const std::string& list : targets) {
    const Result<std::vector<driver::Target>> parsed = driver::parse_targets(list);
    if (!parsed) return Err(parsed.error());
    for (const driver::Target& t : *parsed)
      if (std::find(request.targets.begin(), request.targets.end(), t) == request.targets.end()) request.targets.push_back(t);
  }
  Result<WarningOptions> warned = warning_options(warnings);
  if (!warned) return Err(warned.error());
  request.warnings = std::move(warned).value();
  request.include_dirs = include_dirs;
  request.defines = defines;
  request.opt_level = opt_level[0] - '0';
  request.debug_info = debug_info;
  request.checked = checked;
  request.use_policy = !no_policy;
  request.policy_file = policy_file;
  request.policy_sources = policy_sources;
  for (const std::string& other : inputs)
    if (other != input && other != "-") request.policy_sources.push_back(other);
  request.environment = policy_environment();
  return request;
}

policy::Environment policy_environment() {
  policy::process_store();  // warns of unknown items, once; the runtime asks the same store
  return policy::Environment::of_this_process();
}

bool parse(CLI::App& app, std::vector<std::string> words, int& status) {
  try {
    // CLI11 takes the words last first.
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(std::move(reversed));
    return true;
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e, std::cout, std::cerr);
    status = code == 0 ? kDone : kUsage;
    return false;
  }
}

bool knows_subcommand(CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with("-")) return true;
  const std::vector<CLI::App*> known = app.get_subcommands([&](CLI::App* sub) { return sub->get_name() == words.front(); });
  return !known.empty();
}

DiagnosticOutput::~DiagnosticOutput() {
  if (opened_) std::cerr << (any_ ? "\n]\n" : "]\n");
}

void DiagnosticOutput::show(const driver::Compilation& compilation) {
  const std::vector<Diagnostic>& list = compilation.diagnostics.diagnostics();
  if (options_.diagnostics == "json") {
    std::cerr << (opened_ ? "" : "[");
    opened_ = true;
    if (list.empty()) return;
    const std::string text = render_json(compilation.sources, list);  // "[" ENTRIES "\n]\n"
    std::cerr << (any_ ? "," : "") << text.substr(1, text.size() - 4);
    any_ = true;
    return;
  }
  const bool color = options_.color == "always" || (options_.color == "auto" && isatty(STDERR_FILENO) != 0);
  std::cerr << render_text(compilation.sources, list, color);
  if (compilation.internal_fault)
    std::cerr << "this is a fault of sarekc, not of your source; please report it with the source and the output of `sarekc --version`\n";
}

int exit_status(const driver::Compilation& compilation) {
  if (compilation.internal_fault) return kCompilerFault;
  bool environment = false;
  bool input = false;
  for (const Diagnostic& d : compilation.diagnostics.diagnostics()) {
    if (d.severity != Severity::Error) continue;
    const bool is_environment = (d.kind == DiagnosticKind::FileNotFound && !d.range) || d.kind == DiagnosticKind::ToolMissing;
    (is_environment ? environment : input) = true;
  }
  if (input || (compilation.diagnostics.has_errors() && !environment)) return kInputErrors;
  return environment ? kEnvironment : kDone;
}

int complain(int status, const std::string& message) {
  std::cerr << "sarekc: error: " << message << "\n";
  return status;
}

std::string with_extension(const std::string& name, const std::string& extension) {
  if (name == "-") return "out" + extension;
  const std::size_t slash = name.find_last_of('/');
  const std::size_t dot = name.find_last_of('.');
  const bool has_extension = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  return (has_extension ? name.substr(0, dot) : name) + extension;
}

}  // namespace sarek::tool
