// See peers.h. PEERS_NAME is the function that this compilation defines.
#include "tests/bench/peers.h"

#include <cmath>

namespace peers {
namespace {

void saxpy(std::int64_t first, std::int64_t last, float a, const float* x, float* y) {
  for (std::int64_t i = first; i < last; ++i) y[i] = a * x[i] + y[i];
}

void mandelbrot(std::int64_t first_row, std::int64_t last_row, int width, float left, float top, float dx, float dy, int limit,
                std::int32_t* counts) {
  for (std::int64_t row = first_row; row < last_row; ++row)
    for (int column = 0; column < width; ++column) {
      const float cx = left + static_cast<float>(column) * dx;
      const float cy = top + static_cast<float>(row) * dy;
      float x = cx;
      float y = cy;
      int n = 0;
      while (n < limit && x * x + y * y <= 4.0f) {
        const float next = x * x - y * y;
        y = cy + 2.0f * x * y;
        x = cx + next;
        ++n;
      }
      counts[row * width + column] = n;
    }
}

void stencil(std::int64_t first_row, std::int64_t last_row, int width, float rate, const float* before, float* after) {
  for (std::int64_t y = first_row; y < last_row; ++y)
    for (int x = 1; x < width - 1; ++x) {
      const std::int64_t at = y * width + x;
      const float around = before[at - 1] + before[at + 1] + before[at - width] + before[at + width];
      after[at] = before[at] + rate * (around - 4.0f * before[at]);
    }
}

void nbody(std::int64_t first, std::int64_t last, int n, float softening, const float* x, const float* y, const float* z, const float* m,
           float* ax, float* ay, float* az) {
  for (std::int64_t i = first; i < last; ++i) {
    float sx = 0, sy = 0, sz = 0;
    for (int j = 0; j < n; ++j) {
      const float dx = x[j] - x[i];
      const float dy = y[j] - y[i];
      const float dz = z[j] - z[i];
      const float d2 = dx * dx + dy * dy + dz * dz + softening;
      const float f = m[j] / (d2 * std::sqrt(d2));
      sx += dx * f;
      sy += dy * f;
      sz += dz * f;
    }
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
  }
}

void gemm(std::int64_t first_row, std::int64_t last_row, int n, int k, const float* a, const float* b, float* c) {
  for (std::int64_t row = first_row; row < last_row; ++row)
    for (int col = 0; col < n; ++col) {
      float sum = 0;
      for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[static_cast<std::int64_t>(i) * n + col];
      c[row * n + col] = sum;
    }
}

void histogram(std::int64_t first, std::int64_t last, const std::uint8_t* data, std::uint32_t* counts) {
  for (std::int64_t i = first; i < last; ++i) ++counts[data[i]];
}

}  // namespace

const Loops& PEERS_NAME() {
  static const Loops loops = {&saxpy, &mandelbrot, &stencil, &nbody, &gemm, &histogram};
  return loops;
}

}  // namespace peers
