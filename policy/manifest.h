// The manifest, sarek.policy.json: reading it with the place of everything that is wrong, adding an entry without disturbing the rest,
// finding it from an input's folder, and telling its grants to a store. The form is described for editors by sarek.policy.schema.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/store.h"
#include "policy/vocabulary.h"

namespace sarek::policy {

enum class ManifestSeverity : std::uint8_t { Error, Warning };

/// A fault of a manifest. `line` and `column` count from 1 (the column in bytes); `offset` and `length` are the same place in bytes, for
/// whoever draws carets. `message` is lower case, one sentence, no full stop.
struct ManifestDiagnostic {
  /// One of: manifest-unreadable, manifest-syntax, manifest-type, manifest-version, manifest-missing-key, manifest-unknown-key,
  /// manifest-duplicate-key, manifest-unknown-grant, manifest-scope, manifest-blank-reason, manifest-default-kernel,
  /// manifest-duplicate-grant; and the warnings manifest-unknown-kernel, manifest-placeholder-reason.
  std::string kind;
  ManifestSeverity severity = ManifestSeverity::Error;
  std::string message;
  std::size_t line = 1;
  std::size_t column = 1;
  std::size_t offset = 0;
  std::size_t length = 1;
  /// What to write in place of the text at fault (a whole JSON token); empty without a suggestion.
  std::string suggestion;
  /// A second sentence that explains the first, or names the other place; empty without one.
  std::string note;
  friend bool operator==(const ManifestDiagnostic&, const ManifestDiagnostic&) = default;
};

/// One grant of a manifest and where it stands.
struct ManifestGrant {
  Grant grant;
  Scope scope = Scope::process();
  std::string reason;
  std::size_t line = 1;  // of the entry
  std::size_t column = 1;
  std::size_t scope_offset = 0;  // of the value that names the kernel or the scope
  std::size_t scope_length = 0;
};

struct Manifest {
  /// The entries without fault, in the order of the file.
  std::vector<ManifestGrant> grants;
  /// In the order of the file.
  std::vector<ManifestDiagnostic> diagnostics;

  bool has_errors() const;
};

/// What stands for the reason in the entries that reports propose. A manifest that still holds it is warned about.
inline constexpr std::string_view placeholder_reason = "WHY IT IS ACCEPTED";

/// Reads a manifest. Every fault is reported, not only the first, except that nothing is read past a fault of syntax. A file above 1 MiB,
/// nested deeper than 64 levels or not in UTF-8 is refused.
Manifest read_manifest(std::string_view text);

/// Adds a warning for each grant whose kernel is not among `kernels`, with the nearest name; `text` is what the manifest was read from.
void check_kernels(Manifest& manifest, std::string_view text, const std::vector<std::string>& kernels);

/// Tells the store every entry. What the reader accepted, no store refuses.
void apply(const Manifest& manifest, Store& store);

/// `NAME:LINE:COLUMN: error: MESSAGE [KIND]`, and the note and the suggestion on lines of their own.
std::string manifest_diagnostic_text(const ManifestDiagnostic& diagnostic, std::string_view file_name);

/// One entry as it stands in a manifest: `{ "grant": "...", "kernel": "...", "reason": "..." }`.
std::string manifest_entry_text(const Scope& scope, Grant grant, std::string_view reason);

/// The result of adding an entry: the file's new text, or what is wrong.
struct ManifestEdit {
  std::optional<std::string> text;
  std::vector<ManifestDiagnostic> diagnostics;
  bool changed = false;                  // false with a text: the grant was there already
  bool about_entry = false;              // the diagnostics are about the new entry, and have no place in the file
  std::optional<ManifestGrant> present;  // the entry that was there already
};

/// The text of a manifest with one more entry at the end of its grants. Every other byte stays: order, indentation, line ends. A blank
/// text gives a new manifest. A manifest with errors, a blank reason, the placeholder and the default kernel name are refused;
/// `about_entry` says that the fault is of the new entry and not of the file.
ManifestEdit add_to_manifest(std::string_view text, const Scope& scope, Grant grant, std::string_view reason);

inline constexpr std::string_view manifest_file_name = "sarek.policy.json";

/// The manifest that governs an input: in its folder or the nearest folder above, up to and including the project root. The root is the
/// first folder that holds `.git`, `.hg` or `sarek.project` (a file or a folder); without one, the search goes up to the file system's
/// root. `folder` may be relative or empty (the current folder). Nothing when there is none.
std::optional<std::filesystem::path> find_manifest(const std::filesystem::path& folder);

/// Where to make a manifest for inputs of `folder`: `sarek.policy.json` in the current folder when the search of `find_manifest` passes it,
/// else beside the inputs.
std::filesystem::path new_manifest_path(const std::filesystem::path& folder);

/// A path as messages, reports and dependency files name it: relative to the current folder where it lies below it, else as it is.
std::filesystem::path shown_path(const std::filesystem::path& path);

}  // namespace sarek::policy
