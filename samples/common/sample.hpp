// What the sample programs share: run the same work on every device of this machine and compare the results byte by byte.
#pragma once

#include <sarek/sarek.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sample {

/// Results of one run, as bytes.
class Results {
 public:
  template <class T>
  void add(std::span<const T> values) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    bytes_.insert(bytes_.end(), bytes, bytes + values.size_bytes());
  }
  template <class T>
  void add(const sarek::Vector<T>& vector) {
    add(vector.view());
  }
  const std::vector<unsigned char>& bytes() const { return bytes_; }

 private:
  std::vector<unsigned char> bytes_;
};

/// Numbers that are the same on every machine (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  float uniform(float low, float high) { return low + (high - low) * (static_cast<float>(next() >> 40) * 0x1p-24f); }

 private:
  std::uint64_t state_;
};

/// Runs `work` on every device and compares with the first one's results. Prints one line a device; the return value is main's.
inline int compare_devices(const char* name, const std::function<Results(const sarek::Device&)>& work) {
  try {
    std::vector<unsigned char> expected;
    std::string first;
    bool same = true;
    for (const sarek::Device& device : sarek::Device::all()) {
      const auto start = std::chrono::steady_clock::now();
      const Results results = work(device);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      std::string verdict = "the reference of this comparison";
      if (first.empty()) {
        first = device.id();
        expected = results.bytes();
      } else if (results.bytes() == expected) {
        verdict = "same bits as " + first;
      } else {
        verdict = "DIFFERS from " + first;
        same = false;
      }
      std::printf("%-12s %-10s %9zu bytes  %8.3f s  %s\n", name, device.id().c_str(), results.bytes().size(), seconds, verdict.c_str());
    }
    return same ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 1;
  }
}

}  // namespace sample
