// The native driver: copies a compiled image into executable memory and runs its blocks on the CPU's threads. Images carry no relocations
// and call nothing outside themselves, so there is no linking here; packages were checked by runtime/artifact.
#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "runtime/artifact/native_abi.h"
#include "runtime/drivers/driver.h"
#include "runtime/drivers/fault.h"
#include "runtime/drivers/thread_pool.h"

namespace sarek::runtime {
namespace {

/// The best instruction set level of this CPU that SAREK_NATIVE_LEVEL allows: 0 none, 1 sse4.2, 2 avx2, 3 avx512; aarch64 has one level.
int cpu_level() {
#if defined(__x86_64__)
  int level = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") ? 1 : 0;
  if (level == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt"))
    level = 2;
  if (level == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    level = 3;
  // Only restricts: for tests, and for machines whose widest level is not their fastest.
  if (const char* wanted = std::getenv("SAREK_NATIVE_LEVEL")) {
    const std::string_view w = wanted;
    if (w == "sse4.2") level = std::min(level, 1);
    if (w == "avx2") level = std::min(level, 2);
  }
  return level;
#elif defined(__aarch64__)
  return 1;
#else
  return 0;
#endif
}

int variant_level(const std::string& name) {
#if defined(__x86_64__)
  if (name == "sse4.2") return 1;
  if (name == "avx2") return 2;
  if (name == "avx512") return 3;
#elif defined(__aarch64__)
  if (name == "aarch64") return 1;
#endif
  return -1;
}

/// The rounding and denormal mode of the contract for the time of a launch: a host program may have changed its thread's.
class FloatMode {
 public:
#if defined(__x86_64__)
  FloatMode() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~FloatMode() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#elif defined(__aarch64__)
  FloatMode() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" ::"r"(std::uint64_t{0}));
  }
  ~FloatMode() { asm volatile("msr fpcr, %0" ::"r"(saved_)); }

 private:
  std::uint64_t saved_ = 0;
#endif
 public:
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;
};

/// Executable memory with a copy of an image.
class Image {
 public:
  static Result<std::shared_ptr<Image>> load(const std::vector<std::uint8_t>& bytes) {
    void* memory = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return err("no memory for compiled code");
    std::memcpy(memory, bytes.data(), bytes.size());
    auto image = std::shared_ptr<Image>(new Image(memory, bytes.size()));
    if (mprotect(memory, bytes.size(), PROT_READ | PROT_EXEC) != 0) return err("the system refuses executable memory");
    __builtin___clear_cache(static_cast<char*>(memory), static_cast<char*>(memory) + bytes.size());
    return image;
  }
  ~Image() { munmap(memory_, size_); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  artifact::NativeEntry entry(std::int64_t offset) const {
    return reinterpret_cast<artifact::NativeEntry>(static_cast<char*>(memory_) + offset);
  }

 private:
  Image(void* memory, std::size_t size) : memory_(memory), size_(size) {}
  void* memory_;
  std::size_t size_;
};

struct NativeKernel final : LoadedKernel {
  std::shared_ptr<Image> image;
  artifact::NativeEntry entry = nullptr;
  std::string name;
  std::int64_t shared_bytes = 0;
  std::int64_t scratch_bytes = 0;
  std::vector<artifact::DynamicShared> dynamic_shared;
  std::vector<artifact::FaultSite> sites;
};

/// Memory that grows and is kept by its thread for the next launch.
class WorkerMemory {
 public:
  ~WorkerMemory() { std::free(data_); }
  std::uint8_t* get(std::int64_t bytes) {
    const std::size_t wanted = (static_cast<std::size_t>(bytes) + 127) / 64 * 64;
    if (wanted > size_) {
      std::free(data_);
      data_ = static_cast<std::uint8_t*>(std::aligned_alloc(64, wanted));
      size_ = data_ ? wanted : 0;
    }
    return data_;
  }

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

class NativeDevice final : public Device {
 public:
  explicit NativeDevice(int level) : level_(level) {
    info_.id = "native:0";
    info_.target = "native";
    info_.framework = "Native";
    constexpr const char* kNames[] = {"", "sse4.2", "avx2", "avx512"};
#if defined(__aarch64__)
    info_.name = "CPU, aarch64";
#else
    info_.name = std::string("CPU, ") + kNames[level];
#endif
    info_.capabilities = {"fp64", "fp16", "bf16", "int64", "int64-atomics", "float-atomics"};
    info_.max_shared_bytes = std::int64_t{64} << 20;
    info_.compute_units = worker_count();
    info_.shares_host_memory = true;
  }

  const DeviceInfo& info() const override { return info_; }

  int rank(const artifact::Variant& variant) const override {
    if (variant.target != "native") return -1;
    const int wanted = variant_level(variant.level);
    return wanted <= level_ ? wanted : -1;
  }

  Result<std::unique_ptr<LoadedKernel>> load(const artifact::Package& package, const artifact::Kernel& kernel,
                                             const artifact::Variant& variant) override {
    const auto& blob = package.blobs[static_cast<std::size_t>(variant.blob)];
    if (blob.kind != "native") return err("kernel `" + kernel.name + "`: its native variant names a blob of kind `" + blob.kind + "`");
    Result<std::shared_ptr<Image>> image = Image::load(blob.bytes);
    if (!image) return Err(image.error());
    auto loaded = std::make_unique<NativeKernel>();
    loaded->image = *image;
    loaded->entry = loaded->image->entry(variant.entry);
    loaded->name = kernel.name;
    loaded->shared_bytes = variant.shared_bytes;
    loaded->scratch_bytes = variant.scratch_bytes;
    loaded->dynamic_shared = kernel.dynamic_shared;
    loaded->sites = variant.fault_sites;
    return std::unique_ptr<LoadedKernel>(std::move(loaded));
  }

  Result<std::unique_ptr<Storage>> allocate(std::size_t bytes) override { return allocate_host_storage(bytes); }
  Result<std::unique_ptr<Storage>> borrow(void* data, std::size_t bytes) override { return borrow_host_storage(data, bytes); }
  Result<Unit> write(Storage& to, std::size_t offset, const void* from, std::size_t bytes) override {
    std::memcpy(static_cast<char*>(to.host()) + offset, from, bytes);
    return Unit{};
  }
  Result<Unit> read(Storage& from, std::size_t offset, void* to, std::size_t bytes) override {
    std::memcpy(to, static_cast<char*>(from.host()) + offset, bytes);
    return Unit{};
  }

  Result<Unit> launch(LoadedKernel& loaded, const Launch& launch) override {
    auto& kernel = static_cast<NativeKernel&>(loaded);
    std::vector<std::uint64_t> slots;
    slots.reserve(launch.slots.size() + 1);
    for (const SlotValue& s : launch.slots) slots.push_back(s.storage ? reinterpret_cast<std::uint64_t>(s.storage->host()) : s.bits);
    std::int64_t dynamic_bytes = 0;
    for (std::size_t i = 0; i < kernel.dynamic_shared.size(); ++i) {
      const std::int64_t element = kernel.dynamic_shared[i].element_size;
      dynamic_bytes = (dynamic_bytes + 63) / 64 * 64 + element * launch.dynamic_shared[i];
    }
    const std::int64_t shared_static = (kernel.shared_bytes + 63) / 64 * 64;
    artifact::NativeFault fault{};
    artifact::NativeLaunch call{};
    call.slots = slots.data();
    for (std::size_t i = 0; i < 3; ++i) call.grid[i] = launch.grid[i];
    call.dynamic_shared_bytes = static_cast<std::uint64_t>(dynamic_bytes);
    call.fault = &fault;
    call.buffer_bytes = launch.buffer_bytes.data();

    const std::int64_t blocks = std::int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    // Eight pieces a worker even out blocks of unlike cost without a lock on each block.
    const std::int64_t grain = std::max<std::int64_t>(1, blocks / (std::int64_t{worker_count()} * 8));
    std::atomic<bool> out_of_memory{false};
    parallel_for(blocks, grain, [&](unsigned, std::int64_t first, std::int64_t last) {
      thread_local WorkerMemory shared;
      thread_local WorkerMemory scratch;
      artifact::NativeLaunch mine = call;
      mine.shared = shared.get(shared_static + dynamic_bytes);
      mine.scratch = scratch.get(kernel.scratch_bytes);
      if (!mine.shared || !mine.scratch) {
        out_of_memory = true;
        return;
      }
      const FloatMode mode;
      kernel.entry(&mine, first, last);
    });
    if (out_of_memory) return err("no memory for the shared storage of kernel `" + kernel.name + "`");
    if (fault.site != 0)
      return err(describe_fault(kernel.name, kernel.sites, {fault.site, fault.block, fault.thread, fault.value, fault.limit}));
    return Unit{};
  }

 private:
  int level_;
  DeviceInfo info_;
};

}  // namespace

std::vector<std::unique_ptr<Device>> native_devices(std::string* why_absent) {
  std::vector<std::unique_ptr<Device>> devices;
  const int level = cpu_level();
  if (level > 0) devices.push_back(std::make_unique<NativeDevice>(level));
  else if (why_absent) *why_absent = "this CPU has no SSE4.2";
  return devices;
}

}  // namespace sarek::runtime
