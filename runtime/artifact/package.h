// The package: the one file that a compile produces and the runtime loads. This folder has its in-memory form, the writer and the reader;
// package.schema.json documents the JSON index. Nothing here knows the IR or a device.
//
// Layout (little endian): 0 magic "SAREKPKG", 8 format version u32, 12 zero u32, 16 index offset u64, 24 index size u64, 32 SHA-256 of the
// index (32 bytes), 64 blobs, each at a multiple of 64, then the index. The index lists offset, size and SHA-256 of each blob. Equal
// contents give equal bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace sarek::artifact {

inline constexpr std::uint32_t kFormatVersion = 1;

/// One scalar of an element as it lies in memory.
struct Field {
  std::string path;  // "pos.0"; empty when the element is a scalar
  std::string type;  // "f32"
  std::int64_t offset = 0;
};

struct Param {
  std::string name;
  bool is_buffer = false;
  std::string access;     // buffers: "in", "out", "inout"
  std::string type;       // of the scalar or of one element, as the language spells it
  std::int64_t size = 0;  // bytes of one element
  std::int64_t align = 1;
  std::vector<Field> fields;
  std::vector<std::int64_t> view;  // extents of a view where constant, 0 where not
  int first_slot = 0;
  int slot_count = 1;
};

struct Slot {
  std::string kind;  // "buffer", "scalar", "length", "num-groups", "shared-length"
  std::string type;  // of the scalar; empty for a buffer
  std::string name;
  int param = -1;
  int of_slot = -1;  // length: the buffer's slot; shared-length: index into dynamic_shared
  int axis = 0;
};

/// Block-shared storage whose length is given at launch.
struct DynamicShared {
  std::string name;
  std::string type;
  std::int64_t element_size = 0;
};

/// Where a check of a kernel compiled checked stands in the source.
struct FaultSite {
  std::string kind;    // "bounds", "trap", ...
  std::string detail;  // buffer name, or the trap's text
  std::string file;
  int line = 0;
  int column = 0;
};

/// One compiled form of a kernel.
struct Variant {
  std::string target;                      // "native", "opencl", "interp"
  std::string level;                       // native: "sse4.2", "avx2", "avx512", "aarch64"; else empty
  std::vector<std::string> grants;         // stable names of the grants it needs; none: the exact variant
  std::vector<std::string> optimisations;  // stable names of the optimisations that needed those grants
  std::vector<std::string> requires_;      // device capabilities, "fp64", "fp16", ...
  int blob = -1;
  std::int64_t entry = 0;              // native: offset of the entry in the blob
  std::string entry_name;              // text targets: the function's name
  std::int64_t shared_bytes = 0;       // static block-shared storage
  std::int64_t scratch_bytes = 0;      // native: per worker
  std::vector<FaultSite> fault_sites;  // checked artifacts; site n is element n - 1
};

struct Kernel {
  std::string name;
  std::vector<Param> params;
  std::vector<Slot> slots;
  std::vector<DynamicShared> dynamic_shared;
  std::array<int, 3> block{1, 1, 1};
  bool wide = false;
  bool checked = false;
  std::string file;
  int line = 0;
  std::int64_t push_bytes = 0;    // bytes of scalar arguments, each aligned to its size
  std::vector<Variant> variants;  // in order of preference per target
};

struct Blob {
  std::string kind;  // "native", "opencl-c", "ir"
  std::vector<std::uint8_t> bytes;
};

struct Package {
  std::string compiler;       // "sarekc 0.1.0"
  std::string module;         // base name of the source
  std::string policy_digest;  // of the compile's effective policy
  std::vector<Kernel> kernels;
  std::vector<Blob> blobs;
};

/// The JSON index of the file: what --emit=metadata shows.
std::string index_text(const Package& package);

/// The bytes of the file. The package must be well formed (indices in range); equal packages give equal bytes.
std::vector<std::uint8_t> write_package(const Package& package);

/// Reads and checks everything: magic, version, sizes, checksums, every index in range, names and numbers plausible. One error says what is
/// wrong; nothing of a refused file is returned. Never reads outside `bytes`.
Result<Package> read_package(std::span<const std::uint8_t> bytes);

/// Reads a file into memory and checks it. Errors name the path.
Result<Package> load_package(const std::string& path);

}  // namespace sarek::artifact
