// Written types to TypeIds, and the declarations that are made of types: records, variants, signatures, constants.
#include <algorithm>
#include <cstdlib>

#include "compiler/sema/check.h"

namespace sarek::sema {

namespace {

std::optional<Bound> bound_by_name(std::string_view name) {
  if (name.empty()) return Bound::None;
  if (name == "scalar") return Bound::Scalar;
  if (name == "number") return Bound::Number;
  if (name == "integer") return Bound::Integer;
  if (name == "float") return Bound::Float;
  return std::nullopt;
}

/// Can the value of `e` be known before the kernel runs? Names that are parameters cannot.
bool looks_constant(const Checker& checker, const File& file, const syntax::Expr& e) {
  switch (e.kind) {
    case syntax::ExprKind::Int: return true;
    case syntax::ExprKind::Name: {
      const Entity* entity = checker.find(file, e.as<syntax::NameExpr>().name.text);
      return entity && entity->kind == EntityKind::Constant;
    }
    case syntax::ExprKind::Unary: return looks_constant(checker, file, *e.as<syntax::UnaryExpr>().operand);
    case syntax::ExprKind::Binary:
      return looks_constant(checker, file, *e.as<syntax::BinaryExpr>().left) &&
             looks_constant(checker, file, *e.as<syntax::BinaryExpr>().right);
    case syntax::ExprKind::Member: return e.as<syntax::MemberExpr>().base->kind == syntax::ExprKind::Name;
    case syntax::ExprKind::Float:
    case syntax::ExprKind::Bool:
    case syntax::ExprKind::Call:
    case syntax::ExprKind::TupleIndex:
    case syntax::ExprKind::Index:
    case syntax::ExprKind::Cast:
    case syntax::ExprKind::If:
    case syntax::ExprKind::Match:
    case syntax::ExprKind::Block:
    case syntax::ExprKind::Record:
    case syntax::ExprKind::Array:
    case syntax::ExprKind::ArrayRepeat:
    case syntax::ExprKind::Tuple:
    case syntax::ExprKind::Native:
    case syntax::ExprKind::Error: return false;
  }
  return false;
}

ir::Access access_of(syntax::Access access) {
  switch (access) {
    case syntax::Access::None: return ir::Access::None;
    case syntax::Access::In: return ir::Access::In;
    case syntax::Access::Out: return ir::Access::Out;
    case syntax::Access::InOut: return ir::Access::InOut;
  }
  return ir::Access::None;
}

}  // namespace

std::optional<std::vector<TypeId>> BodyChecker::type_arguments(syntax::List<syntax::TypeArg> args, std::size_t count, SourceRange range,
                                                               std::string_view of) {
  if (args.size() != count) {
    report(DiagnosticKind::WrongTypeArguments, range,
           "`" + std::string(of) + "` takes " + std::to_string(count) + (count == 1 ? " type argument" : " type arguments") + ", not " +
               std::to_string(args.size()));
    return std::nullopt;
  }
  std::vector<TypeId> out;
  for (const syntax::TypeArg& arg : args) {
    if (!arg.type) {
      report(DiagnosticKind::WrongTypeArguments, arg.value->range, "`" + std::string(of) + "` takes types as arguments, not integers");
      return std::nullopt;
    }
    out.push_back(resolve_type(*arg.type));
  }
  return out;
}

TypeId BodyChecker::resolve_named(const syntax::NamedType& t) {
  const std::string name(t.name.text);
  const File* where = &file;
  const Entity* entity = nullptr;
  if (t.module) {
    where = up.alias(file, t.module.text);
    if (!where) {
      report(DiagnosticKind::UnknownName, t.module.range, "there is no imported module `" + std::string(t.module.text) + "`");
      return types.error();
    }
    const auto found = where->names.find(t.name.text);
    if (found != where->names.end()) entity = &found->second;
  } else {
    const auto parameter = type_names.find(t.name.text);
    if (parameter != type_names.end() && t.args.empty()) return parameter->second;
    const std::optional<ir::Type> scalar = ir::type_by_name(name);
    constexpr ir::Type kLanguage[] = {ir::Type::Bool, ir::Type::I8,  ir::Type::U8,  ir::Type::I16, ir::Type::U16,
                                      ir::Type::I32,  ir::Type::U32, ir::Type::I64, ir::Type::U64, ir::Type::F16,
                                      ir::Type::Bf16, ir::Type::F32, ir::Type::F64};
    if (scalar && t.args.empty() && std::find(std::begin(kLanguage), std::end(kLanguage), *scalar) != std::end(kLanguage))
      return types.scalar(*scalar);
    entity = up.find(file, t.name.text);
    if (!entity && (name == "fragment_a" || name == "fragment_b" || name == "fragment_c")) {
      if (t.args.size() != 4 || !t.args[0].type) {
        report(DiagnosticKind::WrongTypeArguments, t.range,
               "a fragment is written `" + name + "<f16, 16, 16, 16>`: its scalar type, then m, n and k");
        return types.error();
      }
      TypeNode node{TypeForm::Fragment, {}, static_cast<std::uint32_t>(name.back() - 'a'), {resolve_type(*t.args[0].type)}, {}};
      for (std::size_t i = 1; i < 4; ++i) {
        const std::optional<std::int64_t> extent = t.args[i].value ? constant_integer(*t.args[i].value) : std::optional<std::int64_t>(-1);
        node.extents.push_back(extent.value_or(-1));
      }
      report(DiagnosticKind::NotYetLowered, t.range, "fragments are not yet lowered in this version");
      return types.intern(std::move(node));
    }
  }
  if (!entity || entity->kind != EntityKind::Record) {
    std::vector<std::string_view> names{"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"};
    for (const auto& [text, other] : where->visible)
      if (other.kind == EntityKind::Record) names.push_back(text);
    for (const auto& [text, type] : type_names) names.push_back(text);
    static constexpr std::pair<std::string_view, std::string_view> kForeign[] = {{"int", "i32"},    {"uint", "u32"}, {"float", "f32"},
                                                                                 {"double", "f64"}, {"half", "f16"}, {"long", "i64"},
                                                                                 {"char", "i8"},    {"uchar", "u8"}, {"short", "i16"}};
    std::string near = nearest_name(name, names);
    for (const auto& [from, to] : kForeign)
      if (name == from) near = to;
    Diagnostic& d = report(DiagnosticKind::UnknownType, t.name.range, "there is no type `" + name + "`");
    if (entity) d.note(entity->range, "this is what has the name");
    if (!near.empty()) d.fix(t.name.range, near, "did you mean `" + near + "`?");
    return types.error();
  }
  const std::uint32_t def = entity->index;
  const std::optional<std::vector<TypeId>> args = type_arguments(t.args, types.def(def).params.size(), t.range, types.def(def).name);
  if (!args) return types.error();
  const TypeId type = types.nominal(def, *args);
  for (std::size_t i = 0; i < args->size(); ++i) {
    const Bound bound = types.param_info(types[types.def(def).params[i]].def).bound;
    if (!types.is_error((*args)[i]) && !satisfies((*args)[i], bound)) {
      report(DiagnosticKind::UnmetBound, t.range,
             "`" + types.text((*args)[i]) + "` does not fit the bound of `" + types.text(types.def(def).params[i]) + "`")
          .note(types.param_info(types[types.def(def).params[i]].def).range, "the bound is declared here");
      return types.error();
    }
  }
  return type;
}

TypeId BodyChecker::resolve_type(const syntax::Type& type, bool allow_buffer) {
  switch (type.kind) {
    case syntax::TypeKind::Named: return resolve_named(type.as<syntax::NamedType>());
    case syntax::TypeKind::Array: {
      const auto& array = type.as<syntax::ArrayType>();
      const TypeId element = resolve_type(*array.element);
      if (array.dynamic) {
        report(DiagnosticKind::InvalidShared, type.range, "only a `shared` array may have the length `dyn`");
        return types.error();
      }
      if (array.extents.empty() && !allow_buffer) {
        report(DiagnosticKind::InvalidParameter, type.range,
               "a buffer can only be a parameter, with `in`, `out` or `inout`; a fixed array has a length: `[T; n]`");
        return types.error();
      }
      std::vector<std::int64_t> extents;
      for (const syntax::Expr* e : array.extents) {
        if (allow_buffer && !looks_constant(up, file, *e)) {
          extents.push_back(-1);
          continue;
        }
        const std::optional<std::int64_t> extent = constant_integer(*e);
        if (!extent) return types.error();
        if (*extent < 0 || *extent > kMaxCells) {
          report(DiagnosticKind::InvalidExtent, e->range, "an array cannot have " + std::to_string(*extent) + " elements");
          return types.error();
        }
        extents.push_back(*extent);
      }
      if (types.is_error(element)) return element;
      if (allow_buffer) return types.buffer(element, std::move(extents));
      const TypeId out = types.array(element, std::move(extents));
      if (types.is_concrete(out) && types.cells(out) > kMaxCells) {
        report(DiagnosticKind::InvalidExtent, type.range,
               "`" + types.text(out) + "` is larger than " + std::to_string(kMaxCells) + " cells");
        return types.error();
      }
      return out;
    }
    case syntax::TypeKind::Tuple: {
      std::vector<TypeId> parts;
      for (const syntax::Type* t : type.as<syntax::TupleType>().elements) parts.push_back(resolve_type(*t));
      if (std::any_of(parts.begin(), parts.end(), [&](TypeId t) { return types.is_error(t); })) return types.error();
      return types.tuple(std::move(parts));
    }
    case syntax::TypeKind::Tensor:
      report(DiagnosticKind::NotYetLowered, type.range, "tensors exist in graphs, which are not yet lowered in this version");
      return types.error();
    case syntax::TypeKind::Error: body.faulty = true; return types.error();
  }
  return types.error();
}

// --- records and variants --------------------------------------------------------------------------------------------------------

void Checker::declare_records() {
  for (File& file : module.files) {
    for (const syntax::Item* item : file.ast.items) {
      const bool variant = item->kind == syntax::ItemKind::Enum;
      if (item->kind != syntax::ItemKind::Struct && !variant) continue;
      const syntax::Name& name = variant ? item->as<syntax::EnumItem>().name : item->as<syntax::StructItem>().name;
      const auto found = file.names.find(name.text);
      // A second declaration of the name was reported and has no entry of its own.
      if (found == file.names.end() || found->second.range.begin != name.range.begin) continue;
      const std::uint32_t number = found->second.index;
      Body scratch;
      BodyChecker scope(*this, file, BodyChecker::Kind::Constant, scratch, false);
      std::vector<std::pair<std::string, std::uint32_t>> params;
      const auto& type_params = variant ? item->as<syntax::EnumItem>().type_params : item->as<syntax::StructItem>().type_params;
      for (std::size_t i = 0; i < type_params.size(); ++i)
        params.emplace_back(std::string(type_params[i].name.text), types[types.def(number).params[i]].def);
      scope.bind_type_params(params);
      if (variant) {
        const auto& e = item->as<syntax::EnumItem>();
        std::vector<ConstructorDef> constructors;
        for (const syntax::Variant& v : e.variants) {
          ConstructorDef c{std::string(v.name.text), {}, v.name.range};
          const auto same =
              std::find_if(constructors.begin(), constructors.end(), [&](const ConstructorDef& o) { return o.name == c.name; });
          if (same != constructors.end()) {
            report(DiagnosticKind::DuplicateName, v.name.range, "constructor `" + c.name + "` is declared twice")
                .note(same->range, "the first is here");
            continue;
          }
          for (const syntax::Type* t : v.payload) c.payload.push_back(scope.resolve_type(*t));
          constructors.push_back(std::move(c));
        }
        if (constructors.empty() && !item->broken)
          report(DiagnosticKind::EmptyEnum, name.range, "`" + std::string(name.text) + "` has no constructor, so no value");
        types.def(number).constructors = std::move(constructors);
      } else {
        const auto& s = item->as<syntax::StructItem>();
        std::vector<FieldDef> fields;
        for (const syntax::Field& f : s.fields) {
          const auto same = std::find_if(fields.begin(), fields.end(), [&](const FieldDef& o) { return o.name == f.name.text; });
          if (same != fields.end()) {
            report(DiagnosticKind::DuplicateName, f.name.range, "field `" + std::string(f.name.text) + "` is declared twice")
                .note(same->range, "the first is here");
            continue;
          }
          fields.push_back({std::string(f.name.text), scope.resolve_type(*f.type), f.name.range});
        }
        types.def(number).fields = std::move(fields);
      }
    }
  }
  check_record_cycles();
}

void Checker::check_record_cycles() {
  // Depth-first over "is made of"; a record on the path again contains itself.
  std::map<std::uint32_t, int> state;
  const std::function<bool(TypeId)> mentions = [&](TypeId type) -> bool {
    const TypeNode node = types[type];
    if (node.form == TypeForm::Record || node.form == TypeForm::Variant) {
      if (state[node.def] == 1) return true;
      if (state[node.def] == 0) {
        state[node.def] = 1;
        bool cyclic = false;
        const auto part = [&](TypeId& member, SourceRange range) {
          if (!mentions(member)) return;
          if (!cyclic)
            report(DiagnosticKind::RecursiveType, range, "`" + types.def(node.def).name + "` would contain itself")
                .note(types.def(node.def).range, "declared here");
          cyclic = true;
          member = types.error();
        };
        for (FieldDef& f : types.def(node.def).fields) part(f.type, f.range);
        for (ConstructorDef& c : types.def(node.def).constructors)
          for (TypeId& t : c.payload) part(t, c.range);
        state[node.def] = 2;
      }
    }
    for (const TypeId arg : node.args)
      if (mentions(arg)) return true;
    return false;
  };
  for (const std::uint32_t number : module.record_numbers) mentions(types.nominal(number, types.def(number).params));
}

// --- signatures ------------------------------------------------------------------------------------------------------------------

std::optional<ParamDef> Checker::parameter(BodyChecker& scope, const syntax::Param& param, bool in_kernel) {
  ParamDef out;
  out.name = param.name.text;
  out.range = param.name.range;
  out.access = access_of(param.access);
  const bool array = param.type->kind == syntax::TypeKind::Array;
  const std::string name = "`" + out.name + "`";
  if (out.access != ir::Access::None && !array) {
    report(DiagnosticKind::InvalidParameter, param.access_range, "only buffers are `in`, `out` or `inout`; " + name + " is no buffer")
        .fix(param.access_range, "", "leave it out");
    scope.resolve_type(*param.type);
    return std::nullopt;
  }
  if (out.access == ir::Access::None && array && param.type->as<syntax::ArrayType>().extents.empty() &&
      !param.type->as<syntax::ArrayType>().dynamic) {
    report(DiagnosticKind::InvalidParameter, param.type->range, "buffer " + name + " must say how it is used: `in`, `out` or `inout`")
        .fix({param.type->range.file, param.type->range.begin, param.type->range.begin}, "in ", "read only");
    scope.resolve_type(*param.type, true);
    return std::nullopt;
  }
  out.type = scope.resolve_type(*param.type, out.access != ir::Access::None);
  if (types.is_error(out.type)) return std::nullopt;
  if (out.access != ir::Access::None)
    for (const syntax::Expr* e : param.type->as<syntax::ArrayType>().extents) out.extents.push_back(e);
  if (in_kernel) {
    const TypeId element = out.access != ir::Access::None ? types[out.type].args[0] : out.type;
    if (!types.is_concrete(element) || types.is_broken(element)) return std::nullopt;
    const std::int64_t cells = types.cells(element);
    if (cells == 0) {
      report(DiagnosticKind::InvalidParameter, param.type->range, name + " holds nothing");
      return std::nullopt;
    }
    if (cells > (out.access != ir::Access::None ? 4096 : 64)) {
      report(DiagnosticKind::InvalidParameter, param.type->range,
             name + " has " + std::to_string(cells) + " cells" +
                 (out.access != ir::Access::None ? " an element; 4096 are possible" : "; 64 are possible: pass a buffer"));
      return std::nullopt;
    }
  }
  return out;
}

void Checker::declare_function(Function& f) {
  // On demand: a constant may be computed by a function that stands below it.
  if (f.declared) return;
  f.declared = true;
  Body scratch;
  BodyChecker scope(*this, *f.file, BodyChecker::Kind::Constant, scratch, false);
  std::set<std::string_view> seen;
  for (const syntax::TypeParam& p : f.item->type_params) {
    std::optional<Bound> bound = bound_by_name(p.bound.text);
    if (!bound) {
      report(DiagnosticKind::UnknownType, p.bound.range,
             "there is no bound `" + std::string(p.bound.text) + "`; there are scalar, number, integer and float");
      bound = Bound::None;
      f.signature_broken = true;
    }
    if (!seen.insert(p.name.text).second)
      report(DiagnosticKind::DuplicateName, p.name.range, "type parameter `" + std::string(p.name.text) + "` is declared twice");
    f.type_params.emplace_back(std::string(p.name.text), types.add_param({std::string(p.name.text), *bound, p.name.range}));
  }
  scope.bind_type_params(f.type_params);
  std::map<std::string_view, SourceRange> names;
  for (const syntax::Param& p : f.item->params) {
    const auto [first, fresh] = names.emplace(p.name.text, p.name.range);
    if (!fresh)
      report(DiagnosticKind::DuplicateName, p.name.range, "parameter `" + std::string(p.name.text) + "` is declared twice")
          .note(first->second, "the first is here");
    if (std::optional<ParamDef> param = parameter(scope, p, false)) {
      f.params.push_back(std::move(*param));
    } else {
      // The place stays, so that calls are checked against the right number.
      ParamDef broken;
      broken.name = p.name.text;
      broken.range = p.name.range;
      broken.type = types.error();
      f.params.push_back(std::move(broken));
      f.signature_broken = true;
    }
  }
  f.result = f.item->result ? scope.resolve_type(*f.item->result) : types.unit();
  if (types.is_error(f.result)) f.signature_broken = true;
  if (f.item->inline_depth) {
    const std::optional<std::int64_t> depth = scope.constant_integer(*f.item->inline_depth);
    if (depth && (*depth < 1 || *depth > 1000)) {
      report(DiagnosticKind::InvalidUnroll, f.item->inline_depth->range,
             "a body cannot be put in place " + std::to_string(*depth) + " times; 1 to 1000 are possible");
      f.signature_broken = true;
    } else if (depth) {
      f.inline_depth = static_cast<int>(*depth);
    }
  }
  if (f.item->unroll.factor) scope.constant_integer(*f.item->unroll.factor);
}

void Checker::declare_kernels() {
  for (Kernel& k : module.kernels) {
    Body scratch;
    BodyChecker scope(*this, *k.file, BodyChecker::Kind::Constant, scratch, false);
    k.wide = k.item->wide;
    k.broken = k.item->broken;
    if (k.item->params.empty() && !k.broken)
      report(DiagnosticKind::KernelWithoutParameters, k.item->name.range,
             "a kernel must have at least one parameter, or nothing comes out of it");
    std::map<std::string_view, SourceRange> names;
    for (const syntax::Param& p : k.item->params) {
      const auto [first, fresh] = names.emplace(p.name.text, p.name.range);
      k.broken = k.broken || !fresh;
      if (!fresh)
        report(DiagnosticKind::DuplicateName, p.name.range, "parameter `" + std::string(p.name.text) + "` is declared twice")
            .note(first->second, "the first is here");
      if (std::optional<ParamDef> param = parameter(scope, p, true)) {
        k.params.push_back(std::move(*param));
      } else {
        ParamDef broken;
        broken.name = p.name.text;
        broken.range = p.name.range;
        broken.type = types.error();
        broken.access = access_of(p.access);
        k.params.push_back(std::move(broken));
        k.broken = true;
      }
    }
    if (k.item->block.size() > 3) {
      k.broken = true;  // the parser has refused it
      continue;
    }
    // Without a block size: one thread.
    std::int64_t threads = 1;
    for (std::size_t i = 0; i < k.item->block.size(); ++i) {
      const std::optional<std::int64_t> extent = scope.constant_integer(*k.item->block[i]);
      if (!extent) {
        k.broken = true;
        continue;
      }
      if (*extent < 1 || *extent > 1024) {
        report(DiagnosticKind::InvalidBlock, k.item->block[i]->range,
               "a block extent is between 1 and 1024, not " + std::to_string(*extent));
        k.broken = true;
        continue;
      }
      k.block[i] = static_cast<int>(*extent);
      threads *= *extent;
    }
    if (threads > 1024 && !k.broken) {
      report(DiagnosticKind::InvalidBlock, k.item->block_range, "a block of " + std::to_string(threads) + " threads is more than 1024");
      k.broken = true;
    }
  }
}

// --- constants -------------------------------------------------------------------------------------------------------------------

void Checker::check_constant(ConstantDef& c) {
  c.state = ConstantDef::State::Busy;
  Body body;
  BodyChecker scope(*this, *c.file, BodyChecker::Kind::Constant, body, false);
  TypeId type;
  if (c.type) type = scope.resolve_type(*c.type);
  std::optional<std::vector<std::uint64_t>> cells;
  if (!type || !types.is_error(type)) {
    cells = c.value ? scope.constant_value(*c.value, type) : std::nullopt;
    if (c.override_text && type && types.is_concrete(type)) {
      // The text is a literal of the constant's own type.
      const std::string& text = *c.override_text;
      Expr literal;
      literal.negative = !text.empty() && text[0] == '-';
      const std::string digits = literal.negative ? text.substr(1) : text;
      const ir::Type scalar = types.scalar_of(type);
      std::optional<std::uint64_t> bits;
      if (scalar == ir::Type::Bool) {
        if (text == "true" || text == "1") bits = 1;
        if (text == "false" || text == "0") bits = 0;
      } else if (scalar != ir::Type::Void && !digits.empty()) {
        char* end = nullptr;
        literal.integer = std::strtoull(digits.c_str(), &end, 0);
        const bool whole = *end == '\0' && digits.find_first_of("-+ ") == std::string::npos;
        if (!whole && ir::is_float(scalar)) {
          literal.is_float = true;
          std::strtod(digits.c_str(), &end);
        }
        literal.digits = digits;
        if (*end == '\0' && (whole || literal.is_float)) bits = literal_bits(literal, scalar);
      }
      if (!bits) {
        report(DiagnosticKind::InvalidDefine, c.range,
               "`-D " + c.name + "=" + text + "` gives no value of type `" + types.text(type) + "`");
        cells.reset();
      } else {
        cells = {*bits};
      }
    }
  }
  c.state = ConstantDef::State::Done;
  c.resolved = cells ? type : types.error();
  if (cells) c.cells = std::move(*cells);
}

const ConstantDef* Checker::constant(std::uint32_t index, SourceRange use) {
  ConstantDef& c = module.constants[index];
  if (c.state == ConstantDef::State::Busy) {
    report(DiagnosticKind::ConstantCycle, use, "the value of `" + c.name + "` depends on itself").note(c.range, "declared here");
    return nullptr;
  }
  if (c.state == ConstantDef::State::Untouched) check_constant(c);
  return types.is_error(c.resolved) ? nullptr : &c;
}

}  // namespace sarek::sema
