#include "compiler/driver/policy_input.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "compiler/driver/front_end.h"

namespace sarek::driver {

namespace {

/// The manifest of a request: named, or found from the input's folder upward; empty without one.
std::string manifest_path(const Request& request) {
  if (!request.use_policy) return {};
  if (!request.policy_file.empty()) return request.policy_file;
  const std::filesystem::path folder =
      request.input_text ? std::filesystem::path() : std::filesystem::path(request.input_name).parent_path();
  const std::optional<std::filesystem::path> found = policy::find_manifest(folder);
  return found ? policy::shown_path(*found).string() : std::string();
}

std::optional<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return std::nullopt;
  return text;
}

/// A manifest's fault as a diagnostic of the compile, with its note and its suggestion as a fix.
void report(const policy::ManifestDiagnostic& fault, FileId file, DiagnosticSink& sink) {
  const SourceRange range{file, static_cast<std::uint32_t>(fault.offset), static_cast<std::uint32_t>(fault.offset + fault.length)};
  Diagnostic& d = sink.report(kind_by_name(fault.kind).value_or(DiagnosticKind::ManifestSyntax), range, fault.message);
  if (!fault.note.empty()) d.note({}, fault.note);
  if (!fault.suggestion.empty()) d.fix(range, fault.suggestion, "write");
}

/// A project has one manifest and many sources: the others are read when the manifest names a kernel that this one does not have.
void check_kernels(const Request& request, policy::Manifest& manifest, const std::string& text, std::vector<std::string> kernels) {
  // With --kernel only some of the module's kernels are here: a grant for another one is no mistake then.
  if (!request.only_kernel.empty()) return;
  const bool all_here = std::all_of(manifest.grants.begin(), manifest.grants.end(), [&](const policy::ManifestGrant& entry) {
    return entry.scope.is_process() || std::find(kernels.begin(), kernels.end(), entry.scope.kernel_name()) != kernels.end();
  });
  if (all_here) return;
  for (const std::string& source : request.policy_sources) {
    Request other = request;
    other.input_name = source;
    other.input_text.reset();
    SourceManager files;
    DiagnosticSink unheard;
    std::vector<std::string> read;
    const FrontEndResult result = run_front_end(other, files, unheard, read);
    if (unheard.has_errors()) return;  // told when that source is compiled; until then its kernels are not known
    for (const ir::Program& program : result.programs) kernels.push_back(program.name);
  }
  policy::check_kernels(manifest, text, kernels);
}

}  // namespace

LoadedPolicy load_policy(const Request& request, const std::vector<std::string>& kernels, SourceManager& sources, DiagnosticSink& sink,
                         std::vector<std::string>& dependencies) {
  LoadedPolicy loaded;
  policy::StoreOptions options;
  options.environment = request.environment;
  options.environment.explain = false;  // a compile reports through --explain
  loaded.store = std::make_unique<policy::Store>(std::move(options));
  loaded.manifest_path = manifest_path(request);
  if (!loaded.manifest_path.empty()) {
    if (std::optional<std::string> text = read_text(loaded.manifest_path)) {
      dependencies.push_back(loaded.manifest_path);
      loaded.manifest = policy::read_manifest(*text);
      check_kernels(request, loaded.manifest, *text, kernels);
      loaded.manifest_file = sources.add(loaded.manifest_path, std::move(*text));
      for (const policy::ManifestDiagnostic& fault : loaded.manifest.diagnostics) report(fault, loaded.manifest_file, sink);
      if (!loaded.manifest.has_errors()) policy::apply(loaded.manifest, *loaded.store);
    } else {
      sink.report(DiagnosticKind::FileNotFound, {}, "cannot read the manifest `" + loaded.manifest_path + "`");
    }
  }
  loaded.digest = policy::effective_digest(loaded.store->effective(""));
  for (const std::string& kernel : kernels) loaded.digest += ";" + kernel + "=" + policy::effective_digest(loaded.store->effective(kernel));
  return loaded;
}

SourceRange place_of(const LoadedPolicy& policy, const policy::IgnoredGrant& ignored) {
  for (const policy::ManifestGrant& entry : policy.manifest.grants) {
    const std::string_view name = entry.scope.is_process() ? policy::process_scope_name : std::string_view(entry.scope.kernel_name());
    if (entry.grant != ignored.grant || name != ignored.kernel) continue;
    const auto begin = static_cast<std::uint32_t>(entry.scope_offset);
    return {policy.manifest_file, begin, begin + static_cast<std::uint32_t>(entry.scope_length)};
  }
  return {};
}

void add_decision(Compilation& compilation, const policy::Record& record, SourceRange range) {
  const bool seen = std::any_of(compilation.decisions.begin(), compilation.decisions.end(),
                                [&](const DecisionAt& d) { return d.record == record && d.range == range; });
  if (!seen) compilation.decisions.push_back({record, range});
}

std::vector<GrantUse> grants_used(const Compilation& compilation, const std::string& kernel, const std::string& target) {
  std::vector<GrantUse> uses;
  for (const DecisionAt& d : compilation.decisions) {
    if (d.record.kernel != kernel || d.record.target != target) continue;
    const auto* applied = std::get_if<policy::Applied>(&d.record.decision);
    const auto* granted = applied ? std::get_if<policy::Granted>(&applied->evidence) : nullptr;
    if (!granted) continue;
    for (const policy::Grant grant : granted->grants)
      uses.push_back({std::string(policy::grant_name(grant)), std::string(policy::optimisation_name(d.record.optimisation))});
  }
  return uses;
}

}  // namespace sarek::driver
