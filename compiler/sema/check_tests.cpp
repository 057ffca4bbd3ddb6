// Typing of `test` items. Their values are expressions of their own: literals, generators and plain arithmetic, each of the type that its
// parameter asks for. What they give is drawn and computed by the caller, case by case.
#include <algorithm>

#include "compiler/ir/evaluate.h"
#include "compiler/sema/check.h"

namespace sarek::sema {

namespace {

class TestChecker {
 public:
  TestChecker(Checker& up, File& file) : up_(up), types_(up.types), file_(file) {}

  void run(const syntax::TestItem& item) {
    const Entity* entity = up_.find(file_, item.subject.text);
    if (!entity || (entity->kind != EntityKind::Kernel && entity->kind != EntityKind::Pipeline)) {
      std::vector<std::string_view> names;
      for (const auto& [text, e] : file_.visible)
        if (e.kind == EntityKind::Kernel) names.push_back(text);
      const std::string near = nearest_name(item.subject.text, names);
      Diagnostic& d =
          up_.report(DiagnosticKind::UnknownKernel, item.subject.range, "there is no kernel `" + std::string(item.subject.text) + "`");
      if (!near.empty()) d.fix(item.subject.range, near, "did you mean `" + near + "`?");
      return;
    }
    if (entity->kind == EntityKind::Pipeline) {
      up_.report(DiagnosticKind::NotYetLowered, item.subject.range,
                 "pipelines are not yet lowered in this version, so they cannot be tested");
      return;
    }
    const Kernel& kernel = up_.module.kernels[entity->index];
    if (kernel.broken || item.broken) return;
    TestInfo info;
    info.name = item.name.text;
    info.kernel = kernel.name;
    info.range = item.name.range;
    std::vector<std::optional<TestBinding>> arguments(kernel.params.size());
    for (const syntax::TestStmt& s : item.statements) statement(s, kernel, info, arguments);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i]) {
        fail(item.name.range, "the test gives no value to the parameter `" + kernel.params[i].name + "`")
            .note(kernel.params[i].range, "declared here");
        continue;
      }
      info.arguments.push_back(std::move(*arguments[i]));
    }
    if (info.grid.empty() && !faulty_) fail(item.name.range, "the test says no `grid(...)`: how many blocks run");
    const bool dynamic = kernel.body && std::any_of(kernel.body->locals.begin(), kernel.body->locals.end(),
                                                    [](const Local& l) { return l.kind == LocalKind::DynamicShared; });
    if (dynamic && !info.dynamic_shared)
      fail(item.name.range, "the kernel has a `[T; dyn]` array: the test must say how long it is, with `shared(n);`");
    if (!dynamic && info.dynamic_shared) fail(info.dynamic_shared->range, "the kernel has no `[T; dyn]` array");
    if (info.expectations.empty() && info.same_as.empty() && info.error.empty()) fail(item.name.range, "the test expects nothing");
    if (!faulty_) up_.module.tests.push_back(std::move(info));
  }

 private:
  Diagnostic& fail(SourceRange range, std::string message) {
    faulty_ = true;
    return up_.report(DiagnosticKind::InvalidTest, range, std::move(message));
  }
  TestExpr wrong(SourceRange range, std::string message) {
    fail(range, std::move(message));
    return {};
  }
  TestExpr mismatch(SourceRange range, TypeId want, const std::string& have) {
    faulty_ = true;
    up_.report(DiagnosticKind::TypeMismatch, range, "cannot unify types `" + types_.text(want) + "` and `" + have + "`");
    return {};
  }

  void statement(const syntax::TestStmt& s, const Kernel& kernel, TestInfo& info, std::vector<std::optional<TestBinding>>& arguments) {
    const auto param = [&]() -> int {
      for (std::size_t i = 0; i < kernel.params.size(); ++i)
        if (kernel.params[i].name == s.name.text) return static_cast<int>(i);
      std::vector<std::string_view> names;
      for (const ParamDef& p : kernel.params) names.push_back(p.name);
      const std::string near = nearest_name(s.name.text, names);
      faulty_ = true;
      Diagnostic& d = up_.report(DiagnosticKind::UnknownName, s.name.range,
                                 "kernel `" + kernel.name + "` has no parameter `" + std::string(s.name.text) + "`");
      if (!near.empty()) d.fix(s.name.range, near, "did you mean `" + near + "`?");
      return -1;
    };
    const TypeId count = types_.scalar(ir::Type::I32);
    switch (s.kind) {
      case syntax::TestStmtKind::Let: {
        const ir::Type type = natural(*s.value).value_or(is_real(*s.value) ? ir::Type::F32 : ir::Type::I32);
        TestExpr value = this->value(*s.value, types_.scalar(type));
        lets_.push_back({std::string(s.name.text), type});
        info.lets.push_back({std::string(s.name.text), std::move(value)});
        return;
      }
      case syntax::TestStmtKind::Bind: {
        const int p = param();
        if (p < 0) return;
        auto& slot = arguments[static_cast<std::size_t>(p)];
        if (slot) {
          fail(s.range, "`" + std::string(s.name.text) + "` has a value already").note(slot->range, "it is given here");
          return;
        }
        slot = TestBinding{p, value(*s.value, kernel.params[static_cast<std::size_t>(p)].type), s.range};
        return;
      }
      case syntax::TestStmtKind::Grid:
        if (!info.grid.empty()) fail(s.range, "the grid is given twice");
        for (const syntax::Expr* e : s.args) info.grid.push_back(value(*e, count));
        return;
      case syntax::TestStmtKind::Shared:
        if (!s.args.empty()) info.dynamic_shared = value(*s.args[0], count);
        return;
      case syntax::TestStmtKind::Cases:
      case syntax::TestStmtKind::Seed: {
        if (s.args.empty()) return;
        Body scratch;
        BodyChecker scope(up_, file_, BodyChecker::Kind::Constant, scratch, false);
        const std::optional<std::int64_t> n = scope.constant_integer(*s.args[0]);
        if (!n) {
          faulty_ = true;
        } else if (s.kind == syntax::TestStmtKind::Seed) {
          info.seed = static_cast<std::uint64_t>(*n);
        } else if (*n < 1 || *n > 1'000'000) {
          fail(s.args[0]->range, "a test has 1 to 1000000 cases, not " + std::to_string(*n));
        } else {
          info.cases = *n;
        }
        return;
      }
      case syntax::TestStmtKind::ExpectValue: {
        const int p = param();
        if (p < 0) return;
        const ParamDef& def = kernel.params[static_cast<std::size_t>(p)];
        if (def.access != ir::Access::Out && def.access != ir::Access::InOut) {
          fail(s.name.range, "`" + def.name + "` is not written by the kernel, so nothing can be expected of it")
              .note(def.range, "declared here");
          return;
        }
        info.expectations.push_back({p, value(*s.value, def.type), s.range});
        return;
      }
      case syntax::TestStmtKind::ExpectSame:
        if (s.name.text != "interp" && s.name.text != "native" && s.name.text != "opencl") {
          fail(s.name.range, "there is no device `" + std::string(s.name.text) + "` to compare with; there are interp, native and opencl");
          return;
        }
        info.same_as = s.name.text;
        return;
      case syntax::TestStmtKind::ExpectError: info.error = s.text; return;
    }
  }

  // --- types ------------------------------------------------------------------------------------------------------------------

  int let(std::string_view name) const {
    for (std::size_t i = lets_.size(); i-- > 0;)
      if (lets_[i].first == name) return static_cast<int>(i);
    return -1;
  }
  static const syntax::Name* callee(const syntax::Expr& e) {
    if (e.kind != syntax::ExprKind::Call) return nullptr;
    const syntax::Expr* c = e.as<syntax::CallExpr>().callee;
    return c->kind == syntax::ExprKind::Name ? &c->as<syntax::NameExpr>().name : nullptr;
  }

  /// The type that the expression has by itself; none for weak literals.
  std::optional<ir::Type> natural(const syntax::Expr& e) {
    switch (e.kind) {
      case syntax::ExprKind::Int: return ir::type_by_name(e.as<syntax::IntExpr>().suffix);
      case syntax::ExprKind::Float: return ir::type_by_name(e.as<syntax::FloatExpr>().suffix);
      case syntax::ExprKind::Bool: return ir::Type::Bool;
      case syntax::ExprKind::Name: {
        const std::string_view name = e.as<syntax::NameExpr>().name.text;
        if (const int l = let(name); l >= 0) return lets_[static_cast<std::size_t>(l)].second;
        const Entity* entity = up_.find(file_, name);
        if (!entity || entity->kind != EntityKind::Constant) return std::nullopt;
        const ConstantDef* c = up_.constant(entity->index, e.range);
        return c && types_.form(c->resolved) == TypeForm::Scalar ? std::optional(types_.scalar_of(c->resolved)) : std::nullopt;
      }
      case syntax::ExprKind::Unary: return natural(*e.as<syntax::UnaryExpr>().operand);
      case syntax::ExprKind::Binary: {
        const auto& b = e.as<syntax::BinaryExpr>();
        switch (b.op) {
          case syntax::BinaryOp::Eq:
          case syntax::BinaryOp::Ne:
          case syntax::BinaryOp::Lt:
          case syntax::BinaryOp::Le:
          case syntax::BinaryOp::Gt:
          case syntax::BinaryOp::Ge:
          case syntax::BinaryOp::And:
          case syntax::BinaryOp::Or: return ir::Type::Bool;
          case syntax::BinaryOp::Mul:
          case syntax::BinaryOp::Div:
          case syntax::BinaryOp::Mod:
          case syntax::BinaryOp::MatMul:
          case syntax::BinaryOp::Add:
          case syntax::BinaryOp::Sub:
          case syntax::BinaryOp::Shl:
          case syntax::BinaryOp::Shr:
          case syntax::BinaryOp::BitAnd:
          case syntax::BinaryOp::BitXor:
          case syntax::BinaryOp::BitOr: break;
        }
        const std::optional<ir::Type> left = natural(*b.left);
        return left ? left : natural(*b.right);
      }
      case syntax::ExprKind::Cast: {
        const syntax::Type* t = e.as<syntax::CastExpr>().type;
        return t->kind == syntax::TypeKind::Named ? ir::type_by_name(t->as<syntax::NamedType>().name.text) : std::nullopt;
      }
      case syntax::ExprKind::Call:
        for (const syntax::Expr* a : e.as<syntax::CallExpr>().args)
          if (const std::optional<ir::Type> t = natural(*a)) return t;
        return std::nullopt;
      case syntax::ExprKind::Member:
      case syntax::ExprKind::TupleIndex:
      case syntax::ExprKind::Index:
      case syntax::ExprKind::If:
      case syntax::ExprKind::Match:
      case syntax::ExprKind::Block:
      case syntax::ExprKind::Record:
      case syntax::ExprKind::Array:
      case syntax::ExprKind::ArrayRepeat:
      case syntax::ExprKind::Tuple:
      case syntax::ExprKind::Native:
      case syntax::ExprKind::Error: return std::nullopt;
    }
    return std::nullopt;
  }

  /// Is the weak expression a number with a fraction?
  bool is_real(const syntax::Expr& e) {
    if (e.kind == syntax::ExprKind::Float) return true;
    if (e.kind == syntax::ExprKind::Unary) return is_real(*e.as<syntax::UnaryExpr>().operand);
    if (e.kind == syntax::ExprKind::Binary) return is_real(*e.as<syntax::BinaryExpr>().left) || is_real(*e.as<syntax::BinaryExpr>().right);
    if (const syntax::Name* name = callee(e)) {
      if (name->text == "random") return true;
      const auto& args = e.as<syntax::CallExpr>().args;
      return std::any_of(args.begin(), args.end(), [&](const syntax::Expr* a) { return is_real(*a); });
    }
    return false;
  }

  // --- values -----------------------------------------------------------------------------------------------------------------

  TestExpr value(const syntax::Expr& e, TypeId want) {
    TestExpr out = types_.form(want) == TypeForm::Buffer   ? list(e, types_[want].args[0])
                   : types_.form(want) == TypeForm::Scalar ? scalar(e, want)
                                                           : record(e, want);
    out.range = e.range;
    return out;
  }

  TestExpr list(const syntax::Expr& e, TypeId element) {
    TestExpr out;
    out.type = types_.scalar_of(element);
    const TypeId count = types_.scalar(ir::Type::I32);
    if (e.kind == syntax::ExprKind::Array) {
      out.kind = TestExpr::Kind::List;
      for (const syntax::Expr* part : e.as<syntax::ArrayExpr>().elements) out.parts.push_back(value(*part, element));
      return out;
    }
    if (e.kind == syntax::ExprKind::ArrayRepeat) {
      out.kind = TestExpr::Kind::Repeat;
      out.parts.push_back(value(*e.as<syntax::ArrayRepeatExpr>().value, element));
      out.parts.push_back(value(*e.as<syntax::ArrayRepeatExpr>().count, count));
      return out;
    }
    const syntax::Name* name = callee(e);
    if (!name || (name->text != "zeros" && name->text != "random" && name->text != "any"))
      return wrong(e.range, "a buffer is given as `[a, b, c]`, `[value; n]`, `zeros(n)`, `random(n, lo, hi)` or `any(n)`");
    const auto& args = e.as<syntax::CallExpr>().args;
    if (name->text == "zeros") {
      if (args.size() != 1) return wrong(e.range, "`zeros` takes the number of elements");
      out.kind = TestExpr::Kind::Repeat;
      std::vector<TestExpr> cells;
      const ir::ElementLayout layout = types_.layout(element);
      for (const ir::LayoutField& f : layout.fields) {
        TestExpr zero;
        zero.type = f.type;
        cells.push_back(zero);
      }
      TestExpr one = cells[0];
      if (types_.form(element) != TypeForm::Scalar) {
        one = {};
        one.kind = TestExpr::Kind::Record;
        one.parts = std::move(cells);
      }
      out.parts.push_back(std::move(one));
      out.parts.push_back(value(*args[0], count));
      return out;
    }
    if (out.type == ir::Type::Void)
      return wrong(e.range, "random elements of type `" + types_.text(element) + "` are given as a list: `[value; n]`");
    const bool random = name->text == "random";
    if (args.size() != 3 && !(args.size() == 1 && !random))
      return wrong(e.range, random ? "a random buffer is `random(n, lo, hi)`" : "a buffer of anything is `any(n)`, or `any(n, lo, hi)`");
    if (!random && args.size() == 3 && !ir::is_int(out.type))
      return wrong(e.range, "`any(n, lo, hi)` gives integers; numbers are `random(n, lo, hi)`");
    if (out.type == ir::Type::Bool && random) return wrong(e.range, "`random` gives numbers; `any(n)` gives bools");
    out.kind = random ? TestExpr::Kind::RandomList : TestExpr::Kind::AnyList;
    out.parts.push_back(value(*args[0], count));
    for (std::size_t i = 1; i < args.size(); ++i) out.parts.push_back(value(*args[i], element));
    return out;
  }

  /// The cells in the order of the layout.
  TestExpr record(const syntax::Expr& e, TypeId want) {
    TestExpr out;
    out.kind = TestExpr::Kind::Record;
    const TypeNode node = types_[want];
    if (node.form == TypeForm::Record && e.kind == syntax::ExprKind::Record && !e.as<syntax::RecordExpr>().base) {
      const auto& literal = e.as<syntax::RecordExpr>();
      const RecordDef def = types_.def_of(want);
      if (def.name != literal.name.text) return mismatch(e.range, want, std::string(literal.name.text));
      std::vector<const syntax::Expr*> values(def.fields.size(), nullptr);
      for (const syntax::RecordField& f : literal.fields) {
        const int index = def.field(f.name.text);
        if (index < 0) return wrong(f.name.range, "field `" + std::string(f.name.text) + "` not found in `" + def.name + "`");
        values[static_cast<std::size_t>(index)] = f.value;
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!values[i]) return wrong(e.range, "`" + def.name + "` needs a value for `" + def.fields[i].name + "`");
        out.parts.push_back(value(*values[i], types_.member(want, def.fields[i].type)));
      }
      return out;
    }
    if (node.form == TypeForm::Tuple && e.kind == syntax::ExprKind::Tuple &&
        e.as<syntax::TupleExpr>().elements.size() == node.args.size()) {
      for (std::size_t i = 0; i < node.args.size(); ++i) out.parts.push_back(value(*e.as<syntax::TupleExpr>().elements[i], node.args[i]));
      return out;
    }
    if (node.form == TypeForm::Array && e.kind == syntax::ExprKind::Array &&
        static_cast<std::int64_t>(e.as<syntax::ArrayExpr>().elements.size()) == types_.element_count(want)) {
      for (const syntax::Expr* part : e.as<syntax::ArrayExpr>().elements) out.parts.push_back(value(*part, node.args[0]));
      return out;
    }
    // Variants, and what a constant expression gives.
    Body scratch;
    BodyChecker scope(up_, file_, BodyChecker::Kind::Constant, scratch, false);
    TypeId type = want;
    const std::optional<std::vector<std::uint64_t>> cells = scope.constant_value(e, type);
    if (!cells) {
      faulty_ = true;
      return {};
    }
    std::vector<std::pair<std::int64_t, TestExpr>> placed;
    place_cells(want, 0, *cells, placed);
    std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    // The layout lists fields in the order of memory, except that arrays of records stay together: offsets say both.
    for (auto& [offset, cell] : placed) out.parts.push_back(std::move(cell));
    return out;
  }

  /// The constant's cells with their offsets in memory.
  void place_cells(TypeId type, std::int64_t at, const std::vector<std::uint64_t>& cells,
                   std::vector<std::pair<std::int64_t, TestExpr>>& out) {
    const TypeNode node = types_[type];
    const std::vector<Slot> slots = types_.slots(type);
    const auto part_cells = [&](std::size_t first, std::size_t count, std::int64_t element) {
      std::vector<std::uint64_t> part;
      std::size_t start = 0;
      for (std::size_t s = 0; s < slots.size(); ++s) {
        if (s >= first && s < first + count) {
          const std::int64_t each = element < 0 ? slots[s].count : slots[s].count / types_.element_count(type);
          const std::size_t begin = start + static_cast<std::size_t>(element < 0 ? 0 : element * each);
          for (std::int64_t k = 0; k < each; ++k) part.push_back(cells[begin + static_cast<std::size_t>(k)]);
        }
        start += static_cast<std::size_t>(slots[s].count);
      }
      return part;
    };
    switch (node.form) {
      case TypeForm::Array:
        for (std::int64_t i = 0; i < types_.element_count(type); ++i)
          place_cells(node.args[0], at + i * types_.memory(node.args[0]).size, part_cells(0, slots.size(), i), out);
        return;
      case TypeForm::Tuple:
      case TypeForm::Record: {
        const std::size_t count = node.form == TypeForm::Tuple ? node.args.size() : types_.def_of(type).fields.size();
        for (std::size_t i = 0; i < count; ++i) {
          const TypeId part = node.form == TypeForm::Tuple ? node.args[i] : types_.member(type, types_.def_of(type).fields[i].type);
          place_cells(part, at + types_.field_offset(type, i), part_cells(types_.first_slot(type, i), types_.slots(part).size(), -1), out);
        }
        return;
      }
      case TypeForm::Scalar:
      case TypeForm::Variant: {
        std::size_t cell = 0;
        for (std::size_t s = 0; s < slots.size(); ++s)
          for (std::int64_t k = 0; k < slots[s].count; ++k) {
            TestExpr value;
            value.type = slots[s].type;
            value.bits = cells[cell++];
            const std::int64_t start = node.form == TypeForm::Scalar ? 0 : types_.variant_offset(type, s);
            out.emplace_back(at + start + k * ir::type_bytes(slots[s].type), std::move(value));
          }
        return;
      }
      case TypeForm::Error:
      case TypeForm::Never:
      case TypeForm::Buffer:
      case TypeForm::Param:
      case TypeForm::Var:
      case TypeForm::Fragment:
      case TypeForm::Tensor: return;
    }
  }

  TestExpr scalar(const syntax::Expr& e, TypeId want) {
    const ir::Type type = types_.scalar_of(want);
    TestExpr out;
    out.type = type;
    if (e.kind == syntax::ExprKind::Name) {
      const int l = let(e.as<syntax::NameExpr>().name.text);
      if (l >= 0) {
        const ir::Type have = lets_[static_cast<std::size_t>(l)].second;
        if (have != type) return mismatch(e.range, want, std::string(ir::type_name(have)));
        out.kind = TestExpr::Kind::Let;
        out.index = l;
        return out;
      }
    }
    if (e.kind == syntax::ExprKind::Cast) {
      if (natural(e) != type) return mismatch(e.range, want, std::string(ir::type_name(natural(e).value_or(ir::Type::Void))));
      const syntax::Expr& operand = *e.as<syntax::CastExpr>().operand;
      const ir::Type from = natural(operand).value_or(is_real(operand) ? ir::Type::F32 : ir::Type::I32);
      if (from == type) return scalar(operand, want);
      out.kind = TestExpr::Kind::Cast;
      out.parts.push_back(scalar(operand, types_.scalar(from)));
      return out;
    }
    if (e.kind == syntax::ExprKind::Unary) {
      const auto& u = e.as<syntax::UnaryExpr>();
      const bool literal = u.operand->kind == syntax::ExprKind::Int || u.operand->kind == syntax::ExprKind::Float;
      if (!literal && u.op == syntax::UnaryOp::Neg) {
        if (type == ir::Type::Bool) return mismatch(e.range, want, "a number");
        out.kind = TestExpr::Kind::Unary;
        out.op = ir::Op::Neg;
        out.parts.push_back(scalar(*u.operand, want));
        return out;
      }
    }
    if (e.kind == syntax::ExprKind::Binary) return operation(e.as<syntax::BinaryExpr>(), want);
    if (const syntax::Name* name = callee(e)) {
      const auto& args = e.as<syntax::CallExpr>().args;
      const bool two = args.size() == 2;
      const bool random = name->text == "random";
      if (name->text == "any" || random) {
        if (!two && !(args.empty() && !random))
          return wrong(e.range, random ? "a random number is `random(lo, hi)`" : "a random integer is `any(lo, hi)`, or `any()`");
        if (random && type == ir::Type::Bool) return mismatch(e.range, want, "a number");
        if (!random && two && !ir::is_int(type)) return wrong(e.range, "`any(lo, hi)` gives an integer; a number is `random(lo, hi)`");
        out.kind = random && ir::is_float(type) ? TestExpr::Kind::RandomReal : TestExpr::Kind::AnyInt;
        for (const syntax::Expr* a : args) out.parts.push_back(scalar(*a, want));
        return out;
      }
      if (two && (name->text == "min" || name->text == "max" || name->text == "ceil_div")) {
        if (type == ir::Type::Bool || (name->text == "ceil_div" && !ir::is_int(type))) return mismatch(e.range, want, "a number");
        out.kind = name->text == "min" ? TestExpr::Kind::Min : name->text == "max" ? TestExpr::Kind::Max : TestExpr::Kind::CeilDiv;
        for (const syntax::Expr* a : args) out.parts.push_back(scalar(*a, want));
        return out;
      }
    }
    // Everything else is a constant expression of the language.
    Body scratch;
    BodyChecker scope(up_, file_, BodyChecker::Kind::Constant, scratch, false);
    TypeId constant = want;
    const std::optional<std::vector<std::uint64_t>> cells = scope.constant_value(e, constant);
    if (!cells || cells->size() != 1) {
      faulty_ = true;
      return {};
    }
    out.bits = (*cells)[0];
    return out;
  }

  TestExpr operation(const syntax::BinaryExpr& e, TypeId want) {
    TestExpr out;
    out.kind = TestExpr::Kind::Binary;
    out.type = types_.scalar_of(want);
    const bool floating = ir::is_float(out.type);
    bool compares = false;
    bool integers = false;
    switch (e.op) {
      case syntax::BinaryOp::Mul: out.op = ir::Op::Mul; break;
      case syntax::BinaryOp::Div: out.op = floating ? ir::Op::Fdiv : ir::Op::Cdiv; break;
      case syntax::BinaryOp::Add: out.op = ir::Op::Add; break;
      case syntax::BinaryOp::Sub: out.op = ir::Op::Sub; break;
      case syntax::BinaryOp::Mod:
        out.op = ir::Op::Cmod;
        integers = true;
        break;
      case syntax::BinaryOp::Shl:
        out.op = ir::Op::Shl;
        integers = true;
        break;
      case syntax::BinaryOp::Shr:
        out.op = ir::Op::Shr;
        integers = true;
        break;
      case syntax::BinaryOp::BitAnd:
        out.op = ir::Op::And;
        integers = true;
        break;
      case syntax::BinaryOp::BitXor:
        out.op = ir::Op::Xor;
        integers = true;
        break;
      case syntax::BinaryOp::BitOr:
        out.op = ir::Op::Or;
        integers = true;
        break;
      case syntax::BinaryOp::Eq:
        out.op = ir::Op::Cmpeq;
        compares = true;
        break;
      case syntax::BinaryOp::Ne:
        out.op = ir::Op::Cmpne;
        compares = true;
        break;
      case syntax::BinaryOp::Lt:
        out.op = ir::Op::Cmplt;
        compares = true;
        break;
      case syntax::BinaryOp::Gt:
        out.op = ir::Op::Cmplt;
        compares = true;
        out.swapped = true;
        break;
      case syntax::BinaryOp::Le:
        out.op = ir::Op::Cmplt;
        compares = true;
        out.swapped = out.negated = true;
        break;
      case syntax::BinaryOp::Ge:
        out.op = ir::Op::Cmplt;
        compares = true;
        out.negated = true;
        break;
      case syntax::BinaryOp::MatMul:
      case syntax::BinaryOp::And:
      case syntax::BinaryOp::Or: return wrong(e.op_range, "this operator has no place in a test");
    }
    TypeId operand = want;
    if (compares) {
      if (out.type != ir::Type::Bool) return mismatch(e.range, want, "bool");
      const std::optional<ir::Type> left = natural(*e.left);
      const std::optional<ir::Type> own = left ? left : natural(*e.right);
      operand = types_.scalar(own.value_or(is_real(*e.left) || is_real(*e.right) ? ir::Type::F32 : ir::Type::I32));
    } else if (out.type == ir::Type::Bool || (integers && floating)) {
      return wrong(e.op_range, "this operator does not work on `" + types_.text(want) + "`");
    }
    out.parts.push_back(scalar(*e.left, operand));
    out.parts.push_back(scalar(*e.right, operand));
    return out;
  }

  Checker& up_;
  TypeTable& types_;
  File& file_;
  std::vector<std::pair<std::string, ir::Type>> lets_;
  bool faulty_ = false;
};

}  // namespace

void Checker::check_tests() {
  File& root = module.files[0];
  std::map<std::string_view, SourceRange> names;
  for (const syntax::Item* item : root.ast.items) {
    if (item->kind != syntax::ItemKind::Test) continue;
    const auto& test = item->as<syntax::TestItem>();
    const auto [first, fresh] = names.emplace(test.name.text, test.name.range);
    if (!fresh)
      report(DiagnosticKind::DuplicateName, test.name.range, "test `" + std::string(test.name.text) + "` is declared twice")
          .note(first->second, "the first is here");
    TestChecker(*this, root).run(test);
  }
}

}  // namespace sarek::sema
