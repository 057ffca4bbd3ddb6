// Runs one kernel of a package on one device with arguments given as bytes, for `sarekc run` and `sarekc test`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "runtime/artifact/package.h"
#include "runtime/include/sarek/sarek.h"

namespace sarek::tool {

/// One argument: the bytes of a scalar, or of a buffer's elements (read and written in place).
struct ArgumentValue {
  std::vector<std::uint8_t> bytes;
};

struct LaunchPlan {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::vector<ArgumentValue> arguments;  // one a parameter
  std::vector<std::int64_t> dynamic_shared;
  int repeat = 1;  // launches; the arguments are those of the first, the results those of the last
};

struct LaunchOutcome {
  std::vector<ArgumentValue> arguments;  // as the kernel left them
  std::string variant;                   // "native avx2"
  double best_milliseconds = 0;          // of the launches, without copies
};

struct RunFault {
  sarek_status status = SAREK_OK;
  std::string message;
};

/// Loads the package on the device and launches. The package must hold a variant for the device.
Result<LaunchOutcome, RunFault> run_kernel(const std::vector<std::uint8_t>& package, const std::string& device,
                                           const artifact::Kernel& kernel, const LaunchPlan& plan);

/// Is there such a device? The fault says what there is.
Result<Unit, RunFault> find_device(const std::string& device);

/// What runs where no device is named: the one that SAREK_DEVICE names, else the CPU.
std::string default_device();

/// The target that a device id or target name runs: "native:0" gives "native".
std::string target_of(const std::string& device);

/// Places where two results differ under the contract.
struct Difference {
  std::size_t param = 0;
  std::int64_t element = 0;
  std::string path;         // of the field; empty for scalars
  std::string left, right;  // as text
};
/// Compares the buffers of two results. At most `limit` differences are described; `count` is their number.
std::vector<Difference> compare_results(const artifact::Kernel& kernel, const std::vector<ArgumentValue>& left,
                                        const std::vector<ArgumentValue>& right, std::size_t limit, std::int64_t& count,
                                        std::int64_t& compared);

}  // namespace sarek::tool
