// sarekc compile and sarekc check: one artifact a source, with its dependencies, its explain report and its header.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "compiler/driver/header.h"
#include "compiler/passes/pipeline.h"
#include "tools/sarekc/array_file.h"
#include "tools/sarekc/command_line.h"
#include "tools/sarekc/explain_output.h"

namespace sarek::tool {
namespace {

struct OutputOptions {
  std::string output;
  std::string emit = "package";
  std::string header;
  std::string name_space;
  std::string explain;
  std::string explain_file;
  std::string dump_after, stop_after;
  std::string depfile;
  std::vector<std::string> depfile_targets;
  bool write_dependencies = false;
  bool only_dependencies = false;
  bool time_report = false;
};

const std::map<std::string, std::pair<driver::Emit, const char*>>& emit_kinds() {
  static const std::map<std::string, std::pair<driver::Emit, const char*>> kinds = {
      {"package", {driver::Emit::Package, ".sarek.pkg"}},
      {"source", {driver::Emit::Source, nullptr}},
      {"ir", {driver::Emit::Ir, nullptr}},
      {"ast", {driver::Emit::Ast, nullptr}},
      {"asm", {driver::Emit::Asm, nullptr}},
      {"llvm-ir", {driver::Emit::LlvmIr, nullptr}},
      {"object", {driver::Emit::Object, ".o"}},
      {"header", {driver::Emit::Header, ".sarek.hpp"}},
      {"metadata", {driver::Emit::Metadata, nullptr}},
  };
  return kinds;
}

/// A path as a make rule spells it.
std::string make_escape(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == ' ' || c == '#' || c == '\\') out += '\\';
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

std::string dependency_rule(const std::vector<std::string>& targets, const std::vector<std::string>& dependencies) {
  std::string text;
  for (const std::string& target : targets) text += (text.empty() ? "" : " ") + make_escape(target);
  text += ":";
  for (const std::string& d : dependencies) text += " \\\n  " + make_escape(d);
  text += "\n";
  // A phony rule each, so that a deleted import does not break the build.
  for (std::size_t i = 1; i < dependencies.size(); ++i) text += make_escape(dependencies[i]) + ":\n";
  return text;
}

Result<Unit> write_output(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  if (path == "-") {
    std::cout.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    std::cout.flush();
    if (!std::cout) return err("cannot write standard output");
    return Unit{};
  }
  return replace_file(path, bytes.data(), bytes.size());  // a build that is stopped leaves no half of a package
}

/// The files that a compile of `input` writes; "-" is standard output.
struct Outputs {
  std::string output;
  std::string depfile;  // empty: none
  std::string rule;     // what the dependency file is about, without -MT
};

Outputs outputs_of(const OutputOptions& o, const std::string& input) {
  const char* extension = emit_kinds().at(o.emit).second;
  Outputs out;
  out.output = !o.output.empty() ? o.output : extension ? with_extension(input, extension) : "-";
  // Where the output has no name of its own, the input gives one.
  out.rule = out.output != "-" ? out.output : with_extension(input, extension ? extension : ".sarek.pkg");
  if (o.only_dependencies || o.write_dependencies)
    out.depfile = !o.depfile.empty() ? o.depfile : o.only_dependencies ? "-" : with_extension(out.rule, ".d");
  return out;
}

/// Nothing when every input is left alone and no file is written twice; else what is wrong. Names are compared as files: a/../b is b.
std::string clobbered(const CompileOptions& compile, const OutputOptions& o) {
  const auto as_file = [](const std::string& path) {
    std::error_code ignored;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(path, ignored);
    return whole.empty() ? path : whole.string();
  };
  const auto is_special = [](const std::string& path) {
    std::error_code ignored;
    return path.empty() || path == "-" || (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored));
  };
  std::set<std::string> inputs;
  for (const std::string& input : compile.inputs)
    if (input != "-") inputs.insert(as_file(input));
  if (!compile.policy_file.empty()) inputs.insert(as_file(compile.policy_file));
  std::set<std::string> written;
  std::string fault;
  const auto add = [&](const std::string& path) {
    if (is_special(path) || !fault.empty()) return;
    if (inputs.count(as_file(path))) fault = "the output `" + path + "` is also an input";
    else if (!written.insert(as_file(path)).second) fault = "the output `" + path + "` would be written twice";
  };
  add(o.header);
  add(o.explain_file);
  for (const std::string& input : compile.inputs) {
    const Outputs out = outputs_of(o, input);
    if (!o.only_dependencies) add(out.output);
    add(out.depfile);
  }
  return fault;
}

/// Nothing when the targets have what --emit asks for; else what is wrong.
std::string unfit_targets(driver::Emit emit, const std::vector<driver::Target>& targets) {
  using driver::Emit;
  const auto is_native = [](const driver::Target& t) { return t.kind == driver::TargetKind::Native; };
  if (emit == Emit::Source && (targets.empty() || std::any_of(targets.begin(), targets.end(), is_native)))
    return "--emit=source is of the targets opencl and interp; name one with --target (native has asm, llvm-ir and object)";
  if (emit == Emit::Asm || emit == Emit::LlvmIr || emit == Emit::Object) {
    if (!std::all_of(targets.begin(), targets.end(), is_native))
      return "--emit=asm, llvm-ir and object are of the native target; opencl and interp have --emit=source";
    if (targets.size() > 1) return "--emit=asm, llvm-ir and object are of one target; several are named";
  }
  return {};
}

/// A namespace that the header can have: names joined by `::`, none of them a word of C++ or a name that the header itself uses.
bool is_namespace(const std::string& text) {
  std::size_t start = 0;
  while (true) {
    const std::size_t end = std::min(text.find("::", start), text.size());
    std::string word = text.substr(start, end - start);
    while (word.size() > 1 && word.back() == '_') word.pop_back();
    if (word.empty() || driver::cpp_namespace(word) != word) return false;
    if (end == text.size()) return true;
    start = end + 2;
  }
}

void print_times(const driver::Compilation& compilation, const std::string& input) {
  std::fprintf(stderr, "%s:\n", input.c_str());
  for (const driver::StepTime& t : compilation.times) std::fprintf(stderr, "  %8.3f ms  %s\n", t.milliseconds, t.name.c_str());
}

Result<std::vector<std::uint8_t>> make_header(driver::Request request, const OutputOptions& o) {
  request.emit = driver::Emit::Header;
  request.header_namespace = o.name_space;
  driver::Compilation compilation = driver::compile(request);
  if (!compilation.output) return err("the header could not be made");
  return std::move(*compilation.output);
}

int compile_one(const CompileOptions& compile, const OutputOptions& o, const std::string& input, DiagnosticOutput& diagnostics,
                policy::ExplainReport& report) {
  Result<driver::Request> request = compile.request(input);
  if (!request) return complain(kUsage, request.error().message);
  request->emit = o.only_dependencies ? driver::Emit::Nothing : emit_kinds().at(o.emit).first;
  request->header_namespace = o.name_space;
  request->dump_after = o.dump_after;
  request->stop_after = o.stop_after;
  if (const std::string unfit = unfit_targets(request->emit, request->targets); !unfit.empty()) return complain(kUsage, unfit);
  request->prove_accesses = !o.explain.empty();
  const driver::Compilation compilation = driver::compile(*request);
  diagnostics.show(compilation);
  if (!o.explain.empty()) add_to_report(report, compilation, *request);
  if (!compilation.dump.empty()) std::cerr << compilation.dump;
  if (o.time_report) print_times(compilation, input);
  if (!compilation.output) return exit_status(compilation);

  const Outputs out = outputs_of(o, input);
  if (!out.depfile.empty()) {
    const std::vector<std::string> targets = o.depfile_targets.empty() ? std::vector<std::string>{out.rule} : o.depfile_targets;
    const std::string rule = dependency_rule(targets, compilation.dependencies);
    if (const Result<Unit> r = write_output(out.depfile, {rule.begin(), rule.end()}); !r) return complain(kEnvironment, r.error().message);
    if (o.only_dependencies) return kDone;
  }
  if (!o.header.empty()) {
    const Result<std::vector<std::uint8_t>> header = make_header(*request, o);
    if (!header) return complain(kCompilerFault, header.error().message);
    if (const Result<Unit> r = write_output(o.header, *header); !r) return complain(kEnvironment, r.error().message);
  }
  if (const Result<Unit> r = write_output(out.output, *compilation.output); !r) return complain(kEnvironment, r.error().message);
  return exit_status(compilation);
}

}  // namespace

int compile_verb(std::vector<std::string> words) {
  if (std::find(words.begin(), words.end(), "--print-targets") != words.end()) {
    for (const driver::TargetInfo& t : driver::known_targets()) {
      std::cout << t.name << "  " << t.meaning;
      if (!t.variants.empty()) std::cout << " (" << t.variants << ")";
      std::cout << "\n";
    }
    return kDone;
  }
  CLI::App app("compiles kernels ahead of time", "sarekc");
  CompileOptions compile;
  OutputOptions o;
  compile.add_to(app, true);
  std::vector<std::string> kinds;
  for (const auto& [name, row] : emit_kinds()) kinds.push_back(name);
  app.add_option("-o", o.output,
                 "output; - is standard output (default: INPUT with the extension of its kind; text goes to standard output)");
  app.add_option("--emit", o.emit, "package, source, ir, ast, asm, llvm-ir, object, header or metadata")->check(CLI::IsMember(kinds));
  app.add_option("--header", o.header, "write the C++ header of the kernels too");
  app.add_option("--namespace", o.name_space, "namespace of the header (default: from the input's name)");
  app.add_option("--explain", o.explain, "report every decision of the policy: text, json, sarif or html")
      ->expected(0, 1)
      ->default_str("text")
      ->check(CLI::IsMember({"text", "json", "sarif", "html", ""}));
  app.add_option("--explain-file", o.explain_file, "where the report goes (default: standard error for text, else standard output)");
  app.add_option("--dump-after", o.dump_after, "print the IR after this pass to standard error");
  app.add_option("--stop-after", o.stop_after, "stop after this pass; the output is the IR");
  app.add_flag("--write-dependencies", o.write_dependencies, "-MD: write a dependency file");
  app.add_flag("--only-dependencies", o.only_dependencies, "-M: write the dependencies instead of compiling");
  app.add_option("--dependency-file", o.depfile, "-MF: name of the dependency file");
  app.add_option("--dependency-target", o.depfile_targets, "-MT: target named in the dependency file")->allow_extra_args(false);
  app.add_flag("--time-report", o.time_report, "show how long each step took");
  int status = kDone;
  if (!parse(app, std::move(words), status)) return status;
  if (app.count("--explain") != 0 && o.explain.empty()) o.explain = "text";
  if (!o.explain_file.empty() && o.explain.empty()) o.explain = "text";
  for (const std::string& pass : {o.dump_after, o.stop_after}) {
    if (pass.empty()) continue;
    bool known = false;
    std::string names;
    for (const std::string_view name : passes::pass_names()) {
      known = known || name == pass;
      names += (names.empty() ? "" : " ") + std::string(name);
    }
    if (!known) return complain(kUsage, "there is no pass `" + pass + "`; there are " + names);
  }
  if (!o.stop_after.empty()) o.emit = "ir";  // also for the name of the output
  if (compile.inputs.size() > 1 && (!o.output.empty() || !o.header.empty() || !o.depfile.empty()))
    return complain(kUsage, "-o, --header and -MF take a single input");
  if (!o.name_space.empty() && !is_namespace(o.name_space))
    return complain(kUsage, "`" + o.name_space + "` cannot be the namespace of a header");
  if (!o.depfile.empty() && !o.write_dependencies && !o.only_dependencies) return complain(kUsage, "-MF goes with -MD or -M");
  if (const std::string fault = clobbered(compile, o); !fault.empty()) return complain(kUsage, fault);
  const bool report_on_output = o.explain_file == "-" || (!o.explain.empty() && o.explain != "text" && o.explain_file.empty());
  if (report_on_output && !o.only_dependencies && outputs_of(o, compile.inputs.front()).output == "-")
    return complain(kUsage, "the report and the output would both go to standard output; name a file with --explain-file or -o");
  policy::ExplainReport report;
  report.tool_version = SAREK_VERSION;
  {
    DiagnosticOutput diagnostics(compile);
    for (const std::string& input : compile.inputs) {
      const int one = compile_one(compile, o, input, diagnostics, report);
      status = std::max(status, one);
      if (one >= kEnvironment) break;
    }
  }
  // What was decided is reported also where an error came after it.
  if (const Result<Unit> r = write_explain(report, o.explain, o.explain_file); !r) return complain(kEnvironment, r.error().message);
  return status;
}

int check_verb(std::vector<std::string> words) {
  CLI::App app("reports errors and warnings of source files; writes nothing", "sarekc check");
  CompileOptions compile;
  compile.add_to(app, false);
  int status = kDone;
  if (!parse(app, std::move(words), status)) return status;
  DiagnosticOutput diagnostics(compile);
  for (const std::string& input : compile.inputs) {
    Result<driver::Request> request = compile.request(input);
    if (!request) return complain(kUsage, request.error().message);
    request->emit = driver::Emit::Nothing;
    const driver::Compilation compilation = driver::compile(*request);
    diagnostics.show(compilation);
    status = std::max(status, exit_status(compilation));
  }
  return status;
}

}  // namespace sarek::tool
