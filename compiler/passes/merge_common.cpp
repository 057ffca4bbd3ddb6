#include <algorithm>

#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace sarek::passes {

using namespace ir;

namespace {

/// Equal nodes meet in the graph's own table: made without a tag they have one id, the *key*. `known_` says which node of the new body
/// holds a key's value in the scopes that are open, and, for loads, in which state of the memory.
class Merger {
 public:
  explicit Merger(Program program)
      : structure_(structure_of(program).value_or(Structure{})),
        classes_(program),
        changed_(changed_classes(program, structure_, classes_)),
        epoch_(static_cast<std::size_t>(classes_.count())),
        rw_(std::move(program)),
        graph_(rw_.graph()) {}

  Program run() {
    scopes_.emplace_back();
    const std::vector<NodeId>& body = rw_.body();
    for (std::size_t at = 0; at < body.size(); ++at) {
      const int partner = structure_.partner[at];
      if (partner < 0) {
        node(body[at]);
      } else if (partner > static_cast<int>(at)) {
        rw_.keep(body[at]);
        // A loop's body sees what its other turns wrote.
        if (graph_.op(body[at]) == Op::Range) forget(changed_[at]);
        scopes_.emplace_back();
      } else {
        for (const Known& old : scopes_.back()) known(old.key) = {old.value, old.epoch};
        scopes_.pop_back();
        rw_.keep(body[at]);
        forget(changed_[static_cast<std::size_t>(partner)]);
      }
    }
    return rw_.finish();
  }

 private:
  struct Value {
    NodeId value;
    std::uint32_t epoch = 0;
  };
  struct Known {
    NodeId key;
    NodeId value;
    std::uint32_t epoch;
  };

  Value& known(NodeId key) {
    if (known_.size() <= key.index()) known_.resize(graph_.size() + graph_.size() / 2);
    return known_[key.index()];
  }
  void learn(NodeId key, NodeId value, std::uint32_t epoch) {
    Value& entry = known(key);
    scopes_.back().push_back({key, entry.value, entry.epoch});
    entry = {value, epoch};
  }
  void forget(const std::vector<int>& classes) {
    for (const int c : classes) epoch_[static_cast<std::size_t>(c)] = next_epoch_++;
  }

  void node(NodeId id) {
    const Op op = graph_.op(id);
    if (is_leaf(graph_, id)) {
      rw_.keep(id);
      return;
    }
    sources_.clear();
    for (const NodeId s : graph_.sources(id)) sources_.push_back(rw_.now(s));
    if (is_pure(graph_, id)) {
      // Sums, products and so on of two operands are the same bits in either order. The node itself keeps the order it has.
      key_sources_ = sources_;
      if (has_trait(op, kCommutative) || is_ins(graph_, id, Ins::Min))
        if (sources_.size() == 2 && sources_[1] < sources_[0]) std::swap(key_sources_[0], key_sources_[1]);
      const NodeId key = rw_.key(op, key_sources_, Arg(graph_.arg(id)));
      if (const NodeId value = known(key).value) return rw_.replace(id, value);
      learn(key, rw_.keep_with(id, sources_), 0);
      return;
    }
    if (op == Op::Load) return load(id);
    const NodeId kept = rw_.keep_with(id, sources_);
    if (op == Op::Store) {
      const int memory = memory_of(id);
      if (memory < 0) return;
      const std::uint32_t epoch = epoch_[static_cast<std::size_t>(memory)] = next_epoch_++;
      const std::span<const NodeId> s = graph_.sources(kept);
      // A later load of the place gives what was stored, when both have the cell's type.
      if (s.size() == 2 && !is_volatile(id) && graph_.type(s[1]) == graph_.type(s[0])) {
        const std::vector<NodeId> place{s[0]};
        const NodeId value = s[1];
        learn(rw_.key(Op::Load, place, {}), value, epoch);
      }
    } else if (op == Op::Ins && ins_kind(graph_, id) == InsKind::Atomic) {
      const int memory = memory_of(id);
      if (memory >= 0) epoch_[static_cast<std::size_t>(memory)] = next_epoch_++;
    } else if (is_synchronising(graph_, id)) {
      for (int c = 0; c < classes_.count(); ++c)
        if (classes_.is_shared(c)) epoch_[static_cast<std::size_t>(c)] = next_epoch_++;
    }
  }

  void load(NodeId id) {
    const int memory = memory_of(id);
    if (memory < 0 || is_volatile(id)) {
      rw_.keep(id);
      return;
    }
    const std::uint32_t epoch = epoch_[static_cast<std::size_t>(memory)];
    const NodeId key = rw_.key(Op::Load, sources_, {});
    const Value& entry = known(key);
    if (entry.value && entry.epoch == epoch) return rw_.replace(id, entry.value);
    learn(key, rw_.keep(id), epoch);
  }

  int memory_of(NodeId access) const { return classes_.of(*accessed_buffer(graph_, access)); }
  bool is_volatile(NodeId access) const {
    const auto* p = graph_.arg_as<ParamArg>(*accessed_buffer(graph_, access));
    return p && p->is_volatile;
  }

  Structure structure_;
  MemoryClasses classes_;
  std::vector<std::vector<int>> changed_;
  std::vector<std::uint32_t> epoch_;  // by class: which state the memory is in
  std::uint32_t next_epoch_ = 1;
  Rewriter rw_;
  const Graph& graph_;
  std::vector<Value> known_;                // by key
  std::vector<std::vector<Known>> scopes_;  // what to restore when a scope closes
  std::vector<NodeId> sources_, key_sources_;
};

}  // namespace

Program merge_common(Program program) { return Merger(std::move(program)).run(); }

}  // namespace sarek::passes
