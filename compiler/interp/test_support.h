// What the interpreter's tests share: launching a program over vectors.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "compiler/interp/interpreter.h"
#include "compiler/ir/builder.h"
#include "compiler/support/numeric.h"

namespace sarek::interp::test {

using ir::Access;
using ir::Ins;
using ir::NodeId;
using ir::Op;
using ir::Program;
using ir::ProgramBuilder;
using ir::Type;

/// Collects arguments; buffers stay the caller's.
class Call {
 public:
  explicit Call(std::array<std::int64_t, 3> grid = {1, 1, 1}) { launch.grid = grid; }
  template <class T>
  Call& buffer(std::vector<T>& data) {
    launch.arguments.push_back(
        Argument::buffer(data.data(), static_cast<std::int64_t>(data.size()), static_cast<std::int64_t>(data.size() * sizeof(T))));
    return *this;
  }
  Call& scalar(Type type, std::uint64_t bits) {
    launch.arguments.push_back(Argument::scalar(type, bits));
    return *this;
  }
  Result<Stats, RuntimeError> run(const Program& program, Options options = {}) const { return interp::run(program, launch, options); }
  /// Runs and requires success.
  Stats ok(const Program& program, Options options = {}) const {
    Result<Stats, RuntimeError> r = run(program, options);
    INFO((r ? std::string() : r.error().message));
    REQUIRE(r.has_value());
    return *r;
  }
  /// Runs and requires an error.
  RuntimeError fails(const Program& program, Options options = {}) const {
    Result<Stats, RuntimeError> r = run(program, options);
    REQUIRE_FALSE(r.has_value());
    return r.error();
  }

  Launch launch;
};

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A place to tell nodes apart by in errors.
inline SourceRange at(std::uint32_t offset) { return {FileId(0), offset, offset + 1}; }

}  // namespace sarek::interp::test
