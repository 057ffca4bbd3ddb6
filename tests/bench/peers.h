// The kernels of kernels.sarek as plain loops over a range of rows or elements, compiled twice: contraction on (how people build) and off
// (the same bits as Sarek). Both by the host compiler with -O3.
#pragma once

#include <cstdint>

namespace peers {

struct Loops {
  void (*saxpy)(std::int64_t first, std::int64_t last, float a, const float* x, float* y);
  void (*mandelbrot)(std::int64_t first_row, std::int64_t last_row, int width, float left, float top, float dx, float dy, int limit,
                     std::int32_t* counts);
  void (*stencil)(std::int64_t first_row, std::int64_t last_row, int width, float rate, const float* before, float* after);
  void (*nbody)(std::int64_t first, std::int64_t last, int n, float softening, const float* x, const float* y, const float* z,
                const float* m, float* ax, float* ay, float* az);
  void (*gemm)(std::int64_t first_row, std::int64_t last_row, int n, int k, const float* a, const float* b, float* c);
  void (*histogram)(std::int64_t first, std::int64_t last, const std::uint8_t* data, std::uint32_t* counts);
};

const Loops& contracted();
const Loops& exact();

}  // namespace peers
