// The checker: Checker holds what the files of a compile share (names, declarations, constants), BodyChecker types one body. Their parts:
//   check_files.cpp     imports, scopes, the order of everything, recursion
//   check_types.cpp     written types, records, signatures, constants
//   check_expr.cpp      expressions, places; check_literal.cpp: arrays and records written out; check_call.cpp: calls
//   check_stmt.cpp      statements and whole bodies
//   check_match.cpp     patterns, coverage
//   check_finish.cpp    what is decided once types are known
//   check_tests.cpp     tests; check_interface.cpp: pipelines, what callers see
#pragma once

#include <functional>
#include <set>

#include "compiler/sema/infer.h"
#include "compiler/sema/module.h"

namespace sarek::sema {

class BodyChecker;

/// The text of a list of suggestions: " (did you mean `x`?)" needs the nearest of `names` to `wanted`; empty when none is near.
std::string nearest_name(std::string_view wanted, const std::vector<std::string_view>& names);

/// How many errors one body may cause before it falls silent.
class Checker {
 public:
  Checker(Module& checked, SourceManager& files, DiagnosticSink& faults, const CheckOptions& how)
      : module(checked), types(checked.types), sources(files), sink(faults), options(how) {}
  void run(syntax::Ast root);

  // --- services for bodies --------------------------------------------------------------------------------------------------
  const Entity* find(const File& file, std::string_view name) const;
  /// The file behind `alias`, or null.
  File* alias(const File& file, std::string_view name);
  /// Constructors of that name that are visible in the file: record numbers and constructor indexes.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> constructors(const File& file, std::string_view name) const;
  /// The constant, evaluated. Null after a fault.
  const ConstantDef* constant(std::uint32_t index, SourceRange use);
  Body* body_of(Function& function, bool wide);
  /// Types the signature, if nobody has asked for it yet.
  void declare_function(Function& function);

  Diagnostic& report(DiagnosticKind kind, SourceRange range, std::string message) { return sink.report(kind, range, std::move(message)); }

  Module& module;
  TypeTable& types;
  SourceManager& sources;
  DiagnosticSink& sink;
  const CheckOptions& options;

 private:
  friend class BodyChecker;
  // check_files.cpp
  std::optional<std::size_t> load(syntax::Ast ast, SourceRange from);
  void collect(File& file);
  void declare(File& file, std::string_view name, Entity entity);
  void make_visible(File& file);
  void read_defines();
  void check_recursion();
  // check_types.cpp
  void declare_records();
  void check_record_cycles();
  void declare_kernels();
  std::optional<ParamDef> parameter(BodyChecker& scope, const syntax::Param& param, bool in_kernel);
  void check_constant(ConstantDef& constant);
  // check_interface.cpp, check_tests.cpp
  void check_pipelines();
  void check_tests();
  void build_interface();

  std::vector<FileId> loading_;
  std::map<FileId, std::size_t> loaded_;
};

/// Evaluates a typed expression to the bits of its cells. Reports why there is no value and returns none.
std::optional<std::vector<std::uint64_t>> evaluate(Checker& checker, Body& body, const Expr& expr);
/// A literal's bits in the numeric type `type`, rounded once. None when an integer does not fit.
std::optional<std::uint64_t> literal_bits(const Expr& literal, ir::Type type);

enum class Use : std::uint8_t { Read, Write, ReadWrite };

class BodyChecker {
 public:
  enum class Kind : std::uint8_t { Function, Kernel, Constant, Pipeline };
  BodyChecker(Checker& checker, File& in, Kind sort, Body& into, bool is_wide)
      : up(checker), module(checker.module), types(checker.types), file(in), kind(sort), body(into), wide(is_wide), infer(checker.types) {
    scopes.emplace_back();
  }

  // --- entry points ---------------------------------------------------------------------------------------------------------
  void check_function(Function& function);
  void check_kernel(Kernel& kernel);
  /// Types `expr` as a constant of type `want` (none: any) and evaluates it.
  std::optional<std::vector<std::uint64_t>> constant_value(const syntax::Expr& expr, TypeId& want);
  /// A constant integer of any integer type.
  std::optional<std::int64_t> constant_integer(const syntax::Expr& expr);
  void bind_type_params(const std::vector<std::pair<std::string, std::uint32_t>>& params);
  TypeId resolve_type(const syntax::Type& type, bool allow_buffer = false);
  std::uint32_t add_local(std::string_view name, SourceRange range, TypeId type, LocalKind kind);
  Expr* check(const syntax::Expr& e, TypeId want = {});
  void finish();

 private:
  friend class Checker;
  struct Scoped {
    bool is_constant = false;
    std::uint32_t local = 0;
    TypeId type;  // constants
    std::vector<std::uint64_t> cells;
    SourceRange range;
  };
  using Scope = std::map<std::string, Scoped, std::less<>>;
  struct ScopeGuard {
    explicit ScopeGuard(BodyChecker& checker) : of(checker) { of.scopes.emplace_back(); }
    ~ScopeGuard() { of.scopes.pop_back(); }
    BodyChecker& of;
  };

  // --- reporting
  Diagnostic& report(DiagnosticKind kind, SourceRange range, std::string message);
  Expr* error(SourceRange range);
  Diagnostic& mismatch(SourceRange range, TypeId a, TypeId b);
  /// Unifies the expression's type with `want`; reports at the expression, with the cast that would mend it.
  bool expect(Expr* e, TypeId want);
  void unknown_name(const syntax::Name& name);
  /// Reports a type of too many parts, once a body; gives the error type.
  TypeId too_large(SourceRange range);

  // --- building
  Expr* make(ExprForm form, TypeId type, SourceRange range, std::vector<Expr*> args = {});
  Stmt* make_stmt(StmtForm form, SourceRange range);
  Pattern* make_pattern(PatternForm form, TypeId type, SourceRange range);
  TypeId fresh(VarKind var, SourceRange range) { return infer.fresh(var, range); }
  TypeId index_type() const { return types.scalar(wide ? ir::Type::I64 : ir::Type::I32); }
  TypeId ids_used();

  /// Gives `inner`, which types a constant, the names of this body. Locals are known there, but have no value.
  void lend_scopes(BodyChecker& inner) const;
  TypeId infer_type(TypeId type) const;

  // --- types (check_types.cpp)
  TypeId resolve_named(const syntax::NamedType& type);
  std::optional<std::vector<TypeId>> type_arguments(syntax::List<syntax::TypeArg> args, std::size_t count, SourceRange range,
                                                    std::string_view of);

  // --- expressions
  const Scoped* lookup(std::string_view name) const;
  Expr* check_raw(const syntax::Expr& e, TypeId want);
  Expr* check_name(const syntax::NameExpr& e, TypeId want);
  Expr* check_unary(const syntax::UnaryExpr& e, TypeId want);
  Expr* check_binary(const syntax::BinaryExpr& e, TypeId want);
  Expr* binary(Op op, Expr* left, Expr* right, SourceRange range, SourceRange op_range);
  Expr* check_member(const syntax::MemberExpr& e, TypeId want);
  Expr* check_index(const syntax::IndexExpr& e);
  Expr* check_cast(const syntax::CastExpr& e);
  Expr* check_if(const syntax::IfExpr& e, TypeId want);
  Expr* check_match(const syntax::MatchExpr& e, TypeId want);
  Expr* check_block(const syntax::BlockExpr& e, TypeId want);
  Expr* check_record(const syntax::RecordExpr& e, TypeId want);
  Expr* check_array(const syntax::ArrayExpr& e, TypeId want);
  Expr* check_repeat(const syntax::ArrayRepeatExpr& e, TypeId want);
  Expr* check_call(const syntax::CallExpr& e, TypeId want);
  Expr* call_function(const syntax::CallExpr& e, Function& function, TypeId want);
  /// The constructor of an enum behind a point, called or without a payload; the enum that `module.Enum` names.
  Expr* call_constructor(std::uint32_t def, const syntax::MemberExpr& callee, const syntax::CallExpr& e, TypeId want);
  Expr* bare_member(std::uint32_t def, const syntax::MemberExpr& e, TypeId want);
  void unknown_constructor(std::uint32_t def, const syntax::Name& name);
  std::optional<std::uint32_t> enum_of_module(const syntax::Expr* e) const;
  Expr* call_builtin(const syntax::CallExpr& e, Builtin builtin, TypeId want);
  Expr* check_bitcast(const syntax::CallExpr& e);
  Expr* constructor(std::uint32_t def, std::uint32_t ctor, syntax::List<syntax::TypeArg> type_args, bool has_args,
                    syntax::List<const syntax::Expr*> args, SourceRange range, TypeId want);
  Expr* bare_constructor(const syntax::Name& name, bool has_args, syntax::List<const syntax::Expr*> args, SourceRange range, TypeId want,
                         bool& found);
  Expr* constant_cells(TypeId type, const std::vector<std::uint64_t>& cells, SourceRange range);
  /// Parentheses around operands belong to no node of the tree: the range with those that its text needs.
  SourceRange balanced(SourceRange range) const;
  bool wrong_count(std::string_view what, std::size_t wanted, std::size_t given, SourceRange range);
  void use_place(Expr* e, Use use, SourceRange range);
  Expr* root_of(Expr* e);

  // --- statements
  Stmt* check_statement(const syntax::Stmt& s);
  Stmt* check_let(const syntax::LetStmt& s);
  Stmt* check_assign(const syntax::AssignStmt& s);
  Stmt* check_for(const syntax::ForStmt& s);
  Stmt* check_while(const syntax::WhileStmt& s);
  Stmt* check_loop(const syntax::LoopStmt& s);
  Stmt* check_return(const syntax::ReturnStmt& s);
  Stmt* check_superstep(const syntax::SuperstepStmt& s);
  void check_shared(const syntax::SharedStmt& s);
  void check_local_constant(const syntax::ConstStmt& s);
  void set_unroll(Stmt* out, const syntax::Unroll& unroll);
  Expr* loop_body(const syntax::BlockExpr& e);

  // --- patterns
  Pattern* check_pattern(const syntax::Pattern& p, TypeId type, bool mutable_binding);
  void check_exhaustive(Expr* match);

  // --- finish
  void finish_expr(Expr& e);
  bool satisfies(TypeId type, Bound bound) const;
  void check_arithmetic(Expr& e);
  void warn_unused();

  Checker& up;
  Module& module;
  TypeTable& types;
  File& file;
  Kind kind;
  Body& body;
  bool wide;
  Inference infer;
  std::vector<Scope> scopes;
  std::map<std::string, TypeId, std::less<>> type_names;
  TypeId result;  // of the function
  SourceRange result_range;
  int loop_depth = 0;
  bool told_too_large = false;
  Function* function = nullptr;
  Kernel* kernel = nullptr;
};

}  // namespace sarek::sema
