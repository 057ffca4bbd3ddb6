// The HTML form of a report: one file that opens from a disk or a CI artifact store. No script and nothing fetched (the page's own content
// security policy says so); tables with captions and headings, outcomes told by words and not by colour alone, light and dark.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "policy/event_text.h"
#include "policy/json_text.h"
#include "policy/report.h"

namespace sarek::policy {
namespace {

constexpr std::string_view head = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Sarek: what the policy decided</title>
<style>
:root { --ink: #1b1b1f; --paper: #ffffff; --line: #c9c9d2; --soft: #f3f3f7; --good: #0b6b3a; --bad: #a3261b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ee; --paper: #17171b; --line: #46464f; --soft: #222228; --good: #6fd39b; --bad: #ff9a8f; } }
body { color: var(--ink); background: var(--paper); font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 70rem; padding: 1rem; }
a { color: inherit; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; }
caption { text-align: left; padding: .25rem 0; }
th, td { border: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top; }
th { background: var(--soft); }
.applied { color: var(--good); font-weight: 600; }
.refused, .ignored { color: var(--bad); font-weight: 600; }
pre { background: var(--soft); padding: .6rem; overflow-x: auto; white-space: pre-wrap; }
code { overflow-wrap: anywhere; }
dt { font-weight: 600; }
</style>
</head>
<body>
<main>
<h1>What the policy decided</h1>
)";

/// Text for element content and quoted attributes. What is no UTF-8, and control characters that HTML does not allow, become U+FFFD.
std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = detail::utf8_length(text);
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (length == 0 || (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string place_text(const SourcePlace& place) {
  if (place.line == 0) return "";
  return escaped(place.file) + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

/// What stands in the column "why".
std::string why_text(const Event& event, const ExplainReport& report) {
  const Decision* decision = event_decision(event);
  if (decision == nullptr) {
    const auto& ignored = std::get<IgnoredGrant>(event);
    return "<code>" + escaped(grant_name(ignored.grant)) + "</code>: " + escaped(ignored_message(ignored.cause));
  }
  if (const auto* refused = std::get_if<Refused>(decision)) {
    std::string text = escaped(refused->why);
    if (const std::optional<Remedy> remedy = remedy_for(event, report)) {
      text += "<p>The grant <code data-allowed-by=\"" + escaped(grant_name(remedy->grant)) + "\">" + escaped(grant_name(remedy->grant)) +
              "</code> would allow it: " + escaped(grant_meaning(remedy->grant)) + ". Add to <code>grants</code> in " +
              escaped(manifest_to_edit(report)) + "</p><pre>" + escaped(remedy->entry) + "</pre><p>or run</p><pre>" +
              escaped(remedy->command) + "</pre>";
    }
    return text;
  }
  const Evidence& evidence = std::get<Applied>(*decision).evidence;
  if (const auto* proof = std::get_if<Proof>(&evidence)) return "proof: " + escaped(proof->text);
  const auto* granted = std::get_if<Granted>(&evidence);
  if (granted == nullptr) return "exact by construction";
  std::string text = "granted:";
  for (Grant grant : granted->grants) text += " <code>" + escaped(grant_name(grant)) + "</code>";
  text += ", because: " + escaped(granted->reason);
  if (granted->lowering) text += "<p>What it did: " + escaped(*granted->lowering) + "</p>";
  return text;
}

std::string_view outcome_of(const Event& event) {
  const Decision* decision = event_decision(event);
  if (decision == nullptr) return "ignored";
  return is_applied(*decision) ? "applied" : "refused";
}

std::string row(const ExplainEntry& entry, const ExplainReport& report) {
  const std::string subject = escaped(event_subject(entry.event));
  const std::string target = escaped(event_target(entry.event));
  const std::string outcome(outcome_of(entry.event));
  return "<tr data-kernel=\"" + escaped(event_kernel(entry.event)) + "\" data-target=\"" + target + "\" data-subject=\"" + subject +
         "\" data-outcome=\"" + outcome + "\"><th scope=\"row\">" + subject + "</th><td>" + target + "</td><td class=\"" + outcome + "\">" +
         outcome + "</td><td>" + why_text(entry.event, report) + "</td><td>" + place_text(entry.place) + "</td></tr>\n";
}

std::string table_head(std::string_view caption, std::initializer_list<std::string_view> columns) {
  std::string text = "<table>\n<caption>";
  text.append(caption).append("</caption>\n<thead><tr>");
  for (const std::string_view column : columns) text.append("<th scope=\"col\">").append(column).append("</th>");
  return text + "</tr></thead>\n<tbody>\n";
}

}  // namespace

std::string report_as_html(const ExplainReport& report) {
  std::string page(head);
  std::vector<std::string_view> kernels;
  std::vector<std::vector<const ExplainEntry*>> entries;
  std::vector<std::vector<const UnprovenAccess*>> unproven;
  std::unordered_map<std::string_view, std::size_t> index;
  const auto section_of = [&](std::string_view kernel) {
    const auto [found, fresh] = index.emplace(kernel, kernels.size());
    if (fresh) {
      kernels.push_back(kernel);
      entries.emplace_back();
      unproven.emplace_back();
    }
    return found->second;
  };
  std::size_t counts[3] = {0, 0, 0};
  for (const ExplainEntry& entry : report.entries) {
    entries[section_of(event_kernel(entry.event))].push_back(&entry);
    const std::string_view outcome = outcome_of(entry.event);
    ++counts[outcome == "applied" ? 0 : outcome == "refused" ? 1 : 2];
  }
  for (const UnprovenAccess& access : report.unproven) unproven[section_of(access.kernel)].push_back(&access);
  page += "<p id=\"summary\">" + std::to_string(kernels.size()) + (kernels.size() == 1 ? " kernel: " : " kernels: ") +
          std::to_string(counts[0]) + " applied, " + std::to_string(counts[1]) + " refused, " + std::to_string(counts[2]) +
          " without effect, " + std::to_string(report.unproven.size()) +
          (report.unproven.size() == 1 ? " unproven access.</p>" : " unproven accesses.</p>") + "\n<dl>\n";
  const auto fact = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) page.append("<dt>").append(name).append("</dt><dd><code>").append(escaped(value)).append("</code></dd>\n");
  };
  fact("Manifest", report.manifest.empty() ? "none: every deviation is refused" : report.manifest);
  fact("Policy", report.policy_digest);
  fact("Compiler", report.tool_version);
  page += "</dl>\n";
  if (kernels.size() > 1) {
    page += "<nav aria-label=\"kernels\"><ul>\n";
    for (std::size_t i = 0; i < kernels.size(); ++i)
      page += "<li><a href=\"#k" + std::to_string(i) + "\">" + escaped(kernels[i]) + "</a></li>\n";
    page += "</ul></nav>\n";
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::string id = "k" + std::to_string(i);
    page += "<section aria-labelledby=\"" + id + "\">\n<h2 id=\"" + id + "\">" + escaped(kernels[i]) + "</h2>\n";
    if (!entries[i].empty()) {
      page += table_head("Decisions for this kernel, in the order in which they were taken",
                         {"Optimisation", "Target", "Outcome", "Why", "Source"});
      for (const ExplainEntry* entry : entries[i]) page += row(*entry, report);
      page += "</tbody>\n</table>\n";
    }
    if (!unproven[i].empty()) {
      page += table_head("Accesses that nothing proves to stay inside of their buffer; only --checked looks at run time",
                         {"What nothing shows", "Source"});
      for (const UnprovenAccess* access : unproven[i])
        page += "<tr data-unproven=\"" + escaped(access->kernel) + "\"><th scope=\"row\">" + escaped(access->why) + "</th><td>" +
                place_text(access->place) + "</td></tr>\n";
      page += "</tbody>\n</table>\n";
    }
    for (const FusionPlan& plan : report.plans)
      if (plan.kernel == kernels[i]) page += "<figure><figcaption>Fusion plan</figcaption><pre>" + escaped(plan.text) + "</pre></figure>\n";
    page += "</section>\n";
  }
  return page + "</main>\n</body>\n</html>\n";
}

}  // namespace sarek::policy
