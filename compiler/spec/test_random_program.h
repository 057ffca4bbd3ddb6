// Random small programs for tests: 8-bit arithmetic that wraps easily, conditions, loops, registers, gates, and accesses of one buffer that
// may or may not be in bounds. Every program is whole; every run ends when its runner counts steps.
#pragma once

#include <iterator>
#include <random>
#include <vector>

#include "compiler/ir/builder.h"

namespace sarek::spec::test {

using namespace ir;  // NOLINT: tests

class RandomProgram {
 public:
  explicit RandomProgram(std::uint32_t seed) : random_(seed), b_("random", {4, 1, 1}) {
    x_ = b_.buffer_param("x", Type::F32, Access::In);
    length_ = b_.length(b_.slot_of(x_));
    for (const char* name : {"a", "b"}) values_.push_back(b_.scalar_param(name, Type::I8));
    for (int i = 0; i < 3; ++i) registers_.push_back(b_.reg("r", Type::I8));
    flag_ = b_.reg("t", Type::Bool);
    values_.push_back(b_.cast(b_.local_id(0), Type::I8));
    for (const int c : {0, 1, 2, 3, -1, 4, 7, 127, -128}) constants_.push_back(b_.int_constant(Type::I8, c));
  }
  Program run() {
    block(4, 0);
    return b_.finish();
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  NodeId leaf() {
    const int k = pick(10);
    if (k < 5) return values_[static_cast<std::size_t>(pick(static_cast<int>(values_.size())))];
    if (k < 7) return b_.get(registers_[static_cast<std::size_t>(pick(3))]);
    return constants_[static_cast<std::size_t>(pick(static_cast<int>(constants_.size())))];
  }
  NodeId value(int depth) {
    if (depth == 0 || pick(3) == 0) return leaf();
    const Op ops[] = {Op::Add,  Op::Add,      Op::Add,      Op::Sub, Op::Sub, Op::Mul, Op::Max, Op::Cdiv,
                      Op::Cmod, Op::Floordiv, Op::Floormod, Op::And, Op::Shr, Op::Shl, Op::Xor};
    if (pick(8) == 0) return b_.ins(Ins::Min, Type::I8, {value(depth - 1), value(depth - 1)});
    if (pick(10) == 0) return b_.op(Op::Where, {condition(1), value(depth - 1), value(depth - 1)});
    if (pick(12) == 0) return b_.op(Op::Mulacc, {value(depth - 1), leaf(), leaf()});
    return b_.op(ops[random_() % std::size(ops)], {value(depth - 1), value(depth - 1)});
  }
  NodeId condition(int depth) {
    switch (pick(depth > 0 ? 9 : 4)) {
      case 0: return b_.op(Op::Cmplt, {b_.cast(value(1), Type::I32), length_});
      case 1: return b_.op(Op::Cmplt, {b_.i32(-1), b_.cast(leaf(), Type::I32)});
      case 2: return b_.op(Op::Cmplt, {value(1), value(1)});
      case 3: return b_.op(pick(2) ? Op::Cmpeq : Op::Cmpne, {value(1), leaf()});
      case 4: return b_.op(Op::Or, {condition(depth - 1), condition(depth - 1)});
      case 5: return b_.logical_not(condition(depth - 1));
      case 6: return b_.get(flag_);
      default: return b_.op(Op::And, {condition(depth - 1), condition(depth - 1)});
    }
  }
  NodeId index() {
    const NodeId wide = b_.cast(value(2), Type::I32);
    if (pick(4) == 0) return b_.op(Op::Sub, {length_, wide});
    if (pick(4) == 0) return b_.op(Op::Add, {wide, b_.i32(pick(5) - 2)});
    return wide;
  }
  void block(int statements, int depth) {
    const std::size_t values = values_.size();
    for (int i = 0; i < statements; ++i) statement(depth);
    values_.resize(values);
  }
  void statement(int depth) {
    const int k = pick(depth < 3 ? 11 : 6);
    if (k < 3) {
      b_.load(x_, index());
    } else if (k == 3) {
      b_.set(registers_[static_cast<std::size_t>(pick(3))], value(2));
    } else if (k == 4) {
      b_.set(flag_, pick(2) ? b_.bool_constant(pick(2) != 0) : condition(1));
    } else if (k == 5) {
      b_.load(x_, index(), b_.zero(Type::F32), condition(2));
    } else if (k < 9) {
      const NodeId opened = b_.begin_if(condition(2));
      block(1 + pick(4), depth + 1);
      b_.end_if(opened);
    } else if (k == 9) {
      NodeId count = value(2);
      if (pick(2)) count = b_.op(Op::Where, {condition(1), count, constants_[0]});
      if (pick(3) == 0) count = b_.cast(count, Type::I32);
      if (pick(4) == 0) count = length_;
      const NodeId range = b_.begin_range(count);
      if (b_.graph().type(range) == Type::I8) values_.push_back(range);
      b_.load(x_, pick(2) ? range : b_.op(Op::Add, {b_.cast(range, Type::I32), b_.cast(leaf(), Type::I32)}));
      block(1 + pick(3), depth + 1);
      b_.end_range(range);
      if (b_.graph().type(range) == Type::I8) values_.pop_back();
    } else {
      const NodeId loop = b_.begin_loop();
      block(1 + pick(4), depth + 1);
      b_.end_loop(loop, condition(1));
    }
  }

  std::mt19937 random_;
  ProgramBuilder b_;
  NodeId x_, length_, flag_;
  std::vector<NodeId> values_, constants_, registers_;
};

}  // namespace sarek::spec::test
