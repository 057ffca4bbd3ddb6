#include <algorithm>

#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace sarek::passes {

using namespace ir;

namespace {

/// A set of register variables, by memory class.
class VariableSet {
 public:
  explicit VariableSet(int count) : words_(static_cast<std::size_t>(count + 63) / 64) {}
  bool has(int i) const { return words_[static_cast<std::size_t>(i) / 64] >> (i % 64) & 1; }
  void add(int i) { words_[static_cast<std::size_t>(i) / 64] |= std::uint64_t{1} << (i % 64); }
  void remove(int i) { words_[static_cast<std::size_t>(i) / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  void add(const VariableSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }

 private:
  std::vector<std::uint64_t> words_;
};

class Liveness {
 public:
  Liveness(const Program& program, const Structure& structure, const MemoryClasses& classes, bool keep_loads)
      : program_(program),
        graph_(program.graph),
        structure_(structure),
        classes_(classes),
        keep_loads_(keep_loads),
        position_(graph_.size(), -1),
        live_(program.body.size()),
        needless_(program.body.size()) {
    for (std::size_t at = 0; at < program.body.size(); ++at) position_[program.body[at].index()] = static_cast<int>(at);
  }

  /// By position: does the node stay?
  const std::vector<bool>& run() {
    overwritten_stores();
    stores_of_.resize(static_cast<std::size_t>(classes_.count()));
    class_live_.resize(static_cast<std::size_t>(classes_.count()));
    for (std::size_t at = 0; at < program_.body.size(); ++at) {
      const NodeId id = program_.body[at];
      const Op op = graph_.op(id);
      if (op == Op::Store && is_private(id)) {
        if (!needless_[at]) stores_of_[static_cast<std::size_t>(memory(id))].push_back(static_cast<int>(at));
        continue;
      }
      if (op == Op::Load && !keep_loads_) continue;
      // Unbounded loops stay: whether they end is not decided here.
      const bool unbounded = op == Op::Range && graph_.type(graph_.source(id, 0)) == Type::Void;
      const bool structural = op == Op::Range || op == Op::If || op == Op::End || op == Op::Endif || op == Op::Backedge;
      if (is_pure(graph_, id) || (structural && !unbounded)) continue;
      mark(static_cast<int>(at));
    }
    while (!work_.empty()) {
      const int at = work_.back();
      work_.pop_back();
      follow(at);
    }
    return live_;
  }

 private:
  int memory(NodeId access) const { return classes_.of(*accessed_buffer(graph_, access)); }
  bool is_private(NodeId access) const {
    const int c = memory(access);
    return c >= 0 && !classes_.is_shared(c);
  }

  void mark(int at) {
    if (at < 0 || live_[static_cast<std::size_t>(at)]) return;
    live_[static_cast<std::size_t>(at)] = true;
    work_.push_back(at);
  }

  void follow(int at) {
    const NodeId id = program_.body[static_cast<std::size_t>(at)];
    for (const NodeId s : graph_.sources(id)) mark(position_[s.index()]);
    mark(structure_.parent[static_cast<std::size_t>(at)]);
    mark(structure_.partner[static_cast<std::size_t>(at)]);
    if (graph_.op(id) != Op::Load || !is_private(id)) return;
    const auto c = static_cast<std::size_t>(memory(id));
    if (class_live_[c]) return;
    class_live_[c] = true;
    for (const int store : stores_of_[c]) mark(store);
  }

  /// Finds stores to one-cell variables that are overwritten, or that the program ends on, before any load. Walks backwards with the set of
  /// variables that are read later.
  void overwritten_stores() {
    VariableSet read(classes_.count());
    struct Scope {
      VariableSet after;
    };
    std::vector<Scope> scopes;
    const std::vector<VariableSet> read_in = variables_read();
    for (std::size_t at = program_.body.size(); at-- > 0;) {
      const NodeId id = program_.body[at];
      const Op op = graph_.op(id);
      const int partner = structure_.partner[at];
      if (partner >= 0 && partner < static_cast<int>(at)) {  // a closer, met first
        scopes.push_back({read});
        if (op != Op::Endif) read.add(read_in[static_cast<std::size_t>(loop_number_[static_cast<std::size_t>(partner)])]);
      } else if (partner >= 0) {
        // The stretch may be skipped (the branch is not taken, the loop runs no turn).
        read.add(scopes.back().after);
        scopes.pop_back();
      } else if (op == Op::Load) {
        if (is_private(id)) read.add(memory(id));
      } else if (op == Op::Store && is_private(id)) {
        const int c = memory(id);
        const auto* p = graph_.arg_as<ParamArg>(*accessed_buffer(graph_, id));
        if (!read.has(c)) needless_[at] = true;
        else if (p->size == 1 && graph_.sources(id).size() == 2) read.remove(c);
      }
    }
  }

  /// For every loop, numbered in order: the variables that it loads anywhere.
  std::vector<VariableSet> variables_read() {
    std::vector<VariableSet> sets;
    loop_number_.assign(program_.body.size(), -1);
    for (std::size_t at = 0; at < program_.body.size(); ++at) {
      const NodeId id = program_.body[at];
      if (graph_.op(id) == Op::Range) {
        loop_number_[at] = static_cast<int>(sets.size());
        sets.emplace_back(classes_.count());
      }
      if (graph_.op(id) != Op::Load || !is_private(id)) continue;
      for (int opener = structure_.parent[at]; opener >= 0; opener = structure_.parent[static_cast<std::size_t>(opener)])
        if (loop_number_[static_cast<std::size_t>(opener)] >= 0)
          sets[static_cast<std::size_t>(loop_number_[static_cast<std::size_t>(opener)])].add(memory(id));
    }
    return sets;
  }

  const Program& program_;
  const Graph& graph_;
  const Structure& structure_;
  const MemoryClasses& classes_;
  bool keep_loads_;
  std::vector<int> position_;
  std::vector<bool> live_;
  std::vector<bool> needless_;
  std::vector<int> loop_number_;
  std::vector<std::vector<int>> stores_of_;
  std::vector<bool> class_live_;
  std::vector<int> work_;
};

}  // namespace

Program remove_dead(Program program, DeadCodeOptions options) {
  const std::optional<Structure> structure = structure_of(program);
  if (!structure) return program;
  const MemoryClasses classes(program);
  const std::vector<bool> live = Liveness(program, *structure, classes, options.keep_loads).run();
  // Nothing is rewritten, only left out: the graph stays.
  std::vector<NodeId> body;
  body.reserve(program.body.size());
  for (std::size_t at = 0; at < live.size(); ++at)
    if (live[at]) body.push_back(program.body[at]);
  program.body = std::move(body);
  return program;
}

}  // namespace sarek::passes
