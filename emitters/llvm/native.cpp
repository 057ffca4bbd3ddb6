// The steps from programs to bytes: analysis, LLVM IR, passes, code, image. Every fault of LLVM or of the emitter becomes an Error here.
#include "emitters/llvm/native.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <cstddef>

#include "compiler/spec/proof.h"
#include "emitters/llvm/image.h"
#include "emitters/llvm/kernel_emitter.h"
#include "emitters/llvm/targets.h"
#include "runtime/artifact/native_abi.h"

namespace sarek::emit {

// The emitter writes these offsets down (lower_frame.cpp, lower_memory.cpp).
static_assert(offsetof(artifact::NativeLaunch, slots) == 0 && offsetof(artifact::NativeLaunch, grid) == 8 &&
              offsetof(artifact::NativeLaunch, shared) == 24);
static_assert(offsetof(artifact::NativeLaunch, scratch) == 32 && offsetof(artifact::NativeLaunch, dynamic_shared_bytes) == 40);
static_assert(offsetof(artifact::NativeLaunch, fault) == 48 && offsetof(artifact::NativeLaunch, buffer_bytes) == 56);
static_assert(offsetof(artifact::NativeFault, site) == 4 && offsetof(artifact::NativeFault, block) == 8 &&
              offsetof(artifact::NativeFault, thread) == 16);
static_assert(offsetof(artifact::NativeFault, value) == 24 && offsetof(artifact::NativeFault, limit) == 32);

namespace {

struct Compiled {
  std::vector<std::uint8_t> bytes;
  std::vector<NativeKernel> kernels;
};

enum class Output : std::uint8_t { Object, Asm, LlvmIr };

Compiled compile(std::span<const ir::Program* const> programs, const NativeOptions& options, Output output) {
  if (options.vector_width < 0 || options.vector_width > 64 || (options.vector_width & (options.vector_width - 1)) != 0)
    throw EmitFault("a vector width of " + std::to_string(options.vector_width));
  llvm::LLVMContext context;
  llvm::Module module("sarek", context);
  const std::unique_ptr<llvm::TargetMachine> machine = make_target_machine(options.level, options.opt_level);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  module.setPICLevel(llvm::PICLevel::SmallPIC);

  const bool debug_info = options.debug_info && options.sources != nullptr;
  std::optional<llvm::DIBuilder> debug;
  llvm::DIFile* file = nullptr;
  if (debug_info) {
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
    debug.emplace(module);
    // Names as the user gave them, no folder: equal sources give equal bytes wherever they lie.
    file = debug->createFile(programs.empty() ? "" : programs[0]->module_file, "");
    debug->createCompileUnit(llvm::dwarf::DW_LANG_C, file, "sarekc", options.opt_level > 0, "", 0, "", llvm::DICompileUnit::LineTablesOnly);
  }

  Compiled result;
  for (const ir::Program* program : programs) {
    // Warps fix the width: their 32 lanes are one vector.
    int width = choose_width(*program, natural_lanes(options.level));
    Result<Analysis> first = Analysis::create(*program, width);
    if (options.vector_width > 0 && first && !first->uses_warp) first = Analysis::create(*program, width = options.vector_width);
    if (!first) throw EmitFault("kernel `" + program->name + "`: " + first.error().message);
    KernelEmitter emitter(module, *program, *first, options, debug ? &*debug : nullptr, file);
    tune_function(*emitter.emit(), options.level);
    NativeKernel kernel;
    kernel.name = program->name;
    kernel.shared_bytes = emitter.shared_bytes();
    kernel.scratch_bytes = emitter.scratch_bytes();
    kernel.lanes = width;
    kernel.fault_sites = emitter.take_fault_sites();
    result.kernels.push_back(std::move(kernel));
  }
  if (debug) debug->finalize();
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  if (llvm::verifyModule(module, &stream)) throw EmitFault("the emitted LLVM IR is not valid: " + stream.str());

  run_passes(module, *machine, options.level, options.opt_level);
  if (output == Output::LlvmIr) {
    std::string text;
    llvm::raw_string_ostream out(text);
    module.print(out, nullptr);
    out.flush();
    result.bytes.assign(text.begin(), text.end());
  } else {
    result.bytes = generate_code(module, *machine, output == Output::Asm);
  }
  return result;
}

}  // namespace

Result<NativeImage> emit_native(std::span<const ir::Program* const> programs, const NativeOptions& options) {
  try {
    Compiled compiled = compile(programs, options, Output::Object);
    Result<FlatImage> flat = flatten_object(compiled.bytes);
    if (!flat) return err("native backend: " + flat.error().message);
    NativeImage image;
    image.bytes = std::move(flat->bytes);
    image.kernels = std::move(compiled.kernels);
    for (NativeKernel& kernel : image.kernels) {
      const auto entry = flat->symbols.find(kernel.name);
      if (entry == flat->symbols.end()) return err("native backend: kernel `" + kernel.name + "` is not in the object");
      kernel.entry = entry->second;
    }
    return image;
  } catch (const std::exception& fault) { return err(std::string("native backend: ") + fault.what()); }
}

Result<std::vector<std::uint8_t>> emit_native_text(std::span<const ir::Program* const> programs, const NativeOptions& options,
                                                   NativeText kind) {
  try {
    const Output output = kind == NativeText::LlvmIr ? Output::LlvmIr : kind == NativeText::Asm ? Output::Asm : Output::Object;
    return compile(programs, options, output).bytes;
  } catch (const std::exception& fault) { return err(std::string("native backend: ") + fault.what()); }
}

}  // namespace sarek::emit
