// A program with everything a launch needs, what a run of it gives, and how two runs compare. What the generator makes, runners run and the
// shrinker makes smaller.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/interp/interpreter.h"
#include "compiler/ir/program.h"
#include "compiler/support/result.h"

namespace sarek::testgen {

/// One argument, by Program::params.
struct Input {
  std::vector<std::uint64_t> bits;  // a buffer's cells or a scalar, each in the low end of 64
};

struct Case {
  std::uint64_t seed = 0;
  ir::Program program;
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::vector<std::int64_t> dynamic_shared;
  std::vector<Input> inputs;
};

/// The cells of every buffer after a run, by Program::params; empty for scalars.
using Outputs = std::vector<std::vector<std::uint64_t>>;
/// Runs a case. The error says why it could not be run at all: that is a finding too.
using Runner = std::function<Result<Outputs>(const Case&)>;

/// The memory of a launch: buffers of the case packed as the program sees them.
class Memory {
 public:
  explicit Memory(const Case& c);
  /// Arguments that point into this memory.
  interp::Launch launch() const;
  Outputs outputs() const;

 private:
  const Case& case_;
  std::vector<std::vector<std::uint64_t>> words_;  // by parameter; 64-bit words for alignment
};

/// Where two runs differ: none when every cell of every buffer has equal bits, all NaN of a float type counted as equal.
struct Difference {
  std::size_t param = 0;
  std::size_t index = 0;
  std::uint64_t a = 0, b = 0;
};
std::optional<Difference> compare(const ir::Program& program, const Outputs& a, const Outputs& b);
/// Runs both; the text of what differs (also when a runner fails), none when they agree.
std::optional<std::string> disagreement(const Case& c, const Runner& a, const Runner& b);

/// The program as IR text with launch and inputs as comments: all that is needed to run it again.
std::string describe(const Case& c);

}  // namespace sarek::testgen
