// Heat spreading from a hot spot.
#include <utility>

#include "common/sample.hpp"
#include "stencil.sarek.hpp"

int main() {
  constexpr int width = 150, height = 101;
  std::vector<float> plate(width * height, 20.0f);
  for (int y = 40; y < 60; ++y)
    for (int x = 70; x < 80; ++x) plate[static_cast<std::size_t>(y * width + x)] = 1000.0f;
  return sample::compare_devices("stencil", [&](const sarek::Device& device) {
    const stencil::Kernels kernels(device);
    sarek::Vector<float> from(device, plate), to(device, plate.size());
    for (int step = 0; step < 20; ++step) {
      kernels.heat({sarek::ceil_div(width, 32), sarek::ceil_div(height, 8)}, width, height, 0.2f, from, to);
      std::swap(from, to);
    }
    sample::Results results;
    results.add(from);
    return results;
  });
}
