// The frame of a check: imports and scopes of files, what order things are checked in, recursion rules, -D.
#include <algorithm>

#include "compiler/sema/check.h"
#include "compiler/syntax/parse.h"

namespace sarek::sema {

// --- names -----------------------------------------------------------------------------------------------------------------------

const BuiltinInfo& builtin_info(Builtin builtin) {
  static constexpr BuiltinInfo kInfos[] = {
#define SAREK_BUILTIN(name, text, count, shape) {text, count, BuiltinShape::shape},
#include "compiler/sema/builtins.def"
  };
  return kInfos[static_cast<std::size_t>(builtin)];
}

std::optional<Builtin> builtin_by_name(std::string_view name) {
  static const std::unordered_map<std::string_view, Builtin> kNames = {
#define SAREK_BUILTIN(name, text, count, shape) {text, Builtin::name},
#include "compiler/sema/builtins.def"
  };
  const auto found = kNames.find(name);
  if (found == kNames.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string_view> builtin_names() {
  return {
#define SAREK_BUILTIN(name, text, count, shape) text,
#include "compiler/sema/builtins.def"
  };
}

std::string_view id_name(IdKind kind) {
  switch (kind) {
    case IdKind::GlobalId: return "global_id";
    case IdKind::LocalId: return "local_id";
    case IdKind::GroupId: return "group_id";
    case IdKind::GroupSize: return "group_size";
    case IdKind::NumGroups: return "num_groups";
    case IdKind::WarpSize: return "warp_size";
    case IdKind::LaneId: return "lane_id";
  }
  return {};
}

std::optional<IdKind> id_by_name(std::string_view name) {
  for (const IdKind kind :
       {IdKind::GlobalId, IdKind::LocalId, IdKind::GroupId, IdKind::GroupSize, IdKind::NumGroups, IdKind::WarpSize, IdKind::LaneId})
    if (id_name(kind) == name) return kind;
  return std::nullopt;
}

std::string nearest_name(std::string_view wanted, const std::vector<std::string_view>& names) {
  // Levenshtein distance with two rows; a third of the letters may differ.
  const std::size_t limit = std::max<std::size_t>(1, (wanted.size() + 1) / 3);
  std::size_t best = limit + 1;
  std::string_view nearest;
  for (const std::string_view name : names) {
    const std::size_t longer = std::max(name.size(), wanted.size());
    if (longer - std::min(name.size(), wanted.size()) > limit || name.size() > 64 || wanted.size() > 64 || name.size() < 2 ||
        name == wanted)
      continue;
    std::vector<std::size_t> row(name.size() + 1);
    for (std::size_t i = 0; i <= name.size(); ++i) row[i] = i;
    for (std::size_t i = 1; i <= wanted.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= name.size(); ++j) {
        const std::size_t up = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (wanted[i - 1] == name[j - 1] ? 0 : 1)});
        diagonal = up;
      }
    }
    if (row.back() < best) {
      best = row.back();
      nearest = name;
    }
  }
  return std::string(nearest);
}

const Entity* Checker::find(const File& file, std::string_view name) const {
  const auto found = file.visible.find(name);
  return found == file.visible.end() ? nullptr : &found->second;
}

File* Checker::alias(const File& file, std::string_view name) {
  const Entity* entity = find(file, name);
  return entity && entity->kind == EntityKind::Module ? &module.files[entity->index] : nullptr;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> Checker::constructors(const File& file, std::string_view name) const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  for (const auto& [text, entity] : file.visible) {
    if (entity.kind != EntityKind::Record || !types.def(entity.index).is_variant) continue;
    const int ctor = types.def(entity.index).constructor(name);
    if (ctor >= 0) out.emplace_back(entity.index, static_cast<std::uint32_t>(ctor));
  }
  return out;
}

// --- files -----------------------------------------------------------------------------------------------------------------------

std::optional<std::size_t> Checker::load(syntax::Ast ast, SourceRange from) {
  const FileId id = ast.file;
  if (std::find(loading_.begin(), loading_.end(), id) != loading_.end()) {
    std::string way;
    for (auto at = std::find(loading_.begin(), loading_.end(), id); at != loading_.end(); ++at)
      way += "\"" + sources.name(*at) + "\" imports ";
    report(DiagnosticKind::ImportCycle, from, "imports go in a circle: " + way + "\"" + sources.name(id) + "\"");
    return std::nullopt;
  }
  if (const auto found = loaded_.find(id); found != loaded_.end()) return found->second;
  const std::size_t number = module.files.size();
  module.files.emplace_back();
  module.files.back().id = id;
  module.files.back().ast = std::move(ast);
  loaded_[id] = number;
  loading_.push_back(id);
  File& file = module.files[number];  // a deque: stays where it is
  collect(file);
  for (const syntax::Item* item : file.ast.items) {
    if (item->kind != syntax::ItemKind::Import) continue;
    const auto& import = item->as<syntax::ImportItem>();
    if (import.broken) continue;
    Result<FileId> resolved =
        options.resolve_import ? options.resolve_import(import.path, id) : Result<FileId>(err("imports cannot be resolved here"));
    if (!resolved) {
      report(DiagnosticKind::FileNotFound, import.path_range,
             "cannot import \"" + std::string(import.path) + "\": " + resolved.error().message);
      continue;
    }
    std::optional<std::size_t> other;
    const FileId target = *resolved;
    if (loaded_.contains(target) && std::find(loading_.begin(), loading_.end(), target) == loading_.end()) {
      other = loaded_[target];
    } else if (std::find(loading_.begin(), loading_.end(), target) != loading_.end()) {
      syntax::Ast empty;
      empty.file = target;
      load(std::move(empty), import.path_range);
      continue;
    } else {
      module.imported.push_back(target);
      other = load(syntax::parse(sources, target, sink), import.path_range);
    }
    if (!other) continue;
    if (import.alias) {
      Entity entity{EntityKind::Module, static_cast<std::uint32_t>(*other), import.alias.range};
      declare(file, import.alias.text, entity);
    } else {
      file.imports.push_back(*other);
    }
  }
  make_visible(file);
  loading_.pop_back();
  return number;
}

void Checker::declare(File& file, std::string_view name, Entity entity) {
  if (name.empty()) return;
  const auto [first, fresh] = file.names.emplace(std::string(name), entity);
  if (fresh) return;
  report(DiagnosticKind::DuplicateName, entity.range, "`" + std::string(name) + "` is declared twice")
      .note(first->second.range, "the first is here");
}

void Checker::collect(File& file) {
  for (const syntax::Item* item : file.ast.items) {
    switch (item->kind) {
      case syntax::ItemKind::Import: break;
      case syntax::ItemKind::Const: {
        const auto& c = item->as<syntax::ConstItem>();
        ConstantDef def;
        def.name = c.name.text;
        def.range = c.name.range;
        def.type = c.type;
        def.value = c.value;
        def.file = &file;
        if (item->broken && (!c.value || !c.name)) break;
        module.constants.push_back(std::move(def));
        declare(file, c.name.text, {EntityKind::Constant, static_cast<std::uint32_t>(module.constants.size() - 1), c.name.range});
        break;
      }
      case syntax::ItemKind::Struct:
      case syntax::ItemKind::Enum: {
        const bool variant = item->kind == syntax::ItemKind::Enum;
        const syntax::Name& name = variant ? item->as<syntax::EnumItem>().name : item->as<syntax::StructItem>().name;
        const auto& params = variant ? item->as<syntax::EnumItem>().type_params : item->as<syntax::StructItem>().type_params;
        RecordDef def;
        def.name = name.text;
        def.doc = item->doc;
        def.is_variant = variant;
        def.range = name.range;
        for (const syntax::TypeParam& p : params) {
          Bound bound = Bound::None;
          if (p.bound.text == "scalar") bound = Bound::Scalar;
          else if (p.bound.text == "number") bound = Bound::Number;
          else if (p.bound.text == "integer") bound = Bound::Integer;
          else if (p.bound.text == "float") bound = Bound::Float;
          else if (p.bound)
            report(DiagnosticKind::UnknownType, p.bound.range,
                   "there is no bound `" + std::string(p.bound.text) + "`; there are scalar, number, integer and float");
          def.params.push_back(types.param(types.add_param({std::string(p.name.text), bound, p.name.range})));
        }
        const std::uint32_t number = types.add_def(std::move(def));
        module.record_numbers.push_back(number);
        declare(file, name.text, {EntityKind::Record, number, name.range});
        break;
      }
      case syntax::ItemKind::Function: {
        const auto& f = item->as<syntax::FunctionItem>();
        if (!f.name || !f.body) break;
        module.functions.emplace_back();
        Function& def = module.functions.back();
        def.name = f.name.text;
        def.item = &f;
        def.file = &file;
        declare(file, f.name.text, {EntityKind::Function, static_cast<std::uint32_t>(module.functions.size() - 1), f.name.range});
        break;
      }
      case syntax::ItemKind::Kernel: {
        const auto& k = item->as<syntax::KernelItem>();
        if (!k.name || !k.body) break;
        module.kernels.emplace_back();
        Kernel& def = module.kernels.back();
        def.name = k.name.text;
        def.item = &k;
        def.file = &file;
        declare(file, k.name.text, {EntityKind::Kernel, static_cast<std::uint32_t>(module.kernels.size() - 1), k.name.range});
        break;
      }
      case syntax::ItemKind::Pipeline: {
        const auto& p = item->as<syntax::PipelineItem>();
        if (!p.name || !p.body) break;
        module.pipelines.push_back({std::string(p.name.text), &p, &file});
        declare(file, p.name.text, {EntityKind::Pipeline, static_cast<std::uint32_t>(module.pipelines.size() - 1), p.name.range});
        break;
      }
      case syntax::ItemKind::Graph: {
        const auto& g = item->as<syntax::GraphItem>();
        if (!g.name) break;
        module.graphs.push_back({std::string(g.name.text), &g, &file});
        declare(file, g.name.text, {EntityKind::Graph, static_cast<std::uint32_t>(module.graphs.size() - 1), g.name.range});
        break;
      }
      case syntax::ItemKind::Test: break;
    }
  }
}

void Checker::make_visible(File& file) {
  file.visible = file.names;
  for (const std::size_t number : file.imports) {
    for (const auto& [name, entity] : module.files[number].names) {
      if (entity.kind == EntityKind::Module) continue;
      const auto [there, fresh] = file.visible.emplace(name, entity);
      if (fresh || (there->second.kind == entity.kind && there->second.index == entity.index)) continue;
      const bool own = there->second.range.file == file.id;
      report(DiagnosticKind::DuplicateName, own ? there->second.range : entity.range, "`" + name + "` is declared twice")
          .note(own ? entity.range : there->second.range,
                own ? "the import brings this one; import the module `as` a name to keep them apart" : "the other is here");
    }
  }
}

void Checker::read_defines() {
  for (const std::string& define : options.defines) {
    const std::size_t equals = define.find('=');
    const std::string name = define.substr(0, equals);
    const std::string value = equals == std::string::npos ? "true" : define.substr(equals + 1);
    bool used = false;
    for (ConstantDef& c : module.constants) {
      if (c.name != name) continue;
      c.override_text = value;
      used = true;
    }
    if (used) continue;
    // No module declares it: a constant of its own, for all of them.
    Expr literal;
    literal.negative = !value.empty() && value[0] == '-';
    const std::string digits = literal.negative ? value.substr(1) : value;
    ConstantDef def;
    def.name = name;
    def.state = ConstantDef::State::Done;
    char* end = nullptr;
    literal.integer = std::strtoull(digits.c_str(), &end, 0);
    if (value == "true" || value == "false") {
      def.resolved = types.boolean();
      def.cells = {value == "true" ? 1u : 0u};
    } else if (!digits.empty() && *end == '\0' && digits.find_first_of("-+ ") == std::string::npos) {
      const std::optional<std::uint64_t> narrow = literal_bits(literal, ir::Type::I32);
      const std::optional<std::uint64_t> bits = narrow ? narrow : literal_bits(literal, ir::Type::I64);
      def.resolved = types.scalar(narrow ? ir::Type::I32 : ir::Type::I64);
      if (bits) def.cells = {*bits};
    } else if (!digits.empty() && (std::strtod(digits.c_str(), &end), *end == '\0')) {
      literal.is_float = true;
      literal.digits = digits;
      def.resolved = types.scalar(ir::Type::F32);
      def.cells = {literal_bits(literal, ir::Type::F32).value_or(0)};
    }
    if (name.empty() || def.cells.empty()) {
      report(DiagnosticKind::InvalidDefine, {}, "`-D " + define + "` gives no value: an integer, a number, true or false is needed");
      continue;
    }
    module.constants.push_back(std::move(def));
    const Entity entity{EntityKind::Constant, static_cast<std::uint32_t>(module.constants.size() - 1), {}};
    for (File& file : module.files) file.visible.emplace(name, entity);
  }
}

// --- bodies ----------------------------------------------------------------------------------------------------------------------

Body* Checker::body_of(Function& f, bool wide) {
  const std::size_t which = wide ? 1 : 0;
  if (f.bodies[which]) return f.bodies[which].get();
  // A body without ids and lengths is the same in both.
  if (f.bodies[1 - which] && !f.uses_ids) return f.bodies[1 - which].get();
  declare_function(f);
  f.bodies[which] = std::make_unique<Body>();
  Body* body = f.bodies[which].get();
  if (f.signature_broken) {
    body->faulty = true;
    return body;
  }
  BodyChecker(*this, *f.file, BodyChecker::Kind::Function, *body, wide).check_function(f);
  return body;
}

void Checker::run(syntax::Ast root) {
  load(std::move(root), {});
  read_defines();
  declare_records();
  for (std::uint32_t i = 0; i < module.constants.size(); ++i) constant(i, module.constants[i].range);
  for (Function& f : module.functions) declare_function(f);
  declare_kernels();
  // Functions are typed for the width of ids that their kernels have; what no kernel reaches, for the usual one.
  std::vector<std::pair<Body*, bool>> open;
  for (Kernel& k : module.kernels) {
    k.body = std::make_unique<Body>();
    BodyChecker scope(*this, *k.file, BodyChecker::Kind::Kernel, *k.body, k.wide);
    scope.check_kernel(k);
    if (k.broken) k.body->faulty = true;
    open.emplace_back(k.body.get(), k.wide);
  }
  std::set<std::pair<const Body*, bool>> seen;
  const auto close = [&] {
    while (!open.empty()) {
      const auto [body, wide] = open.back();
      open.pop_back();
      if (!seen.emplace(body, wide).second) continue;
      for (const Expr& e : body->exprs)
        if (e.form == ExprForm::Call && e.callee) open.emplace_back(body_of(*e.callee, wide), wide);
    }
  };
  close();
  for (Function& f : module.functions)
    if (!f.any_body()) body_of(f, false);
  check_recursion();
  check_pipelines();
  for (const Module::GraphDef& g : module.graphs)
    report(DiagnosticKind::NotYetLowered, g.item->name.range, "graph `" + g.name + "` is not yet lowered in this version");
  build_interface();
  check_tests();
}

// --- recursion -------------------------------------------------------------------------------------------------------------------

namespace {

/// Looks for calls of one function and tells those in tail position from the others. A call with other type arguments is none that a loop
/// can make: the next turn would need variables of other types.
class TailCalls {
 public:
  TailCalls(const Function& f, TypeTable& types) : f_(f) {
    for (const auto& [name, number] : f.type_params) own_types_.push_back(types.param(number));
  }
  void walk(const Expr* e, bool tail) {
    if (!e) return;
    switch (e->form) {
      case ExprForm::Call:
        for (const Expr* a : e->args) walk(a, false);
        if (e->callee != &f_) return;
        if (e->type_args != own_types_) other_types.push_back(e);
        (tail && e->type_args == own_types_ ? tail_calls : other_calls).push_back(e);
        return;
      case ExprForm::If:
        walk(e->args[0], false);
        walk(e->args[1], tail);
        walk(e->args[2], tail);
        return;
      case ExprForm::Match:
        walk(e->args[0], false);
        for (const Arm& a : e->arms) {
          walk(a.guard, false);
          walk(a.body, tail);
        }
        return;
      case ExprForm::Block: {
        for (std::size_t i = 0; i < e->statements.size(); ++i) {
          // In a function that gives nothing, the last statement is in tail position too.
          const bool last = tail && !e->args[0] && i + 1 == e->statements.size();
          walk(e->statements[i], last, in_loop_);
        }
        walk(e->args[0], tail);
        return;
      }
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
      case ExprForm::Intrinsic:
      case ExprForm::Construct:
      case ExprForm::Repeat:
      case ExprForm::Inject:
      case ExprForm::Field:
      case ExprForm::Index:
      case ExprForm::Length:
        for (const Expr* a : e->args) walk(a, false);
        return;
    }
  }
  std::vector<const Expr*> tail_calls, other_calls;
  std::vector<const Expr*> other_types;  // those of other_calls with other type arguments

 private:
  void walk(const Stmt* s, bool last, bool in_loop) {
    const bool loop = s->form == StmtForm::For || s->form == StmtForm::ForList || s->form == StmtForm::While || s->form == StmtForm::Loop;
    const bool outer = in_loop_;
    if (loop || s->form == StmtForm::Superstep) in_loop_ = true;
    for (const Expr* e : {s->target, s->first, s->last, s->step}) walk(e, false);
    for (const Expr* e : s->list) walk(e, false);
    // A `return` inside a loop would have to leave the loop first: not a tail call.
    walk(s->value, (s->form == StmtForm::Return && !in_loop) || (s->form == StmtForm::Expr && last && !in_loop));
    walk(s->body, false);
    in_loop_ = outer;
  }

  const Function& f_;
  std::vector<TypeId> own_types_;
  bool in_loop_ = false;
};

}  // namespace

void Checker::check_recursion() {
  // Who reaches whom, directly.
  std::map<const Function*, std::set<Function*>> calls;
  for (Function& f : module.functions)
    for (const Expr& e : f.any_body()->exprs)
      if (e.form == ExprForm::Call && e.callee) calls[&f].insert(e.callee);
  const auto reaches = [&](Function* from, const Function* to) {
    std::set<Function*> seen;
    std::vector<Function*> open{from};
    while (!open.empty()) {
      Function* at = open.back();
      open.pop_back();
      if (!seen.insert(at).second) continue;
      for (Function* next : calls[at]) {
        if (next == to) return true;
        open.push_back(next);
      }
    }
    return false;
  };
  for (Function& f : module.functions) {
    if (f.any_body()->faulty) continue;
    const bool self = calls[&f].contains(&f);
    const SourceRange mark = f.item->inline_range;
    for (Function* g : calls[&f]) {
      if (g == &f || !reaches(g, &f)) continue;
      // Each circle once, at the function that stands first.
      if (g->item->name.range.begin < f.item->name.range.begin && g->file == f.file) continue;
      report(DiagnosticKind::UnboundedRecursion, f.item->name.range,
             "`" + f.name + "` and `" + g->name + "` call each other; only a function that calls itself may recurse")
          .note(g->item->name.range, "`" + g->name + "` is declared here");
      f.any_body()->faulty = true;
      break;
    }
    if (f.any_body()->faulty) continue;
    TailCalls tail(f, types);
    if (self) tail.walk(f.any_body()->root, true);
    if (self && tail.other_calls.empty()) {
      if (f.inline_depth > 0)
        report(DiagnosticKind::InvalidRecursionMark, mark,
               "`" + f.name + "` calls itself in tail position only and becomes a loop; `inline` has no place on it")
            .fix(mark, "", "leave it out");
      f.recursion = Recursion::Tail;
      continue;
    }
    if (f.item->unroll.present) {
      const SourceRange range = f.item->unroll.range;
      Diagnostic& d = report(DiagnosticKind::InvalidRecursionMark, range,
                             self ? "`" + f.name + "` does not call itself in tail position only, so there is no loop to unroll"
                                  : "`" + f.name + "` has no loop of its own calls to unroll");
      if (self) d.note(tail.other_calls[0]->range, "this call is not the last thing that happens");
    } else if (self && f.inline_depth == 0 && !tail.other_types.empty()) {
      report(DiagnosticKind::UnboundedRecursion, f.item->name.range, "`" + f.name + "` calls itself with other types, without end")
          .note(tail.other_types[0]->range, "this call has other type arguments");
      f.any_body()->faulty = true;
    } else if (self && f.inline_depth == 0) {
      report(DiagnosticKind::UnboundedRecursion, f.item->name.range, "`" + f.name + "` calls itself other than in tail position")
          .note(tail.other_calls[0]->range, "this call is not the last thing that happens")
          .fix({f.item->range.file, f.item->range.begin, f.item->range.begin}, "inline(8) ", "say how deep it may go");
      f.any_body()->faulty = true;
    }
    if (self) f.recursion = Recursion::Inline;
  }
}

}  // namespace sarek::sema
