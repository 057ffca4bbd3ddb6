// The prover: a walk over the body that keeps, scope by scope, linear facts (polynomial <= 0), refined bounds of unknowns and the values
// that registers hold. An unknown ("atom") is the value of a node, as an integer; everything is exact in the integers, so that arithmetic
// that may wrap becomes an unknown of its own.
#include "compiler/spec/proof.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "compiler/ir/printer.h"
#include "compiler/spec/bounds.h"
#include "compiler/spec/polynomial.h"

namespace sarek::spec {

using namespace ir;  // NOLINT: an analysis of the IR

namespace {

constexpr int kDepth = 4;                        // facts combined in one proof
constexpr int kBudget = 200;                     // combinations tried in one proof
constexpr int kWrapDepth = 2, kWrapBudget = 24;  // the same for "this sum does not wrap", asked much more often
constexpr int kMaxNesting = 40;                  // of arithmetic looked through: deeper nodes are unknowns
constexpr int kMaxRounds = 8;                    // of the search for what registers always keep
constexpr std::size_t kMaxFacts = 24;            // on one unknown, the newest ones: more are not tried

/// A condition and whether it holds.
using Outcome = std::pair<NodeId, bool>;

/// What a register is known to hold: the value of a node, or for a bool without one value, what follows when it is true and when it is
/// false.
struct Held {
  NodeId value;
  std::vector<Outcome> if_true, if_false;
};

/// What every value of a register keeps, from the zero it starts with on: an assumption that its stores must uphold.
struct Invariant {
  bool never_negative = true;
  std::optional<Int128> most;  // the greatest literal that is stored: a loop that halves or counts down stays below
};

class Prover {
 public:
  explicit Prover(const Program& program) : p_(program), g_(program.graph), bounds_(program.graph, &program) {
    const std::optional<Structure> s = structure_of(program);
    if (s) partner_ = s->partner;
    collect();
  }

  std::vector<AccessProof> run() {
    if (partner_.size() != p_.body.size()) return {};  // a broken program: verify_program's business
    // Assume every invariant, drop those that a store breaks, until nothing breaks: what is left holds at first and is kept by each store.
    for (int round = 0; round < kMaxRounds; ++round) {
      if (round + 1 == kMaxRounds) invariants_.clear();
      broken_ = false;
      walk();
      if (!broken_) break;
    }
    return std::move(proofs_);
  }

 private:
  // --- preparation ----------------------------------------------------------------------------------------------------------
  /// The register cell that a place names: a BUFFER in Reg of size 1.
  NodeId register_of(NodeId place) const {
    if (g_.op(place) != Op::Index) return {};
    const NodeId base = g_.source(place, 0);
    const auto* a = g_.op(base) == Op::Buffer ? g_.arg_as<ParamArg>(base) : nullptr;
    return a && a->space == AddressSpace::Reg && a->size == 1 ? base : NodeId{};
  }

  void collect() {
    for (std::size_t i = 0; i < p_.slots.size(); ++i) {
      const Slot& s = p_.slots[i];
      if (s.kind == Slot::Kind::Length || s.kind == Slot::Kind::SharedLength)
        length_slots_.emplace(std::pair(s.kind == Slot::Kind::Length, s.of_slot), static_cast<int>(i));
    }
    stored_in_.resize(p_.body.size());
    std::vector<int> open;
    for (std::size_t i = 0; i < p_.body.size(); ++i) {
      const NodeId id = p_.body[i];
      const Op op = g_.op(id);
      if (op == Op::Param) {
        const auto* a = g_.arg_as<ParamArg>(id);
        if (a->space == AddressSpace::None) param_of_slot_.emplace(a->slot, id);
      }
      if (op == Op::Buffer && g_.arg_as<ParamArg>(id)->space == AddressSpace::Reg && is_int(g_.type(id))) invariants_[id.value].most = 0;
      if (op == Op::Store && g_.op(g_.source(id, 0)) == Op::Index) {
        const auto it = invariants_.find(g_.source(g_.source(id, 0), 0).value);
        const auto v = integer_literal(g_, g_.source(id, 1));
        if (it != invariants_.end() && v) it->second.most = std::max(*it->second.most, Int128{*v});
      }
      if (partner_.empty()) continue;
      if ((op == Op::End || op == Op::Backedge || op == Op::Endif) && !open.empty()) {
        // What an inner scope stores, the outer one stores too.
        std::vector<NodeId>& inner = stored_in_[static_cast<std::size_t>(open.back())];
        std::sort(inner.begin(), inner.end());
        inner.erase(std::unique(inner.begin(), inner.end()), inner.end());
        open.pop_back();
        if (!open.empty()) {
          std::vector<NodeId>& outer = stored_in_[static_cast<std::size_t>(open.back())];
          outer.insert(outer.end(), inner.begin(), inner.end());
        }
      }
      if (op == Op::Store && !open.empty())
        if (const NodeId r = register_of(g_.source(id, 0))) stored_in_[static_cast<std::size_t>(open.back())].push_back(r);
      if (op == Op::Range || op == Op::If) open.push_back(static_cast<int>(i));
    }
  }

  // --- scopes ---------------------------------------------------------------------------------------------------------------
  struct Scope {
    std::size_t facts;
    std::size_t refined;
    std::unordered_map<std::uint32_t, Held> held_before;  // IF: what registers held when it opened
    NodeId condition;
  };

  void open_scope(NodeId condition) {
    scopes_.push_back({facts_.size(), refined_log_.size(), {}, condition});
    learned();
  }
  /// What is known changed: values are looked at anew.
  void learned() {
    polynomials_.clear();
    ++moment_;
  }
  void close_scope() {
    const Scope& s = scopes_.back();
    while (facts_.size() > s.facts) {
      for (const Term& t : facts_.back().terms)
        for (const Atom a : {t.of.a, t.of.b})
          if (a != kNoAtom) facts_on_[a].pop_back();
      facts_.pop_back();
    }
    while (refined_log_.size() > s.refined) {
      const auto& [atom, before] = refined_log_.back();
      if (before) {
        refined_[atom] = *before;
      } else {
        refined_.erase(atom);
      }
      refined_log_.pop_back();
    }
    scopes_.pop_back();
    learned();
  }

  void walk() {
    proofs_.clear();
    facts_.clear();
    facts_on_.clear();
    refined_.clear();
    refined_log_.clear();
    axioms_at_.clear();
    held_.clear();
    alias_.clear();
    scopes_.clear();
    polynomials_.clear();
    for (std::size_t i = 0; i < p_.body.size(); ++i) {
      const NodeId id = p_.body[i];
      const Op op = g_.op(id);
      if (op == Op::If) {
        open_scope(g_.source(id, 0));
        scopes_.back().held_before = held_;
        assume(g_.source(id, 0), true, 0);
      } else if (op == Op::Range) {
        // Another iteration may have stored: inside and after the loop nothing is known of what it stores.
        forget(stored_in_[i]);
        open_scope({});
        if (g_.type(id) != Type::Void) { enter_range(id, g_.source(id, 0)); }
      } else if (op == Op::Endif) {
        leave_if(static_cast<std::size_t>(partner_[i]));
      } else if (op == Op::End || op == Op::Backedge) {
        close_scope();
        forget(stored_in_[static_cast<std::size_t>(partner_[i])]);
      } else if (op == Op::Load) {
        prove(i, id, g_.source(id, 0), g_.sources(id).size() == 3 ? g_.source(id, 2) : NodeId{});
        read_register(id);
      } else if (op == Op::Store) {
        prove(i, id, g_.source(id, 0), g_.sources(id).size() == 3 ? g_.source(id, 2) : NodeId{});
        write_register(id);
      } else if (op == Op::Ins && ins_info(g_.arg_as<InsArg>(id)->code).kind == InsKind::Atomic) {
        prove(i, id, g_.source(id, 0), {});
      }
    }
  }

  /// Inside a loop its variable is below the count. Of a count "c ? n : 0" it is below n, and c holds: otherwise there is no iteration.
  void enter_range(NodeId range, NodeId count, int nesting = 0) {
    count = canonical(count);
    if (g_.op(count) == Op::Where && nesting < kMaxNesting) {
      for (const std::size_t side : {std::size_t{1}, std::size_t{2}}) {
        const auto none = integer_literal(g_, g_.source(count, side));
        if (!none || *none > 0) continue;
        assume(g_.source(count, 0), side == 2, 0);
        return enter_range(range, g_.source(count, 3 - side), nesting + 1);
      }
    }
    if (const auto fact = combine(Polynomial::atom(range.value), 1, polynomial(count, 0), -1)) add_fact(plus(*fact, 1));
    learned();
  }

  // --- registers ------------------------------------------------------------------------------------------------------------
  void forget(const std::vector<NodeId>& registers) {
    for (const NodeId r : registers) held_.erase(r.value);
  }

  void read_register(NodeId load) {
    const NodeId r = register_of(g_.source(load, 0));
    if (!r || g_.sources(load).size() != 1) return;
    const auto it = held_.find(r.value);
    if (it != held_.end()) {
      alias_[load.value] = it->second;
    } else {
      held_[r.value] = {load, {}, {}};
    }
  }

  void write_register(NodeId store) {
    const NodeId place = g_.source(store, 0), value = g_.source(store, 1);
    // Cells of register arrays, too: a store into any of them keeps or breaks the sign.
    const NodeId base = g_.source(place, 0);
    if (const auto it = invariants_.find(base.value); it != invariants_.end()) {
      const Polynomial stored = polynomial(value, 0);
      const auto below = combine({}, 0, stored, -1);
      if (it->second.never_negative && (!below || !is_at_most_zero(*below))) {
        it->second.never_negative = false;
        broken_ = true;
      }
      if (it->second.most && !is_at_most_zero(plus(stored, -*it->second.most))) {
        it->second.most.reset();
        broken_ = true;
      }
    }
    const NodeId r = register_of(place);
    if (!r) return;
    if (g_.sources(store).size() == 3) {
      held_.erase(r.value);
    } else {
      const auto it = alias_.find(value.value);
      held_[r.value] = it != alias_.end() ? it->second : Held{value, {}, {}};
    }
  }

  std::optional<bool> bool_literal(const Held& held) const {
    const auto v = held.value ? literal(g_, held.value) : std::nullopt;
    return v ? std::optional<bool>(v->integer != 0) : std::nullopt;
  }
  /// What follows when a bool held like this is `outcome`.
  static std::vector<Outcome> implied(const Held& held, bool outcome) {
    if (held.value) return {{held.value, outcome}};
    return outcome ? held.if_true : held.if_false;
  }

  /// After an IF its stores may or may not have happened. Of a bool something stays known where one of both values decides which: `t =
  /// false; if c { t = d }` is true only if c and d were (a short-circuit `&&`), `done = false; if c { done = true }` is false only if c
  /// was (an early return).
  void leave_if(std::size_t opener) {
    const Scope scope = std::move(scopes_.back());
    scopes_.back() = {scope.facts, scope.refined, {}, {}};
    close_scope();
    for (const NodeId r : stored_in_[opener]) {
      const auto before = scope.held_before.find(r.value);
      const auto after = held_.find(r.value);
      if (g_.type(r) != Type::Bool || before == scope.held_before.end() || after == held_.end()) {
        held_.erase(r.value);
        continue;
      }
      Held merged;
      for (const bool outcome : {true, false}) {
        // The outcome cannot come from a side that is the opposite literal: it came from the other one, so that one's condition held, too.
        const bool not_inside = bool_literal(after->second) == !outcome, not_before = bool_literal(before->second) == !outcome;
        if (not_inside == not_before) continue;
        std::vector<Outcome>& known = outcome ? merged.if_true : merged.if_false;
        known = implied(not_inside ? before->second : after->second, outcome);
        if (known.size() < kMaxFacts) known.emplace_back(scope.condition, !not_inside);
      }
      held_[r.value] = std::move(merged);
    }
  }

  // --- unknowns and their bounds --------------------------------------------------------------------------------------------
  /// The node whose value `id` has: what a register read yields, one PARAM a slot.
  NodeId canonical(NodeId id) const {
    if (const auto it = alias_.find(id.value); it != alias_.end() && it->second.value) return it->second.value;
    if (g_.op(id) == Op::Param && g_.arg_as<ParamArg>(id)->space == AddressSpace::None) {
      const auto it = param_of_slot_.find(g_.arg_as<ParamArg>(id)->slot);
      if (it != param_of_slot_.end() && g_.type(it->second) == g_.type(id)) return it->second;
    }
    return id;
  }

  Interval atom_interval(Atom a) {
    if (const auto it = refined_.find(a); it != refined_.end()) return it->second;
    return base_interval(NodeId(a));
  }
  Interval base_interval(NodeId id) {
    Interval i = bounds_.of(id);
    if (g_.op(id) != Op::Load || g_.sources(id).size() != 1 || g_.op(g_.source(id, 0)) != Op::Index) return i;
    const auto it = invariants_.find(g_.source(g_.source(id, 0), 0).value);
    if (it == invariants_.end()) return i;
    if (it->second.never_negative) i.lo = std::max(i.lo, Int128{0});
    if (it->second.most) i.hi = std::min(i.hi, *it->second.most);
    return i;
  }
  void refine(Atom a, const Interval& to) {
    const auto it = refined_.find(a);
    const Interval before = it != refined_.end() ? it->second : base_interval(NodeId(a));
    const Interval after = intersect(before, to);
    if (after == before) return;
    refined_log_.emplace_back(a, it != refined_.end() ? std::optional<Interval>(before) : std::nullopt);
    refined_[a] = after;
  }

  static Int128 times(Int128 a, Int128 b) {
    Int128 r = 0;
    if (__builtin_mul_overflow(a, b, &r) || r > kUnbounded || r < -kUnbounded) return (a < 0) == (b < 0) ? kUnbounded : -kUnbounded;
    return r;
  }
  Interval monomial_interval(const Monomial& m) {
    const Interval x = atom_interval(m.a);
    if (m.b == kNoAtom) return x;
    const Interval y = atom_interval(m.b);
    const Int128 c[] = {times(x.lo, y.lo), times(x.lo, y.hi), times(x.hi, y.lo), times(x.hi, y.hi)};
    return {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
  }
  /// Ends that leave 2^120 are unbounded, and stay so whatever is added.
  Interval interval(const Polynomial& p) {
    Interval sum{p.constant, p.constant};
    bool no_lo = false, no_hi = false;
    for (const Term& t : p.terms) {
      const Interval m = monomial_interval(t.of);
      const Int128 a = times(m.lo, t.factor), b = times(m.hi, t.factor);
      sum.lo += std::min(a, b);
      sum.hi += std::max(a, b);
      no_lo = no_lo || std::min(a, b) <= -kUnbounded || sum.lo <= -kUnbounded;
      no_hi = no_hi || std::max(a, b) >= kUnbounded || sum.hi >= kUnbounded;
      if (no_lo) sum.lo = -kUnbounded;
      if (no_hi) sum.hi = kUnbounded;
    }
    return sum;
  }

  static Polynomial plus(Polynomial p, Int128 c) {
    p.constant += c;
    return p;
  }

  // --- values as polynomials ------------------------------------------------------------------------------------------------
  Polynomial polynomial(NodeId id, int nesting) {
    id = canonical(id);
    if (const auto it = polynomials_.find(id.value); it != polynomials_.end()) return it->second;
    Polynomial p = compute(id, nesting);
    polynomials_[id.value] = p;
    return p;
  }

  Polynomial compute(NodeId id, int nesting) {
    if (const auto v = integer_literal(g_, id)) return Polynomial::number(*v);
    const Type type = g_.type(id);
    if (!is_int(type) || nesting > kMaxNesting) return Polynomial::atom(id.value);
    const std::span<const NodeId> s = g_.sources(id);
    const Op op = g_.op(id);
    std::optional<Polynomial> exact;
    if (op == Op::Add || op == Op::Sub)
      exact = combine(polynomial(s[0], nesting + 1), 1, polynomial(s[1], nesting + 1), op == Op::Add ? 1 : -1);
    if (op == Op::Mul) exact = multiply(polynomial(s[0], nesting + 1), polynomial(s[1], nesting + 1));
    if (op == Op::Neg) exact = combine({}, 0, polynomial(s[0], nesting + 1), -1);
    if (op == Op::Cast && is_int(g_.type(s[0]))) exact = polynomial(s[0], nesting + 1);
    if (op == Op::Mulacc) {
      const auto product = multiply(polynomial(s[0], nesting + 1), polynomial(s[1], nesting + 1));
      if (product) exact = combine(*product, 1, polynomial(s[2], nesting + 1), 1);
    }
    if (op == Op::Shl) {
      const auto count = integer_literal(g_, s[1]);
      if (count && type_bits(type) > 0)
        exact = combine(polynomial(s[0], nesting + 1), Int128{1} << (*count & (type_bits(type) - 1)), {}, 0);
    }
    // The exact value is the node's only if it does not leave the type.
    if (exact && fits(*exact, type)) return *exact;
    axioms(id, nesting);
    return Polynomial::atom(id.value);
  }

  bool fits(const Polynomial& p, Type type) {
    const Interval whole = type_interval(type), i = interval(p);
    if (i.lo < whole.lo) {
      const auto below = combine({}, 0, p, -1);
      if (!below || !is_at_most_zero(plus(*below, whole.lo), kWrapDepth, kWrapBudget)) return false;
    }
    return i.hi <= whole.hi || is_at_most_zero(plus(p, -whole.hi), kWrapDepth, kWrapBudget);
  }

  /// What an unknown's own operation says of it, given what is known here of its operands. Again wherever more is known.
  void axioms(NodeId id, int nesting) {
    const auto [known, is_new] = axioms_at_.emplace(id.value, moment_);
    if (!is_new && known->second == moment_) return;
    known->second = moment_;
    const std::span<const NodeId> s = g_.sources(id);
    const Op op = g_.op(id);
    const Polynomial self = Polynomial::atom(id.value);
    const auto at_most = [&](const Polynomial& x, const Polynomial& y, Int128 offset = 0) {  // x + offset <= y
      if (const auto fact = combine(x, 1, y, -1)) add_fact(plus(*fact, offset));
    };
    const auto* ins = op == Op::Ins ? g_.arg_as<InsArg>(id) : nullptr;
    const bool minimum = ins && ins->code == Ins::Min;
    if (!is_alu(op) && !minimum) return;
    std::vector<Polynomial> x;
    std::vector<Interval> in;
    for (const NodeId source : s) {
      if (!is_int(g_.type(source)) && g_.type(source) != Type::Bool) return;
      x.push_back(polynomial(source, nesting + 1));
      in.push_back(interval(x.back()));
    }
    if (minimum) {
      refine(id.value, {std::min(in[0].lo, in[1].lo), std::min(in[0].hi, in[1].hi)});
      at_most(self, x[0]);
      at_most(self, x[1]);
      return;
    }
    const auto right = s.size() == 2 ? integer_literal(g_, canonical(s[1])) : std::nullopt;
    if (const auto exact = exact_interval(op, in, right, g_.type(id))) refine(id.value, wrap(*exact, g_.type(id)));
    if (op == Op::Max) {
      at_most(x[0], self);
      at_most(x[1], self);
    }
    const bool counts = s.size() == 2 && in[0].lo >= 0;
    if ((op == Op::Cmod || op == Op::Floormod) && in[1].lo >= 1) {
      at_most(self, x[1], 1);
      if (counts) at_most(self, x[0]);
    }
    if ((op == Op::Cdiv || op == Op::Floordiv) && counts && in[1].lo >= 1) {
      at_most(self, x[0]);
      if (const auto product = multiply(self, x[1])) {
        at_most(*product, x[0]);
        // x - y < y * (x / y)
        if (const auto above = combine(x[0], 1, x[1], -1)) at_most(plus(*above, 1), *product);
      }
    }
    if (op == Op::Shr && counts && right && type_bits(g_.type(id)) > 0) {
      const Int128 scale = Int128{1} << (*right & (type_bits(g_.type(id)) - 1));
      if (const auto product = combine(self, scale, {}, 0)) {
        at_most(*product, x[0]);
        at_most(plus(x[0], 1 - scale), *product);
      }
    }
    if (op == Op::And && counts && g_.type(id) != Type::Bool) at_most(self, x[0]);
    if (op == Op::And && s.size() == 2 && in[1].lo >= 0 && g_.type(id) != Type::Bool) at_most(self, x[1]);
  }

  // --- facts ----------------------------------------------------------------------------------------------------------------
  /// fact <= 0 holds from here to the end of the scope.
  void add_fact(const Polynomial& fact) {
    if (fact.is_number()) return;
    for (const Term& t : fact.terms)
      for (const Atom a : {t.of.a, t.of.b})
        if (a != kNoAtom) facts_on_[a].push_back(static_cast<std::uint32_t>(facts_.size()));
    facts_.push_back(fact);
    // Each unknown that stands alone is bounded by the extremes of the rest.
    for (const Term& t : fact.terms) {
      if (t.of.b != kNoAtom) continue;
      const auto rest = combine(fact, 1, Polynomial::atom(t.of.a), -t.factor);
      if (!rest) continue;
      const Int128 least = interval(*rest).lo;  // factor * atom <= -least
      if (least <= -kUnbounded || least >= kUnbounded) continue;
      const Int128 limit = -least;
      const Int128 magnitude = t.factor < 0 ? -t.factor : t.factor;
      const Int128 quotient = limit >= 0 ? limit / magnitude : -((-limit + magnitude - 1) / magnitude);  // floor
      if (t.factor > 0) {
        refine(t.of.a, {-kUnbounded, quotient});
      } else {
        refine(t.of.a, {-quotient, kUnbounded});
      }
    }
  }

  void assume(NodeId condition, bool holds, int nesting) {
    if (nesting > kMaxNesting) return;
    if (const auto it = alias_.find(condition.value); it != alias_.end() && it->second.value != condition) {
      for (const auto& [node, outcome] : implied(it->second, holds)) assume(node, outcome, nesting + 1);
      return;
    }
    const std::span<const NodeId> s = g_.sources(condition);
    const Op op = g_.op(condition);
    const auto both = [&](bool value) {
      assume(s[0], value, nesting + 1);
      assume(s[1], value, nesting + 1);
    };
    const auto at_most = [&](NodeId x, NodeId y, Int128 offset) {  // x + offset <= y
      const Polynomial left = polynomial(x, 0), right = polynomial(y, 0);
      if (const auto fact = combine(left, 1, right, -1)) add_fact(plus(*fact, offset));
      learned();  // more arithmetic may be exact now
    };
    if (op == Op::Cast && g_.type(condition) == Type::Bool && g_.type(s[0]) == Type::Bool) return assume(s[0], holds, nesting + 1);
    if (g_.type(condition) != Type::Bool || s.size() < 2) return;
    if ((op == Op::And && holds) || (op == Op::Or && !holds)) return both(holds);
    const bool on_bools = g_.type(s[0]) == Type::Bool;
    if (op == Op::Xor || ((op == Op::Cmpne || op == Op::Cmpeq) && on_bools)) {
      // Compared with a literal: the other side, or its negation.
      for (const std::size_t side : {std::size_t{0}, std::size_t{1}})
        if (const auto v = integer_literal(g_, s[side])) return assume(s[1 - side], holds == ((*v != 0) == (op == Op::Cmpeq)), nesting + 1);
      return;
    }
    if (op == Op::Where) {
      const auto a = integer_literal(g_, s[1]), b = integer_literal(g_, s[2]);
      if (b == 0 && holds) return both(true);
      if (a == 1 && !holds) {
        assume(s[0], false, nesting + 1);
        return assume(s[2], false, nesting + 1);
      }
      if (a == 0 && holds) {
        assume(s[0], false, nesting + 1);
        return assume(s[2], true, nesting + 1);
      }
      return;
    }
    if (!is_int(g_.type(s[0]))) return;
    if (op == Op::Cmplt) return holds ? at_most(s[0], s[1], 1) : at_most(s[1], s[0], 0);
    if ((op == Op::Cmpeq && holds) || (op == Op::Cmpne && !holds)) {
      at_most(s[0], s[1], 0);
      at_most(s[1], s[0], 0);
      return;
    }
    if ((op == Op::Cmpne && holds) || (op == Op::Cmpeq && !holds)) {
      // x != y cuts an end off where y is one: x > 0 after x != 0 for a count.
      const Polynomial x = polynomial(s[0], 0), y = polynomial(s[1], 0);
      const Interval ix = interval(x), iy = interval(y);
      if (iy.is_single() && ix.lo == iy.lo) at_most(s[1], s[0], 1);
      if (iy.is_single() && ix.hi == iy.lo) at_most(s[0], s[1], 1);
    }
  }

  // --- proofs ---------------------------------------------------------------------------------------------------------------
  bool is_at_most_zero(const Polynomial& target, int depth = kDepth, int budget = kBudget) {
    budget_ = budget;
    return search(target, depth);
  }

  /// Is target <= 0? By bounds alone, or after cancelling a monomial with a fact: from f <= 0 and d * t - c * f <= 0 (c, d > 0) follows t
  /// <= 0.
  bool search(const Polynomial& target, int depth) {
    if (interval(target).hi <= 0) return true;
    if (depth == 0) return false;
    for (const Term& t : target.terms) {
      for (const auto& [in_fact, factor] : {std::pair(t.of.a, t.of.b), std::pair(t.of.b, t.of.a)}) {
        const auto on = in_fact == kNoAtom ? facts_on_.end() : facts_on_.find(in_fact);
        if (on == facts_on_.end()) continue;
        const std::vector<std::uint32_t>& facts = on->second;
        for (std::size_t i = facts.size(); i-- > (facts.size() > kMaxFacts ? facts.size() - kMaxFacts : 0);) {
          if (budget_ <= 0) return false;
          const Polynomial& fact = facts_[facts[i]];
          if (cancel(target, t, fact, depth)) return true;
          // A product also cancels with a fact on one factor, multiplied by the other factor when that is not negative.
          if (factor == kNoAtom || !fact.is_linear() || atom_interval(factor).lo < 0) continue;
          const auto scaled = multiply(fact, Polynomial::atom(factor));
          if (scaled && cancel(target, t, *scaled, depth)) return true;
        }
      }
    }
    return false;
  }

  bool cancel(const Polynomial& target, const Term& t, const Polynomial& fact, int depth) {
    const Int128 d = fact.factor(t.of);
    if (d == 0 || (d > 0) != (t.factor > 0)) return false;
    if (budget_ <= 0) return false;
    --budget_;
    const auto next = combine(target, d < 0 ? -d : d, fact, -(t.factor < 0 ? -t.factor : t.factor));
    return next && search(*next, depth - 1);
  }

  /// The number of elements of the storage behind a place, in its own type; none when nothing names it.
  std::optional<Polynomial> elements(NodeId base) {
    const auto* a = g_.arg_as<ParamArg>(base);
    if (!a) return std::nullopt;
    // A size stated for an argument is the author's claim; only the length that the launch passes is what memory there is.
    if (a->size && g_.op(base) == Op::Buffer) return Polynomial::number(*a->size);
    const bool argument = g_.op(base) == Op::Param;
    const auto slot = length_slots_.find({argument, a->slot});
    const auto param = slot == length_slots_.end() ? param_of_slot_.end() : param_of_slot_.find(slot->second);
    if (param == param_of_slot_.end()) return std::nullopt;
    const std::optional<std::int64_t> cells = argument ? cells_per_element(p_, a->slot, a->type) : 1;
    return cells ? combine(polynomial(param->second, 0), *cells, {}, 0) : std::nullopt;
  }

  void prove(std::size_t position, NodeId access, NodeId place, NodeId gate) {
    if (g_.op(place) != Op::Index || g_.sources(place).size() != 2) return;
    AccessProof proof{static_cast<int>(position), access, place, false, {}};
    const NodeId base = g_.source(place, 0), index = g_.source(place, 1);
    if (gate) {
      open_scope({});
      assume(gate, true, 0);
    }
    const Polynomial at = polynomial(index, 0);
    const Interval range = interval(at);
    const std::optional<Polynomial> size = elements(base);
    const auto below_zero = combine({}, 0, at, -1);
    const bool low = range.lo >= 0 || (below_zero && is_at_most_zero(*below_zero));
    const auto excess = size ? combine(at, 1, *size, -1) : std::nullopt;
    const bool by_range = size && size->is_number() && range.hi < size->constant;
    const bool high = by_range || (excess && is_at_most_zero(plus(*excess, 1)));
    // In a scope that is never entered anything holds.
    proof.proven = (low && high) || range.empty();
    proof.reason = reason(base, index, range, size, low, high, by_range);
    if (gate) close_scope();
    proofs_.push_back(std::move(proof));
  }

  std::string reason(NodeId base, NodeId index, const Interval& range, const std::optional<Polynomial>& size, bool low, bool high,
                     bool by_range) const {
    const std::string storage = render(g_, base, 60), text = render(g_, index, 120);
    const std::string lies = "`" + text + "` lies in [" + to_text(range.lo) + ", " + to_text(range.hi) + "]";
    if (range.empty()) return "the access is never reached";
    const std::string count = size && size->is_number() ? to_text(size->constant) : "the length of " + storage;
    if (low && by_range) return lies + ", below " + count;
    if (low && high) return "the conditions around it keep `" + text + "` below " + count;
    if (!low && high) return "nothing shows that `" + text + "` is not negative";
    if (!size) return "the program never asks for the length of " + storage + ", so nothing bounds `" + text + "`";
    return "nothing shows that `" + text + "` is below " + count + (low ? std::string() : " or not negative");
  }

  const Program& p_;
  const Graph& g_;
  BoundsTable bounds_;
  std::vector<int> partner_;
  std::vector<std::vector<NodeId>> stored_in_;     // by position of a RANGE or IF: registers stored inside
  std::unordered_map<int, NodeId> param_of_slot_;  // scalar slots
  std::map<std::pair<bool, int>, int>
      length_slots_;  // (of an argument, its slot) or (of shared storage, its number): the slot of the length
  std::unordered_map<std::uint32_t, Invariant> invariants_;  // by register BUFFER of integers
  bool broken_ = false;                                      // a store broke one in this walk

  std::vector<Scope> scopes_;
  std::vector<Polynomial> facts_;
  std::unordered_map<Atom, std::vector<std::uint32_t>> facts_on_;  // by unknown: indices into facts_, ascending
  std::unordered_map<Atom, Interval> refined_;
  std::vector<std::pair<Atom, std::optional<Interval>>> refined_log_;
  std::unordered_map<std::uint32_t, std::uint64_t> axioms_at_;  // by unknown: the moment of its axioms
  std::uint64_t moment_ = 0;
  std::unordered_map<std::uint32_t, Polynomial> polynomials_;  // valid for the facts of this moment
  std::unordered_map<std::uint32_t, Held> held_;               // by register BUFFER
  std::unordered_map<std::uint32_t, Held> alias_;              // by LOAD
  std::vector<AccessProof> proofs_;
  int budget_ = 0;
};

}  // namespace

std::vector<AccessProof> prove_in_bounds(const Program& program) { return Prover(program).run(); }

}  // namespace sarek::spec
