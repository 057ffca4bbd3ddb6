// Prints programs, graphs, arguments and expressions. What is printed is decided by the node alone: no simplification, no hiding.
#include "compiler/ir/printer.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <type_traits>
#include <unordered_map>

#include "compiler/ir/shape.h"

namespace sarek::ir {
namespace {

std::string decimal(Int128 value) {
  if (value == 0) return "0";
  __extension__ typedef unsigned __int128 Unsigned;
  Unsigned rest = value < 0 ? Unsigned{0} - static_cast<Unsigned>(value) : static_cast<Unsigned>(value);
  std::string digits;
  for (; rest != 0; rest /= 10) digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  return value < 0 ? "-" + digits : digits;
}

template <class T>
std::string list(const std::vector<T>& values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i) out += ' ';
    if constexpr (std::is_same_v<T, std::string>) {
      out += quote(values[i]);
    } else if constexpr (std::is_same_v<T, bool>) {
      out += values[i] ? "true" : "false";
    } else {
      out += std::to_string(values[i]);
    }
  }
  return out + "]";
}

std::string value_text(const ConstValue& v) {
  switch (v.kind) {
    case ConstValue::Kind::Int: return decimal(v.integer);
    case ConstValue::Kind::Float: return print_float(v.number);
    case ConstValue::Kind::Bool: return v.integer ? "true" : "false";
    case ConstValue::Kind::Invalid: return "invalid";
  }
  return {};
}

/// ` type=T` where the argument's type is not the node's.
std::string own_type(Type in_arg, Type of_node) { return in_arg == of_node ? std::string() : " type=" + std::string(type_name(in_arg)); }

std::string flag(const char* name, bool on) { return on ? std::string(" ") + name : std::string(); }

// One overload per kind of argument; the text between the braces.
std::string inner(const ParamArg& p, Type type) {
  std::string out = "param slot=" + std::to_string(p.slot);
  if (p.space != AddressSpace::None) out += " space=" + std::string(address_space_name(p.space));
  if (p.size) out += " size=" + std::to_string(*p.size);
  if (p.range) out += " range=[" + std::to_string(p.range->first) + " " + std::to_string(p.range->second) + "]";
  if (p.multiple_of != 1) out += " multiple_of=" + std::to_string(p.multiple_of);
  if (!p.devices.empty()) out += " devices=" + list(p.devices);
  out += flag("volatile", p.is_volatile) + flag("bind_on_realize", p.bind_on_realize);
  if (p.bound) out += " bound=" + std::to_string(*p.bound);
  if (p.phase != 0) out += " phase=" + std::to_string(p.phase);
  if (p.align != 16) out += " align=" + std::to_string(p.align);
  out += own_type(p.type, type);
  if (!p.name.empty()) out += " name=" + quote(p.name);
  return out;
}
std::string inner(const RangeArg& r, Type) { return "range axes=" + list(r.axis_id) + " axis=" + std::string(axis_type_name(r.axis_type)); }
std::string inner(const NameArg& n, Type) { return "name " + quote(n.name); }
std::string inner(const TypeArg& t, Type) { return "type " + std::string(type_name(t.type)); }
std::string inner(const InsArg& i, Type type) {
  return "ins " + std::string(ins_info(i.code).name) + own_type(i.type, type) + (i.text.empty() ? std::string() : " text=" + quote(i.text));
}
std::string inner(const CodeArg& c, Type type) { return "code " + quote(c.code) + own_type(c.type, type); }
std::string inner(const CallArg& c, Type type) {
  return "call name=" + quote(c.name) + flag("precompile", c.precompile) + (c.aux.empty() ? std::string() : " aux=" + quote(c.aux)) +
         own_type(c.type, type);
}
std::string inner(const WmmaArg& w, Type) {
  return "wmma dims=" + list(std::vector<int>(w.dims.begin(), w.dims.end())) + " in=" + std::string(type_name(w.type_in)) +
         " threads=" + std::to_string(w.threads) + " upcast=" + list(w.upcast_axes);
}
std::string inner(const ReduceArg& r, Type) {
  return "reduce op=" + std::string(op_info(r.op).name) + " axes=" + std::to_string(r.axes) +
         (r.devices.empty() ? std::string() : " devices=" + list(r.devices));
}
std::string inner(const StageArg& s, Type) {
  return "stage space=" + std::string(address_space_name(s.space)) + (s.devices.empty() ? std::string() : " devices=" + list(s.devices)) +
         flag("keep", s.keep);
}
std::string inner(const DeviceArg& d, Type) { return "device " + list(d.devices); }
std::string inner(const AxesArg& a, Type) { return "axes " + list(a.axes); }
std::string inner(const FlipArg& f, Type) { return "flip " + list(f.flips); }
std::string inner(const BytesArg& b, Type) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "bytes \"";
  for (const std::uint8_t v : b.bytes) {
    out += kHex[v >> 4];
    out += kHex[v & 15];
  }
  return out + "\"";
}

/// A cast's argument is its type; other nodes imply none.
bool is_implied(const Graph& graph, NodeId id) {
  const Op op = graph.op(id);
  const Arg& arg = graph.arg(id);
  if (op != Op::Cast && op != Op::Bitcast) return std::holds_alternative<std::monostate>(arg);
  const auto* t = std::get_if<TypeArg>(&arg);
  return t && t->type == graph.type(id);
}

/// Names of nodes in one listing: their positions.
using Names = std::unordered_map<NodeId, std::size_t>;

std::string head(const Graph& graph, NodeId id) {
  return std::string(op_info(graph.op(id)).name) + " " + std::string(type_name(graph.type(id)));
}

/// The source files that a program's nodes come from, each with the greatest line and column in use: what the reader needs to give the
/// places back.
class Places {
 public:
  Places(const Program& program, const SourceManager* sources) : sources_(sources) {
    if (!sources) return;
    add(program.range);
    for (const NodeId id : program.body) add(program.graph.range(id));
  }
  /// " @LINE:COLUMN" in the first file, " @FILE:LINE:COLUMN" in others; empty without a place.
  std::string text(SourceRange range) const {
    if (!sources_ || !known(range)) return {};
    const LineColumn at = sources_->line_column(range.file, range.begin);
    const std::size_t file = index_.at(range.file);
    const std::uint32_t column = std::min(at.column, files_[file].columns);
    return " @" + (file ? std::to_string(file) + ":" : std::string()) + std::to_string(at.line) + ":" + std::to_string(column);
  }
  std::string header() const {
    std::string out;
    for (const File& f : files_)
      out +=
          "  source " + quote(sources_->name(f.id)) + " lines=" + std::to_string(f.lines) + " columns=" + std::to_string(f.columns) + "\n";
    return out;
  }

 private:
  struct File {
    FileId id;
    std::uint32_t lines = 1, columns = 1;
  };
  bool known(SourceRange range) const { return range && range.file.index() < sources_->file_count(); }
  void add(SourceRange range) {
    if (!known(range)) return;
    const auto [it, is_new] = index_.emplace(range.file, files_.size());
    if (is_new) files_.push_back({range.file});
    File& f = files_[it->second];
    const LineColumn at = sources_->line_column(range.file, range.begin);
    f.lines = std::max(f.lines, at.line);
    // Very long lines are cut, so that what the reader sets aside for a file stays small.
    f.columns = std::min(std::max(f.columns, at.column), std::max(1u, kMaxSourceCells / f.lines));
  }

  const SourceManager* sources_;
  std::unordered_map<FileId, std::size_t> index_;
  std::vector<File> files_;
};

std::string line(const Graph& graph, NodeId id, const Names& names, const std::string& place) {
  std::string out = "%" + std::to_string(names.at(id)) + " = " + head(graph, id);
  for (const NodeId s : graph.sources(id)) {
    const auto it = names.find(s);
    out += it == names.end() ? std::string(" %?") : " %" + std::to_string(it->second);
  }
  out += print_arg(graph, id);
  if (graph[id].tag != 0) out += " !" + std::to_string(graph[id].tag);
  return out + place + "\n";
}

std::string param_line(const KernelParam& p) {
  std::string out = "  param name=" + quote(p.name) + (p.is_buffer ? " buffer" : " scalar") +
                    " access=" + std::string(access_name(p.access)) + " first_slot=" + std::to_string(p.first_slot) +
                    " slots=" + std::to_string(p.slot_count);
  if (!p.view.empty()) out += " view=" + list(p.view);
  out += " element=" + quote(p.element.type_name) + " size=" + std::to_string(p.element.size) +
         " align=" + std::to_string(p.element.align) + " fields=[";
  for (std::size_t i = 0; i < p.element.fields.size(); ++i) {
    const LayoutField& f = p.element.fields[i];
    out += (i ? " " : "") + quote(f.path) + " " + std::string(type_name(f.type)) + " " + std::to_string(f.offset);
  }
  return out + "]\n";
}

std::string slot_line(const Slot& s) {
  std::string out =
      "  slot kind=" + std::string(slot_kind_name(s.kind)) + " type=" + std::string(type_name(s.type)) + " name=" + quote(s.name);
  if (s.param != -1) out += " param=" + std::to_string(s.param);
  if (s.of_slot != -1) out += " of_slot=" + std::to_string(s.of_slot);
  if (s.axis != 0) out += " axis=" + std::to_string(s.axis);
  return out + "\n";
}

std::string_view infix(Op op) {
  if (op == Op::Add) return "+";
  if (op == Op::Sub) return "-";
  if (op == Op::Mul) return "*";
  if (op == Op::Cdiv || op == Op::Fdiv) return "/";
  if (op == Op::Cmod) return "%";
  if (op == Op::Floordiv) return "//";
  if (op == Op::Cmplt) return "<";
  if (op == Op::Cmpeq) return "==";
  if (op == Op::Cmpne) return "!=";
  if (op == Op::And) return "&";
  if (op == Op::Or) return "|";
  if (op == Op::Xor) return "^";
  if (op == Op::Shl) return "<<";
  if (op == Op::Shr) return ">>";
  return {};
}

}  // namespace

std::string_view address_space_name(AddressSpace space) {
  switch (space) {
    case AddressSpace::None: return "none";
    case AddressSpace::Global: return "global";
    case AddressSpace::Local: return "local";
    case AddressSpace::Reg: return "reg";
    case AddressSpace::Alu: return "alu";
  }
  return {};
}

std::string_view access_name(Access access) {
  switch (access) {
    case Access::None: return "none";
    case Access::In: return "in";
    case Access::Out: return "out";
    case Access::InOut: return "inout";
  }
  return {};
}

std::string_view slot_kind_name(Slot::Kind kind) {
  switch (kind) {
    case Slot::Kind::Buffer: return "buffer";
    case Slot::Kind::Scalar: return "scalar";
    case Slot::Kind::Length: return "length";
    case Slot::Kind::NumGroups: return "num_groups";
    case Slot::Kind::SharedLength: return "shared_length";
  }
  return {};
}

std::string quote(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char ch : text) {
    const auto c = static_cast<unsigned char>(ch);
    if (ch == '"' || ch == '\\') {
      out += '\\';
      out += ch;
    } else if (ch == '\n') {
      out += "\\n";
    } else if (ch == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c >= 0x7f) {
      out += "\\x";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += ch;
    }
  }
  return out + "\"";
}

std::string print_float(double value) {
  char text[64];
  if (std::isnan(value)) {
    std::snprintf(text, sizeof text, "nan:0x%016" PRIx64, std::bit_cast<std::uint64_t>(value));
    return text;
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

std::string print_arg(const Graph& graph, NodeId id) {
  if (is_implied(graph, id)) return {};
  return std::visit(
      [&](const auto& a) -> std::string {
        using T = std::decay_t<decltype(a)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return " {none}";
        } else if constexpr (std::is_same_v<T, ConstValue>) {
          return " " + value_text(a);
        } else {
          return " {" + inner(a, graph.type(id)) + "}";
        }
      },
      graph.arg(id));
}

std::string print_node(const Graph& graph, NodeId id) {
  std::string out = head(graph, id);
  for (const NodeId s : graph.sources(id)) out += " %" + std::to_string(s.value);
  return out + print_arg(graph, id);
}

std::string print(const Program& program, const PrintOptions& options) {
  std::string out = "program " + quote(program.name) + " block=[" + std::to_string(program.block[0]) + " " +
                    std::to_string(program.block[1]) + " " + std::to_string(program.block[2]) + "]";
  if (program.wide) out += " wide";
  if (!program.module_file.empty()) out += " module=" + quote(program.module_file);
  out += " {\n";
  const Places places(program, options.sources);
  out += places.header();
  if (const std::string at = places.text(program.range); !at.empty()) out += "  declared" + at + "\n";
  for (const KernelParam& p : program.params) out += param_line(p);
  for (const Slot& s : program.slots) out += slot_line(s);
  Names names;
  names.reserve(program.body.size());
  for (std::size_t i = 0; i < program.body.size(); ++i) names.emplace(program.body[i], i);
  int depth = 1;
  for (const NodeId id : program.body) {
    // Indentation shows the structure; a broken one never indents below the body.
    const Op op = program.graph.op(id);
    if ((op == Op::End || op == Op::Backedge || op == Op::Endif) && depth > 1) --depth;
    out.append(static_cast<std::size_t>(depth < 32 ? depth : 32) * 2, ' ');
    out += line(program.graph, id, names, places.text(program.graph.range(id)));
    if (op == Op::Range || op == Op::If) ++depth;
  }
  return out + "}\n";
}

std::string print_module(const std::vector<const Program*>& programs, const PrintOptions& options) {
  std::string out(kTextHeader);
  out += '\n';
  for (const Program* p : programs) out += "\n" + print(*p, options);
  return out;
}

std::string print(const Graph& graph, NodeId root, const PrintOptions& options) {
  std::string out;
  Names names;
  for (const NodeId id : toposort(graph, root, Calls::Enter)) {
    names.emplace(id, names.size());
    std::string place;
    if (const SourceRange r = graph.range(id); options.sources && r) {
      const LineColumn at = options.sources->line_column(r.file, r.begin);
      place = "  # " + options.sources->name(r.file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
    }
    out += line(graph, id, names, place);
  }
  return out;
}

std::string render(const Graph& graph, NodeId root, std::size_t limit) {
  // Depth first with a list of what is still to be written: text, or a node.
  struct Piece {
    std::string text;
    NodeId node;
  };
  std::string out;
  std::vector<Piece> pending{{{}, root}};
  const auto push_call = [&](const std::string& name, NodeId id) {
    pending.push_back({")", {}});
    const std::span<const NodeId> sources = graph.sources(id);
    for (std::size_t i = sources.size(); i-- > 0;) {
      pending.push_back({{}, sources[i]});
      if (i) pending.push_back({", ", {}});
    }
    pending.push_back({name + "(", {}});
  };
  while (!pending.empty()) {
    const Piece piece = std::move(pending.back());
    pending.pop_back();
    if (!piece.node) {
      out += piece.text;
      continue;
    }
    if (out.size() > limit) return out.substr(0, limit) + "...";
    const NodeId id = piece.node;
    const Op op = graph.op(id);
    const std::span<const NodeId> sources = graph.sources(id);
    if (const auto v = literal(graph, id)) {
      out += v->kind == ConstValue::Kind::Float ? print_float(v->number) : value_text(*v);
    } else if (const auto* p = graph.arg_as<ParamArg>(id)) {
      out += p->name.empty() ? "%" + std::to_string(id.value) : p->name;
    } else if (const auto* n = graph.arg_as<NameArg>(id); n && op == Op::Special) {
      out += n->name;
    } else if (op == Op::Range) {
      out += "r" + std::to_string(id.value);
    } else if (op == Op::Load && !sources.empty()) {
      pending.push_back({{}, sources[0]});
    } else if (op == Op::Index && sources.size() >= 2) {
      pending.push_back({"]", {}});
      for (std::size_t i = sources.size(); i-- > 1;) {
        pending.push_back({{}, sources[i]});
        pending.push_back({i == 1 ? "[" : ", ", {}});
      }
      pending.push_back({{}, sources[0]});
    } else if (!infix(op).empty() && sources.size() == 2) {
      pending.push_back({")", {}});
      pending.push_back({{}, sources[1]});
      pending.push_back({" " + std::string(infix(op)) + " ", {}});
      pending.push_back({{}, sources[0]});
      pending.push_back({"(", {}});
    } else if ((op == Op::Cast || op == Op::Bitcast) && sources.size() == 1) {
      push_call(std::string(type_name(graph.type(id))), id);
    } else if (const auto* ins = graph.arg_as<InsArg>(id)) {
      push_call(std::string(ins_info(ins->code).name), id);
    } else if (is_invalid(graph, id) && op == Op::Const) {
      out += "Invalid";
    } else {
      push_call(std::string(op_info(op).name), id);
    }
  }
  return out;
}

}  // namespace sarek::ir
