// The policy of one compile: the manifest, if there is one, and the environment, in a store of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "policy/manifest.h"
#include "policy/store.h"

namespace sarek::driver {

struct LoadedPolicy {
  std::unique_ptr<policy::Store> store;
  std::string digest;         // of the process-wide policy and of every kernel's
  std::string manifest_path;  // empty without one
  policy::Manifest manifest;  // as read
  FileId manifest_file;       // among the compile's sources; only with a manifest
};

/// Finds and reads the manifest as the request says; its faults become diagnostics with their places. Kernel scopes are compared with
/// `kernels` and, where one is not among them, with the kernels of `request.policy_sources`.
LoadedPolicy load_policy(const Request& request, const std::vector<std::string>& kernels, SourceManager& sources, DiagnosticSink& sink,
                         std::vector<std::string>& dependencies);

/// The place in the manifest of a grant without effect; none when no entry of the manifest made it.
SourceRange place_of(const LoadedPolicy& policy, const policy::IgnoredGrant& ignored);

/// Adds a decision, with its place in the source, to the compile's report.
void add_decision(Compilation& compilation, const policy::Record& record, SourceRange range);

/// A grant that was needed for an optimisation that was applied, as stable names.
struct GrantUse {
  std::string grant;
  std::string optimisation;
};
/// The grants that the report says a kernel's code for a target was made under.
std::vector<GrantUse> grants_used(const Compilation& compilation, const std::string& kernel, const std::string& target);

}  // namespace sarek::driver
