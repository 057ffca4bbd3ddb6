#include "compiler/driver/targets.h"

#include <algorithm>

namespace sarek::driver {

std::string target_text(const Target& target) {
  std::string text;
  switch (target.kind) {
    case TargetKind::Interp: text = "interp"; break;
    case TargetKind::Native: text = "native"; break;
    case TargetKind::Opencl: text = "opencl"; break;
  }
  return target.level.empty() ? text : text + ":" + target.level;
}

const std::vector<TargetInfo>& known_targets() {
  static const std::vector<TargetInfo> targets = {
      {"interp", "", "the IR itself, run by the reference interpreter"},
      {"native", "sse4.2 avx2 avx512 aarch64", "machine code for the CPU; without a level all three of x86-64, picked at load"},
      {"opencl", "", "OpenCL C 1.2, built by the device's driver"},
  };
  return targets;
}

Result<std::vector<Target>> parse_targets(std::string_view list) {
  std::vector<Target> targets;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    const std::size_t colon = item.find(':');
    const std::string_view name = item.substr(0, colon);
    Target target;
    if (colon != std::string_view::npos) target.level = std::string(item.substr(colon + 1));
    if (name == "interp") target.kind = TargetKind::Interp;
    else if (name == "native" || name == "host") target.kind = TargetKind::Native;
    else if (name == "opencl") target.kind = TargetKind::Opencl;
    else return err("unknown target `" + std::string(name) + "`; --print-targets lists them");
    const bool level_known =
        target.level.empty() || (target.kind == TargetKind::Native && (target.level == "sse4.2" || target.level == "avx2" ||
                                                                       target.level == "avx512" || target.level == "aarch64"));
    if (!level_known) return err("target `" + std::string(name) + "` has no variant `" + target.level + "`; --print-targets lists them");
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(target);
    if (comma == std::string_view::npos) return targets;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace sarek::driver
