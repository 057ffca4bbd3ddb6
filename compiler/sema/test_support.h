// What the tests of this folder share: checking and lowering of a string, and running the result in the reference interpreter.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "compiler/interp/interpreter.h"
#include "compiler/ir/printer.h"
#include "compiler/sema/sema.h"
#include "compiler/spec/verify.h"
#include "compiler/syntax/parse.h"

namespace sarek::sema::testing {

/// A module from text; `files` are what its imports find.
struct Checked {
  SourceManager sources;
  DiagnosticSink sink;
  std::map<std::string, std::string> files;
  std::map<std::string, FileId> loaded;
  TypedModule module;

  explicit Checked(std::string text, std::map<std::string, std::string> imports = {}, std::vector<std::string> defines = {})
      : files(std::move(imports)) {
    const FileId file = sources.add("t.sarek", std::move(text));
    loaded["t.sarek"] = file;
    CheckOptions options;
    options.defines = std::move(defines);
    options.resolve_import = [this](std::string_view path, FileId) -> Result<FileId> {
      const std::string name(path);
      if (const auto found = loaded.find(name); found != loaded.end()) return found->second;
      if (!files.contains(name)) return err("there is no such file");
      return loaded[name] = sources.add(name, files[name]);
    };
    syntax::Ast ast = syntax::parse(sources, file, sink);
    module = check(std::move(ast), sources, sink, options);
  }

  std::string errors() const { return render_text(sources, sink.diagnostics(), false); }
  /// "kind line:column", one for each diagnostic.
  std::vector<std::string> kinds() const {
    std::vector<std::string> out;
    for (const Diagnostic& d : sink.diagnostics()) {
      const LineColumn at = d.range ? sources.line_column(d.range.file, d.range.begin) : LineColumn{};
      out.push_back(std::string(kind_name(d.kind)) + " " + std::to_string(at.line) + ":" + std::to_string(at.column));
    }
    return out;
  }
  std::vector<ir::Program> programs() {
    if (sink.has_errors()) return {};
    return lower_all(module, sources, sink);
  }
};

/// Runs the only kernel of `text` for `blocks` blocks. Every buffer is a vector of T in `buffers`, changed in place; scalars are i32 in
/// `scalars`. Parameters take them in order. The answer is empty, or what went wrong.
template <class T>
std::string run(const std::string& text, std::vector<std::vector<T>>& buffers, std::vector<std::int32_t> scalars = {},
                std::int64_t blocks = 1, bool checked = true) {
  Checked c(text);
  const std::vector<ir::Program> programs = c.programs();
  if (c.sink.has_errors() || programs.size() != 1) return "refused:\n" + c.errors();
  const ir::Program& p = programs[0];
  const auto failures = spec::verify_program(p);
  if (!failures.empty()) return spec::describe(p, failures) + ir::print(p);
  interp::Launch launch;
  launch.grid = {blocks, 1, 1};
  std::size_t next_buffer = 0;
  std::size_t next_scalar = 0;
  for (const ir::KernelParam& param : p.params) {
    if (param.is_buffer) {
      auto& b = buffers.at(next_buffer++);
      const auto bytes = static_cast<std::int64_t>(b.size() * sizeof(T));
      launch.arguments.push_back(interp::Argument::buffer(b.data(), bytes / param.element.size, bytes));
    } else {
      launch.arguments.push_back(interp::Argument::scalar(p.slots[static_cast<std::size_t>(param.first_slot)].type,
                                                          static_cast<std::uint32_t>(scalars.at(next_scalar++))));
    }
  }
  interp::Options options;
  options.checked = checked;
  options.step_limit = 10'000'000;
  const auto result = interp::run(p, launch, options);
  if (!result) return std::string(interp::error_kind_name(result.error().kind)) + ": " + result.error().message;
  return {};
}

}  // namespace sarek::sema::testing
