// sarekc policy check, show, diff and add: the manifest from the command line and from CI.
#include <iostream>

#include "policy/commands.h"
#include "tools/sarekc/array_file.h"
#include "tools/sarekc/command_line.h"

namespace sarek::tool {
namespace {

struct PolicyOptions {
  std::string manifest;  // empty: found from the current folder upward
  std::vector<std::string> inputs;
  bool werror = false;
  std::string kernel, old_path, new_path, grant, reason, scope;
};

std::string manifest_or_default(const std::string& given) {
  if (!given.empty()) return given;
  const std::optional<std::filesystem::path> found = policy::find_manifest({});
  return found ? policy::shown_path(*found).string() : std::string(policy::manifest_file_name);
}

Result<std::string> read_text(const std::string& path) {
  Result<std::vector<std::uint8_t>> bytes = read_file(path);
  if (!bytes) return Err(bytes.error());
  return std::string(bytes->begin(), bytes->end());
}

/// A manifest without errors, or none after its faults were shown.
std::optional<policy::Manifest> read_clean(const std::string& path, int& status) {
  const Result<std::string> text = read_text(path);
  if (!text) {
    status = complain(kEnvironment, text.error().message);
    return std::nullopt;
  }
  policy::Manifest manifest = policy::read_manifest(*text);
  for (const policy::ManifestDiagnostic& d : manifest.diagnostics) std::cerr << policy::manifest_diagnostic_text(d, path);
  if (manifest.has_errors()) {
    status = kInputErrors;
    return std::nullopt;
  }
  return manifest;
}

/// The kernels of the given sources; none after their faults were shown.
std::optional<std::vector<std::string>> kernels_of(const std::vector<std::string>& inputs, int& status) {
  std::vector<std::string> names;
  for (const std::string& input : inputs) {
    driver::Request request;
    request.input_name = input;
    request.use_policy = false;
    request.emit = driver::Emit::Nothing;
    const driver::Compilation compilation = driver::compile(request);
    if (!compilation.output) {
      std::cerr << render_text(compilation.sources, compilation.diagnostics.diagnostics(), false);
      status = exit_status(compilation);
      return std::nullopt;
    }
    for (const ir::Program& p : compilation.programs) names.push_back(p.name);
  }
  return names;
}

int check(const PolicyOptions& o) {
  const std::string path = manifest_or_default(o.manifest);
  const Result<std::string> text = read_text(path);
  if (!text) return complain(kEnvironment, text.error().message);
  std::optional<std::vector<std::string>> kernels;
  int status = kDone;
  if (!o.inputs.empty()) {
    kernels = kernels_of(o.inputs, status);
    if (!kernels) return status;
  }
  const policy::CommandResult result = policy::policy_check(*text, path, kernels, o.werror);
  std::cout << result.text;
  return result.status;
}

int show(const PolicyOptions& o) {
  const std::string path = manifest_or_default(o.manifest);
  int status = kDone;
  const std::optional<policy::Manifest> manifest = read_clean(path, status);
  if (!manifest) return status;
  const policy::CommandResult result = policy::policy_show(*manifest, path, o.kernel, policy_environment());
  std::cout << result.text;
  return result.status;
}

int diff(const PolicyOptions& o) {
  int status = kDone;
  const std::optional<policy::Manifest> a = read_clean(o.old_path, status);
  if (!a) return status;
  const std::optional<policy::Manifest> b = read_clean(o.new_path, status);
  if (!b) return status;
  const policy::CommandResult result = policy::policy_diff(*a, *b);
  std::cout << result.text;
  return result.status;
}

/// Why a word is no grant's name, and what is.
int complain_of_grant(const std::string& word) {
  std::vector<std::string_view> names;
  for (const policy::Grant g : policy::all_grants()) names.push_back(policy::grant_name(g));
  const std::string_view nearest = policy::nearest_name(word, names);
  std::string message = "there is no grant `" + word + "`";
  if (policy::optimisation_by_name(word)) {
    message += ", which is the name of an optimisation; where one is refused for want of a grant, --explain names the grant";
  } else if (!nearest.empty()) {
    message.append("; did you mean `").append(nearest).append("`?");
  } else {
    message += "; there are " + policy::grant_list();
  }
  return complain(kUsage, message);
}

int add(const PolicyOptions& o) {
  const std::optional<policy::Grant> grant = policy::grant_by_name(o.grant);
  if (!grant) return complain_of_grant(o.grant);
  if (o.kernel.empty() == o.scope.empty()) return complain(kUsage, "name the kernel with --kernel, or every kernel with --scope process");
  const std::string path = manifest_or_default(o.manifest);
  // A manifest that is not there yet is made.
  const Result<std::string> text = read_text(path);
  std::error_code unknown;
  if (!text && std::filesystem::exists(path, unknown)) return complain(kEnvironment, text.error().message);
  const policy::Scope scope = o.kernel.empty() ? policy::Scope::process() : policy::Scope::kernel(o.kernel);
  const policy::ManifestEdit edit = policy::add_to_manifest(text ? *text : std::string(), scope, *grant, o.reason);
  if (edit.about_entry) return complain(kUsage, edit.diagnostics.front().message + " [" + edit.diagnostics.front().kind + "]");
  for (const policy::ManifestDiagnostic& d : edit.diagnostics) std::cerr << policy::manifest_diagnostic_text(d, path);
  if (!edit.text) return kInputErrors;
  if (!edit.changed) {
    std::cout << path << ":" << edit.present->line << ":" << edit.present->column << " grants this already, and its reason stays: \""
              << edit.present->reason << "\"\n";
    return kDone;
  }
  // A full disk leaves the old manifest whole.
  if (const Result<Unit> r = replace_file(path, edit.text->data(), edit.text->size()); !r) return complain(kEnvironment, r.error().message);
  std::cout << "added to " << path << ": " << policy::manifest_entry_text(scope, *grant, o.reason) << "\n";
  return kDone;
}

}  // namespace

int policy_verb(std::vector<std::string> words) {
  CLI::App app("checks, shows, compares or edits a policy manifest", "sarekc policy");
  app.require_subcommand(1);
  PolicyOptions o;
  const auto with_manifest = [&](CLI::App& sub) {
    sub.add_option("--policy", o.manifest, "the manifest (default: sarek.policy.json here or above)");
  };
  CLI::App& checked = *app.add_subcommand("check", "report what is wrong with a manifest; exit 1 when something is");
  checked.add_option("INPUT", o.inputs, "sources whose kernels the manifest may name");
  checked.add_flag("--werror", o.werror, "warnings fail too");
  with_manifest(checked);
  CLI::App& shown = *app.add_subcommand("show", "what a kernel may do, from which entry, and why");
  shown.add_option("KERNEL", o.kernel, "the kernel's name")->required();
  with_manifest(shown);
  CLI::App& compared = *app.add_subcommand("diff", "what NEW grants and OLD does not; exit 1 when it grants more");
  compared.add_option("OLD", o.old_path, "the manifest of before")->required();
  compared.add_option("NEW", o.new_path, "the manifest of now")->required();
  CLI::App& added = *app.add_subcommand("add", "write one more grant; the rest of the file stays as it is");
  added.add_option("--grant", o.grant, "the grant's name")->required();
  added.add_option("--kernel", o.kernel, "the kernel it is for");
  added.add_option("--scope", o.scope, "process: every kernel")->check(CLI::IsMember({"process"}));
  added.add_option("--reason", o.reason, "why, for whoever reviews it")->required();
  with_manifest(added);
  int status = kDone;
  if (!knows_subcommand(app, words))
    return complain(kUsage, "`sarekc policy` has no `" + words.front() + "`; it has check, show, diff and add");
  if (!parse(app, std::move(words), status)) return status;
  if (checked.parsed()) return check(o);
  if (shown.parsed()) return show(o);
  return compared.parsed() ? diff(o) : add(o);
}

}  // namespace sarek::tool
