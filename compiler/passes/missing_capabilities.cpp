#include <algorithm>
#include <string>

#include "compiler/passes/facts.h"
#include "compiler/passes/passes.h"

namespace sarek::passes {

using namespace ir;

namespace {

/// Collects needs, each once, at the first place that has it.
class Requirements {
 public:
  Requirements(const Program& program, const Capabilities& can) : program_(program), graph_(program.graph), can_(can) {}

  std::vector<Diagnostic> run() {
    launch();
    for (const NodeId id : program_.body) {
      types(id);
      operation(id);
    }
    return std::move(found_);
  }

 private:
  std::string target() const { return can_.framework.empty() ? "the target" : can_.framework; }

  /// `what`: "kernel `k` uses f64"; `why`: "OpenCL has no 64-bit floats here".
  void need(NodeId id, const std::string& what, const std::string& why) {
    const SourceRange place = id && graph_.range(id) ? graph_.range(id) : program_.range;
    std::string message = "kernel `" + program_.name + "` " + what + ", but " + why;
    if (std::any_of(found_.begin(), found_.end(), [&](const Diagnostic& d) { return d.message == message; })) return;
    Diagnostic d{DiagnosticKind::MissingCapability, default_severity(DiagnosticKind::MissingCapability), place, std::move(message), {}, {}};
    if (place != program_.range && program_.range) d.note(program_.range, "the kernel is compiled for " + target() + " here");
    found_.push_back(std::move(d));
  }

  void launch() {
    if (program_.block_threads() > can_.max_block_threads)
      need({}, "has blocks of " + std::to_string(program_.block_threads()) + " threads",
           target() + " allows " + std::to_string(can_.max_block_threads));
    const std::int64_t shared = static_shared_bytes(program_);
    if (shared > can_.max_shared_bytes)
      need({}, "uses " + std::to_string(shared) + " bytes of shared memory", target() + " has " + std::to_string(can_.max_shared_bytes));
  }

  void types(NodeId id) {
    const Op op = graph_.op(id);
    if (op == Op::Const || op == Op::Group) return;
    const Type t = graph_.type(id);
    if (t == Type::F64 && !can_.f64) need(id, "uses f64", target() + " has no 64-bit floats");
    if ((t == Type::I64 || t == Type::U64) && !can_.i64) need(id, "uses " + name(t), target() + " has no 64-bit integers");
    if (is_weak(t)) return;
    if (is_float(t) && type_bits(t) == 8) need(id, "uses " + name(t), "8-bit floats are not supported yet");
    if ((op == Op::Param || op == Op::Buffer) && space_of(graph_, id) != AddressSpace::None) {
      if (!can_.f16_storage && (t == Type::F16 || t == Type::Bf16))
        need(id, "keeps " + name(t) + " in memory", target() + " has no 16-bit storage");
      if (!can_.small_ints && is_int(t) && type_bits(t) < 32)
        need(id, "keeps " + name(t) + " in memory", target() + " has no small integers");
    }
  }

  static std::string name(Type t) { return std::string(type_name(t)); }

  void operation(NodeId id) {
    const Op op = graph_.op(id);
    const Type t = graph_.type(id);
    const Type operand = graph_.sources(id).empty() ? t : graph_.type(graph_.source(id, 0));
    if (op == Op::Exp2 || op == Op::Log2 || op == Op::Sin || op == Op::Pow)
      need(id, "computes " + std::string(op_info(op).name), "there is no correctly defined " + std::string(op_info(op).name) + " yet");
    if (op == Op::Ins) return instruction(id, graph_.arg_as<InsArg>(id)->code, operand);
    if (!is_alu(op) || !is_float(operand)) return;
    // 16-bit floats that the target does not compute in go through f32, as do those that it has no division or root for.
    const bool narrow = operand == Type::F16 || operand == Type::Bf16;
    if ((op == Op::Fdiv || op == Op::Reciprocal) && operand != Type::F64 && !can_.divide_f32)
      need(id, "divides " + name(operand), target() + " has no correctly rounded division");
    if (op == Op::Sqrt && operand != Type::F64 && !can_.sqrt_f32)
      need(id, "takes roots of " + name(operand), target() + " has no correctly rounded root");
    if (op == Op::Mulacc && operand == Type::F32 && !can_.fma_f32 && !can_.f64)
      need(id, "uses fma on f32", target() + " has neither an exact fma nor f64 to write it out with");
    if (op == Op::Mulacc && operand == Type::F64 && !can_.fma_f64 && !can_.i64)
      need(id, "uses fma on f64", target() + " has neither an exact fma nor 64-bit integers to write it out with");
    if (op == Op::Mulacc && operand == Type::Bf16 && !can_.f64) need(id, "uses fma on bf16", target() + " has no f64 to write it out with");
    const bool arithmetic =
        op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Fdiv || op == Op::Sqrt || op == Op::Mulacc || op == Op::Reciprocal;
    if (arithmetic && (operand == Type::F32 || narrow) && !can_.denormals_f32)
      need(id, "computes in f32", target() + " may flush denormal numbers");
  }

  void instruction(NodeId id, Ins code, Type operand) {
    const std::string what = "uses " + std::string(ins_info(code).name);
    if (code == Ins::MulHigh && type_bits(operand) == 32 && !can_.multiply_high && !can_.i64)
      need(id, what, target() + " has neither a high product nor 64-bit integers");
    if ((code == Ins::Clz || code == Ins::Ctz || code == Ins::Popcount) && !can_.bit_counting && !can_.i64)
      need(id, what, target() + " counts no bits and has no 64-bit integers");
    switch (ins_info(code).kind) {
      case InsKind::Pure:
      case InsKind::Sync:
      case InsKind::Trap: return;
      case InsKind::Warp:
        if (!can_.warp_operations) need(id, what, target() + " has no warp operations");
        // Each of its sums rounds to 16 bits: a sum in f32 would not be it. Least and greatest are exact in f32.
        if (code == Ins::ReduceAdd && ((operand == Type::F16 && !can_.f16_arithmetic) || (operand == Type::Bf16 && !can_.bf16_arithmetic)))
          need(id, what + " on " + name(operand), target() + " does not compute in " + name(operand));
        return;
      case InsKind::Atomic: break;
    }
    if (is_float(operand) && !(operand == Type::F32 && can_.float_atomics) && !(operand == Type::F64 && can_.double_atomics))
      need(id, what + " on " + name(operand), target() + " has no such atomic operation");
    if (is_int(operand) && type_bits(operand) == 64 && !can_.int_atomics_64)
      need(id, what + " on " + name(operand), target() + " has no 64-bit atomics");
    if ((is_int(operand) || operand == Type::Bool) && type_bits(operand) < 32)
      need(id, what + " on " + name(operand), "atomics need 32 or 64 bits");
  }

  const Program& program_;
  const Graph& graph_;
  const Capabilities& can_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> missing_capabilities(const Program& program, const Capabilities& capabilities) {
  return Requirements(program, capabilities).run();
}

}  // namespace sarek::passes
