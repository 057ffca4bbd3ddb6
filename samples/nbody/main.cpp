// A cloud of bodies for some steps: chaotic, so one different bit would soon be many.
#include <utility>

#include "common/sample.hpp"
#include "nbody.sarek.hpp"

int main() {
  constexpr std::int64_t n = 200;
  sample::Random random(6);
  std::vector<nbody::Body> bodies(n);
  for (nbody::Body& b : bodies) {
    for (float& p : b.position) p = random.uniform(-1, 1);
    for (float& v : b.velocity) v = random.uniform(-0.1f, 0.1f);
    b.mass = random.uniform(0.1f, 1);
    b.padding = 0;
  }
  return sample::compare_devices("nbody", [&](const sarek::Device& device) {
    const nbody::Kernels kernels(device);
    sarek::Vector<nbody::Body> from(device, bodies), to(device, n);
    for (int step = 0; step < 5; ++step) {
      kernels.step({sarek::ceil_div(n, 128)}, 0.01f, 0.001f, from, to);
      std::swap(from, to);
    }
    sample::Results results;
    results.add(from);
    return results;
  });
}
