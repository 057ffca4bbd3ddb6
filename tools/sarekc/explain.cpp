// sarekc explain show and diff: reports that --explain=json wrote, for people and as a gate in CI.
#include <iostream>

#include "policy/commands.h"
#include "tools/sarekc/array_file.h"
#include "tools/sarekc/command_line.h"

namespace sarek::tool {
namespace {

/// The report in a file; a failed read has been complained about.
std::optional<policy::ExplainReport> read_report(const std::string& path, int& status) {
  const Result<std::vector<std::uint8_t>> bytes = read_file(path);
  if (!bytes) {
    status = complain(kEnvironment, bytes.error().message);
    return std::nullopt;
  }
  std::variant<policy::ExplainReport, policy::ReportFault> report = policy::read_json_report(std::string(bytes->begin(), bytes->end()));
  if (const auto* fault = std::get_if<policy::ReportFault>(&report)) {
    std::cerr << path << ":" << fault->line << ":" << fault->column << ": error: " << fault->message << " [explain-report]\n";
    status = kInputErrors;
    return std::nullopt;
  }
  return std::get<policy::ExplainReport>(std::move(report));
}

int show(const std::string& path, const std::string& format) {
  int status = kDone;
  const std::optional<policy::ExplainReport> report = read_report(path, status);
  if (!report) return status;
  std::cout << (format == "json"    ? policy::report_as_json(*report)
                : format == "sarif" ? policy::report_as_sarif(*report)
                : format == "html"  ? policy::report_as_html(*report)
                                    : policy::report_as_text(*report));
  return kDone;
}

int diff(const std::string& before_path, const std::string& after_path, const std::string& fail_on) {
  std::string unknown;
  const std::optional<std::vector<policy::Change>> gate = policy::parse_changes(fail_on, unknown);
  if (!gate) {
    std::string names;
    for (const policy::Change c : policy::all_changes()) names += (names.empty() ? "" : ", ") + std::string(policy::change_name(c));
    return complain(kUsage, "--fail-on has no `" + unknown + "`; there are " + names);
  }
  int status = kDone;
  const std::optional<policy::ExplainReport> before = read_report(before_path, status);
  if (!before) return status;
  const std::optional<policy::ExplainReport> after = read_report(after_path, status);
  if (!after) return status;
  const std::vector<policy::ExplainChange> changes = policy::explain_diff(*before, *after);
  std::cout << policy::explain_diff_text(changes);
  return policy::explain_diff_status(changes, *gate);
}

}  // namespace

int explain_verb(std::vector<std::string> words) {
  CLI::App app("shows or compares explain reports (sarekc ... --explain=json --explain-file=FILE)", "sarekc explain");
  app.require_subcommand(1);
  std::string path;
  std::string format = "text";
  CLI::App& shown = *app.add_subcommand("show", "print a JSON report in another form");
  shown.add_option("REPORT", path, "a JSON report")->required();
  shown.add_option("--format", format, "text, json, sarif or html")->check(CLI::IsMember({"text", "json", "sarif", "html"}));
  std::string before;
  std::string after;
  std::string fail_on = "newly-refused,newly-granted";
  CLI::App& compared = *app.add_subcommand("diff", "what changed between two JSON reports; exit 1 when a change of --fail-on is among it");
  compared.add_option("OLD", before, "the report of before")->required();
  compared.add_option("NEW", after, "the report of now")->required();
  compared.add_option("--fail-on", fail_on, "comma list of changes that fail the gate (default newly-refused,newly-granted)");
  int status = kDone;
  if (!knows_subcommand(app, words)) return complain(kUsage, "`sarekc explain` has no `" + words.front() + "`; it has show and diff");
  if (!parse(app, std::move(words), status)) return status;
  return shown.parsed() ? show(path, format) : diff(before, after, fail_on);
}

}  // namespace sarek::tool
