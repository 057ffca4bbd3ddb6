// The dispatch loop. Labels as values instead of a switch: one indirect jump per instruction, each with a prediction of its own (about a
// third faster here); the table is made from opcodes.def, so that an instruction without a handler fails to compile.
#include "compiler/interp/execute.h"

#include <cstring>

#include "compiler/ir/evaluate.h"
#include "compiler/ir/scalar.h"

#pragma GCC diagnostic ignored "-Wpedantic"  // labels as values: both compilers have them, the standard does not

namespace sarek::interp {
namespace {

namespace scalar = ir::scalar;
using ir::Ins;
using ir::Type;

template <Type T>
using Cpp = scalar::Cpp<T>;

/// The new value of an atomic's cell.
std::uint64_t combine(const AtomicInfo& info, std::uint64_t old, std::uint64_t x, std::uint64_t y) {
  const auto apply = [&](ir::Op op, std::uint64_t v) {
    const Type types[2] = {info.type, info.type};
    const std::uint64_t operands[2] = {old, v};
    return ir::evaluate(op, info.type, types, operands).value_or(old);
  };
  const auto one = [&] {
    return ir::is_float(info.type) ? ir::bits_of(ir::ConstValue::of_float(1), info.type).value_or(0) : std::uint64_t{1};
  };
  switch (info.code) {
    case Ins::AtomicAdd: return apply(ir::Op::Add, x);
    case Ins::AtomicSub: return apply(ir::Op::Sub, x);
    case Ins::AtomicExchange: return x;
    case Ins::AtomicMin: {
      const Type types[2] = {info.type, info.type};
      const std::uint64_t operands[2] = {old, x};
      return ir::evaluate(Ins::Min, info.type, types, operands).value_or(old);
    }
    case Ins::AtomicMax: return apply(ir::Op::Max, x);
    case Ins::AtomicAnd: return old & x;
    case Ins::AtomicOr: return old | x;
    case Ins::AtomicXor: return old ^ x;
    case Ins::AtomicInc: return apply(ir::Op::Add, one());
    case Ins::AtomicDec: return apply(ir::Op::Sub, one());
    case Ins::AtomicCas: {
      const Type types[2] = {info.type, info.type};
      const std::uint64_t operands[2] = {old, x};
      return ir::evaluate(ir::Op::Cmpeq, Type::Bool, types, operands).value_or(0) ? y : old;
    }
    case Ins::Min:
    case Ins::Abs:
    case Ins::Floor:
    case Ins::Ceil:
    case Ins::Round:
    case Ins::Copysign:
    case Ins::Clz:
    case Ins::Ctz:
    case Ins::Popcount:
    case Ins::MulHigh:
    case Ins::Shuffle:
    case Ins::ShuffleUp:
    case Ins::ShuffleDown:
    case Ins::ShuffleXor:
    case Ins::VoteAll:
    case Ins::VoteAny:
    case Ins::Ballot:
    case Ins::ActiveMask:
    case Ins::ReduceAdd:
    case Ins::ReduceMin:
    case Ins::ReduceMax:
    case Ins::ReduceAnd:
    case Ins::ReduceOr:
    case Ins::ReduceXor:
    case Ins::WarpBarrier:
    case Ins::FenceBlock:
    case Ins::FenceDevice:
    case Ins::Trap: return old;
  }
  return old;
}

/// Read, combine, write as one step against the other workers. The cell is aligned: bind_arguments and the layout of shared storage see to
/// it.
template <class Word>
std::uint64_t update(std::uint8_t* at, const AtomicInfo& info, std::uint64_t x, std::uint64_t y) {
  auto* cell = reinterpret_cast<Word*>(at);
  Word old = __atomic_load_n(cell, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(cell, &old, static_cast<Word>(combine(info, old, x, y)), true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
  return old;
}

std::uint64_t atomic(const AtomicInfo& info, std::uint8_t* at, std::uint64_t x, std::uint64_t y) {
  switch (ir::type_bytes(info.type)) {
    case 1: return update<std::uint8_t>(at, info, x, y);
    case 2: return update<std::uint16_t>(at, info, x, y);
    case 4:
      if (info.code == Ins::AtomicAdd && !ir::is_float(info.type))  // the one that histograms are made of
        return __atomic_fetch_add(reinterpret_cast<std::uint32_t*>(at), static_cast<std::uint32_t>(x), __ATOMIC_ACQ_REL);
      return update<std::uint32_t>(at, info, x, y);
    default: return update<std::uint64_t>(at, info, x, y);
  }
}

/// Checked mode's look at an access; false when it is a fault. An index out of bounds is left to the access itself.
bool check_access(Machine& m, AccessKind kind, std::size_t region, std::int64_t index) {
  const Region& r = m.regions[region];
  if (static_cast<std::uint64_t>(index) >= r.length) return true;
  const std::int64_t size = ir::type_bytes(m.code->regions[region].type);
  const std::int64_t offset = index * size;
  Shadow& shadow = *m.shadows[region];
  if (m.code->regions[region].shared) {
    if (kind != AccessKind::Write && !shadow.written(offset, size, m.block_run)) {
      m.fault = ErrorKind::Uninitialised_shared_read;
      m.fault_index = index;
      m.fault_length = r.length;
      return false;
    }
    if (kind != AccessKind::Read) shadow.mark_written(offset, size, m.block_run);
  }
  const std::optional<RaceWith> race = shadow.access(kind, offset, size, m.block, m.thread, m.superstep, m.warp_step);
  if (!race) return true;
  m.fault = ErrorKind::Race;
  m.fault_index = index;
  m.fault_length = r.length;
  m.fault_race = *race;
  return false;
}

}  // namespace

Exit execute(Machine& m, std::uint64_t* const r, ThreadState& state) {
  static const void* const kLabels[] = {
#define SAREK_PLAIN(name) &&L_##name,
#define SAREK_UNARY(base, function, type) &&L_##base##_##type,
#define SAREK_BINARY(base, function, type) &&L_##base##_##type,
#define SAREK_SHIFT(base, function, type) &&L_##base##_##type,
#define SAREK_TERNARY(base, function, type) &&L_##base##_##type,
#define SAREK_CONVERT(to, from) &&L_Cast_##to##_##from,
#define SAREK_RANGE(type) &&L_RangeBegin_##type, &&L_RangeEnd_##type,
#define SAREK_COMPARE_JUMP(base, function, type) &&L_##base##_##type,
#include "compiler/interp/opcodes.def"
  };
  const Instruction* const code = m.code->code.data();
  const Region* const regions = m.regions.data();
  const Instruction* i = code + state.pc;
  std::uint64_t steps = state.steps;
  const std::uint64_t limit = m.step_limit ? m.step_limit : ~std::uint64_t{0};

#define SAREK_DISPATCH() goto* kLabels[static_cast<std::size_t>(i->code)]
#define SAREK_NEXT()  \
  do {                \
    ++i;              \
    SAREK_DISPATCH(); \
  } while (0)
#define SAREK_JUMP()   \
  do {                 \
    i = code + i->imm; \
    SAREK_DISPATCH();  \
  } while (0)
  // A jump back counts the loop's instructions.
#define SAREK_JUMP_BACK()                                         \
  do {                                                            \
    steps += static_cast<std::uint64_t>(i - (code + i->imm)) + 1; \
    if (steps > limit) goto step_limit;                           \
    SAREK_JUMP();                                                 \
  } while (0)

  SAREK_DISPATCH();

L_End:
  state.pc = static_cast<std::uint32_t>(i - code);
  state.steps = steps + m.code->code.size();
  return Exit::Finished;
L_Move:
  r[i->dst] = r[i->a];
  SAREK_NEXT();
L_Jump:
  SAREK_JUMP();
L_JumpIfNot:
  if (!r[i->a]) SAREK_JUMP();
  SAREK_NEXT();
L_JumpIfNotEqualBits:
  if (r[i->a] != r[i->b]) SAREK_JUMP();
  SAREK_NEXT();
L_JumpIfEqualBits:
  if (r[i->a] == r[i->b]) SAREK_JUMP();
  SAREK_NEXT();
L_Again:
  if (r[i->a]) SAREK_JUMP_BACK();
  SAREK_NEXT();
L_SkipUnless:
  if (!r[i->a]) ++i;
  SAREK_NEXT();
L_AlternativeUnless:
  if (!r[i->a]) {
    r[i->dst] = r[i->b];
    ++i;
  }
  SAREK_NEXT();

  // Memory. `Index` is how the index lies; a negative one is a huge unsigned one, so that one comparison checks both bounds.
#define SAREK_LOAD(name, Index, Word, value)                                                               \
  L_##name : {                                                                                             \
    const Region& region = regions[i->imm];                                                                \
    const auto index = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<Index>(r[i->a]))); \
    if (index >= region.length) goto bounds;                                                               \
    Word word;                                                                                             \
    std::memcpy(&word, region.base + index * sizeof(Word), sizeof(Word));                                  \
    r[i->dst] = value;                                                                                     \
    SAREK_NEXT();                                                                                          \
  }
#define SAREK_STORE(name, Index, Word)                                                                     \
  L_##name : {                                                                                             \
    const Region& region = regions[i->imm];                                                                \
    const auto index = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<Index>(r[i->a]))); \
    if (index >= region.length) goto bounds;                                                               \
    const auto word = static_cast<Word>(r[i->b]);                                                          \
    std::memcpy(region.base + index * sizeof(Word), &word, sizeof(Word));                                  \
    SAREK_NEXT();                                                                                          \
  }
#define SAREK_ACCESS(bytes, Word)                         \
  SAREK_LOAD(Load##bytes##_I32, std::int32_t, Word, word) \
  SAREK_LOAD(Load##bytes##_I64, std::int64_t, Word, word) \
  SAREK_STORE(Store##bytes##_I32, std::int32_t, Word)     \
  SAREK_STORE(Store##bytes##_I64, std::int64_t, Word)
  SAREK_ACCESS(1, std::uint8_t)
  SAREK_ACCESS(2, std::uint16_t)
  SAREK_ACCESS(4, std::uint32_t)
  SAREK_ACCESS(8, std::uint64_t)
  SAREK_LOAD(LoadBool_I32, std::int32_t, std::uint8_t, word != 0)
  SAREK_LOAD(LoadBool_I64, std::int64_t, std::uint8_t, word != 0)

#define SAREK_REG(name, Index, access)                                                                     \
  L_##name : {                                                                                             \
    const auto index = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<Index>(r[i->a]))); \
    if (index >= static_cast<std::uint64_t>(i->imm)) goto reg_bounds;                                      \
    access;                                                                                                \
    SAREK_NEXT();                                                                                          \
  }
  SAREK_REG(LoadReg_I32, std::int32_t, r[i->dst] = r[i->b + index])
  SAREK_REG(LoadReg_I64, std::int64_t, r[i->dst] = r[i->b + index])
  SAREK_REG(StoreReg_I32, std::int32_t, r[i->b + index] = r[i->c])
  SAREK_REG(StoreReg_I64, std::int64_t, r[i->b + index] = r[i->c])

L_CheckLoad:
  if (!check_access(m, AccessKind::Read, static_cast<std::size_t>(i->imm), static_cast<std::int64_t>(r[i->a]))) goto fault;
  SAREK_NEXT();
L_CheckStore:
  if (!check_access(m, AccessKind::Write, static_cast<std::size_t>(i->imm), static_cast<std::int64_t>(r[i->a]))) goto fault;
  SAREK_NEXT();
L_CheckAtomic:
  if (!check_access(m, AccessKind::Atomic, static_cast<std::size_t>(i->imm), static_cast<std::int64_t>(r[i->a]))) goto fault;
  SAREK_NEXT();
L_CheckZero:
  if (r[i->a]) SAREK_NEXT();
  m.fault = ErrorKind::Division_by_zero;
  goto fault;
L_Atomic: {
  const AtomicInfo& info = m.code->atomics[static_cast<std::size_t>(i->imm)];
  const Region& region = regions[info.region];
  if (r[i->a] >= region.length) {
    m.fault_index = static_cast<std::int64_t>(r[i->a]);
    m.fault_length = region.length;
    goto any_bounds;
  }
  r[i->dst] = atomic(info, region.base + r[i->a] * static_cast<std::uint64_t>(ir::type_bytes(info.type)), r[i->b], r[i->c]);
  SAREK_NEXT();
}
L_Barrier:
  state.pc = static_cast<std::uint32_t>(i - code);
  state.steps = steps;
  return Exit::Block;
L_Warp:
  state.pc = static_cast<std::uint32_t>(i - code);
  state.steps = steps;
  return Exit::Warp;
L_Trap:
  if (!r[i->a]) SAREK_NEXT();
  m.fault = ErrorKind::Trap;
  goto fault;

L_And:
  r[i->dst] = r[i->a] & r[i->b];
  SAREK_NEXT();
L_Or:
  r[i->dst] = r[i->a] | r[i->b];
  SAREK_NEXT();
L_Xor:
  r[i->dst] = r[i->a] ^ r[i->b];
  SAREK_NEXT();
L_Where:
  r[i->dst] = r[i->a] ? r[i->b] : r[i->c];
  SAREK_NEXT();
L_EqualBits:
  r[i->dst] = r[i->a] == r[i->b];
  SAREK_NEXT();
L_NotEqualBits:
  r[i->dst] = r[i->a] != r[i->b];
  SAREK_NEXT();
L_Threefry:
  r[i->dst] = scalar::threefry(r[i->a], r[i->b]);
  SAREK_NEXT();

#define SAREK_VALUE(operand, type) scalar::unpack<Cpp<Type::type>>(r[i->operand])
#define SAREK_UNARY(base, function, type)                                               \
  L_##base##_##type : r[i->dst] = scalar::pack(scalar::function(SAREK_VALUE(a, type))); \
  SAREK_NEXT();
#define SAREK_BINARY(base, function, type)                                                                    \
  L_##base##_##type : r[i->dst] = scalar::pack(scalar::function(SAREK_VALUE(a, type), SAREK_VALUE(b, type))); \
  SAREK_NEXT();
#define SAREK_SHIFT(base, function, type)                                                        \
  L_##base##_##type : r[i->dst] = scalar::pack(scalar::function(SAREK_VALUE(a, type), r[i->b])); \
  SAREK_NEXT();
#define SAREK_TERNARY(base, function, type)                                                                                         \
  L_##base##_##type : r[i->dst] = scalar::pack(scalar::function(SAREK_VALUE(a, type), SAREK_VALUE(b, type), SAREK_VALUE(c, type))); \
  SAREK_NEXT();
#define SAREK_CONVERT(to, from)                                                                       \
  L_Cast_##to##_##from : r[i->dst] = scalar::pack(scalar::cast<Cpp<Type::to>>(SAREK_VALUE(a, from))); \
  SAREK_NEXT();
#define SAREK_RANGE(type)                                                               \
  L_RangeBegin_##type : if (!(Cpp<Type::type>{0} < SAREK_VALUE(a, type))) SAREK_JUMP(); \
  r[i->dst] = 0;                                                                        \
  SAREK_NEXT();                                                                         \
  L_RangeEnd_##type : {                                                                 \
    /* the variable is below the count, so one more does not wrap */                    \
    const auto next = static_cast<Cpp<Type::type>>(SAREK_VALUE(dst, type) + 1);         \
    if (next < SAREK_VALUE(a, type)) {                                                  \
      r[i->dst] = scalar::pack(next);                                                   \
      SAREK_JUMP_BACK();                                                                \
    }                                                                                   \
    SAREK_NEXT();                                                                       \
  }
#define SAREK_COMPARE_JUMP(base, function, type)                                                       \
  L_##base##_##type : if (!scalar::function(SAREK_VALUE(a, type), SAREK_VALUE(b, type))) SAREK_JUMP(); \
  SAREK_NEXT();
#include "compiler/interp/opcodes.def"

bounds:
  m.fault_index = i->narrow ? static_cast<std::int32_t>(static_cast<std::uint32_t>(r[i->a])) : static_cast<std::int64_t>(r[i->a]);
  m.fault_length = regions[i->imm].length;
  goto any_bounds;
reg_bounds:
  m.fault_index = i->narrow ? static_cast<std::int32_t>(static_cast<std::uint32_t>(r[i->a])) : static_cast<std::int64_t>(r[i->a]);
  m.fault_length = static_cast<std::uint64_t>(i->imm);
any_bounds:
  m.fault = ErrorKind::Array_bounds_error;
  goto fault;
step_limit:
  m.fault = ErrorKind::Step_limit;
fault:
  state.pc = static_cast<std::uint32_t>(i - code);
  state.steps = steps;
  return Exit::Fault;
}

}  // namespace sarek::interp
