// Runs the blocks of one worker: frames, shared storage, barriers and warp instructions of a block. Private to this folder.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "compiler/interp/execute.h"

namespace sarek::interp {

class BlockRunner {
 public:
  /// `slots` as bind_arguments gives them; `buffer_bytes` by slot.
  BlockRunner(const Code& code, std::span<const std::uint64_t> slots, std::span<const std::int64_t> buffer_bytes, std::uint64_t step_limit);

  /// Runs one block to its end or its first error.
  std::optional<RuntimeError> run(std::array<std::int64_t, 3> block, std::int64_t linear);
  const Stats& stats() const { return stats_; }

 private:
  enum class State : std::uint8_t { Ready, Block, Warp, Finished };

  std::uint64_t* frame(int thread) { return frames_.data() + static_cast<std::size_t>(thread) * frame_cells_; }
  void start_thread(int thread, std::uint64_t* cells);
  std::optional<RuntimeError> run_alone();
  std::optional<RuntimeError> run_together();
  std::optional<RuntimeError> release_warps(bool& released);
  std::optional<RuntimeError> exchange(int first, int last);
  std::optional<RuntimeError> release_block();
  const Instruction& stopped_at(int thread) const { return code_.code[threads_[static_cast<std::size_t>(thread)].pc]; }
  SourceRange place(int thread) const { return code_.places[threads_[static_cast<std::size_t>(thread)].pc]; }
  RuntimeError error(ErrorKind kind, int thread, std::string what) const;
  RuntimeError fault(int thread) const;
  std::string thread_text(int thread) const;
  std::array<std::int32_t, 3> thread_id(int thread) const;

  const Code& code_;
  Machine machine_;
  std::vector<std::uint64_t> start_;  // a frame with constants and slots in it
  std::size_t frame_cells_;
  std::vector<std::uint64_t> frames_;
  std::vector<ThreadState> threads_;
  std::vector<State> states_;
  std::vector<std::uint32_t> warp_steps_;  // per warp, since the last block barrier
  std::vector<std::max_align_t> shared_;
  std::size_t shared_bytes_ = 0;
  std::vector<std::unique_ptr<Shadow>> shadows_;
  std::array<std::int64_t, 3> block_{};
  Stats stats_;
};

}  // namespace sarek::interp
