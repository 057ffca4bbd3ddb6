// The same kernels for ISPC, over a range of rows or elements.
export void ispc_saxpy(uniform int64 first, uniform int64 last, uniform float a, const uniform float x[], uniform float y[]) {
  foreach (i = first ... last) { y[i] = a * x[i] + y[i]; }
}

export void ispc_mandelbrot(uniform int64 first_row, uniform int64 last_row, uniform int width, uniform float left, uniform float top, uniform float dx,
                            uniform float dy, uniform int limit, uniform int32 counts[]) {
  for (uniform int row = first_row; row < last_row; ++row) {
    foreach (column = 0 ... width) {
      float cx = left + column * dx;
      float cy = top + row * dy;
      float x = cx;
      float y = cy;
      int n = 0;
      while (n < limit && x * x + y * y <= 4.0f) {
        float next = x * x - y * y;
        y = cy + 2.0f * x * y;
        x = cx + next;
        ++n;
      }
      counts[row * width + column] = n;
    }
  }
}

export void ispc_stencil(uniform int64 first_row, uniform int64 last_row, uniform int width, uniform float rate, const uniform float before[],
                         uniform float after[]) {
  for (uniform int y = first_row; y < last_row; ++y) {
    foreach (x = 1 ... width - 1) {
      int at = y * width + x;
      float around = before[at - 1] + before[at + 1] + before[at - width] + before[at + width];
      after[at] = before[at] + rate * (around - 4.0f * before[at]);
    }
  }
}

export void ispc_nbody(uniform int64 first, uniform int64 last, uniform int n, uniform float softening, const uniform float x[], const uniform float y[],
                       const uniform float z[], const uniform float m[], uniform float ax[], uniform float ay[], uniform float az[]) {
  foreach (i = first ... last) {
    float px = x[i];
    float py = y[i];
    float pz = z[i];
    float sx = 0, sy = 0, sz = 0;
    for (uniform int j = 0; j < n; ++j) {
      float dx = x[j] - px;
      float dy = y[j] - py;
      float dz = z[j] - pz;
      float d2 = dx * dx + dy * dy + dz * dz + softening;
      float f = m[j] / (d2 * sqrt(d2));
      sx += dx * f;
      sy += dy * f;
      sz += dz * f;
    }
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
  }
}

export void ispc_gemm(uniform int64 first_row, uniform int64 last_row, uniform int n, uniform int k, const uniform float a[], const uniform float b[],
                      uniform float c[]) {
  for (uniform int row = first_row; row < last_row; ++row) {
    foreach (col = 0 ... n) {
      float sum = 0;
      for (uniform int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
      c[row * n + col] = sum;
    }
  }
}

export void ispc_histogram(uniform int64 first, uniform int64 last, const uniform uint8 data[], uniform uint32 counts[]) {
  foreach (i = first ... last) { atomic_add_local(&counts[data[i]], 1); }
}
