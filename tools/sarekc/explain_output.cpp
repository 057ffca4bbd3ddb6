#include "tools/sarekc/explain_output.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "policy/manifest.h"
#include "tools/sarekc/array_file.h"

namespace sarek::tool {
namespace {

policy::SourcePlace place_of(const driver::Compilation& compilation, SourceRange range) {
  if (!range) return {};
  const LineColumn at = compilation.sources.line_column(range.file, range.begin);
  return {compilation.sources.name(range.file), at.line, at.column};
}

/// Where the kernel of a decision starts, for one that has no place of its own.
SourceRange range_of_kernel(const driver::Compilation& compilation, const std::string& kernel) {
  const auto program =
      std::find_if(compilation.programs.begin(), compilation.programs.end(), [&](const ir::Program& p) { return p.name == kernel; });
  return program == compilation.programs.end() ? SourceRange{} : program->range;
}

}  // namespace

void add_to_report(policy::ExplainReport& report, const driver::Compilation& compilation, const driver::Request& request) {
  policy::ExplainReport one;
  one.policy_digest = compilation.policy_digest;
  one.manifest = compilation.manifest;
  if (one.manifest.empty()) {
    const std::filesystem::path folder =
        request.input_text ? std::filesystem::path() : std::filesystem::path(request.input_name).parent_path();
    const std::string path = policy::new_manifest_path(folder).string();
    if (path != policy::manifest_file_name) one.new_manifest = path;
  }
  auto ignored = compilation.ignored_grants.begin();
  const auto add_ignored = [&](std::size_t until) {
    for (; ignored != compilation.ignored_grants.end() && ignored->after <= until; ++ignored)
      one.entries.push_back({ignored->grant, place_of(compilation, ignored->range)});
  };
  for (std::size_t i = 0; i < compilation.decisions.size(); ++i) {
    const driver::DecisionAt& d = compilation.decisions[i];
    const SourceRange range = d.range ? d.range : range_of_kernel(compilation, d.record.kernel);
    one.entries.push_back({d.record, place_of(compilation, range)});
    add_ignored(i + 1);
  }
  add_ignored(compilation.decisions.size() + 1);
  for (const driver::UnprovenAt& access : compilation.unproven)
    one.unproven.push_back({access.kernel, access.why, place_of(compilation, access.range)});
  policy::merge_report(report, one);
}

Result<Unit> write_explain(const policy::ExplainReport& report, const std::string& format, const std::string& path) {
  if (format.empty()) return Unit{};
  std::string text;
  if (format == "json") text = policy::report_as_json(report);
  else if (format == "sarif") text = policy::report_as_sarif(report);
  else if (format == "html") text = policy::report_as_html(report);
  else text = policy::report_as_text(report);
  if (!path.empty() && path != "-") return write_file(path, text.data(), text.size());
  (format == "text" && path.empty() ? std::cerr : std::cout) << text;
  // For a reader at the terminal: what to type where a grant would help.
  if (format == "text" && path.empty()) std::cerr << policy::remedies_as_text(report);
  return Unit{};
}

}  // namespace sarek::tool
