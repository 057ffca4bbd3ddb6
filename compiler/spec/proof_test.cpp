// What the prover proves, what it must not, and why it says so.
#include "compiler/spec/proof.h"

#include <catch2/catch_test_macros.hpp>

#include "compiler/ir/builder.h"
#include "compiler/ir/test_programs.h"
#include "compiler/spec/verify.h"

using namespace sarek;
using namespace sarek::ir;
using namespace sarek::spec;

namespace {

/// Proven accesses of one buffer, as a string of + and - in the order of the body. Registers are left out.
std::string proofs(const Program& p, const std::string& of = {}) {
  INFO(describe(p, verify_program(p)));
  REQUIRE(verify_program(p).empty());
  std::string out;
  for (const AccessProof& a : prove_in_bounds(p)) {
    const auto* storage = p.graph.arg_as<ParamArg>(p.graph.source(a.place, 0));
    if (storage->space == AddressSpace::Reg || (!of.empty() && storage->name != of)) continue;
    out += a.proven ? '+' : '-';
    CHECK_FALSE(a.reason.empty());
  }
  return out;
}

struct K : ProgramBuilder {
  explicit K(std::array<int, 3> block = {256, 1, 1}) : ProgramBuilder("k", block) {}
  NodeId x = buffer_param("x", Type::F32, Access::In);
  NodeId y = buffer_param("y", Type::F32, Access::InOut);
  NodeId len(NodeId buffer) { return length(slot_of(buffer)); }
  NodeId lt(NodeId a, NodeId b) { return op(Op::Cmplt, {a, b}); }
  NodeId add(NodeId a, NodeId b) { return op(Op::Add, {a, b}); }
  NodeId sub(NodeId a, NodeId b) { return op(Op::Sub, {a, b}); }
  NodeId mul(NodeId a, NodeId b) { return op(Op::Mul, {a, b}); }
  NodeId both(NodeId a, NodeId b) { return op(Op::And, {a, b}); }
};

}  // namespace

TEST_CASE("a guard on the length of a buffer proves that buffer, not another") {
  const Program p = test::saxpy();
  CHECK(proofs(p, "y") == "++");
  CHECK(proofs(p, "x") == "-");
  const auto all = prove_in_bounds(p);
  REQUIRE(all.size() == 3);
  CHECK(all[0].reason == "the program never asks for the length of x, so nothing bounds `((group_id.x * 256) + local_id.x)`");
  CHECK(all[1].reason == "the conditions around it keep `((group_id.x * 256) + local_id.x)` below the length of y");
}

TEST_CASE("intervals prove shared tiles; conditions narrow them") {
  K k({256, 1, 1});
  const NodeId tile = k.shared("tile", Type::F32, 256), l = k.local_id(0), zero = k.float_constant(Type::F32, 0);
  k.store(tile, l, zero);
  k.store(tile, k.add(l, k.i32(128)), zero);
  const NodeId inside = k.begin_if(k.lt(l, k.i32(128)));
  k.store(tile, k.add(l, k.i32(128)), zero);
  k.store(tile, k.add(l, k.i32(129)), zero);
  k.end_if(inside);
  const NodeId outside = k.begin_if(k.logical_not(k.lt(l, k.i32(128))));
  k.store(tile, k.sub(l, k.i32(128)), zero);
  k.end_if(outside);
  k.store(tile, k.sub(l, k.i32(128)), zero);
  CHECK(proofs(k.finish()) == "+-+-+-");
}

TEST_CASE("conjunctions, equalities and negations are taken apart") {
  K k;
  const NodeId i = k.global_id(0), n = k.len(k.x);
  NodeId s = k.begin_if(k.both(k.lt(k.i32(3), i), k.lt(i, n)));
  k.load(k.x, i);
  k.load(k.x, k.sub(i, k.i32(4)));
  k.load(k.x, k.sub(i, k.i32(5)));
  k.load(k.x, k.add(i, k.i32(1)));
  k.end_if(s);
  s = k.begin_if(k.op(Op::Or, {k.lt(i, n), k.lt(k.i32(0), i)}));
  k.load(k.x, i);
  k.end_if(s);
  s = k.begin_if(k.logical_not(k.op(Op::Or, {k.lt(n, i), k.op(Op::Cmpeq, {i, n})})));
  k.load(k.x, i);  // n >= i and i != n: the second follows from nothing linear
  k.end_if(s);
  s = k.begin_if(k.op(Op::Cmpne, {n, k.i32(0)}));
  k.load(k.x, k.i32(0));
  k.load(k.x, k.sub(n, k.i32(1)));
  k.load(k.x, k.i32(1));
  k.end_if(s);
  s = k.begin_if(k.op(Op::Where, {k.lt(i, n), k.lt(k.i32(1), i), k.bool_constant(false)}));
  k.load(k.x, k.sub(i, k.i32(2)));
  k.end_if(s);
  CHECK(proofs(k.finish()) == "++----++-+");
}

TEST_CASE("loops bound their variables") {
  K k;
  const NodeId n = k.len(k.x), a = k.scalar_param("a", Type::I32), b = k.scalar_param("b", Type::I32);
  NodeId r = k.begin_range(n);
  k.load(k.x, r);
  k.load(k.x, k.sub(k.sub(n, k.i32(1)), r));  // backwards
  k.load(k.x, k.add(r, k.i32(1)));
  k.end_range(r);
  r = k.begin_range(a);
  k.load(k.x, r);
  k.end_range(r);
  // for i in a..b with 0 <= a and b <= n
  const NodeId s = k.begin_if(k.both(k.logical_not(k.lt(a, k.i32(0))), k.logical_not(k.lt(n, b))));
  r = k.begin_range(k.op(Op::Where, {k.lt(a, b), k.sub(b, a), k.i32(0)}));
  k.load(k.x, k.add(a, r));
  k.end_range(r);
  r = k.begin_range(k.sub(b, a));  // wraps to a great count for a = 1 and the least b
  k.load(k.x, k.add(a, r));
  k.end_range(r);
  k.end_if(s);
  CHECK(proofs(k.finish()) == "++--+-");
}

TEST_CASE("a difference that may wrap proves nothing") {
  K k;
  const NodeId n = k.len(k.x), a = k.scalar_param("a", Type::I32), b = k.scalar_param("b", Type::I32);
  // Without 0 <= a, b - a may wrap.
  const NodeId s = k.begin_if(k.logical_not(k.lt(n, b)));
  const NodeId r = k.begin_range(k.sub(b, a));
  k.load(k.x, k.add(a, r));
  k.end_range(r);
  k.end_if(s);
  CHECK(proofs(k.finish()) == "-");
}

TEST_CASE("row-major indices follow from their extents when the product is exact") {
  K k({16, 16, 1});
  const NodeId m = k.cast(k.scalar_param("m", Type::I32), Type::I64), n = k.cast(k.scalar_param("n", Type::I32), Type::I64);
  const NodeId row = k.cast(k.global_id(1), Type::I64), column = k.cast(k.global_id(0), Type::I64), length = k.cast(k.len(k.x), Type::I64);
  const NodeId inside = k.both(k.both(k.lt(row, m), k.lt(column, n)), k.logical_not(k.lt(length, k.mul(m, n))));
  const NodeId s = k.begin_if(inside);
  k.load(k.x, k.add(k.mul(row, n), column));
  k.load(k.x, k.add(k.mul(column, n), row));
  k.load(k.x, k.add(k.add(k.mul(row, n), column), k.int_constant(Type::I64, 1)));
  k.end_if(s);
  CHECK(proofs(k.finish()) == "+--");
}

TEST_CASE("constant tiles in two dimensions") {
  K k({16, 16, 1});
  const NodeId tile = k.shared("tile", Type::F32, 256), zero = k.float_constant(Type::F32, 0);
  k.store(tile, k.add(k.mul(k.local_id(1), k.i32(16)), k.local_id(0)), zero);
  k.store(tile, k.add(k.mul(k.local_id(1), k.i32(17)), k.local_id(0)), zero);
  k.store(tile, k.op(Op::And, {k.global_id(0), k.i32(255)}), zero);
  k.store(tile, k.op(Op::Cmod, {k.global_id(0), k.i32(256)}), zero);
  k.store(tile, k.op(Op::Shr, {k.op(Op::Cmod, {k.global_id(0), k.i32(1024)}), k.i32(2)}), zero);
  CHECK(proofs(k.finish()) == "+-+++");
}

TEST_CASE("min, max, remainders and quotients bound what they give") {
  K k;
  const NodeId n = k.len(k.x), i = k.scalar_param("i", Type::I32), zero = k.i32(0), one = k.i32(1);
  const NodeId clamped = k.ins(Ins::Min, Type::I32, {k.op(Op::Max, {i, zero}), k.sub(n, one)});
  k.load(k.x, clamped);  // n may be 0
  NodeId s = k.begin_if(k.lt(zero, n));
  k.load(k.x, clamped);
  k.load(k.x, k.op(Op::Cmod, {k.global_id(0), n}));
  k.load(k.x, k.op(Op::Floormod, {i, n}));
  k.load(k.x, k.op(Op::Cmod, {i, n}));  // negative for negative i
  k.end_if(s);
  s = k.begin_if(k.lt(k.global_id(0), n));
  k.load(k.x, k.op(Op::Cdiv, {k.global_id(0), k.i32(3)}));
  k.load(k.x, k.op(Op::Shr, {k.global_id(0), one}));
  k.end_if(s);
  CHECK(proofs(k.finish()) ==
        "-++"
        "+-"
        "++");
}

TEST_CASE("gates count as conditions") {
  K k;
  const NodeId i = k.global_id(0), zero = k.float_constant(Type::F32, 0), inside = k.lt(i, k.len(k.x));
  k.load(k.x, i, zero, inside);
  k.store(k.y, i, zero, inside);
  k.store(k.y, i, zero, k.lt(i, k.len(k.y)));
  k.load(k.x, i);
  CHECK(proofs(k.finish()) == "+-+-");
}

TEST_CASE("records: cells of a field stay below the cells of the buffer") {
  K k;
  Program& p = k.program();
  p.params[0].element = {
      "Particle", 16, 4, {{"pos.0", Type::F32, 0}, {"pos.1", Type::F32, 4}, {"pos.2", Type::F32, 8}, {"mass", Type::F32, 12}}};
  const NodeId i = k.global_id(0);
  const NodeId s = k.begin_if(k.lt(i, k.len(k.x)));
  k.load(k.x, k.add(k.mul(i, k.i32(4)), k.i32(3)));
  k.load(k.x, k.add(k.mul(i, k.i32(4)), k.i32(4)));
  k.end_if(s);
  CHECK(proofs(k.finish()) == "+-");
}

TEST_CASE("registers: while loops, early returns and short circuits") {
  K k;
  const NodeId n = k.len(k.x), zero = k.i32(0);
  // while i < n { x[i]; i += 1 }
  const NodeId i = k.reg("i", Type::I32), again = k.reg("again", Type::Bool);
  k.set(i, k.global_id(0));
  const NodeId loop = k.begin_loop();
  k.set(again, k.bool_constant(false));
  const NodeId body = k.begin_if(k.lt(k.get(i), n));
  k.load(k.x, k.get(i));
  k.set(i, k.add(k.get(i), k.i32(1)));
  k.load(k.x, k.get(i));  // after the step
  k.set(again, k.bool_constant(true));
  k.end_if(body);
  k.end_loop(loop, k.get(again));
  k.load(k.x, k.get(i));
  // if i >= n { return }
  const NodeId done = k.reg("done", Type::Bool), g = k.global_id(0);
  k.set(done, k.bool_constant(false));
  const NodeId beyond = k.begin_if(k.logical_not(k.lt(g, n)));
  k.set(done, k.bool_constant(true));
  k.end_if(beyond);
  const NodeId rest = k.begin_if(k.logical_not(k.get(done)));
  k.load(k.x, g);
  k.end_if(rest);
  const NodeId over = k.begin_if(k.get(done));
  k.load(k.x, g);
  k.end_if(over);
  // i < n && x[i] > 0
  const NodeId t = k.reg("t", Type::Bool);
  k.set(t, k.bool_constant(false));
  const NodeId first = k.begin_if(k.lt(g, n));
  k.set(t, k.lt(k.float_constant(Type::F32, 0), k.load(k.x, g)));
  k.end_if(first);
  const NodeId second = k.begin_if(k.get(t));
  k.load(k.x, g);
  k.end_if(second);
  (void)zero;
  CHECK(proofs(k.finish()) == "+--+-++");
}

TEST_CASE("loops that halve or double a register keep it in bounds") {
  K k({256, 1, 1});
  const NodeId tile = k.shared("tile", Type::F32, 256), l = k.local_id(0), zero = k.i32(0);
  // s = 128; while s > 0 { if l < s { tile[l] + tile[l + s] } s = s / 2 }
  const NodeId step = k.reg("s", Type::I32), again = k.reg("again", Type::Bool);
  k.set(step, k.i32(128));
  NodeId loop = k.begin_loop();
  k.set(again, k.bool_constant(false));
  NodeId body = k.begin_if(k.lt(zero, k.get(step)));
  NodeId low = k.begin_if(k.lt(l, k.get(step)));
  k.load(tile, l);
  k.load(tile, k.add(l, k.get(step)));
  k.end_if(low);
  k.set(step, k.op(Op::Cdiv, {k.get(step), k.i32(2)}));
  k.set(again, k.bool_constant(true));
  k.end_if(body);
  k.end_loop(loop, k.get(again));
  // d = 1; while d < 256 { if l >= d { tile[l - d] } d = d * 2 }
  const NodeId d = k.reg("d", Type::I32);
  k.set(d, k.i32(1));
  loop = k.begin_loop();
  k.set(again, k.bool_constant(false));
  body = k.begin_if(k.lt(k.get(d), k.i32(256)));
  low = k.begin_if(k.logical_not(k.lt(l, k.get(d))));
  k.load(tile, k.sub(l, k.get(d)));
  k.end_if(low);
  k.load(tile, k.get(d));
  k.set(d, k.mul(k.get(d), k.i32(2)));
  k.load(tile, k.get(d));
  k.set(again, k.bool_constant(true));
  k.end_if(body);
  k.end_loop(loop, k.get(again));
  CHECK(proofs(k.finish(), "tile") ==
        "++"
        "++-");
}

TEST_CASE("a register that a loop counts down may be negative") {
  K k;
  const NodeId n = k.len(k.x), i = k.reg("i", Type::I32), j = k.reg("j", Type::I32);
  k.set(i, k.sub(n, k.i32(1)));
  k.set(j, k.sub(n, k.i32(1)));
  const NodeId loop = k.begin_loop();
  const NodeId s = k.begin_if(k.lt(k.get(i), n));
  k.load(k.x, k.get(i));
  k.end_if(s);
  const NodeId nonneg = k.begin_if(k.both(k.logical_not(k.lt(k.get(i), k.i32(0))), k.lt(k.get(i), n)));
  k.load(k.x, k.get(i));
  k.end_if(nonneg);
  k.set(i, k.sub(k.get(i), k.i32(1)));
  k.end_loop(loop, k.lt(k.i32(-1), k.get(i)));
  CHECK(proofs(k.finish()) == "-+");
}

TEST_CASE("what a loop stores is not known from before it, nor what an IF stores after it") {
  K k;
  const NodeId n = k.len(k.x), i = k.reg("i", Type::I32), c = k.scalar_param("c", Type::Bool);
  k.set(i, k.global_id(0));
  const NodeId s = k.begin_if(k.lt(k.get(i), n));
  k.load(k.x, k.get(i));
  const NodeId r = k.begin_range(k.i32(4));
  k.load(k.x, k.get(i));  // the second iteration sees another i
  k.set(i, k.add(k.get(i), k.i32(1)));
  k.end_range(r);
  k.load(k.x, k.get(i));
  k.end_if(s);
  k.set(i, k.global_id(0));
  const NodeId u = k.begin_if(k.lt(k.get(i), n));
  const NodeId v = k.begin_if(c);
  k.set(i, n);
  k.end_if(v);
  k.load(k.x, k.get(i));
  k.end_if(u);
  CHECK(proofs(k.finish()) == "+---");
}

TEST_CASE("i32 arithmetic on lengths that may wrap is not trusted") {
  K k;
  const NodeId n = k.len(k.x), i = k.scalar_param("i", Type::I32);
  const NodeId s = k.begin_if(k.both(k.logical_not(k.lt(i, k.i32(0))), k.lt(k.add(i, k.i32(1)), n)));
  k.load(k.x, i);  // i + 1 may have wrapped to the least i32
  k.end_if(s);
  const NodeId u = k.begin_if(k.both(k.logical_not(k.lt(i, k.i32(0))), k.both(k.lt(i, k.i32(1000)), k.lt(k.add(i, k.i32(1)), n))));
  k.load(k.x, k.add(i, k.i32(1)));
  k.end_if(u);
  CHECK(proofs(k.finish()) == "-+");
}

TEST_CASE("dynamic shared storage has its own length; wide kernels count in i64") {
  ProgramBuilder b("wide", {32, 1, 1});
  b.program().wide = true;
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId tile = b.dynamic_shared("tile", Type::F32);
  const NodeId i = b.global_id(0);
  NodeId s = b.begin_if(b.op(Op::Cmplt, {i, b.length(b.slot_of(x))}));
  b.load(x, i);
  b.end_if(s);
  s = b.begin_if(b.op(Op::Cmplt, {b.local_id(0), b.dynamic_shared_length(tile)}));
  b.store(tile, b.local_id(0), b.zero(Type::F32));
  b.store(tile, b.op(Op::Add, {b.local_id(0), b.i32(1)}), b.zero(Type::F32));
  b.end_if(s);
  CHECK(proofs(b.finish()) == "++-");
}

TEST_CASE("a size claimed for an argument proves nothing") {
  ProgramBuilder b("p");
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  ParamArg claimed = *b.graph().arg_as<ParamArg>(x);
  claimed.size = 1000;
  const NodeId y = b.op(Op::Param, {}, claimed);
  b.load(y, b.i32(3));
  CHECK(proofs(b.finish()) == "-");
}

TEST_CASE("atomics are accesses, and large programs stay cheap") {
  CHECK(proofs(test::block_sum()) == "++++");
  K k;
  const NodeId n = k.len(k.x);
  NodeId h = k.scalar_param("h", Type::I32);
  for (int i = 0; i < 3000; ++i) {
    h = k.op(Op::Xor, {k.add(k.mul(h, k.i32(31)), k.i32(i)), h});
    const NodeId s = k.begin_if(k.lt(h, n));
    k.load(k.x, h);
    k.end_if(s);
  }
  CHECK(proofs(k.finish()) == std::string(3000, '-'));
}
