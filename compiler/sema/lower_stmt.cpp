// Lowering of statements, loops and ways out of them. A statement that may leave its block is followed by a guarded rest:
//
//   if c { ...; return a; } rest     becomes   IF(c) { ... }  IF(!c) { rest }      no flag
//   anything else that may leave     becomes   statement      IF(!left) { rest }   `left` is set on the way out
//
// A loop ends when its `leave` flag is set (break, return); `skip` ends a turn. Flags are made only where something reads them.
#include <algorithm>

#include "compiler/sema/lower.h"
#include "compiler/spec/bounds.h"

namespace sarek::sema {

using ir::NodeId;

// --- who reads the flag ------------------------------------------------------------------------------------------------------------

namespace {

bool reads_flag(const Expr* e);

bool reads_flag(const Stmt& s) {
  if (!s.exits) return false;
  // The body of a loop has flags of its own; what it passes on is read by what follows.
  const bool loop = s.form == StmtForm::For || s.form == StmtForm::ForList || s.form == StmtForm::While || s.form == StmtForm::Loop;
  if (loop) return false;
  if (s.form == StmtForm::Superstep) return reads_flag(s.body);
  if ((s.form == StmtForm::Assign || s.form == StmtForm::Return) && s.value && s.value->exits) return true;
  return reads_flag(s.value);
}

bool reads_in_sequence(std::span<Stmt* const> statements, const Expr* value);

/// Does `e`, with a rest behind it, need the flag? Mirrors Lowerer::followed.
bool reads_when_followed(const Expr* e) {
  if (!e || !e->exits) return false;
  if (e->form != ExprForm::If || e->args[0]->exits) return true;
  const bool then_leaves = e->args[1]->diverges;
  const bool else_leaves = e->args[2] && e->args[2]->diverges;
  if (!then_leaves && !else_leaves) return true;
  return (then_leaves ? reads_flag(e->args[1]) : reads_when_followed(e->args[1])) ||
         (else_leaves ? reads_flag(e->args[2]) : reads_when_followed(e->args[2]));
}

bool reads_in_sequence(std::span<Stmt* const> statements, const Expr* value) {
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Stmt& s = *statements[i];
    if (!s.exits) continue;
    const bool rest = i + 1 < statements.size() || value;
    if (!rest || s.diverges) return reads_flag(s);
    if (s.form != StmtForm::Expr || reads_when_followed(s.value)) return true;
    return reads_in_sequence(statements.subspan(i + 1), value);
  }
  return reads_flag(value);
}

bool reads_flag(const Expr* e) {
  if (!e || !e->exits) return false;
  switch (e->form) {
    case ExprForm::Block: return reads_in_sequence(e->statements, e->args[0]);
    case ExprForm::If: return reads_flag(e->args[0]) || reads_flag(e->args[1]) || reads_flag(e->args[2]);
    case ExprForm::Match:
      return reads_flag(e->args[0]) ||
             std::any_of(e->arms.begin(), e->arms.end(), [](const Arm& a) { return reads_flag(a.guard) || reads_flag(a.body); });
    case ExprForm::Error:
    case ExprForm::Literal:
    case ExprForm::Cells:
    case ExprForm::Local:
    case ExprForm::Id:
    case ExprForm::Unary:
    case ExprForm::Binary:
    case ExprForm::Logic:
    case ExprForm::Cast:
    case ExprForm::Bitcast:
    case ExprForm::Call:
    case ExprForm::Intrinsic:
    case ExprForm::Construct:
    case ExprForm::Repeat:
    case ExprForm::Inject:
    case ExprForm::Field:
    case ExprForm::Index:
    case ExprForm::Length: return true;
  }
  return true;
}

}  // namespace

bool reads_exit_flag(const Expr& e) { return reads_flag(&e); }

// --- blocks ----------------------------------------------------------------------------------------------------------------------

Lowerer::Value Lowerer::block_value(const Expr& e) {
  const TypeId type = type_of(e.type);
  const bool leaves = std::any_of(e.statements.begin(), e.statements.end(), [](const Stmt* s) { return s->exits != 0; });
  if (!leaves) {
    for (const Stmt* s : e.statements) {
      statement(*s);
      if (s->diverges) return {types_.never(), {}, {}};
    }
    if (e.args[0]) return expr(*e.args[0]);
    return {type, {}, {}};
  }
  if (is_unit(type)) {
    sequence(e.statements, e.args[0], {});
    return {type, {}, {}};
  }
  const Place result = new_temp(type, "block");
  sequence(e.statements, e.args[0], {&result, false});
  return load(result);
}

/// Lowers `e` and brings its value to `dest`.
void Lowerer::into(const Expr& e, Dest dest) {
  const At at(*this, e.range);
  if (e.form == ExprForm::Block) {
    sequence(e.statements, e.args[0], dest);
  } else {
    deliver(e, dest);
  }
}

void Lowerer::deliver(const Expr& e, Dest dest) {
  if (dest.tail || (dest.place && e.exits)) {
    if (e.form == ExprForm::If && !e.args[0]->exits) return if_into(e, dest);
    if (e.form == ExprForm::Match) return match_into(e, dest);
    if (e.form == ExprForm::Block) return sequence(e.statements, e.args[0], dest);
  }
  if (dest.tail && e.form == ExprForm::Call && e.callee == frame_->function) return self_call(e);
  const TypeId type = type_of(e.type);
  if (!dest.place || is_unit(type)) {
    expr(e);
    return;
  }
  // Nested branches write to the place at once instead of through a variable each.
  if (e.form == ExprForm::If && e.args[2] && !(types_.cells(type) <= 4 && is_cheap(*e.args[1]) && is_cheap(*e.args[2])))
    return if_into(e, dest);
  const Value v = expr(e);
  if (types_.form(v.type) != TypeForm::Never) store(*dest.place, v);
}

NodeId Lowerer::still_going() {
  const NodeId flag = frame_->loops.empty() ? frame_->returned : frame_->loops.back().skip;
  return flag ? negate(b_.get(flag)) : b_.bool_constant(true);
}

/// `e`, whose value nobody takes, and then the rest, unless `e` leaves.
void Lowerer::followed(const Expr& e, const std::function<void()>& after) {
  const At at(*this, e.range);
  const bool then_leaves = e.form == ExprForm::If && e.args[1]->diverges;
  const bool else_leaves = e.form == ExprForm::If && e.args[2] && e.args[2]->diverges;
  if (!e.exits) {
    into(e, {});
    after();
  } else if ((then_leaves || else_leaves) && !e.args[0]->exits) {
    const NodeId condition = node(*e.args[0]);
    const auto way = [&](const Expr* side, bool leaves) {
      if (!side) return after();
      if (leaves) return into(*side, {});
      followed(*side, after);
    };
    branch(condition, [&] { way(e.args[1], then_leaves); });
    branch(negate_at(condition, *e.args[0]), [&] { way(e.args[2], else_leaves); });
  } else {
    into(e, {});
    branch(still_going(), after);
  }
}

void Lowerer::sequence(std::span<Stmt* const> statements, const Expr* value, Dest dest) {
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Stmt& s = *statements[i];
    const bool rest = i + 1 < statements.size() || value;
    if (!s.exits || !rest || s.diverges) {
      const bool last = i + 1 == statements.size() && !value;
      if (last && dest.tail && s.form == StmtForm::Expr) {
        deliver(*s.value, dest);
      } else {
        statement(s);
      }
      if (s.diverges) return;
      continue;
    }
    const auto after = [&] { sequence(statements.subspan(i + 1), value, dest); };
    if (s.form == StmtForm::Expr) {
      const At at(*this, s.range);
      followed(*s.value, after);
      return;
    }
    statement(s);
    branch(still_going(), after);
    return;
  }
  if (value) deliver(*value, dest);
}

// --- statements ------------------------------------------------------------------------------------------------------------------

void Lowerer::statement(const Stmt& s) {
  const At at(*this, s.range);
  switch (s.form) {
    case StmtForm::Error: failed_ = true; return;
    case StmtForm::Let:
    case StmtForm::Var: {
      const TypeId type = type_of(s.pattern->type);
      const Value v = s.value ? known(expr(*s.value), type) : zero(type);
      bind(*s.pattern, v, s.form == StmtForm::Var);
      return;
    }
    case StmtForm::Assign: assign(s); return;
    case StmtForm::Expr: expr(*s.value); return;
    case StmtForm::For: for_loop(s); return;
    case StmtForm::ForList: for_list(s); return;
    case StmtForm::While:
    case StmtForm::Loop: while_loop(s); return;
    case StmtForm::Break:
      b_.set(frame_->loops.back().leave, b_.bool_constant(true));
      if (frame_->loops.back().skip) b_.set(frame_->loops.back().skip, b_.bool_constant(true));
      return;
    case StmtForm::Continue:
      if (frame_->loops.back().skip) b_.set(frame_->loops.back().skip, b_.bool_constant(true));
      return;
    case StmtForm::Return: return_statement(s); return;
    case StmtForm::Superstep: superstep(s); return;
    case StmtForm::Launch: failed_ = true; return;
  }
}

void Lowerer::assign(const Stmt& s) {
  const auto do_it = [&](const std::optional<Value>& computed) {
    std::optional<Place> target = place(*s.target);
    if (!s.is_compound) {
      store(*target, computed ? *computed : known(expr(*s.value), type_of(s.value->type)));
      return;
    }
    const NodeId before = load(*target).cells[0];
    const NodeId by = computed ? computed->cells[0] : node(*s.value);
    store(*target, {target->type, {binary(s.op, before, by)}, {}});
  };
  if (!s.value->exits) {
    if (s.is_compound) return do_it(std::nullopt);
    // The value first: what it reads may be what the place's index changes.
    return do_it(known(expr(*s.value), type_of(s.value->type)));
  }
  const Value v = known(expr(*s.value), type_of(s.value->type));
  branch(still_going(), [&] { do_it(v); });
}

void Lowerer::return_statement(const Stmt& s) {
  const auto leave = [&] {
    if (frame_->returned) b_.set(frame_->returned, b_.bool_constant(true));
    for (const Loop& loop : frame_->loops) {
      if (loop.leave) b_.set(loop.leave, b_.bool_constant(true));
      if (loop.skip) b_.set(loop.skip, b_.bool_constant(true));
    }
  };
  if (s.value) {
    if (frame_->result && !s.value->exits) {
      into(*s.value, {&*frame_->result, static_cast<bool>(frame_->again)});
    } else if (frame_->result) {
      const Value v = known(expr(*s.value), type_of(s.value->type));
      branch(still_going(), [&] {
        store(*frame_->result, v);
        leave();
      });
      return;
    } else {
      expr(*s.value);
    }
  }
  leave();
}

void Lowerer::superstep(const Stmt& s) {
  LoweringNotes::Superstep note;
  note.begin = static_cast<std::uint32_t>(b_.graph().size());
  note.divergent = s.divergent;
  note.name = s.name_range;
  into(*s.body, {});
  note.end = static_cast<std::uint32_t>(b_.graph().size());
  const At at(*this, s.name_range);
  b_.barrier();
  notes_.supersteps.push_back(note);
}

// --- loops -----------------------------------------------------------------------------------------------------------------------

Lowerer::Loop Lowerer::open_loop(const Expr& body) {
  Loop loop;
  if (body.exits & (kBreak | kReturn)) loop.leave = b_.reg("leave", ir::Type::Bool);
  if (body.exits && reads_exit_flag(body)) loop.skip = b_.reg("skip", ir::Type::Bool);
  if (loop.leave) b_.set(loop.leave, b_.bool_constant(false));
  return loop;
}

/// One turn of the innermost loop.
void Lowerer::turn(const Expr& body) {
  const Loop& loop = frame_->loops.back();
  if (loop.skip) b_.set(loop.skip, b_.bool_constant(false));
  into(body, {});
}

NodeId Lowerer::unless_left(NodeId again, const Loop& loop) {
  if (!loop.leave) return again;
  return both(again, negate(b_.get(loop.leave)));
}

NodeId Lowerer::begin_counted(const Stmt& s, NodeId count) {
  if (!s.unroll) return b_.begin_range(count);
  return b_.begin_unrolled(count, s.unroll_factor);
}

void Lowerer::while_loop(const Stmt& s) {
  const Loop loop = open_loop(*s.body);
  const NodeId opened = b_.begin_loop();
  NodeId again = b_.bool_constant(true);
  if (s.form == StmtForm::While) {
    again = node(*s.value);
    frame_->loops.push_back(loop);
    branch(again, [&] { turn(*s.body); });
  } else {
    frame_->loops.push_back(loop);
    turn(*s.body);
  }
  frame_->loops.pop_back();
  b_.end_loop(opened, unless_left(again, loop));
}

void Lowerer::for_list(const Stmt& s) {
  std::vector<Value> values;
  const TypeId type = type_of(frame_->body->locals[s.local].type);
  for (const Expr* e : s.list) values.push_back(known(expr(*e), type));
  const Loop loop = open_loop(*s.body);
  frame_->loops.push_back(loop);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto one = [&] {
      frame_->locals[s.local].value = values[i];
      turn(*s.body);
    };
    // Nothing is left before the first turn.
    if (loop.leave && i > 0) {
      branch(negate(b_.get(loop.leave)), one);
    } else {
      one();
    }
  }
  frame_->loops.pop_back();
}

void Lowerer::for_loop(const Stmt& s) {
  const ir::Graph& g = b_.graph();
  const NodeId first = node(*s.first);
  const NodeId last = node(*s.last);
  const ir::Type type = g.type(first);
  const auto first_literal = ir::integer_literal(g, first);
  const auto last_literal = ir::integer_literal(g, last);
  NodeId step_node;
  std::optional<std::int64_t> step = 1;
  if (s.step) {
    step_node = node(*s.step);
    step = ir::integer_literal(g, step_node);
    if (step && *step == 0) {
      sink_.report(DiagnosticKind::InvalidStep, s.step->range, "a step of zero never ends");
      failed_ = true;
      return;
    }
  }
  // The number of turns. Every formula is guarded by a comparison of the ends, so that no difference is taken the wrong way round.
  NodeId count;
  ir::Type count_type = ir::Type::I32;
  if (first_literal && last_literal && step) {
    const ir::Int128 distance = *step > 0 ? ir::Int128{*last_literal} - *first_literal : ir::Int128{*first_literal} - *last_literal;
    const ir::Int128 size = *step > 0 ? ir::Int128{*step} : -ir::Int128{*step};
    const ir::Int128 turns = s.inclusive ? (distance < 0 ? 0 : distance / size + 1) : (distance <= 0 ? 0 : (distance - 1) / size + 1);
    count_type = turns > INT32_MAX ? ir::Type::I64 : ir::Type::I32;
    count = b_.int_constant(count_type, turns > INT64_MAX ? ir::Int128{INT64_MAX} : turns);
  } else {
    // The difference fits i32 when the lower end is at least 0 (and one more, inclusive, when the upper end is not the greatest of all).
    const bool up = !step || *step > 0;
    const NodeId low = up ? first : last;
    const NodeId high = up ? last : first;
    const bool small = ir::type_bits(type) < 32;
    const auto low_literal = ir::integer_literal(g, low);
    bool fits = small || (type == ir::Type::I32 && low_literal && *low_literal >= 0 && !s.inclusive);
    if (!fits && type == ir::Type::I32) {
      // Intervals are asked only where the plain look does not do: they walk the whole program so far.
      spec::BoundsTable bounds(g, &b_.program());
      fits = bounds.vmin(low) >= 0 && (!s.inclusive || bounds.vmax(high) < INT32_MAX);
    }
    count_type = fits && step ? ir::Type::I32 : ir::Type::I64;
    const auto sized = [&](NodeId x) {
      const auto literal = ir::integer_literal(g, x);
      return literal ? b_.int_constant(count_type, *literal) : b_.cast(x, count_type);
    };
    const NodeId from = sized(first);
    const NodeId to = sized(last);
    const auto turns = [&](NodeId a, NodeId b, NodeId size) {  // from a up to b in steps of `size` > 0; nothing when b is below a
      const bool unit = ir::integer_literal(g, size) == 1;
      NodeId distance = fold(ir::Op::Sub, b, a);
      const bool from_zero = ir::integer_literal(g, a) == 0;
      if (unit && !s.inclusive && (from_zero || count_type == ir::Type::I64)) return distance;  // a loop over n <= 0 does nothing
      if (unit && s.inclusive && count_type == ir::Type::I64) return fold(ir::Op::Add, distance, b_.int_constant(count_type, 1));
      const NodeId one = b_.int_constant(count_type, 1);
      NodeId whole = distance;
      if (!s.inclusive && !unit) whole = fold(ir::Op::Add, fold(ir::Op::Cdiv, fold(ir::Op::Sub, distance, one), size), one);
      if (s.inclusive) whole = fold(ir::Op::Add, unit ? distance : fold(ir::Op::Cdiv, distance, size), one);
      const NodeId any = s.inclusive ? negate(fold(ir::Op::Cmplt, b, a)) : fold(ir::Op::Cmplt, a, b);
      return b_.op(ir::Op::Where, {any, whole, b_.int_constant(count_type, 0)});
    };
    if (step) {
      const NodeId size = b_.int_constant(count_type, up ? ir::Int128{*step} : -ir::Int128{*step});
      count = up ? turns(from, to, size) : turns(to, from, size);
    } else {
      // Only the running program knows which way it goes; a step of zero does nothing.
      const NodeId by = sized(step_node);
      const NodeId nothing = b_.int_constant(count_type, 0);
      const NodeId one = b_.int_constant(count_type, 1);
      const NodeId rises = fold(ir::Op::Cmplt, nothing, by);
      const NodeId falls = fold(ir::Op::Cmplt, by, nothing);
      const NodeId size = b_.op(ir::Op::Where, {rises, by, b_.op(ir::Op::Where, {falls, b_.op(ir::Op::Neg, {by}), one})});
      const NodeId upwards = turns(from, to, size);
      const NodeId downwards = turns(to, from, size);
      count = b_.op(ir::Op::Where, {rises, upwards, b_.op(ir::Op::Where, {falls, downwards, nothing})});
    }
  }
  const auto bind_variable = [&](NodeId turn_number) {
    // first + turn * step in the variable's own type: what wraps on the way has wrapped back.
    NodeId scaled = b_.cast(turn_number, type);
    if (s.step && !(step && *step == 1)) {
      NodeId by = step ? b_.int_constant(type, ir::is_signed(type) ? ir::Int128{*step}
                                                                   : ir::Int128{*step} & ((ir::Int128{1} << ir::type_bits(type)) - 1))
                       : b_.cast(step_node, type);
      scaled = fold(ir::Op::Mul, scaled, by);
    }
    const NodeId variable = first_literal && *first_literal == 0 ? scaled : fold(ir::Op::Add, first, scaled);
    frame_->locals[s.local].value = Value{type_of(frame_->body->locals[s.local].type), {variable}, {}};
  };
  const Loop loop = open_loop(*s.body);
  frame_->loops.push_back(loop);
  if (!loop.leave) {
    const NodeId range = begin_counted(s, count);
    bind_variable(range);
    turn(*s.body);
    b_.end_range(range);
  } else {
    // A loop that may be left early counts for itself, and asks at its end.
    const auto run = [&] {
      const NodeId turns_done = b_.reg("turn", count_type);
      b_.set(turns_done, b_.int_constant(count_type, 0));
      const NodeId opened = b_.begin_loop();
      const NodeId number = b_.get(turns_done);
      bind_variable(number);
      turn(*s.body);
      const NodeId next = b_.op(ir::Op::Add, {number, b_.int_constant(count_type, 1)});
      b_.set(turns_done, next);
      b_.end_loop(opened, unless_left(fold(ir::Op::Cmplt, next, count), loop));
    };
    branch(fold(ir::Op::Cmplt, b_.int_constant(count_type, 0), count), run);
  }
  frame_->loops.pop_back();
}

}  // namespace sarek::sema
