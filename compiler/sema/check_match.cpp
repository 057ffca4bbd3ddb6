// Patterns: what they bind, whether a match covers every case, which arms can never be reached. Coverage is the usefulness algorithm of
// Maranget, "Warnings for pattern matching" (2007): a row is useful when some value matches it and no row above.
#include <algorithm>
#include <set>

#include "compiler/sema/check.h"

namespace sarek::sema {

Pattern* BodyChecker::make_pattern(PatternForm form, TypeId type, SourceRange range) {
  body.patterns.emplace_back();
  Pattern* p = &body.patterns.back();
  p->form = form;
  p->type = type;
  p->range = range;
  return p;
}

Pattern* BodyChecker::check_pattern(const syntax::Pattern& p, TypeId type, bool mutable_binding) {
  const auto bind = [&](std::string_view name, SourceRange range) {
    Pattern* out = make_pattern(PatternForm::Bind, type, range);
    out->local = add_local(name, range, type, mutable_binding ? LocalKind::Var : LocalKind::Let);
    return out;
  };
  switch (p.kind) {
    case syntax::PatternKind::Wildcard: return make_pattern(PatternForm::Wildcard, type, p.range);
    case syntax::PatternKind::Name: {
      const syntax::Name& name = p.as<syntax::NamePattern>().name;
      if (mutable_binding) return bind(name.text, name.range);
      const TypeId known = infer.resolve(type);
      if (types.form(known) == TypeForm::Variant) {
        const int ctor = types.def_of(known).constructor(name.text);
        if (ctor >= 0) {
          const ConstructorDef& c = types.def_of(known).constructors[static_cast<std::size_t>(ctor)];
          if (!c.payload.empty()) {
            report(DiagnosticKind::WrongArgumentCount, name.range,
                   "constructor `" + c.name + "` has a payload: write `" + c.name + "(...)`")
                .note(c.range, "declared here");
            return make_pattern(PatternForm::Wildcard, type, p.range);
          }
          Pattern* out = make_pattern(PatternForm::Constructor, type, p.range);
          out->constructor = static_cast<std::uint32_t>(ctor);
          return out;
        }
      }
      return bind(name.text, name.range);
    }
    case syntax::PatternKind::Literal: {
      const syntax::Expr* value = p.as<syntax::LiteralPattern>().value;
      bool negative = false;
      if (value->kind == syntax::ExprKind::Unary) {
        negative = true;
        value = value->as<syntax::UnaryExpr>().operand;
      }
      Pattern* out = make_pattern(PatternForm::Literal, type, p.range);
      TypeId own;
      if (value->kind == syntax::ExprKind::Bool) {
        own = types.boolean();
        out->value = value->as<syntax::BoolExpr>().value ? 1 : 0;
      } else {
        const auto& literal = value->as<syntax::IntExpr>();
        const std::optional<ir::Type> suffix = ir::type_by_name(literal.suffix);
        own = suffix ? types.scalar(*suffix) : fresh(VarKind::Integer, p.range);
        out->value = negative ? -static_cast<ir::Int128>(literal.value) : static_cast<ir::Int128>(literal.value);
      }
      if (!infer.unify(type, own)) mismatch(p.range, type, own);
      return out;
    }
    case syntax::PatternKind::Constructor: {
      const auto& c = p.as<syntax::ConstructorPattern>();
      const std::string name(c.name.text);
      const TypeId known = infer.resolve(type);
      const auto give_up = [&] {
        for (const syntax::Pattern* a : c.arguments) check_pattern(*a, types.error(), false);
        return make_pattern(PatternForm::Wildcard, types.error(), p.range);
      };
      if (types.is_error(known)) return give_up();
      std::optional<std::uint32_t> def;
      if (c.enum_name) {
        const Entity* entity = up.find(file, c.enum_name.text);
        if (!entity || entity->kind != EntityKind::Record || !types.def(entity->index).is_variant) {
          report(DiagnosticKind::UnknownType, c.enum_name.range, "there is no enum `" + std::string(c.enum_name.text) + "`");
          return give_up();
        }
        def = entity->index;
      } else if (types.form(known) == TypeForm::Variant) {
        def = types[known].def;
      } else if (const auto choices = up.constructors(file, name); choices.size() == 1) {
        def = choices[0].first;
      }
      if (!def) {
        report(DiagnosticKind::UnknownConstructor, c.name.range, "there is no constructor `" + name + "` of `" + infer.text(known) + "`");
        return give_up();
      }
      std::vector<TypeId> args;
      for (std::size_t i = 0; i < types.def(*def).params.size(); ++i) args.push_back(fresh(VarKind::Any, p.range));
      const TypeId own = types.nominal(*def, args);
      if (!infer.unify(type, own)) {
        mismatch(p.range, type, own);
        return give_up();
      }
      const int ctor = types.def(*def).constructor(name);
      if (ctor < 0) {
        unknown_constructor(*def, c.name);
        return give_up();
      }
      const ConstructorDef declared = types.def(*def).constructors[static_cast<std::size_t>(ctor)];
      if (declared.payload.size() != c.arguments.size()) {
        report(DiagnosticKind::WrongArgumentCount, p.range,
               "constructor `" + name + "` has " + std::to_string(declared.payload.size()) +
                   (declared.payload.size() == 1 ? " part" : " parts") + ", not " + std::to_string(c.arguments.size()))
            .note(declared.range, "declared here");
        return give_up();
      }
      Pattern* out = make_pattern(PatternForm::Constructor, type, p.range);
      out->constructor = static_cast<std::uint32_t>(ctor);
      std::vector<Pattern*> parts;
      for (std::size_t i = 0; i < c.arguments.size(); ++i)
        parts.push_back(check_pattern(*c.arguments[i], types.member(infer.deep(own), declared.payload[i]), false));
      out->parts = std::move(parts);
      return out;
    }
    case syntax::PatternKind::Tuple: {
      const auto& t = p.as<syntax::TuplePattern>();
      std::vector<TypeId> element_types;
      const TypeId known = infer.resolve(type);
      if (types.form(known) == TypeForm::Tuple && types[known].args.size() == t.elements.size()) {
        element_types = types[known].args;
      } else {
        for (const syntax::Pattern* e : t.elements) element_types.push_back(fresh(VarKind::Any, e->range));
        const TypeId own = types.tuple(element_types);
        if (!infer.unify(type, own)) {
          report(DiagnosticKind::TypeMismatch, p.range,
                 "cannot unify types `" + infer.text(type) + "` and a tuple of " + std::to_string(t.elements.size()) + " elements");
          element_types.assign(t.elements.size(), types.error());
        }
      }
      Pattern* out = make_pattern(PatternForm::Tuple, type, p.range);
      std::vector<Pattern*> parts;
      for (std::size_t i = 0; i < t.elements.size(); ++i) parts.push_back(check_pattern(*t.elements[i], element_types[i], mutable_binding));
      out->parts = std::move(parts);
      return out;
    }
    case syntax::PatternKind::Or: {
      const auto& o = p.as<syntax::OrPattern>();
      Pattern* out = make_pattern(PatternForm::Or, type, p.range);
      std::vector<Pattern*> parts;
      // Every alternative binds the same names; they share their locals with the first.
      Scope first;
      const Scope before = scopes.back();
      for (const syntax::Pattern* alternative : o.alternatives) {
        scopes.back() = before;
        const auto first_local = static_cast<std::uint32_t>(body.locals.size());
        Pattern* part = check_pattern(*alternative, type, mutable_binding);
        Scope bound;
        for (const auto& [name, scoped] : scopes.back())
          if (!scoped.is_constant && scoped.local >= first_local) bound[name] = scoped;
        if (parts.empty()) {
          first = bound;
        } else {
          const bool same = first.size() == bound.size() && std::equal(first.begin(), first.end(), bound.begin(),
                                                                       [](const auto& a, const auto& b) { return a.first == b.first; });
          if (!same) report(DiagnosticKind::PatternBindings, alternative->range, "every alternative must bind the same names");
          const std::function<void(Pattern*)> rename = [&](Pattern* q) {
            if (q->form == PatternForm::Bind) {
              const auto found = first.find(body.locals[q->local].name);
              if (found != first.end()) {
                if (!infer.unify(body.locals[found->second.local].type, q->type))
                  mismatch(q->range, body.locals[found->second.local].type, q->type);
                body.locals[q->local].used = true;
                q->local = found->second.local;
              }
            }
            for (Pattern* inner : q->parts) rename(inner);
          };
          rename(part);
        }
        parts.push_back(part);
      }
      scopes.back() = before;
      for (const auto& [name, scoped] : first) scopes.back()[name] = scoped;
      out->parts = std::move(parts);
      return out;
    }
    case syntax::PatternKind::Error: body.faulty = true; return make_pattern(PatternForm::Wildcard, types.error(), p.range);
  }
  return make_pattern(PatternForm::Wildcard, types.error(), p.range);
}

Expr* BodyChecker::check_match(const syntax::MatchExpr& e, TypeId want) {
  Expr* scrutinee = check(*e.scrutinee);
  if (infer.kind(scrutinee->type) == VarKind::Number) infer.constrain(scrutinee->type, VarKind::Integer);
  Expr* out = make(ExprForm::Match, types.never(), e.range, {scrutinee});
  TypeId type;
  SourceRange type_range;
  bool all_diverge = !e.arms.empty();
  for (const syntax::MatchArm& a : e.arms) {
    const ScopeGuard guard(*this);
    Arm arm;
    arm.range = a.range;
    arm.pattern = check_pattern(*a.pattern, scrutinee->type, false);
    if (a.guard) {
      arm.guard = check(*a.guard, types.boolean());
      expect(arm.guard, types.boolean());
      out->exits |= arm.guard->exits;
    }
    arm.body = check(*a.body, type ? type : want);
    out->exits |= arm.body->exits;
    all_diverge = all_diverge && arm.body->diverges;
    const bool never = types.form(infer.resolve(arm.body->type)) == TypeForm::Never;
    if (!type && !never) {
      type = arm.body->type;
      type_range = arm.body->range;
    } else if (type && !infer.unify(type, arm.body->type)) {
      Expr* at = arm.body->form == ExprForm::Block && arm.body->args[0] ? arm.body->args[0] : arm.body;
      mismatch(at->range, type, arm.body->type).note(type_range, "an arm above gives `" + infer.text(type) + "`");
      type = types.error();
    }
    out->arms.push_back(arm);
  }
  if (e.arms.empty()) report(DiagnosticKind::NonExhaustiveMatch, e.range, "a match without arms covers nothing");
  if (type) out->type = type;
  out->diverges = scrutinee->diverges || all_diverge;
  return out;
}

// --- coverage --------------------------------------------------------------------------------------------------------------------

namespace {

/// A pattern without or-patterns and names: null stands for "anything".
using Row = std::vector<const Pattern*>;

class Coverage {
 public:
  explicit Coverage(TypeTable& types) : types_(types) {}

  /// A vector of values, as text, that matches no row and that `wanted` matches (a pattern a column); none when there is none. `wanted` is
  /// what makes an arm useful; all wild, it asks for any value that the rows leave open.
  std::optional<std::vector<std::string>> missing(const std::vector<Row>& rows, const Row& wanted, const std::vector<TypeId>& columns) {
    const auto is_wild = [](const Row& r) { return std::all_of(r.begin(), r.end(), [](const Pattern* p) { return p == nullptr; }); };
    if (std::any_of(rows.begin(), rows.end(), is_wild)) return std::nullopt;
    if (columns.empty()) return std::vector<std::string>();
    work_ += 1 + static_cast<std::int64_t>(rows.size());
    if (gave_up()) return std::nullopt;
    const TypeId type = columns[0];
    const TypeNode node = types_[type];
    if (node.form == TypeForm::Tuple) {
      const auto any = [](const Pattern& p) { return p.form == PatternForm::Tuple; };
      auto found = missing(specialise(rows, any, node.args.size()), specialise({wanted}, any, node.args.size()).front(),
                           columns_behind(node.args, columns));
      if (!found) return std::nullopt;
      return join(*found, "(", node.args.size(), ")");
    }
    if (node.form == TypeForm::Variant) return missing_constructor(rows, wanted, columns);
    const bool boolean = type == types_.boolean();
    std::set<ir::Int128> values;
    if (boolean) values = {0, 1};
    for (const Row& r : rows)
      if (r[0] && r[0]->form == PatternForm::Literal) values.insert(r[0]->value);
    const std::vector<TypeId> rest(columns.begin() + 1, columns.end());
    if (wanted[0]) {
      values = {wanted[0]->value};
    } else if (!boolean) {
      // The values that no literal names: only rows that take anything match them.
      const auto none = [](const Pattern&) { return false; };
      if (auto found = missing(specialise(rows, none, 0), tail(wanted), rest)) return join(*found, "_", 0, "");
    }
    for (const ir::Int128 v : values) {
      auto found = missing(
          specialise(rows, [&](const Pattern& p) { return p.form == PatternForm::Literal && p.value == v; }, 0), tail(wanted), rest);
      if (found) return join(*found, boolean ? (v ? "true" : "false") : std::to_string(static_cast<long long>(v)), 0, "");
    }
    return std::nullopt;
  }

  /// The search was stopped: what it found is no answer. The problem is NP-hard (Sekar, Ramesh and Ramakrishnan, 1995).
  bool gave_up() const { return work_ > kMaxWork; }

  /// Rows of one column, or-patterns spread out and names made wild.
  static void spread(const Pattern* p, std::vector<const Pattern*>& out, std::deque<Pattern>& store) {
    switch (p->form) {
      case PatternForm::Wildcard:
      case PatternForm::Bind: out.push_back(nullptr); return;
      case PatternForm::Or:
        for (const Pattern* part : p->parts) spread(part, out, store);
        return;
      case PatternForm::Literal: out.push_back(p); return;
      case PatternForm::Constructor:
      case PatternForm::Tuple: {
        // The product of what the parts may be.
        std::vector<std::vector<Pattern*>> combinations{{}};
        for (const Pattern* part : p->parts) {
          std::vector<const Pattern*> choices;
          spread(part, choices, store);
          std::vector<std::vector<Pattern*>> next;
          for (const auto& c : combinations)
            for (const Pattern* choice : choices) {
              next.push_back(c);
              next.back().push_back(const_cast<Pattern*>(choice));
              if (next.size() > 4096) break;
            }
          combinations = std::move(next);
        }
        for (auto& c : combinations) {
          store.push_back(*p);
          store.back().parts = std::move(c);
          out.push_back(&store.back());
        }
        return;
      }
    }
  }

 private:
  static constexpr std::int64_t kMaxWork = 4'000'000;  // rows looked at; a second or two

  std::optional<std::vector<std::string>> missing_constructor(const std::vector<Row>& rows, const Row& wanted,
                                                              const std::vector<TypeId>& columns) {
    const TypeId type = columns[0];
    const std::vector<ConstructorDef> constructors = types_.def_of(type).constructors;
    std::vector<bool> named(constructors.size(), false);
    for (const Row& r : rows)
      if (r[0]) named[r[0]->constructor] = true;
    // Constructors that no row names are matched by the same rows, whatever their payload: one of them stands for all.
    bool others_covered = false;
    for (std::size_t c = 0; c < constructors.size(); ++c) {
      if (wanted[0] ? wanted[0]->constructor != c : !named[c] && others_covered) continue;
      std::vector<TypeId> payload;
      for (const TypeId t : constructors[c].payload) payload.push_back(types_.member(type, t));
      const std::size_t arity = payload.size();
      const auto matches = [&](const Pattern& p) { return p.form == PatternForm::Constructor && p.constructor == c; };
      auto found =
          missing(specialise(rows, matches, arity), specialise({wanted}, matches, arity).front(), columns_behind(payload, columns));
      if (found) return arity == 0 ? join(*found, constructors[c].name, 0, "") : join(*found, constructors[c].name + "(", arity, ")");
      others_covered = others_covered || !named[c];
    }
    return std::nullopt;
  }

  static Row tail(const Row& row) { return Row(row.begin() + 1, row.end()); }
  static std::vector<TypeId> columns_behind(std::vector<TypeId> first, const std::vector<TypeId>& columns) {
    first.insert(first.end(), columns.begin() + 1, columns.end());
    return first;
  }
  template <class Matches>
  static std::vector<Row> specialise(const std::vector<Row>& rows, Matches matches, std::size_t arity) {
    std::vector<Row> out;
    for (const Row& r : rows) {
      if (r[0] && !matches(*r[0])) continue;
      Row row;
      for (std::size_t i = 0; i < arity; ++i) row.push_back(r[0] ? r[0]->parts[i] : nullptr);
      row.insert(row.end(), r.begin() + 1, r.end());
      out.push_back(std::move(row));
    }
    return out;
  }
  static std::vector<std::string> join(const std::vector<std::string>& found, std::string open, std::size_t count,
                                       const std::string& close) {
    for (std::size_t i = 0; i < count; ++i) open += (i ? ", " : "") + found[i];
    std::vector<std::string> out{open + close};
    out.insert(out.end(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end());
    return out;
  }

  TypeTable& types_;
  std::int64_t work_ = 0;
};

}  // namespace

void BodyChecker::check_exhaustive(Expr* match) {
  const TypeId type = match->args[0]->type;
  if (match->arms.empty() || types.is_error(type)) return;
  std::deque<Pattern> store;
  std::vector<Row> rows;
  std::vector<SourceRange> covered_by;
  for (const Arm& arm : match->arms) {
    std::vector<const Pattern*> spread;
    Coverage::spread(arm.pattern, spread, store);
    // An arm is reached when one of its alternatives matches something that the rows above leave open.
    const bool useful = std::any_of(spread.begin(), spread.end(), [&](const Pattern* p) {
      Coverage coverage(types);
      return coverage.missing(rows, {p}, {type}) || coverage.gave_up();
    });
    if (!useful) report(DiagnosticKind::UnreachableArm, arm.pattern->range, "this arm is never reached: the arms above cover it");
    if (arm.guard) continue;  // it may let values through
    for (const Pattern* p : spread) rows.push_back({p});
  }
  const SourceRange range = {match->range.file, match->range.begin, match->args[0]->range.end};
  const auto too_many_cases = [&] {
    report(DiagnosticKind::NonExhaustiveMatch, range, "this match combines too many cases to tell whether it covers all of them")
        .note(match->arms.back().range, "`_ => ...` as the last arm takes the rest");
  };
  // Cases are listed one by one: each found one is added as if it were covered, up to a few.
  std::string cases;
  int listed = 0;
  if (types.form(type) == TypeForm::Variant) {
    const std::vector<ConstructorDef> constructors = types.def_of(type).constructors;
    for (std::size_t c = 0; c < constructors.size() && listed < 4; ++c) {
      std::vector<Row> inner_rows;
      for (const Row& r : rows) {
        if (r[0] && r[0]->constructor != c) continue;
        Row row;
        for (std::size_t i = 0; i < constructors[c].payload.size(); ++i) row.push_back(r[0] ? r[0]->parts[i] : nullptr);
        inner_rows.push_back(std::move(row));
      }
      std::vector<TypeId> inner;
      for (const TypeId t : constructors[c].payload) inner.push_back(types.member(type, t));
      Coverage coverage(types);
      const auto missing = coverage.missing(inner_rows, Row(inner.size(), nullptr), inner);
      if (coverage.gave_up()) return too_many_cases();
      if (!missing) continue;
      std::string text = constructors[c].name;
      for (std::size_t i = 0; i < missing->size(); ++i) text += (i ? ", " : "(") + (*missing)[i];
      if (!missing->empty()) text += ")";
      cases += (listed++ ? ", `" : "`") + text + "`";
    }
  } else {
    Coverage coverage(types);
    const auto missing = coverage.missing(rows, {nullptr}, {type});
    if (coverage.gave_up()) return too_many_cases();
    if (missing) {
      ++listed;
      cases = "`" + (*missing)[0] + "`";
    }
  }
  if (!listed) return;
  Diagnostic& d = report(DiagnosticKind::NonExhaustiveMatch, range, "this match does not cover " + cases);
  if (std::any_of(match->arms.begin(), match->arms.end(), [](const Arm& a) { return a.guard; }))
    d.note(match->arms.back().range, "an arm with a guard covers nothing by itself; `_ => ...` behind it takes the rest");
}

}  // namespace sarek::sema
