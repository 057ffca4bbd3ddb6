// See case.h.
#include "tests/property/case.h"

#include <cstring>

#include "compiler/ir/evaluate.h"
#include "compiler/ir/printer.h"

namespace sarek::testgen {
namespace {

std::string hex(std::uint64_t v) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}
ir::Type element_type(const ir::KernelParam& p) { return p.element.fields.front().type; }

}  // namespace

Memory::Memory(const Case& c) : case_(c), words_(c.inputs.size()) {
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const ir::KernelParam& p = c.program.params[i];
    if (!p.is_buffer) continue;
    const auto width = static_cast<std::size_t>(p.element.size);
    // A word more than needed: a buffer without cells has an address too.
    words_[i].resize(c.inputs[i].bits.size() * width / 8 + 2);
    for (std::size_t k = 0; k < c.inputs[i].bits.size(); ++k)
      std::memcpy(reinterpret_cast<char*>(words_[i].data()) + k * width, &c.inputs[i].bits[k], width);
  }
}

interp::Launch Memory::launch() const {
  interp::Launch launch;
  launch.grid = case_.grid;
  launch.dynamic_shared = case_.dynamic_shared;
  for (std::size_t i = 0; i < case_.inputs.size(); ++i) {
    const ir::KernelParam& p = case_.program.params[i];
    const auto count = static_cast<std::int64_t>(case_.inputs[i].bits.size());
    if (p.is_buffer)
      launch.arguments.push_back(interp::Argument::buffer(const_cast<std::uint64_t*>(words_[i].data()), count, count * p.element.size));
    else launch.arguments.push_back(interp::Argument::scalar(element_type(p), case_.inputs[i].bits[0]));
  }
  return launch;
}

Outputs Memory::outputs() const {
  Outputs out(words_.size());
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const ir::KernelParam& p = case_.program.params[i];
    if (!p.is_buffer) continue;
    const auto width = static_cast<std::size_t>(p.element.size);
    for (std::size_t k = 0; k < case_.inputs[i].bits.size(); ++k) {
      std::uint64_t cell = 0;
      std::memcpy(&cell, reinterpret_cast<const char*>(words_[i].data()) + k * width, width);
      out[i].push_back(cell);
    }
  }
  return out;
}

std::optional<Difference> compare(const ir::Program& program, const Outputs& a, const Outputs& b) {
  for (std::size_t p = 0; p < a.size(); ++p) {
    if (!program.params[p].is_buffer) continue;
    const ir::Type type = element_type(program.params[p]);
    for (std::size_t k = 0; k < a[p].size(); ++k)
      if (ir::canonical_nan(type, a[p][k]) != ir::canonical_nan(type, b[p][k])) return Difference{p, k, a[p][k], b[p][k]};
  }
  return std::nullopt;
}

std::optional<std::string> disagreement(const Case& c, const Runner& a, const Runner& b) {
  const Result<Outputs> first = a(c);
  if (!first) return "the first runner fails: " + first.error().message;
  const Result<Outputs> second = b(c);
  if (!second) return "the second runner fails: " + second.error().message;
  const std::optional<Difference> d = compare(c.program, *first, *second);
  if (!d) return std::nullopt;
  return "'" + c.program.params[d->param].name + "' differs at " + std::to_string(d->index) + ": " + hex(d->a) + " and " + hex(d->b);
}

std::string describe(const Case& c) {
  std::string text = ir::print_module({&c.program});
  text += "# seed " + std::to_string(c.seed) + ", grid";
  for (const std::int64_t g : c.grid) text += " " + std::to_string(g);
  for (const std::int64_t n : c.dynamic_shared) text += ", dynamic shared " + std::to_string(n);
  text += "\n";
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    text += "# " + c.program.params[i].name + " =";
    for (const std::uint64_t v : c.inputs[i].bits) text += " " + hex(v);
    text += "\n";
  }
  return text;
}

}  // namespace sarek::testgen
