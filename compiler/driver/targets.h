// The targets a compile can ask for and how they are spelt. What each can do is in its emitter's capabilities.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace sarek::driver {

enum class TargetKind : std::uint8_t { Interp, Native, Opencl };

/// One target. `level` is a native CPU level ("sse4.2", "avx2", "avx512", "aarch64"), or empty: every x86-64 level, picked at load.
struct Target {
  TargetKind kind = TargetKind::Native;
  std::string level;
  friend bool operator==(const Target&, const Target&) = default;
};

/// "native:avx2"
std::string target_text(const Target& target);

/// Reads a comma list such as "native,opencl" or "native:avx2"; `host` is the native target of this machine. Duplicates count once.
Result<std::vector<Target>> parse_targets(std::string_view list);

struct TargetInfo {
  std::string_view name;
  std::string_view variants;  // "sse4.2 avx2 avx512 aarch64"
  std::string_view meaning;
};
const std::vector<TargetInfo>& known_targets();

}  // namespace sarek::driver
