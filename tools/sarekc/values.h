// Scalar values as text and bytes, and generated contents of buffers, for `sarekc run` and `sarekc test`. Rounds decimal text once to the
// type asked for. Knows neither kernels nor devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"
#include "runtime/artifact/package.h"

namespace sarek::tool {

/// The bytes of `text` as a value of `type`: decimal or 0x integers in range; floats in decimal, hex-float, `inf`, `nan`; `bits:0x...` for
/// any type; `true` and `false`. Errors say what is expected.
Result<std::vector<std::uint8_t>> parse_scalar(const std::string& type, std::string_view text);

/// The value as the shortest text that parse_scalar reads back to the same bits (NaN as `nan`).
std::string format_scalar(const std::string& type, const std::uint8_t* bytes);

/// Do two values agree under the contract? Equal bits, or both NaN of a float type.
bool same_value(const std::string& type, const std::uint8_t* a, const std::uint8_t* b);

/// A small deterministic generator (SplitMix64, Steele, Lea and Flood 2014): the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// In [0, 1), a multiple of 2^-53.
  double uniform();

 private:
  std::uint64_t state_;
};

/// What fills a buffer.
struct Contents {
  enum class Kind { Zeros, Fill, Iota, Random, Any, List, File };
  Kind kind = Kind::Zeros;
  std::int64_t count = 0;
  std::string low, high;  // Random: bounds as text; Fill: the value in `low`
  std::uint64_t seed = 0;
  std::vector<std::string> items;  // List
  std::string path;                // File: .npy, or raw bytes
};

/// Reads `zeros:N`, `fill:N:VALUE`, `iota:N`, `random:N[:LOW:HIGH[:SEED]]`, `any:N[:SEED]` (edge values and random bits), `[1, 2, 3]`,
/// `@PATH`.
Result<Contents> parse_contents(std::string_view text);

/// The bytes of a buffer of `element`s. Random and any fill each field of a record on its own; a list needs scalar elements.
Result<std::vector<std::uint8_t>> make_contents(const Contents& contents, const artifact::Param& element);

}  // namespace sarek::tool
