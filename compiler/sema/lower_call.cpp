// Lowering of calls: built-in functions, functions put in place, the two forms of recursion and their limit. See lower.h.
#include <algorithm>

#include "compiler/sema/lower.h"

namespace sarek::sema {

using ir::NodeId;

namespace {

constexpr std::int64_t kInlineLimit = 10000;
constexpr std::size_t kMaxNodes = 4'000'000;

}  // namespace

// --- built-in functions ----------------------------------------------------------------------------------------------------------

NodeId Lowerer::ceil_div(NodeId a, NodeId b) {
  // a / b truncates; one more where something is left and the signs agree. No sum that could overflow.
  const ir::Type type = b_.graph().type(a);
  const NodeId quotient = b_.op(ir::Op::Cdiv, {a, b});
  const NodeId rest = b_.op(ir::Op::Cmod, {a, b});
  NodeId more = b_.op(ir::Op::Cmpne, {rest, b_.zero(type)});
  if (ir::is_signed(type)) {
    const NodeId same = b_.op(ir::Op::Cmpeq, {b_.op(ir::Op::Cmplt, {a, b_.zero(type)}), b_.op(ir::Op::Cmplt, {b, b_.zero(type)})});
    more = b_.op(ir::Op::And, {more, same});
  }
  return b_.op(ir::Op::Add, {quotient, b_.cast(more, type)});
}

Lowerer::Value Lowerer::intrinsic(const Expr& e) {
  const BuiltinInfo& info = builtin_info(e.builtin);
  const TypeId type = type_of(e.type);
  const ir::Type scalar = types_.scalar_of(type);
  const bool atomic = info.shape == BuiltinShape::Atomic || info.shape == BuiltinShape::AtomicBits ||
                      info.shape == BuiltinShape::AtomicStep || info.shape == BuiltinShape::AtomicCas;
  std::vector<NodeId> args;
  if (atomic) {
    const std::optional<Place> where = place(*e.args[0]);
    for (std::size_t i = 1; i < e.args.size(); ++i) args.push_back(node(*e.args[i]));
    const At at(*this, e.range);
    args.insert(args.begin(), b_.index(where->slots[0].buffer, cell_index(where->slots[0], 0)));
  } else {
    for (const Expr* a : e.args) args.push_back(node(*a));
  }
  const At at(*this, e.range);
  const auto one = [&](NodeId n) { return Value{type, {n}, {}}; };
  const auto op = [&](ir::Op o) { return one(b_.op(o, args)); };
  const auto ins = [&](ir::Ins i) { return one(b_.op(ir::Op::Ins, args, ir::InsArg{i, scalar, {}})); };
  const auto sync = [&](ir::Ins i) {
    b_.ins(i, ir::Type::Void, {});
    return Value{type, {}, {}};
  };
  switch (e.builtin) {
    case Builtin::Sqrt: return op(ir::Op::Sqrt);
    case Builtin::Floor: return ins(ir::Ins::Floor);
    case Builtin::Ceil: return ins(ir::Ins::Ceil);
    case Builtin::Trunc: return op(ir::Op::Trunc);
    case Builtin::Round: return ins(ir::Ins::Round);
    case Builtin::Fabs:
    case Builtin::Abs: return ins(ir::Ins::Abs);
    case Builtin::Copysign: return ins(ir::Ins::Copysign);
    case Builtin::Fma: return op(ir::Op::Mulacc);
    case Builtin::Min: return ins(ir::Ins::Min);
    case Builtin::Max: return op(ir::Op::Max);
    case Builtin::Clz: return ins(ir::Ins::Clz);
    case Builtin::Ctz: return ins(ir::Ins::Ctz);
    case Builtin::Popcount: return ins(ir::Ins::Popcount);
    case Builtin::MulHigh: return ins(ir::Ins::MulHigh);
    case Builtin::CeilDiv: return one(ceil_div(args[0], args[1]));
    case Builtin::Barrier: b_.barrier(); return {type, {}, {}};
    case Builtin::WarpBarrier: return sync(ir::Ins::WarpBarrier);
    case Builtin::FenceBlock: return sync(ir::Ins::FenceBlock);
    case Builtin::FenceDevice: return sync(ir::Ins::FenceDevice);
    case Builtin::Shuffle: return ins(ir::Ins::Shuffle);
    case Builtin::ShuffleUp: return ins(ir::Ins::ShuffleUp);
    case Builtin::ShuffleDown: return ins(ir::Ins::ShuffleDown);
    case Builtin::ShuffleXor: return ins(ir::Ins::ShuffleXor);
    case Builtin::VoteAll: return ins(ir::Ins::VoteAll);
    case Builtin::VoteAny: return ins(ir::Ins::VoteAny);
    case Builtin::Ballot: return ins(ir::Ins::Ballot);
    case Builtin::ActiveMask: return ins(ir::Ins::ActiveMask);
    case Builtin::ReduceAdd: return ins(ir::Ins::ReduceAdd);
    case Builtin::ReduceMin: return ins(ir::Ins::ReduceMin);
    case Builtin::ReduceMax: return ins(ir::Ins::ReduceMax);
    case Builtin::ReduceAnd: return ins(ir::Ins::ReduceAnd);
    case Builtin::ReduceOr: return ins(ir::Ins::ReduceOr);
    case Builtin::ReduceXor: return ins(ir::Ins::ReduceXor);
    case Builtin::AtomicAdd: return ins(ir::Ins::AtomicAdd);
    case Builtin::AtomicSub: return ins(ir::Ins::AtomicSub);
    case Builtin::AtomicExchange: return ins(ir::Ins::AtomicExchange);
    case Builtin::AtomicMin: return ins(ir::Ins::AtomicMin);
    case Builtin::AtomicMax: return ins(ir::Ins::AtomicMax);
    case Builtin::AtomicAnd: return ins(ir::Ins::AtomicAnd);
    case Builtin::AtomicOr: return ins(ir::Ins::AtomicOr);
    case Builtin::AtomicXor: return ins(ir::Ins::AtomicXor);
    case Builtin::AtomicInc: return ins(ir::Ins::AtomicInc);
    case Builtin::AtomicDec: return ins(ir::Ins::AtomicDec);
    case Builtin::AtomicCas: return ins(ir::Ins::AtomicCas);
    case Builtin::Sin:
    case Builtin::Cos:
    case Builtin::Tan:
    case Builtin::Asin:
    case Builtin::Acos:
    case Builtin::Atan:
    case Builtin::Atan2:
    case Builtin::Sinh:
    case Builtin::Cosh:
    case Builtin::Tanh:
    case Builtin::Exp:
    case Builtin::Exp2:
    case Builtin::Expm1:
    case Builtin::Log:
    case Builtin::Log2:
    case Builtin::Log10:
    case Builtin::Log1p:
    case Builtin::Pow:
    case Builtin::Cbrt:
    case Builtin::Hypot:
    case Builtin::Rsqrt:
    case Builtin::Erf: break;
  }
  // The checker has refused these.
  failed_ = true;
  return zero(type);
}

// --- calls -----------------------------------------------------------------------------------------------------------------------

bool Lowerer::small_enough(const Function& f, const Substitution& by, SourceRange call) {
  if (!checked_instances_.insert({&f, by}).second) return true;
  for (const Body* body : {f.bodies[0].get(), f.bodies[1].get()}) {
    if (!body) continue;
    for (const Expr& e : body->exprs) {
      const TypeId type = types_.substitute(e.type, by);
      if (types_.part_count(type) <= kMaxTypeParts) continue;
      sink_.report(DiagnosticKind::TypeTooLarge, e.range, "the type of this has more than " + std::to_string(kMaxTypeParts) + " parts")
          .note(call, "`" + f.name + "` is called here");
      return false;
    }
  }
  return true;
}

Lowerer::Value Lowerer::call(const Expr& e) {
  const Function& f = *e.callee;
  const Body* body = f.uses_ids ? f.bodies[wide_ ? 1 : 0].get() : f.any_body();
  const TypeId result_type = type_of(e.type);
  if (!body || body->faulty || failed_) {
    failed_ = true;
    return zero(result_type);
  }
  int depth = 0;
  for (const Frame* at = frame_; at; at = at->caller) depth += at->function == &f ? 1 : 0;
  if (f.recursion == Recursion::Inline) {
    if (depth > f.inline_depth) {
      b_.trap(b_.bool_constant(true), "inline depth exceeded");
      return zero(result_type);
    }
    if (depth == 0 && !within_inline_limit(f, e.range)) {
      failed_ = true;
      return zero(result_type);
    }
  }
  if (b_.graph().size() > kMaxNodes) {
    sink_.report(DiagnosticKind::InlineLimit, e.range,
                 "the kernel grows beyond " + std::to_string(kMaxNodes) + " operations when its functions are put in place");
    failed_ = true;
    return zero(result_type);
  }
  Frame inner;
  inner.function = &f;
  inner.body = body;
  inner.caller = frame_;
  inner.locals.resize(body->locals.size());
  for (std::size_t i = 0; i < e.type_args.size(); ++i) inner.by[f.type_params[i].second] = type_of(e.type_args[i]);
  if (!inner.by.empty() && !small_enough(f, inner.by, e.range)) {
    failed_ = true;
    return zero(result_type);
  }
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    const Expr& arg = *e.args[i];
    Binding& binding = inner.locals[i];
    if (body->locals[i].kind != LocalKind::Buffer) {
      const Value v = known(expr(arg), type_of(arg.type));
      binding.value = body->locals[i].indexed && !v.memory && !v.cells.empty() ? in_memory(v, body->locals[i].name) : v;
      continue;
    }
    const Binding& given = frame_->locals[arg.index];
    if (given.buffer) {
      binding.buffer = given.buffer;
    } else {
      // A shared array as a buffer: its elements follow each other in every slot.
      const TypeId array = type_of(arg.type);
      Buffer buffer;
      buffer.element = types_[array].args[0];
      buffer.first = {buffer.element, false, given.place->slots};
      buffer.length = b_.int_constant(wide_ ? ir::Type::I64 : ir::Type::I32, types_.element_count(array));
      binding.buffer = buffer;
    }
    binding.buffer->extents.clear();
  }
  Frame* outer = frame_;
  frame_ = &inner;
  for (std::size_t i = 0; i < e.args.size(); ++i)
    for (const Expr* extent : body->locals[i].extents) inner.locals[i].buffer->extents.push_back(node(*extent));
  const Value out = f.recursion == Recursion::Tail ? call_loop(inner, result_type) : call_body(inner, result_type);
  frame_ = outer;
  return out;
}

Lowerer::Value Lowerer::call_body(Frame& inner, TypeId result_type) {
  const Expr& root = *inner.body->root;
  if (!(root.exits & kReturn)) return known(expr(root), result_type);
  if (reads_exit_flag(root)) {
    inner.returned = b_.reg("returned", ir::Type::Bool);
    b_.set(inner.returned, b_.bool_constant(false));
  }
  inner.result = new_temp(result_type, "result");
  into(root, {&*inner.result, false});
  return load(*inner.result);
}

/// A tail-recursive function: parameters become variables, a call of itself sets them all at once and asks for another turn.
Lowerer::Value Lowerer::call_loop(Frame& inner, TypeId result_type) {
  for (std::size_t i = 0; i < inner.body->locals.size() && inner.locals[i].value; ++i) {
    const Value start = *inner.locals[i].value;
    inner.locals[i].place = new_temp(start.type, inner.body->locals[i].name);
    store(*inner.locals[i].place, start);
    inner.locals[i].value.reset();
  }
  inner.result = new_temp(result_type, "result");
  inner.again = b_.reg("again", ir::Type::Bool);
  const Expr& root = *inner.body->root;
  const NodeId loop = b_.begin_loop();
  b_.set(inner.again, b_.bool_constant(false));
  if ((root.exits & kReturn) && reads_exit_flag(root)) {
    inner.returned = b_.reg("returned", ir::Type::Bool);
    b_.set(inner.returned, b_.bool_constant(false));
  }
  into(root, {&*inner.result, true});
  b_.end_loop(loop, b_.get(inner.again));
  return load(*inner.result);
}

void Lowerer::self_call(const Expr& e) {
  std::vector<Value> args;
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    // The loop has one set of buffers.
    if (!frame_->locals[i].buffer || e.args[i]->index == i) continue;
    sink_.report(DiagnosticKind::UnboundedRecursion, e.args[i]->range,
                 "a function that becomes a loop must hand on its buffers as they are");
    failed_ = true;
    return;
  }
  for (const Expr* a : e.args)
    args.push_back(types_.form(type_of(a->type)) == TypeForm::Buffer ? Value{} : known(expr(*a), type_of(a->type)));
  // All arguments are there before the first parameter changes: gcd(b, a % b) reads the old b twice.
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!frame_->locals[i].place) continue;
    if (args[i].memory) {
      const Place copy = new_temp(args[i].type, "argument");
      copy_memory(copy, *args[i].memory);
      args[i].memory = copy;
    }
  }
  for (std::size_t i = 0; i < args.size(); ++i)
    if (frame_->locals[i].place) store(*frame_->locals[i].place, args[i]);
  b_.set(frame_->again, b_.bool_constant(true));
}

namespace {

/// The size of a body as a tree, and its calls of itself: per call, the size of each argument as a sum of a constant and of uses of
/// parameters.
struct Growth {
  struct Linear {
    std::int64_t constant = 0;
    std::map<std::uint32_t, std::int64_t> uses;
  };
  Linear body;
  std::vector<std::vector<Linear>> calls;
};

void measure(const Expr* e, const Function& f, std::size_t params, Growth::Linear& into, Growth& growth);

void measure(const Stmt* s, const Function& f, std::size_t params, Growth::Linear& into, Growth& growth) {
  ++into.constant;
  for (const Expr* e : {s->target, s->value, s->first, s->last, s->step, s->body}) measure(e, f, params, into, growth);
  for (const Expr* e : s->list) measure(e, f, params, into, growth);
}

void measure(const Expr* e, const Function& f, std::size_t params, Growth::Linear& into, Growth& growth) {
  if (!e) return;
  if (e->form == ExprForm::Local && e->index < params) {
    ++into.uses[e->index];
    return;
  }
  if (e->form == ExprForm::Call && e->callee == &f) {
    std::vector<Growth::Linear> args;
    for (const Expr* a : e->args) {
      args.emplace_back();
      measure(a, f, params, args.back(), growth);
    }
    growth.calls.push_back(std::move(args));
    return;
  }
  if (e->form != ExprForm::Block) ++into.constant;
  for (const Expr* a : e->args) measure(a, f, params, into, growth);
  for (const Arm& a : e->arms) {
    measure(a.guard, f, params, into, growth);
    measure(a.body, f, params, into, growth);
  }
  for (const Stmt* s : e->statements) measure(s, f, params, into, growth);
}

}  // namespace

/// Counts what `inline(n)` makes: n rounds, each of which puts the body in place of every call that is left, with the arguments in place of
/// the parameters. Before each round there may be at most 10000 nodes.
bool Lowerer::within_inline_limit(const Function& f, SourceRange range) {
  if (!limit_checked_.insert(&f).second) return true;
  Growth growth;
  measure(f.any_body()->root, f, f.params.size(), growth.body, growth);
  using Sizes = std::vector<std::int64_t>;
  const auto size = [](const Growth::Linear& l, const Sizes& args) {
    std::int64_t out = l.constant;
    for (const auto& [param, uses] : l.uses) out += uses * args[param];
    return out;
  };
  std::int64_t settled = 0;                            // nodes of bodies put in place, without the calls in them
  std::vector<Sizes> open{Sizes(f.params.size(), 1)};  // calls that are left, with the sizes of their arguments
  const auto expand = [&] {
    std::vector<Sizes> next;
    for (const Sizes& args : open) {
      settled += size(growth.body, args);
      for (const auto& call : growth.calls) {
        Sizes inner;
        for (const Growth::Linear& l : call) inner.push_back(size(l, args));
        next.push_back(std::move(inner));
      }
    }
    open = std::move(next);
  };
  const auto nodes = [&] {
    std::int64_t out = settled;
    for (const Sizes& args : open) {
      ++out;
      for (const std::int64_t a : args) out += a;
    }
    return out;
  };
  expand();  // the body itself
  for (int round = 0; round < f.inline_depth; ++round) {
    const std::int64_t count = nodes();
    if (count > kInlineLimit) {
      sink_
          .report(DiagnosticKind::InlineLimit, f.item->inline_range ? f.item->inline_range : range,
                  "inlining produced " + std::to_string(count) + " nodes (limit: " + std::to_string(kInlineLimit) + ")")
          .note(range, "`" + f.name + "` is called here");
      return false;
    }
    expand();
  }
  return true;
}

}  // namespace sarek::sema
