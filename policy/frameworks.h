// What each framework promises about contraction, and so what an optimisation needs there. A table of values: nothing here is decided.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/vocabulary.h"

namespace sarek::policy {

/// Whether a device compiler could contract across the seam of two fused kernels.
enum class Contraction : std::uint8_t {
  Forbidden,  // every kernel of the framework is compiled without contraction, and a test proves it in the emitted code
  Possible,   // nothing proves that, so fusing across the seam needs `cross-kernel-contraction`
};

/// The frameworks that can defer launches, and what is known of their compilers. A framework that is not listed never defers, so epilogue
/// fusion is not offered there.
class Frameworks {
 public:
  /// No framework at all.
  Frameworks() = default;

  /// HIP and Metal forbid contraction; "CUDA/PTX", "CUDA/C", "CUDA", "OpenCL" and "Vulkan" may contract. Native, Interpreter and WebGPU do
  /// not defer by default.
  static Frameworks defaults();

  /// States what is known of a framework, replacing what was stated before. An emitter that proves the absence of contraction declares
  /// `Forbidden`; a user who lets Native or Interpreter launches defer declares them too. Names match exactly.
  Frameworks& declare(std::string framework, Contraction contraction);
  /// The framework does not defer.
  Frameworks& withdraw(std::string_view framework);

  std::optional<Contraction> contraction(std::string_view framework) const;

  /// The grants that must be held for an optimisation on a backend: empty where it is exact there, nothing where it is not offered there.
  /// Only epilogue fusion depends on the backend. The float lowerings of the matrix rewrite need grants of their own, which depend on the
  /// lowering: see `Store::decide_needing`.
  std::optional<GrantSet> requirement(Optimisation optimisation, std::string_view backend) const;

 private:
  std::vector<std::pair<std::string, Contraction>> rows_;
};

}  // namespace sarek::policy
