// Counts bytes and checks the counts on the host.
#include "common/sample.hpp"
#include "histogram.sarek.hpp"

int main() {
  constexpr std::int64_t n = 200000;
  sample::Random random(4);
  std::vector<std::uint8_t> data(n);
  std::vector<std::uint32_t> expected(256);
  for (std::uint8_t& v : data) {
    v = static_cast<std::uint8_t>(random.next() & random.next());  // not uniform
    ++expected[v];
  }
  return sample::compare_devices("histogram", [&](const sarek::Device& device) {
    const histogram::Kernels kernels(device);
    const sarek::Vector<std::uint8_t> input(device, data);
    sarek::Vector<std::uint32_t> counts(device, 256);
    kernels.histogram({64}, input, counts);
    if (std::memcmp(counts.view().data(), expected.data(), expected.size() * sizeof(std::uint32_t)) != 0)
      throw std::runtime_error("the counts are wrong on " + device.id());
    sample::Results results;
    results.add(counts);
    return results;
  });
}
