// Control flow, barriers, register variables, warps, atomics and checks, on every level and at several widths, against plain C++.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <numeric>

#include "compiler/ir/builder.h"
#include "compiler/spec/verify.h"
#include "compiler/support/numeric.h"
#include "emitters/llvm/loader_for_tests.h"
#include "emitters/llvm/native.h"

using namespace sarek;
using namespace sarek::ir;
using emit::NativeLevel;
using emit::NativeOptions;
using emit::testing::LoadedImage;

namespace {

template <class T>
std::uint64_t address(std::vector<T>& v) {
  return reinterpret_cast<std::uint64_t>(v.data());
}

emit::NativeImage compiled(const Program& program, const NativeOptions& options) {
  const auto failures = spec::verify_program(program);
  INFO(spec::describe(program, failures));
  REQUIRE(failures.empty());
  const Program* list[] = {&program};
  auto image = emit::emit_native(list, options);
  if (!image) FAIL(image.error().message);
  return std::move(*image);
}

template <class F>
void on_every_level(F check) {
  for (const NativeLevel level : {NativeLevel::Sse42, NativeLevel::Avx2, NativeLevel::Avx512}) {
    if (!emit::testing::cpu_runs(level)) continue;
    for (const int width : {0, 8, 32}) {
      NativeOptions options;
      options.level = level;
      options.vector_width = width;
      INFO(emit::native_level_name(level) << ", width " << width);
      check(options);
    }
  }
}

}  // namespace

TEST_CASE("a while loop with lanes that leave at different times") {
  // Steps of the Collatz sequence, with a limit; block sizes that leave partial chunks.
  for (const int block : {64, 50}) {
    ProgramBuilder b("collatz", {block, 1, 1});
    const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
    const NodeId n = b.length(b.slot_of(out));
    const NodeId i = b.global_id(0);
    const NodeId guard = b.begin_if(b.op(Op::Cmplt, {i, n}));
    const NodeId z = b.reg("z", Type::U32), steps = b.reg("steps", Type::I32);
    b.set(z, b.op(Op::Add, {b.cast(i, Type::U32), b.int_constant(Type::U32, 1)}));
    b.set(steps, b.i32(0));
    const NodeId loop = b.begin_loop();
    const NodeId now = b.get(z);
    const NodeId go = b.op(Op::And, {b.op(Op::Cmpne, {now, b.int_constant(Type::U32, 1)}), b.op(Op::Cmplt, {b.get(steps), b.i32(100)})});
    const NodeId turn = b.begin_if(go);
    const NodeId odd = b.op(Op::Cmpeq, {b.op(Op::And, {now, b.int_constant(Type::U32, 1)}), b.int_constant(Type::U32, 1)});
    const NodeId up = b.begin_if(odd);
    b.set(z, b.op(Op::Add, {b.op(Op::Mul, {now, b.int_constant(Type::U32, 3)}), b.int_constant(Type::U32, 1)}));
    b.end_if(up);
    const NodeId down = b.begin_if(b.logical_not(odd));
    b.set(z, b.op(Op::Shr, {now, b.int_constant(Type::U32, 1)}));
    b.end_if(down);
    b.set(steps, b.op(Op::Add, {b.get(steps), b.i32(1)}));
    b.end_if(turn);
    b.end_loop(loop, go);
    b.store(out, i, b.get(steps));
    b.end_if(guard);
    const Program program = b.finish();
    on_every_level([&](const NativeOptions& options) {
      const LoadedImage image(compiled(program, options));
      std::vector<int> got(777, -1), expected(777);
      for (std::size_t k = 0; k < expected.size(); ++k) {
        std::uint32_t v = static_cast<std::uint32_t>(k) + 1;
        while (v != 1 && expected[k] < 100) v = v % 2 ? v * 3 + 1 : v / 2, ++expected[k];
      }
      image.run(0, {address(got), got.size()}, {(777 + block - 1) / block, 1, 1});
      CHECK(got == expected);
    });
  }
}

TEST_CASE("bounded loops with counts that differ between lanes, nested, with register arrays") {
  // out[i] = sum over j below i % 7 of (sum over k below j of cell[(k + i) & 3]++)
  ProgramBuilder b("nested", {32, 2, 1});
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId w = b.scalar_param("w", Type::I32);
  const NodeId i = b.op(Op::Add, {b.op(Op::Mul, {b.global_id(1), w}), b.global_id(0)});
  const NodeId cells = b.reg("cells", Type::I32, 4), sum = b.reg("sum", Type::I32);
  const NodeId j = b.begin_range(b.op(Op::Cmod, {i, b.i32(7)}));
  const NodeId k = b.begin_range(j);
  const NodeId at = b.op(Op::And, {b.op(Op::Add, {k, i}), b.i32(3)});
  const NodeId old = b.load(cells, at);
  b.set(sum, b.op(Op::Add, {b.get(sum), old}));
  b.store(cells, at, b.op(Op::Add, {old, b.i32(1)}));
  b.end_range(k);
  b.end_range(j);
  b.store(out, i, b.op(Op::Add, {b.get(sum), b.load(cells, b.i32(2))}));
  const Program program = b.finish();
  on_every_level([&](const NativeOptions& options) {
    const LoadedImage image(compiled(program, options));
    std::vector<int> got(64 * 6, -1), expected(64 * 6);
    for (int x = 0; x < 64 * 6; ++x) {
      int cell[4] = {};
      int s = 0;
      for (int jj = 0; jj < x % 7; ++jj)
        for (int kk = 0; kk < jj; ++kk) s += cell[(kk + x) & 3]++;
      expected[static_cast<std::size_t>(x)] = s + cell[2];
    }
    image.run(0, {address(got), 64}, {2, 3, 1});
    CHECK(got == expected);
  });
}

TEST_CASE("block reduction: barriers in a loop, values and variables across regions") {
  for (const int block : {128, 100}) {
    ProgramBuilder b("reduce", {block, 1, 1});
    const NodeId in = b.buffer_param("in", Type::F32, Access::In);
    const NodeId out = b.buffer_param("out", Type::F32, Access::Out);
    const NodeId tile = b.shared("tile", Type::F32, block);
    const NodeId t = b.local_id(0);
    const NodeId own = b.load(in, b.global_id(0));
    b.store(tile, t, own);
    const NodeId stride = b.reg("stride", Type::I32), mine = b.reg("mine", Type::F32);
    b.set(stride, b.i32(64));
    b.set(mine, own);
    const NodeId loop = b.begin_loop();
    b.barrier();
    const NodeId s = b.get(stride);
    const NodeId other = b.op(Op::Add, {t, s});
    const NodeId opened = b.begin_if(b.op(Op::And, {b.op(Op::Cmplt, {t, s}), b.op(Op::Cmplt, {other, b.i32(block)})}));
    b.set(mine, b.op(Op::Add, {b.get(mine), b.load(tile, other)}));
    b.store(tile, t, b.get(mine));
    b.end_if(opened);
    const NodeId half = b.op(Op::Shr, {s, b.i32(1)});
    b.set(stride, half);
    b.barrier();
    b.end_loop(loop, b.op(Op::Cmplt, {b.i32(0), half}));
    const NodeId first = b.begin_if(b.op(Op::Cmpeq, {t, b.i32(0)}));
    b.store(out, b.group_id(0), b.op(Op::Add, {b.load(tile, b.i32(0)), b.op(Op::Mul, {own, b.float_constant(Type::F32, 0)})}));
    b.end_if(first);
    const Program program = b.finish();
    on_every_level([&](const NativeOptions& options) {
      const LoadedImage image(compiled(program, options));
      const std::size_t n = static_cast<std::size_t>(block) * 3;
      std::vector<float> x(n), got(3, -1), expected(3);
      for (std::size_t k = 0; k < n; ++k) x[k] = std::sin(static_cast<float>(k));
      for (std::size_t g = 0; g < 3; ++g) {
        std::vector<float> tree(x.begin() + static_cast<long>(g) * block, x.begin() + static_cast<long>(g + 1) * block);
        for (std::size_t s2 = 64; s2 > 0; s2 /= 2)
          for (std::size_t k = 0; k < s2; ++k)
            if (k + s2 < tree.size()) tree[k] += tree[k + s2];
        expected[g] = tree[0];
      }
      image.run(0, {address(x), address(got)}, {3, 1, 1});
      CHECK(std::memcmp(got.data(), expected.data(), 12) == 0);
    });
  }
}

TEST_CASE("tiled matrix product: a bounded loop of tiles at block level, dynamic shared storage") {
  constexpr int kTile = 16;
  ProgramBuilder b("gemm", {kTile, kTile, 1});
  const NodeId a = b.buffer_param("a", Type::F32, Access::In);
  const NodeId m = b.buffer_param("b", Type::F32, Access::In);
  const NodeId c = b.buffer_param("c", Type::F32, Access::Out);
  const NodeId n = b.scalar_param("n", Type::I32);
  const NodeId ta = b.shared("ta", Type::F32, kTile * kTile);
  const NodeId tb = b.dynamic_shared("tb", Type::F32);
  const NodeId x = b.local_id(0), y = b.local_id(1), col = b.global_id(0), row = b.global_id(1);
  const NodeId sum = b.reg("sum", Type::F32);
  const NodeId tiles = b.begin_range(b.op(Op::Cdiv, {n, b.i32(kTile)}));
  const NodeId base = b.op(Op::Mul, {tiles, b.i32(kTile)});
  const NodeId here = b.op(Op::Add, {b.op(Op::Mul, {y, b.i32(kTile)}), x});
  b.store(ta, here, b.load(a, b.op(Op::Add, {b.op(Op::Mul, {row, n}), b.op(Op::Add, {base, x})})));
  b.store(tb, here, b.load(m, b.op(Op::Add, {b.op(Op::Mul, {b.op(Op::Add, {base, y}), n}), col})));
  b.barrier();
  const NodeId k = b.begin_range(b.i32(kTile));
  const NodeId left = b.load(ta, b.op(Op::Add, {b.op(Op::Mul, {y, b.i32(kTile)}), k}));
  const NodeId right = b.load(tb, b.op(Op::Add, {b.op(Op::Mul, {k, b.i32(kTile)}), x}));
  b.set(sum, b.op(Op::Add, {b.get(sum), b.op(Op::Mul, {left, right})}));
  b.end_range(k);
  b.barrier();
  b.end_range(tiles);
  b.store(c, b.op(Op::Add, {b.op(Op::Mul, {row, n}), col}), b.get(sum));
  const Program program = b.finish();
  on_every_level([&](const NativeOptions& options) {
    const LoadedImage image(compiled(program, options));
    const std::size_t size = 48;
    std::vector<float> p(size * size), q(size * size), got(size * size), expected(size * size);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = std::sin(static_cast<float>(i)), q[i] = std::cos(static_cast<float>(i));
    for (std::size_t r = 0; r < size; ++r)
      for (std::size_t s = 0; s < size; ++s)
        for (std::size_t t = 0; t < size; ++t) expected[r * size + s] += p[r * size + t] * q[t * size + s];
    image.run(0, {address(p), address(q), address(got), size, kTile * kTile}, {3, 3, 1}, kTile * kTile * 4);
    CHECK(std::memcmp(got.data(), expected.data(), got.size() * 4) == 0);
  });
}

TEST_CASE("warp operations, with a partial last warp and under divergent flow of whole warps") {
  ProgramBuilder b("warps", {72, 1, 1});
  const NodeId in = b.buffer_param("in", Type::I32, Access::In);
  const NodeId amount = b.scalar_param("amount", Type::I32);
  std::vector<NodeId> out;
  for (int k = 0; k < 12; ++k) out.push_back(b.buffer_param("out" + std::to_string(k), Type::I32, Access::Out));
  const NodeId sums = b.buffer_param("sums", Type::F32, Access::Out);
  const NodeId i = b.global_id(0), t = b.local_id(0);
  const NodeId v = b.load(in, i);
  const NodeId odd = b.op(Op::Cmpeq, {b.op(Op::And, {v, b.i32(1)}), b.i32(1)});
  const auto put = [&](int k, NodeId value) { b.store(out[static_cast<std::size_t>(k)], i, b.cast(value, Type::I32)); };
  put(0, b.ins(Ins::Shuffle, Type::I32, {v, b.op(Op::Mul, {t, b.i32(7)})}));
  put(1, b.ins(Ins::ShuffleUp, Type::I32, {v, b.i32(3)}));
  put(2, b.ins(Ins::ShuffleDown, Type::I32, {v, amount}));
  put(3, b.ins(Ins::ShuffleXor, Type::I32, {v, b.i32(5)}));
  put(4, b.ins(Ins::VoteAll, Type::Bool, {b.op(Op::Cmplt, {v, b.i32(1000)})}));
  put(5, b.ins(Ins::VoteAny, Type::Bool, {b.op(Op::Cmpeq, {v, b.i32(70)})}));
  put(6, b.ins(Ins::Ballot, Type::U32, {odd}));
  put(7, b.ins(Ins::ActiveMask, Type::U32, {}));
  put(8, b.ins(Ins::ReduceAdd, Type::I32, {v}));
  put(9, b.ins(Ins::ReduceMin, Type::I32, {v}));
  put(10, b.ins(Ins::ReduceXor, Type::I32, {v}));
  b.ins(Ins::WarpBarrier, Type::Void, {});
  put(11, b.ins(Ins::ShuffleXor, Type::I32, {v, amount}));
  b.store(sums, i, b.ins(Ins::ReduceAdd, Type::F32, {b.op(Op::Mul, {b.cast(v, Type::F32), b.float_constant(Type::F32, 0.1)})}));
  const Program program = b.finish();
  on_every_level([&](const NativeOptions& options) {
    const LoadedImage image(compiled(program, options));
    CHECK(image.kernel().lanes == 32);
    const int n = 144;
    std::vector<int> x(n);
    for (int k = 0; k < n; ++k) x[static_cast<std::size_t>(k)] = (k * 37 + 11) % 101;
    std::vector<std::vector<int>> got(12, std::vector<int>(n, -7));
    std::vector<float> gots(n);
    std::vector<std::uint64_t> slots = {address(x), 9};
    for (auto& g : got) slots.push_back(address(g));
    slots.push_back(address(gots));
    image.run(0, slots, {2, 1, 1});
    for (int k = 0; k < n; ++k) {
      const int thread = k % 72, lane = thread % 32, first = k - lane;
      const int live = thread / 32 == 2 ? 8 : 32;
      const auto from = [&](int l) { return l >= 0 && l < live ? x[static_cast<std::size_t>(first + l)] : x[static_cast<std::size_t>(k)]; };
      int add = 0, least = 1 << 30, bits = 0, exclusive = 0;
      bool any = false, all = true;
      float sum = 0;
      for (int l = 0; l < live; ++l) {
        const int v2 = from(l);
        add += v2, least = std::min(least, v2), exclusive ^= v2, any |= v2 == 70, all &= v2 < 1000;
        bits |= static_cast<int>(static_cast<unsigned>(v2 & 1) << l);
        const float term = static_cast<float>(v2) * 0.1f;
        sum = l == 0 ? term : sum + term;
      }
      const int mask = live == 32 ? -1 : (1 << live) - 1;
      const int expected[12] = {
          from((thread * 7) & 31), from(lane - 3), from(lane + 9), from(lane ^ 5), all, any, bits, mask, add, least, exclusive,
          from(lane ^ 9)};
      for (int j = 0; j < 12; ++j) {
        INFO("operation " << j << ", thread " << k);
        REQUIRE(got[static_cast<std::size_t>(j)][static_cast<std::size_t>(k)] == expected[j]);
      }
      REQUIRE(numeric::bits(gots[static_cast<std::size_t>(k)]) == numeric::bits(sum));
    }
  });
}

TEST_CASE("a shuffle distance outside of its warp leaves a lane its own value, whatever the distance's type") {
  ProgramBuilder b("distances", {32, 1, 1});
  const NodeId d32 = b.scalar_param("d32", Type::U32);
  const NodeId s64 = b.scalar_param("s64", Type::I64);
  const NodeId u64 = b.scalar_param("u64", Type::U64);
  const NodeId out = b.buffer_param("out", Type::I32, Access::InOut);
  const NodeId t = b.local_id(0);
  constexpr Ins kCodes[] = {Ins::ShuffleUp, Ins::ShuffleDown, Ins::ShuffleXor, Ins::Shuffle};
  const NodeId literals[] = {b.int_constant(Type::U32, 0xffffffffu), b.int_constant(Type::I64, INT64_MIN),
                             b.int_constant(Type::U64, Int128{UINT64_MAX} - 1)};
  int row = 0;
  for (const NodeId d : {d32, s64, u64, literals[0], literals[1], literals[2]})
    for (const Ins code : kCodes) b.store(out, b.op(Op::Add, {t, b.i32(32 * row++)}), b.ins(code, Type::I32, {t, d}));
  const Program program = b.finish();
  on_every_level([&](const NativeOptions& options) {
    const LoadedImage image(compiled(program, options));
    for (const Int128 d :
         {Int128{0}, Int128{3}, Int128{31}, Int128{32}, Int128{33}, Int128{0x7fffffff}, Int128{0x80000000u}, Int128{0xffffffffu},
          Int128{0xfffffffeu}, Int128{1} << 32, (Int128{1} << 32) + 1, Int128{INT64_MAX}, Int128{UINT64_MAX}}) {
      const auto bits = static_cast<std::uint64_t>(d);
      std::vector<int> got(32 * 24, -7);
      image.run(0, {bits & 0xffffffffu, bits, bits, address(got)}, {1, 1, 1});
      const Int128 distances[6] = {
          static_cast<std::uint32_t>(bits), static_cast<std::int64_t>(bits), bits, 0xffffffffu, INT64_MIN, Int128{UINT64_MAX} - 1};
      for (int k = 0; k < 24; ++k)
        for (int lane = 0; lane < 32; ++lane) {
          const Int128 n = distances[k / 4];
          const Int128 from = k % 4 == 0 ? lane - n : k % 4 == 1 ? lane + n : k % 4 == 2 ? lane ^ n : n & 31;
          INFO("row " << k << ", lane " << lane << ", distance bits " << bits);
          REQUIRE(got[static_cast<std::size_t>(32 * k + lane)] == (from >= 0 && from < 32 ? static_cast<int>(from) : lane));
        }
    }
  });
}

TEST_CASE("atomics on global and shared cells, one cell and many, old values used and not") {
  ProgramBuilder b("atomics", {96, 1, 1});
  const NodeId in = b.buffer_param("in", Type::I32, Access::In);
  const NodeId bins = b.buffer_param("bins", Type::I32, Access::InOut);
  const NodeId order = b.buffer_param("order", Type::I32, Access::Out);
  const NodeId extremes = b.buffer_param("extremes", Type::F32, Access::InOut);
  const NodeId total = b.buffer_param("total", Type::U64, Access::InOut);
  const NodeId local = b.shared("local", Type::I32, 8);
  const NodeId i = b.global_id(0), t = b.local_id(0);
  const NodeId v = b.load(in, i);
  b.ins(Ins::AtomicAdd, Type::I32, {b.index(local, b.op(Op::And, {v, b.i32(7)})), b.i32(1)});
  b.store(order, i, b.ins(Ins::AtomicInc, Type::I32, {b.index(bins, b.i32(9))}));
  b.ins(Ins::AtomicAdd, Type::U64, {b.index(total, b.i32(0)), b.cast(v, Type::U64)});
  b.ins(Ins::AtomicMax, Type::F32, {b.index(extremes, b.i32(0)), b.op(Op::Neg, {b.cast(b.op(Op::Add, {i, b.i32(1)}), Type::F32)})});
  b.ins(Ins::AtomicMin, Type::I32, {b.index(bins, b.i32(8)), v});
  b.ins(Ins::AtomicCas, Type::I32, {b.index(bins, b.i32(10)), i, b.op(Op::Add, {i, b.i32(1)})});
  b.barrier();
  const NodeId eight = b.begin_if(b.op(Op::Cmplt, {t, b.i32(8)}));
  b.ins(Ins::AtomicAdd, Type::I32, {b.index(bins, t), b.load(local, t)});
  b.end_if(eight);
  const Program program = b.finish();
  on_every_level([&](const NativeOptions& options) {
    const LoadedImage image(compiled(program, options));
    const int n = 96 * 5;
    std::vector<int> x(n), cells(16, 0), ranks(n, -1);
    std::vector<float> extreme = {-1000.0f};
    std::vector<std::uint64_t> sum = {5};
    for (int k = 0; k < n; ++k) x[static_cast<std::size_t>(k)] = (k * k + 3) % 1009;
    cells[8] = 1 << 20;
    std::vector<int> expected(16, 0);
    std::uint64_t wanted = 5;
    expected[8] = 1 << 20;
    for (const int v2 : x)
      ++expected[static_cast<std::size_t>(v2 & 7)], expected[8] = std::min(expected[8], v2), wanted += static_cast<std::uint64_t>(v2);
    expected[9] = n;
    expected[10] = n;  // each thread finds its own number there
    image.run(0, {address(x), address(cells), address(ranks), address(extreme), address(sum)}, {5, 1, 1});
    CHECK(cells == expected);
    CHECK(sum[0] == wanted);
    CHECK(extreme[0] == -1.0f);
    std::vector<int> in_order(n);
    std::iota(in_order.begin(), in_order.end(), 0);
    CHECK(ranks == in_order);
  });
}

TEST_CASE("gates keep lanes from memory; strided, reversed and uniform places") {
  ProgramBuilder b("gates", {40, 1, 1});
  const NodeId in = b.buffer_param("in", Type::I32, Access::In);
  const NodeId out = b.buffer_param("out", Type::I32, Access::InOut);
  const NodeId flags = b.buffer_param("flags", Type::Bool, Access::InOut);
  const NodeId n = b.length(b.slot_of(in));
  const NodeId i = b.global_id(0);
  const NodeId inside = b.op(Op::Cmplt, {i, n});
  const NodeId v = b.load(in, i, b.i32(-5), inside);
  const NodeId reversed = b.load(in, b.op(Op::Sub, {b.op(Op::Sub, {n, b.i32(1)}), i}), b.i32(-6), inside);
  const NodeId third = b.load(in, b.op(Op::Mul, {i, b.i32(3)}), b.i32(-7), b.op(Op::Cmplt, {b.op(Op::Mul, {i, b.i32(3)}), n}));
  const NodeId same = b.load(in, b.i32(4), b.i32(-8), b.op(Op::Cmplt, {i, b.i32(11)}));
  const NodeId flag = b.load(flags, i, b.bool_constant(true), inside);
  const NodeId sum = b.op(Op::Add, {b.op(Op::Add, {v, reversed}), b.op(Op::Add, {third, same})});
  b.store(out, i, b.op(Op::Where, {flag, sum, b.op(Op::Neg, {sum})}), inside);
  b.store(flags, i, b.logical_not(flag), inside);
  const NodeId guard = b.begin_if(inside);
  b.store(out, n, i);  // every thread writes the cell past the rest: the last one in order stays
  b.end_if(guard);
  const Program program = b.finish();
  on_every_level([&](const NativeOptions& options) {
    const LoadedImage image(compiled(program, options));
    const std::size_t n2 = 33;
    std::vector<int> x(n2), got(n2 + 8, 99);
    std::vector<std::uint8_t> f(n2);
    for (std::size_t k = 0; k < n2; ++k) x[k] = static_cast<int>(k * k), f[k] = k % 3 == 0;
    std::vector<int> expected(n2 + 8, 99);
    std::vector<std::uint8_t> ef(n2);
    for (std::size_t k = 0; k < n2; ++k) {
      const int s = x[k] + x[n2 - 1 - k] + (k * 3 < n2 ? x[k * 3] : -7) + (k < 11 ? x[4] : -8);
      expected[k] = f[k] ? s : -s;
      ef[k] = !f[k];
    }
    expected[n2] = 32;
    image.run(0, {address(x), address(got), address(f), n2}, {1, 1, 1});
    CHECK(got == expected);
    CHECK(f == ef);
  });
}

TEST_CASE("case T1: a product and a sum round twice, in whole chunks and in tails alike") {
  ProgramBuilder b("t1", {24, 1, 1});
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId out = b.buffer_param("out", Type::F32, Access::Out);
  const NodeId i = b.global_id(0);
  const NodeId v = b.load(x, i);
  b.store(out, i, b.op(Op::Add, {b.op(Op::Mul, {v, v}), b.constant(Type::F32, ConstValue::of_float(numeric::f32(0xbf801000u)))}));
  const Program program = b.finish();
  on_every_level([&](const NativeOptions& options) {
    const LoadedImage image(compiled(program, options));
    std::vector<float> in(24, numeric::f32(0x3f800800u)), got(24, 1.0f);
    image.run(0, {address(in), address(got)}, {1, 1, 1});
    for (const float f : got) CHECK(numeric::bits(f) == 0u);
  });
}

TEST_CASE("a checked kernel reports the first access out of bounds and touches nothing there") {
  ProgramBuilder b("checked", {64, 1, 1});
  const NodeId in = b.buffer_param("in", Type::I32, Access::In);
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId i = b.global_id(0);
  const NodeId v = b.load(in, i);
  b.trap(b.op(Op::Cmpeq, {v, b.i32(1234)}), "twelve thirty-four");
  b.store(out, v, i);
  const Program program = b.finish();
  on_every_level([&](NativeOptions options) {
    options.checked = true;
    const LoadedImage image(compiled(program, options));
    std::vector<int> x(128), got(128, -1);
    std::iota(x.begin(), x.end(), 0);
    const std::vector<std::int64_t> bytes = {512, 512};
    CHECK(image.run(0, {address(x), address(got)}, {2, 1, 1}, 0, bytes).site == 0);
    CHECK(got == x);
    x[77] = 128;
    x[90] = -1;
    artifact::NativeFault fault = image.run(0, {address(x), address(got)}, {2, 1, 1}, 0, bytes);
    REQUIRE(fault.site > 0);
    CHECK(image.kernel().fault_sites[fault.site - 1].kind == "bounds");
    CHECK(image.kernel().fault_sites[fault.site - 1].detail == "out");
    CHECK(fault.block == 1);
    CHECK(fault.thread == 13);
    CHECK(fault.value == 128);
    CHECK(fault.limit == 128);
    CHECK(fault.state == 0);
    x[77] = 1234;
    fault = image.run(0, {address(x), address(got)}, {2, 1, 1}, 0, bytes);
    REQUIRE(fault.site > 0);
    CHECK(image.kernel().fault_sites[fault.site - 1].detail == "twelve thirty-four");
    CHECK(fault.thread == 13);
    fault = image.run(0, {address(x), address(got)}, {3, 1, 1}, 0, bytes);
    CHECK(fault.block == 1);
  });
}

TEST_CASE("two kernels share an image; opt level 0 has the same bits") {
  std::vector<Program> programs;
  for (const int factor : {3, 5}) {
    ProgramBuilder b("times" + std::to_string(factor), {20, 1, 1});
    const NodeId x = b.buffer_param("x", Type::F32, Access::InOut);
    const NodeId i = b.global_id(0);
    b.store(x, i, b.op(Op::Fdiv, {b.load(x, i), b.float_constant(Type::F32, factor)}));
    programs.push_back(b.finish());
  }
  const Program* list[] = {&programs[0], &programs[1]};
  for (const int opt : {0, 3}) {
    NativeOptions options;
    options.level = NativeLevel::Sse42;
    options.opt_level = opt;
    auto image = emit::emit_native(list, options);
    if (!image) FAIL(image.error().message);
    const LoadedImage loaded(std::move(*image));
    std::vector<float> x(20, 1.0f);
    loaded.run(1, {address(x)}, {1, 1, 1});
    loaded.run(0, {address(x)}, {1, 1, 1});
    for (const float f : x) CHECK(f == 1.0f / 5.0f / 3.0f);
  }
}
