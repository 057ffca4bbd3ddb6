// The interpreter as a device: reads the IR text of the package and runs it with the reference interpreter. It is the oracle that
// `--compare=interp` asks, and a device that every machine has.
#include <cstring>
#include <map>
#include <mutex>

#include "compiler/interp/interpreter.h"
#include "compiler/spec/read_text.h"
#include "runtime/drivers/driver.h"
#include "runtime/drivers/thread_pool.h"

namespace sarek::runtime {
namespace {

struct InterpreterKernel final : LoadedKernel {
  ir::Program program;
  std::optional<interp::Interpreter> interpreter;
  SourceManager sources;  // the IR text, for places of errors that carry none of their own
  bool checked = false;
};

std::string_view kind_name(ir::Slot::Kind kind) {
  switch (kind) {
    case ir::Slot::Kind::Buffer: return "buffer";
    case ir::Slot::Kind::Scalar: return "scalar";
    case ir::Slot::Kind::Length: return "length";
    case ir::Slot::Kind::NumGroups: return "num-groups";
    case ir::Slot::Kind::SharedLength: return "shared-length";
  }
  return {};
}

/// Do the program and the index, which checks the arguments, speak of the same kernel? A package may have been made by hand.
bool fits(const ir::Program& program, const artifact::Kernel& kernel) {
  if (program.params.size() != kernel.params.size() || program.slots.size() != kernel.slots.size() || program.block != kernel.block ||
      program.wide != kernel.wide)
    return false;
  for (std::size_t i = 0; i < program.params.size(); ++i) {
    const ir::KernelParam& a = program.params[i];
    const artifact::Param& b = kernel.params[i];
    if (a.is_buffer != b.is_buffer || a.element.size != b.size || a.first_slot != b.first_slot || a.slot_count != b.slot_count)
      return false;
  }
  std::size_t dynamic = 0;
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    const ir::Slot& a = program.slots[i];
    const artifact::Slot& b = kernel.slots[i];
    if (kind_name(a.kind) != b.kind || (a.kind != ir::Slot::Kind::Buffer && type_name(a.type) != b.type)) return false;
    dynamic += a.kind == ir::Slot::Kind::SharedLength ? 1 : 0;
  }
  return dynamic == kernel.dynamic_shared.size();
}

class InterpreterDevice final : public Device {
 public:
  InterpreterDevice() {
    info_.id = "interp:0";
    info_.target = "interp";
    info_.framework = "Interpreter";
    info_.name = "reference interpreter";
    info_.capabilities = {"fp64", "fp16", "bf16", "int64", "int64-atomics", "float-atomics"};
    info_.max_block_threads = 1 << 20;
    info_.max_shared_bytes = std::int64_t{64} << 20;
    info_.compute_units = worker_count();
    info_.shares_host_memory = true;
  }
  const DeviceInfo& info() const override { return info_; }
  int rank(const artifact::Variant& variant) const override { return variant.target == "interp" ? 1 : -1; }

  Result<std::unique_ptr<LoadedKernel>> load(const artifact::Package& package, const artifact::Kernel& kernel,
                                             const artifact::Variant& variant) override {
    const artifact::Blob& blob = package.blobs[static_cast<std::size_t>(variant.blob)];
    if (blob.kind != "ir") return err("kernel `" + kernel.name + "`: its interpreter variant names a blob of kind `" + blob.kind + "`");
    auto loaded = std::make_unique<InterpreterKernel>();
    const FileId file = loaded->sources.add(package.module + ".sir", std::string(blob.bytes.begin(), blob.bytes.end()));
    DiagnosticSink sink;
    std::optional<std::vector<ir::Program>> programs = spec::read_programs(loaded->sources, file, sink);
    if (!programs) return err("the package's IR is malformed: " + render_text(loaded->sources, sink.diagnostics(), false));
    for (ir::Program& p : *programs)
      if (p.name == variant.entry_name) loaded->program = std::move(p);
    if (loaded->program.name != variant.entry_name) return err("the package's IR has no program `" + variant.entry_name + "`");
    if (!fits(loaded->program, kernel)) return err("the package's IR of kernel `" + kernel.name + "` does not fit its index");
    loaded->checked = kernel.checked;
    Result<interp::Interpreter, interp::RuntimeError> made = interp::Interpreter::create(loaded->program, kernel.checked);
    if (!made) return err(made.error().message);
    loaded->interpreter.emplace(std::move(made).value());
    return std::unique_ptr<LoadedKernel>(std::move(loaded));
  }

  Result<std::unique_ptr<Storage>> allocate(std::size_t bytes) override { return allocate_host_storage(bytes); }
  Result<std::unique_ptr<Storage>> borrow(void* data, std::size_t bytes) override { return borrow_host_storage(data, bytes); }
  Result<Unit> write(Storage& to, std::size_t offset, const void* from, std::size_t bytes) override {
    std::memcpy(static_cast<char*>(to.host()) + offset, from, bytes);
    return Unit{};
  }
  Result<Unit> read(Storage& from, std::size_t offset, void* to, std::size_t bytes) override {
    std::memcpy(to, static_cast<char*>(from.host()) + offset, bytes);
    return Unit{};
  }

  Result<Unit> launch(LoadedKernel& loaded, const Launch& launch) override {
    const auto& kernel = static_cast<InterpreterKernel&>(loaded);
    interp::Launch call;
    for (std::size_t i = 0; i < 3; ++i) call.grid[i] = launch.grid[i];
    call.dynamic_shared = launch.dynamic_shared;
    for (const ir::KernelParam& param : kernel.program.params) {
      interp::Argument argument;
      const auto first = static_cast<std::size_t>(param.first_slot);
      if (param.is_buffer) {
        const std::int64_t bytes = launch.buffer_bytes[first];
        argument = interp::Argument::buffer(launch.slots[first].storage->host(), bytes / param.element.size, bytes);
      } else {
        for (std::size_t s = 0; s < static_cast<std::size_t>(param.slot_count); ++s)
          argument.scalars.push_back({kernel.program.slots[first + s].type, launch.slots[first + s].bits});
      }
      call.arguments.push_back(std::move(argument));
    }
    interp::Options options;
    options.checked = kernel.checked;
    options.threads = worker_count();
    const Result<interp::Stats, interp::RuntimeError> ran = kernel.interpreter->run(call, options);
    if (ran) return Unit{};
    const interp::RuntimeError& error = ran.error();
    std::string text(interp::error_kind_name(error.kind));
    text += ": " + error.message;
    if (error.range) {
      const LineColumn at = kernel.sources.line_column(error.range.file, error.range.begin);
      text = kernel.sources.name(error.range.file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + text;
    }
    return err(text);
  }

 private:
  DeviceInfo info_;
};

}  // namespace

std::vector<std::unique_ptr<Device>> interpreter_devices(std::string*) {
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<InterpreterDevice>());
  return devices;
}

}  // namespace sarek::runtime
