// Pipelines, and what callers may know of a module: kernels, records, launches. Tests are typed in tests.cpp.
#include <algorithm>

#include "compiler/sema/check.h"

namespace sarek::sema {

namespace {

/// What records and variants a type is made of, inner ones first.
class RecordList {
 public:
  RecordList(TypeTable& types, std::vector<RecordInfo>& out) : types_(types), out_(out) {}

  void add(TypeId type) {
    const TypeNode node = types_[type];
    for (const TypeId arg : node.args) add(arg);
    if (node.form != TypeForm::Record && node.form != TypeForm::Variant) return;
    const RecordDef def = types_.def_of(type);
    for (const FieldDef& f : def.fields) add(types_.member(type, f.type));
    for (const ConstructorDef& c : def.constructors)
      for (const TypeId t : c.payload) add(types_.member(type, t));
    if (std::any_of(out_.begin(), out_.end(), [&](const RecordInfo& r) { return r.name == types_.text(type); })) return;
    RecordInfo info;
    info.name = types_.text(type);
    info.doc = def.doc;
    info.is_variant = def.is_variant;
    info.layout = types_.layout(type);
    for (std::size_t i = 0; i < def.fields.size(); ++i)
      info.fields.push_back(field(def.fields[i].name, types_.member(type, def.fields[i].type), types_.field_offset(type, i)));
    for (std::size_t c = 0; c < def.constructors.size(); ++c) {
      ConstructorInfo constructor{def.constructors[c].name, {}};
      for (std::size_t i = 0; i < def.constructors[c].payload.size(); ++i) {
        const TypeId part = types_.member(type, def.constructors[c].payload[i]);
        const std::vector<Slot> slots = types_.slots(part);
        const auto places = types_.payload_slots(type, c, i);
        // A payload is spread over the variant's pools: one entry per cell, named "0" where it is a scalar, "0.k" otherwise.
        int cell = 0;
        for (std::size_t s = 0; s < slots.size(); ++s)
          for (std::int64_t k = 0; k < slots[s].count; ++k, ++cell) {
            const std::int64_t at = types_.variant_offset(type, places[s].first) + (places[s].second + k) * ir::type_bytes(slots[s].type);
            FieldInfo f;
            f.name = std::to_string(i) + (types_.form(part) == TypeForm::Scalar ? "" : "." + std::to_string(cell));
            f.type_name = std::string(ir::type_name(slots[s].type));
            f.scalar = slots[s].type;
            f.offset = at;
            constructor.payload.push_back(std::move(f));
          }
      }
      info.constructors.push_back(std::move(constructor));
    }
    out_.push_back(std::move(info));
  }

 private:
  FieldInfo field(const std::string& name, TypeId type, std::int64_t offset) {
    FieldInfo f;
    f.name = name;
    f.type_name = types_.text(type);
    f.offset = offset;
    while (types_.form(type) == TypeForm::Array) {
      f.extents.insert(f.extents.end(), types_[type].extents.begin(), types_[type].extents.end());
      type = types_[type].args[0];
    }
    f.scalar = types_.scalar_of(type);
    if (f.scalar == ir::Type::Void) f.record = types_.text(type);
    return f;
  }

  TypeTable& types_;
  std::vector<RecordInfo>& out_;
};

ParamInfo param_info(TypeTable& types, const ParamDef& p) {
  ParamInfo out;
  out.name = p.name;
  out.is_buffer = types.form(p.type) == TypeForm::Buffer;
  out.access = p.access;
  const TypeId element = out.is_buffer ? types[p.type].args[0] : p.type;
  out.element = types.layout(element);
  if (out.is_buffer)
    for (const std::int64_t e : types[p.type].extents) out.view.push_back(e < 0 ? 0 : e);
  return out;
}

}  // namespace

void Checker::check_pipelines() {
  for (Module::Pipeline& p : module.pipelines) {
    if (p.item->broken) continue;
    PipelineInfo info;
    info.name = p.name;
    info.doc = p.item->doc;
    info.range = p.item->name.range;
    Body body;
    BodyChecker scope(*this, *p.file, BodyChecker::Kind::Pipeline, body, false);
    std::vector<ParamDef> params;
    for (const syntax::Param& param : p.item->params) {
      std::optional<ParamDef> def = parameter(scope, param, true);
      if (!def) {
        scope.add_local(param.name.text, param.name.range, types.error(), LocalKind::Param);
        continue;
      }
      const bool buffer = types.form(def->type) == TypeForm::Buffer;
      const std::uint32_t local = scope.add_local(def->name, def->range, def->type, buffer ? LocalKind::Buffer : LocalKind::Param);
      body.locals[local].access = def->access;
      info.params.push_back(param_info(types, *def));
      params.push_back(std::move(*def));
    }
    for (const syntax::Stmt* s : p.item->body->statements) {
      if (s->kind != syntax::StmtKind::Launch) {
        if (s->kind == syntax::StmtKind::Let) {
          scope.check_let(s->as<syntax::LetStmt>());
        } else if (s->kind == syntax::StmtKind::Const) {
          scope.check_local_constant(s->as<syntax::ConstStmt>());
        } else if (s->kind != syntax::StmtKind::Error) {
          report(DiagnosticKind::InvalidLaunch, s->range, "a pipeline is a list of launches and of `let` in between");
        }
        continue;
      }
      const auto& launch = s->as<syntax::LaunchStmt>();
      const File* where = launch.module ? alias(*p.file, launch.module.text) : p.file;
      const Entity* entity = nullptr;
      if (where && launch.module) {
        const auto found = where->names.find(launch.kernel.text);
        if (found != where->names.end()) entity = &found->second;
      } else if (where) {
        entity = find(*where, launch.kernel.text);
      }
      if (!entity || entity->kind != EntityKind::Kernel) {
        std::vector<std::string_view> names;
        for (const auto& [text, e] : p.file->visible)
          if (e.kind == EntityKind::Kernel) names.push_back(text);
        const std::string near = nearest_name(launch.kernel.text, names);
        Diagnostic& d =
            report(DiagnosticKind::UnknownKernel, launch.kernel.range, "there is no kernel `" + std::string(launch.kernel.text) + "`");
        if (!near.empty()) d.fix(launch.kernel.range, near, "did you mean `" + near + "`?");
        continue;
      }
      const Kernel& k = module.kernels[entity->index];
      info.launches.push_back({k.name, launch.range});
      if (launch.grid.size() > 3) report(DiagnosticKind::InvalidLaunch, launch.range, "a grid has one to three extents");
      const auto count = [&](const syntax::Expr& e) {
        Expr* checked = scope.check(e, types.scalar(ir::Type::I32));
        scope.expect(checked, types.scalar(ir::Type::I32));
      };
      for (const syntax::Expr* e : launch.grid) count(*e);
      if (launch.dynamic_elements) count(*launch.dynamic_elements);
      if (k.params.size() != launch.args.size()) {
        report(DiagnosticKind::WrongArgumentCount, launch.range,
               "kernel `" + k.name + "` takes " + std::to_string(k.params.size()) + " arguments, not " + std::to_string(launch.args.size()))
            .note(k.item->name.range, "it is declared here");
        continue;
      }
      if (k.broken) continue;
      for (std::size_t i = 0; i < launch.args.size(); ++i) {
        const ParamDef& param = k.params[i];
        if (types.form(param.type) != TypeForm::Buffer) {
          Expr* arg = scope.check(*launch.args[i], param.type);
          scope.expect(arg, param.type);
          continue;
        }
        Expr* arg = scope.check_raw(*launch.args[i], {});
        const TypeId have = scope.infer.resolve(arg->type);
        if (types.is_error(have)) continue;
        if (types.form(have) != TypeForm::Buffer || types[have].args[0] != types[param.type].args[0]) {
          scope.mismatch(arg->range, param.type, have).note(param.range, "the parameter is declared here");
          continue;
        }
        scope.use_place(arg,
                        param.access == ir::Access::In    ? Use::Read
                        : param.access == ir::Access::Out ? Use::Write
                                                          : Use::ReadWrite,
                        arg->range);
      }
    }
    scope.finish();
    const bool in_root = p.file == &module.files[0];
    if (!body.faulty && in_root && !sink.has_errors())
      report(DiagnosticKind::PipelineNotLowered, p.item->name.range,
             "pipeline `" + p.name + "` is not yet lowered in this version: launch its kernels one by one");
    if (in_root) module.interface.pipelines.push_back(std::move(info));
  }
}

void Checker::build_interface() {
  RecordList records(types, module.interface.records);
  for (const Kernel& k : module.kernels) {
    if (k.file != &module.files[0]) continue;
    KernelInfo info;
    info.name = k.name;
    info.doc = k.item->doc;
    info.range = k.item->name.range;
    info.block = k.block;
    info.wide = k.wide;
    if (!k.broken) {
      for (const ParamDef& p : k.params) {
        const TypeId element = types.form(p.type) == TypeForm::Buffer ? types[p.type].args[0] : p.type;
        if (!types.is_concrete(element)) continue;
        records.add(element);
        info.params.push_back(param_info(types, p));
      }
    }
    if (k.body)
      for (const Local& l : k.body->locals) info.has_dynamic_shared = info.has_dynamic_shared || l.kind == LocalKind::DynamicShared;
    module.kernel_infos.push_back(info);
    module.interface.kernels.push_back(std::move(info));
  }
}

}  // namespace sarek::sema
