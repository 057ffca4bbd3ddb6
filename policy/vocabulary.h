// The words of the policy: the deviations and consents a program may grant, the optimisations they govern, where a grant applies and why
// one is refused. Names and orders stand here and nowhere else; what is in force is the business of budget.h and store.h.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sarek::policy {

/// The type that the float32 operands of a matrix product are rounded to before it runs on matrix units. `Bf16x3` splits each operand
/// into three bfloat16 terms, which keeps nearly all of float32.
enum class OperandPrecision : std::uint8_t { F16, Bf16, Bf16x3 };

enum class DeviationKind : std::uint8_t { AccumulationOrder, OperandRounding, SingleRounding, CrossKernelContraction };

/// A named way in which a result may differ from the interpreter's. Each has a documented bound of its own where one exists; there is no
/// common scale, so holding one never implies another.
class Deviation {
 public:
  /// The hardware chooses the order of the additions.
  static constexpr Deviation accumulation_order() { return Deviation(0); }
  /// float32 operands are rounded to a narrower type on load.
  static constexpr Deviation operand_rounding(OperandPrecision precision) {
    return Deviation(static_cast<std::uint8_t>(1 + static_cast<std::uint8_t>(precision)));
  }
  /// An f32 to f16 narrowing may round once where the source rounds twice.
  static constexpr Deviation single_rounding() { return Deviation(4); }
  /// A device compiler may contract a multiply of one fused kernel with an add of the next.
  static constexpr Deviation cross_kernel_contraction() { return Deviation(5); }

  DeviationKind kind() const;
  /// Set for operand rounding only.
  std::optional<OperandPrecision> precision() const;
  constexpr std::uint8_t index() const { return index_; }

  friend constexpr auto operator<=>(Deviation, Deviation) = default;

 private:
  friend class Grant;
  explicit constexpr Deviation(std::uint8_t index) : index_(index) {}
  std::uint8_t index_;
};

/// A permission to rewrite the program's own code. It is separate from every deviation: granting one never grants the other.
enum class Consent : std::uint8_t { AutomaticFloatRewrite };

/// One of the seven things a program can grant. Compares and iterates in the stable order of `all_grants`.
class Grant {
 public:
  static constexpr std::size_t count = 7;

  constexpr Grant(Deviation deviation) : index_(deviation.index()) {}  // NOLINT: a deviation is a grant
  constexpr Grant(Consent consent)
      : index_(static_cast<std::uint8_t>(6 + static_cast<std::uint8_t>(consent))) {}  // NOLINT: so is a consent
  /// The grant at a position of the stable order; `index` is below `count`.
  static constexpr Grant at(std::size_t index) { return Grant(static_cast<std::uint8_t>(index)); }

  constexpr std::size_t index() const { return index_; }
  std::optional<Deviation> deviation() const;
  std::optional<Consent> consent() const;

  friend constexpr auto operator<=>(Grant, Grant) = default;

 private:
  explicit constexpr Grant(std::uint8_t index) : index_(index) {}
  std::uint8_t index_;
};

/// The stable name, as it stands in manifests, reports, cache keys and SAREK_OPT_DISABLE.
std::string_view grant_name(Grant grant);
/// One sentence for people: what holding it allows.
std::string_view grant_meaning(Grant grant);
std::optional<Grant> grant_by_name(std::string_view name);
/// The seven names in their order, with commas: for messages about a name that is none.
std::string grant_list();
/// The seven grants in their stable order.
const std::array<Grant, Grant::count>& all_grants();

/// Every transformation that a policy decision can apply to a launch.
enum class Optimisation : std::uint8_t { LaunchWindow, EpilogueFusion, MatrixRewrite, NarrowingProof, AutoUnroll };
inline constexpr std::size_t optimisation_count = 5;

std::string_view optimisation_name(Optimisation optimisation);
std::optional<Optimisation> optimisation_by_name(std::string_view name);
const std::array<Optimisation, optimisation_count>& all_optimisations();

/// A set over a small enumeration, iterated in the enumeration's stable order. `Item` is Grant or Optimisation.
template <typename Item>
class SmallSet {
 public:
  constexpr SmallSet() = default;
  constexpr SmallSet(std::initializer_list<Item> items) {
    for (Item item : items) insert(item);
  }

  constexpr bool contains(Item item) const { return (bits_ >> position(item) & 1U) != 0; }
  constexpr bool contains_all(SmallSet other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr bool empty() const { return bits_ == 0; }
  std::size_t size() const {
    std::size_t result = 0;
    for (std::uint32_t rest = bits_; rest != 0; rest &= rest - 1) ++result;
    return result;
  }
  constexpr void insert(Item item) { bits_ |= 1U << position(item); }
  constexpr void erase(Item item) { bits_ &= ~(1U << position(item)); }

  friend constexpr SmallSet operator&(SmallSet a, SmallSet b) { return SmallSet(a.bits_ & b.bits_); }
  friend constexpr SmallSet operator|(SmallSet a, SmallSet b) { return SmallSet(a.bits_ | b.bits_); }
  friend constexpr SmallSet operator-(SmallSet a, SmallSet b) { return SmallSet(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(SmallSet, SmallSet) = default;

  class Iterator {
   public:
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;
    using pointer = void;
    using reference = Item;
    constexpr explicit Iterator(std::uint32_t rest = 0) : rest_(rest) {}
    constexpr Item operator*() const { return at(lowest()); }
    constexpr Iterator& operator++() {
      rest_ &= rest_ - 1;
      return *this;
    }
    constexpr Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    constexpr std::size_t lowest() const {
      std::size_t position = 0;
      while ((rest_ >> position & 1U) == 0) ++position;
      return position;
    }
    std::uint32_t rest_;
  };
  constexpr Iterator begin() const { return Iterator(bits_); }
  constexpr Iterator end() const { return Iterator(0); }

 private:
  explicit constexpr SmallSet(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::size_t position(Item item) {
    if constexpr (std::is_enum_v<Item>) return static_cast<std::size_t>(item);
    else return item.index();
  }
  static constexpr Item at(std::size_t position) {
    if constexpr (std::is_enum_v<Item>) return static_cast<Item>(position);
    else return Item::at(position);
  }
  std::uint32_t bits_ = 0;
};

using GrantSet = SmallSet<Grant>;
using OptimisationSet = SmallSet<Optimisation>;

/// Where a grant applies: every kernel, or the kernel of exactly this name.
class Scope {
 public:
  static Scope process() { return Scope(std::nullopt); }
  static Scope kernel(std::string name) { return Scope(std::move(name)); }

  bool is_process() const { return !kernel_.has_value(); }
  /// The kernel's name; only where `!is_process()`.
  const std::string& kernel_name() const { return *kernel_; }

  friend bool operator==(const Scope&, const Scope&) = default;

 private:
  explicit Scope(std::optional<std::string> kernel) : kernel_(std::move(kernel)) {}
  std::optional<std::string> kernel_;
};

/// The name that every unnamed kernel gets. A grant for it would cover all of them, so it is refused.
inline constexpr std::string_view default_kernel_name = "sarek_kern";

/// Why a grant was not recorded.
enum class Refusal : std::uint8_t { BlankReason, DefaultKernelName };

std::string_view refusal_message(Refusal refusal);

/// True when a reason says nothing: it is empty or holds white space alone (ASCII and the Unicode spaces, in UTF-8).
bool is_blank(std::string_view reason);

/// The known name nearest to a misspelt one, by edit distance; empty when none is near enough to be worth suggesting.
std::string_view nearest_name(std::string_view wrong, const std::vector<std::string_view>& known);

}  // namespace sarek::policy
