// Typed ids: a 32-bit index that cannot be mixed up with an index into another table. Nothing else lives here.
#pragma once

#include <cstdint>
#include <functional>

namespace sarek {

/// An index into the table that `Tag` names. `Id{}` is "none"; it compares unequal to every valid id.
template <class Tag>
struct Id {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  constexpr explicit operator bool() const { return value != kNone; }
  constexpr std::size_t index() const { return value; }
  friend constexpr bool operator==(Id a, Id b) { return a.value == b.value; }
  friend constexpr bool operator!=(Id a, Id b) { return a.value != b.value; }
  friend constexpr bool operator<(Id a, Id b) { return a.value < b.value; }
};

}  // namespace sarek

template <class Tag>
struct std::hash<sarek::Id<Tag>> {
  std::size_t operator()(sarek::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>{}(id.value); }
};
