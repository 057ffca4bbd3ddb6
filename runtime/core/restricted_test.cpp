// What the environment restricts: variants by grant and optimisation, the level of the CPU, the number of threads, the default device. The
// variables are read once a process, so they are set before anything runs.
#include <cstdlib>

#include "runtime/core/test_modules.h"
#include "runtime/drivers/thread_pool.h"

using namespace sarek;
using namespace sarek::runtime;
using namespace sarek::runtime::test;

namespace {

[[maybe_unused]] const int environment = setenv("SAREK_OPT_DISABLE", "single-rounding, matrix", 1) +
                                         setenv("SAREK_NATIVE_LEVEL", "sse4.2", 1) + setenv("SAREK_NUM_THREADS", "3", 1) +
                                         setenv("SAREK_DEVICE", "interp", 1);

/// Interpreter variants that add 0, 1, ... to what they double, the second to last one with grants and optimisations.
artifact::Package package_with(const std::vector<artifact::Variant>& wanted) {
  artifact::Package p = doubling_package();
  p.kernels[0].variants.clear();
  p.blobs.clear();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const ir::Program program = doubling_program(static_cast<std::int64_t>(i));
    p.blobs.push_back({"ir", bytes_of(ir::print_module({&program}))});
    artifact::Variant v = wanted[i];
    v.target = "interp";
    v.blob = static_cast<int>(i);
    v.entry_name = "doubled";
    p.kernels[0].variants.push_back(v);
  }
  return p;
}

artifact::Variant variant(std::vector<std::string> grants, std::vector<std::string> optimisations) {
  artifact::Variant v;
  v.grants = std::move(grants);
  v.optimisations = std::move(optimisations);
  return v;
}

/// Which of the variants runs: what it adds to 5 * 2.
int picked(const artifact::Package& p, std::string* name = nullptr) {
  sarek_device* device = open_device("interp");
  const Module module(device, p);
  sarek_kernel* kernel = module.kernel("doubled");
  if (name) *name = sarek_kernel_variant(kernel);
  const std::int32_t five = 5, two = 2;
  sarek_vector* x = nullptr;
  REQUIRE(sarek_vector_create(device, 4, 1, &x) == SAREK_OK);
  REQUIRE(sarek_vector_write(x, 0, 1, &five) == SAREK_OK);
  const sarek_argument arguments[] = {{nullptr, SAREK_I32, &two, 4}, {x, SAREK_BYTES, nullptr, 0}};
  const std::int64_t grid[3] = {1, 1, 1};
  REQUIRE(sarek_launch(kernel, grid, arguments, 2, nullptr, 0) == SAREK_OK);
  std::int32_t result = 0;
  REQUIRE(sarek_vector_read(x, 0, 1, &result) == SAREK_OK);
  sarek_vector_release(x);
  return result - 10;
}

}  // namespace

TEST_CASE("a variant whose grant or optimisation the environment takes away is passed over") {
  std::string name;
  CHECK(picked(package_with({variant({"single-rounding"}, {"narrowing-proof"}), variant({}, {})}), &name) == 1);
  CHECK(name == "interp");
  CHECK(picked(package_with({variant({"accumulation-order"}, {"matrix"}), variant({}, {})})) == 1);
  // Neither is restricted: the first in order of preference.
  CHECK(picked(package_with({variant({"accumulation-order"}, {"epilogue"}), variant({}, {})}), &name) == 0);
  CHECK(name == "interp with accumulation-order");
  // A grant of a newer compiler is not one that this runtime may allow.
  CHECK(picked(package_with({variant({"time-travel"}, {}), variant({}, {})})) == 1);
  CHECK(picked(package_with({variant({}, {"time-travel"}), variant({}, {})})) == 1);
}

TEST_CASE("no variant left is told as the policy's doing") {
  const Module module(open_device("interp"), package_with({variant({"single-rounding"}, {})}));
  sarek_kernel* kernel = nullptr;
  CHECK(sarek_module_kernel(module.handle(), "doubled", &kernel) == SAREK_UNSUPPORTED);
  CHECK(std::string(sarek_last_error()) == "kernel `doubled` has no variant for interp:0 that the policy still allows (SAREK_OPT_DISABLE)");
}

TEST_CASE("the number of threads and the default device are those of the environment") {
  CHECK(worker_count() == 3);
  sarek_device* device = nullptr;
  REQUIRE(sarek_device_open(nullptr, &device) == SAREK_OK);
  CHECK(device == open_device("interp:0"));
  REQUIRE(sarek_device_open("", &device) == SAREK_OK);
  CHECK(device == open_device("interp:0"));
}

#if defined(__x86_64__)
TEST_CASE("the best native variant up to the level that the environment allows") {
  if (*sarek_driver_absence("native")) SKIP("this CPU has no SSE4.2");
  sarek_device* device = open_device("native");
  artifact::Package p = doubling_package();
  const auto level_of = [&](std::vector<std::string> levels) {
    p.kernels[0].variants.clear();
    for (const std::string& level : levels) p.kernels[0].variants.push_back(native_variant(level, 2));
    const Module module(device, p);
    sarek_kernel* kernel = nullptr;
    return sarek_module_kernel(module.handle(), "doubled", &kernel) == SAREK_OK ? std::string(sarek_kernel_variant(kernel))
                                                                                : std::string(sarek_last_error());
  };
  CHECK(level_of({"avx512", "avx2", "sse4.2"}) == "native sse4.2");
  CHECK(level_of({"sse4.2", "avx2"}) == "native sse4.2");
  CHECK(level_of({"avx2", "avx512", "aarch64"}) == "kernel `doubled` has no variant for native:0");
  sarek_device_info info{};
  REQUIRE(sarek_device_get_info(device, &info) == SAREK_OK);
  CHECK(std::string(info.name) == "CPU, sse4.2");
  CHECK(info.compute_units == 3);
}
#endif
