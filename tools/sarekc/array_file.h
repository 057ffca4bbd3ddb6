// Arrays in files: NumPy's .npy (version 1.0 to 3.0, C order, little endian), raw .bin, and PNG for results that are pictures. Knows
// neither kernels nor devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace sarek::tool {

/// A dense array in C order. `type` is a scalar type of the language: "f32", "u8", ...; bf16 has no .npy spelling and travels as u16.
struct Array {
  std::string type;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;

  std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    return n;
  }
};

/// Bytes of one scalar of the language; 0 when there is no such type.
int scalar_bytes(const std::string& type);

/// Reads a .npy file. Errors: unreadable, another byte order or element type, Fortran order, truncated, absurd shape.
Result<Array> read_npy(const std::string& path);
Result<Array> parse_npy(const std::vector<std::uint8_t>& bytes);
Result<Unit> write_npy(const std::string& path, const Array& array);
std::vector<std::uint8_t> format_npy(const Array& array);

/// Reads a file of raw little-endian elements of `type`; its size must be a multiple of the element's.
Result<Array> read_raw(const std::string& path, const std::string& type);
Result<Unit> write_raw(const std::string& path, const Array& array);

/// Writes a picture of `width` x `height`. u8 elements: 1 (grey), 3 (RGB) or 4 (RGBA) a pixel; u32 elements: 0xAABBGGRR a pixel; f32 and
/// f64: one a pixel, the finite range mapped to grey from black to white.
Result<Unit> write_png(const std::string& path, const Array& array, std::int64_t width, std::int64_t height);

/// Errors: no such file, a folder, more than 8 GiB.
Result<std::vector<std::uint8_t>> read_file(const std::string& path);
Result<Unit> write_file(const std::string& path, const void* data, std::size_t size);
/// As write_file, but whoever reads the path finds the old contents or the new, never a part: written beside it and renamed. Its mode is
/// kept, a link's target is replaced and not the link; what is no regular file (/dev/null, a pipe) is written as it is.
Result<Unit> replace_file(const std::string& path, const void* data, std::size_t size);

}  // namespace sarek::tool
