// Sorts keys in eight passes of four bits and checks the order.
#include <algorithm>
#include <utility>

#include "common/sample.hpp"
#include "radix_sort.sarek.hpp"

int main() {
  constexpr std::int64_t n = 5000;
  constexpr std::int64_t blocks = sarek::ceil_div(n, 256);
  sample::Random random(5);
  std::vector<std::uint32_t> keys(n);
  for (std::uint32_t& k : keys) k = static_cast<std::uint32_t>(random.next());
  std::vector<std::uint32_t> expected = keys;
  std::sort(expected.begin(), expected.end());
  return sample::compare_devices("radix_sort", [&](const sarek::Device& device) {
    const radix_sort::Kernels kernels(device);
    sarek::Vector<std::uint32_t> from(device, keys), to(device, n);
    sarek::Vector<std::int32_t> counts(device, 16 * blocks);
    for (std::uint32_t shift = 0; shift < 32; shift += 4) {
      kernels.count_digits({blocks}, from, shift, counts);
      kernels.scan_counts({1}, counts);
      kernels.scatter({blocks}, from, shift, counts, to);
      std::swap(from, to);
    }
    if (std::memcmp(from.view().data(), expected.data(), n * sizeof(std::uint32_t)) != 0)
      throw std::runtime_error("the keys are not sorted on " + device.id());
    sample::Results results;
    results.add(from);
    return results;
  });
}
