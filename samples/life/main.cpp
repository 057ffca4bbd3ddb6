// Generations of a random population on a torus.
#include <utility>

#include "common/sample.hpp"
#include "life.sarek.hpp"

int main() {
  constexpr int width = 130, height = 97;
  sample::Random random(7);
  std::vector<std::uint8_t> cells(width * height);
  for (std::uint8_t& c : cells) c = random.next() % 3 == 0;
  return sample::compare_devices("life", [&](const sarek::Device& device) {
    const life::Kernels kernels(device);
    sarek::Vector<std::uint8_t> from(device, cells), to(device, cells.size());
    for (int generation = 0; generation < 10; ++generation) {
      kernels.generation({sarek::ceil_div(width, 32), sarek::ceil_div(height, 8)}, width, height, from, to);
      std::swap(from, to);
    }
    sample::Results results;
    results.add(from);
    return results;
  });
}
