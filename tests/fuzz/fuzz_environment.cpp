// SAREK_OPT_DISABLE of any bytes: no crash, and whatever it says, nothing is granted by it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/store.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sarek::policy;
  const Environment environment = Environment::parse(std::string_view(reinterpret_cast<const char*>(data), size), "0");
  for (const std::string& item : environment.unknown)
    if (item.empty() || unknown_item_message(item).find('\n') != std::string::npos) std::abort();
  Store store({environment, Frameworks::defaults()});
  if (!store.effective("k").budget.grants().empty()) std::abort();
  for (Grant grant : all_grants())
    if (store.grant(Scope::process(), grant, "why") || store.budget({"k"}).contains(grant) == environment.revoked.contains(grant))
      std::abort();
  for (Optimisation optimisation : all_optimisations())
    if (is_applied(store.decide(store.effective("k"), optimisation, "Vulkan")) &&
        (environment.disabled.contains(optimisation) ||
         (optimisation == Optimisation::EpilogueFusion && environment.revoked.contains(Deviation::cross_kernel_contraction()))))
      std::abort();
  return 0;
}
