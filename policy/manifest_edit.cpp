// Adding one entry to a manifest as a person would: at the end of the grants, in the style of the entry before it, touching nothing else.
#include <utility>

#include "policy/json_text.h"
#include "policy/manifest.h"

namespace sarek::policy {
namespace {

using detail::JsonValue;

/// The white space between the line start and `offset`, when there is nothing else; this is the indentation of what stands there.
std::optional<std::string> indentation_at(std::string_view text, std::size_t offset) {
  const std::size_t start = text.substr(0, offset).rfind('\n') + 1;
  const std::string_view lead = text.substr(start, offset - start);
  if (lead.find_first_not_of(" \t") != std::string_view::npos) return std::nullopt;
  return std::string(lead);
}

std::string new_manifest(const std::string& entry) {
  return "{\n  \"$schema\": \"sarek.policy.schema.json\",\n  \"version\": 1,\n  \"grants\": [\n    " + entry + "\n  ]\n}\n";
}

}  // namespace

std::string manifest_entry_text(const Scope& scope, Grant grant, std::string_view reason) {
  std::string text = "{ \"grant\": " + detail::json_string(grant_name(grant));
  text += scope.is_process() ? ", \"scope\": \"process\"" : ", \"kernel\": " + detail::json_string(scope.kernel_name());
  return text + ", \"reason\": " + detail::json_string(reason) + " }";
}

ManifestEdit add_to_manifest(std::string_view text, const Scope& scope, Grant grant, std::string_view reason) {
  ManifestEdit edit;
  const std::string entry = manifest_entry_text(scope, grant, reason);
  // The new entry alone goes through the reader, so that its faults are told in the same words as those of a file.
  for (ManifestDiagnostic& fault : read_manifest("{\"version\":1,\"grants\":[" + entry + "]}").diagnostics) {
    fault.line = fault.column = fault.length = 1;
    fault.offset = 0;
    fault.severity = ManifestSeverity::Error;  // whoever types a reason now can type a true one
    edit.diagnostics.push_back(std::move(fault));
  }
  edit.about_entry = !edit.diagnostics.empty();
  if (edit.about_entry) return edit;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    edit.text = new_manifest(entry);
    edit.changed = true;
    return edit;
  }
  Manifest manifest = read_manifest(text);
  if (manifest.has_errors()) {
    edit.diagnostics = std::move(manifest.diagnostics);
    return edit;
  }
  for (const ManifestGrant& present : manifest.grants) {
    if (present.grant != grant || present.scope != scope) continue;
    edit.text = std::string(text);
    edit.present = present;
    return edit;
  }
  const auto parsed = detail::read_json(text);
  const JsonValue& grants = *std::get<JsonValue>(parsed).find("grants");
  const std::string line_end = text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n";
  std::string result(text);
  if (!grants.items.empty()) {
    const JsonValue& last = grants.items.back();
    const std::optional<std::string> indentation = indentation_at(text, last.begin);
    const std::string separator = indentation ? "," + line_end + *indentation : ", ";
    result.insert(last.end, separator + entry);
  } else {
    const std::size_t line_start = text.substr(0, grants.begin).rfind('\n') + 1;
    const std::size_t first = text.find_first_not_of(" \t", line_start);
    const std::string outer(text.substr(line_start, first - line_start));
    result.replace(grants.begin, grants.end - grants.begin, "[" + line_end + outer + "  " + entry + line_end + outer + "]");
  }
  edit.text = std::move(result);
  edit.changed = true;
  return edit;
}

}  // namespace sarek::policy
