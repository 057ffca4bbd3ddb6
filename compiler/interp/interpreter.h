// The reference interpreter: runs a Program thread by thread with exact arithmetic. It is the oracle for the bits of every backend.
//
// Order. Blocks z, y, x (x fastest). Within a block bulk-synchronous rounds: threads in linear order (x fastest), each until it parks at a
// barrier or a warp instruction, or ends. After a round, warps whose live lanes are all parked at one warp instruction go on; when no warp
// can, the block barrier releases, provided every thread of the block is parked at the same one. Anything else is an error: nothing waits
// for ever. With several workers blocks run in parallel. A kernel whose result may depend on the order of its global atomics (floats,
// exchanges, results that are used) runs on one worker all the same, so that every run gives the same bits.
//
// Errors. A block stops at its first error in that order; the launch reports the error of the least block. When `run` returns an error,
// buffers hold every write of the blocks before it and its own writes up to the error; with several workers perhaps writes of later blocks
// too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/support/result.h"

namespace sarek::interp {

enum class ErrorKind : std::uint8_t {
  Unsupported_operation,      // the program holds an operation that has no exact meaning here
  Launch_error,               // arguments that do not fit the kernel
  Array_bounds_error,         // an access outside its buffer
  Division_by_zero,           // checked mode
  Bsp_deadlock,               // a barrier or warp instruction that can never release
  Race,                       // checked mode
  Uninitialised_shared_read,  // checked mode
  Inactive_lane_read,         // checked mode: a shuffle from a lane that is not live
  Trap,
  Step_limit,
};
/// The name as written above.
std::string_view error_kind_name(ErrorKind kind);

struct RuntimeError {
  ErrorKind kind = ErrorKind::Launch_error;
  std::string message;  // one sentence; names kernel, buffer, index and length, block and thread where they exist
  SourceRange range;    // the access, division, barrier, ... at fault
  SourceRange related;  // a second place: the other barrier of two; none otherwise
  std::array<std::int64_t, 3> block{};
  std::array<std::int32_t, 3> thread{};
};

/// What is looked at besides bounds and barriers, which always are.
struct Checks {
  bool division = false;  // integer division by zero
  bool memory = false;    // races, uninitialised shared reads; one worker
  bool lanes = false;     // shuffles from lanes that are not live

  static constexpr Checks all() { return {true, true, true}; }
  static constexpr Checks none() { return {}; }
};

struct Options {
  bool checked = false;          // for the function `run`: Checks::all()
  unsigned threads = 1;          // workers; 0: one per processor
  std::uint64_t step_limit = 0;  // most instructions one thread may run, counted at the ends of loops; 0: no limit
};

/// One kernel argument. A buffer: `count` elements as the user counts them, at `data`, `bytes` long. A scalar: one value per field of its
/// layout, as bits in the low end of 64 (see compiler/ir/evaluate.h).
struct Argument {
  struct Scalar {
    ir::Type type = ir::Type::Void;
    std::uint64_t bits = 0;
  };
  bool is_buffer = false;
  void* data = nullptr;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::vector<Scalar> scalars;

  static Argument buffer(void* data, std::int64_t count, std::int64_t bytes) { return {true, data, count, bytes, {}}; }
  static Argument scalar(ir::Type type, std::uint64_t bits) { return {false, nullptr, 0, 0, {{type, bits}}}; }
};

struct Launch {
  std::array<std::int64_t, 3> grid{1, 1, 1};  // blocks
  std::vector<Argument> arguments;            // one per Program::params
  std::vector<std::int64_t> dynamic_shared;   // elements of each dynamic shared buffer, in the order of the SharedLength slots
};

struct Stats {
  std::uint64_t blocks = 0;
  std::uint64_t threads = 0;
  std::uint64_t steps = 0;       // instructions, an upper bound: a skipped branch counts
  std::uint64_t supersteps = 0;  // block barriers released
};

/// The value of every slot of the program for a launch. Refuses, as Launch_error: a wrong number or kind of arguments, types that differ,
/// buffers shorter than their count, misaligned, too long for the kernel's lengths, or overlapping in part where one of them is written
/// (the same buffer twice is fine); grids without blocks; a wrong number of dynamic shared sizes, or negative ones.
Result<std::vector<std::uint64_t>, RuntimeError> bind_arguments(const ir::Program& program, const Launch& launch);

struct Code;  // the compiled program

/// A program compiled for interpretation. Immutable after creation: one object may run on several threads at once. Keeps what it needs of
/// the program itself.
class Interpreter {
 public:
  /// Compiles, with the checks in the code. The program must be well formed (compiler/spec); what has no meaning here is refused as
  /// Unsupported_operation.
  static Result<Interpreter, RuntimeError> create(const ir::Program& program, Checks checks);
  static Result<Interpreter, RuntimeError> create(const ir::Program& program, bool checked = false) {
    return create(program, checked ? Checks::all() : Checks::none());
  }
  /// Runs the grid. Options::checked has no say here: `create` decided.
  Result<Stats, RuntimeError> run(const Launch& launch, const Options& options = {}) const;

 private:
  explicit Interpreter(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

/// create and run.
Result<Stats, RuntimeError> run(const ir::Program& program, const Launch& launch, const Options& options = {});

}  // namespace sarek::interp
