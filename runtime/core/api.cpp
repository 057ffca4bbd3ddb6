// The C interface: checks handles, turns outcomes into statuses and messages, lets no exception out.
#include <unistd.h>

#include <cstring>
#include <new>

#include "runtime/core/context.h"

namespace rt = sarek::runtime;

namespace {

thread_local std::string last_error;

sarek_status fail(sarek_status status, std::string message) {
  last_error = std::move(message);
  return status;
}

/// Runs `body`, which returns a status, and turns what it throws into one.
template <class Body>
sarek_status guarded(Body body) {
  try {
    last_error.clear();
    return body();
  } catch (const std::bad_alloc&) { return fail(SAREK_OUT_OF_MEMORY, "out of memory"); } catch (const std::exception& e) {
    return fail(SAREK_INTERNAL, std::string("a fault of the runtime itself: ") + e.what());
  }
}

template <class T>
sarek_status done(const rt::Outcome<T>& outcome) {
  return outcome ? SAREK_OK : fail(outcome.error().status, outcome.error().message);
}

sarek_status null_argument(const char* name) { return fail(SAREK_INVALID_ARGUMENT, std::string("`") + name + "` is null"); }

sarek_status load_module(sarek_device* device, sarek::Result<sarek::artifact::Package> package, sarek_module** out) {
  if (!package) return fail(SAREK_BAD_PACKAGE, package.error().message);
  auto module = std::make_unique<sarek_module>();
  module->device = device;
  module->package = std::move(package).value();
  *out = module.release();
  return SAREK_OK;
}

sarek_status check_range(const sarek_vector& v, std::size_t first, std::size_t count) {
  if (first > v.count || count > v.count - first)
    return fail(SAREK_INVALID_ARGUMENT, "elements " + std::to_string(first) + " to " + std::to_string(first) + " + " +
                                            std::to_string(count) + " are outside a vector of " + std::to_string(v.count));
  return SAREK_OK;
}

sarek_status check_shape(sarek_device* device, std::size_t element_size, std::size_t count, sarek_vector** out) {
  if (!device) return null_argument("device");
  if (!out) return null_argument("vector");
  std::size_t bytes = 0;
  if (element_size == 0 || __builtin_mul_overflow(element_size, count, &bytes) || bytes > PTRDIFF_MAX)
    return fail(SAREK_INVALID_ARGUMENT,
                "a vector of " + std::to_string(count) + " elements of " + std::to_string(element_size) + " bytes cannot be");
  return SAREK_OK;
}

}  // namespace

extern "C" {

const char* sarek_last_error(void) { return last_error.c_str(); }
const char* sarek_version(void) { return SAREK_VERSION; }

sarek_status sarek_device_count(size_t* count) {
  return guarded([&] {
    if (!count) return null_argument("count");
    *count = rt::devices().size();
    return SAREK_OK;
  });
}

sarek_status sarek_device_get(size_t index, sarek_device** device) {
  return guarded([&] {
    if (!device) return null_argument("device");
    if (index >= rt::devices().size()) return fail(SAREK_NOT_FOUND, "there is no device number " + std::to_string(index));
    *device = rt::devices()[index].get();
    return SAREK_OK;
  });
}

sarek_status sarek_device_open(const char* id, sarek_device** device) {
  return guarded([&] {
    if (!device) return null_argument("device");
    const rt::Outcome<sarek_device*> found = rt::open_device(id);
    if (found) *device = *found;
    return done(found);
  });
}

sarek_status sarek_device_get_info(const sarek_device* device, sarek_device_info* info) {
  return guarded([&] {
    if (!device) return null_argument("device");
    if (!info) return null_argument("info");
    const rt::DeviceInfo& d = device->driver->info();
    *info = {d.id.c_str(),        d.target.c_str(),   d.framework.c_str(), d.name.c_str(),
             d.max_block_threads, d.max_shared_bytes, d.compute_units,     d.shares_host_memory};
    return SAREK_OK;
  });
}

const char* sarek_driver_absence(const char* target) { return rt::absence(target ? target : "").c_str(); }

sarek_status sarek_module_load_file(sarek_device* device, const char* path, sarek_module** module) {
  return guarded([&] {
    if (!device) return null_argument("device");
    if (!path) return null_argument("path");
    if (!module) return null_argument("module");
    if (::access(path, F_OK) != 0) return fail(SAREK_NOT_FOUND, std::string("no file `") + path + "`");
    return load_module(device, sarek::artifact::load_package(path), module);
  });
}

sarek_status sarek_module_load_memory(sarek_device* device, const void* bytes, size_t size, sarek_module** module) {
  return guarded([&] {
    if (!device) return null_argument("device");
    if (!bytes) return null_argument("bytes");
    if (!module) return null_argument("module");
    return load_module(device, sarek::artifact::read_package({static_cast<const std::uint8_t*>(bytes), size}), module);
  });
}

void sarek_module_release(sarek_module* module) { delete module; }

sarek_status sarek_module_kernel_count(const sarek_module* module, size_t* count) {
  return guarded([&] {
    if (!module) return null_argument("module");
    if (!count) return null_argument("count");
    *count = module->package.kernels.size();
    return SAREK_OK;
  });
}

sarek_status sarek_module_kernel_name(const sarek_module* module, size_t index, const char** name) {
  return guarded([&] {
    if (!module) return null_argument("module");
    if (!name) return null_argument("name");
    if (index >= module->package.kernels.size()) return fail(SAREK_NOT_FOUND, "the module has no kernel number " + std::to_string(index));
    *name = module->package.kernels[index].name.c_str();
    return SAREK_OK;
  });
}

sarek_status sarek_module_kernel(sarek_module* module, const char* name, sarek_kernel** kernel) {
  return guarded([&] {
    if (!module) return null_argument("module");
    if (!name) return null_argument("name");
    if (!kernel) return null_argument("kernel");
    const rt::Outcome<sarek_kernel*> found = rt::get_kernel(*module, name);
    if (found) *kernel = *found;
    return done(found);
  });
}

sarek_status sarek_kernel_block(const sarek_kernel* kernel, int32_t block[3]) {
  return guarded([&] {
    if (!kernel) return null_argument("kernel");
    if (!block) return null_argument("block");
    for (std::size_t i = 0; i < 3; ++i) block[i] = kernel->kernel->block[i];
    return SAREK_OK;
  });
}

const char* sarek_kernel_variant(const sarek_kernel* kernel) { return kernel ? kernel->variant_name.c_str() : ""; }

sarek_status sarek_vector_create(sarek_device* device, size_t element_size, size_t count, sarek_vector** vector) {
  return guarded([&] {
    if (const sarek_status s = check_shape(device, element_size, count, vector); s != SAREK_OK) return s;
    auto storage = device->driver->allocate(element_size * count);
    if (!storage) return fail(SAREK_OUT_OF_MEMORY, storage.error().message);
    auto v = std::make_unique<sarek_vector>();
    v->device = device;
    v->element_size = element_size;
    v->count = count;
    v->storage = std::move(storage).value();
    // Storage starts as zeros, so the device's copy is the current one until somebody writes.
    v->host_current = device->driver->info().shares_host_memory;
    v->device_current = true;
    *vector = v.release();
    return SAREK_OK;
  });
}

sarek_status sarek_vector_borrow(sarek_device* device, void* data, size_t element_size, size_t count, sarek_vector** vector) {
  return guarded([&] {
    if (const sarek_status s = check_shape(device, element_size, count, vector); s != SAREK_OK) return s;
    if (!data && count > 0) return null_argument("data");
    const bool shared = device->driver->info().shares_host_memory;
    auto storage = shared ? device->driver->borrow(data, element_size * count) : device->driver->allocate(element_size * count);
    if (!storage) return fail(SAREK_OUT_OF_MEMORY, storage.error().message);
    auto v = std::make_unique<sarek_vector>();
    v->device = device;
    v->element_size = element_size;
    v->count = count;
    v->storage = std::move(storage).value();
    v->host = data;
    v->borrowed = true;
    v->host_current = true;
    v->device_current = shared;
    *vector = v.release();
    return SAREK_OK;
  });
}

void sarek_vector_release(sarek_vector* vector) {
  if (!vector) return;
  if (vector->borrowed) (void)sarek_vector_sync(vector);
  delete vector;
}

size_t sarek_vector_count(const sarek_vector* vector) { return vector ? vector->count : 0; }
size_t sarek_vector_element_size(const sarek_vector* vector) { return vector ? vector->element_size : 0; }

sarek_status sarek_vector_map(sarek_vector* vector, int will_write, void** data) {
  return guarded([&] {
    if (!vector) return null_argument("vector");
    if (!data) return null_argument("data");
    if (vector->device->driver->info().shares_host_memory) {
      *data = vector->storage->host();
      return SAREK_OK;
    }
    if (const rt::Outcome<sarek::Unit> r = rt::make_host_current(*vector); !r) return done(r);
    const std::lock_guard lock(vector->mutex);
    if (will_write) vector->device_current = false;
    *data = vector->host;
    return SAREK_OK;
  });
}

sarek_status sarek_vector_write(sarek_vector* vector, size_t first, size_t count, const void* from) {
  return guarded([&] {
    if (!vector) return null_argument("vector");
    if (!from && count > 0) return null_argument("from");
    if (const sarek_status s = check_range(*vector, first, count); s != SAREK_OK) return s;
    if (count == 0) return SAREK_OK;
    void* data = nullptr;
    if (const sarek_status s = sarek_vector_map(vector, 1, &data); s != SAREK_OK) return s;
    std::memcpy(static_cast<char*>(data) + first * vector->element_size, from, count * vector->element_size);
    return SAREK_OK;
  });
}

sarek_status sarek_vector_read(sarek_vector* vector, size_t first, size_t count, void* to) {
  return guarded([&] {
    if (!vector) return null_argument("vector");
    if (!to && count > 0) return null_argument("to");
    if (const sarek_status s = check_range(*vector, first, count); s != SAREK_OK) return s;
    if (count == 0) return SAREK_OK;
    void* data = nullptr;
    if (const sarek_status s = sarek_vector_map(vector, 0, &data); s != SAREK_OK) return s;
    std::memcpy(to, static_cast<const char*>(data) + first * vector->element_size, count * vector->element_size);
    return SAREK_OK;
  });
}

sarek_status sarek_vector_sync(sarek_vector* vector) {
  return guarded([&] {
    if (!vector) return null_argument("vector");
    return done(rt::make_host_current(*vector));
  });
}

sarek_status sarek_launch(sarek_kernel* kernel, const int64_t grid[3], const sarek_argument* arguments, size_t argument_count,
                          const int64_t* dynamic_shared, size_t dynamic_shared_count) {
  return guarded([&] {
    if (!kernel) return null_argument("kernel");
    if (!grid) return null_argument("grid");
    if (!arguments && argument_count > 0) return null_argument("arguments");
    if (!dynamic_shared && dynamic_shared_count > 0) return null_argument("dynamic_shared");
    return done(rt::launch(*kernel, grid, {arguments, argument_count}, {dynamic_shared, dynamic_shared_count}));
  });
}

}  // extern "C"
