// A bump allocator for trees whose nodes point at each other and die together (the AST). Nodes must be trivially destructible: an
// arena frees memory, it runs no destructors. IR uses id-indexed tables instead.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sarek {

class Arena {
 public:
  Arena() : memory_(std::make_unique<std::pmr::monotonic_buffer_resource>(std::size_t{16} * 1024)) {}

  /// A new T that lives as long as the arena.
  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
    return new (memory_->allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  /// A copy of `items` that lives as long as the arena.
  template <class T>
  std::span<T> copy(const std::vector<T>& items) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    if (items.empty()) return {};
    T* out = static_cast<T*>(memory_->allocate(sizeof(T) * items.size(), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), out);
    return {out, items.size()};
  }

  /// A copy of `text` that lives as long as the arena.
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* out = static_cast<char*>(memory_->allocate(text.size(), 1));
    std::memcpy(out, text.data(), text.size());
    return {out, text.size()};
  }

 private:
  // Behind a pointer so that moving an arena moves no node.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;
};

}  // namespace sarek
