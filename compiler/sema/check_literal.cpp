// Typing of arrays and records written out.
#include "compiler/sema/check.h"

namespace sarek::sema {

Expr* BodyChecker::check_array(const syntax::ArrayExpr& e, TypeId want) {
  const TypeId wanted = want ? infer.resolve(want) : TypeId{};
  TypeId element = wanted && types.form(wanted) == TypeForm::Array ? types[wanted].args[0] : fresh(VarKind::Any, e.range);
  std::vector<Expr*> parts;
  for (const syntax::Expr* item : e.elements) {
    Expr* part = check(*item, element);
    if (parts.empty() && infer.kind(element) == VarKind::Any) {
      infer.unify(element, part->type);
    } else {
      expect(part, element);
    }
    parts.push_back(part);
  }
  // The elements of a table with several extents are written flat.
  std::vector<std::int64_t> extents{static_cast<std::int64_t>(parts.size())};
  if (wanted && types.form(wanted) == TypeForm::Array && types.element_count(wanted) == extents[0]) extents = types[wanted].extents;
  return make(ExprForm::Construct, types.array(element, std::move(extents)), e.range, std::move(parts));
}

Expr* BodyChecker::check_repeat(const syntax::ArrayRepeatExpr& e, TypeId want) {
  const TypeId wanted = want ? infer.resolve(want) : TypeId{};
  Expr* value = check(*e.value, wanted && types.form(wanted) == TypeForm::Array ? types[wanted].args[0] : TypeId{});
  const std::optional<std::int64_t> count = constant_integer(*e.count);
  if (!count) return error(e.range);
  if (*count < 0 || *count > kMaxCells) {
    report(DiagnosticKind::InvalidExtent, e.count->range, "an array cannot have " + std::to_string(*count) + " elements");
    return error(e.range);
  }
  std::vector<std::int64_t> extents{*count};
  if (wanted && types.form(wanted) == TypeForm::Array && types.element_count(wanted) == *count) extents = types[wanted].extents;
  return make(ExprForm::Repeat, types.array(value->type, std::move(extents)), e.range, {value});
}

Expr* BodyChecker::check_record(const syntax::RecordExpr& e, TypeId want) {
  const File* where = &file;
  if (e.module) {
    where = up.alias(file, e.module.text);
    if (!where) {
      report(DiagnosticKind::UnknownName, e.module.range, "there is no imported module `" + std::string(e.module.text) + "`");
      return error(e.range);
    }
  }
  const Entity* entity = nullptr;
  if (e.module) {
    const auto found = where->names.find(e.name.text);
    if (found != where->names.end()) entity = &found->second;
  } else {
    entity = up.find(file, e.name.text);
  }
  if (!entity || entity->kind != EntityKind::Record || types.def(entity->index).is_variant) {
    Diagnostic& d = report(DiagnosticKind::UnknownType, e.name.range, "there is no record `" + std::string(e.name.text) + "`");
    if (entity) d.note(entity->range, "this is what has the name");
    for (const syntax::RecordField& f : e.fields) check(*f.value);
    if (e.base) check(*e.base);
    return error(e.range);
  }
  const std::uint32_t def = entity->index;
  const std::size_t param_count = types.def(def).params.size();
  std::vector<TypeId> args;
  if (!e.type_args.empty()) {
    const std::optional<std::vector<TypeId>> given = type_arguments(e.type_args, param_count, e.name.range, e.name.text);
    if (!given) return error(e.range);
    args = *given;
  } else {
    for (std::size_t i = 0; i < param_count; ++i) args.push_back(fresh(VarKind::Any, e.name.range));
  }
  const TypeId type = types.nominal(def, args);
  if (want && types.form(infer.resolve(want)) == TypeForm::Record) infer.unify(type, want);
  std::vector<Expr*> parts(types.def(def).fields.size(), nullptr);
  std::vector<SourceRange> given(parts.size());
  bool faulty = false;
  for (const syntax::RecordField& f : e.fields) {
    const int index = types.def(def).field(f.name.text);
    if (index < 0) {
      std::vector<std::string_view> names;
      for (const FieldDef& field : types.def(def).fields) names.push_back(field.name);
      const std::string near = nearest_name(f.name.text, names);
      Diagnostic& d = report(DiagnosticKind::UnknownField, f.name.range,
                             "field `" + std::string(f.name.text) + "` not found in `" + types.def(def).name + "`");
      d.note(types.def(def).range, "the record is declared here");
      if (!near.empty()) d.fix(f.name.range, near, "did you mean `" + near + "`?");
      check(*f.value);
      faulty = true;
      continue;
    }
    const auto i = static_cast<std::size_t>(index);
    const TypeId field_type = types.member(type, types.def(def).fields[i].type);
    Expr* value = check(*f.value, field_type);
    expect(value, field_type);
    if (parts[i]) {
      report(DiagnosticKind::DuplicateName, f.name.range, "field `" + std::string(f.name.text) + "` is given twice")
          .note(given[i], "it has a value here");
      continue;
    }
    parts[i] = value;
    given[i] = f.name.range;
  }
  if (e.base) {
    Expr* base = check(*e.base, type);
    if (!expect(base, type)) return error(e.range);
    const std::uint32_t local = add_local("", e.base->range, type, LocalKind::Let);
    body.locals[local].used = true;
    Stmt* let = make_stmt(StmtForm::Let, e.base->range);
    let->pattern = make_pattern(PatternForm::Bind, type, e.base->range);
    let->pattern->local = local;
    let->value = base;
    let->exits = base->exits;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i]) continue;
      Expr* whole = make(ExprForm::Local, type, e.base->range);
      whole->index = local;
      parts[i] = make(ExprForm::Field, types.member(type, types.def(def).fields[i].type), e.base->range, {whole});
      parts[i]->index = static_cast<std::uint32_t>(i);
    }
    if (faulty) return error(e.range);
    Expr* made = make(ExprForm::Construct, type, e.range, std::move(parts));
    Expr* block = make(ExprForm::Block, type, e.range, {made});
    block->exits |= let->exits;
    block->statements.push_back(let);
    return block;
  }
  std::string missing;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!parts[i]) missing += (missing.empty() ? "`" : ", `") + types.def(def).fields[i].name + "`";
  if (!missing.empty() && !faulty) {
    report(DiagnosticKind::MissingField, e.name.range, "`" + types.def(def).name + "` needs a value for " + missing)
        .note(types.def(def).range, "the record is declared here");
    faulty = true;
  }
  if (faulty) return error(e.range);
  return make(ExprForm::Construct, type, e.range, std::move(parts));
}

}  // namespace sarek::sema
