// A sum and the running sums of a long vector, by blocks: the totals of the blocks are scanned by the same kernel.
#include "common/sample.hpp"
#include "reduce_scan.sarek.hpp"

int main() {
  constexpr std::int64_t n = 60000, block = 256;
  constexpr std::int64_t blocks = sarek::ceil_div(n, block);
  sample::Random random(3);
  std::vector<float> x(n);
  std::vector<std::int32_t> counts(n);
  for (float& v : x) v = random.uniform(-1, 1);
  for (std::int32_t& v : counts) v = static_cast<std::int32_t>(random.next() % 100);
  return sample::compare_devices("reduce_scan", [&](const sarek::Device& device) {
    const reduce_scan::Kernels kernels(device);
    sarek::Vector<float> dx(device, x), sums(device, blocks), total(device, 1);
    kernels.block_sums({blocks}, dx, sums);
    kernels.block_sums({sarek::ceil_div(blocks, block)}, sums, total);

    const sarek::Vector<std::int32_t> input(device, counts);
    sarek::Vector<std::int32_t> running(device, n), totals(device, blocks), scanned(device, blocks), unused(device, 1);
    kernels.block_scan({blocks}, input, running, totals);
    kernels.block_scan({1}, totals, scanned, unused);
    kernels.add_totals({blocks}, scanned, running);
    std::int32_t sum = 0;
    const std::span<const std::int32_t> result = running.view();
    for (std::size_t i = 0; i < counts.size(); ++i)
      if ((sum += counts[i]) != result[i]) throw std::runtime_error("a running sum is wrong on " + device.id());
    sample::Results results;
    results.add(total);
    results.add(running);
    return results;
  });
}
