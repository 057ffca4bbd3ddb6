// Result<T>: a value or an error, the way errors cross folders. g++ 12 has no std::expected under C++20, hence this small one.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace sarek {

/// What went wrong, in one lower-case sentence without a full stop.
struct Error {
  std::string message;
};

/// Wraps an error so that `return Err(...)` converts to any Result with that error type.
template <class E>
struct ErrorHolder {
  E error;
};
template <class E>
ErrorHolder<E> Err(E error) {
  return {std::move(error)};
}
inline ErrorHolder<Error> err(std::string message) { return {Error{std::move(message)}}; }

/// A value of type T, or an error of type E. `value()` and `error()` require that the matching alternative holds.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}                       // NOLINT: implicit by design
  Result(ErrorHolder<E> holder) : state_(std::in_place_index<1>, std::move(holder.error)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  E& error() & { return std::get<1>(state_); }
  const E& error() const& { return std::get<1>(state_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, E> state_;
};

/// Success without a value, for Result<Unit>.
struct Unit {};

}  // namespace sarek
