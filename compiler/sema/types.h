// Types of the language as interned ids, and how values of a type lie in cells and in memory. Equal types have one id. Inference
// variables and type parameters are types too; what binds them is infer.h's and the lowering's business. Nothing here reads source text.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/ir/types.h"
#include "compiler/support/ids.h"
#include "compiler/support/source.h"

namespace sarek::syntax {
struct StructItem;
struct EnumItem;
}  // namespace sarek::syntax

namespace sarek::sema {

using TypeId = Id<struct SemaTypeTag>;

enum class TypeForm : std::uint8_t {
  Error,  // a fault was reported: fits everything
  Never,  // of an expression that does not come back: fits everything
  Scalar,
  Tuple,     // args; none: ()
  Array,     // args[0], extents
  Buffer,    // args[0]; extents: of a view, or none
  Record,    // def, args
  Variant,   // def, args
  Param,     // def: number of the type parameter
  Var,       // def: number of the inference variable
  Fragment,  // def: 0, 1, 2 for a, b, c; args[0]; extents
  Tensor,    // args[0]; extents (-1 where not constant)
};

/// What a type parameter promises of its types.
enum class Bound : std::uint8_t { None, Scalar, Number, Integer, Float };

struct TypeNode {
  TypeForm form = TypeForm::Error;
  ir::Type scalar = ir::Type::Void;
  std::uint32_t def = 0;
  std::vector<TypeId> args;
  std::vector<std::int64_t> extents;
  friend auto operator<=>(const TypeNode& a, const TypeNode& b) = default;
  friend bool operator==(const TypeNode& a, const TypeNode& b) = default;
};

struct TypeParamInfo {
  std::string name;
  Bound bound = Bound::None;
  SourceRange range;
};

struct FieldDef {
  std::string name;
  TypeId type;
  SourceRange range;
};
struct ConstructorDef {
  std::string name;
  std::vector<TypeId> payload;
  SourceRange range;
};
/// A record or a variant as declared, with its parameters as Param types.
struct RecordDef {
  std::string name;
  std::string doc;
  bool is_variant = false;
  std::vector<TypeId> params;
  std::vector<FieldDef> fields;
  std::vector<ConstructorDef> constructors;
  SourceRange range;

  int field(std::string_view name) const;
  int constructor(std::string_view name) const;
};

/// One run of cells of one scalar type: what a leaf of a type is, with the arrays around it multiplied out.
struct Slot {
  ir::Type type = ir::Type::Void;
  std::int64_t count = 1;
};

/// Bytes of a type in a buffer.
struct Memory {
  std::int64_t size = 0;
  std::int64_t align = 1;
};

/// Cells beyond this number make a type too large to be a value anywhere.
inline constexpr std::int64_t kMaxCells = std::int64_t{1} << 24;

/// Fields, elements of tuples and payloads, all the way down: a type of more parts than this is refused. Types that name each part twice
/// grow with every name given to them, so that a page of text can ask for more parts than there is memory.
inline constexpr std::int64_t kMaxTypeParts = 4096;

using Substitution = std::map<std::uint32_t, TypeId>;  // type parameter to type

class TypeTable {
 public:
  TypeTable();

  TypeId intern(TypeNode node);
  const TypeNode& operator[](TypeId id) const { return nodes_[id.index()]; }
  TypeForm form(TypeId id) const { return nodes_[id.index()].form; }

  TypeId error() const { return error_; }
  TypeId never() const { return never_; }
  TypeId unit() const { return unit_; }
  TypeId boolean() const { return scalars_[static_cast<std::size_t>(ir::Type::Bool)]; }
  TypeId scalar(ir::Type type) const { return scalars_[static_cast<std::size_t>(type)]; }
  TypeId tuple(std::vector<TypeId> elements);
  TypeId array(TypeId element, std::vector<std::int64_t> extents);
  TypeId buffer(TypeId element, std::vector<std::int64_t> extents);
  TypeId nominal(std::uint32_t def, std::vector<TypeId> args);
  TypeId param(std::uint32_t number);
  TypeId var(std::uint32_t number);

  std::uint32_t add_param(TypeParamInfo info);
  const TypeParamInfo& param_info(std::uint32_t number) const { return params_[number]; }
  std::uint32_t add_def(RecordDef def);
  RecordDef& def(std::uint32_t number) { return defs_[number]; }
  const RecordDef& def(std::uint32_t number) const { return defs_[number]; }
  const RecordDef& def_of(TypeId id) const { return defs_[nodes_[id.index()].def]; }

  /// The scalar type of a Scalar, Void otherwise.
  ir::Type scalar_of(TypeId id) const { return form(id) == TypeForm::Scalar ? nodes_[id.index()].scalar : ir::Type::Void; }
  bool is_error(TypeId id) const { return form(id) == TypeForm::Error; }

  TypeId substitute(TypeId id, const Substitution& by);
  /// The type of field or payload `type` of the nominal type `of`.
  TypeId member(TypeId of, TypeId type);
  /// As the language spells it.
  std::string text(TypeId id) const { return text(id, nullptr); }
  /// The same; what `variable` says of inference variables stands in their place.
  std::string text(TypeId id, const std::function<std::string(TypeId)>& variable) const;

  // The rest requires concrete types: no variables, parameters, buffers, errors.

  bool is_concrete(TypeId id) const;
  /// The parts of a type (kMaxTypeParts), an array's element counted once; what is not concrete counts as one. At most kMaxTypeParts + 1.
  std::int64_t part_count(TypeId id);
  /// Is a member of it, at any depth, of a type that was refused?
  bool is_broken(TypeId id);
  /// The cells of a value, slot by slot. A variant is its tag (i32) and per scalar type one slot of as many cells as its largest
  /// constructor needs.
  const std::vector<Slot>& slots(TypeId id);
  /// All cells of all slots.
  std::int64_t cells(TypeId id);
  /// Where the slots of field `index` of a record, or element `index` of a tuple, begin among the slots of the whole.
  std::size_t first_slot(TypeId id, std::size_t index);
  /// A payload's slots in the variant: for each slot of constructor argument `argument`, the slot of the variant and its first cell there.
  std::vector<std::pair<std::size_t, std::int64_t>> payload_slots(TypeId id, std::size_t constructor, std::size_t argument);

  /// Elements of an array, all extents together.
  std::int64_t element_count(TypeId array) const;

  /// In a buffer: fields in order of declaration, each aligned to its size; a variant's tag first, then its cells by type.
  Memory memory(TypeId id);
  /// Bytes from the start of the whole to field `index`.
  std::int64_t field_offset(TypeId id, std::size_t index);
  /// Bytes from the start of a variant to its slot `slot`.
  std::int64_t variant_offset(TypeId id, std::size_t slot);
  /// Bytes from the start of the type to the first cell of each slot.
  std::vector<std::int64_t> slot_offsets(TypeId id);
  ir::ElementLayout layout(TypeId id);

 private:
  void append_layout(TypeId id, std::int64_t at, const std::string& path, std::vector<ir::LayoutField>& out);

  std::vector<TypeNode> nodes_;
  std::map<TypeNode, TypeId> index_;
  std::vector<TypeParamInfo> params_;
  std::vector<RecordDef> defs_;
  std::vector<TypeId> scalars_;
  TypeId error_, never_, unit_;
  std::map<TypeId, std::vector<Slot>> slots_;
  std::map<TypeId, std::int64_t> part_counts_;
};

}  // namespace sarek::sema
