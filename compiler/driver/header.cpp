#include "compiler/driver/header.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace sarek::driver {
namespace {

std::string cpp_scalar(const std::string& type) {
  static const std::map<std::string, std::string> names = {
      {"bool", "bool"},         {"i8", "std::int8_t"},   {"u8", "std::uint8_t"},      {"i16", "std::int16_t"},
      {"u16", "std::uint16_t"}, {"i32", "std::int32_t"}, {"u32", "std::uint32_t"},    {"i64", "std::int64_t"},
      {"u64", "std::uint64_t"}, {"f16", "sarek::Half"},  {"bf16", "sarek::BFloat16"}, {"f32", "float"},
      {"f64", "double"},
  };
  const auto found = names.find(type);
  return found == names.end() ? std::string() : found->second;
}

/// Names that C++ takes for itself, or that the header's class uses; a user's name gets an underscore.
bool is_reserved(std::string_view name) {
  static const std::set<std::string_view> words = {
      "alignas",     "alignof",   "and",        "and_eq",    "asm",      "auto",           "bitand",
      "bitor",       "bool",      "break",      "case",      "catch",    "char",           "char8_t",
      "char16_t",    "char32_t",  "class",      "compl",     "concept",  "const",          "consteval",
      "constexpr",   "constinit", "const_cast", "continue",  "co_await", "co_return",      "co_yield",
      "decltype",    "default",   "delete",     "do",        "double",   "dynamic_cast",   "else",
      "enum",        "explicit",  "export",     "extern",    "false",    "float",          "for",
      "friend",      "goto",      "if",         "inline",    "int",      "long",           "mutable",
      "namespace",   "new",       "noexcept",   "not",       "not_eq",   "nullptr",        "operator",
      "or",          "or_eq",     "private",    "protected", "public",   "register",       "reinterpret_cast",
      "requires",    "return",    "short",      "signed",    "sizeof",   "static",         "static_assert",
      "static_cast", "struct",    "switch",     "template",  "this",     "thread_local",   "throw",
      "true",        "try",       "typedef",    "typeid",    "typename", "union",          "unsigned",
      "using",       "virtual",   "void",       "volatile",  "wchar_t",  "while",          "xor",
      "xor_eq",      "std",       "sarek",      "Kernels",   "grid",     "dynamic_shared", "tag",
      "cells"};
  return words.count(name) != 0;
}

std::string identifier(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (word) out += c;
    else if (!out.empty() && out.back() != '_') out += '_';
  }
  while (out.size() > 1 && out.back() == '_') out.pop_back();
  if (out.empty() || (out.front() >= '0' && out.front() <= '9')) out = "_" + out;
  return is_reserved(out) ? out + "_" : out;
}

std::string doc_lines(const std::string& doc, const std::string& indent) {
  std::string out;
  std::size_t start = 0;
  while (start < doc.size()) {
    const std::size_t end = std::min(doc.find('\n', start), doc.size());
    out += indent + "///" + (doc[start] == ' ' ? "" : " ") + doc.substr(start, end - start) + "\n";
    start = end + 1;
  }
  return out;
}

class HeaderWriter {
 public:
  HeaderWriter(const sema::ModuleInterface& interface, const std::vector<artifact::Kernel>& kernels, std::string name_space)
      : interface_(interface), kernels_(kernels), namespace_(std::move(name_space)) {}

  std::string write(const std::string& input) {
    const std::string base = input.substr(input.find_last_of('/') + 1);
    out_ = "// Made by sarekc from " + base +
           ". Do not edit.\n#pragma once\n\n#include <sarek/sarek.hpp>\n\n#include <array>\n#include <cstddef>\n#include "
           "<cstdint>\n#include <cstring>\n#include <initializer_list>\n#include <span>\n#include <string>\n\n";
    const std::string symbol = "sarek_package_" + identifier_of_namespace();
    out_ +=
        "extern \"C\" {\n// The package as bytes of the program, where the build embeds it (add_sarek_kernels(... EMBED)).\nextern const "
        "unsigned char " +
        symbol + "[];\nextern const unsigned char " + symbol + "_end[];\n}\n\n";
    out_ += "namespace " + namespace_ + " {\n\n";
    for (const sema::RecordInfo& r : interface_.records) record_types_[r.name] = identifier(r.name);
    for (const sema::RecordInfo& r : interface_.records) r.is_variant ? variant(r) : record(r);
    out_ += "/// The kernels of " + base +
            ", loaded on one device. Calls return when the kernel is done; they throw sarek::Failure.\nclass Kernels {\n public:\n";
    out_ +=
        "  /// From the bytes embedded in this program.\n  explicit Kernels(const sarek::Device& device)\n      : module_(device, "
        "std::span<const unsigned char>(" +
        symbol + ", static_cast<std::size_t>(" + symbol + "_end - " + symbol + "))) {}\n";
    out_ += "  /// From a package file.\n  Kernels(const sarek::Device& device, const std::string& path) : module_(device, path) {}\n\n";
    for (const artifact::Kernel& k : kernels_) kernel(k);
    out_ += "  const sarek::Module& module() const { return module_; }\n\n private:\n  sarek::Module module_;\n};\n\n}  // namespace " +
            namespace_ + "\n";
    return out_;
  }

 private:
  std::string identifier_of_namespace() const {
    std::string symbol = namespace_;
    for (char& c : symbol)
      if (c == ':') c = '_';
    return symbol;
  }

  /// The C++ type of a field without its array extents.
  std::string field_base(const sema::FieldInfo& f) const {
    if (!f.record.empty()) {
      const auto found = record_types_.find(f.record);
      return found == record_types_.end() ? identifier(f.record) : found->second;
    }
    return cpp_scalar(std::string(type_name(f.scalar)));
  }

  std::string field_type(const sema::FieldInfo& f) const {
    std::string type = field_base(f);
    for (auto extent = f.extents.rbegin(); extent != f.extents.rend(); ++extent)
      type = "std::array<" + type + ", " + std::to_string(*extent) + ">";
    return type;
  }

  void record(const sema::RecordInfo& r) {
    const std::string name = record_types_[r.name];
    out_ += doc_lines(r.doc, "") + "struct " + name + " {\n";
    for (const sema::FieldInfo& f : r.fields) out_ += "  " + field_type(f) + " " + identifier(f.name) + ";\n";
    out_ += "};\n";
    layout_check(name, r.layout);
    for (const sema::FieldInfo& f : r.fields)
      out_ += "static_assert(offsetof(" + name + ", " + identifier(f.name) + ") == " + std::to_string(f.offset) + ");\n";
    out_ += "\n";
  }

  void layout_check(const std::string& name, const ir::ElementLayout& layout) {
    out_ += "static_assert(sizeof(" + name + ") == " + std::to_string(layout.size) + " && alignof(" + name +
            ") <= " + std::to_string(layout.align) + ", \"the layout that the kernels read\");\n";
  }

  /// A variant is its bytes with one function a constructor: the cells of a payload lie where the kernel's layout puts them.
  void variant(const sema::RecordInfo& r) {
    const std::string name = record_types_[r.name];
    out_ += doc_lines(r.doc, "") + "struct alignas(" + std::to_string(r.layout.align) + ") " + name + " {\n  std::array<unsigned char, " +
            std::to_string(r.layout.size) + "> bytes{};\n\n";
    out_ += "  /// The index of the constructor.\n  std::int32_t tag() const { return get<std::int32_t>(0); }\n";
    for (std::size_t tag = 0; tag < r.constructors.size(); ++tag) constructor(name, r.constructors[tag], tag);
    out_ +=
        "\n  /// A cell of the payload at a byte offset.\n  template <class T>\n  T get(std::size_t offset) const {\n    T value;\n    "
        "std::memcpy(&value, bytes.data() + offset, sizeof value);\n    return value;\n  }\n";
    out_ +=
        "  template <class T>\n  void set(std::size_t offset, const T& value) {\n    std::memcpy(bytes.data() + offset, &value, sizeof "
        "value);\n  }\n};\n";
    layout_check(name, r.layout);
    out_ += "\n";
  }

  void constructor(const std::string& type, const sema::ConstructorInfo& c, std::size_t tag) {
    std::string params;
    std::string body = "    " + type + " v;\n    v.set(0, std::int32_t{" + std::to_string(tag) + "});\n";
    for (std::size_t i = 0; i < c.payload.size(); ++i) {
      const std::string name = "p" + std::to_string(i);
      params += (i ? ", " : "") + field_type(c.payload[i]) + " " + name;
      body += "    v.set(" + std::to_string(c.payload[i].offset) + ", " + name + ");\n";
    }
    out_ += "  static " + type + " " + identifier(c.name) + "(" + params + ") {\n" + body + "    return v;\n  }\n";
    out_ += "  bool is_" + c.name + "() const { return tag() == " + std::to_string(tag) + "; }\n";
  }

  std::string param_type(const artifact::Param& p) const {
    const std::string scalar = p.fields.size() == 1 && p.fields[0].path.empty() ? cpp_scalar(p.type) : std::string();
    if (!scalar.empty()) return scalar;
    const auto found = record_types_.find(p.type);
    if (found != record_types_.end()) return found->second;
    // A tuple or a fixed array: its bytes.
    return "std::array<unsigned char, " + std::to_string(p.size) + ">";
  }

  const sema::KernelInfo* info(const std::string& kernel) const {
    for (const sema::KernelInfo& k : interface_.kernels)
      if (k.name == kernel) return &k;
    return nullptr;
  }

  void kernel(const artifact::Kernel& k) {
    const std::string name = identifier(k.name);
    const std::string block = std::to_string(k.block[0]) + ", " + std::to_string(k.block[1]) + ", " + std::to_string(k.block[2]);
    if (const sema::KernelInfo* i = info(k.name)) out_ += doc_lines(i->doc, "  ");
    out_ += "  /// Blocks of " + std::to_string(k.block[0]) + " x " + std::to_string(k.block[1]) + " x " + std::to_string(k.block[2]) +
            " threads.\n";
    std::string params = "sarek::Grid grid";
    std::string arguments;
    for (const artifact::Param& p : k.params) {
      const std::string type = param_type(p);
      const std::string param = identifier(p.name);
      params += ", " +
                (p.is_buffer ? std::string(p.access == "in" ? "const " : "") + "sarek::Vector<" + type + ">& "
                 : type.substr(0, 5) == "std::" || cpp_is_small(p) ? type + " "
                                                                   : "const " + type + "& ") +
                param;
      arguments += (arguments.empty() ? "" : ", ") + param;
    }
    std::string lengths;
    if (!k.dynamic_shared.empty()) {
      params += ", std::initializer_list<std::int64_t> dynamic_shared";
      lengths = ", dynamic_shared";
      out_ += "  /// `dynamic_shared`: the elements of";
      for (std::size_t i = 0; i < k.dynamic_shared.size(); ++i) out_ += (i ? ", " : " ") + k.dynamic_shared[i].name;
      out_ += ".\n";
    }
    out_ += "  void " + name + "(" + params + ") const { module_.kernel(\"" + k.name + "\").launch(grid, {" + arguments + "}" + lengths +
            "); }\n";
    out_ += "  static constexpr std::array<std::int32_t, 3> " + name + "_block{" + block + "};\n\n";
  }

  static bool cpp_is_small(const artifact::Param& p) { return p.fields.size() == 1 && p.fields[0].path.empty(); }

  const sema::ModuleInterface& interface_;
  const std::vector<artifact::Kernel>& kernels_;
  std::string namespace_;
  std::map<std::string, std::string> record_types_;
  std::string out_;
};

}  // namespace

std::string cpp_namespace(const std::string& input) {
  const std::string base = input.substr(input.find_last_of('/') + 1);
  return identifier(base.substr(0, base.find('.')));
}

std::string generate_header(const sema::ModuleInterface& interface, const std::vector<artifact::Kernel>& kernels,
                            const std::string& name_space, const std::string& input) {
  return HeaderWriter(interface, kernels, name_space).write(input);
}

}  // namespace sarek::driver
