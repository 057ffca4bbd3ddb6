// The checks of verify_program, from the declaration to the order of the body to each node.
#include "compiler/spec/verify.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/printer.h"
#include "compiler/spec/spec.h"

namespace sarek::spec {

using namespace ir;  // NOLINT: a checker of the IR

namespace {

constexpr int kMaxBlockAxis = 1 << 16;
constexpr std::int64_t kMaxStorage = std::int64_t{1} << 40;  // cells: keeps every size in bytes far inside i64

std::string plain(std::string_view text) { return std::string(text); }
std::string name_of(Type t) { return plain(type_name(t)); }

class Verifier {
 public:
  Verifier(const Program& program, std::size_t limit) : p_(program), g_(program.graph), limit_(limit), context_(program.graph, Options{}) {}

  std::vector<ProgramFailure> run() {
    declaration();
    // Later checks read sources by number: without sound nodes and order they would not be safe.
    if (order()) {
      structure();
      for (std::size_t i = 0; i < p_.body.size() && failures_.size() < limit_; ++i) node(i);
    }
    // By position, and in order of finding within one: the declaration, structure and nodes were looked at one after the other.
    std::multimap<int, ProgramFailure*> ordered;
    for (ProgramFailure& f : failures_) ordered.emplace(f.position, &f);
    std::vector<ProgramFailure> result;
    for (const auto& [position, failure] : ordered) result.push_back(std::move(*failure));
    return result;
  }

 private:
  void fail(std::size_t position, std::string rule, std::string message) {
    if (failures_.size() < limit_)
      failures_.push_back({static_cast<int>(position), p_.body[position], std::move(rule), std::move(message)});
  }
  void fail_declaration(std::string message) {
    if (failures_.size() < limit_) failures_.push_back({-1, {}, "declaration", std::move(message)});
  }
  std::string ref(NodeId id) const {
    const int at = id && id.index() < position_.size() ? position_[id.index()] : -1;
    return at < 0 ? "%?" : "%" + std::to_string(at);
  }

  // --- declaration ----------------------------------------------------------------------------------------------------------
  void declaration() {
    cell_types_.assign(p_.params.size(), 0);
    std::int64_t threads = 1;
    for (const int b : p_.block) {
      if (b < 1 || b > kMaxBlockAxis)
        return fail_declaration("a block extent of " + std::to_string(b) + " is not between 1 and " + std::to_string(kMaxBlockAxis));
      threads *= b;
    }
    if (threads > kMaxBlockAxis)
      fail_declaration("a block of " + std::to_string(threads) + " threads is more than " + std::to_string(kMaxBlockAxis));
    for (std::size_t i = 0; i < p_.params.size() && failures_.size() < limit_; ++i) parameter(static_cast<int>(i));
    for (std::size_t i = 0; i < p_.slots.size(); ++i) slot(static_cast<int>(i));
  }

  void parameter(int number) {
    const KernelParam& k = p_.params[static_cast<std::size_t>(number)];
    const std::string who = "parameter " + quote(k.name);
    const auto slots = static_cast<std::int64_t>(p_.slots.size());
    if (k.first_slot < 0 || k.slot_count < 0 || std::int64_t{k.first_slot} + k.slot_count > slots)
      return fail_declaration(who + " names slots that do not exist");
    if (k.is_buffer && k.slot_count != 1)
      fail_declaration(who + " is a buffer and has " + std::to_string(k.slot_count) + " slots instead of one");
    if (k.is_buffer == (k.access == Access::None))
      fail_declaration(who + (k.is_buffer ? " is a buffer without access" : " is a scalar with access"));
    // Parameters that claim each other's slots fail here at once, so that this stays linear.
    for (int s = k.first_slot; s < k.first_slot + k.slot_count && failures_.size() < limit_; ++s) {
      const Slot& slot = p_.slots[static_cast<std::size_t>(s)];
      const Slot::Kind wanted = k.is_buffer ? Slot::Kind::Buffer : Slot::Kind::Scalar;
      if (slot.kind != wanted || slot.param != number)
        fail_declaration("slot " + std::to_string(s) + " is not the " + plain(slot_kind_name(wanted)) + " slot of " + who);
    }
    const ElementLayout& e = k.element;
    const bool power = e.align > 0 && (e.align & (e.align - 1)) == 0;
    if (e.size < 1 || e.size > kMaxStorage || !power || e.size % e.align != 0)
      return fail_declaration(who + " has an element of no sound size and alignment");
    std::uint32_t& cells = cell_types_[static_cast<std::size_t>(number)];
    for (const LayoutField& f : e.fields) {
      const int bytes = type_bytes(f.type);
      cells |= 1u << static_cast<unsigned>(f.type);
      // A bool in memory is a byte; after legalisation programs say so.
      if (f.type == Type::Bool) cells |= 1u << static_cast<unsigned>(Type::U8);
      if (bytes == 0 || f.offset < 0 || f.offset > e.size - bytes || f.offset % bytes != 0)
        fail_declaration(who + " has the field " + quote(f.path) + " outside of its element or not aligned");
    }
    if (std::any_of(k.view.begin(), k.view.end(), [](std::int64_t v) { return v < 0; })) fail_declaration(who + " has a negative extent");
  }

  void slot(int number) {
    const Slot& s = p_.slots[static_cast<std::size_t>(number)];
    const std::string who = "slot " + std::to_string(number) + " " + quote(s.name);
    const bool has_param = s.param >= 0 && static_cast<std::size_t>(s.param) < p_.params.size();
    const auto holds_index = [&] { return s.type == Type::I32 || (p_.wide && s.type == Type::I64); };
    switch (s.kind) {
      case Slot::Kind::Buffer:
      case Slot::Kind::Scalar: {
        if (!has_param) return fail_declaration(who + " belongs to no parameter");
        const KernelParam& k = p_.params[static_cast<std::size_t>(s.param)];
        if (number < k.first_slot || number >= k.first_slot + k.slot_count)
          fail_declaration(who + " is not among the slots of its parameter " + quote(k.name));
        if (s.kind == Slot::Kind::Scalar && type_bits(s.type) == 0) fail_declaration(who + " is a scalar of type " + name_of(s.type));
        return;
      }
      case Slot::Kind::Length: {
        const bool of_buffer = s.of_slot >= 0 && static_cast<std::size_t>(s.of_slot) < p_.slots.size() &&
                               p_.slots[static_cast<std::size_t>(s.of_slot)].kind == Slot::Kind::Buffer;
        if (!of_buffer) fail_declaration(who + " is the length of no buffer");
        if (!holds_index()) fail_declaration(who + " is a length of type " + name_of(s.type));
        return;
      }
      case Slot::Kind::NumGroups:
        if (s.axis < 0 || s.axis > 2) fail_declaration(who + " counts blocks along axis " + std::to_string(s.axis));
        if (!holds_index()) fail_declaration(who + " counts blocks in type " + name_of(s.type));
        return;
      case Slot::Kind::SharedLength:
        shared_lengths_.insert(s.of_slot);
        if (s.type != Type::I32) fail_declaration(who + " is the length of shared storage of type " + name_of(s.type));
        return;
    }
  }

  // --- order and structure --------------------------------------------------------------------------------------------------
  /// Sources exist, stand before their use, and arities are those of the table. False when the body is not even a list of sound nodes.
  bool order() {
    position_.assign(g_.size(), -1);
    bool sound = true;
    for (std::size_t i = 0; i < p_.body.size(); ++i) {
      const NodeId id = p_.body[i];
      if (!id || id.index() >= g_.size()) {
        if (failures_.size() < limit_)
          failures_.push_back({static_cast<int>(i), {}, "structure", "the body names a node that does not exist"});
        return false;
      }
      if (position_[id.index()] >= 0) {
        fail(i, "structure", "the node stands twice in the body, first at position " + std::to_string(position_[id.index()]));
        sound = false;
        continue;
      }
      if (!has_valid_arity(g_, id)) {
        fail(i, "structure", plain(op_info(g_.op(id)).name) + " with " + std::to_string(g_.sources(id).size()) + " sources");
        sound = false;
      }
      for (std::size_t s = 0; s < g_.sources(id).size(); ++s) {
        if (position_[g_.source(id, s).index()] >= 0) continue;
        fail(i, "structure", "source " + std::to_string(s) + ", " + print_node(g_, g_.source(id, s)) + ", does not stand before its use");
        sound = false;
      }
      position_[id.index()] = static_cast<int>(i);
    }
    return sound;
  }

  /// Partners match, and every source is in scope: its innermost loop or IF encloses the use.
  void structure() {
    const std::size_t count = p_.body.size();
    scope_.assign(count, -1);
    std::vector<int> open;
    std::vector<bool> is_open(count, false);
    for (std::size_t i = 0; i < count; ++i) {
      const NodeId id = p_.body[i];
      const Op op = g_.op(id);
      const NodeId opener = closes(id);
      if (opener) {
        const int at = position_[opener.index()];
        if (!open.empty() && open.back() == at) {
          is_open[static_cast<std::size_t>(at)] = false;
          open.pop_back();
        } else if (at >= 0 && is_open[static_cast<std::size_t>(at)]) {
          fail(i, "structure",
               plain(op_info(op).name) + " closes " + ref(opener) + " while " + ref(p_.body[static_cast<std::size_t>(open.back())]) +
                   " inside it is open");
          // Go on as if the inner ones were closed too: one fault, not a cascade.
          while (open.back() != at) {
            is_open[static_cast<std::size_t>(open.back())] = false;
            open.pop_back();
          }
          is_open[static_cast<std::size_t>(at)] = false;
          open.pop_back();
        } else {
          fail(i, "structure", plain(op_info(op).name) + " closes " + ref(opener) + ", which is not open");
        }
      }
      scope_[i] = open.empty() ? -1 : open.back();
      for (std::size_t s = 0; s < g_.sources(id).size(); ++s) {
        const NodeId source = g_.source(id, s);
        if (source == opener) continue;
        const int at = scope_of_source(source);
        // BACKEDGE decides inside its loop: its condition may be made there.
        const bool own_loop = op == Op::Backedge && at == position_[g_.source(id, 1).index()];
        if (at >= 0 && !is_open[static_cast<std::size_t>(at)] && !own_loop)
          fail(i, "scope",
               "source " + std::to_string(s) + ", " + ref(source) + ", was made inside " + ref(p_.body[static_cast<std::size_t>(at)]) +
                   ", which is closed here");
      }
      if (op == Op::Range || op == Op::If) {
        open.push_back(static_cast<int>(i));
        is_open[i] = true;
      }
    }
    for (const int at : open)
      fail(static_cast<std::size_t>(at), "structure",
           plain(op_info(g_.op(p_.body[static_cast<std::size_t>(at)])).name) + " is never closed");
  }

  /// The RANGE or IF that a node closes.
  NodeId closes(NodeId id) const {
    const Op op = g_.op(id);
    if (op == Op::Endif) return g_.source(id, 0);
    if (op == Op::Backedge) return g_.source(id, 1);
    if (op == Op::End && g_.sources(id).size() >= 2) return g_.source(id, 1);
    return {};
  }

  /// The scope in which a value may be used; a loop variable only inside its own loop.
  int scope_of_source(NodeId id) const {
    const int at = position_[id.index()];
    if (g_.op(id) == Op::Range) return at;
    return scope_[static_cast<std::size_t>(at)];
  }

  // --- nodes ----------------------------------------------------------------------------------------------------------------
  void node(std::size_t i) {
    const NodeId id = p_.body[i];
    const Op op = g_.op(id);
    const Spec::Decision decision = program().decide(context_, id);
    if (!decision.accepted) {
      const std::string why =
          decision.rule ? plain(decision.rule->reason) : "a program has no " + plain(op_info(op).name) + " of this form";
      std::string rule = decision.rule ? plain(decision.rule->id) : "program";
      fail(i, std::move(rule), print_with_positions(id) + ": " + why);
      return;  // the rest assumes a node that the specification accepts
    }
    if (const std::optional<std::string> wrong = derived_type(id)) fail(i, "structure", *wrong);
    if (may_stand_in_program(op)) values(i, id);
    if ((op == Op::Custom || op == Op::Customi) && !g_.arg_as<CodeArg>(id))
      fail(i, "structure", plain(op_info(op).name) + " has no text in its argument");
    if (op == Op::Param) param(i, id);
    if (op == Op::Buffer) buffer(i, id);
    if (op == Op::Special) special(i, id);
    if (op == Op::Index) index(i, id);
    if (op == Op::Load || op == Op::Store) access(i, id);
    if (op == Op::Ins) instruction(i, id);
    if (op == Op::End && g_.sources(id).size() != 2) fail(i, "structure", "END closes exactly one loop in a program");
    if (op == Op::Barrier && !g_.sources(id).empty()) fail(i, "structure", "a BARRIER of a program has no sources");
    if (op == Op::Group && !g_.sources(id).empty()) fail(i, "structure", "a GROUP of a program is the empty void value");
    if ((op == Op::End || op == Op::Backedge) && g_.op(g_.source(id, 0)) != Op::Group)
      fail(i, "structure", "source 0 of " + plain(op_info(op).name) + " is not the void value GROUP");
    if (op == Op::Range && g_.type(id) == Type::Void && g_.op(g_.source(id, 0)) != Op::Group)
      fail(i, "structure", "an unbounded RANGE starts from the void value GROUP");
    if (op == Op::Range) {
      const AxisType axis = g_.arg_as<RangeArg>(id)->axis_type;
      if (axis != AxisType::Loop && axis != AxisType::Unroll) fail(i, "structure", "a RANGE of a program is a Loop, or marked Unroll");
    }
    if (op == Op::Range && (g_.type(id) != Type::Void && !is_int(g_.type(id))))
      fail(i, "structure", "a RANGE counts integers, not " + name_of(g_.type(id)));
    if (op == Op::Const && g_.arg_as<ConstValue>(id)->kind == ConstValue::Kind::Invalid) fail(i, "P7", "a program has no Invalid");
    const bool leaf = op == Op::Param || op == Op::Buffer || op == Op::Special || op == Op::Const || op == Op::Group;
    if (leaf && scope_[i] >= 0)
      fail(i, "scope", "the leaf " + plain(op_info(op).name) + " stands inside " + ref(p_.body[static_cast<std::size_t>(scope_[i])]));
    if (!may_stand_in_program(op)) fail(i, "program", plain(op_info(op).name) + " has no place in a program's body");
  }

  /// Storage and places in it have the type of a cell, but they are not its value: only a LOAD gives that.
  void values(std::size_t i, NodeId id) {
    const Op op = g_.op(id);
    for (std::size_t s = 0; s < g_.sources(id).size(); ++s) {
      const NodeId source = g_.source(id, s);
      const auto* a = g_.arg_as<ParamArg>(source);
      const bool storage = a && (g_.op(source) == Op::Buffer || (g_.op(source) == Op::Param && a->space == AddressSpace::Global));
      const bool place = g_.op(source) == Op::Index;
      if (!storage && !place) continue;
      const bool accesses =
          op == Op::Load || op == Op::Store || (op == Op::Ins && g_.arg_as<InsArg>(id) && is_atomic(*g_.arg_as<InsArg>(id)));
      // The mark of an IF may be a place, as it stands for the access that it guards. Accesses and INDEX say themselves what is wrong with
      // their first source.
      if (op == Op::If ? s == 1 && place : s == 0 && (accesses || op == Op::Index)) continue;
      fail(i, "access",
           "source " + std::to_string(s) + ", " + ref(source) + ", is " + (place ? "a place in storage" : "storage") + ", not a value");
    }
  }
  static bool is_atomic(const InsArg& a) { return ins_info(a.code).kind == InsKind::Atomic; }

  /// Operations that the specification accepts in any form but that the program form gives no meaning to.
  static bool may_stand_in_program(Op op) {
    return is_elementwise(op) || op == Op::Special || op == Op::Buffer || op == Op::Param || op == Op::Group || op == Op::Index ||
           op == Op::Load || op == Op::Store || op == Op::Barrier || op == Op::Range || op == Op::If || op == Op::End || op == Op::Endif ||
           op == Op::Backedge || op == Op::Const || op == Op::Ins || op == Op::Custom || op == Op::Customi;
  }

  /// The type stated is the type that the op derives: the text form and make_raw may say something else.
  std::optional<std::string> derived_type(NodeId id) const {
    const Op op = g_.op(id);
    const Type type = g_.type(id);
    if (op == Op::Const || op == Op::Noop) return std::nullopt;  // S3 checks constants; a no-op is of any type
    Type derived = type;
    switch (op_info(op).rule) {
      case TypeRule::Void: derived = Type::Void; break;
      case TypeRule::First: derived = g_.type(g_.source(id, 0)); break;
      case TypeRule::Third: derived = g_.type(g_.source(id, 2)); break;
      case TypeRule::Promote: {
        derived = Type::Void;
        for (const NodeId s : g_.sources(id)) derived = promote(derived, g_.type(s));
        break;
      }
      case TypeRule::Bool: derived = Type::Bool; break;
      case TypeRule::FloatUp: derived = least_upper_float(g_.type(g_.source(id, 0))); break;
      case TypeRule::Select: derived = promote(g_.type(g_.source(id, 1)), g_.type(g_.source(id, 2))); break;
      case TypeRule::Bytes: derived = Type::U8; break;
      case TypeRule::Address: derived = Type::U64; break;
      case TypeRule::Arg:
        if (const auto* p = g_.arg_as<ParamArg>(id)) derived = p->type;
        if (const auto* n = g_.arg_as<InsArg>(id)) derived = n->type;
        if (const auto* c = g_.arg_as<CodeArg>(id)) derived = c->type;
        break;
      case TypeRule::Value:
      case TypeRule::Any: break;
    }
    if (derived == type) return std::nullopt;
    return print_with_positions(id) + " has the type " + name_of(type) + " where its operation gives " + name_of(derived);
  }

  void param(std::size_t i, NodeId id) {
    const ParamArg& a = *g_.arg_as<ParamArg>(id);
    if (a.slot < 0 || static_cast<std::size_t>(a.slot) >= p_.slots.size())
      return fail(i, "declaration", "PARAM names slot " + std::to_string(a.slot) + ", which does not exist");
    const Slot& s = p_.slots[static_cast<std::size_t>(a.slot)];
    if (type_bits(a.type) == 0) return fail(i, "declaration", "PARAM of type " + name_of(a.type));
    if (a.range && a.range->first > a.range->second) fail(i, "declaration", "PARAM has an empty range");
    if (a.space == AddressSpace::None) {
      if (s.kind == Slot::Kind::Buffer) return fail(i, "declaration", "a scalar PARAM names the buffer slot " + quote(s.name));
      if (a.range && s.kind == Slot::Kind::Scalar)
        fail(i, "declaration", "PARAM of the argument " + quote(s.name) + " has a range, which nothing checks at launch");
      if (a.range && s.kind != Slot::Kind::Scalar &&
          (a.range->first > (s.kind == Slot::Kind::NumGroups) || Int128{a.range->second} < INT32_MAX))
        fail(i, "declaration", "PARAM of " + quote(s.name) + " has a range narrower than what a launch may pass");
      if (s.type != a.type)
        fail(i, "declaration", "PARAM of type " + name_of(a.type) + " names slot " + quote(s.name) + " of type " + name_of(s.type));
      return;
    }
    if (a.space != AddressSpace::Global)
      return fail(i, "declaration", "a PARAM is a scalar or global storage, not " + plain(address_space_name(a.space)));
    if (s.kind != Slot::Kind::Buffer) return fail(i, "declaration", "a storage PARAM names slot " + quote(s.name) + ", which is no buffer");
    if (a.size && (*a.size < 0 || *a.size > kMaxStorage))
      fail(i, "declaration", "PARAM has a size of " + std::to_string(*a.size) + " elements");
    if (s.param < 0 || static_cast<std::size_t>(s.param) >= p_.params.size()) return;  // reported with the slot
    const KernelParam& k = p_.params[static_cast<std::size_t>(s.param)];
    if ((cell_types_[static_cast<std::size_t>(s.param)] >> static_cast<unsigned>(a.type) & 1u) == 0)
      fail(i, "declaration",
           "PARAM views buffer " + quote(k.name) + " as " + name_of(a.type) + ", which its element " + quote(k.element.type_name) +
               " has no field of");
    if (k.element.size % type_bytes(a.type) != 0)
      fail(i, "declaration", "cells of " + name_of(a.type) + " do not divide an element of " + quote(k.name));
  }

  void buffer(std::size_t i, NodeId id) {
    const ParamArg& a = *g_.arg_as<ParamArg>(id);
    if (type_bits(a.type) == 0) fail(i, "declaration", "BUFFER of type " + name_of(a.type));
    if (a.size && (*a.size < 0 || *a.size > kMaxStorage))
      return fail(i, "declaration", "BUFFER has a size of " + std::to_string(*a.size) + " elements");
    own_bytes_ += a.size.value_or(0) * type_bytes(a.type);
    if (own_bytes_ > kMaxStorage) {
      fail(i, "declaration", "the BUFFERs of the program hold more than any memory");
      own_bytes_ = 0;
    }
    if (!a.size && a.space == AddressSpace::Reg) fail(i, "declaration", "a BUFFER in registers has a size");
    if (!buffer_numbers_.insert(a.slot).second) fail(i, "declaration", "two BUFFERs have the number " + std::to_string(a.slot));
    if (!a.size && a.space == AddressSpace::Local) {
      if (shared_lengths_.count(a.slot) == 0)
        fail(i, "declaration", "dynamic shared BUFFER " + quote(a.name) + " has no slot with its length");
    }
  }

  void special(std::size_t i, NodeId id) {
    const std::string& name = g_.arg_as<NameArg>(id)->name;
    const bool known = name.size() == std::string_view("local_id.x").size() &&
                       (name.starts_with("local_id.") || name.starts_with("group_id.")) && name.back() >= 'x' && name.back() <= 'z';
    if (!known) return fail(i, "declaration", "SPECIAL " + quote(name) + " is neither local_id nor group_id along x, y or z");
    const int axis = name.back() - 'x';
    const NodeId bound = g_.source(id, 0);
    if (name.starts_with("local_id.")) {
      if (integer_literal(g_, bound) != p_.block[static_cast<std::size_t>(axis)])
        fail(
            i, "declaration",
            "SPECIAL " + quote(name) + " is not bounded by the block's extent " + std::to_string(p_.block[static_cast<std::size_t>(axis)]));
      return;
    }
    const auto* count = g_.op(bound) == Op::Param ? g_.arg_as<ParamArg>(bound) : nullptr;
    const bool blocks = count && count->slot >= 0 && static_cast<std::size_t>(count->slot) < p_.slots.size() &&
                        p_.slots[static_cast<std::size_t>(count->slot)].kind == Slot::Kind::NumGroups &&
                        p_.slots[static_cast<std::size_t>(count->slot)].axis == axis;
    if (!blocks) fail(i, "declaration", "SPECIAL " + quote(name) + " is not bounded by the number of blocks along its axis");
  }

  void index(std::size_t i, NodeId id) {
    const NodeId base = g_.source(id, 0);
    const auto* a = g_.arg_as<ParamArg>(base);
    const bool storage = (g_.op(base) == Op::Param && a && a->space == AddressSpace::Global) || (g_.op(base) == Op::Buffer && a);
    if (!storage) fail(i, "access", "INDEX into " + ref(base) + ", which is no storage");
    if (g_.sources(id).size() != 2) fail(i, "access", "INDEX of a program has exactly one index");
  }

  /// The PARAM behind a place, when it is one.
  const Slot* slot_behind(NodeId place) const {
    const NodeId base = g_.sources(place).empty() ? place : g_.source(place, 0);
    const auto* a = g_.op(base) == Op::Param ? g_.arg_as<ParamArg>(base) : nullptr;
    if (!a || a->slot < 0 || static_cast<std::size_t>(a->slot) >= p_.slots.size()) return nullptr;
    return &p_.slots[static_cast<std::size_t>(a->slot)];
  }

  void check_access(std::size_t i, NodeId place, bool reads, bool writes) {
    const Slot* s = slot_behind(place);
    if (!s || s->param < 0 || static_cast<std::size_t>(s->param) >= p_.params.size()) return;
    const KernelParam& k = p_.params[static_cast<std::size_t>(s->param)];
    if (reads && k.access == Access::Out) fail(i, "access", "buffer " + quote(k.name) + " is declared `out` and is read");
    if (writes && k.access == Access::In) fail(i, "access", "buffer " + quote(k.name) + " is declared `in` and is written");
  }

  void access(std::size_t i, NodeId id) {
    const NodeId place = g_.source(id, 0);
    if (g_.op(place) != Op::Index) return fail(i, "access", plain(op_info(g_.op(id)).name) + " of a program goes through an INDEX");
    check_access(i, place, g_.op(id) == Op::Load, g_.op(id) == Op::Store);
  }

  void instruction(std::size_t i, NodeId id) {
    const InsArg& a = *g_.arg_as<InsArg>(id);
    const InsInfo& info = ins_info(a.code);
    const std::span<const NodeId> s = g_.sources(id);
    const std::string name(info.name);
    if (static_cast<int>(s.size()) != info.sources)
      return fail(i, "instruction", name + " takes " + std::to_string(info.sources) + " sources, not " + std::to_string(s.size()));
    const auto type = [&](std::size_t n) { return g_.type(s[n]); };
    const auto expect = [&](bool holds, const std::string& what) {
      if (!holds) fail(i, "instruction", name + " " + what + ", not " + print_with_positions(id));
    };
    const auto same = [&](std::size_t n) { return type(n) == a.type; };
    const bool number = is_int(a.type) || is_float(a.type);
    switch (a.code) {
      case Ins::Min: expect(number && same(0) && same(1), "takes two numbers of its type"); return;
      case Ins::Abs: expect(number && same(0), "takes a number of its type"); return;
      case Ins::Floor:
      case Ins::Ceil:
      case Ins::Round: expect(is_float(a.type) && same(0), "takes a float of its type"); return;
      case Ins::Copysign: expect(is_float(a.type) && same(0) && same(1), "takes two floats of its type"); return;
      case Ins::Clz:
      case Ins::Ctz:
      case Ins::Popcount: expect(is_int(a.type) && is_int(type(0)), "takes an integer and gives one"); return;
      case Ins::MulHigh: expect(is_int(a.type) && same(0) && same(1), "takes two integers of its type"); return;
      case Ins::Shuffle:
      case Ins::ShuffleUp:
      case Ins::ShuffleDown:
      case Ins::ShuffleXor:
        expect(type_bits(a.type) != 0 && same(0) && is_int(type(1)), "takes a value of its type and an integer");
        return;
      case Ins::VoteAll:
      case Ins::VoteAny: expect(a.type == Type::Bool && type(0) == Type::Bool, "takes a bool and gives one"); return;
      case Ins::Ballot: expect(a.type == Type::U32 && type(0) == Type::Bool, "takes a bool and gives u32"); return;
      case Ins::ActiveMask: expect(a.type == Type::U32, "gives u32"); return;
      case Ins::ReduceAdd:
      case Ins::ReduceMin:
      case Ins::ReduceMax: expect(number && same(0), "takes a number of its type"); return;
      case Ins::ReduceAnd:
      case Ins::ReduceOr:
      case Ins::ReduceXor: expect((is_int(a.type) || a.type == Type::Bool) && same(0), "takes an integer of its type"); return;
      case Ins::WarpBarrier:
      case Ins::FenceBlock:
      case Ins::FenceDevice: expect(a.type == Type::Void, "gives nothing"); return;
      case Ins::AtomicAdd:
      case Ins::AtomicSub:
      case Ins::AtomicExchange:
      case Ins::AtomicMin:
      case Ins::AtomicMax:
      case Ins::AtomicAnd:
      case Ins::AtomicOr:
      case Ins::AtomicXor:
      case Ins::AtomicInc:
      case Ins::AtomicDec:
      case Ins::AtomicCas: atomic(i, id, a, name); return;
      case Ins::Trap: expect(a.type == Type::Void && type(0) == Type::Bool, "takes a bool and gives nothing"); return;
    }
  }

  void atomic(std::size_t i, NodeId id, const InsArg& a, const std::string& name) {
    const NodeId place = g_.source(id, 0);
    if (g_.op(place) != Op::Index) return fail(i, "instruction", name + " works on an INDEX, not on " + ref(place));
    const auto* storage = g_.arg_as<ParamArg>(g_.source(place, 0));
    if (storage && storage->space == AddressSpace::Reg)
      fail(i, "instruction", name + " works on global or shared storage, not on registers");
    for (const NodeId s : g_.sources(id))
      if (g_.type(s) != a.type)
        return fail(i, "instruction", name + " takes and gives the type of its place, not " + print_with_positions(id));
    const bool bits = a.code == Ins::AtomicAnd || a.code == Ins::AtomicOr || a.code == Ins::AtomicXor;
    const bool steps = a.code == Ins::AtomicInc || a.code == Ins::AtomicDec;
    if (!is_int(a.type) && !(is_float(a.type) && !bits && !steps)) fail(i, "instruction", name + " does not work on " + name_of(a.type));
    check_access(i, place, true, true);
  }

  /// The node as its line in the text form says it.
  std::string print_with_positions(NodeId id) const {
    std::string out = plain(op_info(g_.op(id)).name) + " " + name_of(g_.type(id));
    for (const NodeId s : g_.sources(id)) out += " " + ref(s);
    if (!g_.sources(id).empty()) {
      out += " (of";
      for (const NodeId s : g_.sources(id)) out += " " + name_of(g_.type(s));
      out += ")";
    }
    return out + print_arg(g_, id);
  }

  const Program& p_;
  const Graph& g_;
  std::size_t limit_;
  Context context_;
  std::vector<int> position_;  // by node index; -1: not (yet) in the body
  std::vector<int> scope_;     // by position: the innermost open RANGE or IF
  std::set<int> buffer_numbers_;
  std::set<int> shared_lengths_;           // numbers of dynamic shared BUFFERs that have a length
  std::vector<std::uint32_t> cell_types_;  // by parameter: a bit for each type that may stand in its element
  std::int64_t own_bytes_ = 0;             // of BUFFERs so far
  std::vector<ProgramFailure> failures_;
};

}  // namespace

std::vector<ProgramFailure> verify_program(const Program& program, std::size_t limit) { return Verifier(program, limit).run(); }

std::string describe(const Program& program, const std::vector<ProgramFailure>& failures) {
  std::string out;
  for (const ProgramFailure& f : failures) {
    out += "program " + quote(program.name);
    if (f.position >= 0) out += ", position " + std::to_string(f.position);
    out += ": " + f.message + " [" + f.rule + "]\n";
  }
  return out;
}

}  // namespace sarek::spec
