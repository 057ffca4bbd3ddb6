// From a program to bytecode: one walk over the body with a cell per live value. Cells are given by last use (values live inside the IF or
// loop that makes them, so positions in the list order them) and a value that only moves to or from a private variable shares the
// variable's cell.
#include <algorithm>
#include <map>
#include <set>

#include "compiler/interp/bytecode.h"
#include "compiler/interp/select_opcode.h"
#include "compiler/ir/evaluate.h"

namespace sarek::interp {
namespace {

using ir::Ins;
using ir::NodeId;
using ir::Op;
using ir::Type;

constexpr std::size_t kMaxCells = 65535;

class Compiler {
 public:
  Compiler(const ir::Program& program, Checks checks) : p_(program), g_(program.graph), checks_(checks) {}

  Result<Code, RuntimeError> compile() {
    const std::optional<ir::Structure> structure = ir::structure_of(p_);
    if (!structure) return refuse({}, "the loops and branches of the program do not nest");
    structure_ = *structure;
    declare();
    place_leaves();
    if (!failed_) find_last_uses();
    if (!failed_) find_shared_cells();
    for (std::size_t at = 0; at < p_.body.size() && !failed_; ++at) {
      emit_node(static_cast<int>(at));
      free_cells_at(static_cast<int>(at));
    }
    if (failed_) return Err(std::move(*failed_));
    emit({Opcode::End, 0, 0, 0, 0, 0, 0}, p_.range);
    out_.frame.resize(std::max<std::size_t>(next_cell_, 1));
    return std::move(out_);
  }

 private:
  static constexpr int kUnset = -1;

  ErrorHolder<RuntimeError> refuse(NodeId at, std::string what) {
    RuntimeError e;
    e.kind = ErrorKind::Unsupported_operation;
    e.message = "kernel '" + p_.name + "': " + std::move(what);
    if (at) e.range = g_.range(at);
    failed_ = e;
    return Err(std::move(e));
  }
  void refuse_op(NodeId id) {
    std::string text = "the interpreter has no exact meaning for " + std::string(ir::op_info(g_.op(id)).name);
    if (const auto* ins = g_.arg_as<ir::InsArg>(id)) text += " " + std::string(ir::ins_info(ins->code).name);
    text += " of type " + std::string(ir::type_name(g_.type(id)));
    if (!g_.sources(id).empty()) text += " on " + std::string(ir::type_name(g_.type(g_.source(id, 0))));
    refuse(id, std::move(text));
  }

  // --- the frame ------------------------------------------------------------------------------------------------------------

  Cell new_cell() {
    if (next_cell_ >= kMaxCells) {
      if (!failed_) refuse({}, "more than 65535 values live at once");
      return 0;
    }
    return static_cast<Cell>(next_cell_++);
  }
  Cell take_cell() {
    if (free_.empty()) return new_cell();
    const Cell c = free_.back();
    free_.pop_back();
    return c;
  }

  /// Declaration, storage and private variables.
  void declare() {
    out_.checks = checks_;
    out_.program.name = p_.name;
    out_.program.params = p_.params;
    out_.program.slots = p_.slots;
    out_.program.block = p_.block;
    out_.program.wide = p_.wide;
    out_.program.module_file = p_.module_file;
    out_.program.range = p_.range;
    cell_.assign(g_.size(), kUnset);
    region_.assign(g_.size(), kUnset);
    last_use_.assign(g_.size(), kUnset);
    position_.assign(g_.size(), kUnset);
    for (std::size_t at = 0; at < p_.body.size(); ++at) position_[p_.body[at].index()] = static_cast<int>(at);
    out_.reg_begin = static_cast<Cell>(next_cell_);
    for (const NodeId id : p_.body) {
      const auto* a = g_.arg_as<ir::ParamArg>(id);
      if (g_.op(id) != Op::Buffer || !a || a->space != ir::AddressSpace::Reg) continue;
      const std::int64_t size = a->size.value_or(0);
      if (!a->size || size < 0 || next_cell_ + static_cast<std::size_t>(size) > kMaxCells) {
        refuse(id, "private storage '" + a->name + "' has no size or is too large");
        return;
      }
      cell_[id.index()] = static_cast<int>(next_cell_);
      next_cell_ += static_cast<std::size_t>(size);
    }
    out_.reg_end = static_cast<Cell>(next_cell_);
  }

  void place_leaves() {
    for (const NodeId id : p_.body) {
      const Op op = g_.op(id);
      const auto* a = g_.arg_as<ir::ParamArg>(id);
      if (op == Op::Param && a && a->space == ir::AddressSpace::Global) {
        if (a->slot < 0 || static_cast<std::size_t>(a->slot) >= p_.slots.size() ||
            p_.slots[static_cast<std::size_t>(a->slot)].kind != ir::Slot::Kind::Buffer || !is_value_type(a->type)) {
          refuse(id, "the buffer '" + a->name + "' is at no buffer slot");
          return;
        }
        RegionInfo r;
        r.slot = a->slot;
        r.type = a->type;
        const ir::Slot& slot = p_.slots[static_cast<std::size_t>(a->slot)];
        r.name = slot.name;
        r.element = slot.param >= 0 ? p_.params[static_cast<std::size_t>(slot.param)].element.size : ir::type_bytes(a->type);
        add_region(id, std::move(r));
      } else if (op == Op::Param && a) {
        if (a->slot < 0 || static_cast<std::size_t>(a->slot) >= p_.slots.size() ||
            p_.slots[static_cast<std::size_t>(a->slot)].type != a->type) {
          refuse(id, "the scalar '" + a->name + "' does not fit its slot");
          return;
        }
        out_.slots.push_back({leaf_cell(id), a->slot});
      } else if (op == Op::Buffer && a && a->space == ir::AddressSpace::Local) {
        RegionInfo r;
        r.shared = true;
        r.type = a->type;
        r.name = a->name;
        r.element = ir::type_bytes(a->type);
        if (!is_value_type(a->type)) return refuse_op(id);
        if (a->size) {
          out_.static_shared = (out_.static_shared + r.element - 1) / r.element * r.element;
          r.offset = out_.static_shared;
          r.length = *a->size;
          out_.static_shared += r.element * r.length;
        } else {
          for (std::size_t s = 0; s < p_.slots.size(); ++s)
            if (p_.slots[s].kind == ir::Slot::Kind::SharedLength && p_.slots[s].of_slot == a->slot) r.slot = static_cast<int>(s);
          if (r.slot < 0) {
            refuse(id, "dynamic shared storage '" + a->name + "' has no slot for its length");
            return;
          }
        }
        add_region(id, std::move(r));
      } else if (op == Op::Special) {
        const auto* name = g_.arg_as<ir::NameArg>(id);
        const std::string text = name ? name->name : "";
        const int axis = text.empty() ? 3 : text.back() - 'x';
        const bool local = text.starts_with("local_id.");
        if (axis < 0 || axis > 2 || (!local && !text.starts_with("group_id."))) return refuse_op(id);
        (local ? out_.local_ids : out_.group_ids).push_back({leaf_cell(id), axis});
      } else if (op == Op::Cast && g_.op(g_.source(id, 0)) == Op::Const) {
        const std::optional<ir::ConstValue> value = ir::literal(g_, id);
        const std::optional<std::uint64_t> bits = value ? ir::bits_of(*value, g_.type(id)) : std::nullopt;
        if (!bits) return refuse_op(id);
        const Cell c = leaf_cell(id);
        out_.frame.resize(std::max<std::size_t>(out_.frame.size(), c + std::size_t{1}));
        out_.frame[c] = *bits;
      }
    }
    out_.static_shared = (out_.static_shared + 15) / 16 * 16;
  }
  Cell leaf_cell(NodeId id) {
    const Cell c = new_cell();
    cell_[id.index()] = c;
    is_leaf_.insert(id.index());
    return c;
  }
  void add_region(NodeId id, RegionInfo r) {
    region_[id.index()] = static_cast<int>(out_.regions.size());
    out_.regions.push_back(std::move(r));
  }

  // --- lifetimes ------------------------------------------------------------------------------------------------------------

  /// A use at position `at` of a value defined at `def`: the last position where the value must still lie in its cell, which is the end of
  /// the outermost loop around the use that does not hold the definition.
  int extend(int def, int at) const {
    int last = at;
    for (int open = structure_.parent[static_cast<std::size_t>(at)]; open > def; open = structure_.parent[static_cast<std::size_t>(open)])
      if (g_.op(p_.body[static_cast<std::size_t>(open)]) == Op::Range)
        last = std::max(last, structure_.partner[static_cast<std::size_t>(open)]);
    return last;
  }
  void use(NodeId value, int at) {
    const Op op = g_.op(value);
    if (op == Op::Index) {  // stands for its sources: it has no code of its own
      for (const NodeId s : g_.sources(value)) use(s, at);
      return;
    }
    const int def = position_[value.index()];
    if (def < 0) return;
    last_use_[value.index()] = std::max(last_use_[value.index()], extend(def, at));
    ++uses_[value.index()];
  }
  void find_last_uses() {
    uses_.assign(g_.size(), 0);
    for (std::size_t at = 0; at < p_.body.size(); ++at) {
      const NodeId id = p_.body[at];
      const Op op = g_.op(id);
      if (op == Op::Index) continue;
      for (const NodeId s : g_.sources(id)) {
        use(s, static_cast<int>(at));
        // The count of a loop is compared again at its end.
        if (op == Op::Range && g_.type(id) != Type::Void) use(s, structure_.partner[at]);
      }
    }
  }

  struct Place {
    NodeId buffer;
    NodeId index;
  };
  std::optional<Place> place(NodeId id) const {
    if (g_.op(id) != Op::Index || g_.sources(id).size() != 2) return std::nullopt;
    return Place{g_.source(id, 0), g_.source(id, 1)};
  }
  /// The cell of a private variable when `place` names one of its cells by a constant that is in bounds.
  std::optional<Cell> fixed_cell(const Place& at) const {
    const auto* a = g_.arg_as<ir::ParamArg>(at.buffer);
    if (g_.op(at.buffer) != Op::Buffer || !a || a->space != ir::AddressSpace::Reg) return std::nullopt;
    const std::optional<std::int64_t> i = ir::integer_literal(g_, at.index);
    if (!i || *i < 0 || *i >= a->size.value_or(0)) return std::nullopt;
    return static_cast<Cell>(cell_[at.buffer.index()] + *i);
  }

  /// Loads of a variable that is not written while the value lives read the variable's cell itself; a value whose only use is the store
  /// right to a variable, with no touch of the variable in between, is computed into that cell.
  void find_shared_cells() {
    std::map<Cell, std::vector<int>> writes;
    std::set<std::size_t> indexed;  // arrays that an index known only at run time may touch
    for (std::size_t at = 0; at < p_.body.size(); ++at) {
      const NodeId id = p_.body[at];
      const Op op = g_.op(id);
      if (op != Op::Load && op != Op::Store) continue;
      const std::optional<Place> where = place(g_.source(id, 0));
      if (!where) continue;
      if (const std::optional<Cell> c = fixed_cell(*where)) {
        if (op == Op::Store) writes[*c].push_back(static_cast<int>(at));
      } else indexed.insert(where->buffer.index());
    }
    std::map<Cell, std::vector<std::pair<int, int>>> reads;  // [load, last use] per cell
    for (std::size_t at = 0; at < p_.body.size(); ++at) {
      const NodeId id = p_.body[at];
      if (g_.op(id) != Op::Load) continue;
      const std::optional<Place> where = place(g_.source(id, 0));
      if (!where) continue;
      const std::optional<Cell> c = fixed_cell(*where);
      if (!c) continue;
      const auto position = static_cast<int>(at);
      const int last = last_use_[id.index()];
      bool still = !indexed.contains(where->buffer.index()) && g_.sources(id).size() == 1;
      for (const int w : writes[*c]) still = still && !(w > position && w < last);  // a write at the last use reads its operands first
      reads[*c].push_back({position, still ? last : position});
      if (still) alias_[id.index()] = *c;
    }
    for (std::size_t at = 0; at < p_.body.size(); ++at) {
      const NodeId store = p_.body[at];
      if (g_.op(store) != Op::Store || g_.sources(store).size() != 2) continue;
      const std::optional<Place> where = place(g_.source(store, 0));
      const std::optional<Cell> c = where ? fixed_cell(*where) : std::nullopt;
      if (!c || indexed.contains(where->buffer.index())) continue;
      const NodeId value = g_.source(store, 1);
      const int def = position_[value.index()];
      const auto position = static_cast<int>(at);
      if (def < 0 || uses_[value.index()] != 1 || is_leaf_.contains(value.index()) || alias_.contains(value.index())) continue;
      if (structure_.parent[static_cast<std::size_t>(def)] != structure_.parent[at] || g_.op(value) == Op::Range ||
          !is_value_type(g_.type(value)))
        continue;
      bool clear = true;
      for (const int w : writes[*c]) clear = clear && !(w > def && w < position);
      for (const auto& [load, last] : reads[*c]) clear = clear && (last <= def || load > position);
      if (clear) into_[value.index()] = *c, done_stores_.insert(store.index());
    }
  }

  void free_cells_at(int at) {
    // Values die at their last use; one without uses right where it is made.
    if (const auto it = dying_.find(at); it != dying_.end()) {
      for (const Cell c : it->second) free_.push_back(c);
      dying_.erase(it);
    }
  }

  // --- code -----------------------------------------------------------------------------------------------------------------

  std::size_t emit(Instruction i, SourceRange range) {
    out_.code.push_back(i);
    out_.places.push_back(range);
    return out_.code.size() - 1;
  }
  std::size_t emit(Opcode code, Cell dst, Cell a = 0, Cell b = 0, Cell c = 0, std::int32_t imm = 0) {
    return emit({code, dst, a, b, c, 0, imm}, g_.range(now_));
  }
  Cell cell(NodeId value) {
    const auto alias = alias_.find(value.index());
    if (alias != alias_.end()) return alias->second;
    const int c = cell_[value.index()];
    if (c == kUnset) {
      if (!failed_) refuse(now_, "a value is used before it is made");
      return 0;
    }
    return static_cast<Cell>(c);
  }
  /// The cell of the value that the current node makes. Sources that die here give theirs back first: every instruction reads before it
  /// writes.
  Cell result(NodeId id, int at) {
    const auto into = into_.find(id.index());
    if (into != into_.end()) return into->second;
    free_cells_at(at);
    const Cell c = take_cell();
    cell_[id.index()] = c;
    dying_[std::max(last_use_[id.index()], at)].push_back(c);
    return c;
  }
  Cell scratch(int at) {
    const Cell c = take_cell();
    dying_[at].push_back(c);
    return c;
  }

  void emit_node(int at) {
    const NodeId id = p_.body[static_cast<std::size_t>(at)];
    now_ = id;
    const Op op = g_.op(id);
    const auto src = [&](std::size_t i) { return g_.source(id, i); };
    const auto position = static_cast<std::size_t>(at);
    if (is_leaf_.contains(id.index())) return;
    switch (op) {
      case Op::Const:
      case Op::Group:
      case Op::Noop:
      case Op::Index: return;
      case Op::Param:
      case Op::Buffer: {
        const auto* a = g_.arg_as<ir::ParamArg>(id);
        const bool placed = region_[id.index()] != kUnset || (op == Op::Buffer && a && a->space == ir::AddressSpace::Reg);
        if (!placed) refuse_op(id);
        return;
      }
      case Op::Load: return emit_load(id, at);
      case Op::Store: return emit_store(id, at);
      case Op::Barrier:
        out_.parks = true;
        emit(Opcode::Barrier, 0);
        return;
      case Op::Range: {
        if (g_.type(id) == Type::Void) {
          head_[id.index()] = out_.code.size();
          return;
        }
        if (const std::optional<RangeCodes> r = range_codes(g_.type(id))) {
          const Cell count = cell(src(0));
          const Cell variable = take_cell();  // beside the count, which lives on
          cell_[id.index()] = variable;
          dying_[structure_.partner[position]].push_back(variable);
          head_[id.index()] = emit(r->begin, variable, count);
          return;
        }
        return refuse_op(id);
      }
      case Op::End: {
        const NodeId range = src(1);
        if (const std::optional<RangeCodes> r = range_codes(g_.type(range))) {
          const std::size_t head = head_[range.index()];
          emit(r->end, cell(range), cell(g_.source(range, 0)), 0, 0, static_cast<std::int32_t>(head + 1));
          out_.code[head].imm = static_cast<std::int32_t>(out_.code.size());
          return;
        }
        return refuse_op(id);
      }
      case Op::Backedge: emit(Opcode::Again, 0, cell(src(2)), 0, 0, static_cast<std::int32_t>(head_[src(1).index()])); return;
      case Op::If: {
        head_[id.index()] = emit_branch(src(0));
        return;
      }
      case Op::Endif: out_.code[head_[src(0).index()]].imm = static_cast<std::int32_t>(out_.code.size()); return;
      case Op::Ins: return emit_ins(id, at);
      case Op::Cast: return emit_cast(id, at);
      case Op::Bitcast: {
        const Type from = g_.type(src(0));
        if (ir::type_bits(from) != ir::type_bits(g_.type(id)) || !is_value_type(from) || (g_.type(id) == Type::Bool && from != Type::Bool))
          return refuse_op(id);
        const std::optional<Opcode> canonical = from == g_.type(id) ? std::nullopt : canonical_nan_code(from);
        const Cell a = cell(src(0));
        emit(canonical.value_or(Opcode::Move), result(id, at), a);
        return;
      }
      case Op::Where: {
        if (g_.type(src(1)) != g_.type(id) || g_.type(src(2)) != g_.type(id)) return refuse_op(id);
        const Cell a = cell(src(0)), b = cell(src(1)), c = cell(src(2));
        emit(Opcode::Where, result(id, at), a, b, c);
        return;
      }
      case Op::Sqrt:
      case Op::Reciprocal:
      case Op::Neg:
      case Op::Trunc:
      case Op::Add:
      case Op::Mul:
      case Op::Shl:
      case Op::Shr:
      case Op::Cdiv:
      case Op::Max:
      case Op::Cmod:
      case Op::Cmplt:
      case Op::Cmpne:
      case Op::Cmpeq:
      case Op::Xor:
      case Op::Or:
      case Op::And:
      case Op::Threefry:
      case Op::Sub:
      case Op::Fdiv:
      case Op::Floordiv:
      case Op::Floormod:
      case Op::Mulacc: return emit_alu(id, at);
      // Not defined by the contract yet.
      case Op::Exp2:
      case Op::Log2:
      case Op::Sin:
      case Op::Pow:
      // Not part of a program that runs.
      case Op::Special:
      case Op::Alloc:
      case Op::Call:
      case Op::Program:
      case Op::Linear:
      case Op::Source:
      case Op::Binary:
      case Op::Sink:
      case Op::After:
      case Op::Stack:
      case Op::Getaddr:
      case Op::Shrink:
      case Op::Wmma:
      case Op::Custom:
      case Op::Customi:
      case Op::ContiguousBackward:
      case Op::Detach:
      case Op::Stage:
      case Op::Copy:
      case Op::Mselect:
      case Op::Mstack:
      case Op::CustomFunction:
      case Op::Reshape:
      case Op::Permute:
      case Op::Expand:
      case Op::Pad:
      case Op::Flip:
      case Op::Unshard:
      case Op::Reduce:
      case Op::Allreduce: return refuse_op(id);
    }
  }

  /// Branches on a condition; the jump's target is filled in later.
  std::size_t emit_branch(NodeId condition) {
    if (fused_ != condition) return emit(Opcode::JumpIfNot, 0, cell(condition));
    const Opcode code = branch_unless_code(g_.op(condition), g_.type(g_.source(condition, 0)));
    return emit(code, 0, cell(g_.source(condition, 0)), cell(g_.source(condition, 1)));
  }
  /// A comparison that only the IF right after it looks at becomes part of the branch. (Its operands' cells are free by then, but nothing
  /// takes a cell in between.)
  bool fuses_with_branch(NodeId id, int at) const {
    const auto next = static_cast<std::size_t>(at) + 1;
    if (uses_[id.index()] != 1 || next >= p_.body.size()) return false;
    const NodeId user = p_.body[next];
    if (g_.op(user) != Op::If || g_.source(user, 0) != id) return false;
    return g_.op(id) == Op::Cmplt || (ir::is_comparison(g_.op(id)) && !ir::is_float(g_.type(g_.source(id, 0))));
  }

  void emit_alu(NodeId id, int at) {
    const Op op = g_.op(id);
    const std::span<const NodeId> s = g_.sources(id);
    const Type of = g_.type(s[0]);
    const bool shift = op == Op::Shl || op == Op::Shr;
    bool fits = is_value_type(of) && (ir::is_comparison(op) || g_.type(id) == of) && (!shift || ir::is_int(g_.type(s[1])));
    for (const NodeId x : s) fits = fits && (shift || g_.type(x) == of);
    const std::optional<Opcode> code = fits ? alu_code(op, of) : std::nullopt;
    if (!code) return refuse_op(id);
    if (fuses_with_branch(id, at)) {
      fused_ = id;
      return;
    }
    const bool divides = op == Op::Cdiv || op == Op::Cmod || op == Op::Floordiv || op == Op::Floormod;
    if (checks_.division && divides) emit(Opcode::CheckZero, 0, cell(s[1]));
    const Cell a = cell(s[0]);
    const Cell b = s.size() > 1 ? cell(s[1]) : Cell{0};
    const Cell c = s.size() > 2 ? cell(s[2]) : Cell{0};
    emit(*code, result(id, at), a, b, c);
  }

  void emit_cast(NodeId id, int at) {
    const NodeId x = g_.source(id, 0);
    const std::optional<Opcode> code = find_conversion(g_.type(id), g_.type(x));
    if (!code) return refuse_op(id);
    const Cell a = cell(x);
    emit(g_.type(id) == g_.type(x) ? Opcode::Move : *code, result(id, at), a);
  }

  /// The index in a form that memory instructions take: `narrow` when it is an I32 as it lies. Unsigned ones are I64 as they lie.
  struct IndexCell {
    Cell cell;
    bool narrow;
  };
  IndexCell index_cell(NodeId index, int at, bool force_wide) {
    const Type type = g_.type(index);
    const Cell c = cell(index);
    if (type == Type::I32 && !force_wide) return {c, true};
    if (!ir::is_int(type) || ir::is_weak(type)) {
      refuse(now_, "an index is no integer");
      return {c, false};
    }
    if (ir::is_unsigned(type) || type == Type::I64) return {c, false};
    const Cell extended = scratch(at);
    emit(*find_conversion(Type::I64, type), extended, c);
    return {extended, false};
  }

  /// The region of a place; kUnset when it is private storage, or after a refusal.
  int region_of(const Place& where) {
    const int r = region_[where.buffer.index()];
    const auto* a = g_.arg_as<ir::ParamArg>(where.buffer);
    if (r == kUnset && !(g_.op(where.buffer) == Op::Buffer && a && a->space == ir::AddressSpace::Reg) && !failed_)
      refuse(now_, "an access to something that is no storage");
    return r;
  }
  std::size_t emit_memory(Opcode code, IndexCell index, Cell dst, Cell b, Cell c, std::int32_t imm) {
    return emit({code, dst, index.cell, b, c, static_cast<std::uint16_t>(index.narrow), imm}, g_.range(now_));
  }

  void emit_load(NodeId id, int at) {
    const std::span<const NodeId> s = g_.sources(id);
    const std::optional<Place> where = place(s[0]);
    if (!where || s.size() == 2 || g_.type(id) != g_.type(where->buffer)) return refuse_op(id);
    if (alias_.contains(id.index())) return;  // users read the variable itself
    const bool gated = s.size() == 3;
    const int region = region_of(*where);
    if (failed_) return;
    const std::optional<Cell> fixed = fixed_cell(*where);
    const bool check = checks_.memory && region != kUnset;
    const IndexCell index = fixed ? IndexCell{0, true} : index_cell(where->index, at, check);
    // A check and its load are one step to skip: the gate jumps over both.
    std::optional<std::size_t> past;
    const Cell gate = gated ? cell(s[2]) : Cell{0};
    const Cell alternative = gated ? cell(s[1]) : Cell{0};
    const Cell dst = result(id, at);
    if (gated && !check) emit(Opcode::AlternativeUnless, dst, gate, alternative);
    if (gated && check) {
      const std::size_t skip = emit(Opcode::JumpIfNot, 0, gate);
      emit(Opcode::CheckLoad, 0, index.cell, 0, 0, region);
      emit_memory(load_code(g_.type(id), index.narrow), index, dst, 0, 0, region);
      past = emit(Opcode::Jump, 0);
      out_.code[skip].imm = static_cast<std::int32_t>(out_.code.size());
      emit(Opcode::Move, dst, alternative);
      out_.code[*past].imm = static_cast<std::int32_t>(out_.code.size());
      return;
    }
    if (check) emit(Opcode::CheckLoad, 0, index.cell, 0, 0, region);
    if (fixed) emit(Opcode::Move, dst, *fixed);
    else if (region != kUnset) emit_memory(load_code(g_.type(id), index.narrow), index, dst, 0, 0, region);
    else {
      const auto* a = g_.arg_as<ir::ParamArg>(where->buffer);
      emit_memory(index.narrow ? Opcode::LoadReg_I32 : Opcode::LoadReg_I64, index, dst, static_cast<Cell>(cell_[where->buffer.index()]), 0,
                  static_cast<std::int32_t>(*a->size));
      name_array(*a);
    }
  }

  void emit_store(NodeId id, int at) {
    const std::span<const NodeId> s = g_.sources(id);
    const std::optional<Place> where = place(s[0]);
    if (!where || g_.type(s[1]) != g_.type(where->buffer)) return refuse_op(id);
    if (done_stores_.contains(id.index())) return;  // the value was computed in place
    const int region = region_of(*where);
    if (failed_) return;
    const std::optional<Cell> fixed = fixed_cell(*where);
    const bool check = checks_.memory && region != kUnset;
    const IndexCell index = fixed ? IndexCell{0, true} : index_cell(where->index, at, check);
    const Cell value = cell(s[1]);
    std::optional<std::size_t> skip;
    if (s.size() == 3 && check) skip = emit(Opcode::JumpIfNot, 0, cell(s[2]));
    else if (s.size() == 3) emit(Opcode::SkipUnless, 0, cell(s[2]));
    if (check) emit(Opcode::CheckStore, 0, index.cell, 0, 0, region);
    if (fixed) emit(Opcode::Move, *fixed, value);
    else if (region != kUnset) emit_memory(store_code(g_.type(s[1]), index.narrow), index, 0, value, 0, region);
    else {
      const auto* a = g_.arg_as<ir::ParamArg>(where->buffer);
      emit_memory(index.narrow ? Opcode::StoreReg_I32 : Opcode::StoreReg_I64, index, 0, static_cast<Cell>(cell_[where->buffer.index()]),
                  value, static_cast<std::int32_t>(*a->size));
      name_array(*a);
    }
    if (skip) out_.code[*skip].imm = static_cast<std::int32_t>(out_.code.size());
  }
  /// The name of the private array that the last instruction touches, for its bounds error.
  void name_array(const ir::ParamArg& a) { out_.names.emplace(static_cast<std::uint32_t>(out_.code.size() - 1), a.name); }

  void emit_ins(NodeId id, int at) {
    const auto* arg = g_.arg_as<ir::InsArg>(id);
    const std::span<const NodeId> s = g_.sources(id);
    if (!arg || static_cast<int>(s.size()) != ir::ins_info(arg->code).sources) return refuse_op(id);
    switch (ir::ins_info(arg->code).kind) {
      case ir::InsKind::Pure: return emit_pure(id, at, arg->code);
      case ir::InsKind::Trap: out_.names.emplace(static_cast<std::uint32_t>(emit(Opcode::Trap, 0, cell(s[0]))), arg->text); return;
      case ir::InsKind::Atomic: return emit_atomic(id, at, *arg);
      case ir::InsKind::Sync:
        // Memory is in order here, so that fences have nothing to do.
        out_.device_fence = out_.device_fence || arg->code == Ins::FenceDevice;
        if (arg->code != Ins::WarpBarrier) return;
        break;
      case ir::InsKind::Warp: break;
    }
    WarpInfo w;
    w.code = arg->code;
    w.type = g_.type(id);
    if (!s.empty()) w.source = g_.type(s[0]);
    if (s.size() > 1) w.distance = g_.type(s[1]);
    if (!warp_fits(w)) return refuse_op(id);
    out_.parks = true;
    const auto number = static_cast<std::int32_t>(out_.warps.size());
    out_.warps.push_back(w);
    const Cell a = s.empty() ? Cell{0} : cell(s[0]);
    const Cell b = s.size() < 2 ? Cell{0} : cell(s[1]);
    const Cell dst = w.type == Type::Void ? Cell{0} : result(id, at);
    emit(Opcode::Warp, dst, a, b, 0, number);
  }
  void emit_pure(NodeId id, int at, Ins ins) {
    const std::span<const NodeId> s = g_.sources(id);
    const Type of = g_.type(s[0]);
    const bool counts = ins == Ins::Clz || ins == Ins::Ctz || ins == Ins::Popcount;
    bool fits = counts ? ir::is_int(g_.type(id)) && is_value_type(g_.type(id)) : g_.type(id) == of;
    for (const NodeId x : s) fits = fits && g_.type(x) == of;
    const std::optional<Opcode> code = fits ? pure_code(ins, of) : std::nullopt;
    if (!code) return refuse_op(id);
    const Cell a = cell(s[0]);
    const Cell b = s.size() > 1 ? cell(s[1]) : Cell{0};
    emit(*code, result(id, at), a, b);
  }

  void emit_atomic(NodeId id, int at, const ir::InsArg& arg) {
    const std::span<const NodeId> s = g_.sources(id);
    const std::optional<Place> where = place(s[0]);
    if (!where) return refuse_op(id);
    const Type type = g_.type(where->buffer);
    bool fits = g_.type(id) == type;
    for (std::size_t i = 1; i < s.size(); ++i) fits = fits && g_.type(s[i]) == type;
    const int region = region_of(*where);
    if (failed_) return;
    const bool moves = arg.code == Ins::AtomicExchange || arg.code == Ins::AtomicCas;
    const bool logic = arg.code == Ins::AtomicAnd || arg.code == Ins::AtomicOr || arg.code == Ins::AtomicXor;
    const bool meaning = moves   ? is_value_type(type)
                         : logic ? !ir::is_float(type) && is_value_type(type)
                                 : alu_code(Op::Add, type).has_value();
    if (!fits || !meaning || region == kUnset) return refuse_op(id);
    const bool used = last_use_[id.index()] >= 0;
    const bool global = !out_.regions[static_cast<std::size_t>(region)].shared;
    if (global && (used || moves || ir::is_float(type))) out_.ordered_atomics = true;
    const IndexCell index = index_cell(where->index, at, true);
    const Cell b = s.size() > 1 ? cell(s[1]) : Cell{0};
    const Cell c = s.size() > 2 ? cell(s[2]) : Cell{0};
    if (checks_.memory) emit(Opcode::CheckAtomic, 0, index.cell, 0, 0, region);
    const auto number = static_cast<std::int32_t>(out_.atomics.size());
    out_.atomics.push_back({arg.code, type, region});
    emit(Opcode::Atomic, result(id, at), index.cell, b, c, number);
  }

  const ir::Program& p_;
  const ir::Graph& g_;
  const Checks checks_;
  Code out_;
  std::optional<RuntimeError> failed_;
  ir::Structure structure_;
  NodeId now_;
  NodeId fused_;  // the comparison that the next IF takes over

  std::size_t next_cell_ = 0;
  std::vector<Cell> free_;
  std::map<int, std::vector<Cell>> dying_;  // cells to free after a position
  std::vector<int> cell_;                   // by node
  std::vector<int> region_;                 // by node
  std::vector<int> position_;               // by node, in the body
  std::vector<int> last_use_;               // by node, a position
  std::vector<int> uses_;
  std::set<std::size_t> is_leaf_;
  std::map<std::size_t, Cell> alias_;  // loads of variables that need no copy
  std::map<std::size_t, Cell> into_;   // values computed in a variable's cell
  std::set<std::size_t> done_stores_;
  std::map<std::size_t, std::size_t> head_;  // RANGE and IF: the instruction that opens
};

}  // namespace

Result<Code, RuntimeError> compile(const ir::Program& program, Checks checks) { return Compiler(program, checks).compile(); }

}  // namespace sarek::interp
