// For tests: loads an image as the runtime's driver does and runs it on one thread. No package, no checks of arguments.
#pragma once

#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "emitters/llvm/native.h"
#include "runtime/artifact/native_abi.h"

namespace sarek::emit::testing {

class LoadedImage {
 public:
  explicit LoadedImage(NativeImage image) : image_(std::move(image)) {
    memory_ = mmap(nullptr, image_.bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory");
    std::memcpy(memory_, image_.bytes.data(), image_.bytes.size());
    if (mprotect(memory_, image_.bytes.size(), PROT_READ | PROT_EXEC) != 0) throw std::runtime_error("not executable");
  }
  ~LoadedImage() { munmap(memory_, image_.bytes.size()); }
  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;

  const NativeKernel& kernel(std::size_t i = 0) const { return image_.kernels[i]; }

  /// Runs all blocks in one call. `slots` as Program::slots; `buffer_bytes` per slot, needed by checked kernels.
  artifact::NativeFault run(std::size_t kernel, const std::vector<std::uint64_t>& slots, std::array<std::int32_t, 3> grid,
                            std::int64_t dynamic_shared_bytes = 0, const std::vector<std::int64_t>& buffer_bytes = {}) const {
    const NativeKernel& k = image_.kernels[kernel];
    const auto area = [](std::int64_t bytes) {
      const std::size_t size = (static_cast<std::size_t>(bytes) + 127) / 64 * 64;
      void* p = std::aligned_alloc(64, size);
      std::memset(p, 0xa5, size);  // kernels must not rely on what is there
      return static_cast<std::uint8_t*>(p);
    };
    artifact::NativeFault fault{};
    artifact::NativeLaunch launch{};
    launch.slots = slots.data();
    for (std::size_t i = 0; i < 3; ++i) launch.grid[i] = grid[i];
    launch.shared = area((k.shared_bytes + 63) / 64 * 64 + dynamic_shared_bytes);
    launch.scratch = area(k.scratch_bytes);
    launch.dynamic_shared_bytes = static_cast<std::uint64_t>(dynamic_shared_bytes);
    launch.fault = &fault;
    launch.buffer_bytes = buffer_bytes.data();
    entry(kernel)(&launch, 0, std::int64_t{grid[0]} * grid[1] * grid[2]);
    std::free(launch.shared);
    std::free(launch.scratch);
    return fault;
  }

  artifact::NativeEntry entry(std::size_t kernel) const {
    return reinterpret_cast<artifact::NativeEntry>(static_cast<char*>(memory_) + image_.kernels[kernel].entry);
  }

 private:
  NativeImage image_;
  void* memory_ = nullptr;
};

/// Does this CPU run the level?
inline bool cpu_runs(NativeLevel level) {
#if defined(__x86_64__)
  switch (level) {
    case NativeLevel::Sse42: return __builtin_cpu_supports("sse4.2") != 0;
    case NativeLevel::Avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    case NativeLevel::Avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    case NativeLevel::Aarch64: return false;
  }
#elif defined(__aarch64__)
  return level == NativeLevel::Aarch64;
#endif
  return false;
}

}  // namespace sarek::emit::testing
