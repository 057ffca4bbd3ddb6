// What typing makes of a module, private to this folder: typed trees, declarations, scopes. The trees are the AST with names resolved,
// types filled in and sugar removed; the lowering, the evaluator of constants and the flow questions walk them. How they are made is in
// check_*.cpp.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/sema/sema.h"
#include "compiler/sema/types.h"

namespace sarek::sema {

enum class Builtin : std::uint8_t {
#define SAREK_BUILTIN(name, text, count, shape) name,
#include "compiler/sema/builtins.def"
};
enum class BuiltinShape : std::uint8_t {
  Float1,
  Float2,
  Float3,
  Number1,
  Number2,
  Integer2,
  Count,
  Effect,
  Shuffle,
  Vote,
  Ballot,
  Mask,
  Reduce,
  ReduceBits,
  Atomic,
  AtomicBits,
  AtomicStep,
  AtomicCas,
  Later1,
  Later2
};
struct BuiltinInfo {
  std::string_view name;
  std::size_t count;
  BuiltinShape shape;
};
const BuiltinInfo& builtin_info(Builtin builtin);
std::optional<Builtin> builtin_by_name(std::string_view name);
/// Every name, for suggestions.
std::vector<std::string_view> builtin_names();

enum class IdKind : std::uint8_t { GlobalId, LocalId, GroupId, GroupSize, NumGroups, WarpSize, LaneId };
std::optional<IdKind> id_by_name(std::string_view name);
std::string_view id_name(IdKind kind);
inline bool id_has_axes(IdKind kind) { return kind != IdKind::WarpSize && kind != IdKind::LaneId; }

// --- typed trees ---------------------------------------------------------------------------------------------------------------

struct Expr;
struct Stmt;
struct Function;

enum class PatternForm : std::uint8_t { Wildcard, Bind, Literal, Constructor, Tuple, Or };
struct Pattern {
  PatternForm form = PatternForm::Wildcard;
  TypeId type;
  SourceRange range;
  std::uint32_t local = 0;  // Bind
  ir::Int128 value = 0;     // Literal; a bool is 0 or 1
  std::uint32_t constructor = 0;
  std::vector<Pattern*> parts;  // arguments, elements, alternatives
};

struct Arm {
  Pattern* pattern = nullptr;
  Expr* guard = nullptr;
  Expr* body = nullptr;
  SourceRange range;
};

enum class ExprForm : std::uint8_t {
  Error,
  Literal,  // number, not rounded before its type is known
  Cells,    // a constant that has been evaluated
  Local,
  Id,  // global_id.x, ...
  Unary,
  Binary,  // arithmetic, comparisons, bit operations
  Logic,   // && ||
  Cast,
  Bitcast,
  Call,
  Intrinsic,
  Construct,  // of a tuple, record or array: every part, in order
  Repeat,     // [args[0]; n], n in the type
  Inject,     // a constructor of a variant with its payload
  Field,      // of a record or tuple
  Index,      // args[0] at args[1..]
  Length,     // of args[0], a buffer or a dynamic shared array
  If,         // args: condition, then, else or null
  Match,      // args[0], arms
  Block,      // statements, args[0]: value or null
};

enum class Op : std::uint8_t {
  Neg,
  Not,
  BitNot,
  Mul,
  Div,
  Mod,
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
  Or
};
std::string_view op_text(Op op);

/// Ways to leave an expression or statement other than at its end.
enum Exits : std::uint8_t { kNoExit = 0, kBreak = 1, kContinue = 2, kReturn = 4 };

struct Expr {
  ExprForm form = ExprForm::Error;
  TypeId type;
  SourceRange range;
  std::vector<Expr*> args;

  // Literal
  bool is_float = false;
  bool negative = false;
  std::uint64_t integer = 0;
  std::string_view digits;
  std::vector<std::uint64_t> cells;  // Cells: bits in slot order

  Op op = Op::Neg;
  Builtin builtin = Builtin::Sqrt;
  IdKind id = IdKind::GlobalId;
  std::uint32_t index = 0;  // Local: its number; Field: which; Inject: the constructor; Id: the axis
  Function* callee = nullptr;
  std::vector<TypeId> type_args;  // Call
  std::vector<Arm> arms;
  std::vector<Stmt*> statements;

  std::uint8_t exits = kNoExit;  // that happen inside and go beyond
  bool diverges = false;         // control never reaches its end
};

enum class StmtForm : std::uint8_t { Error, Let, Var, Assign, Expr, For, ForList, While, Loop, Break, Continue, Return, Superstep, Launch };
struct Stmt {
  StmtForm form = StmtForm::Error;
  SourceRange range;
  Pattern* pattern = nullptr;  // Let, Var
  std::uint32_t local = 0;     // For, ForList
  bool is_compound = false;    // Assign
  Op op = Op::Add;
  Expr* target = nullptr;  // Assign
  Expr* value = nullptr;   // Let, Var (null: zero), Assign, Expr, Return (null: nothing), While: condition
  Expr* first = nullptr;   // For
  Expr* last = nullptr;
  Expr* step = nullptr;  // null: 1
  bool inclusive = false;
  std::vector<Expr*> list;  // ForList
  Expr* body = nullptr;
  bool unroll = false;
  int unroll_factor = 0;   // 0: completely
  bool divergent = false;  // Superstep
  SourceRange name_range;  // Superstep
  std::uint8_t exits = kNoExit;
  bool diverges = false;
};

enum class LocalKind : std::uint8_t { Let, Var, Param, LoopVariable, Shared, DynamicShared, Buffer };
struct Local {
  std::string name;
  SourceRange range;
  TypeId type;
  LocalKind kind = LocalKind::Let;
  ir::Access access = ir::Access::None;  // Buffer
  std::vector<Expr*> extents;            // Buffer: of a view
  bool used = false;
  bool read = false;
  bool written = false;
  bool indexed = false;  // an element is taken at an index that is not constant
};

/// One typed body: of a function, kernel, pipeline or constant.
struct Body {
  std::deque<Expr> exprs;
  std::deque<Stmt> stmts;
  std::deque<Pattern> patterns;
  std::vector<Local> locals;  // parameters first
  Expr* root = nullptr;
  bool faulty = false;
};

// --- declarations --------------------------------------------------------------------------------------------------------------

struct File;

struct ConstantDef {
  std::string name;
  SourceRange range;
  const syntax::Type* type = nullptr;
  const syntax::Expr* value = nullptr;
  File* file = nullptr;
  enum class State : std::uint8_t { Untouched, Busy, Done } state = State::Untouched;
  TypeId resolved;
  std::vector<std::uint64_t> cells;
  std::optional<std::string> override_text;  // -D
};

struct ParamDef {
  std::string name;
  SourceRange range;
  TypeId type;
  ir::Access access = ir::Access::None;
  std::vector<const syntax::Expr*> extents;  // of a view
};

enum class Recursion : std::uint8_t { None, Tail, Inline };

struct Function {
  std::string name;
  const syntax::FunctionItem* item = nullptr;
  File* file = nullptr;
  std::vector<std::pair<std::string, std::uint32_t>> type_params;
  std::vector<ParamDef> params;
  TypeId result;
  bool declared = false;
  bool signature_broken = false;
  std::array<std::unique_ptr<Body>, 2> bodies;  // [0]: ids and lengths are i32, [1]: i64
  bool uses_ids = false;                        // the body uses ids or lengths, so that [0] and [1] differ
  Recursion recursion = Recursion::None;
  int inline_depth = 0;

  /// The body for questions that both answer alike.
  Body* any_body() const { return bodies[0] ? bodies[0].get() : bodies[1].get(); }
};

struct Kernel {
  std::string name;
  const syntax::KernelItem* item = nullptr;
  File* file = nullptr;
  std::vector<ParamDef> params;
  std::array<int, 3> block{1, 1, 1};
  bool wide = false;
  bool broken = false;
  std::unique_ptr<Body> body;
};

enum class EntityKind : std::uint8_t { Constant, Record, Function, Kernel, Pipeline, Graph, Module };
struct Entity {
  EntityKind kind = EntityKind::Constant;
  std::uint32_t index = 0;  // into the module's table of that kind; Module: into files
  SourceRange range;
};

/// One file of the compile.
struct File {
  FileId id;
  syntax::Ast ast;
  std::map<std::string, Entity, std::less<>> names;    // declared here
  std::map<std::string, Entity, std::less<>> visible;  // declared here, imported plainly, module aliases
  std::vector<std::size_t> imports;                    // files imported without an alias, for constructors
};

class Module {
 public:
  TypeTable types;
  std::deque<File> files;  // the root first
  std::deque<ConstantDef> constants;
  std::deque<Function> functions;
  std::deque<Kernel> kernels;
  std::vector<std::uint32_t> record_numbers;  // Entity::index of records is a number of `types`
  struct Pipeline {
    std::string name;
    const syntax::PipelineItem* item = nullptr;
    File* file = nullptr;
  };
  std::deque<Pipeline> pipelines;
  struct GraphDef {
    std::string name;
    const syntax::GraphItem* item = nullptr;
    File* file = nullptr;
  };
  std::deque<GraphDef> graphs;

  std::vector<KernelInfo> kernel_infos;
  ModuleInterface interface;
  std::vector<TestInfo> tests;
  std::vector<FileId> imported;
};

}  // namespace sarek::sema
