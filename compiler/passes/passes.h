// The passes, each with its contract: what it does, requires, establishes and leaves alone. One pass is one function in one file of its own
// name; their order is pipeline.cpp's. Every pass takes a well-formed program (compiler/spec verify) and gives one back, and none changes a
// bit of a result unless its contract names the policy decision that allows it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/capabilities.h"
#include "compiler/ir/program.h"
#include "compiler/support/diagnostic.h"

namespace sarek::passes {

// --- simplification ------------------------------------------------------------------------------------------------------------

struct FoldOptions {
  /// Merge chains of conversions (f16 -> f32 -> f64 into f16 -> f64). Off after legalisation, which writes such chains on purpose.
  bool merge_casts = true;
};
/// Evaluates operations on literals exactly as the interpreter does, and applies identities that keep every bit: x * 1.0 and x - 0.0 but
/// not x + 0.0 (wrong for -0.0) nor x * 0.0; x / 2^k as x * 2^-k; integer and Boolean identities; WHERE, IF, gates, traps and loops whose
/// condition or count is a literal; conversions that widen and come back. A conversion that narrows is never dropped.
/// Requires nothing. Establishes: no operation of evaluate.h on literals only. Leaves alone: memory order, loops with more than one turn.
ir::Program fold(ir::Program program, FoldOptions options = {});

/// Merges equal pure nodes, and loads of one place with nothing in between that may change it; a load after a store of the same place takes
/// the stored value. A node is reused only where its scope (IF, loop) is still open. Requires nothing. Establishes: no two equal pure nodes
/// in one scope. Leaves alone: effects, their order, volatile buffers.
ir::Program merge_common(ir::Program program);

struct DeadCodeOptions {
  /// Keep loads that nothing uses, because they may report an index out of bounds (checked artifacts).
  bool keep_loads = false;
};
/// Drops what no effect needs: unused values and loads, stores to register variables that are never read afterwards, branches and bounded
/// loops without an effect. Requires nothing. Establishes: every value has a user. Leaves alone: stores to shared and global memory,
/// atomics, traps, barriers, warp instructions, unbounded loops (whether they end is not decided here), the launch interface.
ir::Program remove_dead(ir::Program program, DeadCodeOptions options = {});

// --- register variables ----------------------------------------------------------------------------------------------------------

/// Splits register arrays whose every index is a literal in range into variables of one cell: the fields of records, the cells of variants
/// and small fixed arrays. Requires nothing. Establishes: a register buffer with more than one cell is indexed by a computed value
/// somewhere. Leaves alone: the rest.
ir::Program split_variables(ir::Program program);

/// Replaces loads of one-cell variables by the value that a store (or the zero at the program's start) put there, where straight-line code
/// and the structure of branches and loops show which one it was. Requires nothing; finds more after split_variables. Establishes: no load
/// of a variable follows a store or load of it in one scope without a branch or loop in between that writes it. Leaves alone: variables
/// with computed indexes, stores (remove_dead takes them).
ir::Program forward_stores(ir::Program program);

// --- control flow ------------------------------------------------------------------------------------------------------------------

/// What became of a loop that the source marks with `unroll`.
struct UnrollEvent {
  SourceRange range;
  bool applied = false;
  std::string what;  // "4 turns", "every 3 turns of 12", or why not: "its 70000 copies exceed 16384 operations"
};
struct UnrollOptions {
  /// Asked for every small innermost loop with a literal count that nobody marked; the policy decides (Auto_unroll). Null: never.
  std::function<bool(SourceRange)> allow_automatic;
  int automatic_turns = 8;        // at most so many turns,
  int automatic_operations = 96;  // and so many operations in all copies together
  int requested_operations = 16384;
  std::function<void(const UnrollEvent&)> report;
};
/// Copies the bodies of loops marked AxisType::Unroll: RANGE's second axis id is the factor, 0 means every turn; without a literal count a
/// factor n copies n turns and adds a loop for the rest. Exact by construction: the same operations in the same order. Requires nothing.
/// Establishes: no RANGE is marked Unroll. Leaves alone: unbounded loops (their mark is dropped), loops beyond the limits.
ir::Program unroll(ir::Program program, const UnrollOptions& options = {});

/// Moves pure operations, and loads that cannot fail and that nothing in the loop changes, in front of the loops whose turns they do not
/// depend on. Operations are total, so running one that the loop would have skipped changes nothing. Requires nothing. Establishes: no
/// invariant pure operation directly in a loop but the cheap ones. Leaves alone: effects; dear operations (division, root) inside branches;
/// places and sums with a literal, which cost less than the register that would hold them, unless what needs them moves.
ir::Program hoist_invariants(ir::Program program);

/// Writes grid-stride loops, `i = sum of indices of threads and blocks; while i < n { ...; i += stride }` with n and stride the block's, as
/// counted ones: "turns 0 to the most that a thread of the block needs; if i + turn * stride < n: ...". Where the sums could wrap, which a
/// test in front finds, the loop runs as written; its body stands twice then. Requires nothing; sees more after forward_stores and
/// hoist_invariants. Establishes: nothing that others rely on. Leaves alone: loops in which threads meet or whose variable is used
/// elsewhere, large bodies.
ir::Program count_strides(ir::Program program);

/// Turns small branches without loops, barriers or atomics into selects and gated loads and stores.
/// Requires nothing. Establishes: nothing that others rely on. Leaves alone: branches beyond the limits, of dear operations, or with an
/// effect that has no gated form.
ir::Program convert_branches(ir::Program program);

// --- integers -----------------------------------------------------------------------------------------------------------------------

/// Replaces division and remainder by powers of two by shifts and masks where the interval of the dividend allows it, and drops quotients,
/// remainders, min and max that intervals decide: the arithmetic of indexes. Requires nothing. Establishes: nothing that others rely on.
/// Leaves alone: floats; products of loop variables, which the bounds proofs and emitters want to see as products.
ir::Program reduce_strength(ir::Program program);

/// Replaces conditions that intervals decide, or that an enclosing branch has tested, by literals: gates, selects and branches that guard
/// what cannot happen. fold then drops them. Requires nothing. Establishes: no comparison of integers that compiler/spec's intervals
/// decide. Leaves alone: the accesses; whether one is in bounds is compiler/spec/proof.h's answer, asked by checked emitters and by
/// --explain after the last pass.
ir::Program prove_conditions(ir::Program program);

/// Adds a TRAP in front of every integer division and remainder whose divisor is not known to differ from zero, with its place in the
/// source. Requires: stands before every pass that moves or drops divisions. Leaves alone: bounds, which emitters check with
/// compiler/spec's proofs.
ir::Program insert_checks(ir::Program program);

// --- rounding ---------------------------------------------------------------------------------------------------------------------------

/// A value that the source rounds twice (in f64 or f32, then to something narrower) and that could be rounded once.
struct NarrowingCandidate {
  SourceRange range;
  std::string what;                  // "f64 -> f32 -> f16 as f64 -> f16"
  std::optional<std::string> proof;  // why both agree on every value the operands can have; none: they may differ
  bool grantable = false;            // `single-rounding` covers it (it speaks of f32 to f16 only)
};
/// Rounds once where the source rounds twice: (1) f64 -> f32 -> f16 or bf16 becomes one conversion; (2) a sum, product, quotient, root or
/// fma computed in a wider type from operands that the narrow type holds, then narrowed, is computed in the narrow type: f64 for f32
/// always, f32 for f16 and bf16 where the target computes in them. Each candidate is put to `decide`; only those it returns true for are
/// changed. Requires: `decide` returns true for a candidate without proof only on the grant. Establishes nothing. Leaves alone: everything
/// else.
ir::Program round_once(ir::Program program, const ir::Capabilities& capabilities,
                       const std::function<bool(const NarrowingCandidate&)>& decide);

// --- targets --------------------------------------------------------------------------------------------------------------------------

/// What emulate_warps cannot do: warp operations in loops whose turns differ between threads of a block. One diagnostic of kind
/// missing-capability per operation; empty when the target has warp operations of its own.
std::vector<Diagnostic> unemulatable_warps(const ir::Program& program, const ir::Capabilities& capabilities);
/// Writes warp operations and warp barriers out through block-shared storage and barriers of the block; branches around them that only a
/// part of the block takes are split there. Means the same in every program that the interpreter runs without a race. Requires:
/// unemulatable_warps() found nothing. Establishes: no instruction of kind Warp, no warp_barrier. Leaves alone: everything else.
ir::Program emulate_warps(ir::Program program);

/// Writes out what the target's own operations do not mean by themselves: total division, masked shifts, saturating conversions, ordered
/// min and max, 16-bit floats, fma, rounding functions, bit counts, canonical NaN bits, Bool in memory. The result means the same under the
/// whole contract. Requires: missing_capabilities() found nothing. Establishes: every operation left is one that `capabilities` promises.
/// Leaves alone: control flow.
ir::Program legalise(ir::Program program, const ir::Capabilities& capabilities);

/// What the program needs and the target lacks, beyond what legalise can write out: one diagnostic per operation or type, at its first use,
/// of kind missing-capability. Empty when the program can be emitted.
std::vector<Diagnostic> missing_capabilities(const ir::Program& program, const ir::Capabilities& capabilities);

}  // namespace sarek::passes
