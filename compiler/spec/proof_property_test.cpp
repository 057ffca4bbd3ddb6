// Soundness of the prover: random small programs with 8-bit values are run for many arguments, and no access that was called proven
// leaves its buffer. The runner knows only what these programs use; the language's oracle is compiler/interp.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <random>

#include "compiler/ir/printer.h"
#include "compiler/spec/bounds.h"
#include "compiler/spec/proof.h"
#include "compiler/spec/test_random_program.h"
#include "compiler/spec/verify.h"

using namespace sarek;
using namespace sarek::ir;
using namespace sarek::spec;

namespace {

Int128 wrapped(Int128 v, Type t) {
  const Interval i = wrap({v, v}, t);
  return i.lo;
}

/// Runs one thread; false when an access that `proven` holds for leaves [0, length).
bool run_thread(const Program& p, const Structure& structure, const std::vector<bool>& proven, std::array<int, 3> arguments, int length,
                int& reached) {
  const Graph& g = p.graph;
  std::vector<Int128> value(g.size(), 0), cell(g.size(), 0);
  std::vector<Int128> trip(p.body.size(), 0);
  int steps = 0;
  for (std::size_t pc = 0; pc < p.body.size() && steps < 3000; ++pc, ++steps) {
    const NodeId id = p.body[pc];
    const Op op = g.op(id);
    const Type type = g.type(id);
    const auto s = [&](std::size_t i) { return value[g.source(id, i).index()]; };
    Int128& out = value[id.index()];
    const auto partner = static_cast<std::size_t>(structure.partner[pc] < 0 ? 0 : structure.partner[pc]);
    if (const auto constant = literal(g, id); constant && constant->kind != ConstValue::Kind::Float) {
      out = constant->integer;
    } else if (op == Op::Param) {
      const auto* a = g.arg_as<ParamArg>(id);
      if (a->space != AddressSpace::None) continue;
      const Slot& slot = p.slots[static_cast<std::size_t>(a->slot)];
      out = slot.kind == Slot::Kind::Length ? length : arguments[slot.name == "a" ? 0 : 1];
    } else if (op == Op::Special) {
      out = arguments[2];
    } else if (op == Op::If) {
      if (s(0) == 0) pc = partner;
    } else if (op == Op::Range) {
      if (type == Type::Void) continue;
      out = 0;
      trip[pc] = s(0);
      if (s(0) <= 0) pc = partner;
    } else if (op == Op::End) {
      if (++value[p.body[partner].index()] < trip[partner]) pc = partner;
    } else if (op == Op::Backedge) {
      if (s(2) != 0) pc = partner;
    } else if (op == Op::Load || op == Op::Store) {
      const NodeId place = g.source(id, 0), base = g.source(place, 0);
      if (g.op(base) == Op::Buffer) {
        if (op == Op::Load) {
          out = cell[base.index()];
        } else {
          cell[base.index()] = s(1);
        }
        continue;
      }
      if (g.sources(id).size() == 3 && s(2) == 0) continue;
      if (!proven[pc]) continue;
      ++reached;
      const Int128 at = value[g.source(place, 1).index()];
      if (at < 0 || at >= length) return false;
    } else if (op == Op::Cast) {
      out = ir::is_float(type) ? Int128{0} : wrapped(s(0), type);
    } else if (op == Op::Where) {
      out = s(0) != 0 ? s(1) : s(2);
    } else if (op == Op::Ins) {
      out = std::min(s(0), s(1));
    } else if (op == Op::Mulacc) {
      out = wrapped(s(0) * s(1) + s(2), type);
    } else if (is_alu(op)) {
      const Int128 x = s(0), y = s(1), q = y == 0 ? x : x / y, r = y == 0 ? Int128{0} : x % y;
      const bool down = y != 0 && r != 0 && (x < 0) != (y < 0);
      const int count = static_cast<int>(y & (std::max(8, type_bits(type)) - 1));
      Int128 v = 0;
      if (op == Op::Add) v = x + y;
      if (op == Op::Sub) v = x - y;
      if (op == Op::Mul) v = x * y;
      if (op == Op::Max) v = std::max(x, y);
      if (op == Op::Cdiv) v = q;
      if (op == Op::Cmod) v = r;
      if (op == Op::Floordiv) v = down ? q - 1 : q;
      if (op == Op::Floormod) v = down ? r + y : r;
      if (op == Op::And) v = x & y;
      if (op == Op::Or) v = x | y;
      if (op == Op::Xor) v = x ^ y;
      if (op == Op::Shl) v = x * (Int128{1} << count);
      if (op == Op::Shr) v = x >> count;
      if (op == Op::Cmplt) v = x < y;
      if (op == Op::Cmpeq) v = x == y;
      if (op == Op::Cmpne) v = x != y;
      out = wrapped(v, type);
    }
  }
  return true;
}

}  // namespace

TEST_CASE("no access that is called proven leaves its buffer, in random programs for many arguments") {
  const std::array edges{-128, -127, -4, -1, 0, 1, 2, 3, 5, 63, 126, 127};
  int proven_count = 0, reached = 0;
  // SAREK_PROOF_SEEDS asks for a longer run.
  const char* asked = std::getenv("SAREK_PROOF_SEEDS");
  const auto seeds = static_cast<std::uint32_t>(asked ? std::atoi(asked) : 500);
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    const Program p = spec::test::RandomProgram(seed).run();
    INFO("seed " << seed << "\n" << print(p) << describe(p, verify_program(p)));
    REQUIRE(verify_program(p).empty());
    const std::optional<Structure> structure = structure_of(p);
    REQUIRE(structure);
    std::vector<bool> proven(p.body.size(), false);
    bool any = false;
    for (const AccessProof& a : prove_in_bounds(p)) {
      const auto* storage = p.graph.arg_as<ParamArg>(p.graph.source(a.place, 0));
      if (!a.proven || storage->space == AddressSpace::Reg) continue;
      proven[static_cast<std::size_t>(a.position)] = any = true;
      ++proven_count;
    }
    if (!any) continue;
    std::mt19937 random(seed);
    for (const int length : {0, 1, 2, 4, 130})
      for (const int a : edges)
        for (const int b : edges)
          if (!run_thread(p, *structure, proven, {a, b, static_cast<int>(random() % 4)}, length, reached))
            FAIL("a " << a << " b " << b << " length " << length);
  }
  // The generator must make programs in which something is proven and then happens.
  INFO(proven_count << " accesses proven, reached " << reached << " times");
  CHECK(proven_count > 100);
  CHECK(reached > 10000);
}
