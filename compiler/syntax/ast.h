// The abstract syntax of a .sarek file, exactly as written: nothing is resolved, typed or defaulted here. Nodes live in the arena of
// their Ast, point at each other and own nothing; every node has its source range. Expressions, patterns and statements carry dense
// ids, so that later stages keep what they learn in side tables (one vector per fact) and never write into the tree.
// The meaning of each construct stands in grammar/language.md; how text becomes this tree is in parse.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/support/arena.h"
#include "compiler/support/ids.h"
#include "compiler/support/source.h"

namespace sarek::syntax {

using ExprId = Id<struct ExprTag>;
using PatternId = Id<struct PatternTag>;
using StmtId = Id<struct StmtTag>;

struct Expr;
struct Stmt;
struct Type;
struct Pattern;
struct BlockExpr;

template <class T>
using List = std::span<const T>;

/// An identifier and where it stands. Empty where the grammar makes it optional.
struct Name {
  std::string_view text;
  SourceRange range;

  explicit operator bool() const { return !text.empty(); }
};

// --- types ------------------------------------------------------------------------------------------------------------------

enum class TypeKind : std::uint8_t {
  Named,   // f32, Particle, Pair<f32>, fragment_a<f16, 16, 16, 16>, module.Particle
  Array,   // [T], [T; n], [T; rows, cols], [T; dyn]
  Tuple,   // (), (T, U)
  Tensor,  // tensor<f32>[n, 784]
  Error,   // stands where a type could not be parsed; a diagnostic has been reported
};

struct Type {
  TypeKind kind;
  SourceRange range;

  template <class T>
  const T& as() const {
    return static_cast<const T&>(*this);
  }
};

/// One argument between `<` and `>`: exactly one pointer is set. A bare name (`N` in `Foo<N>`) is always given as a type, whether it
/// turns out to name a type or a constant.
struct TypeArg {
  const Type* type = nullptr;
  const Expr* value = nullptr;
};

struct NamedType : Type {
  Name module;  // empty without a qualifier
  Name name;
  List<TypeArg> args;
};

/// `[T]` has no extents and is not dynamic; `[T; dyn]` is dynamic; otherwise one extent a dimension, outermost first.
struct ArrayType : Type {
  const Type* element;
  List<const Expr*> extents;
  bool dynamic;
};

struct TupleType : Type {
  List<const Type*> elements;  // none: the unit type; never exactly one
};

struct TensorType : Type {
  const Type* element;
  List<const Expr*> extents;
};

// --- expressions ------------------------------------------------------------------------------------------------------------

enum class ExprKind : std::uint8_t {
  Int,
  Float,
  Bool,
  Name,
  Unary,
  Binary,
  Call,
  Member,
  TupleIndex,
  Index,
  Cast,
  If,
  Match,
  Block,
  Record,
  Array,
  ArrayRepeat,
  Tuple,
  Native,
  Error,  // stands where an expression could not be parsed; a diagnostic has been reported
};

enum class UnaryOp : std::uint8_t { Neg, Not, BitNot };

enum class BinaryOp : std::uint8_t {
  Mul,
  Div,
  Mod,
  MatMul,  // * / % @
  Add,
  Sub,
  Shl,
  Shr,
  BitAnd,
  BitXor,
  BitOr,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,  // && ||, short-circuit
};

/// The spelling in source text: "+", "<<", "&&".
std::string_view spelling(BinaryOp op);
std::string_view spelling(UnaryOp op);

struct Expr {
  ExprKind kind;
  ExprId id;
  SourceRange range;

  template <class T>
  const T& as() const {
    return static_cast<const T&>(*this);
  }
};

/// 42, 0xff_u8, 0b1010, 1_000i64. `value` is the magnitude, at most 2^64 - 1 (more is a diagnostic); a minus sign is a Unary around it.
struct IntExpr : Expr {
  std::uint64_t value;
  std::string_view suffix;  // "i32", ... or empty: weak
  std::string_view text;    // as written
};

/// 1.0, 1e-3f32, 0x1.8p3, 2f64, inf, nan, inf_f32. `digits` is the number without underscores and suffix ("inf" and "nan" included), in
/// a form that strtod reads: typing rounds this text once, to the type it picks.
struct FloatExpr : Expr {
  std::string_view digits;
  std::string_view suffix;  // "f32", ... or empty: weak
  std::string_view text;    // as written
};

struct BoolExpr : Expr {
  bool value;
};

/// A plain identifier: a variable, constant, function, built-in value, bare constructor, imported module or enum name.
struct NameExpr : Expr {
  Name name;
};

struct UnaryExpr : Expr {
  UnaryOp op;
  SourceRange op_range;
  const Expr* operand;
};

struct BinaryExpr : Expr {
  BinaryOp op;
  SourceRange op_range;
  const Expr* left;
  const Expr* right;
};

/// f(x), bitcast<u32>(x), circle(r), Shape.circle(r), module.f(x). `callee` is a NameExpr or a MemberExpr whenever the call can be valid.
struct CallExpr : Expr {
  const Expr* callee;
  List<TypeArg> type_args;
  List<const Expr*> args;
};

/// base.name: a field, `.len`, `.x`, a constructor of an enum, or a name of an imported module.
struct MemberExpr : Expr {
  const Expr* base;
  Name name;
  List<TypeArg> base_type_args;  // the arguments in Option<f32>.none, else empty
};

/// base.0
struct TupleIndexExpr : Expr {
  const Expr* base;
  std::uint32_t index;
  SourceRange index_range;
};

/// base[i], base[row, col]: at least one index.
struct IndexExpr : Expr {
  const Expr* base;
  List<const Expr*> indexes;
};

struct CastExpr : Expr {
  const Expr* operand;
  const Type* type;
};

/// `else_branch` is null, a BlockExpr, or an IfExpr for `else if`.
struct IfExpr : Expr {
  const Expr* condition;
  const BlockExpr* then_branch;
  const Expr* else_branch;
};

struct MatchArm {
  const Pattern* pattern;
  const Expr* guard;  // null without `if`
  const Expr* body;
  SourceRange range;
};

struct MatchExpr : Expr {
  const Expr* scrutinee;
  List<MatchArm> arms;
};

/// { statements; value }: `value` is null when the block ends in a statement; then its value is ().
struct BlockExpr : Expr {
  List<const Stmt*> statements;
  const Expr* value;
};

struct RecordField {
  Name name;
  const Expr* value;
};

/// Particle { pos: p, mass: 1.0 }, Pair<f32> { a: 1.0, ..old }
struct RecordExpr : Expr {
  Name module;  // empty without a qualifier
  Name name;
  List<TypeArg> type_args;
  List<RecordField> fields;
  const Expr* base;  // after `..`, or null
};

/// [a, b, c]
struct ArrayExpr : Expr {
  List<const Expr*> elements;
};

/// [value; count]
struct ArrayRepeatExpr : Expr {
  const Expr* value;
  const Expr* count;
};

struct TupleExpr : Expr {
  List<const Expr*> elements;  // none: the unit value; never exactly one
};

struct NativeText {
  Name target;            // cuda, opencl, ...
  std::string_view text;  // escapes decoded; `$name` refers to a local of the kernel
  SourceRange text_range;
};

/// native { cuda: "__popc($x)", opencl: "popcount($x)" } else { popcount(x) }: the block after `else` defines the meaning.
struct NativeExpr : Expr {
  List<NativeText> texts;
  const BlockExpr* reference;
};

// --- patterns ---------------------------------------------------------------------------------------------------------------

enum class PatternKind : std::uint8_t {
  Wildcard,     // _
  Name,         // x: a binding, or a constructor without payload when the scrutinee's enum has one of that name
  Literal,      // 3, -1, true
  Constructor,  // circle(r), Shape.circle(r), Shape.none
  Tuple,        // (a, b)
  Or,           // a | b
  Error,
};

struct Pattern {
  PatternKind kind;
  PatternId id;
  SourceRange range;

  template <class T>
  const T& as() const {
    return static_cast<const T&>(*this);
  }
};

struct NamePattern : Pattern {
  Name name;
};

/// `value` is an IntExpr, a BoolExpr, or a Unary Neg around an IntExpr. Floats are refused by the parser.
struct LiteralPattern : Pattern {
  const Expr* value;
};

/// `parenthesised` tells circle() from circle, which only Shape.circle can write.
struct ConstructorPattern : Pattern {
  Name enum_name;  // empty when the constructor is written bare
  Name name;
  List<const Pattern*> arguments;
  bool parenthesised;
};

struct TuplePattern : Pattern {
  List<const Pattern*> elements;
};

struct OrPattern : Pattern {
  List<const Pattern*> alternatives;  // at least two
};

// --- statements -------------------------------------------------------------------------------------------------------------

enum class StmtKind : std::uint8_t {
  Let,  // let and var
  Const,
  Shared,
  Assign,
  Expr,
  For,
  While,
  Loop,
  Break,
  Continue,
  Return,
  Superstep,
  Launch,  // only inside a pipeline
  Error,
};

struct Stmt {
  StmtKind kind;
  StmtId id;
  SourceRange range;

  template <class T>
  const T& as() const {
    return static_cast<const T&>(*this);
  }
};

/// let p = e; let p: T = e; var x: T = e; var x: T;  The pattern is a Name, Wildcard or Tuple of these. `type` and `init` may each be
/// null, but not both.
struct LetStmt : Stmt {
  bool is_mutable;
  const Pattern* pattern;
  const Type* type;
  const Expr* init;
};

/// A constant inside a body. `type` is null when it is not annotated.
struct ConstStmt : Stmt {
  Name name;
  const Type* type;
  const Expr* value;
};

/// shared tile: [f32; 256]; shared tile: [f32; dyn]; shared total: f32;
struct SharedStmt : Stmt {
  Name name;
  const Type* type;
};

/// target = value; target += value. `is_compound` says whether `op` holds.
struct AssignStmt : Stmt {
  bool is_compound;
  BinaryOp op;
  SourceRange op_range;
  const Expr* target;
  const Expr* value;
};

struct ExprStmt : Stmt {
  const Expr* expr;
};

/// `unroll` before a loop: not there, complete, or by `factor`.
struct Unroll {
  bool present = false;
  const Expr* factor = nullptr;  // null: complete
  SourceRange range;
};

/// for v in first..last step s { } or for v in [a, b, c] { }. Either `first` and `last` are set, or `is_list` holds.
struct ForStmt : Stmt {
  Unroll unroll;
  Name variable;     // "_" is allowed
  const Type* type;  // the variable's annotation, or null
  bool is_list;
  const Expr* first;
  const Expr* last;
  bool inclusive;    // ..= rather than ..
  const Expr* step;  // null: 1. A negative step counts down: last is then the lower end
  List<const Expr*> list;
  const BlockExpr* body;
};

struct WhileStmt : Stmt {
  Unroll unroll;
  const Expr* condition;
  const BlockExpr* body;
};

struct LoopStmt : Stmt {
  Unroll unroll;
  const BlockExpr* body;
};

struct ReturnStmt : Stmt {
  const Expr* value;  // null: ()
};

/// superstep name { } or superstep name divergent { }: the body, then a block barrier.
struct SuperstepStmt : Stmt {
  Name name;
  bool divergent;
  const BlockExpr* body;
};

/// kernel<<gx, gy, gz>>(args); kernel<<gx; elements>>(args); `dynamic_elements` sizes the kernel's dynamic shared array, or is null.
struct LaunchStmt : Stmt {
  Name module;  // empty without a qualifier
  Name kernel;
  List<const Expr*> grid;
  const Expr* dynamic_elements;
  List<const Expr*> args;
};

// --- items ------------------------------------------------------------------------------------------------------------------

enum class ItemKind : std::uint8_t { Import, Const, Struct, Enum, Function, Kernel, Pipeline, Graph, Test };

/// `broken` says that a syntax error was reported inside the item: its parts may be missing, and further complaints about it would
/// only follow from the first.
struct Item {
  ItemKind kind;
  SourceRange range;
  std::string_view doc;  // the text of the `///` lines directly above, without the slashes; lines end in '\n'
  bool broken = false;

  template <class T>
  const T& as() const {
    return static_cast<const T&>(*this);
  }
};

/// import "path.sarek"; import "path.sarek" as name; Without `as`, the names of the module are visible as they are.
struct ImportItem : Item {
  std::string_view path;
  SourceRange path_range;
  Name alias;
};

struct ConstItem : Item {
  Name name;
  const Type* type;  // null when it is not annotated
  const Expr* value;
};

/// T or T: number
struct TypeParam {
  Name name;
  Name bound;
};

struct Field {
  Name name;
  const Type* type;
  std::string_view doc;
};

struct StructItem : Item {
  Name name;
  List<TypeParam> type_params;
  List<Field> fields;
};

struct Variant {
  Name name;
  List<const Type*> payload;
  SourceRange range;
};

struct EnumItem : Item {
  Name name;
  List<TypeParam> type_params;
  List<Variant> variants;
};

enum class Access : std::uint8_t { None, In, Out, InOut };

/// "in", "out", "inout", or "" for None.
std::string_view spelling(Access access);

struct Param {
  Name name;
  Access access;
  SourceRange access_range;
  const Type* type;
  SourceRange range;
};

/// fn, inline(n) fn, unroll fn, unroll(n) fn
struct FunctionItem : Item {
  Name name;
  List<TypeParam> type_params;
  List<Param> params;
  const Type* result;        // null: ()
  const Expr* inline_depth;  // the n of inline(n), or null
  SourceRange inline_range;
  Unroll unroll;
  const BlockExpr* body;
};

struct KernelItem : Item {
  Name name;
  List<Param> params;
  List<const Expr*> block;  // the constants of block(x, y, z); empty when it is not written
  SourceRange block_range;
  bool wide;
  SourceRange wide_range;
  const BlockExpr* body;
};

struct PipelineItem : Item {
  Name name;
  List<Param> params;
  const BlockExpr* body;
};

struct GraphItem : Item {
  Name name;
  List<Param> params;
  const Type* result;
  const BlockExpr* body;
};

enum class TestStmtKind : std::uint8_t {
  Let,          // let n = any(1, 1000);           name, value
  Bind,         // x = [1.0, 2.0];                 name (a parameter), value
  Grid,         // grid(4, 2);                     args: 1 to 3 block counts
  Shared,       // shared(256);                    args: elements of the dynamic shared array
  Cases,        // cases(100);                     args: how many random inputs
  Seed,         // seed(7);                        args
  ExpectValue,  // expect y = [3.0, 4.0];          name (a parameter), value
  ExpectSame,   // expect same as interp;          name (a target)
  ExpectError,  // expect error "out-of-bounds";   text
};

/// Generators (`random(n, lo, hi)`, `any(n)`, ...) are plain calls in `value`.
struct TestStmt {
  TestStmtKind kind;
  SourceRange range;
  Name name;
  const Expr* value = nullptr;
  List<const Expr*> args;
  std::string_view text;
};

/// test name for subject { ... }
struct TestItem : Item {
  Name name;
  Name subject;  // a kernel or a pipeline of this module or an imported one
  List<TestStmt> statements;
};

/// A comment, delimiters included; line comments end before the line end.
struct Comment {
  SourceRange range;
};

/// One parsed file. Moving it moves no node.
struct Ast {
  FileId file;
  Arena arena;
  std::vector<const Item*> items;  // in source order
  std::vector<Comment> comments;   // in source order
  // Ids of each sort run from 0 to the count, without gaps.
  std::uint32_t expr_count = 0;
  std::uint32_t pattern_count = 0;
  std::uint32_t stmt_count = 0;
};

}  // namespace sarek::syntax
