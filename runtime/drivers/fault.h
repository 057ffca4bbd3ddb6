// What the drivers tell of a checked kernel's fault.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/artifact/package.h"

namespace sarek::runtime {

struct Fault {
  std::uint32_t site = 0;  // from 1; 0: none
  std::int64_t block = 0;  // linear, x fastest
  std::int64_t thread = 0;
  std::int64_t value = 0, limit = 0;  // "bounds": the index and the length
};

/// "saxpy.sarek:4:5: kernel `saxpy`, block 0, thread 3: index 12 is outside `y` of length 10".
std::string describe_fault(const std::string& kernel, std::span<const artifact::FaultSite> sites, const Fault& fault);

}  // namespace sarek::runtime
