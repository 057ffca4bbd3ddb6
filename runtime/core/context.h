// The objects behind the C handles: devices of the process, modules, kernels, vectors. runtime/core/api.cpp is the only user; what a device
// can do is in runtime/drivers.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "policy/store.h"
#include "runtime/artifact/package.h"
#include "runtime/drivers/driver.h"
#include "runtime/include/sarek/sarek.h"

namespace sarek::runtime {

/// A failure with the status that the C interface reports.
struct Fault {
  sarek_status status;
  std::string message;
};
template <class T>
using Outcome = Result<T, Fault>;
inline ErrorHolder<Fault> fault(sarek_status status, std::string message) { return {Fault{status, std::move(message)}}; }

}  // namespace sarek::runtime

// The handles of the C interface.
struct sarek_device {
  std::unique_ptr<sarek::runtime::Device> driver;
};

struct sarek_kernel {
  sarek_device* device = nullptr;
  const sarek::artifact::Kernel* kernel = nullptr;
  const sarek::artifact::Variant* variant = nullptr;
  std::unique_ptr<sarek::runtime::LoadedKernel> loaded;
  std::string variant_name;
};

struct sarek_module {
  sarek_device* device = nullptr;
  sarek::artifact::Package package;
  std::mutex mutex;  // guards `kernels`
  // One entry per (kernel, variant) ever made ready: a policy that changes picks another variant without touching the old handle.
  std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<sarek_kernel>> kernels;
};

struct sarek_vector {
  sarek_device* device = nullptr;
  std::size_t element_size = 0;
  std::size_t count = 0;
  std::unique_ptr<sarek::runtime::Storage> storage;
  // Where memory is not shared, the host's copy: the vector's own or the borrowed memory. At least one copy is current at any time.
  std::mutex mutex;
  void* host = nullptr;
  std::vector<unsigned char> own_host;
  bool borrowed = false;
  bool host_current = true;
  bool device_current = false;

  std::size_t bytes() const { return element_size * count; }
};

namespace sarek::runtime {

/// Every device of the process, found once.
std::span<const std::unique_ptr<sarek_device>> devices();
/// Why the driver of `target` lists no device; empty when it lists some.
const std::string& absence(const std::string& target);
Outcome<sarek_device*> open_device(const char* id);

Outcome<sarek_kernel*> get_kernel(sarek_module& module, const std::string& name);

Outcome<Unit> make_host_current(sarek_vector& vector);
Outcome<Unit> make_device_current(sarek_vector& vector);

/// Checks grid, arguments and shared lengths against the kernel, runs it, and notes which vectors the device wrote.
Outcome<Unit> launch(sarek_kernel& kernel, const std::int64_t grid[3], std::span<const sarek_argument> arguments,
                     std::span<const std::int64_t> dynamic_shared);

}  // namespace sarek::runtime
