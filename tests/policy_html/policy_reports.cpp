// Writes one report in every form into a folder, for the scripts beside this file. The report is made of real decisions of a store and has
// names that a careless writer would break on.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "policy/report.h"
#include "policy/store.h"

namespace {

using namespace sarek::policy;

ExplainReport make_report() {
  Store store({Environment::parse("operand-rounding-bf16", "0"), Frameworks::defaults()});
  ExplainReport report;
  report.tool_version = "0.1.0";
  report.manifest = "sarek.policy.json";
  std::size_t line = 1;
  store.set_reporter([&](const Event& event) { report.entries.push_back({event, {"src/a <b> & c.sarek", line += 3, 5}}); });
  (void)store.grant(Scope::kernel("gemm"), Deviation::accumulation_order(), "signed off: \"QA-112\" <ok> & more");
  (void)store.grant(Scope::process(), Deviation::operand_rounding(OperandPrecision::Bf16), "revoked here");
  store.register_fused("fused<0>", {"gemm", "blur"});
  (void)store.grant(Scope::kernel("fused<0>"), Deviation::single_rounding(), "never matched");
  for (const std::string kernel : {"gemm", "blur", "fused<0>", "</tr><script>document.title='broken'</script>"}) {
    const Effective effective = store.effective(kernel);
    for (const char* backend : {"Vulkan", "HIP", "Native"})
      store.report({kernel, backend, Optimisation::EpilogueFusion, store.decide(effective, Optimisation::EpilogueFusion, backend)});
    store.report({kernel, "CUDA:0", Optimisation::MatrixRewrite,
                  store.decide_needing(effective, Optimisation::MatrixRewrite, {Deviation::accumulation_order()},
                                       "16x16x16 f16, \u00e9 \xF0\x9F\x8E\xBC")});
    store.report({kernel, "CUDA:1", Optimisation::MatrixRewrite,
                  store.decide_needing(effective, Optimisation::MatrixRewrite, {Deviation::operand_rounding(OperandPrecision::Bf16)})});
    store.report({kernel, "gen:cuda-c", Optimisation::NarrowingProof, store.decide_narrowing(effective, "x < 2 && y > 1")});
    store.report_gate(kernel, "CUDA:0", Refused{"no configuration 8x8x8"});
  }
  report.policy_digest = effective_digest(store.effective("gemm"));
  report.unproven = {{"gemm", "nothing shows that `i < 2 & j` is below the length of a", {"src/a <b> & c.sarek", 7, 9}},
                     {"only accesses", "nothing shows that `k` is not negative", {"src/a <b> & c.sarek", 8, 1}}};
  report.plans = {{"gemm", "gemm --> blur\n  <t0>"}};
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: policy_reports FOLDER\n";
    return 2;
  }
  const ExplainReport report = make_report();
  const std::filesystem::path folder = argv[1];
  std::ofstream(folder / "report.json") << report_as_json(report);
  std::ofstream(folder / "report.html") << report_as_html(report);
  std::ofstream(folder / "report.sarif") << report_as_sarif(report);
  return 0;
}
