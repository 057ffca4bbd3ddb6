// What the native emitter must know of a program before it writes code: which values are the same for all lanes of a chunk or advance by a
// constant from lane to lane, which register variables need blending under a mask, and how barriers cut the body into regions. No LLVM
// here.
//
// A chunk is `width` consecutive threads of a block (x fastest), the lanes of a vector. A region is a stretch of the body without barriers;
// it runs for all chunks before the next one starts. Regions lie at *block level*: under control flow that is the same for the whole block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/support/result.h"

namespace sarek::emit {

/// How a value differs between threads. Ordered: a join is the maximum.
enum class Variance : std::uint8_t {
  Block,    // one value for the block
  Chunk,    // one value for the active lanes of a chunk
  Affine,   // base + lane * stride, the stride a constant
  Varying,  // anything
};

struct NodeFacts {
  Variance variance = Variance::Block;
  std::int64_t stride = 0;  // Affine
  bool aligned = false;     // the value (Affine: its base) is a multiple of the width, which is a power of two
  bool exact = false;       // integer whose computation never left its type's range, on any thread
};

struct Variable {
  ir::NodeId node;
  ir::Type type = ir::Type::Void;
  std::int64_t cells = 1;
  Variance variance = Variance::Block;  // Block, Chunk or Varying
  std::vector<int> regions;             // that touch it, ascending
  bool persistent = false;              // lives from one region to another: has a place outside of the chunk
};

struct Region {
  int begin = 0;  // positions in the body
  int end = 0;
  bool has_effect = false;  // false: nothing to run unless a value leaves it
};

/// How a value defined in one region reaches its uses elsewhere.
enum class Crossing : std::uint8_t { None, Recompute, Save };

class Analysis {
 public:
  /// Errors: broken nesting, a barrier under control flow that differs within the block.
  static Result<Analysis> create(const ir::Program& program, int width);

  const ir::Program* program = nullptr;
  int width = 1;
  int chunks = 1;  // of a block, the partial one included
  int tail = 0;    // live lanes of the last chunk when it is partial, else 0
  bool uses_warp = false;
  bool has_barrier = false;

  std::vector<int> partner;  // by position, as ir::Structure
  std::vector<int> parent;
  std::vector<int> position;      // by node, -1: not in the body
  std::vector<NodeFacts> facts;   // by node
  std::vector<bool> block_level;  // by position: an opener or closer whose span holds a barrier
  std::vector<bool> divergent;    // by position of an opener: lanes of a chunk may go different ways
  std::vector<Variable> variables;
  std::vector<int> variable_of;  // by node, -1
  std::vector<bool> blend;       // by position of a STORE: lanes that are off must keep their value
  std::vector<int> region_of;    // by position, -1: block level
  std::vector<Region> regions;
  std::vector<Crossing> crossing;                // by node
  std::vector<std::vector<ir::NodeId>> imports;  // by region: nodes of other regions that it uses, sources first

  const NodeFacts& of(ir::NodeId id) const { return facts[id.index()]; }
  bool is_uniform(ir::NodeId id) const { return of(id).variance <= Variance::Chunk; }
  bool is_block_uniform(ir::NodeId id) const {
    return of(id).variance == Variance::Block || (chunks == 1 && of(id).variance == Variance::Chunk);
  }
  /// Is the variable's value wanted just before position `at` (after everything when `at` is the body's length)?
  bool live_before(int variable, int at) const;
  /// What a STORE to a variable need write. In `loop { ...; v = WHERE(c, x, y); BACKEDGE(c) }` a thread with c false leaves, so x will do
  /// when nobody reads v behind the loop.
  ir::NodeId stored_value(int store_position) const;
  /// An IF that a BACKEDGE with the same condition follows: a lane that skips it leaves the loop.
  bool is_loop_exit(int if_position) const;

 private:
  void find_variables();
  void compute_liveness();
  void live_range(int begin, int end, std::vector<std::uint64_t>& live);
  bool live_at_exit(int variable, int opener) const;
  void compute_variance();
  NodeFacts facts_of(ir::NodeId id) const;
  void raise_loops();
  bool uses_loads_from_before(int opener) const;
  Result<Unit> find_regions();
  void find_crossings();
  bool recomputable(ir::NodeId id, int& budget, int user_position) const;

  std::vector<std::vector<std::uint64_t>> live_;  // by position: bits of the variables live before it
  std::size_t words_ = 0;
};

/// The INDEX of an access (LOAD, STORE, atomic INS), or none when the node has none.
ir::NodeId access_place(const ir::Graph& graph, ir::NodeId id);
/// Lanes per chunk for a program when nobody says: `natural` 32-bit lanes fill a vector of the target.
int choose_width(const ir::Program& program, int natural);

}  // namespace sarek::emit
