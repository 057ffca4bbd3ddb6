#include "compiler/driver/policy_input.h"

#include <algorithm>

namespace sarek::driver {

LoadedPolicy load_policy(const Request& request, const std::vector<std::string>& kernels, SourceManager& sources, DiagnosticSink& sink,
                         std::vector<std::string>& dependencies) {
  (void)sources;
  (void)sink;
  (void)dependencies;
  LoadedPolicy loaded;
  policy::StoreOptions options;
  options.environment = request.environment;
  options.environment.explain = false;  // a compile reports through --explain
  loaded.store = std::make_unique<policy::Store>(std::move(options));
  loaded.digest = policy::effective_digest(loaded.store->effective(""));
  for (const std::string& kernel : kernels) loaded.digest += ";" + kernel + "=" + policy::effective_digest(loaded.store->effective(kernel));
  return loaded;
}

void add_decision(Compilation& compilation, const policy::Record& record, SourceRange range) {
  const bool seen = std::any_of(compilation.decisions.begin(), compilation.decisions.end(), [&](const DecisionAt& d) { return d.record == record && d.range == range; });
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
