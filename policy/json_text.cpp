// The located JSON reader: a recursive descent over the text, bounded in depth and size.
#include "policy/json_text.h"

#include <algorithm>
#include <charconv>

namespace sarek::policy::detail {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Every function returns false after noting a fault; the first fault is kept.
class Reader {
 public:
  Reader(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  bool read(JsonValue& value) {
    if (text_.size() > limits_.bytes) return refuse(0, "the file is larger than " + std::to_string(limits_.bytes) + " bytes");
    for (std::size_t i = 0; i < text_.size();) {
      const std::size_t length = utf8_length(text_.substr(i));
      if (length == 0) return refuse(i, "the file is not valid UTF-8 here");
      i += length;
    }
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    skip_space();
    if (!read_value(value, 0)) return false;
    skip_space();
    if (at_ != text_.size()) return fail(at_, 1, "nothing may follow the value of the file");
    return true;
  }
  JsonFault fault;

 private:
  bool fail(std::size_t at, std::size_t length, std::string message) {
    fault = {at, length, std::move(message), false};
    return false;
  }
  /// For what may well be JSON but is not read.
  bool refuse(std::size_t at, std::string message) {
    fault = {at, 1, std::move(message), true};
    return false;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool ended() const { return at_ >= text_.size(); }
  void skip_space() {
    while (!ended() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++at_;
  }
  /// What people write who know JSON from its more liberal relatives is told by name.
  bool unexpected(std::string_view wanted) {
    if (peek() == '/' || peek() == '#') return fail(at_, 1, "JSON has no comments");
    if (peek() == '\'') return fail(at_, 1, "JSON writes text in double quotes");
    const std::string found = ended() ? "the file ends here" : "unexpected character";
    return fail(std::min(at_, text_.size()), 1, found + ", expected " + std::string(wanted));
  }

  bool read_value(JsonValue& value, std::size_t depth) {
    value.begin = at_;
    const bool ok = read_any(value, depth);
    value.end = at_;
    return ok;
  }

  bool read_any(JsonValue& value, std::size_t depth) {
    switch (peek()) {
      case '{': return read_object(value, depth);
      case '[': return read_array(value, depth);
      case '"': value.kind = JsonValue::Kind::String; return read_string(value.text);
      case 't': value.boolean = true; return read_word(value, "true", JsonValue::Kind::Boolean);
      case 'f': return read_word(value, "false", JsonValue::Kind::Boolean);
      case 'n': return read_word(value, "null", JsonValue::Kind::Null);
      default: break;
    }
    if (peek() == '-' || is_digit(peek())) return read_number(value);
    return unexpected("a value");
  }

  bool read_word(JsonValue& value, std::string_view word, JsonValue::Kind kind) {
    if (text_.substr(at_, word.size()) != word) return unexpected("a value");
    value.kind = kind;
    at_ += word.size();
    return true;
  }

  bool read_number(JsonValue& value) {
    const std::size_t begin = at_;
    const auto digits = [&] {
      const std::size_t first = at_;
      while (is_digit(peek())) ++at_;
      return at_ != first;
    };
    value.kind = JsonValue::Kind::Number;
    if (peek() == '-') ++at_;
    if (peek() == '0') ++at_;
    else if (!digits()) return unexpected("a digit");
    if (peek() == '.') {
      ++at_;
      if (!digits()) return unexpected("a digit");
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return unexpected("a digit");
    }
    value.text = text_.substr(begin, at_ - begin);
    return true;
  }

  bool read_hex4(std::uint32_t& code) {
    const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || error != std::errc{} || end != digits.data() + 4) return unexpected("four hexadecimal digits");
    at_ += 4;
    return true;
  }

  bool read_escape(std::string& out) {
    const std::size_t begin = at_++;  // the backslash
    const char c = peek();
    ++at_;
    switch (c) {
      case '"':
      case '\\':
      case '/': out += c; return true;
      case 'b': out += '\b'; return true;
      case 'f': out += '\f'; return true;
      case 'n': out += '\n'; return true;
      case 'r': out += '\r'; return true;
      case 't': out += '\t'; return true;
      case 'u': break;
      default: return fail(begin, 2, "no such escape in a string");
    }
    std::uint32_t code = 0;
    if (!read_hex4(code)) return false;
    if (code >= 0xDC00 && code <= 0xDFFF) return fail(begin, 6, "a low surrogate without a high one before it");
    if (code >= 0xD800 && code <= 0xDBFF) {
      std::uint32_t low = 0;
      if (text_.substr(at_, 2) != "\\u") return fail(begin, 6, "a high surrogate without a low one after it");
      at_ += 2;
      if (!read_hex4(low)) return false;
      if (low < 0xDC00 || low > 0xDFFF) return fail(begin, 6, "a high surrogate without a low one after it");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(out, code);
    return true;
  }

  bool read_string(std::string& out) {
    const std::size_t begin = at_++;
    while (!ended()) {
      const char c = peek();
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return fail(at_, 1, "a control character in a string must be escaped");
      if (c == '\\') {
        if (!read_escape(out)) return false;
      } else {
        out += c;
        ++at_;
      }
    }
    return fail(begin, 1, "this string has no end");
  }

  bool enter(std::size_t depth, std::string_view what) {
    if (depth >= limits_.depth)
      return refuse(at_, "more than " + std::to_string(limits_.depth) + " levels of nesting at this " + std::string(what));
    ++at_;
    skip_space();
    return true;
  }

  /// The comma between two items of what `close` ends.
  bool separate(char close) {
    const std::size_t comma = at_;
    if (peek() == '"' || peek() == '{' || peek() == '[') return fail(at_, 1, "a comma is missing before this");
    if (peek() != ',') return unexpected(std::string("`,` or `") + close + "`");
    ++at_;
    skip_space();
    if (peek() == close) return fail(comma, 1, std::string("no comma may stand before `") + close + "`");
    return true;
  }

  bool read_array(JsonValue& value, std::size_t depth) {
    value.kind = JsonValue::Kind::Array;
    if (!enter(depth, "array")) return false;
    if (peek() == ']') {
      ++at_;
      return true;
    }
    for (;;) {
      if (!read_value(value.items.emplace_back(), depth + 1)) return false;
      skip_space();
      if (peek() == ']') {
        ++at_;
        return true;
      }
      if (!separate(']')) return false;
    }
  }

  bool read_object(JsonValue& value, std::size_t depth) {
    value.kind = JsonValue::Kind::Object;
    if (!enter(depth, "object")) return false;
    if (peek() == '}') {
      ++at_;
      return true;
    }
    for (;;) {
      if (peek() != '"') return unexpected("a key in double quotes");
      JsonMember& member = value.members.emplace_back();
      member.key_begin = at_;
      if (!read_string(member.key)) return false;
      member.key_end = at_;
      skip_space();
      if (peek() != ':') return unexpected("`:`");
      ++at_;
      skip_space();
      if (!read_value(member.value, depth + 1)) return false;
      skip_space();
      if (peek() == '}') {
        ++at_;
        return true;
      }
      if (!separate('}')) return false;
    }
  }

  std::string_view text_;
  JsonLimits limits_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view kind_name(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::Null: return "null";
    case JsonValue::Kind::Boolean: return "a boolean";
    case JsonValue::Kind::Number: return "a number";
    case JsonValue::Kind::String: return "a string";
    case JsonValue::Kind::Array: return "an array";
    case JsonValue::Kind::Object: return "an object";
  }
  return "";
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto found = std::find_if(members.begin(), members.end(), [&](const JsonMember& member) { return member.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

bool JsonValue::to_integer(std::int64_t& value) const {
  if (kind != Kind::Number) return false;
  const auto [end_of_number, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end_of_number == text.data() + text.size();
}

std::variant<JsonValue, JsonFault> read_json(std::string_view text, const JsonLimits& limits) {
  Reader reader(text, limits);
  JsonValue value;
  if (!reader.read(value)) return std::move(reader.fault);
  return value;
}

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1, 0x80, 0xBF) ? 2 : 0;
  // The second byte's range keeps out overlong forms, surrogates and what lies above U+10FFFF (Unicode 15, table 3-7).
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2, 0x80, 0xBF) && follows(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      constexpr char digits[] = "0123456789abcdef";
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + '"';
}

LineIndex::LineIndex(std::string_view text) : size_(text.size()) {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) starts_.push_back(at + 1);
}

TextPlace LineIndex::place(std::size_t offset) const {
  offset = std::min(offset, size_);
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  return {static_cast<std::size_t>(after - starts_.begin()), offset - *(after - 1) + 1};
}

}  // namespace sarek::policy::detail
