// y = a * x + y on every device of this machine.
#include "common/sample.hpp"
#include "saxpy.sarek.hpp"

int main() {
  constexpr std::int64_t n = 100000;
  sample::Random random(1);
  std::vector<float> x(n), y(n);
  for (float& v : x) v = random.uniform(-10, 10);
  for (float& v : y) v = random.uniform(-10, 10);
  return sample::compare_devices("saxpy", [&](const sarek::Device& device) {
    const saxpy::Kernels kernels(device);
    const sarek::Vector<float> dx(device, x);
    sarek::Vector<float> dy(device, y);
    kernels.saxpy({sarek::ceil_div(n, 256)}, 2.5f, dx, dy);
    sample::Results results;
    results.add(dy);
    return results;
  });
}
