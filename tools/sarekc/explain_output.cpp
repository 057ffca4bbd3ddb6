#include "tools/sarekc/explain_output.h"

#include <iostream>

#include "policy/report.h"
#include "tools/sarekc/array_file.h"

namespace sarek::tool {
namespace {

policy::ExplainReport make_report(const driver::Compilation& compilation) {
  policy::ExplainReport report;
  report.tool_version = SAREK_VERSION;
  report.policy_digest = compilation.policy_digest;
  report.manifest = compilation.manifest;
  const auto add = [&](policy::Event event, SourceRange range) {
    policy::SourcePlace place;
    if (range) {
      const LineColumn at = compilation.sources.line_column(range.file, range.begin);
      place = {compilation.sources.name(range.file), at.line, at.column};
    }
    report.entries.push_back({std::move(event), std::move(place)});
  };
  for (const driver::DecisionAt& d : compilation.decisions) add(d.record, d.range);
  for (const policy::IgnoredGrant& ignored : compilation.ignored_grants) add(ignored, {});
  return report;
}

}  // namespace

Result<Unit> write_explain(const driver::Compilation& compilation, const std::string& format, const std::string& path) {
  if (format.empty()) return Unit{};
  const policy::ExplainReport report = make_report(compilation);
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
