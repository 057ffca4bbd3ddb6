// The C interface: every check of arguments with its message, vectors and their two copies, statuses and messages per thread, threads that
// share a module. Kernels are those of runtime/drivers/test_packages.h. What the environment restricts is in restricted_test.cpp.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <thread>

#include "runtime/core/test_modules.h"

using namespace sarek;
using namespace sarek::runtime;
using namespace sarek::runtime::test;

namespace {

std::string message_of(sarek_status expected, sarek_status seen) {
  CHECK(seen == expected);
  return sarek_last_error();
}

std::vector<std::int32_t> counted(std::size_t n) {
  std::vector<std::int32_t> v(n);
  std::iota(v.begin(), v.end(), 1);
  return v;
}

/// Every device that runs `doubled` as written: the interpreter, and OpenCL where there is one.
std::vector<std::string> doubling_devices() {
  std::vector<std::string> ids = {"interp:0"};
  if (opencl_present()) ids.emplace_back("opencl:0");
  return ids;
}

struct Fixture {
  sarek_device* device = open_device("interp");
  Module module{device, doubling_package()};
  sarek_kernel* kernel = module.kernel("doubled");
  std::vector<std::int32_t> memory = counted(40);
  sarek_vector* x = nullptr;
  std::int32_t factor = 2;
  std::int64_t grid[3] = {2, 1, 1};
  sarek_argument arguments[2] = {};

  Fixture() {
    REQUIRE(sarek_vector_create(device, 4, 40, &x) == SAREK_OK);
    REQUIRE(sarek_vector_write(x, 0, 40, memory.data()) == SAREK_OK);
    arguments[0] = {nullptr, SAREK_I32, &factor, sizeof factor};
    arguments[1] = {x, SAREK_BYTES, nullptr, 0};
  }
  ~Fixture() { sarek_vector_release(x); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  sarek_status launch(std::size_t count = 2, const std::int64_t* shared = nullptr, std::size_t shared_count = 0) {
    return sarek_launch(kernel, grid, arguments, count, shared, shared_count);
  }
  std::string refusal(sarek_status status = SAREK_INVALID_ARGUMENT) { return message_of(status, launch()); }
};

}  // namespace

TEST_CASE("a kernel runs on every device that has a variant of it, over the elements there are") {
  for (const std::string& id : doubling_devices()) {
    INFO(id);
    sarek_device* device = open_device(id.c_str());
    const Module module(device, doubling_package());
    sarek_kernel* kernel = module.kernel("doubled");
    std::int32_t block[3] = {};
    REQUIRE(sarek_kernel_block(kernel, block) == SAREK_OK);
    CHECK((block[0] == 32 && block[1] == 1 && block[2] == 1));
    CHECK(std::string(sarek_kernel_variant(kernel)) == id.substr(0, id.find(':')));
    sarek_vector* x = nullptr;
    REQUIRE(sarek_vector_create(device, 4, 33, &x) == SAREK_OK);
    CHECK(sarek_vector_count(x) == 33);
    CHECK(sarek_vector_element_size(x) == 4);
    const std::vector<std::int32_t> before = counted(33);
    REQUIRE(sarek_vector_write(x, 0, 33, before.data()) == SAREK_OK);
    const std::int32_t factor = 3;
    const sarek_argument arguments[] = {{nullptr, SAREK_I32, &factor, 4}, {x, SAREK_BYTES, nullptr, 0}};
    const std::int64_t grid[3] = {2, 1, 1};
    REQUIRE(sarek_launch(kernel, grid, arguments, 2, nullptr, 0) == SAREK_OK);
    REQUIRE(sarek_launch(kernel, grid, arguments, 2, nullptr, 0) == SAREK_OK);
    std::vector<std::int32_t> after(33);
    REQUIRE(sarek_vector_read(x, 0, 33, after.data()) == SAREK_OK);
    for (std::size_t i = 0; i < 33; ++i) CHECK(after[i] == 9 * before[i]);
    sarek_vector_release(x);
  }
}

TEST_CASE("launches that do not fit the kernel are refused in words, and nothing runs") {
  Fixture f;
  CHECK(message_of(SAREK_INVALID_ARGUMENT, f.launch(1)) == "kernel `doubled` takes 2 arguments, 1 were given");
  f.grid[1] = 0;
  CHECK(f.refusal() == "kernel `doubled`: the grid has 0 blocks along y");
  f.grid[1] = std::int64_t{1} << 31;
  CHECK(f.refusal() == "kernel `doubled`: more than 2^31 - 1 blocks along y");
  f.grid[1] = 1;
  f.grid[0] = std::int64_t{1} << 27;
  CHECK(f.refusal() == "kernel `doubled`: more than 2^31 - 1 threads along x; declare it `wide`");
  f.grid[0] = (std::int64_t{1} << 26) - 1;
  f.grid[1] = f.grid[2] = (std::int64_t{1} << 31) - 1;
  CHECK(f.refusal() == "kernel `doubled`: more than 2^63 blocks");
  f.grid[0] = 2;
  f.grid[1] = f.grid[2] = 1;
  const sarek_argument good[2] = {f.arguments[0], f.arguments[1]};
  const auto with = [&](std::size_t index, sarek_argument a) {
    f.arguments[0] = good[0], f.arguments[1] = good[1];
    f.arguments[index] = a;
    return f.refusal();
  };
  CHECK(with(1, good[0]) == "kernel `doubled`, argument 2 (`x`): a vector of `i32` is expected");
  CHECK(with(0, good[1]) == "kernel `doubled`, argument 1 (`n`): a value of type `i32` is expected");
  CHECK(with(0, {nullptr, SAREK_I32, nullptr, 4}) == "kernel `doubled`, argument 1 (`n`): a value of type `i32` is expected");
  CHECK(with(0, {nullptr, SAREK_F32, &f.factor, 4}) ==
        "kernel `doubled`, argument 1 (`n`): a value of type `i32` is expected, `f32` was given");
  CHECK(with(0, {nullptr, SAREK_BYTES, &f.factor, 4}) ==
        "kernel `doubled`, argument 1 (`n`): a value of type `i32` is expected, `bytes` was given");
  CHECK(with(0, {nullptr, SAREK_I32, &f.factor, 8}) == "kernel `doubled`, argument 1 (`n`): the value has 8 bytes, `i32` has 4");
  sarek_vector* wide = nullptr;
  REQUIRE(sarek_vector_create(f.device, 8, 40, &wide) == SAREK_OK);
  CHECK(with(1, {wide, SAREK_BYTES, nullptr, 0}) == "kernel `doubled`, argument 2 (`x`): elements have 8 bytes, `i32` has 4");
  sarek_vector_release(wide);
  if (sarek_device* native = nullptr; sarek_device_open("native", &native) == SAREK_OK) {
    sarek_vector* elsewhere = nullptr;
    REQUIRE(sarek_vector_create(native, 4, 40, &elsewhere) == SAREK_OK);
    CHECK(with(1, {elsewhere, SAREK_BYTES, nullptr, 0}) ==
          "kernel `doubled`, argument 2 (`x`): the vector lives on native:0, the kernel on interp:0");
    sarek_vector_release(elsewhere);
  }
  f.arguments[0] = good[0], f.arguments[1] = good[1];
  const std::int64_t lengths[] = {4};
  CHECK(message_of(SAREK_INVALID_ARGUMENT, f.launch(2, lengths, 1)) ==
        "kernel `doubled` has 0 dynamic shared arrays, 1 lengths were given");
  std::vector<std::int32_t> after(40);
  REQUIRE(sarek_vector_read(f.x, 0, 40, after.data()) == SAREK_OK);
  CHECK(after == f.memory);
}

TEST_CASE("views, borrowed memory that overlaps, and shared arrays are checked against the package") {
  sarek_device* device = open_device("interp");
  artifact::Package p = doubling_package();
  p.kernels[0].params[1].view = {4, 12};
  {
    const Module module(device, p);
    sarek_vector* x = nullptr;
    REQUIRE(sarek_vector_create(device, 4, 47, &x) == SAREK_OK);
    const std::int32_t n = 1;
    const sarek_argument arguments[] = {{nullptr, SAREK_I32, &n, 4}, {x, SAREK_BYTES, nullptr, 0}};
    const std::int64_t grid[3] = {1, 1, 1};
    CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_launch(module.kernel("doubled"), grid, arguments, 2, nullptr, 0)) ==
          "kernel `doubled`, argument 2 (`x`): the view needs 48 elements, the vector has 47");
    sarek_vector_release(x);
  }
  const Module shared(device, shared_package());
  sarek_kernel* kernel = shared.kernel("mirror");
  std::vector<std::int32_t> memory = counted(48);
  sarek_vector* in = nullptr;
  sarek_vector* out = nullptr;
  REQUIRE(sarek_vector_borrow(device, memory.data(), 4, 32, &in) == SAREK_OK);
  REQUIRE(sarek_vector_borrow(device, memory.data() + 16, 4, 32, &out) == SAREK_OK);
  const sarek_argument overlapping[] = {{in, SAREK_BYTES, nullptr, 0}, {out, SAREK_BYTES, nullptr, 0}};
  const std::int64_t grid[3] = {1, 1, 1};
  const std::int64_t enough[] = {32}, negative[] = {-1}, large[] = {std::int64_t{1} << 25};
  CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_launch(kernel, grid, overlapping, 2, enough, 1)) ==
        "kernel `mirror`, argument 2 (`out`): its memory overlaps that of argument 1, and one of them is written");
  sarek_vector_release(out);
  REQUIRE(sarek_vector_create(device, 4, 32, &out) == SAREK_OK);
  const sarek_argument arguments[] = {{in, SAREK_BYTES, nullptr, 0}, {out, SAREK_BYTES, nullptr, 0}};
  CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_launch(kernel, grid, arguments, 2, nullptr, 0)) ==
        "kernel `mirror` has 1 dynamic shared arrays, 0 lengths were given");
  CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_launch(kernel, grid, arguments, 2, negative, 1)) ==
        "kernel `mirror`: shared array `tile` cannot have -1 elements");
  CHECK(message_of(SAREK_UNSUPPORTED, sarek_launch(kernel, grid, arguments, 2, large, 1)) ==
        "kernel `mirror` needs 134217728 bytes of shared memory, interp:0 has 67108864");
  REQUIRE(sarek_launch(kernel, grid, arguments, 2, enough, 1) == SAREK_OK);
  std::vector<std::int32_t> after(32);
  REQUIRE(sarek_vector_read(out, 0, 32, after.data()) == SAREK_OK);
  for (std::size_t i = 0; i < 32; ++i) CHECK(after[i] == memory[31 - i]);
  sarek_vector_release(in);
  sarek_vector_release(out);
}

TEST_CASE("one vector may be two arguments; two vectors over memory that overlaps may not, however it came to overlap") {
  sarek_device* device = open_device("interp");
  artifact::Package p = shared_package();
  const Module module(device, p);
  sarek_kernel* kernel = module.kernel("mirror");
  const std::int64_t grid[3] = {1, 1, 1};
  const std::int64_t enough[] = {32};
  const std::vector<std::int32_t> before = counted(32);
  sarek_vector* own = nullptr;
  REQUIRE(sarek_vector_create(device, 4, 32, &own) == SAREK_OK);
  REQUIRE(sarek_vector_write(own, 0, 32, before.data()) == SAREK_OK);
  const auto launch = [&](sarek_vector* x, sarek_vector* out) {
    const sarek_argument arguments[] = {{x, SAREK_BYTES, nullptr, 0}, {out, SAREK_BYTES, nullptr, 0}};
    return sarek_launch(kernel, grid, arguments, 2, enough, 1);
  };
  REQUIRE(launch(own, own) == SAREK_OK);
  std::vector<std::int32_t> after(32);
  REQUIRE(sarek_vector_read(own, 0, 32, after.data()) == SAREK_OK);
  for (std::size_t i = 0; i < 32; ++i) CHECK(after[i] == before[31 - i]);
  // A vector that borrows what another one owns.
  void* data = nullptr;
  sarek_vector* inner = nullptr;
  REQUIRE(sarek_vector_map(own, 1, &data) == SAREK_OK);
  REQUIRE(sarek_vector_borrow(device, static_cast<std::int32_t*>(data) + 1, 4, 31, &inner) == SAREK_OK);
  CHECK(message_of(SAREK_INVALID_ARGUMENT, launch(own, inner)) ==
        "kernel `mirror`, argument 2 (`out`): its memory overlaps that of argument 1, and one of them is written");
  sarek_vector_release(inner);
  // An empty vector overlaps nothing, wherever it points.
  REQUIRE(sarek_vector_borrow(device, static_cast<std::int32_t*>(data) + 1, 4, 0, &inner) == SAREK_OK);
  CHECK(message_of(SAREK_LAUNCH_FAILED, launch(own, inner)).find("is out of bounds of 'out' with length 0") != std::string::npos);
  sarek_vector_release(inner);
  sarek_vector_release(own);
}

TEST_CASE("borrowed memory must be aligned where the device computes in it") {
  sarek_device* device = open_device("interp");
  const Module module(device, doubling_package());
  alignas(4) char memory[16] = {};
  sarek_vector* odd = nullptr;
  REQUIRE(sarek_vector_borrow(device, memory + 2, 4, 3, &odd) == SAREK_OK);
  const std::int32_t n = 2;
  const std::int64_t grid[3] = {1, 1, 1};
  const sarek_argument arguments[] = {{nullptr, SAREK_I32, &n, 4}, {odd, SAREK_BYTES, nullptr, 0}};
  CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_launch(module.kernel("doubled"), grid, arguments, 2, nullptr, 0)) ==
        "kernel `doubled`, argument 2 (`x`): the borrowed memory is not aligned to the 4 bytes of `i32`");
  sarek_vector_release(odd);
}

TEST_CASE("a block of more threads than the device runs is refused when the kernel is asked for") {
  sarek_device* native = nullptr;
  if (sarek_device_open("native", &native) != SAREK_OK) return;
  artifact::Package p = doubling_package();
  p.kernels[0].block = {64, 32, 1};
  const Module module(native, p);
  sarek_kernel* kernel = nullptr;
  CHECK(message_of(SAREK_UNSUPPORTED, sarek_module_kernel(module.handle(), "doubled", &kernel)) ==
        "kernel `doubled` has 2048 threads a block, native:0 runs at most 1024");
}

TEST_CASE("a fault of a kernel is a failed launch that names the access") {
  sarek_device* device = open_device("interp");
  const Module module(device, shared_package());
  sarek_vector* in = nullptr;
  sarek_vector* out = nullptr;
  REQUIRE(sarek_vector_create(device, 4, 32, &in) == SAREK_OK);
  REQUIRE(sarek_vector_create(device, 4, 31, &out) == SAREK_OK);
  const sarek_argument arguments[] = {{in, SAREK_BYTES, nullptr, 0}, {out, SAREK_BYTES, nullptr, 0}};
  const std::int64_t grid[3] = {1, 1, 1};
  const std::int64_t enough[] = {32};
  const std::string message = message_of(SAREK_LAUNCH_FAILED, sarek_launch(module.kernel("mirror"), grid, arguments, 2, enough, 1));
  CHECK(message.find("Array_bounds_error: ") != std::string::npos);
  CHECK(message.find("thread (31, 0, 0): index 31 is out of bounds of 'out' with length 31") != std::string::npos);
  sarek_vector_release(in);
  sarek_vector_release(out);
}

TEST_CASE("vectors: own, in parts, empty, mapped, and what is refused of them") {
  for (const std::string& id : doubling_devices()) {
    INFO(id);
    sarek_device* device = open_device(id.c_str());
    sarek_vector* v = nullptr;
    REQUIRE(sarek_vector_create(device, 4, 10, &v) == SAREK_OK);
    std::vector<std::int32_t> seen(10, 9);
    REQUIRE(sarek_vector_read(v, 0, 10, seen.data()) == SAREK_OK);
    CHECK(seen == std::vector<std::int32_t>(10));
    const std::int32_t part[] = {7, 8};
    REQUIRE(sarek_vector_write(v, 3, 2, part) == SAREK_OK);
    REQUIRE(sarek_vector_read(v, 2, 4, seen.data()) == SAREK_OK);
    CHECK(std::vector<std::int32_t>(seen.begin(), seen.begin() + 4) == std::vector<std::int32_t>{0, 7, 8, 0});
    REQUIRE(sarek_vector_write(v, 10, 0, nullptr) == SAREK_OK);
    CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_vector_read(v, 9, 2, seen.data())) == "elements 9 to 9 + 2 are outside a vector of 10");
    CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_vector_write(v, SIZE_MAX, 2, part)).find("are outside a vector of 10") !=
          std::string::npos);
    CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_vector_write(v, 0, 1, nullptr)) == "`from` is null");
    CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_vector_read(v, 0, 1, nullptr)) == "`to` is null");
    void* data = nullptr;
    REQUIRE(sarek_vector_map(v, 1, &data) == SAREK_OK);
    static_cast<std::int32_t*>(data)[0] = 42;
    REQUIRE(sarek_vector_read(v, 0, 1, seen.data()) == SAREK_OK);
    CHECK(seen[0] == 42);
    sarek_vector_release(v);
    REQUIRE(sarek_vector_create(device, 4, 0, &v) == SAREK_OK);
    CHECK(sarek_vector_count(v) == 0);
    sarek_vector_release(v);
    CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_vector_create(device, 0, 10, &v)) == "a vector of 10 elements of 0 bytes cannot be");
    CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_vector_create(device, 16, SIZE_MAX / 8, &v)).find(" elements of 16 bytes cannot be") !=
          std::string::npos);
    CHECK(message_of(SAREK_INVALID_ARGUMENT, sarek_vector_borrow(device, nullptr, 4, 1, &v)) == "`data` is null");
  }
  sarek_vector_release(nullptr);
  CHECK(sarek_vector_count(nullptr) == 0);
}

TEST_CASE("the two copies of a vector stay in step through maps, launches and syncs") {
  for (const std::string& id : doubling_devices()) {
    INFO(id);
    sarek_device* device = open_device(id.c_str());
    const Module module(device, doubling_package());
    sarek_kernel* kernel = module.kernel("doubled");
    const std::int64_t grid[3] = {1, 1, 1};
    const std::int32_t n = 10;
    std::vector<std::int32_t> memory = {1, 2, 3};
    sarek_vector* v = nullptr;
    REQUIRE(sarek_vector_borrow(device, memory.data(), 4, 3, &v) == SAREK_OK);
    const sarek_argument arguments[] = {{nullptr, SAREK_I32, &n, 4}, {v, SAREK_BYTES, nullptr, 0}};
    REQUIRE(sarek_launch(kernel, grid, arguments, 2, nullptr, 0) == SAREK_OK);
    REQUIRE(sarek_vector_sync(v) == SAREK_OK);
    CHECK(memory == std::vector<std::int32_t>{10, 20, 30});
    // Written on the host: the next launch sees it.
    void* data = nullptr;
    REQUIRE(sarek_vector_map(v, 1, &data) == SAREK_OK);
    CHECK(data == memory.data());
    memory[1] = 5;
    REQUIRE(sarek_launch(kernel, grid, arguments, 2, nullptr, 0) == SAREK_OK);
    // Mapped for reading: current, and the device's copy stays the current one.
    REQUIRE(sarek_vector_map(v, 0, &data) == SAREK_OK);
    CHECK(memory == std::vector<std::int32_t>{100, 50, 300});
    REQUIRE(sarek_launch(kernel, grid, arguments, 2, nullptr, 0) == SAREK_OK);
    // Released without a sync of the user's own.
    sarek_vector_release(v);
    CHECK(memory == std::vector<std::int32_t>{1000, 500, 3000});
  }
}

TEST_CASE("null handles are refused by name") {
  std::size_t count = 0;
  sarek_device* device = open_device("interp");
  sarek_module* module = nullptr;
  sarek_kernel* kernel = nullptr;
  const char* name = nullptr;
  const auto null = [](const char* what, sarek_status status) {
    CHECK(message_of(SAREK_INVALID_ARGUMENT, status) == "`" + std::string(what) + "` is null");
  };
  null("count", sarek_device_count(nullptr));
  null("device", sarek_device_get(0, nullptr));
  null("device", sarek_device_open("interp", nullptr));
  null("device", sarek_device_get_info(nullptr, nullptr));
  null("info", sarek_device_get_info(device, nullptr));
  null("device", sarek_module_load_file(nullptr, "x", &module));
  null("path", sarek_module_load_file(device, nullptr, &module));
  null("module", sarek_module_load_file(device, "x", nullptr));
  null("bytes", sarek_module_load_memory(device, nullptr, 1, &module));
  null("module", sarek_module_kernel_count(nullptr, &count));
  null("module", sarek_module_kernel_name(nullptr, 0, &name));
  null("module", sarek_module_kernel(nullptr, "x", &kernel));
  null("kernel", sarek_kernel_block(nullptr, nullptr));
  null("device", sarek_vector_create(nullptr, 4, 1, nullptr));
  null("vector", sarek_vector_create(device, 4, 1, nullptr));
  null("vector", sarek_vector_map(nullptr, 0, nullptr));
  null("vector", sarek_vector_sync(nullptr));
  null("kernel", sarek_launch(nullptr, nullptr, nullptr, 0, nullptr, 0));
  const std::int64_t grid[3] = {1, 1, 1};
  const Module loaded(device, doubling_package());
  null("grid", sarek_launch(loaded.kernel("doubled"), nullptr, nullptr, 0, nullptr, 0));
  null("arguments", sarek_launch(loaded.kernel("doubled"), grid, nullptr, 2, nullptr, 0));
  CHECK(std::string(sarek_kernel_variant(nullptr)).empty());
  sarek_module_release(nullptr);
}

TEST_CASE("devices by number, id and target; those that are not there say why") {
  std::size_t count = 0;
  REQUIRE(sarek_device_count(&count) == SAREK_OK);
  REQUIRE(count >= 1);
  for (std::size_t i = 0; i < count; ++i) {
    sarek_device* device = nullptr;
    sarek_device* same = nullptr;
    sarek_device_info info{};
    REQUIRE(sarek_device_get(i, &device) == SAREK_OK);
    REQUIRE(sarek_device_get_info(device, &info) == SAREK_OK);
    REQUIRE(sarek_device_open(info.id, &same) == SAREK_OK);
    CHECK(same == device);
    CHECK(std::string(sarek_driver_absence(info.target)).empty());
  }
  sarek_device* device = nullptr;
  CHECK(message_of(SAREK_NOT_FOUND, sarek_device_get(count, &device)) == "there is no device number " + std::to_string(count));
  CHECK(message_of(SAREK_NOT_FOUND, sarek_device_open("abacus", &device)) == "no device `abacus`: no driver of that name");
  CHECK(message_of(SAREK_NOT_FOUND, sarek_device_open("interp:7", &device)).find("no device `interp:7`; there are ") == 0);
  CHECK(std::string(sarek_driver_absence("abacus")) == "no driver of that name");
  CHECK(std::string(sarek_driver_absence(nullptr)) == "no driver of that name");
  CHECK_FALSE(std::string(sarek_version()).empty());
}

TEST_CASE("modules from files and memory, and what is wrong with those that are refused") {
  sarek_device* device = open_device("interp");
  const std::string path = std::string(SAREK_BINARY_DIR) + "/api_test.sarek.pkg";
  const std::vector<std::uint8_t> bytes = artifact::write_package(doubling_package());
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  sarek_module* module = nullptr;
  REQUIRE(sarek_module_load_file(device, path.c_str(), &module) == SAREK_OK);
  std::size_t count = 0;
  const char* name = nullptr;
  sarek_kernel* kernel = nullptr;
  REQUIRE(sarek_module_kernel_count(module, &count) == SAREK_OK);
  CHECK(count == 1);
  REQUIRE(sarek_module_kernel_name(module, 0, &name) == SAREK_OK);
  CHECK(std::string(name) == "doubled");
  CHECK(message_of(SAREK_NOT_FOUND, sarek_module_kernel_name(module, 1, &name)) == "the module has no kernel number 1");
  CHECK(message_of(SAREK_NOT_FOUND, sarek_module_kernel(module, "tripled", &kernel)) ==
        "the module has no kernel `tripled`; it has doubled");
  sarek_kernel* again = nullptr;
  REQUIRE(sarek_module_kernel(module, "doubled", &kernel) == SAREK_OK);
  REQUIRE(sarek_module_kernel(module, "doubled", &again) == SAREK_OK);
  CHECK(kernel == again);
  sarek_module_release(module);
  std::remove(path.c_str());
  CHECK(message_of(SAREK_NOT_FOUND, sarek_module_load_file(device, path.c_str(), &module)) == "no file `" + path + "`");
  CHECK(message_of(SAREK_BAD_PACKAGE, sarek_module_load_memory(device, "hello", 5, &module)) == "this is no sarek package");
}

TEST_CASE("a kernel without a variant for the device names what the device lacks") {
  sarek_device* device = open_device("interp");
  artifact::Package p = doubling_package();
  p.kernels[0].variants.erase(p.kernels[0].variants.begin());
  const Module module(device, p);
  sarek_kernel* kernel = nullptr;
  CHECK(message_of(SAREK_UNSUPPORTED, sarek_module_kernel(module.handle(), "doubled", &kernel)) ==
        "kernel `doubled` has no variant for interp:0");
  if (!opencl_present()) return;
  p.kernels[0].variants[0].requires_ = {"telepathy", "fp64", "clairvoyance"};
  const Module opencl(open_device("opencl"), p);
  CHECK(message_of(SAREK_UNSUPPORTED, sarek_module_kernel(opencl.handle(), "doubled", &kernel)) ==
        "kernel `doubled` has no variant for opencl:0: the device lacks telepathy, clairvoyance");
}

TEST_CASE("the last error is the thread's own and ends with its next call") {
  sarek_device* device = nullptr;
  REQUIRE(sarek_device_open("abacus", &device) == SAREK_NOT_FOUND);
  std::string elsewhere = "unset";
  std::thread([&] { elsewhere = sarek_last_error(); }).join();
  CHECK(elsewhere.empty());
  CHECK(std::string(sarek_last_error()).find("abacus") != std::string::npos);
  REQUIRE(sarek_device_open("interp", &device) == SAREK_OK);
  CHECK(std::string(sarek_last_error()).empty());
}

TEST_CASE("several threads load, launch and read through one module") {
  for (const std::string& id : doubling_devices()) {
    INFO(id);
    sarek_device* device = open_device(id.c_str());
    const Module module(device, doubling_package());
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int round = 0; round < 8; ++round) {
          sarek_kernel* kernel = nullptr;
          sarek_vector* x = nullptr;
          const std::int32_t n = t + 2;
          const std::vector<std::int32_t> before = counted(100);
          std::vector<std::int32_t> after(100);
          const std::int64_t grid[3] = {4, 1, 1};
          bool good = sarek_module_kernel(module.handle(), "doubled", &kernel) == SAREK_OK &&
                      sarek_vector_create(device, 4, 100, &x) == SAREK_OK && sarek_vector_write(x, 0, 100, before.data()) == SAREK_OK;
          const sarek_argument arguments[] = {{nullptr, SAREK_I32, &n, 4}, {x, SAREK_BYTES, nullptr, 0}};
          good = good && sarek_launch(kernel, grid, arguments, 2, nullptr, 0) == SAREK_OK &&
                 sarek_vector_read(x, 0, 100, after.data()) == SAREK_OK;
          for (std::size_t i = 0; i < 100; ++i) good = good && after[i] == before[i] * n;
          sarek_vector_release(x);
          if (!good) ++wrong;
        }
      });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
  }
}
