// Halide's code of the kernels behind the signatures of peers.h: tools/bench compiles this file with what halide_peer.py wrote, into a
// shared library. Ranges of rows become views of the caller's memory, at the coordinates of the whole; nothing is copied.
#include <HalideRuntime.h>
#include <aot_gemm.h>
#include <aot_histogram.h>
#include <aot_mandelbrot.h>
#include <aot_nbody.h>
#include <aot_saxpy.h>
#include <aot_stencil.h>

#include <cstdint>

#include "tests/bench/peers.h"

namespace {

struct Range {
  std::int64_t first;
  std::int64_t last;
};

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr halide_type_t type{halide_type_float, 32};
};
template <>
struct TypeOf<std::int32_t> {
  static constexpr halide_type_t type{halide_type_int, 32};
};
template <>
struct TypeOf<std::uint32_t> {
  static constexpr halide_type_t type{halide_type_uint, 32};
};
template <>
struct TypeOf<std::uint8_t> {
  static constexpr halide_type_t type{halide_type_uint, 8};
};

/// Columns and rows of an array with `width` elements a row, as a buffer; `data` is where the array itself begins. A buffer points to what
/// may be written, also where Halide only reads.
template <class T>
class View {
 public:
  View(const T* data, std::int64_t width, Range columns, Range rows = {0, 1}) {
    dimensions_[0] = halide_dimension_t(static_cast<int>(columns.first), static_cast<int>(columns.last - columns.first), 1);
    dimensions_[1] = halide_dimension_t(static_cast<int>(rows.first), static_cast<int>(rows.last - rows.first), static_cast<int>(width));
    buffer_.host = reinterpret_cast<std::uint8_t*>(const_cast<T*>(data + rows.first * width + columns.first));
    buffer_.type = TypeOf<T>::type;
    buffer_.dim = dimensions_;
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  halide_buffer_t* line() { return of(1); }
  halide_buffer_t* plane() { return of(2); }

 private:
  halide_buffer_t* of(int dimensions) {
    buffer_.dimensions = dimensions;
    return &buffer_;
  }

  halide_dimension_t dimensions_[2];
  halide_buffer_t buffer_{};
};

}  // namespace

extern "C" {

void halide_saxpy(std::int64_t first, std::int64_t last, float a, const float* x, float* y) {
  // From 0, since Halide's coordinates have 32 bits.
  const Range all{0, last - first};
  aot_saxpy(a, View<float>(x + first, 0, all).line(), View<float>(y + first, 0, all).line());
}

void halide_mandelbrot(std::int64_t first_row, std::int64_t last_row, int width, float left, float top, float dx, float dy, int limit,
                       std::int32_t* counts) {
  aot_mandelbrot(left, top, dx, dy, limit, View<std::int32_t>(counts, width, {0, width}, {first_row, last_row}).plane());
}

void halide_stencil(std::int64_t first_row, std::int64_t last_row, int width, float rate, const float* before, float* after) {
  aot_stencil(rate, View<float>(before, width, {0, width}, {first_row - 1, last_row + 1}).plane(),
              View<float>(after, width, {1, width - 1}, {first_row, last_row}).plane());
}

void halide_nbody(std::int64_t first, std::int64_t last, int n, float softening, const float* x, const float* y, const float* z,
                  const float* m, float* ax, float* ay, float* az) {
  const Range all{0, n}, own{first, last};
  aot_nbody(n, softening, View<float>(x, 0, all).line(), View<float>(y, 0, all).line(), View<float>(z, 0, all).line(),
            View<float>(m, 0, all).line(), View<float>(ax, 0, own).line(), View<float>(ay, 0, own).line(), View<float>(az, 0, own).line());
}

void halide_gemm(std::int64_t first_row, std::int64_t last_row, int n, int k, const float* a, const float* b, float* c) {
  aot_gemm(static_cast<int>(last_row), k, View<float>(a, k, {0, k}, {first_row, last_row}).plane(),
           View<float>(b, n, {0, n}, {0, k}).plane(), View<float>(c, n, {0, n}, {first_row, last_row}).plane());
}

void halide_histogram(std::int64_t first, std::int64_t last, const std::uint8_t* data, std::uint32_t* counts) {
  const Range all{0, last - first};
  aot_histogram(static_cast<int>(last - first), View<std::uint8_t>(data + first, 0, all).line(),
                View<std::uint32_t>(counts, 0, {0, 256}).line());
}
}

/// They are what peers.h asks for.
[[maybe_unused]] static constexpr peers::Loops kLoops = {&halide_saxpy, &halide_mandelbrot, &halide_stencil,
                                                         &halide_nbody, &halide_gemm,       &halide_histogram};
