// The thread pool, host storage, and the devices through the driver interface. Whole launches through the C interface are runtime/core's
// tests, kernels on OpenCL are in tests/opencl.
#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <cstring>
#include <thread>

#include "compiler/ir/builder.h"
#include "compiler/ir/printer.h"
#include "runtime/drivers/driver.h"
#include "runtime/drivers/test_packages.h"
#include "runtime/drivers/thread_pool.h"

using namespace sarek;
using namespace sarek::runtime;

TEST_CASE("parallel_for hands out every index once, in pieces of the grain") {
  for (const std::int64_t count : {0, 1, 2, 7, 64, 1000}) {
    for (const std::int64_t grain : {0, 1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      std::atomic<int> wrong{0};
      parallel_for(count, grain, [&](unsigned worker, std::int64_t first, std::int64_t last) {
        const std::int64_t piece = std::max<std::int64_t>(1, grain);
        if (worker >= worker_count() || first >= last || (last - first != piece && last != count)) ++wrong;
        for (std::int64_t i = first; i < last; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      CHECK(wrong == 0);
      CHECK(std::all_of(seen.begin(), seen.end(), [](const std::atomic<int>& n) { return n == 1; }));
    }
  }
  parallel_for(-5, 1, [](unsigned, std::int64_t, std::int64_t) { FAIL("nothing to do"); });
}

TEST_CASE("parallel_for inside itself and from several threads at once") {
  std::atomic<std::int64_t> sum{0};
  const auto nested = [&] {
    parallel_for(20, 1, [&](unsigned, std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        parallel_for(10, 2, [&](unsigned, std::int64_t f, std::int64_t l) {
          for (std::int64_t j = f; j < l; ++j) sum += i * 10 + j;
        });
    });
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(nested);
  for (std::thread& t : threads) t.join();
  CHECK(sum == 4 * 199 * 200 / 2);
}

TEST_CASE("host storage is aligned, zero, and there even for no bytes") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100000}}) {
    const auto storage = allocate_host_storage(bytes);
    REQUIRE(storage);
    const auto* data = static_cast<const unsigned char*>((*storage)->host());
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 64 == 0);
    CHECK(std::all_of(data, data + bytes, [](unsigned char b) { return b == 0; }));
  }
  CHECK(allocate_host_storage(SIZE_MAX).error().message == "a vector of " + std::to_string(SIZE_MAX) + " bytes cannot be allocated");
  CHECK_FALSE(allocate_host_storage(SIZE_MAX / 4));
  int cell = 7;
  CHECK(borrow_host_storage(&cell, sizeof cell)->host() == &cell);
}

TEST_CASE("every device says what it is") {
  CHECK(interpreter_devices().size() == 1);
  for (auto* find : {&native_devices, &interpreter_devices, &opencl_devices}) {
    std::string why;
    const auto devices = find(&why);
    CHECK(devices.empty() == !why.empty());
    for (const auto& d : devices) {
      CHECK(d->info().id.substr(0, d->info().target.size() + 1) == d->info().target + ":");
      CHECK_FALSE(d->info().name.empty());
      CHECK_FALSE(d->info().framework.empty());
      CHECK(d->info().max_block_threads >= 1);
      CHECK(d->info().max_shared_bytes > 0);
      CHECK(d->info().compute_units >= 1);
      artifact::Variant foreign;
      foreign.target = "abacus";
      CHECK(d->rank(foreign) < 0);
    }
  }
}

TEST_CASE("devices keep what is written, zero before") {
  for (auto* find : {&native_devices, &interpreter_devices, &opencl_devices})
    for (const auto& device : find(nullptr)) {
      INFO(device->info().id);
      auto storage = device->allocate(100);
      REQUIRE(storage);
      std::vector<unsigned char> seen(100, 1);
      REQUIRE(device->read(**storage, 0, seen.data(), 100));
      CHECK(seen == std::vector<unsigned char>(100));
      const std::vector<unsigned char> part = {1, 2, 3};
      REQUIRE(device->write(**storage, 50, part.data(), 3));
      REQUIRE(device->write(**storage, 0, nullptr, 0));
      REQUIRE(device->read(**storage, 49, seen.data(), 5));
      CHECK(std::vector<unsigned char>(seen.begin(), seen.begin() + 5) == std::vector<unsigned char>{0, 1, 2, 3, 0});
      CHECK(device->borrow(seen.data(), 100).has_value() == device->info().shares_host_memory);
    }
}

TEST_CASE("the interpreter device refuses IR that does not fit its index") {
  const auto device = std::move(interpreter_devices().front());
  const artifact::Package good = test::doubling_package();
  REQUIRE(device->load(good, good.kernels[0], test::variant_of(good, "interp")));
  const auto refusal = [&](artifact::Package p) {
    const auto loaded = device->load(p, p.kernels[0], test::variant_of(p, "interp"));
    return loaded ? std::string() : loaded.error().message;
  };
  artifact::Package p = good;
  p.blobs[0].kind = "opencl-c";
  CHECK(refusal(p) == "kernel `doubled`: its interpreter variant names a blob of kind `opencl-c`");
  p = good;
  p.blobs[0].bytes = {'?'};
  CHECK(refusal(p).substr(0, 29) == "the package's IR is malformed");
  p = good;
  p.kernels[0].variants[0].entry_name = "other";
  CHECK(refusal(p) == "the package's IR has no program `other`");
  const std::string mismatch = "the package's IR of kernel `doubled` does not fit its index";
  p = good;
  p.kernels[0].slots.pop_back();
  CHECK(refusal(p) == mismatch);
  // A buffer that the index calls a scalar would be read through a null pointer.
  p = good;
  p.kernels[0].params[1].is_buffer = false;
  CHECK(refusal(p) == mismatch);
  p = good;
  p.kernels[0].slots[1].kind = "scalar";
  CHECK(refusal(p) == mismatch);
  p = good;
  p.kernels[0].slots[0].type = "i64";
  CHECK(refusal(p) == mismatch);
  p = good;
  p.kernels[0].params[1].size = 8;
  CHECK(refusal(p) == mismatch);
  p = good;
  p.kernels[0].block[0] = 64;
  CHECK(refusal(p) == mismatch);
}

TEST_CASE("an OpenCL text that the driver refuses is a fault of the compiler, with the driver's words") {
  const auto devices = opencl_devices();
  if (devices.empty()) SKIP("no OpenCL device");
  artifact::Package p = test::doubling_package();
  artifact::Variant v;
  v.target = "opencl";
  v.blob = static_cast<int>(p.blobs.size());
  v.entry_name = "f";
  p.blobs.push_back({"opencl-c", {'n', 'o'}});
  const auto loaded = devices[0]->load(p, p.kernels[0], v);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().message.find(devices[0]->info().id + " refused the generated OpenCL C, a fault of the compiler: ") == 0);
  v.blob = 0;
  CHECK(devices[0]->load(p, p.kernels[0], v).error().message == "kernel `doubled`: its OpenCL variant names a blob of kind `ir`");
  p.kernels[0].block = {1 << 15, 1, 1};
  v.blob = static_cast<int>(p.blobs.size()) - 1;
  CHECK(devices[0]->load(p, p.kernels[0], v).error().message.find("has blocks of 32768 threads, opencl:0 allows ") != std::string::npos);
  v.requires_ = {"telepathy"};
  CHECK(devices[0]->rank(v) < 0);
}

#if defined(__x86_64__)
TEST_CASE("native images run from executable memory, blocks split over workers") {
  const auto devices = native_devices();
  if (devices.empty()) SKIP("this CPU has no SSE4.2");
  const artifact::Package p = test::doubling_package();
  auto kernel = devices[0]->load(p, p.kernels[0], test::variant_of(p, "native"));
  REQUIRE(kernel);
  auto storage = devices[0]->allocate(8);
  REQUIRE(storage);
  Launch launch;
  launch.slots.resize(4);
  launch.slots[1].storage = storage->get();
  launch.buffer_bytes.resize(4);
  launch.grid = {5, 4, 3};
  // The image adds the number of blocks that it was given to the first cell, by an atomic instruction.
  REQUIRE(devices[0]->launch(**kernel, launch));
  std::int32_t cell = 0;
  REQUIRE(devices[0]->read(**storage, 0, &cell, 4));
  CHECK(cell == 60);
}

TEST_CASE("the fault of a checked native kernel is told with its place") {
  const auto devices = native_devices();
  if (devices.empty()) SKIP("this CPU has no SSE4.2");
  artifact::Package p = test::doubling_package();
  artifact::Variant v = test::variant_of(p, "native");
  v.blob = static_cast<int>(p.blobs.size());
  p.blobs.push_back({"native", test::faulting_image(1, 5, 12, 10)});
  v.fault_sites = {{"bounds", "x", "a.sarek", 7, 3}};
  auto kernel = devices[0]->load(p, p.kernels[0], v);
  REQUIRE(kernel);
  Launch launch;
  launch.slots.resize(4);
  launch.buffer_bytes.resize(4);
  CHECK(devices[0]->launch(**kernel, launch).error().message ==
        "a.sarek:7:3: kernel `doubled`, block 0, thread 5: index 12 is outside `x` of length 10");
  v.fault_sites = {{"trap", "no such luck", "", 0, 0}};
  auto trap = devices[0]->load(p, p.kernels[0], v);
  CHECK(devices[0]->launch(**trap, launch).error().message == "kernel `doubled`, block 0, thread 5: no such luck");
  v.fault_sites = {};
  auto unknown = devices[0]->load(p, p.kernels[0], v);
  CHECK(devices[0]->launch(**unknown, launch).error().message == "kernel `doubled`, block 0, thread 5: a check failed");
  v.blob = 0;
  CHECK(devices[0]->load(p, p.kernels[0], v).error().message == "kernel `doubled`: its native variant names a blob of kind `ir`");
}
#endif
