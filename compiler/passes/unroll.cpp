#include <algorithm>
#include <string>

#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace sarek::passes {

using namespace ir;

namespace {

class Unroller {
 public:
  Unroller(Program program, const UnrollOptions& options)
      : options_(options), structure_(structure_of(program).value_or(Structure{})), rw_(std::move(program)), graph_(rw_.graph()) {}

  Program run() {
    stretch(0, rw_.body().size(), false);
    return rw_.finish();
  }

 private:
  struct Request {
    bool marked = false;
    std::int64_t factor = 0;  // 0: every turn
  };

  Request request(NodeId range) const {
    const auto* r = graph_.arg_as<RangeArg>(range);
    Request q;
    q.marked = r->axis_type == AxisType::Unroll;
    if (q.marked && r->axis_id.size() > 1) q.factor = r->axis_id[1];
    return q;
  }

  void report(NodeId range, bool applied, std::string what) {
    if (options_.report) options_.report({graph_.range(range), applied, std::move(what)});
  }

  /// Positions [begin, end) of the old body. `copies`: nodes get new identities, because the stretch is walked more than once.
  void stretch(std::size_t begin, std::size_t end, bool copies) {
    for (std::size_t at = begin; at < end; ++at) {
      const NodeId id = rw_.body()[at];
      if (graph_.op(id) != Op::Range) {
        if (copies) {
          branch_copy(id);
        } else {
          rw_.keep(id);
        }
        continue;
      }
      const auto close = static_cast<std::size_t>(structure_.partner[at]);
      loop(at, close, copies);
      at = close;
    }
  }

  /// A copied IF needs a number of its own.
  void branch_copy(NodeId id) {
    if (graph_.op(id) != Op::If) {
      rw_.copy(id);
      return;
    }
    rw_.at(graph_.range(id));
    const NodeId condition = rw_.now(graph_.source(id, 0));
    const NodeId distinct = rw_.integer(Type::I32, rw_.fresh_axis());
    rw_.replace(id, rw_.emit(Op::If, {condition, distinct}));
  }

  void loop(std::size_t open, std::size_t close, bool copies) {
    const NodeId range = rw_.body()[open];
    const Request q = request(range);
    const bool bounded = graph_.type(graph_.source(range, 0)) != Type::Void;
    const auto size = static_cast<std::int64_t>(close - open - 1);
    const std::optional<std::int64_t> count = bounded ? integer_literal(graph_, rw_.now(graph_.source(range, 0))) : std::nullopt;
    const bool innermost =
        std::none_of(rw_.body().begin() + static_cast<std::ptrdiff_t>(open) + 1, rw_.body().begin() + static_cast<std::ptrdiff_t>(close),
                     [&](NodeId id) { return graph_.op(id) == Op::Range; });
    if (!q.marked) {
      const bool small = options_.allow_automatic && count && *count > 1 && *count <= options_.automatic_turns &&
                         *count * size <= options_.automatic_operations && innermost;
      if (!small || !options_.allow_automatic(graph_.range(range))) return rolled(open, close, copies);
      return all_turns(open, close, *count);
    }
    if (!bounded) {
      report(range, false, "the loop has no count");
      return rolled(open, close, copies);
    }
    const std::int64_t factor = q.factor > 0 ? q.factor : count.value_or(0);
    if (q.factor <= 0 && !count) {
      report(range, false, "the number of turns is not constant");
      return rolled(open, close, copies);
    }
    const Type type = graph_.type(range);
    if (!count && type_bits(type) < 64 && factor >= std::int64_t{1} << (type_bits(type) - 1)) {
      report(range, false, "the loop's " + std::string(type_name(type)) + " cannot count to " + std::to_string(factor));
      return rolled(open, close, copies);
    }
    const std::int64_t turns = count ? std::clamp<std::int64_t>(*count, 0, factor) : factor;
    if (turns > 1 && turns > options_.requested_operations / std::max<std::int64_t>(size, 1)) {
      report(range, false,
             std::to_string(turns) + " copies of " + std::to_string(size) + " operations exceed " +
                 std::to_string(options_.requested_operations));
      return rolled(open, close, copies);
    }
    if (count && *count <= factor) {
      all_turns(open, close, std::max<std::int64_t>(*count, 0));
      return report(range, true, std::to_string(std::max<std::int64_t>(*count, 0)) + " turns");
    }
    some_turns(open, close, factor, count);
    report(range, true, "every " + std::to_string(factor) + " turns");
  }

  /// The loop stays a loop, without a mark.
  void rolled(std::size_t open, std::size_t close, bool copies) {
    const NodeId range = rw_.body()[open];
    const auto* r = graph_.arg_as<RangeArg>(range);
    if (copies || r->axis_type == AxisType::Unroll) {
      RangeArg plain{{copies ? rw_.fresh_axis() : r->axis_id.front()}, AxisType::Loop};
      rw_.at(graph_.range(range));
      const NodeId source = rw_.now(graph_.source(range, 0));
      rw_.replace(range, rw_.emit(Op::Range, {source}, plain));
    } else {
      rw_.keep(range);
    }
    stretch(open + 1, close, copies);
    if (copies) {
      rw_.copy(rw_.body()[close]);
    } else {
      rw_.keep(rw_.body()[close]);
    }
  }

  void all_turns(std::size_t open, std::size_t close, std::int64_t count) {
    const NodeId range = rw_.body()[open];
    for (std::int64_t turn = 0; turn < count; ++turn) {
      rw_.replace(range, rw_.integer(graph_.type(range), turn));
      stretch(open + 1, close, true);
    }
  }

  /// n / factor turns of `factor` copies each, then the n % factor that are left. For n <= 0 both counts are 0 or less, as the loop's is.
  void some_turns(std::size_t open, std::size_t close, std::int64_t factor, std::optional<std::int64_t> count) {
    const NodeId range = rw_.body()[open];
    const Type type = graph_.type(range);
    rw_.at(graph_.range(range));
    const NodeId n = rw_.now(graph_.source(range, 0));
    const NodeId step = rw_.integer(type, factor);
    const NodeId whole = count ? rw_.integer(type, *count / factor) : rw_.emit(Op::Cdiv, {n, step});
    const NodeId outer = rw_.emit(Op::Range, {whole}, RangeArg{{rw_.fresh_axis()}, AxisType::Loop});
    const NodeId first = rw_.emit(Op::Mul, {outer, step});
    for (std::int64_t turn = 0; turn < factor; ++turn) {
      rw_.replace(range, turn == 0 ? first : rw_.emit(Op::Add, {first, rw_.integer(type, turn)}));
      stretch(open + 1, close, true);
    }
    rw_.emit(Op::End, {rw_.void_value(), outer});
    if (count) {
      for (std::int64_t turn = *count / factor * factor; turn < *count; ++turn) {
        rw_.replace(range, rw_.integer(type, turn));
        stretch(open + 1, close, true);
      }
      return;
    }
    const NodeId done = rw_.emit(Op::Mul, {whole, step});
    const NodeId left = rw_.emit(Op::Sub, {n, done});
    const NodeId rest = rw_.emit(Op::Range, {left}, RangeArg{{rw_.fresh_axis()}, AxisType::Loop});
    rw_.replace(range, rw_.emit(Op::Add, {done, rest}));
    stretch(open + 1, close, true);
    rw_.emit(Op::End, {rw_.void_value(), rest});
  }

  const UnrollOptions& options_;
  Structure structure_;
  Rewriter rw_;
  const Graph& graph_;
};

}  // namespace

Program unroll(Program program, const UnrollOptions& options) {
  const bool any = std::any_of(program.body.begin(), program.body.end(), [&](NodeId id) { return program.graph.op(id) == Op::Range; });
  return any ? Unroller(std::move(program), options).run() : program;
}

}  // namespace sarek::passes
