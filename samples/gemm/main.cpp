// A matrix product, naive and tiled, with sizes that are no multiples of the tile. Both must have the same bits, on every device.
#include "common/sample.hpp"
#include "gemm.sarek.hpp"

int main() {
  constexpr int m = 70, n = 52, k = 93;
  sample::Random random(2);
  std::vector<float> a(m * k), b(k * n);
  for (float& v : a) v = random.uniform(-1, 1);
  for (float& v : b) v = random.uniform(-1, 1);
  return sample::compare_devices("gemm", [&](const sarek::Device& device) {
    const gemm::Kernels kernels(device);
    const sarek::Vector<float> da(device, a), db(device, b);
    sarek::Vector<float> naive(device, m * n), tiled(device, m * n);
    const sarek::Grid grid{sarek::ceil_div(n, 16), sarek::ceil_div(m, 16)};
    kernels.gemm_naive(grid, m, n, k, da, db, naive);
    kernels.gemm_tiled(grid, m, n, k, da, db, tiled);
    if (std::memcmp(naive.view().data(), tiled.view().data(), naive.size() * sizeof(float)) != 0)
      throw std::runtime_error("the tiled product differs from the naive one on " + device.id());
    sample::Results results;
    results.add(naive);
    return results;
  });
}
