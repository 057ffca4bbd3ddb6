// The enumerations behind ops.def and ins.def and what the tables say of each row.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sarek::ir {

enum class Op : std::uint8_t {
#define SAREK_OP(name, text, min, max, rule, traits, meaning) name,
#include "compiler/ir/ops.def"
};
inline constexpr int kOpCount = 0
#define SAREK_OP(name, text, min, max, rule, traits, meaning) +1
#include "compiler/ir/ops.def"
    ;

enum class TypeRule : std::uint8_t { Void, Arg, First, Third, Promote, Bool, Value, FloatUp, Select, Bytes, Address, Any };

enum OpTraits : std::uint16_t {
  kNone = 0,
  kUnary = 1 << 0,
  kBinary = 1 << 1,
  kTernary = 1 << 2,
  kMovement = 1 << 3,
  kComparison = 1 << 4,
  kCommutative = 1 << 5,
  kAssociative = 1 << 6,
  kIdempotent = 1 << 7,
  kReduce = 1 << 8,
  kDefine = 1 << 9,
  kEffect = 1 << 10,
  kOpaque = 1 << 11,
};
inline constexpr int kMany = 0x7fffffff;

struct OpInfo {
  std::string_view name;
  int min_sources;
  int max_sources;
  TypeRule rule;
  std::uint16_t traits;
  std::string_view meaning;
};
const OpInfo& op_info(Op op);
std::optional<Op> op_by_name(std::string_view name);

inline bool has_trait(Op op, std::uint16_t trait) { return (op_info(op).traits & trait) != 0; }
/// Arithmetic of any arity (unary, binary, ternary); casts are not ALU.
inline bool is_alu(Op op) { return has_trait(op, kUnary | kBinary | kTernary); }
inline bool is_elementwise(Op op) { return is_alu(op) || op == Op::Cast || op == Op::Bitcast; }
inline bool is_comparison(Op op) { return has_trait(op, kComparison); }

enum class Ins : std::uint8_t {
#define SAREK_INS(name, text, sources, kind, meaning) name,
#include "compiler/ir/ins.def"
};
enum class InsKind : std::uint8_t { Pure, Warp, Sync, Atomic, Trap };
struct InsInfo {
  std::string_view name;
  int sources;
  InsKind kind;
  std::string_view meaning;
};
const InsInfo& ins_info(Ins ins);
std::optional<Ins> ins_by_name(std::string_view name);

}  // namespace sarek::ir
