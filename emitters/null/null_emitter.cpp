// The four parts that every emitter has: names of values, expressions, statements, and the walk over the body. Literals, parameters,
// indices and places print where they are used; everything else is a variable named by its position.
#include "emitters/null/null_emitter.h"

#include <unordered_map>

#include "compiler/ir/printer.h"

namespace sarek::emit {

using namespace ir;  // NOLINT: an emitter of the IR

const Capabilities& null_capabilities() {
  static const Capabilities all = [] {
    Capabilities c;
    c.framework = "Null";
    c.generator = "null";
    c.f16_arithmetic = c.bf16_arithmetic = c.f16_conversion = c.bf16_conversion = true;
    c.total_integer_division = c.masked_shifts = c.saturating_casts = c.ordered_min_max = c.canonical_nan_bits = true;
    c.float_atomics = c.double_atomics = true;
    return c;
  }();
  return all;
}

namespace {

std::string type_text(Type t) { return std::string(type_name(t)); }

class Printer {
 public:
  explicit Printer(const Program& program) : p_(program), g_(program.graph) {
    for (std::size_t i = 0; i < p_.body.size(); ++i) position_.emplace(p_.body[i], i);
  }

  Result<std::string> run() {
    out_ = "kernel " + p_.name + "(";
    for (std::size_t i = 0; i < p_.params.size(); ++i) {
      const KernelParam& k = p_.params[i];
      out_ += (i ? ", " : "") + k.name + ": " +
              (k.is_buffer ? std::string(access_name(k.access)) + " [" + k.element.type_name + "]" : k.element.type_name);
    }
    out_ += ") block(" + std::to_string(p_.block[0]) + ", " + std::to_string(p_.block[1]) + ", " + std::to_string(p_.block[2]) + ") {\n";
    for (const NodeId id : p_.body)
      if (!statement(id)) return err("a program holds no " + std::string(op_info(g_.op(id)).name) + "; it was not verified");
    return out_ + "}\n";
  }

 private:
  // --- names ----------------------------------------------------------------------------------------------------------------
  std::string name(NodeId id) const { return "v" + std::to_string(position_.at(id)); }

  /// A node as an operand.
  std::string value(NodeId id) const {
    if (const auto v = literal(g_, id)) {
      if (v->kind == ConstValue::Kind::Float) return print_float(v->number);
      return g_.type(id) == Type::Bool ? (v->integer ? "true" : "false") : std::to_string(static_cast<std::int64_t>(v->integer));
    }
    if (const auto* p = g_.arg_as<ParamArg>(id)) return p->name.empty() ? name(id) : p->name;
    if (g_.op(id) == Op::Special) return g_.arg_as<NameArg>(id)->name;
    if (g_.op(id) == Op::Index) return value(g_.source(id, 0)) + "[" + value(g_.source(id, 1)) + "]";
    return name(id);
  }
  std::string source(NodeId id, std::size_t i) const { return value(g_.source(id, i)); }

  // --- expressions ----------------------------------------------------------------------------------------------------------
  std::string infix(NodeId id, const char* sign) const { return source(id, 0) + " " + sign + " " + source(id, 1); }
  std::string call(NodeId id, const std::string& function, std::size_t first = 0) const {
    std::string text = function + "(";
    for (std::size_t i = first; i < g_.sources(id).size(); ++i) text += (i > first ? ", " : "") + source(id, i);
    return text + ")";
  }

  // --- statements -----------------------------------------------------------------------------------------------------------
  void line(const std::string& text) { out_ += std::string(depth_ * 2, ' ') + text + "\n"; }
  void define(NodeId id, const std::string& expression) { line(type_text(g_.type(id)) + " " + name(id) + " = " + expression + ";"); }
  void open(const std::string& text) {
    line(text + " {");
    ++depth_;
  }
  void close(const std::string& text) {
    --depth_;
    line("}" + text);
  }

  /// Prints a node; false for one that programs do not hold. No default: an op added to the table fails to compile here.
  bool statement(NodeId id) {
    switch (g_.op(id)) {
      // Leaves and places print where they are used.
      case Op::Const:
      case Op::Param:
      case Op::Special:
      case Op::Group:
      case Op::Index: return true;
      case Op::Buffer: {
        const ParamArg& b = *g_.arg_as<ParamArg>(id);
        const std::string size = b.size ? std::to_string(*b.size) : "dyn";
        line((b.space == AddressSpace::Local ? "shared " : "var ") + type_text(b.type) + " " + value(id) + "[" + size + "];");
        return true;
      }
      case Op::Load:
        define(id, g_.sources(id).size() == 3 ? source(id, 2) + " ? " + source(id, 0) + " : " + source(id, 1) : source(id, 0));
        return true;
      case Op::Store:
        line((g_.sources(id).size() == 3 ? "if (" + source(id, 2) + ") " : "") + source(id, 0) + " = " + source(id, 1) + ";");
        return true;
      case Op::Range:
        if (g_.type(id) == Type::Void) {
          open("do");
        } else {
          open("for (" + type_text(g_.type(id)) + " " + name(id) + " = 0; " + name(id) + " < " + source(id, 0) + "; ++" + name(id) + ")");
        }
        return true;
      case Op::End: close(""); return true;
      case Op::Backedge: close(" while (" + source(id, 2) + ");"); return true;
      case Op::If: open("if (" + source(id, 0) + ")"); return true;
      case Op::Endif: close(""); return true;
      case Op::Barrier: line("barrier();"); return true;
      case Op::Cast:
        if (!literal(g_, id)) define(id, call(id, type_text(g_.type(id))));
        return true;
      case Op::Bitcast: define(id, call(id, "bitcast_" + type_text(g_.type(id)))); return true;
      case Op::Where: define(id, source(id, 0) + " ? " + source(id, 1) + " : " + source(id, 2)); return true;
      case Op::Add: define(id, infix(id, "+")); return true;
      case Op::Sub: define(id, infix(id, "-")); return true;
      case Op::Mul: define(id, infix(id, "*")); return true;
      case Op::Fdiv:
      case Op::Cdiv: define(id, infix(id, "/")); return true;
      case Op::Cmod: define(id, infix(id, "%")); return true;
      case Op::Shl: define(id, infix(id, "<<")); return true;
      case Op::Shr: define(id, infix(id, ">>")); return true;
      case Op::And: define(id, infix(id, "&")); return true;
      case Op::Or: define(id, infix(id, "|")); return true;
      case Op::Xor: define(id, infix(id, "^")); return true;
      case Op::Cmplt: define(id, infix(id, "<")); return true;
      case Op::Cmpeq: define(id, infix(id, "==")); return true;
      case Op::Cmpne: define(id, infix(id, "!=")); return true;
      case Op::Neg: define(id, "-" + source(id, 0)); return true;
      case Op::Max: define(id, call(id, "max")); return true;
      case Op::Mulacc: define(id, call(id, is_float(g_.type(id)) ? "fma" : "mul_add")); return true;
      case Op::Floordiv: define(id, call(id, "floor_div")); return true;
      case Op::Floormod: define(id, call(id, "floor_mod")); return true;
      case Op::Exp2: define(id, call(id, "exp2")); return true;
      case Op::Log2: define(id, call(id, "log2")); return true;
      case Op::Sin: define(id, call(id, "sin")); return true;
      case Op::Sqrt: define(id, call(id, "sqrt")); return true;
      case Op::Reciprocal: define(id, "1 / " + source(id, 0)); return true;
      case Op::Trunc: define(id, call(id, "trunc")); return true;
      case Op::Threefry: define(id, call(id, "threefry")); return true;
      case Op::Pow: define(id, call(id, "pow")); return true;
      case Op::Ins: {
        const InsArg& i = *g_.arg_as<InsArg>(id);
        const std::string text = call(id, std::string(ins_info(i.code).name));
        if (g_.type(id) != Type::Void) {
          define(id, text);
        } else {
          line(text + ";" + (i.text.empty() ? std::string() : "  // " + quote(i.text)));
        }
        return true;
      }
      case Op::Custom: line(g_.arg_as<CodeArg>(id)->code); return true;
      case Op::Customi: define(id, g_.arg_as<CodeArg>(id)->code); return true;
      // The operations of other stages.
      case Op::Alloc:
      case Op::Noop:
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
      case Op::Allreduce: return false;
    }
    return false;
  }

  const Program& p_;
  const Graph& g_;
  std::unordered_map<NodeId, std::size_t> position_;
  std::string out_;
  std::size_t depth_ = 1;
};

}  // namespace

Result<std::string> print_null(const Program& program) { return Printer(program).run(); }

}  // namespace sarek::emit
