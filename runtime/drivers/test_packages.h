// Packages that the runtime's tests load, made without the compiler's driver: IR text for the interpreter, OpenCL C by hand, and, on
// x86-64, images of a few instructions for the native driver.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/printer.h"
#include "runtime/artifact/package.h"

namespace sarek::runtime::test {

/// kernel doubled(n: i32, x: inout [i32]) block(32): x[i] = x[i] * n + constant for i below the length of x.
inline ir::Program doubling_program(std::int64_t constant = 0) {
  using namespace ir;
  ProgramBuilder b("doubled", {32, 1, 1});
  const NodeId n = b.scalar_param("n", Type::I32);
  const NodeId x = b.buffer_param("x", Type::I32, Access::InOut);
  const NodeId length = b.length(b.slot_of(x));
  const NodeId i = b.global_id(0);
  const NodeId inside = b.begin_if(b.op(Op::Cmplt, {i, length}));
  b.store(x, i, b.op(Op::Add, {b.op(Op::Mul, {b.load(x, i), n}), b.i32(constant)}));
  b.end_if(inside);
  return b.finish();
}

inline std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

inline constexpr const char* kDoublingText =
    "__kernel void doubled_k0(int n, __global int* x, int len, int groups) {\n"
    "  const int i = get_global_id(0);\n  if (i < len) x[i] = x[i] * n;\n}\n";

/// x86-64: adds the blocks of its range to cell 0 of slot 1, then `extra`. NativeEntry(rdi launch, rsi first, rdx last).
inline std::vector<std::uint8_t> counting_image(std::uint8_t extra = 0) {
  return {0x48, 0x8b, 0x07,         // mov rax, [rdi]        slots
          0x48, 0x8b, 0x40, 0x08,   // mov rax, [rax + 8]    slot 1
          0x29, 0xf2,               // sub edx, esi
          0xf0, 0x01, 0x10,         // lock add [rax], edx
          0xf0, 0x83, 0x00, extra,  // lock add dword [rax], extra
          0xc3};                    // ret
}

/// x86-64: reports a fault.
inline std::vector<std::uint8_t> faulting_image(std::uint8_t site, std::uint8_t thread, std::uint8_t value, std::uint8_t limit) {
  return {0x48, 0x8b, 0x47, 0x30,                    // mov rax, [rdi + 48]           fault
          0xc7, 0x40, 0x04, site,   0,     0, 0,     // mov dword [rax + 4], site
          0x48, 0x89, 0x70, 0x08,                    // mov [rax + 8], rsi            block
          0xc7, 0x40, 0x10, thread, 0,     0, 0,     // mov dword [rax + 16], thread
          0x48, 0xc7, 0x40, 0x18,   value, 0, 0, 0,  // mov qword [rax + 24], value
          0x48, 0xc7, 0x40, 0x20,   limit, 0, 0, 0,  // mov qword [rax + 32], limit
          0xc3};
}

inline artifact::Variant native_variant(const std::string& level, int blob) {
  artifact::Variant v;
  v.target = "native";
  v.level = level;
  v.blob = blob;
  return v;
}

/// `doubled` with an interpreter variant (blob 0), an OpenCL one (blob 1) and a native one (blob 2), which only counts blocks.
inline artifact::Package doubling_package() {
  const ir::Program program = doubling_program();
  artifact::Package p;
  p.compiler = "sarekc test";
  p.module = "doubled";
  p.policy_digest = "none";
  p.blobs = {{"ir", bytes_of(ir::print_module({&program}))}, {"opencl-c", bytes_of(kDoublingText)}, {"native", counting_image()}};
  artifact::Kernel k;
  k.name = "doubled";
  k.block = {32, 1, 1};
  k.params = {{"n", false, "", "i32", 4, 4, {{"", "i32", 0}}, {}, 0, 1}, {"x", true, "inout", "i32", 4, 4, {{"", "i32", 0}}, {}, 1, 1}};
  k.slots = {{"scalar", "i32", "n", 0, -1, 0},
             {"buffer", "", "x", 1, -1, 0},
             {"length", "i32", "x.len", -1, 1, 0},
             {"num-groups", "i32", "num_groups.x", -1, -1, 0}};
  artifact::Variant interp;
  interp.target = "interp";
  interp.blob = 0;
  interp.entry_name = "doubled";
  artifact::Variant opencl = interp;
  opencl.target = "opencl";
  opencl.blob = 1;
  opencl.entry_name = "doubled_k0";
  k.variants = {interp, opencl, native_variant("sse4.2", 2)};
  p.kernels = {k};
  return p;
}

inline artifact::Variant variant_of(const artifact::Package& p, const std::string& target) {
  return *std::find_if(p.kernels[0].variants.begin(), p.kernels[0].variants.end(),
                       [&](const artifact::Variant& v) { return v.target == target; });
}

}  // namespace sarek::runtime::test
