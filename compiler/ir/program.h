// A kernel as a *program*: the linear, structured form that the interpreter executes, compiler/spec verifies, passes rewrite and emitters
// print.
//
// body is a list of nodes; each stands once, after its sources. Leaves (CONST, CAST of CONST, PARAM, SPECIAL, BUFFER, the empty GROUP) come
// first or anywhere before their use outside every loop and IF. A value made inside an IF or a loop is used only inside it: what must leave
// goes through a BUFFER in Reg. The program runs once per thread of the block; threads meet at BARRIER and at the Warp and Sync
// instructions.
//
//   literals    CAST(CONST v){type}; a bare CONST has no other user than a CAST
//   scalars     PARAM{space None}: Program::slots[slot] says what it is (argument, length of a buffer in elements, number of blocks)
//   buffers     PARAM{space Global}: storage at slot. Several PARAMs may view one slot with different element types (fields of records);
//               an index counts elements of the PARAM's own type
//   indices     SPECIAL(bound){"local_id.x" | "group_id.x" | ...}, i32
//   variables   BUFFER{space Reg, size n}: n cells private to the thread, zero when the program starts
//   shared      BUFFER{space Local, size n}: one per block, zero when the block starts; without size: dynamic, length at launch
//   access      LOAD(INDEX(buffer, i)), STORE(INDEX(buffer, i), v), both optionally gated; LOAD(place, alternative, gate)
//   bounded     RANGE(n){Loop} ... END(void, range): 0 to n-1 ascending, n evaluated once, not at all for n <= 0
//   unroll      RANGE(n){Unroll}: the source asks for copies of the body; axis_id is {id, factor}, factor 0 means every turn. The meaning
//   is that of
//               Loop: passes/unroll acts on the mark and removes it, everybody else ignores it
//   unbounded   RANGE(void){Loop} ... BACKEDGE(void, range, c): the body, then again while c
//   branches    IF(c, distinct) ... ENDIF(if); there is no else: a second IF on the negated condition
//   void        GROUP() is the void value that END, BACKEDGE and unbounded RANGE take
//   others      BARRIER(), INS
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace sarek::ir {

enum class Access : std::uint8_t { None, In, Out, InOut };

/// One field of an element as it lies in memory.
struct LayoutField {
  std::string path;  // "pos.0", "mass", "tag", "circle.0"; empty when the element is a scalar
  Type type = Type::Void;
  std::int64_t offset = 0;  // bytes from the start of the element
};
/// The memory layout of one element of a buffer: a scalar, or the flattened fields of a record, tuple, fixed array or variant. Every field
/// is aligned to its size; variants keep a tag (i32: the index of the constructor) and per scalar type as many cells as the largest
/// constructor needs.
struct ElementLayout {
  std::string type_name;  // as the language spells it: "f32", "Particle"
  std::int64_t size = 0;  // bytes, a multiple of align
  std::int64_t align = 1;
  std::vector<LayoutField> fields;
};

/// A parameter as the user declared it.
struct KernelParam {
  std::string name;
  bool is_buffer = false;
  Access access = Access::None;  // None for scalars
  ElementLayout element;
  std::vector<std::int64_t> view;  // extents of a view `[T; rows, cols]` where constant, 0 where not; empty for a plain buffer
  int first_slot = 0;              // a buffer has one Buffer slot; a scalar of record type one Scalar slot per field
  int slot_count = 1;
};

/// One launch argument as the program sees it: 8 bytes each (an address, or a scalar's bits in its low bytes).
struct Slot {
  enum class Kind : std::uint8_t { Buffer, Scalar, Length, NumGroups, SharedLength };
  Kind kind = Kind::Scalar;
  Type type = Type::Void;  // Scalar: its type; Length, NumGroups, SharedLength: I32, or I64 for a wide kernel's Length
  std::string name;        // "a", "x", "x.len", "num_groups.x", "tile.len"
  int param = -1;          // Buffer, Scalar: index into params
  int of_slot = -1;        // Length: the buffer's slot
  int axis = 0;            // NumGroups: 0, 1, 2
};

struct Program {
  std::string name;
  std::vector<KernelParam> params;
  std::vector<Slot> slots;
  std::array<int, 3> block{1, 1, 1};  // threads of a block, all at least 1
  bool wide = false;                  // lengths are i64
  std::string module_file;            // name of the source file, for reports
  SourceRange range;                  // the kernel's name in the source

  Graph graph;
  std::vector<NodeId> body;

  int block_threads() const { return block[0] * block[1] * block[2]; }
};

/// Bytes of static block-shared storage: every BUFFER in Local with a size, each aligned to its element.
std::int64_t static_shared_bytes(const Program& program);

/// The structure of the body: for each position, the position of its partner (RANGE and its END or BACKEDGE, IF and ENDIF), -1 elsewhere;
/// the position of the innermost enclosing RANGE or IF (-1 at the top). Empty when the nesting is broken.
struct Structure {
  std::vector<int> partner;
  std::vector<int> parent;
};
std::optional<Structure> structure_of(const Program& program);

}  // namespace sarek::ir
