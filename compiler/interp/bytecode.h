// The form a program runs in: 16-byte instructions over a frame of 8-byte cells per thread. Values lie as compiler/ir/evaluate.h says (bits
// in the low end, zero-extended). Private to this folder.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/interp/interpreter.h"

namespace sarek::interp {

enum class Opcode : std::uint16_t {
#define SAREK_PLAIN(name) name,
#define SAREK_UNARY(base, function, type) base##_##type,
#define SAREK_BINARY(base, function, type) base##_##type,
#define SAREK_SHIFT(base, function, type) base##_##type,
#define SAREK_TERNARY(base, function, type) base##_##type,
#define SAREK_CONVERT(to, from) Cast_##to##_##from,
#define SAREK_RANGE(type) RangeBegin_##type, RangeEnd_##type,
#define SAREK_COMPARE_JUMP(base, function, type) base##_##type,
#include "compiler/interp/opcodes.def"
};

using Cell = std::uint16_t;  // index into a thread's frame

struct Instruction {
  Opcode code = Opcode::End;
  Cell dst = 0;
  Cell a = 0;
  Cell b = 0;
  Cell c = 0;
  std::uint16_t narrow = 0;  // memory: the index lies as an I32 (for reports)
  std::int32_t imm = 0;
};
static_assert(sizeof(Instruction) == 16);

/// Storage that instructions address: a view of a global buffer, or a shared buffer.
struct RegionInfo {
  bool shared = false;
  int slot = -1;  // global: the Buffer slot; dynamic shared: the SharedLength slot; -1: static shared
  ir::Type type = ir::Type::Void;
  std::int64_t offset = 0;  // static shared: bytes from the start of the block's shared storage
  std::int64_t length = 0;  // static shared: elements
  std::string name;
  std::int64_t element = 0;  // global: bytes of the user's element, for reports
};

struct AtomicInfo {
  ir::Ins code = ir::Ins::AtomicAdd;
  ir::Type type = ir::Type::Void;
  int region = 0;
};
struct WarpInfo {
  ir::Ins code = ir::Ins::WarpBarrier;
  ir::Type type = ir::Type::Void;      // of the result
  ir::Type source = ir::Type::Void;    // of source 0
  ir::Type distance = ir::Type::Void;  // of source 1
};

struct Code {
  ir::Program program;  // declaration only (name, params, slots, block): for arguments and reports; its graph is empty
  Checks checks;
  bool parks = false;            // holds barriers or warp instructions: every thread needs a frame of its own
  bool ordered_atomics = false;  // the result may depend on the order of blocks
  bool device_fence = false;
  std::vector<Instruction> code;
  std::vector<SourceRange> places;             // per instruction
  std::map<std::uint32_t, std::string> names;  // by instruction: a private array it touches, the text of a trap
  std::vector<RegionInfo> regions;
  std::vector<AtomicInfo> atomics;
  std::vector<WarpInfo> warps;

  std::vector<std::uint64_t> frame;  // a thread's frame at its start, but for the four lists below
  struct Fill {
    Cell cell;
    int what;  // slots: index of the slot; ids: axis
  };
  std::vector<Fill> slots;
  std::vector<Fill> local_ids;
  std::vector<Fill> group_ids;
  Cell reg_begin = 0, reg_end = 0;  // private variables, zero at the start
  std::int64_t static_shared = 0;   // bytes, a multiple of 16
};

/// Compiles; the error is of kind Unsupported_operation.
Result<Code, RuntimeError> compile(const ir::Program& program, Checks checks);

}  // namespace sarek::interp
