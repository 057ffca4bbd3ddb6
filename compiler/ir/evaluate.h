// What one pure node computes: the exact scalar evaluation that constant folding, the interpreter and its tests share. Memory, control flow
// and warps are the interpreter's. The arithmetic itself is in scalar.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compiler/ir/args.h"
#include "compiler/ir/ops.h"
#include "compiler/ir/types.h"

namespace sarek::ir {

/// The value of `op` on the operands. A value travels as its bits in the low end of 64, the rest zero; Bool is 0 or 1. `sources` are the
/// types of the operands in order. None when the operation has no exact meaning here: it is no arithmetic, the types do not fit (a sum of
/// f32 and i32, a remainder of floats, weak types), the type is an 8-bit float, or the function is not defined by the contract yet (EXP2,
/// LOG2, SIN, POW). A division by zero has a value (numerics: x / 0 = x, x % 0 = 0); reporting it is checked mode's business.
std::optional<std::uint64_t> evaluate(Op op, Type result, std::span<const Type> sources, std::span<const std::uint64_t> operands);

/// The same for an instruction of kind Pure; none for every other kind.
std::optional<std::uint64_t> evaluate(Ins ins, Type result, std::span<const Type> sources, std::span<const std::uint64_t> operands);

/// The canonical quiet NaN when `bits` is a NaN of the float type `type`; otherwise `bits`.
std::uint64_t canonical_nan(Type type, std::uint64_t bits);
/// Whether `bits` is a NaN of the float type `type`. False for other types.
bool is_nan(Type type, std::uint64_t bits);

/// A value's bits, and back. `value` must be one that `literal` returns for a node of type `type`; none for types without arithmetic here.
std::optional<std::uint64_t> bits_of(const ConstValue& value, Type type);
std::optional<ConstValue> value_of(std::uint64_t bits, Type type);

}  // namespace sarek::ir
