// How fast the reference interpreter runs, in simple operations a second on one worker. An operation is one node of the body that computes,
// loads, stores or branches; the count is exact because the kernels' control flow is known. Prints a table; no test.
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "compiler/interp/interpreter.h"
#include "compiler/ir/builder.h"
#include "compiler/support/numeric.h"

using namespace sarek;
using ir::Access;
using ir::NodeId;
using ir::Op;
using ir::ProgramBuilder;
using ir::Type;

namespace {

struct Kernel {
  const char* name;
  ir::Program program;
  double operations;  // of one launch
  std::vector<interp::Argument> arguments;
  std::int64_t blocks;
};

std::vector<float> floats(1 << 20, 1.5f);
std::vector<float> more_floats(1 << 20, 0.5f);
std::vector<std::int32_t> integers(1 << 20, 7);

template <class T>
interp::Argument buffer(std::vector<T>& v) {
  return interp::Argument::buffer(v.data(), static_cast<std::int64_t>(v.size()), static_cast<std::int64_t>(v.size() * sizeof(T)));
}

Kernel saxpy() {
  ProgramBuilder b("saxpy", {256, 1, 1});
  const NodeId a = b.scalar_param("a", Type::F32);
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId y = b.buffer_param("y", Type::F32, Access::InOut);
  const NodeId i = b.global_id(0);
  const NodeId inside = b.begin_if(b.op(Op::Cmplt, {i, b.length(b.slot_of(y))}));
  b.store(y, i, b.op(Op::Add, {b.op(Op::Mul, {a, b.load(x, i)}), b.load(y, i)}));
  b.end_if(inside);
  return {"saxpy f32",
          b.finish(),
          9.0 * (1 << 20),
          {interp::Argument::scalar(Type::F32, numeric::bits(0.25f)), buffer(floats), buffer(more_floats)},
          4096};
}

Kernel mandelbrot() {
  constexpr int kTurns = 200;
  ProgramBuilder b("mandelbrot", {64, 1, 1});
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const auto f = [&](double v) { return b.float_constant(Type::F32, v); };
  const NodeId i = b.global_id(0);
  // Inside the set, so that every thread runs every turn.
  const NodeId cx = b.op(Op::Mul, {b.cast(i, Type::F32), f(1e-6)});
  const NodeId x = b.reg("x", Type::F32), y = b.reg("y", Type::F32), n = b.reg("n", Type::I32);
  const NodeId loop = b.begin_loop();
  const NodeId vx = b.get(x), vy = b.get(y);
  const NodeId xx = b.op(Op::Mul, {vx, vx}), yy = b.op(Op::Mul, {vy, vy});
  const NodeId xy = b.op(Op::Mul, {vx, vy});
  b.set(y, b.op(Op::Add, {b.op(Op::Mul, {f(2), xy}), f(1e-3)}));
  b.set(x, b.op(Op::Add, {b.op(Op::Sub, {xx, yy}), cx}));
  const NodeId next = b.op(Op::Add, {b.get(n), b.i32(1)});
  b.set(n, next);
  const NodeId again = b.op(Op::And, {b.op(Op::Cmplt, {b.op(Op::Add, {xx, yy}), f(4)}), b.op(Op::Cmplt, {next, b.i32(kTurns)})});
  b.end_loop(loop, again);
  b.store(out, i, b.get(n));
  return {"mandelbrot f32", b.finish(), 64.0 * 64 * 13 * kTurns, {buffer(integers)}, 64};
}

Kernel integer_mix(Type type) {
  constexpr int kTurns = 1000;
  ProgramBuilder b("mix", {64, 1, 1});
  const NodeId out = b.buffer_param("out", Type::I32, Access::Out);
  const NodeId h = b.reg("h", type);
  b.set(h, b.cast(b.global_id(0), type));
  const NodeId turn = b.begin_range(b.i32(kTurns));
  NodeId v = b.op(Op::Xor, {b.get(h), b.op(Op::Shr, {b.get(h), b.int_constant(type, 5)})});
  v = b.op(Op::Mul, {v, b.int_constant(type, 73)});
  v = b.op(Op::Add, {v, b.cast(turn, type)});
  b.set(h, v);
  b.end_range(turn);
  b.store(out, b.global_id(0), b.cast(b.get(h), Type::I32));
  return {type == Type::U32 ? "integer mix u32" : "integer mix i64", b.finish(), 64.0 * 16 * 6 * kTurns, {buffer(integers)}, 16};
}

Kernel reduction() {
  ProgramBuilder b("reduce", {256, 1, 1});
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId out = b.buffer_param("out", Type::F32, Access::Out);
  const NodeId tile = b.shared("tile", Type::F32, 256);
  const NodeId t = b.local_id(0);
  b.store(tile, t, b.load(x, b.global_id(0)));
  b.barrier();
  for (int s = 128; s > 0; s /= 2) {
    const NodeId low = b.begin_if(b.op(Op::Cmplt, {t, b.i32(s)}));
    b.store(tile, t, b.op(Op::Add, {b.load(tile, t), b.load(tile, b.op(Op::Add, {t, b.i32(s)}))}));
    b.end_if(low);
    b.barrier();
  }
  const NodeId first = b.begin_if(b.op(Op::Cmpeq, {t, b.i32(0)}));
  b.store(out, b.group_id(0), b.load(tile, b.i32(0)));
  b.end_if(first);
  return {"block reduction f32", b.finish(), 4096.0 * (256 * (5 + 8 * 3 + 2) + 255 * 5 + 2), {buffer(floats), buffer(more_floats)}, 4096};
}

}  // namespace

int main() {
  Kernel kernels[] = {saxpy(), mandelbrot(), integer_mix(Type::U32), integer_mix(Type::I64), reduction()};
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  std::printf("%-22s %16s %16s %16s\n", "kernel", "1 worker, Mop/s", "all, Mop/s", "checked, Mop/s");
  for (const Kernel& k : kernels) {
    std::printf("%-22s", k.name);
    for (int mode = 0; mode < 3; ++mode) {
      const auto interpreter = interp::Interpreter::create(k.program, mode == 2);
      interp::Launch launch;
      launch.grid = {k.blocks, 1, 1};
      launch.arguments = k.arguments;
      interp::Options options;
      options.threads = mode == 1 ? processors : 1;
      double best = 0;
      for (int round = 0; round < 5 && interpreter; ++round) {
        const auto start = std::chrono::steady_clock::now();
        if (!interpreter.value().run(launch, options)) break;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        best = std::max(best, k.operations / took.count() / 1e6);
      }
      std::printf(" %16.0f", best);
    }
    std::printf("\n");
  }
}
