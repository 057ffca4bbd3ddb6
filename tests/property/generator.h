// Random programs that are whole, typed, terminating and free of races by construction, with inputs. The same seed and features give the
// same case on every machine. A generator of source text would stand beside this one and share case.h, values.h and the runners.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/property/case.h"

namespace sarek::testgen {

/// A fixed sequence (SplitMix64), the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
  }
  /// 0 to n - 1.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

/// What programs may contain: what a backend lacks is left out here.
struct Features {
  std::vector<ir::Type> types = {
      ir::Type::Bool, ir::Type::I8,  ir::Type::U8,  ir::Type::I16,  ir::Type::U16, ir::Type::I32, ir::Type::U32,
      ir::Type::I64,  ir::Type::U64, ir::Type::F16, ir::Type::Bf16, ir::Type::F32, ir::Type::F64};  // Bool and I32 always
  bool barriers = true;
  bool warps = true;
  bool half_reductions = true;  // warp reductions of f16 and bf16
  bool atomics = true;
  bool wide_atomics = true;  // on 64-bit integers
  int max_block = 256;       // threads
  int size = 10;             // statements at the top, about
};

Case generate(std::uint64_t seed, const Features& features = {});

/// Values at which arithmetic goes wrong, for each type: zeros, extremes, subnormals, infinities, NaN.
std::vector<std::uint64_t> edge_values(ir::Type type);

}  // namespace sarek::testgen
