// Launches: workers over the blocks of a grid, and the error that counts.
#include "compiler/interp/interpreter.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "compiler/interp/block.h"

namespace sarek::interp {
namespace {

struct Failure {
  std::int64_t block = std::numeric_limits<std::int64_t>::max();
  RuntimeError error;
};

/// The rounding and denormal mode of the contract for the time of a launch: a host program may have changed its thread's.
class DefaultFloats {
 public:
  DefaultFloats() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { std::fesetenv(&saved_); }
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  std::fenv_t saved_{};
};

}  // namespace

std::string_view error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Unsupported_operation: return "Unsupported_operation";
    case ErrorKind::Launch_error: return "Launch_error";
    case ErrorKind::Array_bounds_error: return "Array_bounds_error";
    case ErrorKind::Division_by_zero: return "Division_by_zero";
    case ErrorKind::Bsp_deadlock: return "Bsp_deadlock";
    case ErrorKind::Race: return "Race";
    case ErrorKind::Uninitialised_shared_read: return "Uninitialised_shared_read";
    case ErrorKind::Inactive_lane_read: return "Inactive_lane_read";
    case ErrorKind::Trap: return "Trap";
    case ErrorKind::Step_limit: return "Step_limit";
  }
  return "";
}

Result<Interpreter, RuntimeError> Interpreter::create(const ir::Program& program, Checks checks) {
  Result<Code, RuntimeError> code = compile(program, checks);
  if (!code) return Err(std::move(code.error()));
  return Interpreter(std::make_shared<const Code>(std::move(code).value()));
}

Result<Stats, RuntimeError> Interpreter::run(const Launch& launch, const Options& options) const {
  const Code& code = *code_;
  Result<std::vector<std::uint64_t>, RuntimeError> bound = bind_arguments(code.program, launch);
  if (!bound) return Err(std::move(bound.error()));
  std::vector<std::int64_t> bytes(code.program.slots.size());
  for (std::size_t i = 0; i < code.program.params.size(); ++i)
    if (code.program.params[i].is_buffer) bytes[static_cast<std::size_t>(code.program.params[i].first_slot)] = launch.arguments[i].bytes;

  const std::int64_t nx = launch.grid[0], ny = launch.grid[1];
  const std::int64_t blocks = nx * ny * launch.grid[2];
  unsigned workers = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  // Races between blocks are found in one worker's memory of accesses; ordered atomics need the one order.
  if (code.checks.memory || code.ordered_atomics) workers = 1;
  workers = static_cast<unsigned>(std::min<std::int64_t>(workers, blocks));

  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> first_failed{std::numeric_limits<std::int64_t>::max()};
  std::mutex mutex;
  Failure failure;
  Stats total;
  const auto fail = [&](std::int64_t block, RuntimeError error) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (block >= failure.block) return;
    failure.block = block;
    failure.error = std::move(error);
    first_failed.store(block, std::memory_order_relaxed);
  };
  // Blocks are handed out in order, so that every block before the first failed one has been started by someone, who finishes it.
  const auto work = [&] {
    std::int64_t block = 0;
    const DefaultFloats floats;
    try {
      BlockRunner runner(code, *bound, bytes, options.step_limit);
      while ((block = next.fetch_add(1, std::memory_order_relaxed)) < blocks && block < first_failed.load(std::memory_order_relaxed)) {
        std::optional<RuntimeError> error = runner.run({block % nx, block / nx % ny, block / (nx * ny)}, block);
        if (error) {
          fail(block, std::move(*error));
          break;
        }
      }
      const std::lock_guard<std::mutex> lock(mutex);
      total.blocks += runner.stats().blocks;
      total.threads += runner.stats().threads;
      total.steps += runner.stats().steps;
      total.supersteps += runner.stats().supersteps;
    } catch (const std::bad_alloc&) {
      RuntimeError error;
      error.message = "kernel '" + code.program.name + "': out of memory";
      fail(block, std::move(error));
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < workers; ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::exception&) {
      break;  // no more threads to be had: the ones there are do the work
    }
  }
  work();
  for (std::thread& t : others) t.join();
  if (failure.block != std::numeric_limits<std::int64_t>::max()) return Err(std::move(failure.error));
  return total;
}

Result<Stats, RuntimeError> run(const ir::Program& program, const Launch& launch, const Options& options) {
  const Result<Interpreter, RuntimeError> interpreter = Interpreter::create(program, options.checked);
  if (!interpreter) return Err(interpreter.error());
  return interpreter.value().run(launch, options);
}

}  // namespace sarek::interp
