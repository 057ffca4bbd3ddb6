// What a target can do with the bits that the contract asks for. Each true field is a promise of the emitter, proved by its tests; what is
// false is either legalised in IR (compiler/passes/legalize) or refused before anything is printed (compiler/passes/requirements).
#pragma once

#include <string>

namespace sarek::ir {

struct Capabilities {
  std::string framework;  // as the policy spells it: "Native", "OpenCL", ...
  std::string generator;  // "llvm", "opencl": the policy's target is "gen:<generator>"

  // Types that may stand in memory and registers at all. Without them a kernel is refused.
  bool f64 = true;
  bool i64 = true;
  bool f16_storage = true;  // load, store, widen and narrow; 16-bit integers can stand in for it
  bool small_ints = true;   // i8 u8 i16 u16 in memory

  // Arithmetic that the target does with one correct rounding. Without it legalize goes through a wider type or integers.
  bool f16_arithmetic = false;
  bool bf16_arithmetic = false;
  bool f16_conversion = false;   // f32 <-> f16, round to nearest even
  bool bf16_conversion = false;  // f32 <-> bf16
  bool narrow_f64_once = false;  // f64 -> f16 in one instruction with one rounding; else by way of an f32 rounded to odd
  bool fma_f32 = true;
  bool fma_f64 = true;
  bool divide_f32 = true;
  bool sqrt_f32 = true;
  bool denormals_f32 = true;  // neither inputs nor results are flushed; without it a kernel with f32 arithmetic is refused

  // Meanings that the target's own operation has already. Without them legalize writes them out with comparisons and selects.
  bool total_integer_division = false;  // x / 0 = x, x % 0 = 0, MIN / -1 = MIN
  bool masked_shifts = false;           // count modulo the width
  bool saturating_casts = false;        // float to integer truncates, saturates, NaN gives 0
  bool ordered_min_max = false;         // min, max: the number when one is NaN, -0 below +0
  bool canonical_nan_bits = false;      // a bit cast of a NaN to an integer gives the canonical quiet NaN
  bool rounding_functions = true;       // floor, ceil, trunc exact; round half away from zero is always legalised through trunc
  bool bit_counting = true;             // clz, ctz, popcount on 32 and 64 bits; narrower ones are always written out
  bool multiply_high = true;            // mul_hi on 32 and 64 bits

  bool int_atomics_64 = true;
  bool float_atomics = false;    // on f32
  bool double_atomics = false;   // on f64
  bool warp_operations = true;   // natively or through the emitter's own scheme
  bool counted_strides = false;  // gains from grid-stride loops as counted ones: a block's threads run on one core, some at a time
  int max_block_threads = 1024;
  long max_shared_bytes = 48 * 1024;
};

}  // namespace sarek::ir
