// See shadow.h.
#include "compiler/interp/shadow.h"

namespace sarek::interp {
namespace {

constexpr int kWarp = 32;

bool conflicts(AccessKind a, AccessKind b) {
  if (a == AccessKind::Atomic && b == AccessKind::Atomic) return false;
  return a != AccessKind::Read || b != AccessKind::Read;
}

}  // namespace

Shadow::Shadow(std::int64_t bytes, std::int64_t granule, bool between_blocks)
    : granule_(granule), between_blocks_(between_blocks), cells_(static_cast<std::size_t>((bytes + granule - 1) / granule)) {}

/// Is an access by `t` in warp step `s` concurrent with one of these by another thread?
bool Shadow::Trace::meets(std::int32_t t, std::uint32_t s) const {
  if (thread < 0) return false;
  if (other_warps || thread / kWarp != t / kWarp) return true;
  if (step != s) return false;
  return others || thread != t;
}

void Shadow::Trace::add(std::int32_t t, std::uint32_t s) {
  if (thread < 0) thread = t, step = s;
  else if (thread / kWarp != t / kWarp) other_warps = true;
  else if (step != s) thread = t, step = s, others = false;  // earlier ones of this warp are in order with all that can follow in it
  else if (thread != t) others = true;
}

std::optional<RaceWith> Shadow::access(AccessKind kind, std::int64_t offset, std::int64_t size, std::int64_t block, std::int32_t thread,
                                       std::uint64_t superstep, std::uint32_t warp_step) {
  std::optional<RaceWith> race;
  for (std::int64_t c = offset / granule_; c <= (offset + size - 1) / granule_; ++c) {
    Cell& cell = cells_[static_cast<std::size_t>(c)];
    if (cell.superstep != superstep) {
      cell.superstep = superstep;
      for (Trace& t : cell.trace) t = Trace{};
    }
    for (const AccessKind other : {AccessKind::Write, AccessKind::Atomic, AccessKind::Read}) {
      if (race || !conflicts(kind, other)) continue;
      const auto k = static_cast<std::size_t>(other);
      if (cell.trace[k].meets(thread, warp_step)) race = RaceWith{block, cell.trace[k].thread, other};
      else if (between_blocks_ && cell.block[k] >= 0 && cell.block[k] != block) race = RaceWith{cell.block[k], -1, other};
    }
    cell.trace[static_cast<std::size_t>(kind)].add(thread, warp_step);
    std::int64_t& first = cell.block[static_cast<std::size_t>(kind)];
    if (first < 0) first = block;
  }
  return race;
}

bool Shadow::written(std::int64_t offset, std::int64_t size, std::uint64_t block_run) const {
  for (std::int64_t c = offset / granule_; c <= (offset + size - 1) / granule_; ++c)
    if (cells_[static_cast<std::size_t>(c)].written_in != block_run) return false;
  return true;
}

void Shadow::mark_written(std::int64_t offset, std::int64_t size, std::uint64_t block_run) {
  for (std::int64_t c = offset / granule_; c <= (offset + size - 1) / granule_; ++c)
    cells_[static_cast<std::size_t>(c)].written_in = block_run;
}

}  // namespace sarek::interp
