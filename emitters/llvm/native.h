// The native backend: programs to machine code for the CPU, ahead of time. One image holds the code of several kernels; it is flat,
// position independent and calls nothing outside of itself, so a driver copies it, makes it executable and calls an entry
// (runtime/artifact/native_abi.h). No LLVM type appears here. How the lanes of a block become vectors is told in README.md of this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/capabilities.h"
#include "compiler/ir/program.h"
#include "compiler/support/result.h"
#include "compiler/support/source.h"

namespace sarek::emit {

/// An instruction set. Each x86-64 level contains the ones before it; the runtime picks the highest one that the CPU has.
enum class NativeLevel : std::uint8_t { Sse42, Avx2, Avx512, Aarch64 };
/// "sse4.2", "avx2", "avx512", "aarch64": as packages and command lines spell it.
std::string_view native_level_name(NativeLevel level);

/// What programs for the level need not have legalised: the emitter gives these operations the contract's meaning itself.
ir::Capabilities native_capabilities(NativeLevel level);

struct NativeOptions {
  NativeLevel level = NativeLevel::Avx2;
  int opt_level = 2;        // 0 to 3
  bool debug_info = false;  // line tables (objects and assembly only: an image carries none); needs `sources`
  bool checked = false;     // bounds of every access that nothing proves, and traps
  int vector_width = 0;     // lanes per chunk, a power of two up to 64; 0: chosen per kernel
  const SourceManager* sources = nullptr;
};

/// A place where a checked kernel may fault; NativeFault::site counts them from 1.
struct NativeFaultSite {
  std::string kind;    // "bounds", "trap"
  std::string detail;  // the buffer's name; the trap's message
  SourceRange range;
};

struct NativeKernel {
  std::string name;
  std::int64_t entry = 0;          // offset of its NativeEntry in the image
  std::int64_t shared_bytes = 0;   // static block-shared storage; the dynamic one follows at the next multiple of 64
  std::int64_t scratch_bytes = 0;  // per worker
  int lanes = 1;                   // threads per chunk: for reports
  std::vector<NativeFaultSite> fault_sites;
};

struct NativeImage {
  std::vector<std::uint8_t> bytes;
  std::int64_t alignment = 4096;  // of the address it is copied to
  std::vector<NativeKernel> kernels;
};

/// Compiles programs that spec::verify_program accepts and passes::legalise brought to native_capabilities(level). Thread-safe. Errors
/// are internal faults (an operation that legalisation should have removed, a barrier in divergent flow, a call of a library function),
/// named with their kernel.
Result<NativeImage> emit_native(std::span<const ir::Program* const> programs, const NativeOptions& options);

enum class NativeText : std::uint8_t { LlvmIr, Asm, Object };
/// The same code as optimised LLVM IR, assembly, or a relocatable ELF object whose global symbols are the kernels' names.
Result<std::vector<std::uint8_t>> emit_native_text(std::span<const ir::Program* const> programs, const NativeOptions& options,
                                                   NativeText kind);

}  // namespace sarek::emit
