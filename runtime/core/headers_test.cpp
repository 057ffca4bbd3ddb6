// The C++ header over the C one: typed vectors and arguments, failures as exceptions, records and small types; and the C header from C.
#include <catch2/catch_test_macros.hpp>

#include <sarek/sarek.hpp>

#include "runtime/core/test_modules.h"

extern "C" std::size_t count_devices_in_c(void);

TEST_CASE("the C header works from C") { CHECK(count_devices_in_c() == sarek::Device::all().size()); }

TEST_CASE("the C++ interface: devices, modules, vectors, launches") {
  const sarek::Device device("interp");
  CHECK(device.id() == "interp:0");
  CHECK(device.info().shares_host_memory == 1);
  const std::vector<std::uint8_t> bytes = sarek::artifact::write_package(sarek::runtime::test::doubling_package());
  const sarek::Module module(device, std::span<const unsigned char>(bytes));
  const sarek::Kernel kernel = module.kernel("doubled");
  CHECK(kernel.block() == std::array<std::int32_t, 3>{32, 1, 1});
  CHECK(kernel.variant() == "interp");
  sarek::Vector<std::int32_t> x(device, {1, 2, 3});
  kernel.launch({sarek::ceil_div(3, 32)}, {std::int32_t{4}, x});
  CHECK(x.to_host() == std::vector<std::int32_t>{4, 8, 12});
  x.edit()[0] = 7;
  CHECK(x.view()[0] == 7);
  sarek::Vector<std::int32_t> moved = std::move(x);
  CHECK(moved.size() == 3);
  std::vector<std::int32_t> memory = {5};
  {
    auto borrowed = sarek::Vector<std::int32_t>::borrow(device, memory);
    kernel.launch({}, {std::int32_t{2}, borrowed});
    borrowed.sync();
  }
  CHECK(memory[0] == 10);
}

TEST_CASE("failures of the C++ interface carry status and message") {
  const sarek::Device device("interp");
  const std::vector<std::uint8_t> bytes = sarek::artifact::write_package(sarek::runtime::test::doubling_package());
  const sarek::Module module(device, std::span<const unsigned char>(bytes));
  sarek::Vector<float> x(device, 3);
  try {
    module.kernel("doubled").launch({}, {2.0f, x});
    FAIL("a float was taken for an integer");
  } catch (const sarek::Failure& failure) {
    CHECK(failure.status() == SAREK_INVALID_ARGUMENT);
    CHECK(std::string(failure.what()) == "kernel `doubled`, argument 1 (`n`): a value of type `i32` is expected, `f32` was given");
  }
  CHECK_THROWS_AS(sarek::Device("abacus"), sarek::Failure);
  CHECK_THROWS_AS(module.kernel("tripled"), sarek::Failure);
}
