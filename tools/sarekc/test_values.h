// Evaluates the typed expressions of `test` items: random draws come from a sequence of choices that can be replayed and made smaller,
// which is how a failing case is shrunk. Knows no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/sema/sema.h"
#include "compiler/support/result.h"
#include "tools/sarekc/values.h"

namespace sarek::tool {

/// Random numbers that remember what they gave. Replayed from a list, they give zeros past its end: small choices make small inputs.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed) {}
  explicit Choices(std::vector<std::uint64_t> replay) : random_(0), replaying_(true), made_(std::move(replay)) {}
  std::uint64_t draw();
  const std::vector<std::uint64_t>& made() const { return made_; }

 private:
  Random random_;
  bool replaying_ = false;
  std::size_t position_ = 0;
  std::vector<std::uint64_t> made_;
};

/// A value of a test: its cells as bits (compiler/ir/evaluate.h), each with its type.
struct TestValue {
  std::vector<std::uint64_t> cells;
  std::vector<ir::Type> types;  // as many as cells, or one for all
  bool is_list = false;

  ir::Type type(std::size_t cell) const { return types.size() == 1 ? types[0] : types[cell]; }
};

/// The values that one case of a test starts from and expects.
struct TestCase {
  std::vector<TestValue> arguments;     // one a parameter
  std::vector<TestValue> expectations;  // as TestInfo::expectations
  std::vector<std::int64_t> grid;
  std::vector<std::int64_t> dynamic_shared;
};

/// Evaluates lets, grid, arguments and expectations in this order. Errors say what is wrong with the numbers (a negative length, a list of
/// more than 2^28 elements), not with the source: that was typed.
Result<TestCase> make_case(const sema::TestInfo& test, Choices& choices);

/// The bytes of a value as the package lays out the parameter.
Result<std::vector<std::uint8_t>> layout_bytes(const TestValue& value, const artifact::Param& param);

}  // namespace sarek::tool
