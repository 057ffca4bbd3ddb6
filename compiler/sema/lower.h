// From a typed kernel to one ir::Program: everything is inlined, records and variants fall apart into cells, control flow becomes loops,
// IFs and flags. Parts: lower.cpp (kernel, values and places), lower_expr.cpp (expressions), lower_call.cpp (calls), lower_stmt.cpp
// (statements, loops, ways out).
//
//   value   the cells of a type, slot by slot (types.h), as nodes; beyond kMaxValueCells in memory
//   place   for each slot a storage node and the index of its first cell. In buffers elements are records side by side ("packed"); in
//           registers and shared memory every slot is an array of its own
#pragma once

#include <set>

#include "compiler/ir/builder.h"
#include "compiler/sema/module.h"

namespace sarek::sema {

/// What the check for convergence wants to know beyond the program itself.
struct LoweringNotes {
  struct Occurrence {
    std::uint32_t when;  // the number of nodes in the graph then
    ir::NodeId leaf;
    SourceRange range;
  };
  std::vector<Occurrence> occurrences;  // of thread-dependent leaves, which have no place of their own
  struct Superstep {
    std::uint32_t begin, end;  // node ids made inside
    bool divergent;
    SourceRange name;
  };
  std::vector<Superstep> supersteps;
  std::set<ir::NodeId> value_branches;  // IFs of && and ||, and of `if` and `match` that give a value
};

/// Reports barriers and warp operations that not all threads may reach. True when there are none.
bool check_convergence(const ir::Program& program, const LoweringNotes& notes, const SourceManager& sources, DiagnosticSink& sink);

inline constexpr std::int64_t kMaxValueCells = 64;

class Lowerer {
 public:
  Lowerer(Module& module, const SourceManager& sources, DiagnosticSink& sink)
      : m_(module), types_(module.types), sources_(sources), sink_(sink), b_("") {}
  std::optional<ir::Program> run(const Kernel& kernel);

 private:
  struct SlotPlace {
    ir::NodeId buffer;
    ir::NodeId index;  // none: 0
  };
  struct Place {
    TypeId type;
    bool packed = false;
    std::vector<SlotPlace> slots;
  };
  struct Value {
    TypeId type;
    std::vector<ir::NodeId> cells;
    std::optional<Place> memory;  // then `cells` is empty; nobody writes there as long as the value lives
  };
  struct Buffer {
    TypeId element;
    Place first;  // element 0
    ir::NodeId length;
    std::vector<ir::NodeId> extents;
  };
  struct Binding {
    std::optional<Value> value;
    std::optional<Place> place;
    std::optional<Buffer> buffer;
  };
  struct Loop {
    ir::NodeId leave;  // set by break and return; none: nothing sets it
    ir::NodeId skip;   // set by every way out of the turn; none: nothing reads it
  };
  struct Frame {
    const Function* function = nullptr;
    const Body* body = nullptr;
    Substitution by;
    std::vector<Binding> locals;
    std::optional<Place> result;
    ir::NodeId returned;  // flag; none: nothing reads it
    std::vector<Loop> loops;
    ir::NodeId again;  // flag of a tail-recursive function: another turn
    Frame* caller = nullptr;
  };
  /// Where a value goes: nowhere (it is returned), into a place, or out of a tail-recursive function.
  struct Dest {
    const Place* place = nullptr;
    bool tail = false;
  };
  class At;

  // --- lower.cpp
  std::optional<ir::Program> attempt(const Kernel& kernel);
  void declare_params(const Kernel& kernel, Frame& frame);
  TypeId type_of(TypeId type) { return types_.substitute(type, frame_->by); }
  ir::Type scalar_of(const Expr& e) { return types_.scalar_of(type_of(e.type)); }
  bool is_unit(TypeId type) { return types_.form(type) == TypeForm::Never || types_.cells(type) == 0; }
  ir::NodeId bits(ir::Type type, std::uint64_t value);
  ir::NodeId add_index(ir::NodeId a, ir::NodeId b);
  ir::NodeId scale_index(ir::NodeId a, std::int64_t by);
  Place new_temp(TypeId type, const std::string& name);
  Place new_shared(TypeId type, const std::string& name);
  Place field_place(const Place& of, std::size_t index);
  Place element_place(const Place& of, ir::NodeId index);
  Place payload_place(const Place& of, std::size_t constructor, std::size_t argument);
  Value field_value(const Value& of, std::size_t index);
  Value payload_value(const Value& of, std::size_t constructor, std::size_t argument);
  Value element_value(const Value& of, ir::NodeId index);
  ir::NodeId tag_of(const Value& v) { return v.memory ? load_cell(v.memory->slots[0], 0) : v.cells[0]; }
  ir::NodeId load_cell(const SlotPlace& s, std::int64_t cell);
  ir::NodeId cell_index(const SlotPlace& s, std::int64_t cell);
  Value load(const Place& place);
  void store(const Place& place, const Value& value);
  void copy_memory(const Place& to, const Place& from);
  Value zero(TypeId type);
  Value in_memory(const Value& value, const std::string& name);
  Value known(const Value& value, TypeId type);

  // --- lower_expr.cpp
  Value expr(const Expr& e);
  ir::NodeId node(const Expr& e) { return known(expr(e), type_of(e.type)).cells[0]; }
  std::optional<Place> place(const Expr& e);
  Value path(const Expr& e);
  ir::NodeId flat_index(const Expr& e, const std::vector<ir::NodeId>& extents);
  Place buffer_element(const Buffer& buffer, ir::NodeId index);
  ir::NodeId id(const Expr& e);
  ir::NodeId unary(Op op, ir::NodeId x);
  ir::NodeId binary(Op op, ir::NodeId a, ir::NodeId b);
  ir::NodeId fold(ir::Op op, ir::NodeId a, ir::NodeId b);
  ir::NodeId equal(const Value& a, const Value& b);
  ir::NodeId both(ir::NodeId a, ir::NodeId b);
  ir::NodeId negate(ir::NodeId condition);
  ir::NodeId negate_at(ir::NodeId condition, const Expr& where);
  ir::NodeId short_circuit(const Expr& e);
  ir::NodeId ceil_div(ir::NodeId a, ir::NodeId b);
  Value intrinsic(const Expr& e);
  Value construct(const Expr& e);
  Value inject(const Expr& e);
  Value if_value(const Expr& e);
  void if_into(const Expr& e, Dest dest);
  Value match_value(const Expr& e);
  void match_into(const Expr& e, Dest dest);
  ir::NodeId test(const Pattern& p, const Value& v);  // none: always
  void bind(const Pattern& p, const Value& v, bool mutable_binding);
  bool is_cheap(const Expr& e, int& budget);
  bool is_cheap(const Expr& e) {
    int budget = 12;
    return is_cheap(e, budget);
  }
  Value call(const Expr& e);
  Value call_body(Frame& inner, TypeId result_type);
  Value call_loop(Frame& inner, TypeId result_type);
  /// Has no type of the body, with these type arguments, too many parts? Reports one that has.
  bool small_enough(const Function& f, const Substitution& by, SourceRange call);
  bool within_inline_limit(const Function& f, SourceRange range);
  /// `gives_value`: the branch only picks a value.
  template <class Then>
  void branch(ir::NodeId condition, Then then, bool gives_value = false);

  // --- lower_stmt.cpp
  void sequence(std::span<Stmt* const> statements, const Expr* value, Dest dest);
  void followed(const Expr& e, const std::function<void()>& after);
  void statement(const Stmt& s);
  Value block_value(const Expr& e);
  void into(const Expr& e, Dest dest);
  void deliver(const Expr& e, Dest dest);
  void assign(const Stmt& s);
  void for_loop(const Stmt& s);
  void for_list(const Stmt& s);
  void while_loop(const Stmt& s);
  void return_statement(const Stmt& s);
  void superstep(const Stmt& s);
  void turn(const Expr& body);
  Loop open_loop(const Expr& body);
  ir::NodeId still_going();
  ir::NodeId unless_left(ir::NodeId again, const Loop& loop);
  ir::NodeId begin_counted(const Stmt& s, ir::NodeId count);
  void self_call(const Expr& e);

  Module& m_;
  TypeTable& types_;
  const SourceManager& sources_;
  DiagnosticSink& sink_;
  ir::ProgramBuilder b_;
  Frame* frame_ = nullptr;
  bool wide_ = false;
  bool failed_ = false;
  std::set<std::pair<const Function*, Substitution>> checked_instances_;
  LoweringNotes notes_;
  std::set<const Function*> limit_checked_;
  // Constant tables that are indexed at run time are stored once, at the start. A first attempt finds out which.
  using Table = std::pair<TypeId, std::vector<std::uint64_t>>;
  std::map<Table, Place> tables_;
  std::set<Table> wanted_tables_;
};

/// Nodes in the source are where the user wrote them: sets the builder's place and puts the old one back.
class Lowerer::At {
 public:
  At(Lowerer& lowerer, SourceRange range) : b_(lowerer.b_), before_(b_.at()) {
    if (range) b_.at(range);
  }
  ~At() { b_.at(before_); }
  At(const At&) = delete;
  At& operator=(const At&) = delete;

 private:
  ir::ProgramBuilder& b_;
  SourceRange before_;
};

template <class Then>
void Lowerer::branch(ir::NodeId condition, Then then, bool gives_value) {
  const auto constant = ir::integer_literal(b_.graph(), condition);
  if (constant) {
    if (*constant) then();
    return;
  }
  const ir::NodeId opened = b_.begin_if(condition);
  if (gives_value) notes_.value_branches.insert(opened);
  then();
  b_.end_if(opened);
}

/// Does lowering `e` read the flag that ways out of the enclosing loop (or function) set? Mirrors `sequence`.
bool reads_exit_flag(const Expr& e);

}  // namespace sarek::sema
