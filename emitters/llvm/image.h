// From a relocatable object to a flat image: sections laid out at multiples of 64 from offset 0, references between them resolved. No
// program and no LLVM IR here.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace sarek::emit {

struct FlatImage {
  std::vector<std::uint8_t> bytes;
  std::map<std::string, std::int64_t> symbols;  // global symbols: offset
};

/// Lays out an ELF64 object of x86-64 or AArch64 (little endian). The image works at any address that is a multiple of 4096. Refuses
/// symbols that are not defined in the object (a library call), writable data, and relocations that depend on the address.
Result<FlatImage> flatten_object(std::span<const std::uint8_t> object);

}  // namespace sarek::emit
