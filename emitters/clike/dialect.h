// A C-like target language as a value: spellings, format strings and a few switches. The printer (printer.cpp) is written once over this
// and names no dialect; a language whose meaning differs is legalised in IR before it gets here.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "compiler/ir/capabilities.h"
#include "compiler/ir/ops.h"
#include "compiler/ir/types.h"

namespace sarek::emit {

/// In the format strings `{0}`, `{1}`, ... stand for operands and `{T}` for the result type; every operand is an identifier or a literal.
struct Dialect {
  ir::Capabilities capabilities;

  std::string_view language;      // for messages: "OpenCL C"
  std::string_view preamble;      // first lines of the text
  std::string_view kernel_head;   // before the entry's name; {X} {Y} {Z} are the block's extents
  std::string_view global_space;  // qualifier of pointers to buffers
  std::string_view local_space;   // qualifier of block-shared storage
  std::string_view const_in;      // qualifier of the pointee of read-only buffers
  std::string_view barrier;       // statement
  std::string_view fence_block;   // statement
  std::string_view fence_device;  // statement
  std::string_view local_id;      // {0} is the axis number
  std::string_view group_id;
  std::string_view fault_helpers;  // functions sarek_fault and sarek_bytes of checked kernels; empty: the language has no checked mode
  std::string_view opaque_zero;    // u32, 0 in every launch, and no compiler can tell; empty: negations are compiled as they are written
  std::string_view infinity_f32, infinity_f64;
  std::string_view bitcast;        // {T} target type, {0} operand; between types of one width that are not both integers
  std::string_view extension_f64;  // line that switches doubles on; empty when none is needed
  std::string_view extension_i64_atomics;

  /// Type names in registers and in memory, indexed by ir::Type; empty: the type cannot appear.
  std::array<std::string_view, 20> value_types{};
  std::array<std::string_view, 20> memory_types{};
  /// Suffix of an integer literal of the type.
  std::array<std::string_view, 20> suffixes{};

  std::string_view sqrt, fma, floor, ceil, trunc, fabs;  // function names for floats
  std::string_view mul_high, copysign;
  std::string_view clz, ctz, popcount;  // with {0}: of an unsigned operand of 32 or 64 bits

  /// Atomic on 32 bit integers: {P} pointer, {0} operand, {1} second operand (cas: {0} expected, {1} new). Empty: not offered.
  std::string_view atomic_add, atomic_sub, atomic_exchange, atomic_min, atomic_max, atomic_and, atomic_or, atomic_xor, atomic_cas;
  /// The same on 64 bit integers: the prefix to use instead of `atomic_`.
  std::string_view atomic_prefix_32, atomic_prefix_64;
};

const Dialect& opencl_dialect();

}  // namespace sarek::emit
