// Which instruction an operation on a type is. No program here: only the rows of opcodes.def. Private to this folder.
#pragma once

#include <optional>

#include "compiler/interp/bytecode.h"

namespace sarek::interp {

/// Can a cell hold a value of this type?
inline bool is_value_type(ir::Type type) { return ir::type_bits(type) != 0; }

struct RangeCodes {
  Opcode begin, end;
};

std::optional<Opcode> find_conversion(ir::Type to, ir::Type from);
/// A bounded loop whose count has this type.
std::optional<RangeCodes> range_codes(ir::Type type);
/// An arithmetic operation on `type`, the type of its first source.
std::optional<Opcode> alu_code(ir::Op op, ir::Type type);
/// A Pure instruction on `type`.
std::optional<Opcode> pure_code(ir::Ins ins, ir::Type type);
/// Of a float type: a NaN to the canonical one. None for other types.
std::optional<Opcode> canonical_nan_code(ir::Type type);
/// Jumps unless the comparison of two values of `type` holds: CMPLT of every type, CMPEQ and CMPNE of what is no float.
Opcode branch_unless_code(ir::Op comparison, ir::Type type);
/// `narrow`: the index lies as an I32.
Opcode load_code(ir::Type type, bool narrow);
Opcode store_code(ir::Type type, bool narrow);
/// Has the warp instruction a meaning on these types?
bool warp_fits(const WarpInfo& w);

}  // namespace sarek::interp
