// Sums of products of at most two unknowns with 128-bit coefficients: what index arithmetic is made of. Unknowns are numbers that the
// caller gives a meaning. Inside compiler/spec only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/spec/bounds.h"

namespace sarek::spec {

using Atom = std::uint32_t;
inline constexpr Atom kNoAtom = 0xffffffffu;

/// a * b with a <= b; a alone when b is kNoAtom.
struct Monomial {
  Atom a = kNoAtom;
  Atom b = kNoAtom;
  friend auto operator<=>(const Monomial&, const Monomial&) = default;
};

struct Term {
  Monomial of;
  Int128 factor = 0;
};

/// terms + constant; terms are sorted, without zero factors.
struct Polynomial {
  std::vector<Term> terms;
  Int128 constant = 0;

  static Polynomial number(Int128 v) { return {{}, v}; }
  static Polynomial atom(Atom a) { return {{{{a, kNoAtom}, 1}}, 0}; }
  bool is_number() const { return terms.empty(); }
  bool is_linear() const;
  /// The factor of a monomial, 0 when absent.
  Int128 factor(const Monomial& m) const;
};

/// p * i + q * j; none when a coefficient leaves 2^100.
std::optional<Polynomial> combine(const Polynomial& p, Int128 i, const Polynomial& q, Int128 j);
/// The product; none when its degree would be more than two or a coefficient too great.
std::optional<Polynomial> multiply(const Polynomial& p, const Polynomial& q);

}  // namespace sarek::spec
