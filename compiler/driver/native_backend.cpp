#include "compiler/driver/native_backend.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

#include "compiler/driver/describe.h"

namespace sarek::driver {
namespace {

constexpr const char* kModule = "libsarek_native.so";

std::string program_folder() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0 || static_cast<std::size_t>(length) >= path.size()) return ".";
  const std::string text(path.data(), static_cast<std::size_t>(length));
  return text.substr(0, text.find_last_of('/'));
}

emit::NativeLevel level_by_name(const std::string& name) {
  if (name == "avx512") return emit::NativeLevel::Avx512;
  if (name == "avx2") return emit::NativeLevel::Avx2;
  if (name == "aarch64") return emit::NativeLevel::Aarch64;
  return emit::NativeLevel::Sse42;
}

Result<std::unique_ptr<NativeBackend>> load_module() {
  std::vector<std::string> candidates;
  if (const char* path = std::getenv("SAREK_NATIVE_BACKEND"); path && *path) candidates.emplace_back(path);
  const std::string folder = program_folder();
  candidates.push_back(folder + "/../lib/" + kModule);
  candidates.push_back(folder + "/" + kModule);
  candidates.push_back(std::string(folder) + "/../lib/sarek/" + kModule);
  std::string tried;
  for (const std::string& path : candidates) {
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!module) {
      const char* why = dlerror();
      tried += std::string(tried.empty() ? "" : "; ") + (why ? why : path.c_str());
      continue;
    }
    using Entry = const NativeFunctions* (*)();
    auto entry = reinterpret_cast<Entry>(dlsym(module, "sarek_native_functions_v1"));
    if (!entry) return err(path + " is not the native backend of this sarekc");
    return std::make_unique<NativeBackend>(*entry());
  }
  return err("the native backend cannot be loaded: " + tried);
}

artifact::Variant variant_of(const emit::NativeKernel& kernel, const std::string& level, const SourceManager* sources) {
  artifact::Variant v;
  v.target = "native";
  v.level = level;
  v.entry = kernel.entry;
  v.shared_bytes = kernel.shared_bytes;
  v.scratch_bytes = kernel.scratch_bytes;
  for (const emit::NativeFaultSite& site : kernel.fault_sites)
    v.fault_sites.push_back(describe_site(site.kind, site.detail, site.range, sources));
  return v;
}

void run_job(const NativeBackend& backend, const NativeRequest& request, NativeJob& job) {
  std::vector<const ir::Program*> programs;
  for (const ir::Program& p : job.programs) programs.push_back(&p);
  emit::NativeOptions options;
  options.level = level_by_name(job.level);
  options.opt_level = request.opt_level;
  options.debug_info = request.debug_info;
  options.checked = request.checked;
  options.sources = request.sources;
  const bool as_text = request.emit == Emit::Asm || request.emit == Emit::LlvmIr || request.emit == Emit::Object;
  if (as_text) {
    const emit::NativeText kind = request.emit == Emit::Asm      ? emit::NativeText::Asm
                                  : request.emit == Emit::LlvmIr ? emit::NativeText::LlvmIr
                                                                 : emit::NativeText::Object;
    Result<std::vector<std::uint8_t>> text = backend.functions().emit_text(programs, options, kind);
    if (!text) job.error = text.error().message;
    else job.text.assign(text->begin(), text->end());
    return;
  }
  Result<emit::NativeImage> image = backend.functions().emit(programs, options);
  if (!image) {
    job.error = image.error().message;
    return;
  }
  for (const emit::NativeKernel& kernel : image->kernels) job.variants.push_back(variant_of(kernel, job.level, request.sources));
  job.image = std::move(image->bytes);
  if (job.variants.size() != job.programs.size()) job.error = "the backend gave another number of kernels than it was asked for";
}

}  // namespace

ir::Capabilities NativeBackend::capabilities(const std::string& level) const { return functions_.capabilities(level_by_name(level)); }

Result<const NativeBackend*> native_backend() {
  static std::mutex mutex;
  static std::unique_ptr<NativeBackend> loaded;  // stays loaded: code and tables of the module are in use until the end
  const std::lock_guard lock(mutex);
  if (!loaded) {
    Result<std::unique_ptr<NativeBackend>> module = load_module();
    if (!module) return Err(module.error());
    loaded = std::move(module).value();
  }
  return loaded.get();
}

std::vector<std::string> native_levels(const std::string& level) {
  if (!level.empty()) return {level};
#if defined(__aarch64__)
  return {"aarch64"};
#else
  return {"sse4.2", "avx2", "avx512"};
#endif
}

void run_native_jobs(const NativeBackend& backend, const NativeRequest& request, std::vector<NativeJob>& jobs) {
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < jobs.size(); ++i) threads.emplace_back([&, i] { run_job(backend, request, jobs[i]); });
  if (!jobs.empty()) run_job(backend, request, jobs[0]);
  for (std::thread& t : threads) t.join();
}

}  // namespace sarek::driver
