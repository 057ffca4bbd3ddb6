// Arithmetic on small polynomials; every coefficient is checked, so that no result is silently wrong.
#include "compiler/spec/polynomial.h"

#include <algorithm>
#include <map>

namespace sarek::spec {
namespace {

constexpr Int128 kMaxFactor = Int128{1} << 100;

bool in_range(Int128 v) { return v < kMaxFactor && v > -kMaxFactor; }

/// Adds v * w to `to`; false when it leaves the range.
bool accumulate(Int128& to, Int128 v, Int128 w) {
  Int128 product = 0;
  if (__builtin_mul_overflow(v, w, &product) || !in_range(product)) return false;
  to += product;
  return in_range(to);
}

}  // namespace

bool Polynomial::is_linear() const {
  return std::all_of(terms.begin(), terms.end(), [](const Term& t) { return t.of.b == kNoAtom; });
}

Int128 Polynomial::factor(const Monomial& m) const {
  const auto it = std::lower_bound(terms.begin(), terms.end(), m, [](const Term& t, const Monomial& key) { return t.of < key; });
  return it != terms.end() && it->of == m ? it->factor : Int128{0};
}

std::optional<Polynomial> combine(const Polynomial& p, Int128 i, const Polynomial& q, Int128 j) {
  Polynomial out;
  if (!accumulate(out.constant, p.constant, i) || !accumulate(out.constant, q.constant, j)) return std::nullopt;
  std::size_t x = 0, y = 0;
  while (x < p.terms.size() || y < q.terms.size()) {
    Term t;
    const bool left = y == q.terms.size() || (x < p.terms.size() && p.terms[x].of <= q.terms[y].of);
    const bool right = x == p.terms.size() || (y < q.terms.size() && q.terms[y].of <= p.terms[x].of);
    t.of = left ? p.terms[x].of : q.terms[y].of;
    if (left && !accumulate(t.factor, p.terms[x++].factor, i)) return std::nullopt;
    if (right && !accumulate(t.factor, q.terms[y++].factor, j)) return std::nullopt;
    if (t.factor != 0) out.terms.push_back(t);
  }
  return out;
}

std::optional<Polynomial> multiply(const Polynomial& p, const Polynomial& q) {
  if (q.is_number()) return combine(p, q.constant, {}, 0);
  if (p.is_number()) return combine(q, p.constant, {}, 0);
  if (!p.is_linear() || !q.is_linear()) return std::nullopt;
  std::map<Monomial, Int128> sums;
  Polynomial out;
  if (!accumulate(out.constant, p.constant, q.constant)) return std::nullopt;
  for (const Term& s : p.terms)
    if (!accumulate(sums[s.of], s.factor, q.constant)) return std::nullopt;
  for (const Term& t : q.terms)
    if (!accumulate(sums[t.of], t.factor, p.constant)) return std::nullopt;
  for (const Term& s : p.terms)
    for (const Term& t : q.terms)
      if (!accumulate(sums[{std::min(s.of.a, t.of.a), std::max(s.of.a, t.of.a)}], s.factor, t.factor)) return std::nullopt;
  for (const auto& [m, factor] : sums)
    if (factor != 0) out.terms.push_back({m, factor});
  return out;
}

}  // namespace sarek::spec
