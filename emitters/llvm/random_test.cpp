// Random programs, interpreter against native code: nested divergent flow, register variables, uniform and varying values side by side,
// barriers. Each thread writes cells of its own, so every program has one right answer. SAREK_RANDOM_COUNT and SAREK_RANDOM_SEED widen the
// search.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <cstring>
#include <random>

#include "compiler/interp/interpreter.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/evaluate.h"
#include "compiler/passes/pipeline.h"
#include "compiler/spec/verify.h"
#include "compiler/support/numeric.h"
#include "emitters/llvm/loader_for_tests.h"
#include "emitters/llvm/native.h"

using namespace sarek;
using namespace sarek::ir;
using emit::NativeLevel;

namespace {

constexpr int kInputs = 64;   // elements of the input buffers, a power of two
constexpr int kOwnCells = 4;  // output cells of a thread

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed), builder_("random", pick_block()) {}

  Program make() {
    ints_in_ = builder_.buffer_param("ints", Type::I32, Access::In);
    reals_in_ = builder_.buffer_param("reals", Type::F32, Access::In);
    out_ = builder_.buffer_param("out", Type::I32, Access::InOut);
    out_real_ = builder_.buffer_param("out_real", Type::F32, Access::InOut);
    n_ = builder_.scalar_param("n", Type::I32);
    uniform_ = builder_.scalar_param("u", Type::I32);
    const auto& block = builder_.program().block;
    tile_ = builder_.shared("tile", Type::I32, block[0] * block[1]);
    for (int k = 0; k < 3; ++k) int_variables_.push_back(builder_.reg("i" + std::to_string(k), Type::I32));
    for (int k = 0; k < 2; ++k) real_variables_.push_back(builder_.reg("f" + std::to_string(k), Type::F32));
    bool_variable_ = builder_.reg("b", Type::Bool);
    array_ = builder_.reg("array", Type::I32, 4);
    thread_ = builder_.linear_local_id();
    const NodeId number = op(Op::Add, {op(Op::Mul, {builder_.group_id(0), builder_.i32(builder_.program().block_threads())}), thread_});
    first_cell_ = op(Op::Mul, {number, builder_.i32(kOwnCells)});
    scopes_.emplace_back();
    keep(thread_), keep(number), keep(builder_.local_id(0)), keep(builder_.group_id(0)), keep(n_), keep(uniform_);
    if (chance(50)) keep(builder_.global_id(0));
    top_level(3 + below(5));
    for (int k = 0; k < kOwnCells; ++k) {
      store_own(k, get(int_variables_[static_cast<std::size_t>(k % 3)]));
      if (k < 2) builder_.store(out_real_, op(Op::Add, {first_cell_, builder_.i32(k)}), get(real_variables_[static_cast<std::size_t>(k)]));
    }
    store_own(3, op(Op::Add, {builder_.load(array_, builder_.i32(1)), builder_.cast(get(bool_variable_), Type::I32)}));
    return builder_.finish();
  }

 private:
  struct Scope {
    std::vector<NodeId> ints, reals, bools;
  };

  std::array<int, 3> pick_block() {
    static constexpr std::array<int, 3> kBlocks[] = {{1, 1, 1},  {7, 1, 1}, {16, 1, 1}, {32, 1, 1}, {50, 1, 1}, {64, 1, 1},
                                                     {16, 4, 1}, {8, 8, 1}, {5, 7, 1},  {32, 2, 1}, {128, 1, 1}};
    return kBlocks[random_() % std::size(kBlocks)];
  }
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  NodeId op(Op o, std::initializer_list<NodeId> s) { return builder_.op(o, s); }
  NodeId get(NodeId variable) { return builder_.get(variable); }
  void keep(NodeId id) {
    const Type t = builder_.graph().type(id);
    Scope& s = scopes_.back();
    (t == Type::Bool ? s.bools : t == Type::F32 ? s.reals : s.ints).push_back(id);
  }
  NodeId known(std::vector<NodeId> Scope::* list) {
    std::vector<NodeId> all;
    for (const Scope& s : scopes_) all.insert(all.end(), (s.*list).begin(), (s.*list).end());
    return all.empty() ? NodeId{} : all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
  }
  void store_own(int k, NodeId value) { builder_.store(out_, op(Op::Add, {first_cell_, builder_.i32(k)}), value); }
  NodeId small(NodeId x, int mask) { return op(Op::And, {x, builder_.i32(mask)}); }

  NodeId int_value(int depth) {
    if (depth <= 0 || chance(25)) {
      const NodeId id = chance(60) ? known(&Scope::ints) : NodeId{};
      if (id) return id;
      if (chance(50)) return get(int_variables_[static_cast<std::size_t>(below(3))]);
      static constexpr std::int64_t kValues[] = {0, 1, -1, 2, 3, 7, 31, 100, INT32_MAX, INT32_MIN};
      return builder_.i32(kValues[below(10)]);
    }
    const NodeId x = int_value(depth - 1);
    switch (below(14)) {
      case 0: return op(Op::Add, {x, int_value(depth - 1)});
      case 1: return op(Op::Sub, {x, int_value(depth - 1)});
      case 2: return op(Op::Mul, {x, int_value(depth - 1)});
      case 3: return op(Op::Xor, {x, int_value(depth - 1)});
      case 4: return op(Op::And, {x, int_value(depth - 1)});
      case 5: return op(chance(50) ? Op::Shl : Op::Shr, {x, int_value(depth - 1)});
      case 6: return op(chance(50) ? Op::Cdiv : Op::Cmod, {x, int_value(depth - 1)});
      case 7: return op(Op::Max, {x, int_value(depth - 1)});
      case 8: return op(Op::Where, {bool_value(depth - 1), x, int_value(depth - 1)});
      case 9: return builder_.cast(real_value(depth - 1), Type::I32);
      case 10: return builder_.load(ints_in_, small(x, kInputs - 1));
      case 11: return builder_.load(array_, small(x, 3));
      case 12:
        return builder_.load(
            ints_in_, x, int_value(depth - 1),
            op(Op::And, {builder_.logical_not(op(Op::Cmplt, {x, builder_.i32(0)})), op(Op::Cmplt, {x, builder_.i32(kInputs)})}));
      default:
        return builder_.cast(
            builder_.cast(op(Op::Add, {builder_.cast(x, Type::I64), builder_.cast(int_value(depth - 1), Type::I64)}), Type::I16),
            Type::I32);
    }
  }
  NodeId real_value(int depth) {
    if (depth <= 0 || chance(25)) {
      const NodeId id = chance(60) ? known(&Scope::reals) : NodeId{};
      if (id) return id;
      if (chance(50)) return get(real_variables_[static_cast<std::size_t>(below(2))]);
      static constexpr double kValues[] = {0.0, -0.0, 1.0, -2.5, 0.1f, 1e30f, 3e-39f};
      return builder_.float_constant(Type::F32, kValues[below(7)]);
    }
    const NodeId x = real_value(depth - 1);
    switch (below(9)) {
      case 0: return op(Op::Add, {x, real_value(depth - 1)});
      case 1: return op(Op::Mul, {x, real_value(depth - 1)});
      case 2: return op(Op::Sub, {x, real_value(depth - 1)});
      case 3: return op(Op::Fdiv, {x, real_value(depth - 1)});
      case 4: return op(Op::Max, {x, real_value(depth - 1)});
      case 5: return builder_.ins(Ins::Min, Type::F32, {x, real_value(depth - 1)});
      case 6: return builder_.cast(int_value(depth - 1), Type::F32);
      case 7: return builder_.load(reals_in_, small(int_value(depth - 1), kInputs - 1));
      default: return builder_.ins(Ins::Floor, Type::F32, {x});
    }
  }
  NodeId bool_value(int depth) {
    if (chance(20)) {
      const NodeId id = known(&Scope::bools);
      if (id) return id;
    }
    switch (below(6)) {
      case 0: return op(Op::Cmplt, {int_value(depth), int_value(depth)});
      case 1: return op(Op::Cmplt, {known(&Scope::ints), n_});  // often an index below a number
      case 2: return op(Op::Cmpne, {small(int_value(depth), 3), builder_.i32(below(4))});
      case 3: return op(Op::Cmplt, {real_value(depth), real_value(depth)});
      case 4: return builder_.logical_not(op(Op::Cmpeq, {small(int_value(depth), 1), builder_.i32(0)}));
      default: return get(bool_variable_);
    }
  }
  /// A condition that the whole block shares.
  NodeId block_condition() {
    return op(Op::Cmplt, {small(op(Op::Add, {uniform_, builder_.i32(below(9))}), 7), builder_.i32(4 + below(3))});
  }

  void top_level(int count) {
    for (int k = 0; k < count; ++k) {
      const int what = below(10);
      if (what < 2) {
        exchange();
      } else if (what == 2) {
        const NodeId opened = builder_.begin_if(block_condition());
        inside([&] { top_level(2); });
        builder_.end_if(opened);
      } else if (what == 3) {
        const NodeId loop = builder_.begin_range(op(Op::Add, {small(uniform_, 1), builder_.i32(1)}));
        inside([&] {
          keep(loop);
          top_level(2);
        });
        builder_.end_range(loop);
      } else {
        statements(2, 3);
      }
    }
  }
  /// Threads read what others wrote before a barrier.
  void exchange() {
    const int threads = builder_.program().block_threads();
    builder_.store(tile_, thread_, int_value(2));
    builder_.barrier();
    const NodeId from = op(Op::Cmod, {op(Op::Add, {thread_, builder_.i32(1 + below(threads))}), builder_.i32(threads)});
    const NodeId got = builder_.load(tile_, from);
    builder_.barrier();
    builder_.set(int_variables_[static_cast<std::size_t>(below(3))], got);
    if (chance(50)) keep(got);
  }
  template <class F>
  void inside(F body) {
    scopes_.emplace_back();
    body();
    scopes_.pop_back();
  }
  void statements(int count, int depth) {
    for (int k = 0; k < count; ++k) statement(depth);
  }
  void statement(int depth) {
    switch (below(depth > 0 ? 12 : 8)) {
      case 0: keep(int_value(3)); return;
      case 1: keep(real_value(3)); return;
      case 2: keep(bool_value(2)); return;
      case 3: builder_.set(int_variables_[static_cast<std::size_t>(below(3))], int_value(3)); return;
      case 4: builder_.set(real_variables_[static_cast<std::size_t>(below(2))], real_value(3)); return;
      case 5: builder_.set(bool_variable_, bool_value(2)); return;
      case 6: builder_.store(array_, small(int_value(2), 3), int_value(2)); return;
      case 7:
        if (chance(50)) store_own(below(kOwnCells), int_value(2));
        else builder_.store(out_, op(Op::Add, {first_cell_, small(int_value(2), kOwnCells - 1)}), int_value(2), bool_value(2));
        return;
      case 8:
      case 9: {
        const NodeId opened = builder_.begin_if(bool_value(2));
        inside([&] { statements(1 + below(3), depth - 1); });
        builder_.end_if(opened);
        return;
      }
      case 10: {
        const NodeId loop = builder_.begin_range(small(int_value(2), 3));
        inside([&] {
          keep(loop);
          statements(1 + below(3), depth - 1);
        });
        builder_.end_range(loop);
        return;
      }
      default: {  // an unbounded loop that a counter of its own ends; half of them as `while`
        const NodeId counter = builder_.reg("turns" + std::to_string(counters_++), Type::I32);
        builder_.set(counter, builder_.i32(0));
        const NodeId loop = builder_.begin_loop();
        NodeId go;
        inside([&] {
          const NodeId turn = op(Op::Add, {get(counter), builder_.i32(1)});
          builder_.set(counter, turn);
          statements(below(2), depth - 1);
          go = op(Op::And, {bool_value(2), op(Op::Cmplt, {turn, builder_.i32(2 + below(4))})});
          if (chance(50)) {
            const NodeId opened = builder_.begin_if(go);
            inside([&] { statements(1 + below(2), depth - 1); });
            builder_.end_if(opened);
          }
        });
        builder_.end_loop(loop, go);
        return;
      }
    }
  }

  std::mt19937_64 random_;
  ProgramBuilder builder_;
  std::vector<Scope> scopes_;
  NodeId ints_in_, reals_in_, out_, out_real_, n_, uniform_, tile_, bool_variable_, array_, thread_, first_cell_;
  std::vector<NodeId> int_variables_, real_variables_;
  int counters_ = 0;
};

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE("random programs give the interpreter's bits") {
  const std::uint64_t count = setting("SAREK_RANDOM_COUNT", 60), first = setting("SAREK_RANDOM_SEED", 1);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = Generator(seed).make();
    const auto failures = spec::verify_program(program);
    INFO("seed " << seed << "\n" << spec::describe(program, failures));
    REQUIRE(failures.empty());
    std::mt19937_64 random(seed);
    const int blocks = 3, cells = blocks * program.block_threads() * kOwnCells;
    std::vector<std::int32_t> ints(kInputs);
    std::vector<float> reals(kInputs);
    for (auto& v : ints) v = random() % 4 ? static_cast<std::int32_t>(random() % 64) : static_cast<std::int32_t>(random());
    for (auto& v : reals)
      v = random() % 8 ? static_cast<float>(static_cast<std::int32_t>(random() % 2000) - 1000) * 0.125f
                       : numeric::f32(static_cast<std::uint32_t>(random()));
    const std::int32_t n = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(blocks * program.block_threads() + 20));
    const std::int32_t u = static_cast<std::int32_t>(random() % 8);
    struct Memory {
      std::vector<std::int32_t> out;
      std::vector<float> reals;
    };
    const Memory start{std::vector<std::int32_t>(static_cast<std::size_t>(cells), -77),
                       std::vector<float>(static_cast<std::size_t>(cells), 0.5f)};
    Memory expected = start;
    interp::Launch launch;
    launch.grid = {blocks, 1, 1};
    const auto buffer = [](auto& v) {
      return interp::Argument::buffer(v.data(), static_cast<std::int64_t>(v.size()), static_cast<std::int64_t>(v.size() * 4));
    };
    launch.arguments = {buffer(ints),
                        buffer(reals),
                        buffer(expected.out),
                        buffer(expected.reals),
                        interp::Argument::scalar(Type::I32, static_cast<std::uint32_t>(n)),
                        interp::Argument::scalar(Type::I32, static_cast<std::uint32_t>(u))};
    const auto ran = interp::run(program, launch);
    if (!ran) FAIL("seed " << seed << ": interpreter: " << ran.error().message);
    for (float& f : expected.reals)
      if (f != f) f = numeric::f32(numeric::kNanF32);
    for (const NativeLevel level : {NativeLevel::Sse42, NativeLevel::Avx2, NativeLevel::Avx512}) {
      if (!emit::testing::cpu_runs(level)) continue;
      static constexpr int kWidths[] = {0, 4, 8, 32};
      emit::NativeOptions options;
      options.level = level;
      options.vector_width = kWidths[random() % 4];
      options.opt_level = random() % 8 == 0 ? 0 : 2;
      options.checked = random() % 4 == 0;
      // Half of them as sarekc would bring them here, half as they were written.
      Program prepared = program;
      if (seed % 2 == 0) {
        auto optimised = passes::run_pipeline(program, emit::native_capabilities(level), {});
        if (!optimised) FAIL("seed " << seed << ": " << optimised.error()[0].message);
        prepared = std::move(*optimised);
      }
      const Program* list[] = {&prepared};
      auto image = emit::emit_native(list, options);
      if (!image) FAIL("seed " << seed << ": " << image.error().message);
      const emit::testing::LoadedImage loaded(std::move(*image));
      Memory got = start;
      const auto address = [](auto& v) { return reinterpret_cast<std::uint64_t>(v.data()); };
      std::vector<std::uint64_t> slots = {address(ints),
                                          address(reals),
                                          address(got.out),
                                          address(got.reals),
                                          static_cast<std::uint32_t>(n),
                                          static_cast<std::uint32_t>(u)};
      for (std::size_t s = slots.size(); s < program.slots.size(); ++s)
        slots.push_back(program.slots[s].axis == 0 ? blocks : 1);  // numbers of groups
      const std::vector<std::int64_t> bytes = {kInputs * 4, kInputs * 4, cells * 4, cells * 4};
      const artifact::NativeFault fault = loaded.run(0, slots, {blocks, 1, 1}, 0, bytes);
      REQUIRE(fault.site == 0);
      for (float& f : got.reals)
        if (f != f) f = numeric::f32(numeric::kNanF32);
      const bool same = got.out == expected.out && std::memcmp(got.reals.data(), expected.reals.data(), got.reals.size() * 4) == 0;
      if (!same) {
        std::size_t at = 0;
        while (at < got.out.size() && got.out[at] == expected.out[at] && std::memcmp(&got.reals[at], &expected.reals[at], 4) == 0) ++at;
        FAIL("seed " << seed << ", " << emit::native_level_name(level) << ", width " << options.vector_width << " ("
                     << loaded.kernel().lanes << " lanes), -O" << options.opt_level << ": cell " << at % kOwnCells << " of thread "
                     << at / kOwnCells << " differs: " << got.out[at] << " for " << expected.out[at] << ", " << got.reals[at] << " for "
                     << expected.reals[at]);
      }
    }
  }
  SUCCEED();
}
