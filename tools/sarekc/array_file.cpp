#include "tools/sarekc/array_file.h"

#include <png.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

namespace sarek::tool {
namespace {

struct TypeRow {
  const char* name;
  const char* descr;  // NumPy's; empty: cannot be stored
  int bytes;
};
constexpr TypeRow kTypes[] = {
    {"bool", "|b1", 1}, {"i8", "|i1", 1},  {"u8", "|u1", 1},  {"i16", "<i2", 2}, {"u16", "<u2", 2}, {"i32", "<i4", 4}, {"u32", "<u4", 4},
    {"i64", "<i8", 8},  {"u64", "<u8", 8}, {"f16", "<f2", 2}, {"f32", "<f4", 4}, {"f64", "<f8", 8}, {"bf16", "", 2},
};
constexpr char kMagic[] = "\x93NUMPY";
constexpr std::size_t kMaxHeader = 1 << 16;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 33;  // the largest buffer of the language: 2^31 - 1 elements of 4 bytes

/// The text between the quotes or brackets that follow 'key': in the header's Python dictionary.
std::string_view after_key(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size());
  const std::size_t start = rest.find_first_not_of(": ");
  return start == std::string_view::npos ? std::string_view() : rest.substr(start);
}

Result<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  std::vector<std::int64_t> shape;
  if (text.empty() || text.front() != '(') return err("the .npy header has no shape");
  text.remove_prefix(1);
  while (true) {
    while (!text.empty() && (text.front() == ' ' || text.front() == ',')) text.remove_prefix(1);
    if (text.empty()) return err("the .npy header's shape does not end");
    if (text.front() == ')') return shape;
    std::int64_t value = 0;
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
      value = value * 10 + (text[digits] - '0');
      if (++digits > 15) return err("the .npy header's shape is absurd");
    }
    if (digits == 0) return err("the .npy header's shape is no list of integers");
    shape.push_back(value);
    if (shape.size() > 32) return err("the .npy header's shape is absurd");
    text.remove_prefix(digits);
  }
}

std::uint8_t to_byte(double x) { return static_cast<std::uint8_t>(std::lround(std::clamp(x, 0.0, 1.0) * 255.0)); }

/// Grey bytes of floating elements: the least finite value is black, the greatest white; NaN and infinities are clamped to the ends.
template <class Float>
std::vector<std::uint8_t> grey(const Array& array) {
  std::vector<Float> values(static_cast<std::size_t>(array.count()));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  double low = INFINITY;
  double high = -INFINITY;
  for (const Float v : values)
    if (std::isfinite(v)) low = std::min<double>(low, v), high = std::max<double>(high, v);
  std::vector<std::uint8_t> out;
  out.reserve(values.size());
  for (const Float v : values)
    out.push_back(std::isnan(v) || !(high > low) ? std::uint8_t{0} : to_byte((static_cast<double>(v) - low) / (high - low)));
  return out;
}

}  // namespace

int scalar_bytes(const std::string& type) {
  for (const TypeRow& row : kTypes)
    if (type == row.name) return row.bytes;
  return 0;
}

Result<std::vector<std::uint8_t>> read_file(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return err("no such file: `" + path + "`");
  if (S_ISDIR(info.st_mode)) return err("`" + path + "` is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return err("cannot read `" + path + "`");
  std::vector<std::uint8_t> bytes;
  std::vector<char> piece(1 << 16);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + file.gcount());
    if (bytes.size() > kMaxFileBytes) return err("`" + path + "` is larger than 8 GiB");
  }
  if (file.bad()) return err("cannot read `" + path + "`");
  return bytes;
}

Result<Unit> write_file(const std::string& path, const void* data, std::size_t size) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  file.close();
  if (!file) return err("cannot write `" + path + "`");
  return Unit{};
}

Result<Unit> replace_file(const std::string& path, const void* data, std::size_t size) {
  struct stat info{};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return err("cannot write `" + path + "`: it is a folder");
  struct stat link{};
  const bool is_link = lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  if ((exists && !S_ISREG(info.st_mode)) || (is_link && !exists)) return write_file(path, data, size);
  std::string target = path;
  if (is_link) {
    char* resolved = realpath(path.c_str(), nullptr);
    if (!resolved) return err("cannot write `" + path + "`");
    target = resolved;
    std::free(resolved);
  }
  const std::string scratch = target + "." + std::to_string(getpid()) + ".tmp";
  if (write_file(scratch, data, size) && (!exists || chmod(scratch.c_str(), info.st_mode & 07777) == 0) &&
      std::rename(scratch.c_str(), target.c_str()) == 0)
    return Unit{};
  std::remove(scratch.c_str());
  return err("cannot write `" + path + "`");
}

Result<Array> parse_npy(const std::vector<std::uint8_t>& bytes) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic, 6) != 0) return err("this is no .npy file");
  const std::size_t prefix = bytes[6] == 1 ? 10 : 12;
  if (bytes[6] < 1 || bytes[6] > 3 || bytes.size() < prefix) return err("this .npy version is not read");
  std::size_t length = bytes[8] | static_cast<std::size_t>(bytes[9]) << 8;
  if (prefix == 12) length |= static_cast<std::size_t>(bytes[10]) << 16 | static_cast<std::size_t>(bytes[11]) << 24;
  if (length > kMaxHeader || bytes.size() - prefix < length) return err("the .npy file is truncated");
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + prefix, length);
  const std::string_view descr = after_key(header, "'descr'");
  Array array;
  for (const TypeRow& row : kTypes)
    if (*row.descr && descr.size() > 4 && descr.substr(1, 3) == row.descr && descr[4] == descr[0]) array.type = row.name;
  if (array.type.empty()) return err("the .npy file has elements of another type or byte order: " + std::string(descr.substr(0, 8)));
  if (after_key(header, "'fortran_order'").substr(0, 5) != "False") return err("the .npy file is in Fortran order");
  Result<std::vector<std::int64_t>> shape = parse_shape(after_key(header, "'shape'"));
  if (!shape) return Err(shape.error());
  array.shape = std::move(shape).value();
  std::int64_t total = scalar_bytes(array.type);
  for (const std::int64_t extent : array.shape)
    if (__builtin_mul_overflow(total, extent, &total)) return err("the .npy header's shape is absurd");
  if (bytes.size() - prefix - length != static_cast<std::size_t>(total))
    return err("the .npy file has not as many bytes as its shape says");
  array.bytes.assign(bytes.begin() + static_cast<std::ptrdiff_t>(prefix + length), bytes.end());
  return array;
}

Result<Array> read_npy(const std::string& path) {
  Result<std::vector<std::uint8_t>> bytes = read_file(path);
  if (!bytes) return Err(bytes.error());
  Result<Array> array = parse_npy(*bytes);
  if (!array) return err(path + ": " + array.error().message);
  return array;
}

std::vector<std::uint8_t> format_npy(const Array& array) {
  const char* descr = "<u2";  // bf16: its bits
  for (const TypeRow& row : kTypes)
    if (array.type == row.name && *row.descr) descr = row.descr;
  std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : array.shape) header += std::to_string(extent) + ",";
  header += "), }";
  // Magic, version and length take 10 bytes; the data starts at a multiple of 64.
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::vector<std::uint8_t> out = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<std::uint8_t>(header.size()), static_cast<std::uint8_t>(header.size() >> 8)};
  out.reserve(out.size() + header.size() + array.bytes.size());
  for (const char c : header) out.push_back(static_cast<std::uint8_t>(c));
  out.insert(out.end(), array.bytes.begin(), array.bytes.end());
  return out;
}

Result<Unit> write_npy(const std::string& path, const Array& array) {
  const std::vector<std::uint8_t> bytes = format_npy(array);
  return write_file(path, bytes.data(), bytes.size());
}

Result<Array> read_raw(const std::string& path, const std::string& type) {
  Result<std::vector<std::uint8_t>> bytes = read_file(path);
  if (!bytes) return Err(bytes.error());
  const int size = scalar_bytes(type);
  if (size == 0) return err("raw files hold scalars, not `" + type + "`");
  if (bytes->size() % static_cast<std::size_t>(size) != 0) return err(path + ": its size is no multiple of an element of `" + type + "`");
  const auto count = static_cast<std::int64_t>(bytes->size()) / size;
  return Array{type, {count}, std::move(bytes).value()};
}

Result<Unit> write_raw(const std::string& path, const Array& array) { return write_file(path, array.bytes.data(), array.bytes.size()); }

Result<Unit> write_png(const std::string& path, const Array& array, std::int64_t width, std::int64_t height) {
  constexpr std::int64_t kMaxExtent = 1 << 20;
  if (width < 1 || height < 1 || width > kMaxExtent || height > kMaxExtent)
    return err("a picture of " + std::to_string(width) + " x " + std::to_string(height) + " cannot be");
  const std::int64_t pixels = width * height;
  std::vector<std::uint8_t> samples = array.bytes;
  png_uint_32 format = PNG_FORMAT_GRAY;
  std::int64_t wanted = pixels;
  if (array.type == "u8" || array.type == "bool") {
    if (array.count() == 3 * pixels) format = PNG_FORMAT_RGB, wanted = 3 * pixels;
    if (array.count() == 4 * pixels) format = PNG_FORMAT_RGBA, wanted = 4 * pixels;
    if (array.type == "bool")
      for (std::uint8_t& s : samples) s = s ? 255 : 0;
  } else if (array.type == "u32") {
    format = PNG_FORMAT_RGBA;
  } else if (array.type == "f32") {
    samples = grey<float>(array);
  } else if (array.type == "f64") {
    samples = grey<double>(array);
  } else {
    return err("a picture cannot be made of `" + array.type + "`; u8, u32, f32 and f64 can");
  }
  if (array.count() != wanted)
    return err("a picture of " + std::to_string(width) + " x " + std::to_string(height) + " needs other than " +
               std::to_string(array.count()) + " elements");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = format;
  if (!png_image_write_to_file(&image, path.c_str(), 0, samples.data(), 0, nullptr))
    return err("cannot write `" + path + "`: " + image.message);
  return Unit{};
}

}  // namespace sarek::tool
