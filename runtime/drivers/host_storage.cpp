// Host memory as device storage, shared by the drivers that run on the CPU in this process.
#include <cstdlib>
#include <cstring>

#include "runtime/drivers/driver.h"

namespace sarek::runtime {
namespace {

class HostStorage final : public Storage {
 public:
  HostStorage(void* data, bool owned) : data_(data), owned_(owned) {}
  ~HostStorage() override {
    if (owned_) std::free(data_);
  }
  HostStorage(const HostStorage&) = delete;
  HostStorage& operator=(const HostStorage&) = delete;
  void* host() override { return data_; }

 private:
  void* data_;
  bool owned_;
};

}  // namespace

Result<std::unique_ptr<Storage>> allocate_host_storage(std::size_t bytes) {
  constexpr std::size_t kAlign = 64;
  if (bytes > SIZE_MAX - kAlign) return err("a vector of " + std::to_string(bytes) + " bytes cannot be allocated");
  const std::size_t rounded = ((bytes == 0 ? 1 : bytes) + kAlign - 1) & ~(kAlign - 1);
  void* data = std::aligned_alloc(kAlign, rounded);
  if (!data) return err("no memory for a vector of " + std::to_string(bytes) + " bytes");
  std::memset(data, 0, rounded);
  return std::unique_ptr<Storage>(new HostStorage(data, true));
}

std::unique_ptr<Storage> borrow_host_storage(void* data, std::size_t) { return std::make_unique<HostStorage>(data, false); }

}  // namespace sarek::runtime
