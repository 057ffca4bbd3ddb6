// The C++ interface of the Sarek runtime, over sarek.h: RAII handles, typed vectors, typed arguments. Header only. Failures are
// exceptions of type sarek::Failure; code that must not throw uses the C interface.
#pragma once

#include <sarek/sarek.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sarek {

/// A failed call: its status and the runtime's message.
class Failure : public std::runtime_error {
 public:
  Failure(sarek_status status, const char* message) : std::runtime_error(message), status_(status) {}
  sarek_status status() const { return status_; }

 private:
  sarek_status status_;
};

inline void check(sarek_status status) {
  if (status != SAREK_OK) throw Failure(status, sarek_last_error());
}

/// Blocks along x, y, z.
struct Grid {
  std::int64_t x = 1, y = 1, z = 1;
};
/// Blocks of `block` threads that cover `n` threads.
constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t block) { return (n + block - 1) / block; }

/// Storage of a 16-bit float as its bits: the host language has no such type before C++23.
struct Half {
  std::uint16_t bits = 0;
};
struct BFloat16 {
  std::uint16_t bits = 0;
};

namespace detail {
template <class T>
constexpr sarek_type type_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) return SAREK_BOOL;
  else if constexpr (std::is_same_v<U, std::int8_t>) return SAREK_I8;
  else if constexpr (std::is_same_v<U, std::uint8_t>) return SAREK_U8;
  else if constexpr (std::is_same_v<U, std::int16_t>) return SAREK_I16;
  else if constexpr (std::is_same_v<U, std::uint16_t>) return SAREK_U16;
  else if constexpr (std::is_same_v<U, std::int32_t>) return SAREK_I32;
  else if constexpr (std::is_same_v<U, std::uint32_t>) return SAREK_U32;
  else if constexpr (std::is_same_v<U, std::int64_t>) return SAREK_I64;
  else if constexpr (std::is_same_v<U, std::uint64_t>) return SAREK_U64;
  else if constexpr (std::is_same_v<U, Half>) return SAREK_F16;
  else if constexpr (std::is_same_v<U, BFloat16>) return SAREK_BF16;
  else if constexpr (std::is_same_v<U, float>) return SAREK_F32;
  else if constexpr (std::is_same_v<U, double>) return SAREK_F64;
  else return SAREK_BYTES;
}
}  // namespace detail

class Device {
 public:
  /// The default device: the one SAREK_DEVICE names, else the native CPU.
  Device() { check(sarek_device_open(nullptr, &handle_)); }
  /// By id ("native:0") or target ("opencl").
  explicit Device(const std::string& id) { check(sarek_device_open(id.c_str(), &handle_)); }
  /// Every device of this machine.
  static std::vector<Device> all() {
    std::size_t count = 0;
    check(sarek_device_count(&count));
    std::vector<Device> devices;
    for (std::size_t i = 0; i < count; ++i) {
      sarek_device* handle = nullptr;
      check(sarek_device_get(i, &handle));
      devices.push_back(Device(handle));
    }
    return devices;
  }
  sarek_device_info info() const {
    sarek_device_info i{};
    check(sarek_device_get_info(handle_, &i));
    return i;
  }
  std::string id() const { return info().id; }
  std::string name() const { return info().name; }
  sarek_device* handle() const { return handle_; }

 private:
  explicit Device(sarek_device* handle) : handle_(handle) {}
  sarek_device* handle_ = nullptr;
};

/// `count` elements of T on a device. Move-only.
template <class T>
class Vector {
  static_assert(std::is_trivially_copyable_v<T>, "elements are copied as bytes");

 public:
  Vector(const Device& device, std::size_t count) { check(sarek_vector_create(device.handle(), sizeof(T), count, &handle_)); }
  Vector(const Device& device, std::span<const T> contents) : Vector(device, contents.size()) { write(contents); }
  Vector(const Device& device, std::initializer_list<T> contents) : Vector(device, std::span<const T>(contents.begin(), contents.size())) {}
  /// Over memory of the caller, which must outlive the vector; sync() brings results back where memory is not shared.
  static Vector borrow(const Device& device, std::span<T> memory) {
    Vector v;
    check(sarek_vector_borrow(device.handle(), memory.data(), sizeof(T), memory.size(), &v.handle_));
    return v;
  }
  Vector(Vector&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Vector& operator=(Vector&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  ~Vector() { sarek_vector_release(handle_); }

  std::size_t size() const { return sarek_vector_count(handle_); }
  void write(std::span<const T> from, std::size_t first = 0) { check(sarek_vector_write(handle_, first, from.size(), from.data())); }
  void read(std::span<T> to, std::size_t first = 0) const { check(sarek_vector_read(handle_, first, to.size(), to.data())); }
  std::vector<T> to_host() const
    requires(!std::is_same_v<T, bool>)
  {
    std::vector<T> out(size());
    read(out);
    return out;
  }
  /// The elements in host memory, valid until the next launch that writes the vector.
  std::span<const T> view() const {
    void* data = nullptr;
    check(sarek_vector_map(handle_, 0, &data));
    return {static_cast<const T*>(data), size()};
  }
  std::span<T> edit() {
    void* data = nullptr;
    check(sarek_vector_map(handle_, 1, &data));
    return {static_cast<T*>(data), size()};
  }
  void sync() { check(sarek_vector_sync(handle_)); }
  sarek_vector* handle() const { return handle_; }

 private:
  Vector() = default;
  sarek_vector* handle_ = nullptr;
};

/// An argument of a launch: a vector or a scalar (or record) by value. Scalars are referred to, not copied.
class Argument {
 public:
  template <class T>
  Argument(const Vector<T>& vector) : argument_{vector.handle(), SAREK_BYTES, nullptr, 0} {}  // NOLINT: meant to convert
  template <class T>
    requires std::is_trivially_copyable_v<T>
  Argument(const T& value) : argument_{nullptr, detail::type_of<T>(), &value, sizeof(T)} {}  // NOLINT
  const sarek_argument& get() const { return argument_; }

 private:
  sarek_argument argument_;
};

class Kernel {
 public:
  explicit Kernel(sarek_kernel* handle) : handle_(handle) {}
  std::array<std::int32_t, 3> block() const {
    std::array<std::int32_t, 3> b{};
    check(sarek_kernel_block(handle_, b.data()));
    return b;
  }
  std::string variant() const { return sarek_kernel_variant(handle_); }
  /// Runs the kernel; `dynamic_shared` gives the elements of each dynamic shared array.
  void launch(Grid grid, std::initializer_list<Argument> arguments, std::initializer_list<std::int64_t> dynamic_shared = {}) const {
    std::vector<sarek_argument> list;
    for (const Argument& a : arguments) list.push_back(a.get());
    const std::int64_t extents[3] = {grid.x, grid.y, grid.z};
    check(sarek_launch(handle_, extents, list.data(), list.size(), dynamic_shared.begin(), dynamic_shared.size()));
  }
  sarek_kernel* handle() const { return handle_; }

 private:
  sarek_kernel* handle_;
};

/// A loaded package. Shared: copies refer to one module, released with the last.
class Module {
 public:
  Module(const Device& device, const std::string& path) {
    sarek_module* m = nullptr;
    check(sarek_module_load_file(device.handle(), path.c_str(), &m));
    own(m);
  }
  Module(const Device& device, std::span<const unsigned char> bytes) {
    sarek_module* m = nullptr;
    check(sarek_module_load_memory(device.handle(), bytes.data(), bytes.size(), &m));
    own(m);
  }
  Kernel kernel(const std::string& name) const {
    sarek_kernel* k = nullptr;
    check(sarek_module_kernel(handle_.get(), name.c_str(), &k));
    return Kernel(k);
  }
  sarek_module* handle() const { return handle_.get(); }

 private:
  void own(sarek_module* m) { handle_ = std::shared_ptr<sarek_module>(m, &sarek_module_release); }
  std::shared_ptr<sarek_module> handle_;
};

}  // namespace sarek
