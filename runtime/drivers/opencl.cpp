// The OpenCL driver: the ICD loader is opened at run time, so a machine without it simply has no OpenCL device. Programs are built from
// the package's OpenCL C text once per device and text.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "runtime/artifact/fault_record.h"
#include "runtime/artifact/sha256.h"
#include "runtime/drivers/driver.h"
#include "runtime/drivers/fault.h"

namespace sarek::runtime {
namespace {

// clang-format off: its layout of a list of macro calls changes at each run.
#define SAREK_OPENCL_FUNCTIONS(X) \
  X(clGetPlatformIDs) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) X(clCreateCommandQueue) X(clCreateBuffer) \
  X(clReleaseMemObject) X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) X(clCreateProgramWithSource) X(clBuildProgram) \
  X(clGetProgramBuildInfo) X(clReleaseProgram) X(clCreateKernel) X(clReleaseKernel) X(clSetKernelArg) X(clEnqueueNDRangeKernel) \
  X(clFinish) X(clReleaseContext) X(clReleaseCommandQueue)
// clang-format on

/// The entry points of the loader library.
struct Api {
#define SAREK_MEMBER(name) decltype(&::name) name = nullptr;
  SAREK_OPENCL_FUNCTIONS(SAREK_MEMBER)
#undef SAREK_MEMBER

  /// Null when the library or one of its functions is missing.
  static const Api* load(std::string* why) {
    static std::string reason;
    static const Api* api = []() -> const Api* {
      void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
      if (!library) {
        reason = "libOpenCL.so.1 is not installed";
        return nullptr;
      }
      static Api table;
      bool complete = true;
#define SAREK_LOAD(name)                                                   \
  table.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  complete = complete && table.name;
      SAREK_OPENCL_FUNCTIONS(SAREK_LOAD)
#undef SAREK_LOAD
      if (!complete) reason = "libOpenCL.so.1 lacks functions of OpenCL 1.2";
      return complete ? &table : nullptr;
    }();
    if (!api && why) *why = reason;
    return api;
  }
};

std::string code(const char* call, cl_int status) { return std::string(call) + " failed with status " + std::to_string(status); }

struct ProgramHolder {
  ProgramHolder(const Api* a, cl_program p) : api(a), program(p) {}
  ~ProgramHolder() { api->clReleaseProgram(program); }
  ProgramHolder(const ProgramHolder&) = delete;
  ProgramHolder& operator=(const ProgramHolder&) = delete;
  const Api* api;
  cl_program program;
};

struct OpenclKernel final : LoadedKernel {
  const Api* api = nullptr;
  std::shared_ptr<ProgramHolder> program;
  cl_kernel kernel = nullptr;
  std::mutex mutex;                       // arguments are state of the cl_kernel
  std::vector<std::size_t> scalar_bytes;  // per slot; 0 for buffers
  std::vector<std::size_t> shared_elements;
  std::array<int, 3> block{};
  std::string name;
  bool checked = false;
  std::vector<artifact::FaultSite> sites;
  ~OpenclKernel() override {
    if (kernel) api->clReleaseKernel(kernel);
  }
};

struct OpenclStorage final : Storage {
  OpenclStorage(const Api* a, cl_mem m) : api(a), memory(m) {}
  ~OpenclStorage() override { api->clReleaseMemObject(memory); }
  OpenclStorage(const OpenclStorage&) = delete;
  OpenclStorage& operator=(const OpenclStorage&) = delete;
  const Api* api;
  cl_mem memory;
};

std::size_t type_bytes(const std::string& type) {
  if (type == "f64" || type == "i64" || type == "u64") return 8;
  if (type == "f32" || type == "i32" || type == "u32") return 4;
  if (type == "f16" || type == "bf16" || type == "i16" || type == "u16") return 2;
  return 1;
}

class OpenclDevice final : public Device {
 public:
  OpenclDevice(const Api* api, cl_device_id device, int number) : api_(api), device_(device) {
    info_.id = "opencl:" + std::to_string(number);
    info_.target = "opencl";
    info_.framework = "OpenCL";
    info_.name = text(CL_DEVICE_NAME);
    const std::string extensions = " " + text(CL_DEVICE_EXTENSIONS) + " ";
    const auto has = [&](const char* name) { return extensions.find(std::string(" ") + name + " ") != std::string::npos; };
    if (has("cl_khr_fp64")) info_.capabilities.emplace_back("fp64");
    if (has("cl_khr_fp16")) info_.capabilities.emplace_back("fp16");
    if (has("cl_khr_int64_base_atomics") && has("cl_khr_int64_extended_atomics")) info_.capabilities.emplace_back("int64-atomics");
    const auto config = number_of<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG);
    exact_divide_ = (config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    if (exact_divide_) info_.capabilities.emplace_back("fp32-exact-divide");
    if (config & CL_FP_DENORM) info_.capabilities.emplace_back("fp32-denormals");
    info_.max_block_threads = static_cast<std::int64_t>(number_of<std::size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE));
    info_.max_shared_bytes = static_cast<std::int64_t>(number_of<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE));
    info_.compute_units = number_of<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS);
  }
  ~OpenclDevice() override {
    if (queue_) api_->clReleaseCommandQueue(queue_);
    if (context_) api_->clReleaseContext(context_);
  }
  OpenclDevice(const OpenclDevice&) = delete;
  OpenclDevice& operator=(const OpenclDevice&) = delete;

  const DeviceInfo& info() const override { return info_; }

  int rank(const artifact::Variant& variant) const override {
    if (variant.target != "opencl") return -1;
    for (const std::string& need : variant.requires_) {
      bool found = false;
      for (const std::string& have : info_.capabilities) found = found || have == need;
      if (!found) return -1;
    }
    return 1;
  }

  Result<std::unique_ptr<LoadedKernel>> load(const artifact::Package& package, const artifact::Kernel& kernel,
                                             const artifact::Variant& variant) override {
    const artifact::Blob& blob = package.blobs[static_cast<std::size_t>(variant.blob)];
    if (blob.kind != "opencl-c") return err("kernel `" + kernel.name + "`: its OpenCL variant names a blob of kind `" + blob.kind + "`");
    const std::int64_t threads = std::int64_t{kernel.block[0]} * kernel.block[1] * kernel.block[2];
    if (threads > info_.max_block_threads)
      return err("kernel `" + kernel.name + "` has blocks of " + std::to_string(threads) + " threads, " + info_.id + " allows " +
                 std::to_string(info_.max_block_threads));
    Result<std::shared_ptr<ProgramHolder>> program = build(blob);
    if (!program) return Err(program.error());
    auto loaded = std::make_unique<OpenclKernel>();
    loaded->api = api_;
    loaded->program = *program;
    loaded->name = kernel.name;
    loaded->block = kernel.block;
    loaded->checked = kernel.checked;
    loaded->sites = variant.fault_sites;
    cl_int status = CL_SUCCESS;
    loaded->kernel = api_->clCreateKernel(loaded->program->program, variant.entry_name.c_str(), &status);
    if (status != CL_SUCCESS) return err(code("clCreateKernel", status));
    for (const artifact::Slot& slot : kernel.slots) loaded->scalar_bytes.push_back(slot.kind == "buffer" ? 0 : type_bytes(slot.type));
    for (const artifact::DynamicShared& d : kernel.dynamic_shared)
      loaded->shared_elements.push_back(static_cast<std::size_t>(d.element_size));
    return std::unique_ptr<LoadedKernel>(std::move(loaded));
  }

  Result<std::unique_ptr<Storage>> allocate(std::size_t bytes) override {
    if (const Result<Unit> r = ready(); !r) return Err(r.error());
    cl_int status = CL_SUCCESS;
    // The contents start as zeros on every device; OpenCL leaves them open.
    std::vector<unsigned char> zeros(std::max<std::size_t>(1, bytes));
    cl_mem memory = api_->clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, zeros.size(), zeros.data(), &status);
    if (status != CL_SUCCESS) return err(code("clCreateBuffer", status));
    return std::unique_ptr<Storage>(new OpenclStorage(api_, memory));
  }

  Result<std::unique_ptr<Storage>> borrow(void*, std::size_t) override { return err(info_.id + " does not share host memory"); }

  Result<Unit> write(Storage& to, std::size_t offset, const void* from, std::size_t bytes) override {
    if (bytes == 0) return Unit{};
    const cl_int status =
        api_->clEnqueueWriteBuffer(queue_, static_cast<OpenclStorage&>(to).memory, CL_TRUE, offset, bytes, from, 0, nullptr, nullptr);
    if (status != CL_SUCCESS) return err(code("clEnqueueWriteBuffer", status));
    return Unit{};
  }

  Result<Unit> read(Storage& from, std::size_t offset, void* to, std::size_t bytes) override {
    if (bytes == 0) return Unit{};
    const cl_int status =
        api_->clEnqueueReadBuffer(queue_, static_cast<OpenclStorage&>(from).memory, CL_TRUE, offset, bytes, to, 0, nullptr, nullptr);
    if (status != CL_SUCCESS) return err(code("clEnqueueReadBuffer", status));
    return Unit{};
  }

  Result<Unit> launch(LoadedKernel& loaded, const Launch& launch) override {
    auto& kernel = static_cast<OpenclKernel&>(loaded);
    const std::lock_guard lock(kernel.mutex);
    cl_uint position = 0;
    for (std::size_t s = 0; s < launch.slots.size(); ++s, ++position) {
      const SlotValue& slot = launch.slots[s];
      const cl_int status =
          slot.storage ? api_->clSetKernelArg(kernel.kernel, position, sizeof(cl_mem), &static_cast<OpenclStorage*>(slot.storage)->memory)
                       : api_->clSetKernelArg(kernel.kernel, position, kernel.scalar_bytes[s], &slot.bits);
      if (status != CL_SUCCESS) return err("kernel `" + kernel.name + "`: " + code("clSetKernelArg", status));
    }
    for (std::size_t i = 0; i < launch.dynamic_shared.size(); ++i, ++position) {
      const std::size_t bytes = std::max<std::size_t>(1, static_cast<std::size_t>(launch.dynamic_shared[i]) * kernel.shared_elements[i]);
      const cl_int status = api_->clSetKernelArg(kernel.kernel, position, bytes, nullptr);
      if (status != CL_SUCCESS) return err("kernel `" + kernel.name + "`: " + code("clSetKernelArg", status));
    }
    std::unique_ptr<OpenclStorage> faults;
    if (kernel.checked) {
      Result<std::unique_ptr<OpenclStorage>> record = fault_record(launch);
      if (!record) return Err(record.error());
      faults = std::move(*record);
      const cl_int status = api_->clSetKernelArg(kernel.kernel, position, sizeof(cl_mem), &faults->memory);
      if (status != CL_SUCCESS) return err("kernel `" + kernel.name + "`: " + code("clSetKernelArg", status));
    }
    std::array<std::size_t, 3> local{};
    std::array<std::size_t, 3> global{};
    for (std::size_t i = 0; i < 3; ++i) {
      local[i] = static_cast<std::size_t>(kernel.block[i]);
      global[i] = local[i] * static_cast<std::size_t>(launch.grid[i]);
    }
    cl_int status = api_->clEnqueueNDRangeKernel(queue_, kernel.kernel, 3, nullptr, global.data(), local.data(), 0, nullptr, nullptr);
    if (status != CL_SUCCESS) return err("kernel `" + kernel.name + "`: " + code("clEnqueueNDRangeKernel", status));
    status = api_->clFinish(queue_);
    if (status != CL_SUCCESS) return err("kernel `" + kernel.name + "`: " + code("clFinish", status));
    return faults ? look_for_fault(kernel, *faults) : Result<Unit>(Unit{});
  }

 private:
  // Records of so many threads are kept; of those the one of the first block and thread is told.
  static constexpr std::uint32_t kFaultCapacity = 4096;

  /// A fresh record for a launch, with the sizes of its buffers.
  Result<std::unique_ptr<OpenclStorage>> fault_record(const Launch& launch) {
    const std::uint32_t records = artifact::kFaultBytes + 2 * static_cast<std::uint32_t>(launch.buffer_bytes.size());
    std::vector<std::uint32_t> words(records + artifact::kRecordWords * kFaultCapacity);
    words[artifact::kFaultCapacity] = kFaultCapacity;
    words[artifact::kFaultRecords] = records;
    for (std::size_t s = 0; s < launch.buffer_bytes.size(); ++s) {
      const auto bytes = static_cast<std::uint64_t>(launch.buffer_bytes[s]);
      words[artifact::kFaultBytes + 2 * s] = static_cast<std::uint32_t>(bytes);
      words[artifact::kFaultBytes + 2 * s + 1] = static_cast<std::uint32_t>(bytes >> 32);
    }
    cl_int status = CL_SUCCESS;
    cl_mem memory = api_->clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, words.size() * sizeof(std::uint32_t),
                                         words.data(), &status);
    if (status != CL_SUCCESS) return err(code("clCreateBuffer", status));
    return std::make_unique<OpenclStorage>(api_, memory);
  }

  Result<Unit> look_for_fault(const OpenclKernel& kernel, OpenclStorage& storage) {
    std::array<std::uint32_t, 3> head{};
    if (Result<Unit> r = read(storage, 0, head.data(), sizeof head); !r) return r;
    const std::uint32_t count = std::min(head[artifact::kFaultCount], kFaultCapacity);
    if (count == 0) return Unit{};
    std::vector<std::uint32_t> words(std::size_t{count} * artifact::kRecordWords);
    if (Result<Unit> r =
            read(storage, head[artifact::kFaultRecords] * sizeof(std::uint32_t), words.data(), words.size() * sizeof(std::uint32_t));
        !r)
      return r;
    Fault first;
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint32_t* record = &words[std::size_t{k} * artifact::kRecordWords];
      const auto wide = [&](std::uint32_t word) { return static_cast<std::int64_t>(record[word] | std::uint64_t{record[word + 1]} << 32); };
      const Fault fault{record[artifact::kRecordSite], wide(artifact::kRecordBlock), record[artifact::kRecordThread],
                        wide(artifact::kRecordValue), wide(artifact::kRecordLimit)};
      if (k == 0 || std::pair(fault.block, fault.thread) < std::pair(first.block, first.thread)) first = fault;
    }
    return err(describe_fault(kernel.name, kernel.sites, first));
  }

  std::string text(cl_device_info what) const {
    std::size_t size = 0;
    if (api_->clGetDeviceInfo(device_, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
    std::string value(size, '\0');
    api_->clGetDeviceInfo(device_, what, size, value.data(), nullptr);
    value.resize(std::strlen(value.c_str()));
    return value;
  }
  template <class T>
  T number_of(cl_device_info what) const {
    T value{};
    api_->clGetDeviceInfo(device_, what, sizeof value, &value, nullptr);
    return value;
  }

  /// Context and queue, made on first use: listing devices stays cheap.
  Result<Unit> ready() {
    const std::lock_guard lock(mutex_);
    if (queue_) return Unit{};
    cl_int status = CL_SUCCESS;
    context_ = api_->clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
    if (status != CL_SUCCESS) return err(info_.id + ": " + code("clCreateContext", status));
    queue_ = api_->clCreateCommandQueue(context_, device_, 0, &status);
    if (status != CL_SUCCESS) return err(info_.id + ": " + code("clCreateCommandQueue", status));
    return Unit{};
  }

  Result<std::shared_ptr<ProgramHolder>> build(const artifact::Blob& blob) {
    if (const Result<Unit> r = ready(); !r) return Err(r.error());
    const std::lock_guard lock(mutex_);
    std::weak_ptr<ProgramHolder>& cached = programs_[artifact::sha256_hex(blob.bytes)];
    if (std::shared_ptr<ProgramHolder> alive = cached.lock()) return alive;
    cl_int status = CL_SUCCESS;
    const char* source = reinterpret_cast<const char*>(blob.bytes.data());
    const std::size_t length = blob.bytes.size();
    cl_program program = api_->clCreateProgramWithSource(context_, 1, &source, &length, &status);
    if (status != CL_SUCCESS) return err(code("clCreateProgramWithSource", status));
    auto holder = std::make_shared<ProgramHolder>(api_, program);
    const char* options = exact_divide_ ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-std=CL1.2";
    status = api_->clBuildProgram(program, 1, &device_, options, nullptr, nullptr);
    if (status != CL_SUCCESS) {
      std::size_t size = 0;
      api_->clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
      std::string log(size, '\0');
      api_->clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
      return err(info_.id + " refused the generated OpenCL C, a fault of the compiler: " + log.substr(0, 2000));
    }
    cached = holder;
    return holder;
  }

  const Api* api_;
  cl_device_id device_;
  DeviceInfo info_;
  bool exact_divide_ = false;
  std::mutex mutex_;  // guards what follows
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  std::map<std::string, std::weak_ptr<ProgramHolder>> programs_;
};

}  // namespace

std::vector<std::unique_ptr<Device>> opencl_devices(std::string* why_absent) {
  std::vector<std::unique_ptr<Device>> devices;
  const Api* api = Api::load(why_absent);
  if (!api) return devices;
  cl_uint count = 0;
  if (api->clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) {
    if (why_absent) *why_absent = "no OpenCL platform is installed";
    return devices;
  }
  std::vector<cl_platform_id> platforms(count);
  api->clGetPlatformIDs(count, platforms.data(), nullptr);
  int number = 0;
  for (cl_platform_id platform : platforms) {
    cl_uint found = 0;
    if (api->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &found) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(found);
    api->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, found, ids.data(), nullptr);
    for (cl_device_id id : ids) devices.push_back(std::make_unique<OpenclDevice>(api, id, number++));
  }
  if (devices.empty() && why_absent) *why_absent = "the OpenCL platforms list no device";
  return devices;
}

}  // namespace sarek::runtime
