// What the tests of the passes share: small kernels of one formula, the values at which formulas go wrong, and two ways to run a program:
// straight-line ones right here, value by value with compiler/ir/evaluate, and any program with the interpreter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/capabilities.h"
#include "compiler/ir/evaluate.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/program.h"
#include "compiler/spec/verify.h"

namespace sarek::passes::test {

using ir::NodeId;
using ir::Op;
using ir::Program;
using ir::ProgramBuilder;
using ir::Type;

inline std::uint64_t type_mask(Type t) {
  const int bits = t == Type::Bool ? 1 : ir::type_bits(t);
  return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

/// The values of a type at which formulas go wrong, as bits: zeros, ones, limits, subnormals, infinities, NaN, neighbours of powers of two.
inline std::vector<std::uint64_t> edge_values(Type t) {
  if (t == Type::Bool) return {0, 1};
  std::vector<std::uint64_t> v;
  const std::uint64_t mask = type_mask(t);
  const int bits = ir::type_bits(t);
  if (!ir::is_float(t)) {
    for (const std::uint64_t x : {0ull, 1ull, 2ull, 3ull, 5ull, 7ull, 31ull, 32ull, 33ull, 63ull, 64ull, 100ull})
      for (const std::uint64_t y : {x, 0 - x}) v.push_back(y & mask);
    for (int b = bits - 2; b < bits; ++b)
      for (const std::uint64_t d : {~0ull, 0ull, 1ull}) v.push_back(((1ull << b) + d) & mask);
    for (const int b : {8, 15, 23, 24, 25, 31, 40, 53, 54})
      if (b < bits - 2)
        for (const std::uint64_t d : {~0ull, 0ull, 1ull}) v.push_back(((1ull << b) + d) & mask);
  } else {
    const int mantissa = t == Type::F16 ? 10 : t == Type::Bf16 ? 7 : t == Type::F32 ? 23 : 52;
    const int exponent_bits = bits - 1 - mantissa;
    const std::uint64_t infinity = ((1ull << exponent_bits) - 1) << mantissa;
    const std::uint64_t one = ((1ull << (exponent_bits - 1)) - 1) << mantissa;
    const std::uint64_t unit = 1ull << mantissa;
    for (const std::uint64_t m : {std::uint64_t{0},
                                  std::uint64_t{1},
                                  std::uint64_t{2},
                                  unit - 1,
                                  unit,
                                  unit + 1,
                                  one - unit,
                                  one - unit - 1,
                                  one - 1,
                                  one,
                                  one + 1,
                                  one + unit / 2,
                                  one + unit,
                                  one + unit + unit / 4,
                                  one + 3 * unit + 5,
                                  infinity - 1,
                                  infinity - unit,
                                  infinity - 2,
                                  infinity,
                                  infinity | (unit / 2),
                                  one - 3 * unit + unit / 3,
                                  one + 9 * unit})
      for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1} << (bits - 1)}) v.push_back(m | sign);
    for (const int b : {7, 8, 15, 16, 31, 32, 63, 64}) {
      const std::uint64_t power = one + static_cast<std::uint64_t>(b) * unit;
      if (power < infinity)
        for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1} << (bits - 1)})
          for (const std::uint64_t d : {~0ull, 0ull, 1ull}) v.push_back((power + d) | sign);
    }
  }
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
  return v;
}

/// Random bits of a type; floats have every exponent equally often.
inline std::uint64_t random_value(Type t, std::mt19937_64& random) {
  const std::uint64_t bits = random() & type_mask(t);
  return bits;
}

/// Equal bits, every NaN of a float type equal to every other.
inline bool same_value(Type t, std::uint64_t a, std::uint64_t b) { return ir::canonical_nan(t, a) == ir::canonical_nan(t, b); }

/// A kernel with one scalar parameter per type that stores what `formula` makes of them.
inline Program formula_kernel(const std::vector<Type>& operands,
                              const std::function<NodeId(ProgramBuilder&, const std::vector<NodeId>&)>& formula) {
  ProgramBuilder b("formula");
  std::vector<NodeId> values;
  for (std::size_t i = 0; i < operands.size(); ++i) values.push_back(b.scalar_param("p" + std::to_string(i), operands[i]));
  const NodeId result = formula(b, values);
  const NodeId out = b.buffer_param("out", b.graph().type(result), ir::Access::Out);
  b.store(out, b.i32(0), result);
  return b.finish();
}

/// Runs a straight-line program: the value of every store to global memory, in order. Registers are followed, nothing else is memory.
inline std::vector<std::uint64_t> run_straight(const Program& program, const std::vector<std::uint64_t>& scalars) {
  const ir::Graph& g = program.graph;
  std::vector<std::uint64_t> value(g.size());
  std::map<std::pair<NodeId, std::uint64_t>, std::uint64_t> cells;
  std::vector<std::uint64_t> stored;
  for (const NodeId id : program.body) {
    const Op op = g.op(id);
    const auto source = [&](std::size_t i) { return g.source(id, i); };
    if (op == Op::Const || op == Op::Buffer || op == Op::Group || op == Op::Special || op == Op::Index) continue;
    if (const auto literal = ir::literal(g, id)) {
      value[id.index()] = *ir::bits_of(*literal, g.type(id));
    } else if (op == Op::Param) {
      const auto& p = *g.arg_as<ir::ParamArg>(id);
      const ir::Slot& slot = program.slots[static_cast<std::size_t>(p.slot)];
      if (slot.kind == ir::Slot::Kind::Scalar) value[id.index()] = scalars.at(static_cast<std::size_t>(p.slot));
    } else if (op == Op::Store) {
      const NodeId place = source(0);
      if (g.sources(id).size() == 3 && value[source(2).index()] == 0) continue;
      const NodeId buffer = g.source(place, 0);
      if (g.op(buffer) == Op::Param) stored.push_back(value[source(1).index()]);
      else cells[{buffer, value[g.source(place, 1).index()]}] = value[source(1).index()];
    } else if (op == Op::Load) {
      value[id.index()] = cells[{g.source(source(0), 0), value[g.source(source(0), 1).index()]}];
    } else {
      std::vector<Type> types;
      std::vector<std::uint64_t> operands;
      for (const NodeId s : g.sources(id)) {
        types.push_back(g.type(s));
        operands.push_back(value[s.index()]);
      }
      const auto* ins = g.arg_as<ir::InsArg>(id);
      const auto result = ins ? ir::evaluate(ins->code, g.type(id), types, operands) : ir::evaluate(op, g.type(id), types, operands);
      if (!result) throw std::runtime_error("cannot run " + ir::print_node(g, id));
      value[id.index()] = *result;
    }
  }
  return stored;
}

/// The faults of a program as text; empty when it is whole.
inline std::string faults(const Program& program) { return spec::describe(program, spec::verify_program(program)); }

inline int count(const Program& program, Op op) {
  return static_cast<int>(std::count_if(program.body.begin(), program.body.end(), [&](NodeId id) { return program.graph.op(id) == op; }));
}

/// A target that can do nothing but what every target must.
inline ir::Capabilities least_capable() {
  ir::Capabilities c;
  c.framework = "Nothing";
  c.generator = "nothing";
  c.fma_f32 = c.fma_f64 = false;
  c.rounding_functions = false;
  c.bit_counting = c.multiply_high = false;
  return c;
}

}  // namespace sarek::passes::test
