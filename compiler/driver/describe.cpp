#include "compiler/driver/describe.h"

#include <map>

namespace sarek::driver {
namespace {

std::string slot_kind_text(ir::Slot::Kind kind) {
  switch (kind) {
    case ir::Slot::Kind::Buffer: return "buffer";
    case ir::Slot::Kind::Scalar: return "scalar";
    case ir::Slot::Kind::Length: return "length";
    case ir::Slot::Kind::NumGroups: return "num-groups";
    case ir::Slot::Kind::SharedLength: return "shared-length";
  }
  return {};
}

/// The base name of a path: packages are the same wherever the sources lie.
std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

std::string access_text(ir::Access access) {
  switch (access) {
    case ir::Access::None: return {};
    case ir::Access::In: return "in";
    case ir::Access::Out: return "out";
    case ir::Access::InOut: return "inout";
  }
  return {};
}

artifact::FaultSite describe_site(const std::string& kind, const std::string& detail, SourceRange range, const SourceManager* sources) {
  artifact::FaultSite site{kind, detail, "", 0, 0};
  if (!range || !sources) return site;
  const LineColumn at = sources->line_column(range.file, range.begin);
  site.file = base_name(sources->name(range.file));
  site.line = static_cast<int>(at.line);
  site.column = static_cast<int>(at.column);
  return site;
}

artifact::Kernel describe_kernel(const ir::Program& program, const SourceManager& sources, bool checked) {
  artifact::Kernel k;
  k.name = program.name;
  k.block = program.block;
  k.wide = program.wide;
  k.checked = checked;
  if (program.range) {
    k.file = base_name(sources.name(program.range.file));
    k.line = static_cast<int>(sources.line_column(program.range.file, program.range.begin).line);
  }
  for (const ir::KernelParam& p : program.params) {
    artifact::Param out;
    out.name = p.name;
    out.is_buffer = p.is_buffer;
    out.access = access_text(p.access);
    out.type = p.element.type_name;
    out.size = p.element.size;
    out.align = p.element.align;
    for (const ir::LayoutField& f : p.element.fields) out.fields.push_back({f.path, std::string(type_name(f.type)), f.offset});
    out.view = p.view;
    out.first_slot = p.first_slot;
    out.slot_count = p.slot_count;
    k.params.push_back(std::move(out));
  }
  // Dynamic shared arrays are numbered by their slots' order; the buffers' own numbers are of no meaning outside the program.
  std::map<int, ir::Type> dynamic_types;
  for (const ir::NodeId id : program.body) {
    const auto* a = program.graph.op(id) == ir::Op::Buffer ? program.graph.arg_as<ir::ParamArg>(id) : nullptr;
    if (a && a->space == ir::AddressSpace::Local && !a->size) dynamic_types[a->slot] = a->type;
  }
  for (const ir::Slot& s : program.slots) {
    artifact::Slot out{
        slot_kind_text(s.kind), s.kind == ir::Slot::Kind::Buffer ? "" : std::string(type_name(s.type)), s.name, s.param, s.of_slot, s.axis};
    if (s.kind == ir::Slot::Kind::SharedLength) {
      out.of_slot = static_cast<int>(k.dynamic_shared.size());
      const auto found = dynamic_types.find(s.of_slot);
      const ir::Type type = found == dynamic_types.end() ? ir::Type::U8 : found->second;
      k.dynamic_shared.push_back({s.name.substr(0, s.name.rfind(".len")), std::string(type_name(type)), type_bytes(type)});
    } else if (s.kind != ir::Slot::Kind::Length) {
      out.of_slot = -1;
    }
    if (s.kind != ir::Slot::Kind::Buffer) {
      const int size = type_bytes(s.type);
      k.push_bytes = (k.push_bytes + size - 1) / size * size + size;
    }
    k.slots.push_back(std::move(out));
  }
  return k;
}

}  // namespace sarek::driver
