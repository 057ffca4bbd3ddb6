// Checked mode's memory of accesses: who read and wrote each cell in the current superstep, and which shared cells were written at all. Two
// accesses of one cell, at least one a write, by different threads with nothing between them that orders them are a race; two atomics are
// none. What orders: the block barrier all threads of a block, a warp barrier or warp instruction the lanes of its warp, nothing the blocks
// of a launch. Private to this folder; used by one worker.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sarek::interp {

enum class AccessKind : std::uint8_t { Read, Write, Atomic };

/// The thread on the other side of a race.
struct RaceWith {
  std::int64_t block = 0;   // linear
  std::int32_t thread = 0;  // linear in its block; -1 when it is of another block
  AccessKind kind = AccessKind::Read;
};

class Shadow {
 public:
  /// Cells of `granule` bytes over `bytes` bytes.
  Shadow(std::int64_t bytes, std::int64_t granule, bool between_blocks);

  /// The access of `size` bytes at `offset` by a thread of `block`. `superstep` differs between any two supersteps of the run, `warp_step`
  /// between any two that a warp instruction separates within a superstep.
  std::optional<RaceWith> access(AccessKind kind, std::int64_t offset, std::int64_t size, std::int64_t block, std::int32_t thread,
                                 std::uint64_t superstep, std::uint32_t warp_step);
  /// Whether all of [offset, offset + size) was written since the block that started as number `block_run`; see mark_written.
  bool written(std::int64_t offset, std::int64_t size, std::uint64_t block_run) const;
  void mark_written(std::int64_t offset, std::int64_t size, std::uint64_t block_run);

 private:
  /// The accesses of one kind to one cell in one superstep: the first thread, and whether others came.
  struct Trace {
    std::int32_t thread = -1;
    std::uint32_t step = 0;  // its warp step
    bool others = false;     // another lane of the same warp in the same warp step
    bool other_warps = false;
    bool meets(std::int32_t t, std::uint32_t s) const;
    void add(std::int32_t t, std::uint32_t s);
  };
  struct Cell {
    std::uint64_t superstep = 0;
    std::uint64_t written_in = 0;
    Trace trace[3];
    std::int64_t block[3] = {-1, -1, -1};  // the first block of each kind of access, over the whole launch: blocks come in order
  };

  std::int64_t granule_;
  bool between_blocks_;
  std::vector<Cell> cells_;
};

}  // namespace sarek::interp
