// Runs one program twice, by the reference interpreter as it stands and on the OpenCL device after the whole pipeline and the printer, with
// the same arguments, and compares the contents of every buffer. No package is written: the driver gets the text and the description that
// it needs.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/interp/interpreter.h"
#include "compiler/ir/evaluate.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/program.h"
#include "compiler/passes/pipeline.h"
#include "emitters/clike/dialect.h"
#include "emitters/clike/printer.h"
#include "runtime/drivers/driver.h"

namespace sarek::test {

/// One argument: bytes of a buffer, or the bits of a scalar per slot.
struct Value {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint64_t> scalars;
};

template <class T>
Value buffer_of(const std::vector<T>& elements) {
  Value v;
  v.bytes.resize(elements.size() * sizeof(T));
  if (!v.bytes.empty()) std::memcpy(v.bytes.data(), elements.data(), v.bytes.size());
  return v;
}
inline Value scalar_of(std::uint64_t bits) { return {{}, {bits}}; }
template <class T>
std::vector<T> elements_of(const Value& v) {
  std::vector<T> out(v.bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), v.bytes.data(), out.size() * sizeof(T));
  return out;
}

struct Call {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::vector<Value> arguments;  // one per Program::params
  std::vector<std::int64_t> dynamic_shared;
};

/// The first OpenCL device of the machine; null when there is none.
inline runtime::Device* opencl_device() {
  static const std::vector<std::unique_ptr<runtime::Device>> devices = runtime::opencl_devices();
  // The first device, or the one whose name holds SAREK_TEST_OPENCL: a machine may have PoCL beside a GPU.
  const char* wanted = std::getenv("SAREK_TEST_OPENCL");
  for (const std::unique_ptr<runtime::Device>& d : devices)
    if (!wanted || d->info().name.find(wanted) != std::string::npos) return d.get();
  return nullptr;
}

/// What the interpreter makes of the arguments, or its error.
inline std::string interpret(const ir::Program& program, Call& call) {
  interp::Launch launch;
  launch.grid = call.grid;
  launch.dynamic_shared = call.dynamic_shared;
  // Aligned as a device's memory is.
  std::vector<std::vector<std::uint64_t>> memory(call.arguments.size());
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const ir::KernelParam& param = program.params[i];
    Value& value = call.arguments[i];
    if (param.is_buffer) {
      memory[i].resize(value.bytes.size() / 8 + 1);
      if (!value.bytes.empty()) std::memcpy(memory[i].data(), value.bytes.data(), value.bytes.size());
      launch.arguments.push_back(interp::Argument::buffer(memory[i].data(),
                                                          static_cast<std::int64_t>(value.bytes.size()) / param.element.size,
                                                          static_cast<std::int64_t>(value.bytes.size())));
    } else {
      interp::Argument argument;
      for (std::size_t s = 0; s < value.scalars.size(); ++s)
        argument.scalars.push_back({program.slots[static_cast<std::size_t>(param.first_slot) + s].type, value.scalars[s]});
      launch.arguments.push_back(std::move(argument));
    }
  }
  const auto ran = interp::run(program, launch);
  for (std::size_t i = 0; i < call.arguments.size(); ++i)
    if (!call.arguments[i].bytes.empty()) std::memcpy(call.arguments[i].bytes.data(), memory[i].data(), call.arguments[i].bytes.size());
  return ran ? std::string() : std::string(interp::error_kind_name(ran.error().kind)) + ": " + ran.error().message;
}

/// A program made ready for the device.
struct Built {
  std::string text;  // OpenCL C
  std::unique_ptr<runtime::LoadedKernel> kernel;
};

/// The error of a program that needs what the target lacks begins with "refused"; every other one is a fault.
inline Result<Built> build_opencl(const ir::Program& program, int opt_level = 2) {
  passes::PipelineOptions options;
  options.opt_level = opt_level;
  const emit::Dialect& dialect = emit::opencl_dialect();
  const auto lowered = passes::run_pipeline(program, dialect.capabilities, options);
  if (!lowered)
    return err((lowered.error().front().kind == DiagnosticKind::MissingCapability ? "refused: " : "pipeline: ") +
               lowered.error().front().message);
  const ir::Program* list[] = {&*lowered};
  const auto printed = emit::print_clike(dialect, list, {});
  if (!printed) return err("printer: " + printed.error().message);
  artifact::Package package;
  package.blobs.push_back({"opencl-c", {printed->text.begin(), printed->text.end()}});
  artifact::Kernel kernel;
  kernel.name = program.name;
  kernel.block = program.block;
  for (const ir::Slot& slot : lowered->slots) {
    const bool is_buffer = slot.kind == ir::Slot::Kind::Buffer;
    kernel.slots.push_back(
        {is_buffer ? "buffer" : "scalar", is_buffer ? "" : std::string(type_name(slot.type)), slot.name, slot.param, -1, 0});
    if (slot.kind != ir::Slot::Kind::SharedLength) continue;
    for (const ir::NodeId id : program.body)
      if (const auto* a = program.graph.op(id) == ir::Op::Buffer ? program.graph.arg_as<ir::ParamArg>(id) : nullptr;
          a && a->space == ir::AddressSpace::Local && a->slot == slot.of_slot)
        kernel.dynamic_shared.push_back({a->name, std::string(type_name(a->type)), type_bytes(a->type)});
  }
  artifact::Variant variant;
  variant.target = "opencl";
  variant.blob = 0;
  variant.entry_name = printed->kernels[0].entry;
  variant.requires_ = printed->kernels[0].requires_;
  if (opencl_device()->rank(variant) < 0) {
    std::string needs;
    for (const std::string& need : variant.requires_) needs += " " + need;
    return err("device: lacks one of" + needs);
  }
  auto loaded = opencl_device()->load(package, kernel, variant);
  if (!loaded) return err(loaded.error().message + "\n" + printed->text);
  return Built{printed->text, std::move(loaded).value()};
}

/// Runs on the OpenCL device; the error is that of the driver.
inline std::string run_opencl(const ir::Program& program, const Built& built, Call& call) {
  runtime::Device& device = *opencl_device();
  runtime::Launch launch;
  for (std::size_t i = 0; i < 3; ++i) launch.grid[i] = static_cast<std::int32_t>(call.grid[i]);
  launch.dynamic_shared = call.dynamic_shared;
  launch.slots.resize(program.slots.size());
  launch.buffer_bytes.resize(program.slots.size());
  std::vector<std::unique_ptr<runtime::Storage>> storages(call.arguments.size());
  std::size_t shared = 0;
  for (std::size_t s = 0; s < program.slots.size(); ++s) {
    const ir::Slot& slot = program.slots[s];
    const auto param = static_cast<std::size_t>(slot.param);
    switch (slot.kind) {
      case ir::Slot::Kind::Buffer: {
        const Value& value = call.arguments[param];
        auto storage = device.allocate(value.bytes.size());
        if (!storage) return storage.error().message;
        storages[param] = std::move(storage).value();
        if (const auto r = device.write(*storages[param], 0, value.bytes.data(), value.bytes.size()); !r) return r.error().message;
        launch.slots[s].storage = storages[param].get();
        launch.buffer_bytes[s] = static_cast<std::int64_t>(value.bytes.size());
        break;
      }
      case ir::Slot::Kind::Scalar:
        launch.slots[s].bits = call.arguments[param].scalars[s - static_cast<std::size_t>(program.params[param].first_slot)];
        break;
      case ir::Slot::Kind::Length: {
        const auto of = static_cast<std::size_t>(program.slots[static_cast<std::size_t>(slot.of_slot)].param);
        launch.slots[s].bits = call.arguments[of].bytes.size() / static_cast<std::size_t>(program.params[of].element.size);
        break;
      }
      case ir::Slot::Kind::NumGroups:
        launch.slots[s].bits = static_cast<std::uint64_t>(call.grid[static_cast<std::size_t>(slot.axis)]);
        break;
      case ir::Slot::Kind::SharedLength: launch.slots[s].bits = static_cast<std::uint64_t>(call.dynamic_shared[shared++]); break;
    }
  }
  if (const auto r = device.launch(*built.kernel, launch); !r) return r.error().message;
  for (std::size_t i = 0; i < storages.size(); ++i)
    if (storages[i])
      if (const auto r = device.read(*storages[i], 0, call.arguments[i].bytes.data(), call.arguments[i].bytes.size()); !r)
        return r.error().message;
  return {};
}

/// Equal up to the bits of NaN, field by field of each element. The first difference in words; empty when there is none.
inline std::string difference(const ir::Program& program, const Call& expected, const Call& seen) {
  for (std::size_t p = 0; p < program.params.size(); ++p) {
    const ir::KernelParam& param = program.params[p];
    if (!param.is_buffer) continue;
    const std::vector<std::uint8_t>&a = expected.arguments[p].bytes, &b = seen.arguments[p].bytes;
    const auto size = static_cast<std::size_t>(param.element.size);
    for (std::size_t e = 0; (e + 1) * size <= a.size(); ++e)
      for (const ir::LayoutField& field : param.element.fields) {
        std::uint64_t x = 0, y = 0;
        const std::size_t at = e * size + static_cast<std::size_t>(field.offset);
        std::memcpy(&x, a.data() + at, static_cast<std::size_t>(type_bytes(field.type)));
        std::memcpy(&y, b.data() + at, static_cast<std::size_t>(type_bytes(field.type)));
        if (ir::canonical_nan(field.type, x) == ir::canonical_nan(field.type, y)) continue;
        char text[64];
        std::snprintf(text, sizeof text, "%#llx, OpenCL %#llx", static_cast<unsigned long long>(x), static_cast<unsigned long long>(y));
        return "`" + param.name + "`[" + std::to_string(e) + "]" + (field.path.empty() ? "" : "." + field.path) + ": interpreter " + text;
      }
  }
  return {};
}

/// Everything: empty when both agree. `call` holds the interpreter's results afterwards.
inline std::string compare(const ir::Program& program, Call& call, int opt_level = 2) {
  Call device_call = call;
  if (std::string error = interpret(program, call); !error.empty()) return "interpreter: " + error;
  const auto built = build_opencl(program, opt_level);
  if (!built) return built.error().message;
  if (std::string error = run_opencl(program, *built, device_call); !error.empty()) return "OpenCL: " + error;
  const std::string different = difference(program, call, device_call);
  return different.empty() ? different : different + "\n" + ir::print(program) + "\n" + built->text;
}

}  // namespace sarek::test
