// JSON with places: a reader whose every value and key knows the bytes it stands in, and the escaping that writers need. Private to this
// folder. It exists because diagnostics of a manifest must point at the value at fault, and the SAX and DOM interfaces of common readers
// give no places; a test compares what it accepts with such a reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sarek::policy::detail {

struct JsonMember;

/// A value and the bytes [begin, end) it stands in.
struct JsonValue {
  enum class Kind : std::uint8_t { Null, Boolean, Number, String, Array, Object };
  Kind kind = Kind::Null;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool boolean = false;
  std::string text;  // of a string: its content, unescaped; of a number: its spelling
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;  // in order, repeated keys included

  /// The first member of that key; null without one.
  const JsonValue* find(std::string_view key) const;
  /// The value of an integer without fraction and exponent, if it is one and fits.
  bool to_integer(std::int64_t& value) const;
};

struct JsonMember {
  std::string key;
  std::size_t key_begin = 0;
  std::size_t key_end = 0;
  JsonValue value;
};

std::string_view kind_name(JsonValue::Kind kind);

struct JsonFault {
  std::size_t at = 0;
  std::size_t length = 1;
  std::string message;
  bool unreadable = false;  // no fault of syntax: too large, too deep, or not in UTF-8
};

struct JsonLimits {
  std::size_t bytes = std::size_t{1} << 20;
  std::size_t depth = 64;
};

/// Reads one document (RFC 8259, an UTF-8 byte order mark allowed). The whole text must be valid UTF-8; what exceeds the limits is refused
/// before memory is spent on it.
std::variant<JsonValue, JsonFault> read_json(std::string_view text, const JsonLimits& limits = {});

/// The text as a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD, so that the result is always valid.
std::string json_string(std::string_view text);

/// The length of the UTF-8 sequence at the start of `text`: 1 to 4; 0 when it is not valid.
std::size_t utf8_length(std::string_view text);

/// Line and column of a byte offset; both count from 1, the column in bytes.
struct TextPlace {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// The line starts of a text, so that many places cost one scan of it.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);
  /// An offset past the end is the end.
  TextPlace place(std::size_t offset) const;

 private:
  std::vector<std::size_t> starts_{0};
  std::size_t size_;
};

}  // namespace sarek::policy::detail
