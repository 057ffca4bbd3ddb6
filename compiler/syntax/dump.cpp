// The AST as text: one node a line, children indented by two spaces, every attribute spelled out, so that a difference between two trees
// is a difference between two lines. Used by --emit=ast, by the tests, and to check that formatting changes nothing.
#include "compiler/syntax/parse.h"

namespace sarek::syntax {
namespace {

class Dumper {
 public:
  Dumper(const SourceManager& sources, const Ast& ast, bool places) : sources_(sources), ast_(ast), places_(places) {}

  std::string run() {
    for (const Item* i : ast_.items) item(*i);
    return std::move(out_);
  }

 private:
  struct Indent {
    explicit Indent(Dumper& d) : dumper(d) { ++dumper.depth_; }
    ~Indent() { --dumper.depth_; }
    Indent(const Indent&) = delete;
    Indent& operator=(const Indent&) = delete;
    Dumper& dumper;
  };

  void line(SourceRange range, std::string_view text) {
    out_.append(depth_ * 2, ' ').append(text);
    if (places_ && range) {
      const LineColumn at = sources_.line_column(range.file, range.begin);
      const LineColumn end = sources_.line_column(range.file, range.end);
      out_ += " @" + std::to_string(at.line) + ":" + std::to_string(at.column) + "-" + std::to_string(end.line) + ":" +
              std::to_string(end.column);
    }
    out_ += '\n';
  }
  static std::string with(std::string_view word, const Name& name) { return std::string(word) + " " + std::string(name.text); }
  static std::string qualified(const Name& outer, const Name& name) {
    return (outer ? std::string(outer.text) + "." : std::string()) + std::string(name.text);
  }
  static std::string quoted(std::string_view text) { return json_quote(text); }

  // A labelled group of children; nothing for an empty one.
  template <class T, class Each>
  void group(std::string_view label, List<T> elements, Each each) {
    if (elements.empty()) return;
    line({}, label);
    const Indent indent(*this);
    for (const T& element : elements) each(element);
  }
  void exprs(std::string_view label, List<const Expr*> list) {
    group(label, list, [&](const Expr* e) { expr(*e); });
  }
  void labelled(std::string_view label, const Expr* e) {
    if (e == nullptr) return;
    line({}, label);
    const Indent indent(*this);
    expr(*e);
  }
  void labelled(std::string_view label, const Type* t) {
    if (t == nullptr) return;
    line({}, label);
    const Indent indent(*this);
    type(*t);
  }
  void args(List<TypeArg> list) {
    group("type-args", list, [&](const TypeArg& arg) {
      if (arg.type != nullptr) type(*arg.type);
      if (arg.value != nullptr) expr(*arg.value);
    });
  }

  void type(const Type& t) {
    switch (t.kind) {
      case TypeKind::Named: {
        const auto& n = t.as<NamedType>();
        line(t.range, "type " + qualified(n.module, n.name));
        const Indent indent(*this);
        args(n.args);
        return;
      }
      case TypeKind::Array: {
        const auto& a = t.as<ArrayType>();
        line(t.range, a.dynamic ? "array-type dyn" : a.extents.empty() ? "buffer-type" : "array-type");
        const Indent indent(*this);
        type(*a.element);
        exprs("extents", a.extents);
        return;
      }
      case TypeKind::Tuple: {
        line(t.range, "tuple-type");
        const Indent indent(*this);
        for (const Type* e : t.as<TupleType>().elements) type(*e);
        return;
      }
      case TypeKind::Tensor: {
        line(t.range, "tensor-type");
        const Indent indent(*this);
        type(*t.as<TensorType>().element);
        exprs("extents", t.as<TensorType>().extents);
        return;
      }
      case TypeKind::Error: return line(t.range, "type-error");
    }
  }

  void expr(const Expr& e) {
    switch (e.kind) {
      case ExprKind::Int: {
        const auto& n = e.as<IntExpr>();
        return line(e.range, "int " + std::to_string(n.value) + (n.suffix.empty() ? "" : " " + std::string(n.suffix)));
      }
      case ExprKind::Float: {
        const auto& n = e.as<FloatExpr>();
        return line(e.range, "float " + std::string(n.digits) + (n.suffix.empty() ? "" : " " + std::string(n.suffix)));
      }
      case ExprKind::Bool: return line(e.range, e.as<BoolExpr>().value ? "bool true" : "bool false");
      case ExprKind::Name: return line(e.range, with("name", e.as<NameExpr>().name));
      case ExprKind::Unary: {
        line(e.range, "unary " + std::string(spelling(e.as<UnaryExpr>().op)));
        const Indent indent(*this);
        return expr(*e.as<UnaryExpr>().operand);
      }
      case ExprKind::Binary: {
        line(e.range, "binary " + std::string(spelling(e.as<BinaryExpr>().op)));
        const Indent indent(*this);
        expr(*e.as<BinaryExpr>().left);
        return expr(*e.as<BinaryExpr>().right);
      }
      case ExprKind::Call: {
        line(e.range, "call");
        const Indent indent(*this);
        expr(*e.as<CallExpr>().callee);
        args(e.as<CallExpr>().type_args);
        return exprs("args", e.as<CallExpr>().args);
      }
      case ExprKind::Member: {
        line(e.range, with("member", e.as<MemberExpr>().name));
        const Indent indent(*this);
        expr(*e.as<MemberExpr>().base);
        return args(e.as<MemberExpr>().base_type_args);
      }
      case ExprKind::TupleIndex: {
        line(e.range, "tuple-index " + std::to_string(e.as<TupleIndexExpr>().index));
        const Indent indent(*this);
        return expr(*e.as<TupleIndexExpr>().base);
      }
      case ExprKind::Index: {
        line(e.range, "index");
        const Indent indent(*this);
        expr(*e.as<IndexExpr>().base);
        return exprs("indexes", e.as<IndexExpr>().indexes);
      }
      case ExprKind::Cast: {
        line(e.range, "cast");
        const Indent indent(*this);
        expr(*e.as<CastExpr>().operand);
        return type(*e.as<CastExpr>().type);
      }
      case ExprKind::If: {
        line(e.range, "if");
        const Indent indent(*this);
        expr(*e.as<IfExpr>().condition);
        expr(*e.as<IfExpr>().then_branch);
        return labelled("else", e.as<IfExpr>().else_branch);
      }
      case ExprKind::Match: {
        line(e.range, "match");
        const Indent indent(*this);
        expr(*e.as<MatchExpr>().scrutinee);
        for (const MatchArm& arm : e.as<MatchExpr>().arms) {
          line(arm.range, "arm");
          const Indent inner(*this);
          pattern(*arm.pattern);
          labelled("guard", arm.guard);
          expr(*arm.body);
        }
        return;
      }
      case ExprKind::Block: {
        line(e.range, "block");
        const Indent indent(*this);
        for (const Stmt* s : e.as<BlockExpr>().statements) stmt(*s);
        return labelled("value", e.as<BlockExpr>().value);
      }
      case ExprKind::Record: {
        const auto& r = e.as<RecordExpr>();
        line(e.range, "record " + qualified(r.module, r.name));
        const Indent indent(*this);
        args(r.type_args);
        for (const RecordField& f : r.fields) labelled(with("field", f.name), f.value);
        return labelled("base", r.base);
      }
      case ExprKind::Array: {
        line(e.range, "array");
        const Indent indent(*this);
        for (const Expr* element : e.as<ArrayExpr>().elements) expr(*element);
        return;
      }
      case ExprKind::ArrayRepeat: {
        line(e.range, "array-repeat");
        const Indent indent(*this);
        expr(*e.as<ArrayRepeatExpr>().value);
        return expr(*e.as<ArrayRepeatExpr>().count);
      }
      case ExprKind::Tuple: {
        line(e.range, "tuple");
        const Indent indent(*this);
        for (const Expr* element : e.as<TupleExpr>().elements) expr(*element);
        return;
      }
      case ExprKind::Native: {
        line(e.range, "native");
        const Indent indent(*this);
        for (const NativeText& t : e.as<NativeExpr>().texts) line(t.text_range, with("text", t.target) + " " + quoted(t.text));
        return expr(*e.as<NativeExpr>().reference);
      }
      case ExprKind::Error: return line(e.range, "expr-error");
    }
  }

  void pattern(const Pattern& p) {
    switch (p.kind) {
      case PatternKind::Wildcard: return line(p.range, "wildcard");
      case PatternKind::Name: return line(p.range, with("name-pattern", p.as<NamePattern>().name));
      case PatternKind::Literal: {
        line(p.range, "literal-pattern");
        const Indent indent(*this);
        return expr(*p.as<LiteralPattern>().value);
      }
      case PatternKind::Constructor: {
        const auto& c = p.as<ConstructorPattern>();
        line(p.range, "constructor-pattern " + qualified(c.enum_name, c.name) + (c.parenthesised ? "()" : ""));
        const Indent indent(*this);
        for (const Pattern* argument : c.arguments) pattern(*argument);
        return;
      }
      case PatternKind::Tuple: {
        line(p.range, "tuple-pattern");
        const Indent indent(*this);
        for (const Pattern* element : p.as<TuplePattern>().elements) pattern(*element);
        return;
      }
      case PatternKind::Or: {
        line(p.range, "or-pattern");
        const Indent indent(*this);
        for (const Pattern* alternative : p.as<OrPattern>().alternatives) pattern(*alternative);
        return;
      }
      case PatternKind::Error: return line(p.range, "pattern-error");
    }
  }

  void unroll(const Unroll& u) {
    if (!u.present) return;
    line(u.range, "unroll");
    if (u.factor == nullptr) return;
    const Indent indent(*this);
    expr(*u.factor);
  }

  void stmt(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::Let: {
        const auto& l = s.as<LetStmt>();
        line(s.range, l.is_mutable ? "var" : "let");
        const Indent indent(*this);
        pattern(*l.pattern);
        labelled("type", l.type);
        return labelled("init", l.init);
      }
      case StmtKind::Const: {
        const auto& c = s.as<ConstStmt>();
        line(s.range, with("const", c.name));
        const Indent indent(*this);
        labelled("type", c.type);
        return expr(*c.value);
      }
      case StmtKind::Shared: {
        line(s.range, with("shared", s.as<SharedStmt>().name));
        const Indent indent(*this);
        return type(*s.as<SharedStmt>().type);
      }
      case StmtKind::Assign: {
        const auto& a = s.as<AssignStmt>();
        line(s.range, "assign " + (a.is_compound ? std::string(spelling(a.op)) : std::string()) + "=");
        const Indent indent(*this);
        expr(*a.target);
        return expr(*a.value);
      }
      case StmtKind::Expr: {
        line(s.range, "expr");
        const Indent indent(*this);
        return expr(*s.as<ExprStmt>().expr);
      }
      case StmtKind::For: {
        const auto& f = s.as<ForStmt>();
        line(s.range, with("for", f.variable) + (f.is_list ? " list" : f.inclusive ? " ..=" : " .."));
        const Indent indent(*this);
        unroll(f.unroll);
        labelled("type", f.type);
        labelled("first", f.first);
        labelled("last", f.last);
        labelled("step", f.step);
        exprs("list", f.list);
        return expr(*f.body);
      }
      case StmtKind::While: {
        line(s.range, "while");
        const Indent indent(*this);
        unroll(s.as<WhileStmt>().unroll);
        expr(*s.as<WhileStmt>().condition);
        return expr(*s.as<WhileStmt>().body);
      }
      case StmtKind::Loop: {
        line(s.range, "loop");
        const Indent indent(*this);
        unroll(s.as<LoopStmt>().unroll);
        return expr(*s.as<LoopStmt>().body);
      }
      case StmtKind::Break: return line(s.range, "break");
      case StmtKind::Continue: return line(s.range, "continue");
      case StmtKind::Return: {
        line(s.range, "return");
        const Indent indent(*this);
        if (s.as<ReturnStmt>().value != nullptr) expr(*s.as<ReturnStmt>().value);
        return;
      }
      case StmtKind::Superstep: {
        const auto& p = s.as<SuperstepStmt>();
        line(s.range, with("superstep", p.name) + (p.divergent ? " divergent" : ""));
        const Indent indent(*this);
        return expr(*p.body);
      }
      case StmtKind::Launch: {
        const auto& l = s.as<LaunchStmt>();
        line(s.range, "launch " + qualified(l.module, l.kernel));
        const Indent indent(*this);
        exprs("grid", l.grid);
        labelled("dynamic-elements", l.dynamic_elements);
        return exprs("args", l.args);
      }
      case StmtKind::Error: return line(s.range, "stmt-error");
    }
  }

  void params(List<Param> list) {
    for (const Param& p : list) {
      line(p.range, with("param", p.name) + (p.access == Access::None ? "" : " " + std::string(spelling(p.access))));
      const Indent indent(*this);
      type(*p.type);
    }
  }
  void type_params(List<TypeParam> list) {
    for (const TypeParam& p : list) line(p.name.range, with("type-param", p.name) + (p.bound ? ": " + std::string(p.bound.text) : ""));
  }

  void item(const Item& i) {
    switch (i.kind) {
      case ItemKind::Import: {
        const auto& m = i.as<ImportItem>();
        line(i.range, "import " + quoted(m.path) + (m.alias ? with(" as", m.alias) : ""));
        return doc(i);
      }
      case ItemKind::Const: {
        const auto& c = i.as<ConstItem>();
        line(i.range, with("const", c.name));
        doc(i);
        const Indent indent(*this);
        labelled("type", c.type);
        return expr(*c.value);
      }
      case ItemKind::Struct: {
        const auto& s = i.as<StructItem>();
        line(i.range, with("struct", s.name));
        doc(i);
        const Indent indent(*this);
        type_params(s.type_params);
        for (const Field& f : s.fields) labelled(with("field", f.name), f.type);
        return;
      }
      case ItemKind::Enum: {
        const auto& s = i.as<EnumItem>();
        line(i.range, with("enum", s.name));
        doc(i);
        const Indent indent(*this);
        type_params(s.type_params);
        for (const Variant& v : s.variants) {
          line(v.range, with("variant", v.name));
          const Indent inner(*this);
          for (const Type* t : v.payload) type(*t);
        }
        return;
      }
      case ItemKind::Function: {
        const auto& f = i.as<FunctionItem>();
        line(i.range, with("fn", f.name));
        doc(i);
        const Indent indent(*this);
        labelled("inline", f.inline_depth);
        unroll(f.unroll);
        type_params(f.type_params);
        params(f.params);
        labelled("result", f.result);
        return expr(*f.body);
      }
      case ItemKind::Kernel: {
        const auto& k = i.as<KernelItem>();
        line(i.range, with("kernel", k.name) + (k.wide ? " wide" : ""));
        doc(i);
        const Indent indent(*this);
        params(k.params);
        exprs("block-size", k.block);
        return expr(*k.body);
      }
      case ItemKind::Pipeline: {
        line(i.range, with("pipeline", i.as<PipelineItem>().name));
        doc(i);
        const Indent indent(*this);
        params(i.as<PipelineItem>().params);
        return expr(*i.as<PipelineItem>().body);
      }
      case ItemKind::Graph: {
        line(i.range, with("graph", i.as<GraphItem>().name));
        doc(i);
        const Indent indent(*this);
        params(i.as<GraphItem>().params);
        labelled("result", i.as<GraphItem>().result);
        return expr(*i.as<GraphItem>().body);
      }
      case ItemKind::Test: {
        line(i.range, with("test", i.as<TestItem>().name) + with(" for", i.as<TestItem>().subject));
        doc(i);
        const Indent indent(*this);
        for (const TestStmt& s : i.as<TestItem>().statements) test(s);
        return;
      }
    }
  }

  void test(const TestStmt& s) {
    switch (s.kind) {
      case TestStmtKind::Let: line(s.range, with("let", s.name)); break;
      case TestStmtKind::Bind: line(s.range, with("bind", s.name)); break;
      case TestStmtKind::Grid:
      case TestStmtKind::Shared:
      case TestStmtKind::Cases:
      case TestStmtKind::Seed: line(s.range, s.name.text); break;
      case TestStmtKind::ExpectValue: line(s.range, with("expect", s.name)); break;
      case TestStmtKind::ExpectSame: line(s.range, with("expect-same-as", s.name)); break;
      case TestStmtKind::ExpectError: line(s.range, "expect-error " + quoted(s.text)); break;
    }
    const Indent indent(*this);
    if (s.value != nullptr) expr(*s.value);
    for (const Expr* a : s.args) expr(*a);
  }

  void doc(const Item& i) {
    if (i.doc.empty()) return;
    const Indent indent(*this);
    line({}, "doc " + quoted(i.doc));
  }

  const SourceManager& sources_;
  const Ast& ast_;
  bool places_;
  std::size_t depth_ = 0;
  std::string out_;
};

}  // namespace

std::string dump_ast(const SourceManager& sources, const Ast& ast, bool with_places) { return Dumper(sources, ast, with_places).run(); }

}  // namespace sarek::syntax
