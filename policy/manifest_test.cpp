// The manifest: every kind of diagnostic with its place, hostile files, adding entries, discovery.
#include "policy/manifest.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>

#include "policy/commands.h"

namespace sarek::policy {
namespace {

const char* const good = R"({ "$schema": "sarek.policy.schema.json", "version": 1,
  "grants": [
    { "grant": "accumulation-order", "kernel": "gemm", "reason": "PSNR budget signed off in QA-112" },
    { "grant": "automatic-float-rewrite", "scope": "process", "reason": "matrix units wanted everywhere they are allowed" } ] }
)";

std::string faults(std::string_view text) { return policy_check(text, "m", std::nullopt, false).text; }

/// A manifest whose grants hold one entry, on line 2 from column 1.
std::string with_entry(const std::string& entry) { return "{ \"version\": 1, \"grants\": [\n" + entry + "\n] }"; }

TEST_CASE("a manifest without fault") {
  const Manifest manifest = read_manifest(good);
  REQUIRE(manifest.diagnostics.empty());
  REQUIRE(manifest.grants.size() == 2);
  REQUIRE(manifest.grants[0].scope == Scope::kernel("gemm"));
  REQUIRE(manifest.grants[0].line == 3);
  REQUIRE(manifest.grants[0].column == 5);
  REQUIRE(manifest.grants[1].grant == Grant(Consent::AutomaticFloatRewrite));
  Store store;
  apply(manifest, store);
  REQUIRE(store.version() == 2);
  REQUIRE(store.reason("gemm", Deviation::accumulation_order()) == "PSNR budget signed off in QA-112");
  REQUIRE(store.reason("other", Consent::AutomaticFloatRewrite) == "matrix units wanted everywhere they are allowed");
  REQUIRE(faults("\xEF\xBB\xBF{\"version\":1,\"grants\":[]}").empty());
}

TEST_CASE("each fault has its kind and its place") {
  const auto entry_faults = [](const std::string& entry) { return faults(with_entry(entry)); };
  REQUIRE(entry_faults(R"({ "grant": "acumulation-order", "kernel": "k", "reason": "r" })") ==
          "m:2:12: error: no grant has the name \"acumulation-order\" [manifest-unknown-grant]\n"
          "m:2:12: note: did you mean \"accumulation-order\"?\n");
  REQUIRE(entry_faults(R"({ "grant": "epilogue", "kernel": "k", "reason": "r" })") ==
          "m:2:12: error: no grant has the name \"epilogue\" [manifest-unknown-grant]\n"
          "m:2:12: note: it is the name of an optimisation, and a manifest switches none on; where one is refused for want of a grant, "
          "--explain "
          "names the grant\n");
  REQUIRE(entry_faults(R"({ "grant": "fast-math", "kernel": "k", "reason": "r" })") ==
          "m:2:12: error: no grant has the name \"fast-math\" [manifest-unknown-grant]\n"
          "m:2:12: note: there are accumulation-order, operand-rounding-f16, operand-rounding-bf16, operand-rounding-bf16x3, "
          "single-rounding, cross-kernel-contraction, automatic-float-rewrite\n");
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "kernel": "k", "reason": " " })") ==
          "m:2:56: error: a grant needs a reason that says something [manifest-blank-reason]\n");
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "kernel": "k" })") ==
          "m:2:1: error: a grant needs the key `reason`: who accepted the deviation, and why [manifest-missing-key]\n");
  REQUIRE(entry_faults(R"({ "kernel": "k", "reason": "r" })") ==
          "m:2:1: error: a grant needs the key `grant`, one of the seven names [manifest-missing-key]\n");
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "kernel": "sarek_kern", "reason": "r" })") ==
          "m:2:41: error: `sarek_kern` is the name of every unnamed kernel: name the kernel, or grant for the process "
          "[manifest-default-kernel]\n");
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "reason": "r" })") ==
          "m:2:1: error: a grant needs `\"kernel\": NAME` or `\"scope\": \"process\"` [manifest-scope]\n");
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "kernel": "k", "scope": "process", "reason": "r" })") ==
          "m:2:1: error: a grant is for a kernel or for the process, not both [manifest-scope]\n");
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "scope": "k", "reason": "r" })") ==
          "m:2:40: error: `scope` is \"process\"; a grant for one kernel has the key `kernel` instead [manifest-scope]\n"
          "m:2:40: note: for that kernel alone write \"kernel\": \"k\"\n");
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "scope": "Process", "reason": "r" })") ==
          "m:2:40: error: `scope` is \"process\"; a grant for one kernel has the key `kernel` instead [manifest-scope]\n"
          "m:2:40: note: did you mean \"process\"?\n");
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "kernel": "k", "reason": "WHY IT IS ACCEPTED" })") ==
          "m:2:56: warning: this reason is the one that reports propose: say who accepted the deviation, and why "
          "[manifest-placeholder-reason]\n");
  REQUIRE(read_manifest(with_entry(R"({ "grant": "single-rounding", "kernel": "k", "reason": "WHY IT IS ACCEPTED" })")).grants.size() == 1);
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "kernel": "", "reason": "r" })") ==
          "m:2:41: error: a kernel's name is not empty [manifest-scope]\n");
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "kernel": 7, "reason": ["r"] })") ==
          "m:2:41: error: `kernel` must be a string, not a number [manifest-type]\n"
          "m:2:54: error: `reason` must be a string, not an array [manifest-type]\n");
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "kernl": "k", "scope": "process", "reason": "r" })") ==
          "m:2:31: error: no key \"kernl\" exists here [manifest-unknown-key]\n"
          "m:2:31: note: did you mean \"kernel\"?\n");
  // A key that is misspelt is not missing as well.
  REQUIRE(entry_faults(R"({ "grnt": "single-rounding", "kernal": "k", "resaon": "r" })") ==
          "m:2:3: error: no key \"grnt\" exists here [manifest-unknown-key]\n"
          "m:2:3: note: did you mean \"grant\"?\n"
          "m:2:30: error: no key \"kernal\" exists here [manifest-unknown-key]\n"
          "m:2:30: note: did you mean \"kernel\"?\n"
          "m:2:45: error: no key \"resaon\" exists here [manifest-unknown-key]\n"
          "m:2:45: note: did you mean \"reason\"?\n");
  REQUIRE(faults("{ \"versoin\": 1, \"grant\": [] }") ==
          "m:1:3: error: no key \"versoin\" exists here [manifest-unknown-key]\n"
          "m:1:3: note: did you mean \"version\"?\n"
          "m:1:17: error: no key \"grant\" exists here [manifest-unknown-key]\n"
          "m:1:17: note: did you mean \"grants\"?\n");
  REQUIRE(entry_faults(R"({ "grant": "single-rounding", "kernel": "a", "kernel": "b", "reason": "r" })") ==
          "m:2:46: error: the key \"kernel\" stands twice in this object [manifest-duplicate-key]\n"
          "m:2:46: note: it stands at line 2, column 31 too\n");
  const std::string once = R"({ "grant": "single-rounding", "kernel": "k", "reason": "r" })";
  REQUIRE(entry_faults(once + ",\n  " + once) ==
          "m:3:3: error: this scope has the grant `single-rounding` already [manifest-duplicate-grant]\n"
          "m:3:3: note: it is granted at line 2, column 1 too\n");
  REQUIRE(entry_faults("7") == "m:2:1: error: an entry of `grants` must be an object, not a number [manifest-type]\n");
  REQUIRE(faults("[]") == "m:1:1: error: a manifest must be an object, not an array [manifest-type]\n");
  REQUIRE(faults("{}") ==
          "m:1:1: error: a manifest needs the key `version`, which is 1 [manifest-missing-key]\n"
          "m:1:1: error: a manifest needs the key `grants`, an array that may be empty [manifest-missing-key]\n");
  REQUIRE(faults("{\"grants\": [],\n \"version\": 2, \"allow\": true, \"$schema\": null}") ==
          "m:2:13: error: this compiler reads manifests of version 1, and this one is of version 2 [manifest-version]\n"
          "m:2:16: error: no key \"allow\" exists here [manifest-unknown-key]\n"
          "m:2:42: error: `$schema` must be a string, not null [manifest-type]\n");
  REQUIRE(faults("{\"version\": 1.0, \"grants\": {}}") ==
          "m:1:13: error: `version` must be the whole number 1 [manifest-version]\n"
          "m:1:13: note: did you mean 1?\n"
          "m:1:28: error: `grants` must be an array, not an object [manifest-type]\n");
}

TEST_CASE("a place counts bytes and survives escapes before it") {
  const Manifest manifest = read_manifest(
      "{ \"version\": 1, \"grants\": [\r\n\t{ \"reason\": \"\\u00e9\\n\xC3\xA9\", \"grant\": \"nope\", \"kernel\": \"k\" }] }");
  REQUIRE(manifest.diagnostics.size() == 1);
  REQUIRE(manifest.diagnostics[0].line == 2);
  REQUIRE(manifest.diagnostics[0].column == 37);
  REQUIRE(manifest.diagnostics[0].length == 6);
}

TEST_CASE("faults of syntax, with the place where reading stopped") {
  REQUIRE(faults("") == "m:1:1: error: the file ends here, expected a value [manifest-syntax]\n");
  REQUIRE(faults("{\n  \"version\": 1,\n}") == "m:2:15: error: no comma may stand before `}` [manifest-syntax]\n");
  REQUIRE(faults("{ \"grants\": [ 1 , ] }") == "m:1:17: error: no comma may stand before `]` [manifest-syntax]\n");
  REQUIRE(faults("{ \"version\": 1\n  \"grants\": [] }") == "m:2:3: error: a comma is missing before this [manifest-syntax]\n");
  REQUIRE(faults("{ \"grants\": [{} {}] }") == "m:1:17: error: a comma is missing before this [manifest-syntax]\n");
  REQUIRE(faults("{ 'version': 1 }") == "m:1:3: error: JSON writes text in double quotes [manifest-syntax]\n");
  REQUIRE(faults("# ours\n{}") == "m:1:1: error: JSON has no comments [manifest-syntax]\n");
  REQUIRE(faults("{ version: 1 }") == "m:1:3: error: unexpected character, expected a key in double quotes [manifest-syntax]\n");
  REQUIRE(faults("{ \"version\": 01 }") == "m:1:15: error: unexpected character, expected `,` or `}` [manifest-syntax]\n");
  REQUIRE(faults("{ \"version\": 1 } x") == "m:1:18: error: nothing may follow the value of the file [manifest-syntax]\n");
  REQUIRE(faults("{ \"ver") == "m:1:3: error: this string has no end [manifest-syntax]\n");
  REQUIRE(faults("{ \"a\": \"\\x\" }") == "m:1:9: error: no such escape in a string [manifest-syntax]\n");
  REQUIRE(faults("{ \"a\": \"\\ud800\" }") == "m:1:9: error: a high surrogate without a low one after it [manifest-syntax]\n");
  REQUIRE(faults("{ \"a\": // comment\n 1 }") == "m:1:8: error: JSON has no comments [manifest-syntax]\n");
}

TEST_CASE("hostile files are refused and cost little") {
  REQUIRE(faults(std::string(100000, '[')) == "m:1:65: error: more than 64 levels of nesting at this array [manifest-unreadable]\n");
  REQUIRE(faults(std::string((1 << 20) + 1, ' ')) == "m:1:1: error: the file is larger than 1048576 bytes [manifest-unreadable]\n");
  REQUIRE(faults("{ \"a\": \"\xFF\" }") == "m:1:9: error: the file is not valid UTF-8 here [manifest-unreadable]\n");
  REQUIRE(faults("{ \"a\": \"\xED\xA0\x80\" }") == "m:1:9: error: the file is not valid UTF-8 here [manifest-unreadable]\n");
  REQUIRE(faults("{ \"a\": \"\xC0\xAF\" }") == "m:1:9: error: the file is not valid UTF-8 here [manifest-unreadable]\n");
  std::string many = "{ \"version\": 1, \"grants\": [0";
  while (many.size() < 1000000) many += ",0";
  REQUIRE(read_manifest(many + "]}").diagnostics.size() > 400000);
}

TEST_CASE("kernel scopes are compared with the kernels that exist") {
  const std::vector<std::string> kernels{"gem", "blur"};
  REQUIRE(policy_check(good, "m", kernels, false).text ==
          "m:3:48: warning: no input defines a kernel \"gemm\", so this grant has no effect [manifest-unknown-kernel]\n"
          "m:3:48: note: did you mean \"gem\"?\n");
  REQUIRE(policy_check(good, "m", kernels, false).status == 0);
  REQUIRE(policy_check(good, "m", kernels, true).status == 1);
  REQUIRE(policy_check(good, "m", std::vector<std::string>{"gemm"}, true).status == 0);
  REQUIRE(policy_check("{", "m", std::nullopt, false).status == 1);
  // Faults of the entries and unknown kernels are told together, in the order of the file.
  REQUIRE(
      policy_check(with_entry(R"({ "grant": "single-rounding", "kernel": "zzzzzz", "reason": "r" }, { "grant": "fast", "reason": "r" })"),
                   "m", kernels, false)
          .text.starts_with("m:2:41: warning: no input defines a kernel \"zzzzzz\""));
}

TEST_CASE("adding an entry keeps every other byte") {
  const auto add = [](std::string_view text) {
    return add_to_manifest(text, Scope::kernel("blur"), Deviation::single_rounding(), "say \"yes\"").text.value();
  };
  const std::string entry = "{ \"grant\": \"single-rounding\", \"kernel\": \"blur\", \"reason\": \"say \\\"yes\\\"\" }";
  REQUIRE(add("") == "{\n  \"$schema\": \"sarek.policy.schema.json\",\n  \"version\": 1,\n  \"grants\": [\n    " + entry + "\n  ]\n}\n");
  const std::string text(good);
  const std::size_t at = text.find(" ] }");
  REQUIRE(add(good) == text.substr(0, at) + ",\n    " + entry + text.substr(at));
  REQUIRE(add("{ \"grants\": [], \"version\": 1 }") == "{ \"grants\": [\n  " + entry + "\n], \"version\": 1 }");
  const std::string one = R"({"version":1,"grants":[{"grant":"single-rounding","scope":"process","reason":"r"}]})";
  REQUIRE(add(one) == one.substr(0, one.size() - 2) + ", " + entry + "]}");
  REQUIRE(add("{\r\n\t\"version\": 1,\r\n\t\"grants\": [\r\n\t]\r\n}\r\n") ==
          "{\r\n\t\"version\": 1,\r\n\t\"grants\": [\r\n\t  " + entry + "\r\n\t]\r\n}\r\n");

  const ManifestEdit again = add_to_manifest(add(good), Scope::kernel("blur"), Deviation::single_rounding(), "another reason");
  REQUIRE(again.text == add(good));
  REQUIRE(!again.changed);
  REQUIRE(again.present);
  REQUIRE(again.present->reason == "say \"yes\"");
  REQUIRE(!read_manifest(add(good)).has_errors());
}

TEST_CASE("adding is refused with the reader's words") {
  const ManifestEdit blank = add_to_manifest("", Scope::process(), Deviation::single_rounding(), " ");
  REQUIRE(!blank.text);
  REQUIRE(blank.diagnostics.at(0).kind == "manifest-blank-reason");
  REQUIRE(blank.about_entry);
  const ManifestEdit proposed = add_to_manifest("", Scope::process(), Deviation::single_rounding(), placeholder_reason);
  REQUIRE(!proposed.text);
  REQUIRE(proposed.diagnostics.at(0).severity == ManifestSeverity::Error);
  REQUIRE(add_to_manifest("", Scope::kernel("sarek_kern"), Deviation::single_rounding(), "r").diagnostics.at(0).kind ==
          "manifest-default-kernel");
  const ManifestEdit broken = add_to_manifest("{", Scope::process(), Deviation::single_rounding(), "r");
  REQUIRE(!broken.text);
  REQUIRE(broken.diagnostics.at(0).kind == "manifest-syntax");
  REQUIRE(!broken.about_entry);
}

TEST_CASE("the manifest is found from the input's folder up to the project's root") {
  namespace fs = std::filesystem;
  const fs::path base = fs::temp_directory_path() / ("sarek_manifest_" + std::to_string(reinterpret_cast<std::uintptr_t>(&base)));
  const fs::path inner = base / "project" / "src" / "kernels";
  fs::create_directories(inner);
  fs::create_directories(base / "project" / ".git");
  std::ofstream(base / manifest_file_name) << good;  // outside of the project
  REQUIRE(!find_manifest(inner));
  std::ofstream(base / "project" / manifest_file_name) << good;
  REQUIRE(find_manifest(inner) == fs::canonical(base / "project" / manifest_file_name));
  std::ofstream(inner / manifest_file_name) << good;
  REQUIRE(find_manifest(inner) == fs::canonical(inner / manifest_file_name));
  fs::remove(inner / manifest_file_name);
  fs::create_directory(inner / manifest_file_name);  // a folder of that name is no manifest
  REQUIRE(find_manifest(inner) == fs::canonical(base / "project" / manifest_file_name));

  // Where a new one goes: here when the input's search passes here, else beside the input.
  const fs::path before = fs::current_path();
  fs::current_path(base / "project");
  REQUIRE(shown_path(*find_manifest("src/kernels")) == "sarek.policy.json");
  REQUIRE(new_manifest_path("src/kernels") == "sarek.policy.json");
  REQUIRE(new_manifest_path("") == "sarek.policy.json");
  fs::current_path(inner);
  REQUIRE(shown_path(*find_manifest("..")) == fs::canonical(base / "project" / manifest_file_name));
  REQUIRE(new_manifest_path("..") == fs::path("..") / "sarek.policy.json");
  fs::current_path(base);  // above the project's root, where the search does not come
  REQUIRE(new_manifest_path("project/src") == fs::path("project/src/sarek.policy.json"));
  fs::current_path(before);
  REQUIRE(shown_path("/") == "/");
  REQUIRE(shown_path("a/b") == "a/b");
  fs::remove_all(base);
}

TEST_CASE("the schema names every grant with its meaning") {
  std::ifstream file(std::string(SAREK_SOURCE_DIR) + "/policy/sarek.policy.schema.json");
  std::stringstream text;
  text << file.rdbuf();
  REQUIRE(!text.str().empty());
  for (Grant grant : all_grants())
    REQUIRE(text.str().find("{ \"const\": \"" + std::string(grant_name(grant)) + "\", \"description\": \"" +
                            std::string(grant_meaning(grant)) + "\" }") != std::string::npos);
}

}  // namespace
}  // namespace sarek::policy
