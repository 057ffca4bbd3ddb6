// The default table of frameworks.
#include "policy/frameworks.h"

#include <algorithm>

namespace sarek::policy {

Frameworks Frameworks::defaults() {
  Frameworks table;
  table.declare("HIP", Contraction::Forbidden);
  table.declare("Metal", Contraction::Forbidden);
  for (const char* name : {"CUDA/PTX", "CUDA/C", "CUDA", "OpenCL", "Vulkan"}) table.declare(name, Contraction::Possible);
  return table;
}

Frameworks& Frameworks::declare(std::string framework, Contraction contraction) {
  withdraw(framework);
  rows_.emplace_back(std::move(framework), contraction);
  return *this;
}

Frameworks& Frameworks::withdraw(std::string_view framework) {
  std::erase_if(rows_, [&](const auto& row) { return row.first == framework; });
  return *this;
}

std::optional<Contraction> Frameworks::contraction(std::string_view framework) const {
  for (const auto& [name, contraction] : rows_)
    if (name == framework) return contraction;
  return std::nullopt;
}

std::optional<GrantSet> Frameworks::requirement(Optimisation optimisation, std::string_view backend) const {
  switch (optimisation) {
    case Optimisation::LaunchWindow:
    case Optimisation::MatrixRewrite:
    case Optimisation::NarrowingProof:
    case Optimisation::AutoUnroll: return GrantSet{};
    case Optimisation::EpilogueFusion: break;
  }
  const std::optional<Contraction> known = contraction(backend);
  if (!known) return std::nullopt;
  switch (*known) {
    case Contraction::Forbidden: return GrantSet{};
    case Contraction::Possible: return GrantSet{Deviation::cross_kernel_contraction()};
  }
  return std::nullopt;
}

}  // namespace sarek::policy
