// The manifest's reader and its writer on any bytes: no crash, places inside of the text, and an entry that was added is there afterwards.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/manifest.h"
#include "policy/report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sarek::policy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Manifest manifest = read_manifest(text);
  check_kernels(manifest, text, {"gemm", "blur"});
  for (const ManifestDiagnostic& diagnostic : manifest.diagnostics)
    if (diagnostic.offset > size || diagnostic.line < 1 || diagnostic.column < 1 || diagnostic.message.empty()) std::abort();
  Store store;
  apply(manifest, store);
  if (store.version() != manifest.grants.size()) std::abort();
  const ManifestEdit edit = add_to_manifest(text, Scope::kernel("gemm"), Deviation::single_rounding(), "fuzz");
  if (edit.text) {
    const Manifest after = read_manifest(*edit.text);
    if (after.has_errors() || after.grants.size() != manifest.grants.size() + (edit.changed ? 1 : 0)) std::abort();
  } else if (edit.diagnostics.empty()) {
    std::abort();
  }
  const auto report = read_json_report(text);
  if (const auto* read = std::get_if<ExplainReport>(&report)) {
    const auto again = read_json_report(report_as_json(*read));
    if (!std::holds_alternative<ExplainReport>(again)) std::abort();
    (void)report_as_sarif(*read);
    (void)report_as_html(*read);
  }
  return 0;
}
