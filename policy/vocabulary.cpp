// The tables behind vocabulary.h: stable names, meanings, look-up by name.
#include "policy/vocabulary.h"

#include <algorithm>
#include <numeric>

namespace sarek::policy {
namespace {

struct GrantRow {
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array<GrantRow, Grant::count> grant_rows{{
    {"accumulation-order", "the hardware may choose the order of the additions"},
    {"operand-rounding-f16", "float32 operands of a matrix product may be rounded to f16 on load"},
    {"operand-rounding-bf16", "float32 operands of a matrix product may be rounded to bf16 on load"},
    {"operand-rounding-bf16x3", "float32 operands of a matrix product may be split into three bf16 terms on load"},
    {"single-rounding", "an f32 to f16 narrowing may round once where the source rounds twice"},
    {"cross-kernel-contraction", "a device compiler may contract a multiply of one fused kernel with an add of the next"},
    {"automatic-float-rewrite", "float code of the program may be rewritten to run on matrix units"},
}};

constexpr std::array<std::string_view, optimisation_count> optimisation_names{"window", "epilogue", "matrix", "narrowing-proof", "unroll"};

}  // namespace

DeviationKind Deviation::kind() const {
  if (index_ == 0) return DeviationKind::AccumulationOrder;
  if (index_ <= 3) return DeviationKind::OperandRounding;
  return index_ == 4 ? DeviationKind::SingleRounding : DeviationKind::CrossKernelContraction;
}

std::optional<OperandPrecision> Deviation::precision() const {
  if (kind() != DeviationKind::OperandRounding) return std::nullopt;
  return static_cast<OperandPrecision>(index_ - 1);
}

std::optional<Deviation> Grant::deviation() const {
  if (index_ >= 6) return std::nullopt;
  return Deviation(index_);
}

std::optional<Consent> Grant::consent() const {
  if (index_ < 6) return std::nullopt;
  return static_cast<Consent>(index_ - 6);
}

std::string_view grant_name(Grant grant) { return grant_rows[grant.index()].name; }

std::string_view grant_meaning(Grant grant) { return grant_rows[grant.index()].meaning; }

std::optional<Grant> grant_by_name(std::string_view name) {
  for (Grant grant : all_grants())
    if (grant_name(grant) == name) return grant;
  return std::nullopt;
}

std::string grant_list() {
  std::string list;
  for (Grant grant : all_grants()) list.append(list.empty() ? "" : ", ").append(grant_name(grant));
  return list;
}

const std::array<Grant, Grant::count>& all_grants() {
  static constexpr std::array<Grant, Grant::count> grants{Grant::at(0), Grant::at(1), Grant::at(2), Grant::at(3),
                                                          Grant::at(4), Grant::at(5), Grant::at(6)};
  return grants;
}

std::string_view optimisation_name(Optimisation optimisation) { return optimisation_names[static_cast<std::size_t>(optimisation)]; }

std::optional<Optimisation> optimisation_by_name(std::string_view name) {
  for (Optimisation optimisation : all_optimisations())
    if (optimisation_name(optimisation) == name) return optimisation;
  return std::nullopt;
}

const std::array<Optimisation, optimisation_count>& all_optimisations() {
  static constexpr std::array<Optimisation, optimisation_count> optimisations{Optimisation::LaunchWindow, Optimisation::EpilogueFusion,
                                                                              Optimisation::MatrixRewrite, Optimisation::NarrowingProof,
                                                                              Optimisation::AutoUnroll};
  return optimisations;
}

std::string_view refusal_message(Refusal refusal) {
  switch (refusal) {
    case Refusal::BlankReason: return "a grant needs a reason that says something";
    case Refusal::DefaultKernelName: return "`sarek_kern` is the name of every unnamed kernel: name the kernel, or grant for the process";
  }
  return "";
}

bool is_blank(std::string_view reason) {
  // UTF-8 forms of the Unicode white space (and the two invisible characters that look like it) above ASCII.
  static constexpr std::string_view spaces[] = {
      "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83",
      "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A",
      "\xE2\x80\x8B", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80", "\xEF\xBB\xBF"};
  while (!reason.empty()) {
    const char c = reason.front();
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      reason.remove_prefix(1);
      continue;
    }
    const auto* space =
        std::find_if(std::begin(spaces), std::end(spaces), [&](std::string_view s) { return reason.substr(0, s.size()) == s; });
    if (space == std::end(spaces)) return false;
    reason.remove_prefix(space->size());
  }
  return true;
}

std::string_view nearest_name(std::string_view wrong, const std::vector<std::string_view>& known) {
  constexpr std::size_t longest = 64;  // a hostile input gets no quadratic work
  if (wrong.size() > longest) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, wrong.size() / 3) + 1;
  for (std::string_view name : known) {
    if (name.size() > longest) continue;
    std::vector<std::size_t> row(name.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < name.size(); ++j) {
        const std::size_t substituted = diagonal + (wrong[i] == name[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = name;
    }
  }
  return best;
}

}  // namespace sarek::policy
