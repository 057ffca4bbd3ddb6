// libFuzzer target: packages. The input is the JSON index and, from its first zero byte on, the blobs; header and checksums are made to
// fit, so that the fuzzer gets past them. What is read is written again and read to the same; what an index says of IR is given to the
// interpreter device. Seeds: indexes that sarekc --emit=metadata shows.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/artifact/package.h"
#include "runtime/artifact/sha256.h"
#include "runtime/drivers/driver.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Int>
void put(std::vector<std::uint8_t>& out, std::size_t at, Int value) {
  for (std::size_t i = 0; i < sizeof(Int); ++i) out[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

/// The bytes of a file with this index behind these blobs.
std::vector<std::uint8_t> framed(std::string index, const std::string& blobs) {
  std::vector<std::uint8_t> out(64);
  out.insert(out.end(), blobs.begin(), blobs.end());
  out.resize((out.size() + 63) / 64 * 64);
  // A checksum that nobody could guess: "#" in its place stands for the right one of the whole blob area.
  const std::string digest = sarek::artifact::sha256_hex({out.data() + 64, blobs.size()});
  for (std::size_t at = index.find("\"#\""); at != std::string::npos; at = index.find("\"#\"", at)) index.replace(at + 1, 1, digest);
  const std::size_t offset = out.size();
  out.insert(out.end(), index.begin(), index.end());
  std::memcpy(out.data(), "SAREKPKG", 8);
  put<std::uint32_t>(out, 8, sarek::artifact::kFormatVersion);
  put<std::uint64_t>(out, 16, offset);
  put<std::uint64_t>(out, 24, index.size());
  const auto checksum = sarek::artifact::sha256(std::span<const std::uint8_t>(out).subspan(offset));
  std::memcpy(out.data() + 32, checksum.data(), checksum.size());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sarek;
  const std::span<const std::uint8_t> raw(data, size);
  (void)artifact::read_package(raw);
  const auto* zero = static_cast<const std::uint8_t*>(size ? std::memchr(data, 0, size) : nullptr);
  const std::size_t split = zero ? static_cast<std::size_t>(zero - data) : size;
  const std::string index(data, data + split);
  const std::string blobs(data + (zero ? split + 1 : split), data + size);
  const Result<artifact::Package> package = artifact::read_package(framed(index, blobs));
  if (!package) {
    require(!package.error().message.empty());
    return 0;
  }
  const std::vector<std::uint8_t> once = artifact::write_package(*package);
  const Result<artifact::Package> again = artifact::read_package(once);
  require(again.has_value() && artifact::write_package(*again) == once);
  static const auto devices = runtime::interpreter_devices();
  for (const artifact::Kernel& kernel : package->kernels)
    for (const artifact::Variant& variant : kernel.variants)
      if (devices.front()->rank(variant) >= 0) {
        const auto loaded = devices.front()->load(*package, kernel, variant);
        require(loaded.has_value() || !loaded.error().message.empty());
      }
  return 0;
}
