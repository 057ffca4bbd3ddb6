// Checks a launch against the package and hands it to the driver.
#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/core/context.h"

namespace sarek::runtime {
namespace {

struct TypeRow {
  sarek_type type;
  const char* name;
  std::size_t size;
};
constexpr TypeRow kTypes[] = {
    {SAREK_BOOL, "bool", 1}, {SAREK_I8, "i8", 1},   {SAREK_U8, "u8", 1},   {SAREK_I16, "i16", 2}, {SAREK_U16, "u16", 2},
    {SAREK_I32, "i32", 4},   {SAREK_U32, "u32", 4}, {SAREK_I64, "i64", 8}, {SAREK_U64, "u64", 8}, {SAREK_F16, "f16", 2},
    {SAREK_BF16, "bf16", 2}, {SAREK_F32, "f32", 4}, {SAREK_F64, "f64", 8},
};

const TypeRow* row_of(sarek_type type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return &row;
  return nullptr;
}

std::size_t scalar_size(const std::string& type) {
  for (const TypeRow& row : kTypes)
    if (type == row.name) return row.size;
  return 0;
}

std::string where(const artifact::Kernel& kernel, std::size_t index) {
  const std::string name = index < kernel.params.size() ? " (`" + kernel.params[index].name + "`)" : "";
  return "kernel `" + kernel.name + "`, argument " + std::to_string(index + 1) + name + ": ";
}

Outcome<Unit> check_grid(const artifact::Kernel& kernel, const std::int64_t grid[3]) {
  constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
  constexpr const char* kAxis[] = {"x", "y", "z"};
  std::int64_t blocks = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] < 1)
      return fault(SAREK_INVALID_ARGUMENT,
                   "kernel `" + kernel.name + "`: the grid has " + std::to_string(grid[axis]) + " blocks along " + kAxis[axis]);
    if (grid[axis] > kLimit)
      return fault(SAREK_INVALID_ARGUMENT, "kernel `" + kernel.name + "`: more than 2^31 - 1 blocks along " + kAxis[axis]);
    if (!kernel.wide && grid[axis] > kLimit / kernel.block[static_cast<std::size_t>(axis)])
      return fault(SAREK_INVALID_ARGUMENT,
                   "kernel `" + kernel.name + "`: more than 2^31 - 1 threads along " + std::string(kAxis[axis]) + "; declare it `wide`");
    if (__builtin_mul_overflow(blocks, grid[axis], &blocks))
      return fault(SAREK_INVALID_ARGUMENT, "kernel `" + kernel.name + "`: more than 2^63 blocks");
  }
  return Unit{};
}

Outcome<Unit> check_vector(const sarek_kernel& kernel, const artifact::Param& param, std::size_t index, const sarek_argument& argument) {
  const artifact::Kernel& k = *kernel.kernel;
  if (!argument.vector) return fault(SAREK_INVALID_ARGUMENT, where(k, index) + "a vector of `" + param.type + "` is expected");
  const sarek_vector& v = *argument.vector;
  if (v.device != kernel.device)
    return fault(SAREK_INVALID_ARGUMENT, where(k, index) + "the vector lives on " + v.device->driver->info().id + ", the kernel on " +
                                             kernel.device->driver->info().id);
  if (v.element_size != static_cast<std::size_t>(param.size))
    return fault(SAREK_INVALID_ARGUMENT, where(k, index) + "elements have " + std::to_string(v.element_size) + " bytes, `" + param.type +
                                             "` has " + std::to_string(param.size));
  // Where the device computes in the caller's own memory, that memory must lie as its loads and stores need it.
  if (v.borrowed && v.storage->host() &&
      reinterpret_cast<std::uintptr_t>(v.storage->host()) % static_cast<std::uintptr_t>(param.align) != 0)
    return fault(SAREK_INVALID_ARGUMENT, where(k, index) + "the borrowed memory is not aligned to the " + std::to_string(param.align) +
                                             " bytes of `" + param.type + "`");
  if (!k.wide && v.count > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    return fault(SAREK_INVALID_ARGUMENT, where(k, index) + "more than 2^31 - 1 elements; declare the kernel `wide`");
  // A record's fields are reached through views that count cells of the smallest field's size: that count must fit the index type too.
  std::int64_t smallest = param.size;
  for (const artifact::Field& f : param.fields) smallest = std::min(smallest, static_cast<std::int64_t>(scalar_size(f.type)));
  if (!k.wide && smallest > 0 && static_cast<std::int64_t>(v.count) > std::numeric_limits<std::int32_t>::max() / (param.size / smallest))
    return fault(SAREK_INVALID_ARGUMENT,
                 where(k, index) + "more than 2^31 - 1 cells of " + std::to_string(smallest) + " bytes; declare the kernel `wide`");
  std::int64_t needed = param.view.empty() ? 0 : 1;
  for (const std::int64_t extent : param.view)
    if (__builtin_mul_overflow(needed, extent, &needed)) needed = std::numeric_limits<std::int64_t>::max();
  if (needed > 0 && v.count < static_cast<std::size_t>(needed))
    return fault(SAREK_INVALID_ARGUMENT,
                 where(k, index) + "the view needs " + std::to_string(needed) + " elements, the vector has " + std::to_string(v.count));
  return Unit{};
}

Outcome<Unit> check_scalar(const artifact::Kernel& k, const artifact::Param& param, std::size_t index, const sarek_argument& argument) {
  if (argument.vector || !argument.data)
    return fault(SAREK_INVALID_ARGUMENT, where(k, index) + "a value of type `" + param.type + "` is expected");
  const bool is_record = param.fields.size() != 1 || !param.fields[0].path.empty();
  const TypeRow* given = row_of(argument.type);
  if (is_record ? argument.type != SAREK_BYTES : !given || param.type != given->name)
    return fault(SAREK_INVALID_ARGUMENT,
                 where(k, index) + "a value of type `" + param.type + "` is expected, `" + (given ? given->name : "bytes") + "` was given");
  if (argument.size != static_cast<std::size_t>(param.size))
    return fault(SAREK_INVALID_ARGUMENT, where(k, index) + "the value has " + std::to_string(argument.size) + " bytes, `" + param.type +
                                             "` has " + std::to_string(param.size));
  return Unit{};
}

/// One vector may be several arguments: both then name the same cells, and what the kernel does to them is its own logic. Two vectors over
/// memory that overlaps are refused when one is written: they may differ in part, and where the device has copies a write would be lost.
Outcome<Unit> check_overlap(const artifact::Kernel& k, std::span<const sarek_argument> arguments) {
  for (std::size_t a = 0; a < arguments.size(); ++a)
    for (std::size_t b = a + 1; b < arguments.size(); ++b) {
      const sarek_vector* x = arguments[a].vector;
      const sarek_vector* y = arguments[b].vector;
      if (!x || !y || x == y || (k.params[a].access == "in" && k.params[b].access == "in")) continue;
      // One of them borrows: memory of the runtime's own never overlaps, but a mapped vector's may have been borrowed.
      const auto memory = [](const sarek_vector& v) { return reinterpret_cast<std::uintptr_t>(v.borrowed ? v.host : v.storage->host()); };
      const std::uintptr_t xb = memory(*x), yb = memory(*y);
      if (xb && yb && xb < yb + y->bytes() && yb < xb + x->bytes() && x->bytes() > 0 && y->bytes() > 0)
        return fault(SAREK_INVALID_ARGUMENT,
                     where(k, b) + "its memory overlaps that of argument " + std::to_string(a + 1) + ", and one of them is written");
    }
  return Unit{};
}

}  // namespace

Outcome<Unit> launch(sarek_kernel& kernel, const std::int64_t grid[3], std::span<const sarek_argument> arguments,
                     std::span<const std::int64_t> dynamic_shared) {
  const artifact::Kernel& k = *kernel.kernel;
  if (arguments.size() != k.params.size())
    return fault(SAREK_INVALID_ARGUMENT, "kernel `" + k.name + "` takes " + std::to_string(k.params.size()) + " arguments, " +
                                             std::to_string(arguments.size()) + " were given");
  if (Outcome<Unit> r = check_grid(k, grid); !r) return r;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Outcome<Unit> r =
        k.params[i].is_buffer ? check_vector(kernel, k.params[i], i, arguments[i]) : check_scalar(k, k.params[i], i, arguments[i]);
    if (!r) return r;
  }
  if (Outcome<Unit> r = check_overlap(k, arguments); !r) return r;
  const DeviceInfo& info = kernel.device->driver->info();
  if (dynamic_shared.size() != k.dynamic_shared.size())
    return fault(SAREK_INVALID_ARGUMENT, "kernel `" + k.name + "` has " + std::to_string(k.dynamic_shared.size()) +
                                             " dynamic shared arrays, " + std::to_string(dynamic_shared.size()) + " lengths were given");
  std::int64_t shared = kernel.variant->shared_bytes;
  for (std::size_t i = 0; i < dynamic_shared.size(); ++i) {
    const std::int64_t n = dynamic_shared[i];
    if (n < 0 || n > info.max_shared_bytes)
      return fault(SAREK_INVALID_ARGUMENT, "kernel `" + k.name + "`: shared array `" + k.dynamic_shared[i].name + "` cannot have " +
                                               std::to_string(n) + " elements");
    shared = (shared + 63) / 64 * 64 + n * k.dynamic_shared[i].element_size;
  }
  if (shared > info.max_shared_bytes)
    return fault(SAREK_UNSUPPORTED, "kernel `" + k.name + "` needs " + std::to_string(shared) + " bytes of shared memory, " + info.id +
                                        " has " + std::to_string(info.max_shared_bytes));

  Launch call;
  for (std::size_t axis = 0; axis < 3; ++axis) call.grid[axis] = static_cast<std::int32_t>(grid[axis]);
  call.dynamic_shared.assign(dynamic_shared.begin(), dynamic_shared.end());
  call.slots.resize(k.slots.size());
  call.buffer_bytes.resize(k.slots.size(), 0);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const artifact::Param& param = k.params[i];
    const auto first = static_cast<std::size_t>(param.first_slot);
    if (param.is_buffer) {
      if (Outcome<Unit> r = make_device_current(*arguments[i].vector); !r) return r;
      call.slots[first].storage = arguments[i].vector->storage.get();
      call.buffer_bytes[first] = static_cast<std::int64_t>(arguments[i].vector->bytes());
    } else {
      for (std::size_t s = 0; s < static_cast<std::size_t>(param.slot_count); ++s) {
        const std::size_t size = scalar_size(k.slots[first + s].type);
        const auto offset = static_cast<std::size_t>(s < param.fields.size() ? param.fields[s].offset : 0);
        if (size == 0 || offset + size > arguments[i].size)
          return fault(SAREK_BAD_PACKAGE, where(k, i) + "the package describes its fields wrongly");
        std::uint64_t& bits = call.slots[first + s].bits;
        std::memcpy(&bits, static_cast<const char*>(arguments[i].data) + offset, size);
        // Any non-zero byte is true, kernels are given 0 or 1.
        if (k.slots[first + s].type == "bool") bits = bits != 0 ? 1 : 0;
      }
    }
  }
  for (std::size_t s = 0; s < k.slots.size(); ++s) {
    const artifact::Slot& slot = k.slots[s];
    if (slot.kind == "length")
      call.slots[s].bits = arguments[static_cast<std::size_t>(k.slots[static_cast<std::size_t>(slot.of_slot)].param)].vector->count;
    else if (slot.kind == "num-groups") call.slots[s].bits = static_cast<std::uint64_t>(grid[slot.axis]);
    else if (slot.kind == "shared-length")
      call.slots[s].bits = static_cast<std::uint64_t>(dynamic_shared[static_cast<std::size_t>(slot.of_slot)]);
  }
  const Result<Unit> ran = kernel.device->driver->launch(*kernel.loaded, call);
  // Even a failed launch may have written.
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!k.params[i].is_buffer || k.params[i].access == "in" || info.shares_host_memory) continue;
    const std::lock_guard lock(arguments[i].vector->mutex);
    arguments[i].vector->host_current = false;
    arguments[i].vector->device_current = true;
  }
  if (!ran) return fault(SAREK_LAUNCH_FAILED, ran.error().message);
  return Unit{};
}

}  // namespace sarek::runtime
