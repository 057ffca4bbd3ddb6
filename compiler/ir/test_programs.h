// Small programs that tests of several folders need, written with the builder.
#pragma once

#include "compiler/ir/builder.h"

namespace sarek::ir::test {

/// kernel saxpy(a: f32, x: in [f32], y: inout [f32]) block(256) { if i < y.len { y[i] = a * x[i] + y[i]; } }
inline Program saxpy() {
  ProgramBuilder b("saxpy", {256, 1, 1});
  const NodeId a = b.scalar_param("a", Type::F32);
  const NodeId x = b.buffer_param("x", Type::F32, Access::In);
  const NodeId y = b.buffer_param("y", Type::F32, Access::InOut);
  const NodeId length = b.length(b.slot_of(y));
  const NodeId i = b.global_id(0);
  const NodeId inside = b.begin_if(b.op(Op::Cmplt, {i, length}));
  const NodeId product = b.op(Op::Mul, {a, b.load(x, i)});
  b.store(y, i, b.op(Op::Add, {product, b.load(y, i)}));
  b.end_if(inside);
  return b.finish();
}

/// A block-wide sum in shared memory: a bounded loop, an unbounded one, registers, a barrier, a warp operation and an atomic.
inline Program block_sum() {
  ProgramBuilder b("block_sum", {64, 1, 1});
  const NodeId x = b.buffer_param("x", Type::I32, Access::In);
  const NodeId out = b.buffer_param("out_sums", Type::I32, Access::InOut);
  const NodeId tile = b.shared("tile", Type::I32, 64);
  const NodeId lane = b.local_id(0), i = b.global_id(0), zero = b.i32(0);
  const NodeId inside = b.op(Op::Cmplt, {i, b.length(b.slot_of(x))});
  b.store(tile, lane, b.load(x, i, zero, inside));
  b.barrier();
  const NodeId sum = b.reg("sum", Type::I32);
  b.set(sum, zero);
  const NodeId j = b.begin_range(b.i32(64));
  b.set(sum, b.op(Op::Add, {b.get(sum), b.load(tile, j)}));
  b.end_range(j);
  const NodeId count = b.reg("count", Type::I32);
  b.set(count, b.i32(3));
  const NodeId loop = b.begin_loop();
  b.set(count, b.op(Op::Sub, {b.get(count), b.i32(1)}));
  b.end_loop(loop, b.op(Op::Cmplt, {zero, b.get(count)}));
  const NodeId all = b.ins(Ins::ReduceMax, Type::I32, {b.get(sum)});
  const NodeId first = b.begin_if(b.op(Op::Cmpeq, {lane, zero}));
  const NodeId place = b.index(out, b.group_id(0));
  const NodeId fits = b.begin_if(b.op(Op::Cmplt, {b.group_id(0), b.length(b.slot_of(out))}));
  b.ins(Ins::AtomicAdd, Type::I32, {b.index(out, b.group_id(0)), all});
  b.end_if(fits);
  b.trap(b.op(Op::Cmplt, {all, zero}), "a \"negative\" sum\n");
  b.end_if(first);
  (void)place;
  return b.finish();
}

}  // namespace sarek::ir::test
