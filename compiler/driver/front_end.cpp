#include "compiler/driver/front_end.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <map>

#include "compiler/spec/read_text.h"
#include "compiler/syntax/parse.h"

namespace sarek::driver {
namespace {

constexpr std::size_t kMaxSourceBytes = std::size_t{64} << 20;

Result<std::string> read_source(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return err("no such file: `" + path + "`");
  if (S_ISDIR(info.st_mode)) return err("`" + path + "` is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return err("cannot read `" + path + "`");
  std::string text;
  text.reserve(static_cast<std::size_t>(std::max<off_t>(info.st_size, 0)));
  // Bounded also where the size is not known beforehand (a pipe).
  std::vector<char> piece(1 << 16);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxSourceBytes) return err("`" + path + "` is larger than 64 MiB");
  }
  return text;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

bool exists(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

/// "a/b/../c.sarek" as "a/c.sarek": one file has one name, however it is reached.
std::string normal_path(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t slash = std::min(path.find('/', start), path.size());
    const std::string part = path.substr(start, slash - start);
    if (part == ".." && !parts.empty() && parts.back() != ".." && !parts.back().empty()) parts.pop_back();
    else if (part != "." && (!part.empty() || start == 0)) parts.push_back(part);
    start = slash + 1;
  }
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) out += (i ? "/" : "") + parts[i];
  return out;
}

/// Adds the input itself; none, with a diagnostic, when it cannot be read.
std::optional<FileId> add_input(const Request& request, SourceManager& sources, DiagnosticSink& sink,
                                std::vector<std::string>& dependencies) {
  if (request.input_text) return sources.add(request.input_name, *request.input_text);
  Result<std::string> text = read_source(request.input_name);
  if (!text) {
    sink.report(DiagnosticKind::FileNotFound, {}, text.error().message);
    return std::nullopt;
  }
  dependencies.push_back(request.input_name);
  return sources.add(request.input_name, std::move(text).value());
}

/// Imports beside the importing file first, then in each -I folder.
class Resolver {
 public:
  Resolver(const Request& request, SourceManager& sources, FileId root, std::vector<std::string>& dependencies)
      : request_(request), sources_(sources), dependencies_(dependencies) {
    known_[normal_path(request.input_name)] = root;
  }

  Result<FileId> operator()(std::string_view path, FileId from) {
    std::vector<std::string> candidates;
    if (!path.empty() && path.front() == '/') {
      candidates.emplace_back(path);
    } else {
      candidates.push_back(folder_of(sources_.name(from)) + std::string(path));
      for (const std::string& dir : request_.include_dirs) candidates.push_back(dir + "/" + std::string(path));
    }
    std::string tried;
    for (const std::string& candidate : candidates) {
      const std::string name = normal_path(candidate);
      if (const auto found = known_.find(name); found != known_.end()) return found->second;
      if (!exists(name)) {
        tried += (tried.empty() ? "" : ", ") + name;
        continue;
      }
      Result<std::string> text = read_source(name);
      if (!text) return Err(text.error());
      const FileId file = sources_.add(name, std::move(text).value());
      known_[name] = file;
      dependencies_.push_back(name);
      return file;
    }
    return err("no file `" + std::string(path) + "` (looked for " + tried + ")");
  }

 private:
  const Request& request_;
  SourceManager& sources_;
  std::vector<std::string>& dependencies_;
  std::map<std::string, FileId> known_;
};

bool is_ir_text(const std::string& name) { return name.size() > 4 && name.compare(name.size() - 4, 4, ".sir") == 0; }

}  // namespace

FrontEndResult run_front_end(const Request& request, SourceManager& sources, DiagnosticSink& sink, std::vector<std::string>& dependencies) {
  FrontEndResult result;
  const std::optional<FileId> file = add_input(request, sources, sink, dependencies);
  if (!file) return result;
  if (is_ir_text(request.input_name)) {
    std::optional<std::vector<ir::Program>> programs = spec::read_programs(sources, *file, sink);
    if (!programs) return result;
    // Kernels of the language were asked this when they were lowered.
    for (const ir::Program& p : *programs) sema::check_convergence(p, sources, sink);
    if (!sink.has_errors()) result.programs = std::move(*programs);
    return result;
  }
  syntax::Ast ast = syntax::parse(sources, *file, sink);
  // A file with syntax faults is typed all the same where it is whole: more errors in one run, and none that only follow (Item::broken).
  sema::CheckOptions options;
  options.defines = request.defines;
  Resolver resolver(request, sources, *file, dependencies);
  options.resolve_import = [&resolver](std::string_view path, FileId from) { return resolver(path, from); };
  const sema::TypedModule module = sema::check(std::move(ast), sources, sink, options);
  if (sink.has_errors()) return result;
  result.programs = sema::lower_all(module, sources, sink);
  result.interface = module.interface();
  result.tests = module.tests();
  for (ir::Program& p : result.programs)
    if (p.module_file.empty()) p.module_file = request.input_name.substr(request.input_name.find_last_of('/') + 1);
  return result;
}

std::optional<std::string> ast_text(const Request& request, SourceManager& sources, DiagnosticSink& sink,
                                    std::vector<std::string>& dependencies) {
  const std::optional<FileId> file = add_input(request, sources, sink, dependencies);
  if (!file) return std::nullopt;
  const syntax::Ast ast = syntax::parse(sources, *file, sink);
  if (sink.has_errors()) return std::nullopt;
  return syntax::dump_ast(sources, ast, request.debug_info);
}

}  // namespace sarek::driver
