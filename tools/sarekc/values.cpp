#include "tools/sarekc/values.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "compiler/support/numeric.h"
#include "tools/sarekc/array_file.h"

namespace sarek::tool {
namespace {

template <class T>
std::vector<std::uint8_t> bytes_of(T value) {
  std::vector<std::uint8_t> out(sizeof(T));
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

template <class T>
T value_of(const std::uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

std::vector<std::uint8_t> low_bytes(std::uint64_t value, int count) {
  std::vector<std::uint8_t> out = bytes_of(value);
  out.resize(static_cast<std::size_t>(count));
  return out;
}

bool is_float(std::string_view type) { return type.front() == 'f' || type == "bf16"; }

Result<std::uint64_t> parse_unsigned(std::string_view text) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) base = 16, text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return err("`" + std::string(text) + "` is no integer");
  return value;
}

Result<std::vector<std::uint8_t>> parse_integer(const std::string& type, std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  Result<std::uint64_t> magnitude = parse_unsigned(negative ? text.substr(1) : text);
  if (!magnitude) return Err(magnitude.error());
  const int bits = scalar_bytes(type) * 8;
  const bool is_signed = type.front() == 'i';
  const std::uint64_t top = is_signed    ? (std::uint64_t{1} << (bits - 1)) - (negative ? 0 : 1)
                            : bits == 64 ? UINT64_MAX
                                         : (std::uint64_t{1} << bits) - 1;
  if (*magnitude > top || (negative && !is_signed && *magnitude != 0))
    return err("`" + std::string(text) + "` is out of range for `" + type + "`");
  return low_bytes(negative ? 0 - *magnitude : *magnitude, scalar_bytes(type));
}

Result<std::vector<std::uint8_t>> parse_float(const std::string& type, std::string_view view) {
  const std::string text(view);
  char* end = nullptr;
  errno = 0;
  std::vector<std::uint8_t> out;
  if (type == "f32") {
    out = bytes_of(std::strtof(text.c_str(), &end));
  } else if (type == "f64") {
    out = bytes_of(std::strtod(text.c_str(), &end));
  } else {
    // strtod rounds once; a second rounding to 16 bits differs only when the double fell exactly on a midpoint that the text does not name.
    const double value = std::strtod(text.c_str(), &end);
    out = bytes_of(type == "f16" ? numeric::f16_from(value) : numeric::bf16_from(value));
  }
  if (text.empty() || end != text.c_str() + text.size()) return err("`" + text + "` is no number");
  return out;
}

template <class Float>
std::string shortest(Float value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), error == std::errc() ? end : buffer.data());
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

constexpr std::int64_t kMaxCount = std::int64_t{1} << 33;

/// Bits that break careless code: limits, zeros, infinities, NaN, subnormals; one in three draws is of these, the rest random bits.
std::vector<std::uint8_t> any_value(const std::string& type, Random& random) {
  const int size = scalar_bytes(type);
  if (type == "bool") return {static_cast<std::uint8_t>(random.next() & 1)};
  const std::uint64_t draw = random.next();
  if (draw % 3 != 0) return low_bytes(random.next(), size);
  const int bits = size * 8;
  if (is_float(type)) {
    const int mantissa = type == "f16" ? 10 : type == "bf16" ? 7 : type == "f32" ? 23 : 52;
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    const std::uint64_t infinity = (sign - 1) >> mantissa << mantissa;
    const std::uint64_t one = (infinity >> 1) & infinity;
    const std::array<std::uint64_t, 10> edges = {0,
                                                 sign,
                                                 1,
                                                 infinity,
                                                 infinity | sign,
                                                 infinity - 1,
                                                 std::uint64_t{1} << mantissa,
                                                 infinity | std::uint64_t{1} << (mantissa - 1),
                                                 one,
                                                 one | sign};
    return low_bytes(edges[(draw / 3) % edges.size()], size);
  }
  const std::uint64_t top = bits == 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
  const std::array<std::uint64_t, 7> edges = {0, 1, top, top >> 1, (top >> 1) + 1, static_cast<std::uint64_t>(bits), 2};
  return low_bytes(edges[(draw / 3) % edges.size()], size);
}

/// Nothing when `c.low` and `c.high` are bounds of the type, in order; else what is wrong.
std::string bounds_fault(const std::string& type, const Contents& c) {
  if (c.low.empty() && c.high.empty()) return {};
  if (type == "bool") return "bool takes no bounds";
  const Result<std::vector<std::uint8_t>> low = parse_scalar(type, c.low);
  if (!low) return low.error().message;
  const Result<std::vector<std::uint8_t>> high = parse_scalar(type, c.high);
  if (!high) return high.error().message;
  if (is_float(type)) {
    const double a = std::strtod(c.low.c_str(), nullptr);
    const double b = std::strtod(c.high.c_str(), nullptr);
    if (!std::isfinite(a) || !std::isfinite(b)) return "bounds are finite";
    return a <= b ? "" : "the lower bound is above the upper";
  }
  // Two's complement with the sign bit turned orders signed numbers too.
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::memcpy(&a, low->data(), low->size());
  std::memcpy(&b, high->data(), high->size());
  const std::uint64_t turn = type.front() == 'i' ? std::uint64_t{1} << (scalar_bytes(type) * 8 - 1) : 0;
  return (a ^ turn) <= (b ^ turn) ? "" : "the lower bound is above the upper";
}

/// More bytes than the machine has would bring it to its knees before it said no.
std::int64_t memory_bytes() { return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE); }

Result<std::vector<std::uint8_t>> random_value(const std::string& type, const Contents& c, Random& random) {
  if (type == "bool") return std::vector<std::uint8_t>{static_cast<std::uint8_t>(random.next() & 1)};
  if (is_float(type)) {
    const double low = c.low.empty() ? 0.0 : std::strtod(c.low.c_str(), nullptr);
    const double high = c.high.empty() ? 1.0 : std::strtod(c.high.c_str(), nullptr);
    const double value = low + (high - low) * random.uniform();
    if (type == "f16") return bytes_of(numeric::f16_from(value));
    if (type == "bf16") return bytes_of(numeric::bf16_from(value));
    if (type == "f32") return bytes_of(static_cast<float>(value));
    return bytes_of(value);
  }
  if (c.low.empty()) return low_bytes(random.next(), scalar_bytes(type));
  Result<std::vector<std::uint8_t>> low = parse_integer(type, c.low);
  if (!low) return low;
  Result<std::vector<std::uint8_t>> high = parse_integer(type, c.high);
  if (!high) return high;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::memcpy(&a, low->data(), low->size());
  std::memcpy(&b, high->data(), high->size());
  // The difference modulo the width is the number of steps from low to high for either signedness.
  const int bits = scalar_bytes(type) * 8;
  const std::uint64_t mask = bits == 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t span = (b - a) & mask;
  return low_bytes(a + (span == UINT64_MAX ? random.next() : random.next() % (span + 1)), scalar_bytes(type));
}

Result<std::vector<std::uint8_t>> one_value(const Contents& c, const std::string& type, std::int64_t index, Random& random) {
  switch (c.kind) {
    case Contents::Kind::Zeros: return std::vector<std::uint8_t>(static_cast<std::size_t>(scalar_bytes(type)));
    case Contents::Kind::Fill: return parse_scalar(type, c.low);
    case Contents::Kind::Iota: {
      if (is_float(type)) return parse_float(type, std::to_string(index));
      return low_bytes(static_cast<std::uint64_t>(type == "bool" ? index & 1 : index), scalar_bytes(type));
    }
    case Contents::Kind::Random: return random_value(type, c, random);
    case Contents::Kind::Any: return any_value(type, random);
    case Contents::Kind::List: return parse_scalar(type, c.items[static_cast<std::size_t>(index)]);
    case Contents::Kind::File: break;
  }
  return err("no value");
}

Result<std::vector<std::uint8_t>> file_contents(const std::string& path, const artifact::Param& element) {
  if (path.size() > 4 && path.substr(path.size() - 4) == ".npy") {
    Result<Array> array = read_npy(path);
    if (!array) return Err(array.error());
    const std::string stored = element.type == "bf16" ? "u16" : element.type;
    const bool is_scalar = element.fields.size() == 1;
    if (is_scalar && array->type != stored)
      return err(path + " holds `" + array->type + "`, `" + element.name + "` is of `" + element.type + "`");
    if (array->bytes.size() % static_cast<std::size_t>(element.size) != 0)
      return err(path + ": its size is no multiple of an element of `" + element.type + "`");
    return std::move(array->bytes);
  }
  Result<std::vector<std::uint8_t>> bytes = read_file(path);
  if (bytes && bytes->size() % static_cast<std::size_t>(element.size) != 0)
    return err(path + ": its size is no multiple of an element of `" + element.type + "`");
  return bytes;
}

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

Result<std::vector<std::uint8_t>> parse_scalar(const std::string& type, std::string_view text) {
  text = trim(text);
  const int size = scalar_bytes(type);
  if (size == 0) return err("`" + type + "` is no scalar type");
  if (text.substr(0, 5) == "bits:") {
    Result<std::uint64_t> bits = parse_unsigned(text.substr(5));
    if (!bits) return Err(bits.error());
    if (size < 8 && *bits >> (size * 8)) return err("`" + std::string(text) + "` has more bits than `" + type + "`");
    return low_bytes(*bits, size);
  }
  if (type == "bool") {
    if (text == "true" || text == "1") return std::vector<std::uint8_t>{1};
    if (text == "false" || text == "0") return std::vector<std::uint8_t>{0};
    return err("`" + std::string(text) + "` is neither true nor false");
  }
  return is_float(type) ? parse_float(type, text) : parse_integer(type, text);
}

std::string format_scalar(const std::string& type, const std::uint8_t* bytes) {
  if (type == "bool") return *bytes ? "true" : "false";
  if (type == "i8") return std::to_string(value_of<std::int8_t>(bytes));
  if (type == "u8") return std::to_string(*bytes);
  if (type == "i16") return std::to_string(value_of<std::int16_t>(bytes));
  if (type == "u16") return std::to_string(value_of<std::uint16_t>(bytes));
  if (type == "i32") return std::to_string(value_of<std::int32_t>(bytes));
  if (type == "u32") return std::to_string(value_of<std::uint32_t>(bytes));
  if (type == "i64") return std::to_string(value_of<std::int64_t>(bytes));
  if (type == "u64") return std::to_string(value_of<std::uint64_t>(bytes));
  if (type == "f16") return shortest(numeric::f32_from_f16(value_of<std::uint16_t>(bytes)));
  if (type == "bf16") return shortest(numeric::f32_from_bf16(value_of<std::uint16_t>(bytes)));
  if (type == "f32") return shortest(value_of<float>(bytes));
  return shortest(value_of<double>(bytes));
}

bool same_value(const std::string& type, const std::uint8_t* a, const std::uint8_t* b) {
  const auto size = static_cast<std::size_t>(scalar_bytes(type));
  if (std::memcmp(a, b, size) == 0) return true;
  if (type == "f16")
    return std::isnan(numeric::f32_from_f16(value_of<std::uint16_t>(a))) && std::isnan(numeric::f32_from_f16(value_of<std::uint16_t>(b)));
  if (type == "bf16")
    return std::isnan(numeric::f32_from_bf16(value_of<std::uint16_t>(a))) && std::isnan(numeric::f32_from_bf16(value_of<std::uint16_t>(b)));
  if (type == "f32") return std::isnan(value_of<float>(a)) && std::isnan(value_of<float>(b));
  if (type == "f64") return std::isnan(value_of<double>(a)) && std::isnan(value_of<double>(b));
  return false;
}

Result<Contents> parse_contents(std::string_view text) {
  text = trim(text);
  Contents c;
  if (!text.empty() && text.front() == '@') {
    c.kind = Contents::Kind::File;
    c.path = std::string(text.substr(1));
    return c;
  }
  if (!text.empty() && text.front() == '[') {
    if (text.back() != ']') return err("the list does not end with `]`");
    c.kind = Contents::Kind::List;
    const std::string_view inside = trim(text.substr(1, text.size() - 2));
    if (!inside.empty())
      for (const std::string_view item : split(inside, ',')) c.items.emplace_back(trim(item));
    c.count = static_cast<std::int64_t>(c.items.size());
    return c;
  }
  const std::vector<std::string_view> parts = split(text, ':');
  struct Form {
    const char* name;
    Contents::Kind kind;
    std::size_t least, most;
  };
  constexpr Form kForms[] = {{"zeros", Contents::Kind::Zeros, 2, 2},
                             {"fill", Contents::Kind::Fill, 3, 4},
                             {"iota", Contents::Kind::Iota, 2, 2},
                             {"random", Contents::Kind::Random, 2, 5},
                             {"any", Contents::Kind::Any, 2, 3}};
  const auto* form = std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& f) { return parts[0] == f.name; });
  if (form == std::end(kForms) || parts.size() < form->least || parts.size() > form->most ||
      (form->kind == Contents::Kind::Random && parts.size() == 3))
    return err("`" + std::string(text) +
               "` describes no buffer; use zeros:N, fill:N:VALUE, iota:N, random:N[:LOW:HIGH[:SEED]], any:N[:SEED], [a, b, ...] or @FILE");
  c.kind = form->kind;
  Result<std::uint64_t> count = parse_unsigned(parts[1]);
  if (!count) return Err(count.error());
  if (*count > static_cast<std::uint64_t>(kMaxCount)) return err("a buffer of " + std::to_string(*count) + " elements is refused");
  c.count = static_cast<std::int64_t>(*count);
  if (c.kind == Contents::Kind::Fill) {
    c.low = std::string(text.substr(parts[0].size() + parts[1].size() + 2));  // the value may hold a colon: bits:0x...
  } else if (c.kind == Contents::Kind::Random && parts.size() >= 4) {
    c.low = std::string(parts[2]);
    c.high = std::string(parts[3]);
  }
  const std::size_t seed_at = c.kind == Contents::Kind::Random ? 4 : 2;
  if ((c.kind == Contents::Kind::Random || c.kind == Contents::Kind::Any) && parts.size() > seed_at) {
    Result<std::uint64_t> seed = parse_unsigned(parts[seed_at]);
    if (!seed) return Err(seed.error());
    c.seed = *seed;
  }
  return c;
}

Result<std::vector<std::uint8_t>> make_contents(const Contents& contents, const artifact::Param& element) {
  if (contents.kind == Contents::Kind::File) return file_contents(contents.path, element);
  const bool is_scalar = element.fields.size() == 1 && element.fields[0].path.empty();
  if (contents.kind == Contents::Kind::List && !is_scalar)
    return err("a list can only fill a buffer of scalars, not of `" + element.type + "`");
  std::int64_t total = 0;
  if (__builtin_mul_overflow(contents.count, element.size, &total) || total > memory_bytes())
    return err("a buffer of " + std::to_string(contents.count) + " elements is larger than the memory of this machine");
  if (contents.kind == Contents::Kind::Random)
    for (const artifact::Field& field : element.fields)
      if (const std::string fault = bounds_fault(field.type, contents); !fault.empty()) return err(fault);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(total));
  if (contents.kind == Contents::Kind::Zeros) return out;
  Random random(contents.seed);
  for (std::int64_t i = 0; i < contents.count; ++i)
    for (const artifact::Field& field : element.fields) {
      Result<std::vector<std::uint8_t>> value = one_value(contents, field.type, i, random);
      if (!value) return value;
      std::copy(value->begin(), value->end(), out.begin() + static_cast<std::ptrdiff_t>(i * element.size + field.offset));
    }
  return out;
}

}  // namespace sarek::tool
