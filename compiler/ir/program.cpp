#include "compiler/ir/program.h"

namespace sarek::ir {

std::int64_t static_shared_bytes(const Program& program) {
  std::int64_t bytes = 0;
  for (const NodeId id : program.body) {
    if (program.graph.op(id) != Op::Buffer) continue;
    const auto* p = program.graph.arg_as<ParamArg>(id);
    if (!p || p->space != AddressSpace::Local || !p->size) continue;
    const int element = type_bytes(p->type);
    bytes = (bytes + element - 1) / element * element + element * *p->size;
  }
  return bytes;
}

std::optional<Structure> structure_of(const Program& program) {
  const auto count = program.body.size();
  Structure s{std::vector<int>(count, -1), std::vector<int>(count, -1)};
  std::vector<int> open;
  const Graph& g = program.graph;
  for (std::size_t at = 0; at < count; ++at) {
    const NodeId id = program.body[at];
    const auto position = static_cast<int>(at);
    const auto close = [&](NodeId opener) {
      if (open.empty() || program.body[static_cast<std::size_t>(open.back())] != opener) return false;
      s.partner[at] = open.back();
      s.partner[static_cast<std::size_t>(open.back())] = position;
      open.pop_back();
      return true;
    };
    const Op op = g.op(id);
    // One END closes one loop here; the specification allows several, the program form does not.
    if (op == Op::End && (g.sources(id).size() != 2 || !close(g.source(id, 1)))) return std::nullopt;
    if (op == Op::Backedge && !close(g.source(id, 1))) return std::nullopt;
    if (op == Op::Endif && !close(g.source(id, 0))) return std::nullopt;
    s.parent[at] = open.empty() ? -1 : open.back();
    if (g.op(id) == Op::Range || g.op(id) == Op::If) open.push_back(position);
  }
  if (!open.empty()) return std::nullopt;
  return s;
}

}  // namespace sarek::ir
