// What a node carries besides its type and sources: one struct per kind of argument, and the variant of them all.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/ops.h"
#include "compiler/ir/types.h"

namespace sarek::ir {

__extension__ typedef __int128 Int128;  // wide enough for every i64, every u64 and the bounds of their sums

/// Where storage lives. None: not storage. Alu: a value of the program that is addressed like storage.
enum class AddressSpace : std::uint8_t { None, Global, Local, Reg, Alu };

/// The value of a CONST. Invalid is the value of no index: an access with it does not happen.
struct ConstValue {
  enum class Kind : std::uint8_t { Int, Float, Bool, Invalid };
  Kind kind = Kind::Int;
  Int128 integer = 0;   // Int, Bool (0 or 1)
  double number = 0.0;  // Float; holds every f16, bf16, f32 and f64 value exactly

  static ConstValue of_int(Int128 v) { return {Kind::Int, v, 0.0}; }
  static ConstValue of_float(double v) { return {Kind::Float, 0, v}; }
  static ConstValue of_bool(bool v) { return {Kind::Bool, v ? 1 : 0, 0.0}; }
  static ConstValue invalid() { return {Kind::Invalid, 0, 0.0}; }
  /// Equal kinds and bits: NaN equals itself, -0.0 differs from 0.0.
  friend bool operator==(const ConstValue& a, const ConstValue& b) {
    return a.kind == b.kind && a.integer == b.integer && std::bit_cast<std::uint64_t>(a.number) == std::bit_cast<std::uint64_t>(b.number);
  }
};

/// PARAM, BUFFER and ALLOC.
struct ParamArg {
  int slot = 0;                                                // PARAM: index into Program::slots; BUFFER: a number of its own
  Type type = Type::Void;                                      // of the scalar, or of one element of the storage
  std::optional<std::int64_t> size;                            // elements of storage; none: known only at launch
  std::optional<std::pair<std::int64_t, std::int64_t>> range;  // least and greatest value of a scalar
  std::int64_t multiple_of = 1;                                // a scalar is a multiple of this
  std::string name;                                            // for people: reports, errors, emitted names
  AddressSpace space = AddressSpace::None;
  std::vector<std::string> devices;  // empty: the device of the call
  bool is_volatile = false;
  bool bind_on_realize = false;
  std::optional<std::int64_t> bound;  // value a variable is bound to
  int phase = 0;                      // bytes past a multiple of align at which storage starts
  int align = 16;                     // a power of two, 1 to 16
  friend bool operator==(const ParamArg&, const ParamArg&) = default;
};

enum class AxisType : std::uint8_t { Device, Global, Warp, Local, Weak, Reduce, Upcast, Unroll, Placeholder, Loop };
std::string_view axis_type_name(AxisType type);
std::optional<AxisType> axis_type_by_name(std::string_view name);

struct RangeArg {
  std::vector<int> axis_id;
  AxisType axis_type = AxisType::Loop;
  friend bool operator==(const RangeArg&, const RangeArg&) = default;
};
struct NameArg {  // SPECIAL, CUSTOM_FUNCTION, SINK (kernel name)
  std::string name;
  friend bool operator==(const NameArg&, const NameArg&) = default;
};
struct TypeArg {  // CAST, BITCAST
  Type type = Type::Void;
  friend bool operator==(const TypeArg&, const TypeArg&) = default;
};
struct InsArg {
  Ins code = Ins::Min;
  Type type = Type::Void;
  std::string text;  // Trap: the message
  friend bool operator==(const InsArg&, const InsArg&) = default;
};
struct CodeArg {  // CUSTOM, CUSTOMI
  std::string code;
  Type type = Type::Void;
  friend bool operator==(const CodeArg&, const CodeArg&) = default;
};
struct CallArg {
  std::string name;
  bool precompile = false;
  std::string aux;
  Type type = Type::Void;
  friend bool operator==(const CallArg&, const CallArg&) = default;
};
struct WmmaArg {
  std::array<int, 3> dims{};  // N, M, K
  Type type_in = Type::F16;
  int threads = 32;
  std::vector<int> upcast_axes;
  friend bool operator==(const WmmaArg&, const WmmaArg&) = default;
};
struct ReduceArg {
  Op op = Op::Add;
  int axes = 0;
  std::vector<std::string> devices;  // ALLREDUCE
  friend bool operator==(const ReduceArg&, const ReduceArg&) = default;
};
struct StageArg {
  std::vector<std::string> devices;
  AddressSpace space = AddressSpace::Global;
  bool keep = false;
  friend bool operator==(const StageArg&, const StageArg&) = default;
};
struct DeviceArg {  // COPY, GETADDR, MSELECT by name
  std::vector<std::string> devices;
  friend bool operator==(const DeviceArg&, const DeviceArg&) = default;
};
struct AxesArg {  // PERMUTE, UNSHARD, MSELECT (one index)
  std::vector<int> axes;
  friend bool operator==(const AxesArg&, const AxesArg&) = default;
};
struct FlipArg {
  std::vector<bool> flips;
  friend bool operator==(const FlipArg&, const FlipArg&) = default;
};
struct BytesArg {
  std::vector<std::uint8_t> bytes;
  friend bool operator==(const BytesArg&, const BytesArg&) = default;
};

using Arg = std::variant<std::monostate, ConstValue, ParamArg, RangeArg, NameArg, TypeArg, InsArg, CodeArg, CallArg, WmmaArg, ReduceArg,
                         StageArg, DeviceArg, AxesArg, FlipArg, BytesArg>;

/// A hash that agrees with operator== of Arg.
std::size_t hash_value(const Arg& arg);

}  // namespace sarek::ir
