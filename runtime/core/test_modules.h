// What the tests of the C interface share: packages as loaded modules, devices that must be there.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include "runtime/drivers/test_packages.h"
#include "runtime/include/sarek/sarek.h"

namespace sarek::runtime::test {

inline sarek_device* open_device(const char* id) {
  sarek_device* device = nullptr;
  REQUIRE(sarek_device_open(id, &device) == SAREK_OK);
  return device;
}

inline bool opencl_present() { return std::string(sarek_driver_absence("opencl")).empty(); }

class Module {
 public:
  Module(sarek_device* device, const artifact::Package& package) {
    const std::vector<std::uint8_t> bytes = artifact::write_package(package);
    const sarek_status status = sarek_module_load_memory(device, bytes.data(), bytes.size(), &handle_);
    INFO(sarek_last_error());
    REQUIRE(status == SAREK_OK);
  }
  ~Module() { sarek_module_release(handle_); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  sarek_module* handle() const { return handle_; }
  sarek_kernel* kernel(const char* name) const {
    sarek_kernel* kernel = nullptr;
    const sarek_status status = sarek_module_kernel(handle_, name, &kernel);
    INFO(sarek_last_error());
    REQUIRE(status == SAREK_OK);
    return kernel;
  }

 private:
  sarek_module* handle_ = nullptr;
};

/// kernel mirror(x: in [i32], out: inout [i32]) block(32), with a dynamic shared array `tile`: out is x backwards. For the interpreter.
inline artifact::Package shared_package() {
  using namespace ir;
  ProgramBuilder b("mirror", {32, 1, 1});
  const NodeId x = b.buffer_param("x", Type::I32, Access::In), out = b.buffer_param("out", Type::I32, Access::InOut),
               tile = b.dynamic_shared("tile", Type::I32);
  b.store(tile, b.local_id(0), b.load(x, b.local_id(0)));
  b.barrier();
  b.store(out, b.local_id(0), b.load(tile, b.op(Op::Sub, {b.i32(31), b.local_id(0)})));
  const Program program = b.finish();
  artifact::Package p;
  p.compiler = "sarekc test";
  p.module = "mirror";
  p.blobs = {{"ir", bytes_of(print_module({&program}))}};
  artifact::Kernel k;
  k.name = "mirror";
  k.block = {32, 1, 1};
  k.params = {{"x", true, "in", "i32", 4, 4, {{"", "i32", 0}}, {}, 0, 1}, {"out", true, "inout", "i32", 4, 4, {{"", "i32", 0}}, {}, 1, 1}};
  k.slots = {{"buffer", "", "x", 0, -1, 0}, {"buffer", "", "out", 1, -1, 0}, {"shared-length", "i32", "tile.len", -1, 0, 0}};
  k.dynamic_shared = {{"tile", "i32", 4}};
  artifact::Variant v;
  v.target = "interp";
  v.blob = 0;
  v.entry_name = "mirror";
  k.variants = {v};
  p.kernels = {k};
  return p;
}

}  // namespace sarek::runtime::test
