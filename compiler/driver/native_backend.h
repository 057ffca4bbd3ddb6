// The native backend as the driver sees it: a module (libsarek_native.so) that is loaded when a native target is asked for, so that a
// check, a format or an OpenCL compile does not pay for loading LLVM.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "emitters/llvm/native.h"

namespace sarek::driver {

/// The functions that the module offers; emitters/llvm/native.h says what they do.
struct NativeFunctions {
  decltype(&emit::native_level_name) level_name;
  decltype(&emit::native_capabilities) capabilities;
  decltype(&emit::emit_native) emit;
  decltype(&emit::emit_native_text) emit_text;
};

class NativeBackend {
 public:
  explicit NativeBackend(const NativeFunctions& functions) : functions_(functions) {}
  /// Of a level as `native_levels` spells it.
  ir::Capabilities capabilities(const std::string& level) const;
  const NativeFunctions& functions() const { return functions_; }

 private:
  NativeFunctions functions_;
};

/// Loads the module on first use: beside the running program, in ../lib of it, or where SAREK_NATIVE_BACKEND says. Errors name what was
/// tried.
Result<const NativeBackend*> native_backend();

/// The levels of a target: the one named, or the three of x86-64 (the one of AArch64 on such a host).
std::vector<std::string> native_levels(const std::string& level);

struct NativeRequest {
  int opt_level = 2;
  bool debug_info = false;
  bool checked = false;
  const SourceManager* sources = nullptr;
  Emit emit = Emit::Package;
};

/// One level: its legalised programs in, its code out.
struct NativeJob {
  std::string level;
  std::vector<ir::Program> programs;
  std::vector<std::uint8_t> image;          // Emit::Package
  std::vector<artifact::Variant> variants;  // one a program, without blob and grants
  std::string text;                         // Emit::Asm, LlvmIr, Object
  std::string error;                        // an internal fault
};

/// Runs the jobs side by side.
void run_native_jobs(const NativeBackend& backend, const NativeRequest& request, std::vector<NativeJob>& jobs);

}  // namespace sarek::driver
