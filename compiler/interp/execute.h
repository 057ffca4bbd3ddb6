// Running one thread until it parks, ends or fails: the dispatch loop's interface to the block scheduler. Private to this folder.
#pragma once

#include <cstdint>

#include "compiler/interp/bytecode.h"
#include "compiler/interp/shadow.h"

namespace sarek::interp {

/// A region as a block sees it.
struct Region {
  std::uint8_t* base = nullptr;
  std::uint64_t length = 0;  // elements of the region's type
};

enum class Exit : std::uint8_t { Finished, Block, Warp, Fault };

/// What the dispatch loop reads and writes besides the frame. One per worker.
struct Machine {
  const Code* code = nullptr;
  std::vector<Region> regions;
  std::uint64_t step_limit = 0;
  // checked mode
  std::vector<Shadow*> shadows;  // per region
  std::int64_t block = 0;        // linear
  std::int32_t thread = 0;       // linear in the block
  std::uint64_t superstep = 0;
  std::uint64_t block_run = 0;
  std::uint32_t warp_step = 0;
  // after Exit::Fault: what went wrong at the thread's pc
  ErrorKind fault = ErrorKind::Trap;
  std::int64_t fault_index = 0;
  std::uint64_t fault_length = 0;
  RaceWith fault_race;
};

/// The part of a thread that survives parking; its frame lies elsewhere.
struct ThreadState {
  std::uint32_t pc = 0;  // the next instruction; at Block, Warp and Fault the one that stopped it
  std::uint64_t steps = 0;
};

/// Runs from `state.pc` on. Instructions at which a thread stops are not passed: the scheduler moves the pc on when it releases them.
Exit execute(Machine& machine, std::uint64_t* frame, ThreadState& state);

}  // namespace sarek::interp
