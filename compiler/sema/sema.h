// The front door of the folder: from parsed files to typed modules and from kernels to programs of the IR.
//
//   check  resolves imports and names, types every body, evaluates constants; reports every refusal of the language that needs no lowering
//   lower  inlines a kernel into one ir::Program, applies the recursion rules, and decides convergence on the result
//
// Reading files and printing diagnostics is the caller's business. What the language means stands in grammar/language.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/support/diagnostic.h"
#include "compiler/support/result.h"
#include "compiler/support/source.h"
#include "compiler/syntax/ast.h"

namespace sarek::sema {

/// Finds an imported module: `path` as written in the import, `from` the importing file. Returns the file, already added to the
/// SourceManager (the same id for the same file, so that a module is checked once), or the reason why there is none.
using ImportResolver = std::function<Result<FileId>(std::string_view path, FileId from)>;

struct CheckOptions {
  /// "NAME=VALUE" or "NAME" (true): overrides the constant NAME of any module, or defines it for all of them. VALUE is an integer, a
  /// number, or true or false; it must fit the constant's type.
  std::vector<std::string> defines;
  /// Without one every import is refused as file-not-found.
  ImportResolver resolve_import;
};

// --- what a caller may know about a module without its insides ------------------------------------------------------------------

/// A field of a record, or the payload of a variant, as the generated header spells it.
struct FieldInfo {
  std::string name;                   // "pos", or "0" in a payload
  std::string type_name;              // as the language spells it: "f32", "[f32; 3]", "Vec"
  ir::Type scalar = ir::Type::Void;   // of the innermost element when that is a scalar
  std::string record;                 // of the innermost element when that is a record or a variant: its RecordInfo::name
  std::vector<std::int64_t> extents;  // of fixed arrays, outermost first
  std::int64_t offset = 0;            // bytes from the start of the record; in a payload: from the start of the variant
};
struct ConstructorInfo {
  std::string name;
  std::vector<FieldInfo> payload;  // cells of one payload may lie apart: one per scalar cell, in order
};
/// A record or variant that a kernel's parameter uses, monomorphic ("Pair<f32>"), after those it is made of.
struct RecordInfo {
  std::string name;
  std::string doc;
  bool is_variant = false;
  std::vector<FieldInfo> fields;              // records
  std::vector<ConstructorInfo> constructors;  // variants, in order of their tags
  ir::ElementLayout layout;
};
struct ParamInfo {
  std::string name;
  bool is_buffer = false;
  ir::Access access = ir::Access::None;
  ir::ElementLayout element;
  std::vector<std::int64_t> view;  // as ir::KernelParam
};
struct KernelInfo {
  std::string name;
  std::string doc;
  SourceRange range;  // of the name
  std::vector<ParamInfo> params;
  std::array<int, 3> block{1, 1, 1};
  bool wide = false;
  bool has_dynamic_shared = false;
};
struct LaunchInfo {
  std::string kernel;
  SourceRange range;
};
struct PipelineInfo {
  std::string name;
  std::string doc;
  SourceRange range;
  std::vector<ParamInfo> params;
  std::vector<LaunchInfo> launches;
};
struct ModuleInterface {
  std::vector<RecordInfo> records;
  std::vector<KernelInfo> kernels;
  std::vector<PipelineInfo> pipelines;
};

// --- tests ---------------------------------------------------------------------------------------------------------------------

/// An expression of a test, typed: what a number is follows from the parameter that it is for. The caller draws random values and
/// evaluates the rest with `evaluate`.
struct TestExpr {
  enum class Kind : std::uint8_t {
    Value,       // bits of a scalar of `type`
    Let,         // the value of let number `index`
    AnyInt,      // any(lo, hi): a random integer, both ends included; any(): of the whole type
    RandomReal,  // random(lo, hi): a random number, lo included, hi not
    RandomList,  // random(n, lo, hi): n of them; of integers as AnyInt
    AnyList,     // any(n): n elements of any bits; any(n, lo, hi): n integers
    List,        // [a, b, c]
    Repeat,      // [value; n], zeros(n)
    Record,      // the cells of a record in the order of its layout
    Unary,       // op on parts[0]
    Binary,      // op on parts[0] and parts[1]
    CeilDiv,
    Min,
    Max,
    Cast,  // parts[0] to `type`
  };
  Kind kind = Kind::Value;
  ir::Type type = ir::Type::Void;  // of the scalar, or of each cell of a list of scalars
  std::uint64_t bits = 0;
  int index = 0;
  ir::Op op = ir::Op::Noop;  // Unary and Binary
  bool negated = false;      // Binary comparisons: the result is inverted
  bool swapped = false;      // Binary: parts[1] op parts[0]
  std::vector<TestExpr> parts;
  SourceRange range;
};
struct TestBinding {
  int param = 0;  // index of the kernel's parameter
  TestExpr value;
  SourceRange range;
};
struct TestLet {
  std::string name;
  TestExpr value;
};
struct TestInfo {
  std::string name;
  std::string kernel;
  SourceRange range;  // of the name
  std::vector<TestLet> lets;
  std::vector<TestExpr> grid;              // one to three
  std::optional<TestExpr> dynamic_shared;  // elements
  std::int64_t cases = 1;
  std::uint64_t seed = 1;
  std::vector<TestBinding> arguments;     // every parameter once, in the kernel's order
  std::vector<TestBinding> expectations;  // values of buffers after the run
  std::string same_as;                    // a target, or empty
  std::string error;                      // the kind of error that is expected, or empty
};

// --- modules -------------------------------------------------------------------------------------------------------------------

class Module;  // the typed bodies; private to this folder

/// A checked module with everything that it imports. Keeps the trees alive. `errors` in the sink say whether it may be lowered.
class TypedModule {
 public:
  TypedModule();
  TypedModule(TypedModule&&) noexcept;
  TypedModule& operator=(TypedModule&&) noexcept;
  ~TypedModule();

  /// The kernels of the root module in source order.
  const std::vector<KernelInfo>& kernels() const;
  /// What the generated header and the package need.
  const ModuleInterface& interface() const;
  /// The tests of the root module, typed.
  const std::vector<TestInfo>& tests() const;
  /// Files that the root imports, directly or not, in order of their first import.
  const std::vector<FileId>& imported_files() const;

  Module& impl() const { return *impl_; }
  explicit TypedModule(std::unique_ptr<Module> impl);

 private:
  std::unique_ptr<Module> impl_;
};

/// Types `root` and the modules it imports (which are parsed here). Faults go to `sink`; the module is usable up to them. `sources` and the
/// sink must outlive nothing: the module keeps neither.
TypedModule check(syntax::Ast root, SourceManager& sources, DiagnosticSink& sink, const CheckOptions& options);

/// The program of one kernel of the root module, or none after faults were reported (recursion, convergence, what is not lowered yet).
/// Requires a module that `check` found no errors in. May be called from several threads for different modules only.
std::optional<ir::Program> lower(const TypedModule& module, std::string_view kernel, const SourceManager& sources, DiagnosticSink& sink);

/// Every kernel of the root module in source order. Faults leave a kernel out.
std::vector<ir::Program> lower_all(const TypedModule& module, const SourceManager& sources, DiagnosticSink& sink);

/// Convergence of a program that came as IR, by the rules that lowered kernels are held to: false after barriers and warp operations that
/// some threads may miss were reported. Requires a verified program.
bool check_convergence(const ir::Program& program, const SourceManager& sources, DiagnosticSink& sink);

}  // namespace sarek::sema
