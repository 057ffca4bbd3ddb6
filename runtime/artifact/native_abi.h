// The calling convention between compiled native kernels and the native driver: part of the package format, so a change bumps
// `kFormatVersion` (package.h). Plain C layout, no pointers into the compiler.
#pragma once

#include <cstdint>

namespace sarek::artifact {

/// What one launch is, the same for all workers, and what one worker owns. Written by the driver, read by the kernel.
struct NativeLaunch {
  const std::uint64_t* slots;  // Program::slots in order: an address, or a scalar's bits in its low bytes
  std::int32_t grid[3];        // blocks along x, y, z, each at least 1
  std::int32_t reserved;
  std::uint8_t* shared;   // this worker's block-shared storage, 64-byte aligned: the static part, then each dynamic piece at a multiple of
                          // 64; writable up to the next multiple of 64 (kernels zero it by whole lines)
  std::uint8_t* scratch;  // this worker's spill area for values that live across barriers, 64-byte aligned
  std::uint64_t dynamic_shared_bytes;
  struct NativeFault* fault;         // the launch's fault record; null unless the kernel is compiled checked
  const std::int64_t* buffer_bytes;  // per slot: bytes of the buffer, 0 for scalars; read by checked kernels only
};

/// The first fault of a checked kernel. `state` is a lock, 0 free: a kernel writes the rest after winning a compare-exchange from 0 to 1,
/// then stores 0. Of several faults the one with the least (block, thread) is kept. A worker leaves its range of blocks at its first fault.
struct NativeFault {
  std::uint32_t state;
  std::uint32_t site;   // index into the kernel's table of fault sites, from 1; 0: no fault
  std::int64_t block;   // linear block, x fastest
  std::int32_t thread;  // linear thread of the block
  std::int64_t value;   // the index that was out of bounds; 0 for other faults
  std::int64_t limit;   // the length; 0 for other faults
};

/// Runs blocks [first_block, last_block) of the linear grid (x fastest).
using NativeEntry = void (*)(const NativeLaunch* launch, std::int64_t first_block, std::int64_t last_block);

}  // namespace sarek::artifact
