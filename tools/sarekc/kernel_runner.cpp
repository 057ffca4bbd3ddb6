#include "tools/sarekc/kernel_runner.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "tools/sarekc/array_file.h"
#include "tools/sarekc/values.h"

namespace sarek::tool {
namespace {

struct ModuleDeleter {
  void operator()(sarek_module* m) const { sarek_module_release(m); }
};
struct VectorDeleter {
  void operator()(sarek_vector* v) const { sarek_vector_release(v); }
};

sarek_type type_of(const artifact::Param& param) {
  constexpr std::pair<const char*, sarek_type> kTypes[] = {
      {"bool", SAREK_BOOL}, {"i8", SAREK_I8},   {"u8", SAREK_U8},   {"i16", SAREK_I16}, {"u16", SAREK_U16},
      {"i32", SAREK_I32},   {"u32", SAREK_U32}, {"i64", SAREK_I64}, {"u64", SAREK_U64}, {"f16", SAREK_F16},
      {"bf16", SAREK_BF16}, {"f32", SAREK_F32}, {"f64", SAREK_F64}};
  for (const auto& [name, type] : kTypes)
    if (param.type == name) return type;
  return SAREK_BYTES;
}

}  // namespace

std::string default_device() {
  const char* wanted = std::getenv("SAREK_DEVICE");
  return wanted && *wanted ? wanted : "native";
}

std::string target_of(const std::string& device) { return device.substr(0, device.find(':')); }

Result<Unit, RunFault> find_device(const std::string& device) {
  sarek_device* on = nullptr;
  if (const sarek_status s = sarek_device_open(device.c_str(), &on); s != SAREK_OK) return ErrorHolder<RunFault>{{s, sarek_last_error()}};
  return Unit{};
}

Result<LaunchOutcome, RunFault> run_kernel(const std::vector<std::uint8_t>& package, const std::string& device,
                                           const artifact::Kernel& kernel, const LaunchPlan& plan) {
  const auto failed = [](sarek_status status) { return ErrorHolder<RunFault>{{status, sarek_last_error()}}; };
  sarek_device* on = nullptr;
  if (const sarek_status s = sarek_device_open(device.c_str(), &on); s != SAREK_OK) return failed(s);
  sarek_module* raw_module = nullptr;
  if (const sarek_status s = sarek_module_load_memory(on, package.data(), package.size(), &raw_module); s != SAREK_OK) return failed(s);
  const std::unique_ptr<sarek_module, ModuleDeleter> module(raw_module);
  sarek_kernel* ready = nullptr;
  if (const sarek_status s = sarek_module_kernel(module.get(), kernel.name.c_str(), &ready); s != SAREK_OK) return failed(s);

  std::vector<std::unique_ptr<sarek_vector, VectorDeleter>> vectors(kernel.params.size());
  std::vector<sarek_argument> arguments;
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    const artifact::Param& param = kernel.params[i];
    const std::vector<std::uint8_t>& bytes = plan.arguments[i].bytes;
    if (!param.is_buffer) {
      arguments.push_back({nullptr, type_of(param), bytes.data(), bytes.size()});
      continue;
    }
    const auto size = static_cast<std::size_t>(param.size);
    sarek_vector* vector = nullptr;
    if (const sarek_status s = sarek_vector_create(on, size, bytes.size() / size, &vector); s != SAREK_OK) return failed(s);
    vectors[i].reset(vector);
    if (const sarek_status s = sarek_vector_write(vector, 0, bytes.size() / size, bytes.data()); s != SAREK_OK) return failed(s);
    arguments.push_back({vector, SAREK_BYTES, nullptr, 0});
  }
  LaunchOutcome outcome;
  outcome.variant = sarek_kernel_variant(ready);
  for (int r = 0; r < std::max(1, plan.repeat); ++r) {
    const auto start = std::chrono::steady_clock::now();
    const sarek_status s =
        sarek_launch(ready, plan.grid.data(), arguments.data(), arguments.size(), plan.dynamic_shared.data(), plan.dynamic_shared.size());
    const double took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (s != SAREK_OK) return failed(s);
    outcome.best_milliseconds = r == 0 ? took : std::min(outcome.best_milliseconds, took);
  }
  outcome.arguments = plan.arguments;
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    if (!vectors[i]) continue;
    std::vector<std::uint8_t>& bytes = outcome.arguments[i].bytes;
    if (const sarek_status s = sarek_vector_read(vectors[i].get(), 0, sarek_vector_count(vectors[i].get()), bytes.data()); s != SAREK_OK)
      return failed(s);
  }
  return outcome;
}

std::vector<Difference> compare_results(const artifact::Kernel& kernel, const std::vector<ArgumentValue>& left,
                                        const std::vector<ArgumentValue>& right, std::size_t limit, std::int64_t& count,
                                        std::int64_t& compared) {
  std::vector<Difference> differences;
  for (std::size_t p = 0; p < kernel.params.size(); ++p) {
    const artifact::Param& param = kernel.params[p];
    if (!param.is_buffer) continue;
    const auto elements = static_cast<std::int64_t>(left[p].bytes.size()) / param.size;
    for (std::int64_t e = 0; e < elements; ++e)
      for (const artifact::Field& field : param.fields) {
        const auto at = static_cast<std::size_t>(e * param.size + field.offset);
        const std::uint8_t* a = left[p].bytes.data() + at;
        const std::uint8_t* b = right[p].bytes.data() + at;
        ++compared;
        if (same_value(field.type, a, b)) continue;
        if (++count <= static_cast<std::int64_t>(limit))
          differences.push_back({p, e, field.path, format_scalar(field.type, a), format_scalar(field.type, b)});
      }
  }
  return differences;
}

}  // namespace sarek::tool
