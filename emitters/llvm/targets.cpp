#include "emitters/llvm/targets.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

#include "emitters/llvm/kernel_emitter.h"
#include "emitters/llvm/widen_masks.h"

namespace sarek::emit {

namespace {

struct Machine {
  const char* triple;
  const char* cpu;
  const char* features;
  const char* tune;
  int lanes;
};

const Machine& machine_of(NativeLevel level) {
  // Features are listed rather than taken from a CPU model: the driver checks exactly these before it picks the level. Gathers are declared
  // fast since the alternative is a chain of inserts.
  static constexpr Machine kMachines[] = {
      {"x86_64-unknown-linux-gnu", "x86-64", "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2", "nehalem", 4},
      {"x86_64-unknown-linux-gnu", "x86-64", "+cx16,+sahf,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+fast-gather", "skylake", 8},
      {"x86_64-unknown-linux-gnu", "x86-64",
       "+cx16,+sahf,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+avx512f,+avx512bw,+avx512dq,+avx512vl,+fast-gather", "icelake-server",
       16},
      {"aarch64-unknown-linux-gnu", "generic", "+neon", "generic", 4},
  };
  return kMachines[static_cast<std::size_t>(level)];
}

const llvm::Target* find_target(const char* triple) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
  std::string why;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target) throw EmitFault("LLVM lacks the target " + std::string(triple) + ": " + why);
  return target;
}

}  // namespace

int natural_lanes(NativeLevel level) { return machine_of(level).lanes; }

std::unique_ptr<llvm::TargetMachine> make_target_machine(NativeLevel level, int opt_level) {
  const Machine& m = machine_of(level);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // a * b + c is two roundings unless the program says fma
  const llvm::CodeGenOptLevel code_level = opt_level <= 0   ? llvm::CodeGenOptLevel::None
                                           : opt_level == 1 ? llvm::CodeGenOptLevel::Less
                                           : opt_level == 2 ? llvm::CodeGenOptLevel::Default
                                                            : llvm::CodeGenOptLevel::Aggressive;
  std::unique_ptr<llvm::TargetMachine> machine(find_target(m.triple)->createTargetMachine(
      m.triple, m.cpu, m.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, code_level));
  if (!machine) throw EmitFault("LLVM makes no machine for " + std::string(m.triple));
  return machine;
}

void tune_function(llvm::Function& function, NativeLevel level) {
  const Machine& m = machine_of(level);
  function.addFnAttr("target-cpu", m.cpu);
  function.addFnAttr("target-features", m.features);
  function.addFnAttr("tune-cpu", m.tune);
  if (level == NativeLevel::Avx512) function.addFnAttr("prefer-vector-width", "512");
}

void run_passes(llvm::Module& module, llvm::TargetMachine& machine, NativeLevel level, int opt_level) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);

  llvm::FunctionPassManager list;
  list.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));  // register variables become values
  if (opt_level > 0) {
    list.addPass(llvm::EarlyCSEPass());
    list.addPass(llvm::SimplifyCFGPass());
    list.addPass(llvm::InstCombinePass());
    // Broadcasts, addresses and uniform loads leave the loops over chunks and inside them.
    list.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    list.addPass(llvm::EarlyCSEPass(true));
    list.addPass(llvm::InstCombinePass());
    list.addPass(llvm::SimplifyCFGPass());
    list.addPass(llvm::ADCEPass());
  }
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    list.run(f, functions);
    if (level != NativeLevel::Avx512) widen_masks(f);
  }
}

std::vector<std::uint8_t> generate_code(llvm::Module& module, llvm::TargetMachine& machine, bool assembly) {
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                  assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile))
    throw EmitFault("LLVM's target writes no such file");
  passes.run(module);
  return {out.begin(), out.end()};
}

std::string_view native_level_name(NativeLevel level) {
  static constexpr std::string_view kNames[] = {"sse4.2", "avx2", "avx512", "aarch64"};
  return kNames[static_cast<std::size_t>(level)];
}

ir::Capabilities native_capabilities(NativeLevel level) {
  ir::Capabilities c;
  c.framework = "Native";
  c.generator = "llvm";
  c.fma_f32 = c.fma_f64 = c.f16_conversion = level != NativeLevel::Sse42;  // FMA3 and F16C come with the AVX2 level
  // Written out by the emitter itself, where it can use what the machine has.
  c.total_integer_division = true;
  c.masked_shifts = true;
  c.saturating_casts = true;
  c.ordered_min_max = true;
  c.canonical_nan_bits = true;
  c.float_atomics = true;
  c.double_atomics = true;
  c.counted_strides = true;
  c.max_block_threads = 1024;
  c.max_shared_bytes = 64L << 20;
  return c;
}

}  // namespace sarek::emit
