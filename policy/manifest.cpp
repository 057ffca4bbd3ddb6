// Reading a manifest: the tree of json_text.h checked member by member, so that each fault has the place of the value that has it.
#include "policy/manifest.h"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "policy/json_text.h"

namespace sarek::policy {
namespace {

using detail::JsonMember;
using detail::JsonValue;

/// Into the order of the file; those of one place keep their order. (Not std::stable_sort: clang warns about what libstdc++ 12 does there.)
void sort_by_place(std::vector<ManifestDiagnostic>& all) {
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i) order.emplace_back(all[i].offset, i);
  std::sort(order.begin(), order.end());
  std::vector<ManifestDiagnostic> sorted;
  sorted.reserve(all.size());
  for (const auto& [offset, i] : order) sorted.push_back(std::move(all[i]));
  all = std::move(sorted);
}

class ManifestReader {
 public:
  ManifestReader(std::string_view text, Manifest& manifest) : text_(text), lines_(text), manifest_(manifest) {}

  void read() {
    auto result = detail::read_json(text_);
    if (const auto* fault = std::get_if<detail::JsonFault>(&result)) {
      report(fault->unreadable ? "manifest-unreadable" : "manifest-syntax", fault->at, fault->length, fault->message);
      return;
    }
    const JsonValue& file = std::get<JsonValue>(result);
    if (!expect(file, JsonValue::Kind::Object, "a manifest")) return;
    check_keys(file, file_keys());
    if (const JsonValue* schema = file.find("$schema")) expect(*schema, JsonValue::Kind::String, "`$schema`");
    read_version(file);
    const JsonValue* grants = file.find("grants");
    if (grants == nullptr) {
      if (!misspelt(file, "grants", file_keys()))
        report("manifest-missing-key", file.begin, 1, "a manifest needs the key `grants`, an array that may be empty");
    } else if (expect(*grants, JsonValue::Kind::Array, "`grants`")) {
      for (const JsonValue& entry : grants->items) read_entry(entry);
    }
    sort_by_place(manifest_.diagnostics);
  }

 private:
  ManifestDiagnostic& report(std::string kind, std::size_t at, std::size_t length, std::string message) {
    ManifestDiagnostic diagnostic;
    diagnostic.kind = std::move(kind);
    diagnostic.message = std::move(message);
    const detail::TextPlace place = lines_.place(at);
    diagnostic.line = place.line;
    diagnostic.column = place.column;
    diagnostic.offset = at;
    diagnostic.length = std::max<std::size_t>(length, 1);
    return manifest_.diagnostics.emplace_back(std::move(diagnostic));
  }
  ManifestDiagnostic& report(std::string kind, const JsonValue& at, std::string message) {
    // An object or array is long; its first byte is place enough.
    const bool scalar = at.kind != JsonValue::Kind::Object && at.kind != JsonValue::Kind::Array;
    return report(std::move(kind), at.begin, scalar ? at.end - at.begin : 1, std::move(message));
  }

  bool expect(const JsonValue& value, JsonValue::Kind kind, std::string_view what) {
    if (value.kind == kind) return true;
    report("manifest-type", value,
           std::string(what) + " must be " + std::string(kind_name(kind)) + ", not " + std::string(kind_name(value.kind)));
    return false;
  }

  static const std::vector<std::string_view>& file_keys() {
    static const std::vector<std::string_view> keys{"$schema", "version", "grants"};
    return keys;
  }
  static const std::vector<std::string_view>& entry_keys() {
    static const std::vector<std::string_view> keys{"grant", "kernel", "scope", "reason"};
    return keys;
  }

  void check_keys(const JsonValue& object, const std::vector<std::string_view>& known) {
    std::map<std::string_view, const JsonMember*> seen;
    for (const JsonMember& member : object.members) {
      const std::size_t length = member.key_end - member.key_begin;
      const auto [first, fresh] = seen.emplace(member.key, &member);
      if (!fresh) {
        const detail::TextPlace place = lines_.place(first->second->key_begin);
        report("manifest-duplicate-key", member.key_begin, length,
               "the key " + detail::json_string(member.key) + " stands twice in this object")
            .note = "it stands at line " + std::to_string(place.line) + ", column " + std::to_string(place.column) + " too";
      } else if (std::find(known.begin(), known.end(), member.key) == known.end()) {
        ManifestDiagnostic& diagnostic =
            report("manifest-unknown-key", member.key_begin, length, "no key " + detail::json_string(member.key) + " exists here");
        suggest(diagnostic, member.key, known);
      }
    }
  }

  /// True when the object has a key which is reported as a misspelling of `key`: then the key is not reported as missing as well.
  static bool misspelt(const JsonValue& object, std::string_view key, const std::vector<std::string_view>& known) {
    return std::any_of(object.members.begin(), object.members.end(), [&](const JsonMember& member) {
      return std::find(known.begin(), known.end(), member.key) == known.end() && nearest_name(member.key, known) == key;
    });
  }

  static void suggest(ManifestDiagnostic& diagnostic, std::string_view wrong, const std::vector<std::string_view>& known) {
    const std::string_view nearest = nearest_name(wrong, known);
    if (!nearest.empty()) diagnostic.suggestion = detail::json_string(nearest);
  }

  void read_version(const JsonValue& file) {
    const JsonValue* version = file.find("version");
    std::int64_t number = 0;
    if (version == nullptr) {
      if (!misspelt(file, "version", file_keys()))
        report("manifest-missing-key", file.begin, 1, "a manifest needs the key `version`, which is 1");
    } else if (!version->to_integer(number)) {
      // "1" or 1.0: what was meant is clear. Another number is another form, which writing 1 does not change.
      ManifestDiagnostic& diagnostic = report("manifest-version", *version, "`version` must be the whole number 1");
      if (version->text == "1" || version->text == "1.0") diagnostic.suggestion = "1";
    } else if (number != 1) {
      report("manifest-version", *version,
             "this compiler reads manifests of version 1, and this one is of version " + std::to_string(number));
    }
  }

  const JsonValue* string_member(const JsonValue& entry, std::string_view key) {
    const JsonValue* value = entry.find(key);
    if (value == nullptr || !expect(*value, JsonValue::Kind::String, "`" + std::string(key) + "`")) return nullptr;
    return value;
  }

  std::optional<Grant> read_grant(const JsonValue& entry) {
    if (entry.find("grant") == nullptr) {
      if (!misspelt(entry, "grant", entry_keys()))
        report("manifest-missing-key", entry, "a grant needs the key `grant`, one of the seven names");
      return std::nullopt;
    }
    const JsonValue* name = string_member(entry, "grant");
    if (name == nullptr) return std::nullopt;
    const std::optional<Grant> grant = grant_by_name(name->text);
    if (!grant) {
      ManifestDiagnostic& diagnostic = report("manifest-unknown-grant", *name, "no grant has the name " + detail::json_string(name->text));
      std::vector<std::string_view> known;
      for (Grant one : all_grants()) known.push_back(grant_name(one));
      suggest(diagnostic, name->text, known);
      if (optimisation_by_name(name->text)) {
        diagnostic.suggestion.clear();
        diagnostic.note =
            "it is the name of an optimisation, and a manifest switches none on; where one is refused for want of a grant, --explain "
            "names the grant";
      } else if (diagnostic.suggestion.empty()) {
        diagnostic.note = "there are " + grant_list();
      }
    }
    return grant;
  }

  /// The scope and the value that states it.
  std::optional<std::pair<Scope, const JsonValue*>> read_scope(const JsonValue& entry) {
    const bool has_kernel = entry.find("kernel") != nullptr;
    const bool has_scope = entry.find("scope") != nullptr;
    if (has_kernel == has_scope) {
      if (!has_kernel && (misspelt(entry, "kernel", entry_keys()) || misspelt(entry, "scope", entry_keys()))) return std::nullopt;
      report("manifest-scope", entry,
             has_kernel ? "a grant is for a kernel or for the process, not both"
                        : "a grant needs `\"kernel\": NAME` or `\"scope\": \"process\"`");
      return std::nullopt;
    }
    const JsonValue* value = string_member(entry, has_kernel ? "kernel" : "scope");
    if (value == nullptr) return std::nullopt;
    if (has_scope) {
      if (value->text == "process") return std::pair{Scope::process(), value};
      ManifestDiagnostic& diagnostic =
          report("manifest-scope", *value, "`scope` is \"process\"; a grant for one kernel has the key `kernel` instead");
      // Only a misspelling of "process" is mended towards it: for a kernel's name it would grant far more than was meant.
      suggest(diagnostic, value->text, {"process"});
      if (diagnostic.suggestion.empty()) diagnostic.note = "for that kernel alone write \"kernel\": " + detail::json_string(value->text);
      return std::nullopt;
    }
    if (value->text == default_kernel_name) {
      report("manifest-default-kernel", *value, std::string(refusal_message(Refusal::DefaultKernelName)));
      return std::nullopt;
    }
    if (value->text.empty()) {
      report("manifest-scope", *value, "a kernel's name is not empty");
      return std::nullopt;
    }
    return std::pair{Scope::kernel(value->text), value};
  }

  const JsonValue* read_reason(const JsonValue& entry) {
    if (entry.find("reason") == nullptr) {
      if (!misspelt(entry, "reason", entry_keys()))
        report("manifest-missing-key", entry, "a grant needs the key `reason`: who accepted the deviation, and why");
      return nullptr;
    }
    const JsonValue* reason = string_member(entry, "reason");
    if (reason != nullptr && is_blank(reason->text)) {
      report("manifest-blank-reason", *reason, std::string(refusal_message(Refusal::BlankReason)));
      return nullptr;
    }
    if (reason != nullptr && reason->text == placeholder_reason)
      report("manifest-placeholder-reason", *reason, "this reason is the one that reports propose: say who accepted the deviation, and why")
          .severity = ManifestSeverity::Warning;
    return reason;
  }

  void read_entry(const JsonValue& entry) {
    if (!expect(entry, JsonValue::Kind::Object, "an entry of `grants`")) return;
    check_keys(entry, entry_keys());
    const std::optional<Grant> grant = read_grant(entry);
    const auto scope = read_scope(entry);
    const JsonValue* reason = read_reason(entry);
    if (!grant || !scope) return;
    const std::string kernel = scope->first.is_process() ? "" : scope->first.kernel_name();
    const detail::TextPlace place = lines_.place(entry.begin);
    const auto [first, fresh] = seen_.emplace(std::pair{kernel, grant->index()}, place);
    if (!fresh) {
      report("manifest-duplicate-grant", entry, "this scope has the grant `" + std::string(grant_name(*grant)) + "` already").note =
          "it is granted at line " + std::to_string(first->second.line) + ", column " + std::to_string(first->second.column) + " too";
      return;
    }
    if (reason == nullptr) return;
    manifest_.grants.push_back(
        {*grant, scope->first, reason->text, place.line, place.column, scope->second->begin, scope->second->end - scope->second->begin});
  }

  std::string_view text_;
  detail::LineIndex lines_;
  Manifest& manifest_;
  // The empty name, which no kernel has, stands for the process.
  std::map<std::pair<std::string, std::size_t>, detail::TextPlace> seen_;
};

}  // namespace

bool Manifest::has_errors() const {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const ManifestDiagnostic& d) { return d.severity == ManifestSeverity::Error; });
}

Manifest read_manifest(std::string_view text) {
  Manifest manifest;
  ManifestReader(text, manifest).read();
  return manifest;
}

void check_kernels(Manifest& manifest, std::string_view text, const std::vector<std::string>& kernels) {
  const detail::LineIndex lines(text);
  const std::set<std::string_view> known(kernels.begin(), kernels.end());
  for (const ManifestGrant& grant : manifest.grants) {
    if (grant.scope.is_process() || known.contains(grant.scope.kernel_name())) continue;
    const std::string& name = grant.scope.kernel_name();
    ManifestDiagnostic diagnostic;
    diagnostic.kind = "manifest-unknown-kernel";
    diagnostic.severity = ManifestSeverity::Warning;
    diagnostic.message = "no input defines a kernel " + detail::json_string(name) + ", so this grant has no effect";
    const detail::TextPlace place = lines.place(grant.scope_offset);
    diagnostic.line = place.line;
    diagnostic.column = place.column;
    diagnostic.offset = grant.scope_offset;
    diagnostic.length = std::max<std::size_t>(grant.scope_length, 1);
    const std::string_view nearest = nearest_name(name, std::vector<std::string_view>(known.begin(), known.end()));
    if (!nearest.empty()) diagnostic.suggestion = detail::json_string(nearest);
    manifest.diagnostics.push_back(std::move(diagnostic));
  }
  sort_by_place(manifest.diagnostics);
}

void apply(const Manifest& manifest, Store& store) {
  for (const ManifestGrant& entry : manifest.grants) {
    // The reader refused blank reasons and the default name by the store's own rules.
    [[maybe_unused]] const std::optional<Refusal> refused = store.grant(entry.scope, entry.grant, entry.reason);
  }
}

std::string manifest_diagnostic_text(const ManifestDiagnostic& diagnostic, std::string_view file_name) {
  const std::string place = std::string(file_name) + ":" + std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column) + ": ";
  std::string text = place + (diagnostic.severity == ManifestSeverity::Error ? "error: " : "warning: ") + diagnostic.message + " [" +
                     diagnostic.kind + "]\n";
  if (!diagnostic.note.empty()) text += place + "note: " + diagnostic.note + "\n";
  if (!diagnostic.suggestion.empty()) text += place + "note: did you mean " + diagnostic.suggestion + "?\n";
  return text;
}

namespace {

namespace fs = std::filesystem;

/// The folders that the search for a manifest looks into, in order.
std::vector<fs::path> searched_folders(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> folders;
  fs::path at = fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) return folders;
  for (;;) {
    folders.push_back(at);
    bool is_root = false;
    for (const char* marker : {".git", ".hg", "sarek.project"}) is_root = is_root || fs::exists(at / marker, error);
    if (is_root || at == at.parent_path()) return folders;
    at = at.parent_path();
  }
}

}  // namespace

std::optional<fs::path> find_manifest(const fs::path& folder) {
  std::error_code error;
  for (const fs::path& at : searched_folders(folder))
    if (const fs::path candidate = at / manifest_file_name; fs::is_regular_file(candidate, error)) return candidate;
  return std::nullopt;
}

fs::path new_manifest_path(const fs::path& folder) {
  std::error_code error;
  const fs::path here = fs::weakly_canonical(".", error);
  const std::vector<fs::path> folders = searched_folders(folder);
  if (error || folders.empty() || std::find(folders.begin(), folders.end(), here) != folders.end()) return manifest_file_name;
  return folder / manifest_file_name;
}

fs::path shown_path(const fs::path& path) {
  std::error_code error;
  const fs::path here = fs::weakly_canonical(".", error);
  if (error || path.is_relative()) return path;
  const fs::path relative = path.lexically_relative(here);
  return relative.empty() || *relative.begin() == ".." ? path : relative;
}

}  // namespace sarek::policy
