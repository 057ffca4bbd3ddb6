// Typing of calls: functions of the module, constructors of variants, built-in functions, bitcast.
#include <algorithm>

#include "compiler/sema/check.h"

namespace sarek::sema {

bool BodyChecker::wrong_count(std::string_view what, std::size_t wanted, std::size_t given, SourceRange range) {
  if (wanted == given) return false;
  report(DiagnosticKind::WrongArgumentCount, range,
         std::string(what) + " takes " + std::to_string(wanted) + (wanted == 1 ? " argument" : " arguments") + ", not " +
             std::to_string(given));
  return true;
}

Expr* BodyChecker::check_call(const syntax::CallExpr& e, TypeId want) {
  const auto check_rest = [&] {
    for (const syntax::Expr* a : e.args) check_raw(*a, {});
    return error(e.range);
  };
  if (e.callee->kind == syntax::ExprKind::Member) {
    const auto& member = e.callee->as<syntax::MemberExpr>();
    const syntax::NameExpr* base = member.base->kind == syntax::ExprKind::Name ? &member.base->as<syntax::NameExpr>() : nullptr;
    if (const std::optional<std::uint32_t> def = enum_of_module(member.base)) return call_constructor(*def, member, e, want);
    if (base && !lookup(base->name.text)) {
      const Entity* entity = up.find(file, base->name.text);
      if (entity && entity->kind == EntityKind::Module) {
        File& other = module.files[entity->index];
        const auto found = other.names.find(member.name.text);
        if (found != other.names.end() && found->second.kind == EntityKind::Function)
          return call_function(e, module.functions[found->second.index], want);
        report(DiagnosticKind::UnknownName, member.name.range,
               "module `" + std::string(base->name.text) + "` has no function `" + std::string(member.name.text) + "`");
        return check_rest();
      }
      if (entity && entity->kind == EntityKind::Record && types.def(entity->index).is_variant)
        return call_constructor(entity->index, member, e, want);
    }
    report(DiagnosticKind::NotCallable, e.callee->range, "only functions, constructors and built-in functions can be called");
    return check_rest();
  }
  if (e.callee->kind != syntax::ExprKind::Name) {
    report(DiagnosticKind::NotCallable, e.callee->range, "only functions, constructors and built-in functions can be called");
    return check_rest();
  }
  const syntax::Name& name = e.callee->as<syntax::NameExpr>().name;
  if (const Scoped* scoped = lookup(name.text)) {
    report(DiagnosticKind::NotCallable, name.range, "`" + std::string(name.text) + "` is a value and cannot be called")
        .note(scoped->range, "it is declared here");
    return check_rest();
  }
  if (const Entity* entity = up.find(file, name.text)) {
    if (entity->kind == EntityKind::Function) return call_function(e, module.functions[entity->index], want);
    const char* why =
        entity->kind == EntityKind::Kernel ? " is a kernel; kernels are launched, from a pipeline or the host" : " cannot be called";
    if (entity->kind != EntityKind::Record || !types.def(entity->index).is_variant || types.def(entity->index).constructor(name.text) < 0) {
      report(DiagnosticKind::NotCallable, name.range, "`" + std::string(name.text) + "`" + why).note(entity->range, "it is declared here");
      return check_rest();
    }
  }
  bool found = false;
  if (Expr* made = bare_constructor(name, true, e.args, e.range, want, found); found) return made;
  if (name.text == "bitcast") return check_bitcast(e);
  if (const std::optional<Builtin> builtin = builtin_by_name(name.text)) return call_builtin(e, *builtin, want);
  unknown_name(name);
  return check_rest();
}

Expr* BodyChecker::call_constructor(std::uint32_t def, const syntax::MemberExpr& callee, const syntax::CallExpr& e, TypeId want) {
  const int ctor = types.def(def).constructor(callee.name.text);
  if (ctor >= 0) return constructor(def, static_cast<std::uint32_t>(ctor), callee.base_type_args, true, e.args, e.range, want);
  unknown_constructor(def, callee.name);
  for (const syntax::Expr* a : e.args) check_raw(*a, {});
  return error(e.range);
}

std::optional<std::uint32_t> BodyChecker::enum_of_module(const syntax::Expr* e) const {
  if (e->kind != syntax::ExprKind::Member) return std::nullopt;
  const auto& member = e->as<syntax::MemberExpr>();
  if (member.base->kind != syntax::ExprKind::Name) return std::nullopt;
  const std::string_view alias = member.base->as<syntax::NameExpr>().name.text;
  const Entity* entity = lookup(alias) ? nullptr : up.find(file, alias);
  if (!entity || entity->kind != EntityKind::Module) return std::nullopt;
  const auto& names = module.files[entity->index].names;
  const auto found = names.find(member.name.text);
  if (found == names.end() || found->second.kind != EntityKind::Record || !types.def(found->second.index).is_variant) return std::nullopt;
  return found->second.index;
}

Expr* BodyChecker::call_function(const syntax::CallExpr& e, Function& callee, TypeId want) {
  up.declare_function(callee);
  Substitution by;
  std::vector<TypeId> type_args;
  std::optional<std::vector<TypeId>> given;
  if (!e.type_args.empty()) given = type_arguments(e.type_args, callee.type_params.size(), e.callee->range, callee.name);
  for (std::size_t i = 0; i < callee.type_params.size(); ++i) {
    // The arguments say what it is; what the bound promises is checked at the end, where the message can name it.
    type_args.push_back(given ? (*given)[i] : fresh(VarKind::Any, e.callee->range));
    by[callee.type_params[i].second] = type_args.back();
  }
  if (callee.signature_broken) {
    for (const syntax::Expr* a : e.args) check_raw(*a, {});
    return error(e.range);
  }
  if (wrong_count("`" + callee.name + "`", callee.params.size(), e.args.size(), e.range)) {
    for (const syntax::Expr* a : e.args) check_raw(*a, {});
    return error(e.range);
  }
  const TypeId result_type = types.substitute(callee.result, by);
  if (want && !callee.type_params.empty()) {
    // The context may say what T is, but a wrong context is reported where the result is used.
    const TypeId wanted = infer.resolve(want);
    const bool useful = types.form(wanted) == TypeForm::Record || types.form(wanted) == TypeForm::Variant;
    if (useful) infer.unify(result_type, wanted);
  }
  std::vector<Expr*> args;
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    const ParamDef& param = callee.params[i];
    const TypeId type = types.substitute(param.type, by);
    if (types.form(type) != TypeForm::Buffer) {
      Expr* arg = check(*e.args[i], type);
      expect(arg, type);
      args.push_back(arg);
      continue;
    }
    Expr* arg = check_raw(*e.args[i], {});
    args.push_back(arg);
    const TypeId have = infer.resolve(arg->type);
    if (types.is_error(have)) continue;
    const bool storage = arg->form == ExprForm::Local &&
                         (body.locals[arg->index].kind == LocalKind::Buffer || body.locals[arg->index].kind == LocalKind::Shared ||
                          body.locals[arg->index].kind == LocalKind::DynamicShared);
    if (!storage || (types.form(have) != TypeForm::Buffer && types.form(have) != TypeForm::Array)) {
      report(DiagnosticKind::TypeMismatch, arg->range,
             "cannot unify types `" + types.text(type) + "` and `" + infer.text(have) + "`: a buffer or shared array is needed")
          .note(param.range, "the parameter is declared here");
      continue;
    }
    if (!infer.unify(types[have].args[0], types[type].args[0])) mismatch(arg->range, type, have);
    use_place(arg, param.access == ir::Access::In ? Use::Read : param.access == ir::Access::Out ? Use::Write : Use::ReadWrite, arg->range);
  }
  // A plain literal becomes what the bound asks for.
  for (std::size_t i = 0; i < callee.type_params.size(); ++i) {
    const Bound bound = types.param_info(callee.type_params[i].second).bound;
    if (bound == Bound::Float) infer.constrain(type_args[i], VarKind::Float);
    if (bound == Bound::Integer) infer.constrain(type_args[i], VarKind::Integer);
  }
  Expr* out = make(ExprForm::Call, result_type, e.range, std::move(args));
  out->callee = &callee;
  out->type_args = std::move(type_args);
  return out;
}

Expr* BodyChecker::bare_constructor(const syntax::Name& name, bool has_args, syntax::List<const syntax::Expr*> args, SourceRange range,
                                    TypeId want, bool& found) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> choices = up.constructors(file, name.text);
  if (choices.empty()) return nullptr;
  found = true;
  if (choices.size() > 1 && want) {
    // The context picks.
    const TypeId wanted = infer.resolve(want);
    if (types.form(wanted) == TypeForm::Variant) {
      const auto fits = [&](const auto& c) { return c.first == types[wanted].def; };
      const auto it = std::find_if(choices.begin(), choices.end(), fits);
      if (it != choices.end()) choices = {*it};
    }
  }
  if (choices.size() > 1) {
    Diagnostic& d = report(DiagnosticKind::AmbiguousName, name.range, "several enums have a constructor `" + std::string(name.text) + "`");
    for (const auto& [def, ctor] : choices)
      d.note(types.def(def).constructors[ctor].range, "`" + types.def(def).name + "." + std::string(name.text) + "`");
    for (const syntax::Expr* a : args) check_raw(*a, {});
    return error(range);
  }
  return constructor(choices[0].first, choices[0].second, {}, has_args, args, range, want);
}

Expr* BodyChecker::constructor(std::uint32_t def, std::uint32_t ctor, syntax::List<syntax::TypeArg> type_args, bool has_args,
                               syntax::List<const syntax::Expr*> args, SourceRange range, TypeId want) {
  std::vector<TypeId> arguments;
  const std::size_t param_count = types.def(def).params.size();
  if (!type_args.empty()) {
    const std::optional<std::vector<TypeId>> given = type_arguments(type_args, param_count, range, types.def(def).name);
    if (!given) return error(range);
    arguments = *given;
  } else {
    for (std::size_t i = 0; i < param_count; ++i) arguments.push_back(fresh(VarKind::Any, range));
  }
  const TypeId type = types.nominal(def, arguments);
  if (want && types.form(infer.resolve(want)) == TypeForm::Variant) infer.unify(type, want);
  const std::vector<TypeId> payload = types.def(def).constructors[ctor].payload;
  const std::string name = "`" + types.def(def).constructors[ctor].name + "`";
  if (payload.empty() && has_args) {
    report(DiagnosticKind::WrongArgumentCount, range, "constructor " + name + " has no payload; write it without parentheses")
        .note(types.def(def).constructors[ctor].range, "declared here");
    for (const syntax::Expr* a : args) check_raw(*a, {});
    return error(range);
  }
  if (wrong_count("constructor " + name, payload.size(), args.size(), range)) {
    for (const syntax::Expr* a : args) check_raw(*a, {});
    return error(range);
  }
  std::vector<Expr*> parts;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const TypeId part = types.member(type, payload[i]);
    Expr* arg = check(*args[i], part);
    expect(arg, part);
    parts.push_back(arg);
  }
  Expr* out = make(ExprForm::Inject, type, range, std::move(parts));
  out->index = ctor;
  return out;
}

Expr* BodyChecker::check_bitcast(const syntax::CallExpr& e) {
  if (e.type_args.size() != 1 || !e.type_args[0].type) {
    report(DiagnosticKind::WrongTypeArguments, e.callee->range, "bitcast names the type to make: `bitcast<u32>(x)`");
    for (const syntax::Expr* a : e.args) check(*a);
    return error(e.range);
  }
  const TypeId to = resolve_type(*e.type_args[0].type);
  if (wrong_count("`bitcast`", 1, e.args.size(), e.range)) {
    for (const syntax::Expr* a : e.args) check(*a);
    return error(e.range);
  }
  Expr* arg = check(*e.args[0]);
  if (types.is_error(to)) return error(e.range);
  return make(ExprForm::Bitcast, to, e.range, {arg});
}

Expr* BodyChecker::call_builtin(const syntax::CallExpr& e, Builtin builtin, TypeId want) {
  const BuiltinInfo& info = builtin_info(builtin);
  const std::string name = "`" + std::string(info.name) + "`";
  if (!e.type_args.empty()) report(DiagnosticKind::WrongTypeArguments, e.callee->range, name + " has no type arguments");
  if (wrong_count(name, info.count, e.args.size(), e.range)) {
    for (const syntax::Expr* a : e.args) check(*a);
    return error(e.range);
  }
  const bool atomic = info.shape == BuiltinShape::Atomic || info.shape == BuiltinShape::AtomicBits ||
                      info.shape == BuiltinShape::AtomicStep || info.shape == BuiltinShape::AtomicCas;
  const bool pure = info.shape == BuiltinShape::Float1 || info.shape == BuiltinShape::Float2 || info.shape == BuiltinShape::Float3 ||
                    info.shape == BuiltinShape::Number1 || info.shape == BuiltinShape::Number2 || info.shape == BuiltinShape::Integer2 ||
                    info.shape == BuiltinShape::Count || info.shape == BuiltinShape::Later1 || info.shape == BuiltinShape::Later2;
  if (!pure && kind == Kind::Constant) {
    report(DiagnosticKind::NotConstant, e.range, name + " cannot be called before the kernel runs");
    return error(e.range);
  }
  if (!pure && kind == Kind::Pipeline) {
    report(DiagnosticKind::InvalidOperand, e.range, name + " exists in kernels, not in pipelines");
    return error(e.range);
  }
  std::vector<Expr*> args;
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    if (atomic && i == 0) {
      Expr* place = check_raw(*e.args[0], {});
      const Expr* root = root_of(place);
      if (types.is_error(infer.resolve(place->type))) return error(e.range);
      const LocalKind root_kind = root->form == ExprForm::Local ? body.locals[root->index].kind : LocalKind::Let;
      if (root_kind != LocalKind::Buffer && root_kind != LocalKind::Shared && root_kind != LocalKind::DynamicShared) {
        report(DiagnosticKind::InvalidOperand, place->range, name + " needs a place in a buffer or in shared memory, such as `buffer[i]`");
        return error(e.range);
      }
      use_place(place, Use::ReadWrite, place->range);
      args.push_back(place);
      continue;
    }
    const bool follows = !args.empty() && info.shape != BuiltinShape::Shuffle;
    args.push_back(check(*e.args[i], follows ? args[0]->type : info.shape == BuiltinShape::Shuffle ? TypeId{} : want));
    if (follows) expect(args.back(), args[0]->type);
  }
  TypeId type = args.empty() ? types.unit() : args[0]->type;
  switch (info.shape) {
    case BuiltinShape::Float1:
    case BuiltinShape::Float2:
    case BuiltinShape::Float3:
    case BuiltinShape::Later1:
    case BuiltinShape::Later2:
      // sqrt(2) means sqrt(2.0).
      infer.constrain(type, VarKind::Float);
      break;
    case BuiltinShape::Number1:
    case BuiltinShape::Number2:
    case BuiltinShape::Reduce: infer.constrain(type, VarKind::Number); break;
    case BuiltinShape::Integer2:
    case BuiltinShape::Count:
    case BuiltinShape::ReduceBits: infer.constrain(type, VarKind::Integer); break;
    case BuiltinShape::Effect: type = types.unit(); break;
    case BuiltinShape::Shuffle: expect(args[1], types.scalar(ir::Type::I32)); break;
    case BuiltinShape::Vote: expect(args[0], types.boolean()); break;
    case BuiltinShape::Ballot:
      expect(args[0], types.boolean());
      type = types.scalar(ir::Type::U32);
      break;
    case BuiltinShape::Mask: type = types.scalar(ir::Type::U32); break;
    case BuiltinShape::Atomic:
    case BuiltinShape::AtomicBits:
    case BuiltinShape::AtomicStep:
    case BuiltinShape::AtomicCas: break;
  }
  if (info.shape == BuiltinShape::Later1 || info.shape == BuiltinShape::Later2)
    report(DiagnosticKind::UnsupportedFunction, e.range,
           "not available yet in this version: " + name + " (it must give the same bits on every backend)");
  Expr* out = make(ExprForm::Intrinsic, type, e.range, std::move(args));
  out->builtin = builtin;
  return out;
}

}  // namespace sarek::sema
