// Devices of the process, kernel selection under the policy, and the two copies of a vector.
#include "runtime/core/context.h"

#include <algorithm>
#include <cstdlib>

namespace sarek::runtime {
namespace {

struct Registry {
  std::vector<std::unique_ptr<sarek_device>> devices;
  std::map<std::string, std::string> absent;

  Registry() {
    add("native", &native_devices);
    add("opencl", &opencl_devices);
    add("interp", &interpreter_devices);
  }

  void add(const char* target, std::vector<std::unique_ptr<Device>> (*find)(std::string*)) {
    std::string why;
    std::vector<std::unique_ptr<Device>> found = find(&why);
    absent[target] = found.empty() ? (why.empty() ? "no device found" : why) : "";
    for (std::unique_ptr<Device>& d : found) {
      devices.push_back(std::make_unique<sarek_device>());
      devices.back()->driver = std::move(d);
    }
  }
};

Registry& registry() {
  // Never destroyed: handles may be released by static destructors of the program.
  static Registry& instance = *new Registry;
  return instance;
}

std::string join(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& item : list) text += (text.empty() ? "" : ", ") + item;
  return text;
}

}  // namespace

std::span<const std::unique_ptr<sarek_device>> devices() { return registry().devices; }

const std::string& absence(const std::string& target) {
  static const std::string unknown = "no driver of that name";
  const auto it = registry().absent.find(target);
  return it == registry().absent.end() ? unknown : it->second;
}

Outcome<sarek_device*> open_device(const char* id) {
  if (!id || !*id) {
    const char* wanted = std::getenv("SAREK_DEVICE");
    id = wanted && *wanted ? wanted : "native";
  }
  const std::string_view wanted = id;
  for (const std::unique_ptr<sarek_device>& d : devices())
    if (d->driver->info().id == wanted || d->driver->info().target == wanted) return d.get();
  std::string message = "no device `" + std::string(wanted) + "`";
  const std::string target(wanted.substr(0, wanted.find(':')));
  const std::string& why = absence(target);
  if (!why.empty()) message += ": " + why;
  else {
    message += "; there are";
    for (const std::unique_ptr<sarek_device>& d : devices()) message += " " + d->driver->info().id;
  }
  return fault(SAREK_NOT_FOUND, message);
}

Outcome<sarek_kernel*> get_kernel(sarek_module& module, const std::string& name) {
  const std::vector<artifact::Kernel>& kernels = module.package.kernels;
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const artifact::Kernel& k) { return k.name == name; });
  if (found == kernels.end()) {
    std::vector<std::string> names;
    for (const artifact::Kernel& k : kernels) names.push_back(k.name);
    return fault(SAREK_NOT_FOUND, "the module has no kernel `" + name + "`; it has " + (names.empty() ? "none" : join(names)));
  }
  Device& driver = *module.device->driver;
  const std::int64_t threads = std::int64_t{found->block[0]} * found->block[1] * found->block[2];
  if (threads > driver.info().max_block_threads)
    return fault(SAREK_UNSUPPORTED, "kernel `" + name + "` has " + std::to_string(threads) + " threads a block, " + driver.info().id +
                                        " runs at most " + std::to_string(driver.info().max_block_threads));
  // The manifest's grants were applied when the package was compiled; the environment is asked again now, and only restricts.
  const policy::Store& store = policy::process_store();
  int best_rank = -1;
  std::size_t best = 0;
  bool needs_grant = false;
  std::vector<std::string> missing;
  for (std::size_t v = 0; v < found->variants.size(); ++v) {
    const artifact::Variant& variant = found->variants[v];
    const int rank = driver.rank(variant);
    if (rank < 0) {
      if (variant.target == driver.info().target)
        for (const std::string& need : variant.requires_)
          if (std::find(driver.info().capabilities.begin(), driver.info().capabilities.end(), need) == driver.info().capabilities.end())
            missing.push_back(need);
      continue;
    }
    bool allowed = true;
    for (const std::string& grant : variant.grants) {
      const std::optional<policy::Grant> g = policy::grant_by_name(grant);
      allowed = allowed && g && !store.revoked(*g);
    }
    for (const std::string& optimisation : variant.optimisations) {
      const std::optional<policy::Optimisation> o = policy::optimisation_by_name(optimisation);
      allowed = allowed && o && !store.restricted(*o);
    }
    if (!allowed) {
      needs_grant = true;
      continue;
    }
    if (rank > best_rank) best_rank = rank, best = v;
  }
  if (best_rank < 0) {
    std::string why = "kernel `" + name + "` has no variant for " + driver.info().id;
    if (needs_grant) why += " that the policy still allows (SAREK_OPT_DISABLE)";
    else if (!missing.empty()) why += ": the device lacks " + join(missing);
    return fault(SAREK_UNSUPPORTED, why);
  }
  const std::lock_guard lock(module.mutex);
  std::unique_ptr<sarek_kernel>& slot = module.kernels[{static_cast<std::size_t>(found - kernels.begin()), best}];
  if (slot) return slot.get();
  const artifact::Variant& variant = found->variants[best];
  Result<std::unique_ptr<LoadedKernel>> loaded = driver.load(module.package, *found, variant);
  if (!loaded) return fault(SAREK_LAUNCH_FAILED, loaded.error().message);
  auto ready = std::make_unique<sarek_kernel>();
  ready->device = module.device;
  ready->kernel = &*found;
  ready->variant = &variant;
  ready->loaded = std::move(loaded).value();
  ready->variant_name =
      variant.target + (variant.level.empty() ? "" : " " + variant.level) + (variant.grants.empty() ? "" : " with " + join(variant.grants));
  slot = std::move(ready);
  return slot.get();
}

Outcome<Unit> make_host_current(sarek_vector& v) {
  if (v.device->driver->info().shares_host_memory) return Unit{};
  const std::lock_guard lock(v.mutex);
  if (v.host_current) return Unit{};
  if (!v.host) {
    v.own_host.resize(std::max<std::size_t>(1, v.bytes()));
    v.host = v.own_host.data();
  }
  if (const Result<Unit> r = v.device->driver->read(*v.storage, 0, v.host, v.bytes()); !r)
    return fault(SAREK_LAUNCH_FAILED, r.error().message);
  v.host_current = true;
  return Unit{};
}

Outcome<Unit> make_device_current(sarek_vector& v) {
  if (v.device->driver->info().shares_host_memory) return Unit{};
  const std::lock_guard lock(v.mutex);
  if (v.device_current) return Unit{};
  if (const Result<Unit> r = v.device->driver->write(*v.storage, 0, v.host, v.bytes()); !r)
    return fault(SAREK_LAUNCH_FAILED, r.error().message);
  v.device_current = true;
  return Unit{};
}

}  // namespace sarek::runtime
