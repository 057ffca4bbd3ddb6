// What a device driver offers to the runtime: memory, loading a compiled variant, launching it. One thin file a driver API implements it;
// a driver whose library or hardware is missing lists no device. Arguments are checked above this interface (runtime/core).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "runtime/artifact/package.h"

namespace sarek::runtime {

struct DeviceInfo {
  std::string id;                         // "native:0", "opencl:1"
  std::string target;                     // the compile target it runs: "native", "opencl", "interp"
  std::string framework;                  // as the policy spells it: "Native", "OpenCL", "Interpreter"
  std::string name;                       // for people
  std::vector<std::string> capabilities;  // "fp64", "fp16", "int64-atomics", ... : what Variant::requires_ may ask for
  std::int64_t max_block_threads = 1024;
  std::int64_t max_shared_bytes = 48 << 10;
  unsigned compute_units = 1;
  bool shares_host_memory = false;  // a vector's storage is host memory: nothing is copied
};

/// Memory of a device.
class Storage {
 public:
  virtual ~Storage() = default;
  /// The address in host memory, when the device shares it; else null.
  virtual void* host() { return nullptr; }
};

/// A variant made ready to launch. Thread-safe: one may be launched from several threads at once.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
};

struct SlotValue {
  Storage* storage = nullptr;  // buffers
  std::uint64_t bits = 0;      // scalars: the value in the low bytes; lengths, numbers of groups
};

struct Launch {
  std::array<std::int32_t, 3> grid{1, 1, 1};  // blocks, each at least 1
  std::vector<SlotValue> slots;               // as Kernel::slots
  std::vector<std::int64_t> buffer_bytes;     // per slot: bytes of the buffer; 0 for scalars
  std::vector<std::int64_t> dynamic_shared;   // elements per Kernel::dynamic_shared
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  /// How well this device runs the variant: higher is better, negative is not at all (other target, CPU level or capability missing).
  virtual int rank(const artifact::Variant& variant) const = 0;
  virtual Result<std::unique_ptr<LoadedKernel>> load(const artifact::Package& package, const artifact::Kernel& kernel,
                                                     const artifact::Variant& variant) = 0;

  /// Memory of `bytes` bytes (at least 1 is allocated), contents zero.
  virtual Result<std::unique_ptr<Storage>> allocate(std::size_t bytes) = 0;
  /// Storage over host memory of the caller, only when the device shares host memory.
  virtual Result<std::unique_ptr<Storage>> borrow(void* data, std::size_t bytes) = 0;
  virtual Result<Unit> write(Storage& to, std::size_t offset, const void* from, std::size_t bytes) = 0;
  virtual Result<Unit> read(Storage& from, std::size_t offset, void* to, std::size_t bytes) = 0;

  /// Runs the kernel to its end. The error of a checked kernel names what happened, where in the source, in which block and thread.
  virtual Result<Unit> launch(LoadedKernel& kernel, const Launch& launch) = 0;
};

/// The devices of each driver; empty when its library or hardware is missing. `why_absent`, when given, is told the reason.
std::vector<std::unique_ptr<Device>> native_devices(std::string* why_absent = nullptr);
std::vector<std::unique_ptr<Device>> interpreter_devices(std::string* why_absent = nullptr);
std::vector<std::unique_ptr<Device>> opencl_devices(std::string* why_absent = nullptr);

/// Storage in host memory, for the drivers that share it.
Result<std::unique_ptr<Storage>> allocate_host_storage(std::size_t bytes);
std::unique_ptr<Storage> borrow_host_storage(void* data, std::size_t bytes);

}  // namespace sarek::runtime
