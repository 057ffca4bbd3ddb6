// length: one switch over operations and the helpers of its cases, which share the names, the text and the requirements of one kernel.
#include "emitters/clike/printer.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "compiler/spec/proof.h"
#include "compiler/support/numeric.h"

namespace sarek::emit {
namespace {

using ir::AddressSpace;
using ir::Graph;
using ir::Ins;
using ir::NodeId;
using ir::Op;
using ir::Program;
using ir::Type;

constexpr std::size_t at(Type type) { return static_cast<std::size_t>(type); }

// See negated().
constexpr std::string_view kOpaqueZero = "zero_z0";
// Of checked kernels: the record of faults, and whether this thread met one.
constexpr std::string_view kFaults = "faults_f0", kFaulted = "faulted_f1";
constexpr std::int64_t kLargeLiteral = std::int64_t{1} << 24;

/// A fault of the compiler: a program that legalisation should not have let through. Caught in print_clike.
struct Unprintable {
  std::string what;
};

std::string replace_all(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t from = text.find(what); from != std::string::npos; from = text.find(what, from + with.size()))
    text.replace(from, what.size(), with);
  return text;
}

std::string fill(std::string_view format, std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string text(format);
  for (const auto& [what, with] : values) text = replace_all(std::move(text), what, with);
  return text;
}

/// Letters, digits and single inner underscores of a user's name. What is declared appends a letter and a number (`_a0` arguments, `_s0`
/// shared, `_r0` private, `_d0` dynamic shared, `_k0` kernels): no keyword, type, function or macro of a target language ends like that,
/// while plain numbers would meet macros (`M_PI_2`).
std::string identifier(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (word) out += c;
    else if (!out.empty() && out.back() != '_') out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() || (out.front() >= '0' && out.front() <= '9') ? "v" + out : out;
}

class KernelPrinter {
 public:
  KernelPrinter(const Dialect& dialect, const Program& program, const PrintOptions& options, std::set<std::string>& helpers)
      : d_(dialect), p_(program), g_(program.graph), options_(options), helpers_(helpers) {}

  PrintedKernel print(std::string entry, std::string& out) {
    result_.entry = std::move(entry);
    names_.resize(g_.size());
    std::string head = std::string(
        fill(d_.kernel_head,
             {{"{X}", std::to_string(p_.block[0])}, {"{Y}", std::to_string(p_.block[1])}, {"{Z}", std::to_string(p_.block[2])}}));
    head += result_.entry + "(" + arguments() + ") {\n";
    if (options_.checked) prepare_checks();
    for (std::size_t at = 0; at < p_.body.size(); ++at) statement(p_.body[at], at);
    out += head;
    if (options_.checked) out += "  int " + std::string(kFaulted) + " = 0;\n";
    if (uses_opaque_zero_)
      out += "  const " + std::string(d_.value_types[at(Type::U32)]) + " " + std::string(kOpaqueZero) + " = " +
             std::string(d_.opaque_zero) + ";\n";
    out += body_ + "}\n";
    result_.requires_.assign(requires_.begin(), requires_.end());
    result_.shared_bytes = ir::static_shared_bytes(p_);
    return result_;
  }

  bool uses_f64() const { return requires_.count("fp64") != 0; }
  bool uses_i64_atomics() const { return requires_.count("int64-atomics") != 0; }

 private:
  std::string_view value_type(Type t) {
    if (t == Type::F64) requires_.insert("fp64");
    const std::string_view name = d_.value_types[at(t)];
    if (name.empty()) throw Unprintable{"a value of type " + std::string(type_name(t))};
    return name;
  }
  std::string_view memory_type(Type t) {
    if (t == Type::F64) requires_.insert("fp64");
    const std::string_view name = d_.memory_types[at(t)];
    if (name.empty()) throw Unprintable{"memory of type " + std::string(type_name(t))};
    return name;
  }

  // --- declaration ----------------------------------------------------------------------------------------------------------

  std::string arguments() {
    // The element type of a slot's pointer is that of its first view; other views cast.
    std::map<int, Type> pointee;
    for (const NodeId id : p_.body) {
      const auto* a = g_.op(id) == Op::Param ? g_.arg_as<ir::ParamArg>(id) : nullptr;
      if (a && a->space == AddressSpace::Global) pointee.emplace(a->slot, a->type);
    }
    std::string list;
    const auto add = [&](const std::string& one) { list += (list.empty() ? "" : ", ") + one; };
    for (std::size_t s = 0; s < p_.slots.size(); ++s) {
      const ir::Slot& slot = p_.slots[s];
      slot_names_.push_back(identifier(slot.name) + "_a" + std::to_string(s));
      if (slot.kind == ir::Slot::Kind::Buffer) {
        const ir::KernelParam& param = p_.params[static_cast<std::size_t>(slot.param)];
        const auto found = pointee.find(static_cast<int>(s));
        const Type type = found == pointee.end() ? Type::U8 : found->second;
        slot_types_.push_back(type);
        const std::string_view constant = param.access == ir::Access::In ? d_.const_in : std::string_view();
        add(std::string(d_.global_space) + " " + std::string(constant) + std::string(memory_type(type)) + "* " + slot_names_.back());
      } else {
        slot_types_.push_back(slot.type);
        add(std::string(memory_type(slot.type)) + " " + slot_names_.back());
      }
    }
    for (const ir::Slot& slot : p_.slots) {
      if (slot.kind != ir::Slot::Kind::SharedLength) continue;
      const NodeId buffer = dynamic_buffer(slot.of_slot);
      const Type type = buffer ? g_.type(buffer) : Type::U8;
      const std::string name = identifier(buffer ? g_.arg_as<ir::ParamArg>(buffer)->name : slot.name) + "_d" + std::to_string(slot.of_slot);
      if (buffer) names_[buffer.index()] = name;
      add(std::string(d_.local_space) + " " + std::string(memory_type(type)) + "* " + name);
    }
    if (options_.checked)
      add("volatile " + std::string(d_.global_space) + " " + std::string(value_type(Type::U32)) + "* " + std::string(kFaults));
    return list;
  }

  NodeId dynamic_buffer(int number) const {
    for (const NodeId id : p_.body) {
      const auto* a = g_.op(id) == Op::Buffer ? g_.arg_as<ir::ParamArg>(id) : nullptr;
      if (a && a->slot == number && a->space == AddressSpace::Local && !a->size) return id;
    }
    return {};
  }

  void declare_buffer(NodeId id) {
    const auto& a = *g_.arg_as<ir::ParamArg>(id);
    if (a.space == AddressSpace::Local) {
      if (!a.size) return;  // an argument
      names_[id.index()] = identifier(a.name) + "_s" + std::to_string(a.slot);
      line(std::string(d_.local_space) + " " + std::string(memory_type(a.type)) + " " + names_[id.index()] + "[" +
           std::to_string(std::max<std::int64_t>(1, *a.size)) + "];");
      return;
    }
    if (a.space != AddressSpace::Reg || !a.size) throw Unprintable{"storage `" + a.name + "` that is neither private nor shared"};
    names_[id.index()] = identifier(a.name) + "_r" + std::to_string(a.slot);
    const std::string declaration = std::string(value_type(a.type)) + " " + names_[id.index()];
    if (*a.size == 1) {
      line(declaration + " = " + zero(a.type) + ";");
    } else {
      line(declaration + "[" + std::to_string(*a.size) + "];");
      line("for (int z = 0; z < " + std::to_string(*a.size) + "; ++z) " + names_[id.index()] + "[z] = " + zero(a.type) + ";");
    }
  }

  void declare_param(NodeId id) {
    const auto& a = *g_.arg_as<ir::ParamArg>(id);
    const auto s = static_cast<std::size_t>(a.slot);
    if (a.space != AddressSpace::Global) {
      names_[id.index()] = a.type == Type::Bool ? "(" + slot_names_[s] + " != 0)" : slot_names_[s];
      return;
    }
    if (slot_types_[s] == a.type) {
      names_[id.index()] = slot_names_[s];
      return;
    }
    const bool read_only = p_.params[static_cast<std::size_t>(p_.slots[s].param)].access == ir::Access::In;
    const std::string pointer = std::string(d_.global_space) + " " + std::string(read_only ? d_.const_in : std::string_view()) +
                                std::string(memory_type(a.type)) + "*";
    names_[id.index()] = slot_names_[s] + "_" + std::string(type_name(a.type));
    line(pointer + " " + names_[id.index()] + " = (" + pointer + ")" + slot_names_[s] + ";");
  }

  // --- literals -------------------------------------------------------------------------------------------------------------

  std::string zero(Type type) {
    return literal_text(type, type == Type::F32 || type == Type::F64 ? ir::ConstValue::of_float(0.0) : ir::ConstValue::of_int(0));
  }

  std::string float_text(double value, Type type) {
    const bool wide = type == Type::F64;
    if (std::isnan(value)) return fill(d_.bitcast, {{"{T}", value_type(type)}, {"{0}", wide ? "0x7ff8000000000000UL" : "0x7fc00000u"}});
    std::string text;
    if (std::isinf(value)) {
      text = std::string(wide ? d_.infinity_f64 : d_.infinity_f32);
    } else {
      std::array<char, 48> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "%a", std::fabs(value));
      text = buffer.data() + std::string(wide ? "" : "f");
    }
    return std::signbit(value) ? "(-" + text + ")" : text;
  }

  std::string literal_text(Type type, const ir::ConstValue& v) {
    switch (type) {
      case Type::Bool: return v.integer != 0 ? "true" : "false";
      case Type::F32:
      case Type::F64: return float_text(v.number, type);
      case Type::F16: return "((ushort)" + std::to_string(numeric::f16_from(v.number)) + ")";
      case Type::Bf16: return "((ushort)" + std::to_string(numeric::bf16_from(v.number)) + ")";
      case Type::I8:
      case Type::U8:
      case Type::I16:
      case Type::U16:
      case Type::I32:
      case Type::U32:
      case Type::I64:
      case Type::U64: {
        const std::string suffix(d_.suffixes[at(type)]);
        std::string text;
        if (v.integer < 0) {
          // The most negative i32 and i64 have no literal of their own: a minus is an operator on a number that does not fit.
          const bool least = v.integer == -(ir::Int128{1} << (type_bits(type) - 1));
          const auto magnitude = static_cast<std::uint64_t>(-(v.integer + (least ? 1 : 0)));
          text = "(-" + std::to_string(magnitude) + suffix + (least ? " - 1" + suffix : std::string()) + ")";
        } else {
          text = std::to_string(static_cast<std::uint64_t>(v.integer)) + suffix;
        }
        return type_bits(type) < 32 ? "((" + std::string(value_type(type)) + ")" + text + ")" : text;
      }
      case Type::Void:
      case Type::WeakInt:
      case Type::WeakFloat:
      case Type::F8e4m3:
      case Type::F8e5m2:
      case Type::F8e4m3fnuz:
      case Type::F8e5m2fnuz: break;
    }
    throw Unprintable{"a literal of type " + std::string(type_name(type))};
  }

  // --- text -----------------------------------------------------------------------------------------------------------------

  void line(const std::string& text) { body_ += std::string(2 * depth_, ' ') + text + "\n"; }
  const std::string& name(NodeId id) { return names_[id.index()]; }
  const std::string& operand(NodeId id, std::size_t i) { return name(g_.source(id, i)); }

  void define(NodeId id, const std::string& expression) {
    names_[id.index()] = "v" + std::to_string(next_value_++);
    line(std::string("const ") + std::string(value_type(g_.type(id))) + " " + name(id) + " = " + expression + ";");
  }

  void position(NodeId id) {
    const SourceRange range = g_.range(id);
    if (!options_.line_directives || !options_.sources || !range || range == last_position_) return;
    last_position_ = range;
    std::string file = replace_all(replace_all(options_.sources->name(range.file), "\\", "\\\\"), "\"", "\\\"");
    body_ += "#line " + std::to_string(options_.sources->line_column(range.file, range.begin).line) + " \"" + file + "\"\n";
  }

  // --- places ---------------------------------------------------------------------------------------------------------------

  std::string place(NodeId index) {
    if (g_.op(index) != Op::Index || g_.sources(index).size() != 2) throw Unprintable{"a place that is no INDEX of one storage"};
    const NodeId buffer = g_.source(index, 0);
    const auto* a = g_.arg_as<ir::ParamArg>(buffer);
    if (a && a->space == AddressSpace::Reg && a->size == 1) return name(buffer);
    return name(buffer) + "[" + operand(index, 1) + "]";
  }

  bool in_memory(NodeId index) {
    const auto* a = g_.arg_as<ir::ParamArg>(g_.source(index, 0));
    return a && a->space != AddressSpace::Reg;
  }

  std::string loaded(NodeId load) {
    const NodeId index = g_.source(load, 0);
    const std::string cell = place(index);
    return g_.type(load) == Type::Bool && in_memory(index) ? "(" + cell + " != 0)" : cell;
  }

  std::string stored(NodeId value, NodeId index) {
    return g_.type(value) == Type::Bool && in_memory(index) ? "(" + std::string(memory_type(Type::Bool)) + ")(" + name(value) + " ? 1 : 0)"
                                                            : name(value);
  }

  // --- arithmetic -----------------------------------------------------------------------------------------------------------

  /// The low bits of an integer as a value of `type`. C leaves the conversion of what does not fit to the compiler for signed types, and
  /// one GPU compiler takes (short)(0u - x) for a 32 bit negation: small signed types come from the unsigned type of their width, bit by
  /// bit.
  std::string low_bits(Type type, const std::string& text) {
    if (type != Type::I8 && type != Type::I16) return "(" + std::string(value_type(type)) + ")(" + text + ")";
    const Type bits = type == Type::I8 ? Type::U8 : Type::U16;
    return fill(d_.bitcast, {{"{T}", value_type(type)}, {"{0}", "(" + std::string(value_type(bits)) + ")(" + text + ")"}});
  }

  /// The unsigned type of at least 32 bits that a type's sums and products are taken in: signed overflow is undefined in C.
  std::string wrapping_type(Type type) { return std::string(value_type(type_bits(type) == 64 ? Type::U64 : Type::U32)); }

  std::string arithmetic(NodeId id, std::string_view operation) {
    if (ir::is_float(g_.type(id))) {
      require_float(g_.type(id));
      return operand(id, 0) + " " + std::string(operation) + " " + operand(id, 1);
    }
    const Op op = g_.op(id);
    // What a compiler reads as a negation is written as one.
    if (op == Op::Sub && is_literal(g_.source(id, 0), 0)) return negated(g_.type(id), g_.source(id, 1));
    for (const std::size_t i : {0u, 1u}) {
      const NodeId other = g_.source(id, 1 - i);
      if (op == Op::Mul && is_literal(g_.source(id, i), -1)) return negated(g_.type(id), other);
      if (op == Op::Add && is_literal(g_.source(id, i), 1) && g_.op(other) == Op::Xor && is_literal(g_.source(other, 1), -1))
        return negated(g_.type(id), g_.source(other, 0));  // ~x + 1
    }
    const std::string wide = wrapping_type(g_.type(id));
    const std::string left = "(" + wide + ")" + operand(id, 0);
    const std::string right = " " + std::string(operation) + " (" + wide + ")" + operand(id, 1);
    if (!is_believed_not_to_wrap(id)) return low_bits(g_.type(id), left + right);
    const std::string hidden = opaque_zero(wide) + " + " + left;
    return low_bits(g_.type(id), (op == Op::Mul ? "(" + hidden + ")" : hidden) + right);
  }

  /// Could a compiler find out that what is subtracted from is 0, so that this is a negation? Not when it was read from memory or is an
  /// argument. And large literals: a small number of known range plus INT_MAX was extended to 64 bits as if it had stayed positive.
  bool is_believed_not_to_wrap(NodeId id) const {
    if (d_.opaque_zero.empty()) return false;
    const Type type = g_.type(id);
    const Op from = g_.op(g_.source(id, 0));
    if (g_.op(id) == Op::Sub && (ir::is_signed(type) || type_bits(type) < 32) && from != Op::Load && from != Op::Param &&
        from != Op::Special)
      return true;
    const auto is_large = [&](NodeId source) {
      const std::optional<std::int64_t> literal = ir::integer_literal(g_, source);
      return literal && (*literal >= kLargeLiteral || *literal <= -kLargeLiteral);
    };
    return ir::is_signed(type) && (is_large(g_.source(id, 0)) || is_large(g_.source(id, 1)));
  }

  bool is_literal(NodeId id, std::int64_t value) const {
    const std::optional<std::int64_t> literal = ir::integer_literal(g_, id);
    return literal && *literal == value;
  }

  /// -x, wrapping. One GPU compiler believes that the negation of a signed number never wraps, also where it is written with unsigned ones:
  /// |x| is then never negative and -x never the most negative number. So the zero that x is taken from is one that it cannot see through.
  std::string negated(Type type, NodeId x) {
    const std::string wide = wrapping_type(type);
    return low_bits(type, opaque_zero(wide) + " - (" + wide + ")" + name(x));
  }

  std::string opaque_zero(const std::string& type) {
    if (d_.opaque_zero.empty()) return "0u";
    uses_opaque_zero_ = true;
    return "(" + type + ")" + std::string(kOpaqueZero);
  }

  std::string bitwise(NodeId id, std::string_view operation) {
    return "(" + std::string(value_type(g_.type(id))) + ")(" + operand(id, 0) + " " + std::string(operation) + " " + operand(id, 1) + ")";
  }

  std::string call(std::string_view function, NodeId id) {
    if (function.empty()) throw Unprintable{std::string(op_info(g_.op(id)).name) + " in " + std::string(d_.language)};
    std::string text = std::string(function) + "(";
    for (std::size_t i = 0; i < g_.sources(id).size(); ++i) text += (i ? ", " : "") + operand(id, i);
    return text + ")";
  }

  std::string float_call(std::string_view function, NodeId id) {
    require_float(g_.type(id));
    return call(function, id);
  }

  /// Rounding to a whole number. A NaN goes around it: there is a library that goes through an integer, which a compiler may fold to
  /// anything.
  std::string rounded(std::string_view function, NodeId id) {
    return operand(id, 0) + " != " + operand(id, 0) + " ? " + operand(id, 0) + " : " + float_call(function, id);
  }

  void require_float(Type type) {
    if (type == Type::F32) requires_.insert("fp32-denormals");
    if (type != Type::F32 && type != Type::F64)
      throw Unprintable{"arithmetic on " + std::string(type_name(type)) + " in " + std::string(d_.language)};
  }

  std::string quotient(NodeId id) {
    require_float(g_.type(id));
    if (g_.type(id) == Type::F32) requires_.insert("fp32-exact-divide");
    return g_.op(id) == Op::Reciprocal ? literal_text(g_.type(id), ir::ConstValue::of_float(1.0)) + " / " + operand(id, 0)
                                       : operand(id, 0) + " / " + operand(id, 1);
  }

  std::string root(NodeId id) {
    require_float(g_.type(id));
    if (g_.type(id) == Type::F32) requires_.insert("fp32-exact-divide");
    return call(d_.sqrt, id);
  }

  std::string cast(NodeId id) {
    const Type to = g_.type(id);
    const Type from = g_.type(g_.source(id, 0));
    const auto is_half = [](Type t) { return t == Type::F16 || t == Type::Bf16; };
    if (is_half(to) || is_half(from)) throw Unprintable{"a conversion of a 16 bit float"};
    if (to == Type::Bool) return "(" + operand(id, 0) + " != 0)";
    if (ir::is_int(from) && type_bits(to) < type_bits(from)) return low_bits(to, operand(id, 0));
    return "(" + std::string(value_type(to)) + ")" + operand(id, 0);
  }

  std::string bitcast(NodeId id) {
    const Type to = g_.type(id);
    const Type from = g_.type(g_.source(id, 0));
    // Integers, and the 16 bit floats that stand as integers: C's conversion keeps the bits.
    const auto integral = [](Type t) { return t != Type::F32 && t != Type::F64; };
    if (integral(to) && integral(from)) return "(" + std::string(value_type(to)) + ")" + operand(id, 0);
    return fill(d_.bitcast, {{"{T}", value_type(to)}, {"{0}", operand(id, 0)}});
  }

  std::string negation(NodeId id) {
    if (!ir::is_float(g_.type(id))) return negated(g_.type(id), g_.source(id, 0));
    require_float(g_.type(id));
    return "-" + operand(id, 0);
  }

  std::string multiply_add(NodeId id) {
    if (ir::is_float(g_.type(id))) return float_call(d_.fma, id);
    const std::string wide = wrapping_type(g_.type(id));
    return low_bits(g_.type(id),
                    "(" + wide + ")" + operand(id, 0) + " * (" + wide + ")" + operand(id, 1) + " + (" + wide + ")" + operand(id, 2));
  }

  // --- instructions ---------------------------------------------------------------------------------------------------------

  std::string_view atomic_format(Ins code) const {
    switch (code) {
      case Ins::AtomicAdd:
      case Ins::AtomicInc: return d_.atomic_add;
      case Ins::AtomicSub:
      case Ins::AtomicDec: return d_.atomic_sub;
      case Ins::AtomicExchange: return d_.atomic_exchange;
      case Ins::AtomicMin: return d_.atomic_min;
      case Ins::AtomicMax: return d_.atomic_max;
      case Ins::AtomicAnd: return d_.atomic_and;
      case Ins::AtomicOr: return d_.atomic_or;
      case Ins::AtomicXor: return d_.atomic_xor;
      case Ins::AtomicCas: return d_.atomic_cas;
      case Ins::Min:
      case Ins::Abs:
      case Ins::Floor:
      case Ins::Ceil:
      case Ins::Round:
      case Ins::Copysign:
      case Ins::Clz:
      case Ins::Ctz:
      case Ins::Popcount:
      case Ins::MulHigh:
      case Ins::Shuffle:
      case Ins::ShuffleUp:
      case Ins::ShuffleDown:
      case Ins::ShuffleXor:
      case Ins::VoteAll:
      case Ins::VoteAny:
      case Ins::Ballot:
      case Ins::ActiveMask:
      case Ins::ReduceAdd:
      case Ins::ReduceMin:
      case Ins::ReduceMax:
      case Ins::ReduceAnd:
      case Ins::ReduceOr:
      case Ins::ReduceXor:
      case Ins::WarpBarrier:
      case Ins::FenceBlock:
      case Ins::FenceDevice:
      case Ins::Trap: return {};
    }
    return {};
  }

  /// The name of a helper that does a float atomic by compare-and-swap on the bits; its text is added once.
  std::string float_atomic(Ins code, Type type, std::string_view space) {
    const bool wide = type == Type::F64;
    if (wide) requires_.insert("int64-atomics");
    const std::string f(value_type(type));
    const std::string u(value_type(wide ? Type::U64 : Type::U32));
    const std::string prefix(wide ? d_.atomic_prefix_64 : d_.atomic_prefix_32);
    const std::string where(space == d_.local_space ? "local" : "global");
    const std::string function = "sarek_" + std::string(ins_info(code).name) + "_" + std::string(type_name(type)) + "_" + where;
    const auto to_float = [&](std::string_view bits) { return fill(d_.bitcast, {{"{T}", f}, {"{0}", bits}}); };
    std::string change;
    // The number when one operand is NaN, -0 below +0: the same expression as legalisation writes for plain min and max.
    const std::string less =
        code == Ins::AtomicMin ? "v < x || (v == x && (as_bits(v) > as_bits(x)))" : "v > x || (v == x && (as_bits(v) < as_bits(x)))";
    switch (code) {
      case Ins::AtomicAdd: change = "x + v"; break;
      case Ins::AtomicSub: change = "x - v"; break;
      case Ins::AtomicExchange: change = "v"; break;
      case Ins::AtomicMin:
      case Ins::AtomicMax: change = "x != x || (" + replace_all(less, "as_bits", "as_" + u) + ") ? v : x"; break;
      case Ins::AtomicInc:
      case Ins::AtomicDec:
      case Ins::AtomicAnd:
      case Ins::AtomicOr:
      case Ins::AtomicXor:
      case Ins::AtomicCas:
      case Ins::Min:
      case Ins::Abs:
      case Ins::Floor:
      case Ins::Ceil:
      case Ins::Round:
      case Ins::Copysign:
      case Ins::Clz:
      case Ins::Ctz:
      case Ins::Popcount:
      case Ins::MulHigh:
      case Ins::Shuffle:
      case Ins::ShuffleUp:
      case Ins::ShuffleDown:
      case Ins::ShuffleXor:
      case Ins::VoteAll:
      case Ins::VoteAny:
      case Ins::Ballot:
      case Ins::ActiveMask:
      case Ins::ReduceAdd:
      case Ins::ReduceMin:
      case Ins::ReduceMax:
      case Ins::ReduceAnd:
      case Ins::ReduceOr:
      case Ins::ReduceXor:
      case Ins::WarpBarrier:
      case Ins::FenceBlock:
      case Ins::FenceDevice:
      case Ins::Trap: throw Unprintable{std::string(ins_info(code).name) + " on a float"};
    }
    std::string text = f + " " + function + "(volatile " + std::string(space) + " " + f + "* p, " + f + " v) {\n";
    text += "  volatile " + std::string(space) + " " + u + "* bits = (volatile " + std::string(space) + " " + u + "*)p;\n";
    text += "  " + u + " seen = *bits;\n  for (;;) {\n    const " + f + " x = " + to_float("seen") + ";\n";
    text += "    const " + f + " y = " + change + ";\n    const " + u + " now = " + prefix + "cmpxchg(bits, seen, as_" + u + "(y));\n";
    text += "    if (now == seen) return x;\n    seen = now;\n  }\n}\n";
    helpers_.insert(text);
    return function;
  }

  std::string atomic(NodeId id, const ir::InsArg& a) {
    const NodeId index = g_.source(id, 0);
    const auto* storage = g_.arg_as<ir::ParamArg>(g_.source(index, 0));
    const std::string_view space = storage && storage->space == AddressSpace::Local ? d_.local_space : d_.global_space;
    const std::string pointer = "&" + place(index);
    const std::string first = g_.sources(id).size() > 1 ? operand(id, 1) : literal_text(a.type, ir::ConstValue::of_int(1));
    const std::string second = g_.sources(id).size() > 2 ? operand(id, 2) : std::string();
    if (ir::is_float(a.type)) return float_atomic(a.code, a.type, space) + "(" + pointer + ", " + first + ")";
    if (type_bits(a.type) < 32) throw Unprintable{"an atomic on " + std::string(type_name(a.type))};
    if (type_bits(a.type) == 64) requires_.insert("int64-atomics");
    const std::string prefix(type_bits(a.type) == 64 ? d_.atomic_prefix_64 : d_.atomic_prefix_32);
    return prefix + fill(atomic_format(a.code), {{"{P}", pointer}, {"{0}", first}, {"{1}", second}});
  }

  void instruction(NodeId id) {
    const auto& a = *g_.arg_as<ir::InsArg>(id);
    switch (ins_info(a.code).kind) {
      case ir::InsKind::Atomic: {
        const std::string inside = check_bounds(id, g_.source(id, 0), {});
        const std::string text = atomic(id, a);
        return define(id, inside.empty() ? text : inside + " ? " + text + " : " + zero(g_.type(id)));
      }
      case ir::InsKind::Trap:
        if (options_.checked) report("if (" + operand(id, 0) + ") ", fault_site("trap", a.text, id), "0", "0");
        return;
      case ir::InsKind::Warp: throw Unprintable{std::string(ins_info(a.code).name) + " in " + std::string(d_.language)};
      case ir::InsKind::Sync:
        if (a.code == Ins::WarpBarrier) throw Unprintable{"warp_barrier in " + std::string(d_.language)};
        line(std::string(a.code == Ins::FenceBlock ? d_.fence_block : d_.fence_device));
        return;
      case ir::InsKind::Pure: break;
    }
    std::string_view function;
    if (a.code == Ins::Floor) function = d_.floor;
    if (a.code == Ins::Ceil) function = d_.ceil;
    if (a.code == Ins::Copysign) function = d_.copysign;
    if (a.code == Ins::Abs && ir::is_float(a.type)) function = d_.fabs;
    if (!function.empty()) {
      define(id, a.code == Ins::Floor || a.code == Ins::Ceil ? rounded(function, id) : float_call(function, id));
      return;
    }
    const Type operand_type = g_.type(g_.source(id, 0));
    if (a.code == Ins::Min && !ir::is_float(a.type))
      return define(id, operand(id, 1) + " < " + operand(id, 0) + " ? " + operand(id, 1) + " : " + operand(id, 0));
    std::string_view count;
    if (a.code == Ins::Clz) count = d_.clz;
    if (a.code == Ins::Ctz) count = d_.ctz;
    if (a.code == Ins::Popcount) count = d_.popcount;
    const std::string result = "(" + std::string(value_type(a.type)) + ")";
    if (!count.empty() && (operand_type == Type::U32 || operand_type == Type::U64))
      return define(id, result + fill(count, {{"{0}", operand(id, 0)}}));
    if (a.code == Ins::MulHigh && type_bits(operand_type) >= 32) return define(id, result + call(d_.mul_high, id));
    throw Unprintable{std::string(ins_info(a.code).name) + " of " + std::string(type_name(operand_type)) + " in " +
                      std::string(d_.language)};
  }

  // --- statements -----------------------------------------------------------------------------------------------------------

  void special(NodeId id) {
    const std::string& which = g_.arg_as<ir::NameArg>(id)->name;
    const std::string axis(1, static_cast<char>('0' + (which.back() - 'x')));
    if (which.substr(0, 9) == "local_id.") return define(id, fill(d_.local_id, {{"{0}", axis}}));
    if (which.substr(0, 9) == "group_id.") return define(id, fill(d_.group_id, {{"{0}", axis}}));
    throw Unprintable{"the index `" + which + "`"};
  }

  void load(NodeId id) {
    const bool gated = g_.sources(id).size() > 1;
    const std::string inside = check_bounds(id, g_.source(id, 0), gated ? operand(id, 2) : std::string());
    // C evaluates only the side that is taken.
    const std::string value = inside.empty() ? loaded(id) : "(" + inside + " ? " + loaded(id) + " : " + zero(g_.type(id)) + ")";
    define(id, gated ? operand(id, 2) + " ? " + value + " : " + operand(id, 1) : value);
  }

  void store(NodeId id) {
    const NodeId index = g_.source(id, 0);
    const bool gated = g_.sources(id).size() == 3;
    const std::string inside = check_bounds(id, index, gated ? operand(id, 2) : std::string());
    const std::string condition = gated && !inside.empty() ? operand(id, 2) + " && " + inside : gated ? operand(id, 2) : inside;
    line((condition.empty() ? std::string() : "if (" + condition + ") ") + place(index) + " = " + stored(g_.source(id, 1), index) + ";");
  }

  // --- checks ---------------------------------------------------------------------------------------------------------------

  void prepare_checks() {
    if (d_.fault_helpers.empty()) throw Unprintable{"checked mode in " + std::string(d_.language)};
    helpers_.insert(std::string(d_.fault_helpers));
    unproven_.assign(g_.size(), false);
    for (const spec::AccessProof& proof : spec::prove_in_bounds(p_)) unproven_[proof.access.index()] = !proof.proven;
    // Loops in which threads wait for each other may not be left early.
    std::vector<std::size_t> open;
    waits_.assign(p_.body.size(), false);
    for (std::size_t at = 0; at < p_.body.size(); ++at) {
      const Op op = g_.op(p_.body[at]);
      if (op == Op::Range || op == Op::If) open.push_back(at);
      if (op == Op::Barrier)
        for (const std::size_t around : open) waits_[around] = true;
      if ((op == Op::End || op == Op::Backedge || op == Op::Endif) && !open.empty()) {
        waits_[at] = waits_[open.back()];
        open.pop_back();
      }
    }
  }

  /// The number of a place that reports; copies of one statement share it.
  std::size_t fault_site(const std::string& kind, const std::string& detail, NodeId id) {
    const SourceRange range = g_.range(id);
    std::vector<CheckSite>& sites = result_.sites;
    for (std::size_t i = 0; i < sites.size(); ++i)
      if (sites[i].kind == kind && sites[i].detail == detail && sites[i].range == range) return i + 1;
    sites.push_back({kind, detail, range});
    return sites.size();
  }

  void report(const std::string& condition, std::size_t site, const std::string& value, const std::string& limit) {
    line(condition + "sarek_fault(" + std::string(kFaults) + ", &" + std::string(kFaulted) + ", " + std::to_string(site) + ", " + value +
         ", " + limit + ");");
  }

  /// Cells of the storage, as an unsigned 64-bit expression, and how many of them are one element as the user counts.
  std::string storage_length(NodeId storage, std::int64_t& cells_per_element) {
    const auto& a = *g_.arg_as<ir::ParamArg>(storage);
    const std::string wide = "(" + std::string(value_type(Type::U64)) + ")";
    cells_per_element = 1;
    if (a.size) return wide + std::to_string(*a.size);
    if (g_.op(storage) == Op::Buffer) {
      for (std::size_t s = 0; s < p_.slots.size(); ++s)
        if (p_.slots[s].kind == ir::Slot::Kind::SharedLength && p_.slots[s].of_slot == a.slot) return wide + slot_names_[s];
      throw Unprintable{"storage `" + a.name + "` without a length"};
    }
    const ir::Slot& slot = p_.slots[static_cast<std::size_t>(a.slot)];
    const std::int64_t cell = ir::type_bytes(a.type);
    if (slot.param >= 0) cells_per_element = std::max<std::int64_t>(1, p_.params[static_cast<std::size_t>(slot.param)].element.size / cell);
    return "sarek_bytes(" + std::string(kFaults) + ", " + std::to_string(a.slot) + ") / " + std::to_string(cell);
  }

  /// Prints the question whether an access stays inside of its storage, and the report where it does not. Gives the name of the answer;
  /// none for an access that is proven or not checked. `gate`: the access happens only where this holds.
  std::string check_bounds(NodeId access, NodeId index, const std::string& gate) {
    if (!options_.checked || !unproven_[access.index()]) return {};
    const NodeId storage = g_.source(index, 0);
    std::int64_t cells = 1;
    const std::string u64(value_type(Type::U64)), i64(value_type(Type::I64));
    const std::string number = std::to_string(next_value_++), length = "length" + number, at = "at" + number, inside = "inside" + number;
    line("const " + i64 + " " + at + " = (" + i64 + ")" + operand(index, 1) + ";");
    line("const " + u64 + " " + length + " = " + storage_length(storage, cells) + ";");
    line("const " + std::string(value_type(Type::Bool)) + " " + inside + " = (" + u64 + ")" + at + " < " + length + ";");
    const std::string per = cells > 1 ? " / " + std::to_string(cells) : "";
    report("if (" + (gate.empty() ? "" : gate + " && ") + "!" + inside + ") ",
           fault_site("bounds", g_.arg_as<ir::ParamArg>(storage)->name, access), at + per, "(" + i64 + ")" + length + per);
    return inside;
  }

  void open_range(NodeId id) {
    if (g_.type(id) == Type::Void) {
      line("for (;;) {");
    } else {
      const std::string type(value_type(g_.type(id)));
      names_[id.index()] = "i" + std::to_string(next_value_++);
      line("for (" + type + " " + name(id) + " = 0; " + name(id) + " < " + operand(id, 0) + "; ++" + name(id) + ") {");
    }
    ++depth_;
  }

  void close() {
    --depth_;
    line("}");
  }

  void statement(NodeId id, std::size_t at) {
    position(id);
    if (g_.op(id) == Op::Const || g_.op(id) == Op::Index) return;
    if (const std::optional<ir::ConstValue> v = ir::literal(g_, id)) {
      names_[id.index()] = literal_text(g_.type(id), *v);
      return;
    }
    switch (g_.op(id)) {
      case Op::Param: return declare_param(id);
      case Op::Buffer: return declare_buffer(id);
      case Op::Special: return special(id);
      case Op::Group:
      case Op::Noop: return;
      case Op::Load: return load(id);
      case Op::Store: return store(id);
      case Op::Cast: return define(id, cast(id));
      case Op::Bitcast: return define(id, bitcast(id));
      case Op::Sqrt: return define(id, root(id));
      case Op::Reciprocal:
      case Op::Fdiv: return define(id, quotient(id));
      case Op::Neg: return define(id, negation(id));
      case Op::Trunc: return define(id, ir::is_float(g_.type(id)) ? rounded(d_.trunc, id) : operand(id, 0));
      case Op::Add: return define(id, arithmetic(id, "+"));
      case Op::Sub: return define(id, arithmetic(id, "-"));
      case Op::Mul: return define(id, arithmetic(id, "*"));
      case Op::Shl:
        return define(id, low_bits(g_.type(id), "(" + std::string(value_type(type_bits(g_.type(id)) == 64 ? Type::U64 : Type::U32)) + ")" +
                                                    operand(id, 0) + " << " + operand(id, 1)));
      case Op::Shr: return define(id, bitwise(id, ">>"));
      case Op::Cdiv: return define(id, bitwise(id, "/"));
      case Op::Cmod: return define(id, bitwise(id, "%"));
      case Op::Max: {
        if (ir::is_float(g_.type(id))) throw Unprintable{"MAX of floats"};
        return define(id, operand(id, 0) + " > " + operand(id, 1) + " ? " + operand(id, 0) + " : " + operand(id, 1));
      }
      case Op::Cmplt: return define(id, operand(id, 0) + " < " + operand(id, 1));
      case Op::Cmpne: return define(id, operand(id, 0) + " != " + operand(id, 1));
      case Op::Cmpeq: return define(id, operand(id, 0) + " == " + operand(id, 1));
      case Op::Xor: return define(id, bitwise(id, "^"));
      case Op::Or: return define(id, bitwise(id, "|"));
      case Op::And: return define(id, bitwise(id, "&"));
      case Op::Where: return define(id, operand(id, 0) + " ? " + operand(id, 1) + " : " + operand(id, 2));
      case Op::Mulacc: return define(id, multiply_add(id));
      case Op::Barrier: return line(std::string(d_.barrier));
      case Op::Range: return open_range(id);
      case Op::If:
        line("if (" + operand(id, 0) + ") {");
        ++depth_;
        return;
      case Op::Backedge:
        line("if (!" + operand(id, 2) + (options_.checked && !waits_[at] ? " || " + std::string(kFaulted) : "") + ") break;");
        return close();
      case Op::End:
      case Op::Endif: return close();
      case Op::Ins: return instruction(id);
      case Op::Const:
      case Op::Index:
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
      case Op::Exp2:
      case Op::Log2:
      case Op::Sin:
      case Op::Threefry:
      case Op::Pow:
      case Op::Floordiv:
      case Op::Floormod:
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
      case Op::Allreduce: break;
    }
    throw Unprintable{std::string(op_info(g_.op(id)).name) + " in " + std::string(d_.language)};
  }

  const Dialect& d_;
  const Program& p_;
  const Graph& g_;
  const PrintOptions& options_;
  std::set<std::string>& helpers_;  // texts of helper functions, printed once before the kernels
  PrintedKernel result_;
  std::set<std::string> requires_;
  bool uses_opaque_zero_ = false;
  std::vector<bool> unproven_;      // by node, of accesses; checked kernels
  std::vector<bool> waits_;         // by position: the loop or branch that begins or ends here has a barrier inside
  std::vector<std::string> names_;  // by node index
  std::vector<std::string> slot_names_;
  std::vector<Type> slot_types_;
  std::string body_;
  std::size_t depth_ = 1;
  int next_value_ = 0;
  SourceRange last_position_;
};

}  // namespace

Result<PrintedModule> print_clike(const Dialect& dialect, std::span<const Program* const> programs, const PrintOptions& options) {
  PrintedModule module;
  std::set<std::string> helpers;
  std::string kernels;
  bool f64 = false;
  bool i64_atomics = false;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    try {
      KernelPrinter printer(dialect, *programs[i], options, helpers);
      // The number keeps names apart that become equal, and from every reserved word.
      module.kernels.push_back(printer.print(identifier(programs[i]->name) + "_k" + std::to_string(i), kernels));
      f64 = f64 || printer.uses_f64();
      i64_atomics = i64_atomics || printer.uses_i64_atomics();
    } catch (const Unprintable& fault) { return err("kernel `" + programs[i]->name + "` was not legalised: " + fault.what); }
  }
  module.text = std::string(f64 ? dialect.extension_f64 : "") + std::string(i64_atomics ? dialect.extension_i64_atomics : "") +
                std::string(dialect.preamble);
  for (const std::string& helper : helpers) module.text += helper;
  module.text += kernels;
  return module;
}

}  // namespace sarek::emit
