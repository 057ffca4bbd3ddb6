#include "runtime/drivers/fault.h"

namespace sarek::runtime {

std::string describe_fault(const std::string& kernel, std::span<const artifact::FaultSite> sites, const Fault& fault) {
  std::string text = "kernel `" + kernel + "`, block " + std::to_string(fault.block) + ", thread " + std::to_string(fault.thread) + ": ";
  if (fault.site == 0 || fault.site > sites.size()) return text + "a check failed";
  const artifact::FaultSite& site = sites[fault.site - 1];
  if (site.kind == "bounds")
    text += "index " + std::to_string(fault.value) + " is outside `" + site.detail + "` of length " + std::to_string(fault.limit);
  else text += site.detail.empty() ? site.kind : site.detail;
  if (!site.file.empty()) text = site.file + ":" + std::to_string(site.line) + ":" + std::to_string(site.column) + ": " + text;
  return text;
}

}  // namespace sarek::runtime
