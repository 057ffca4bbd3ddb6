// The located JSON reader of the policy against an independent one: both accept and refuse the same texts, and both read the same values.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "policy/json_text.h"
#include "policy/test_model.h"

namespace sarek::policy::test {
namespace {

using detail::JsonValue;

std::string random_json(Random& random, int depth) {
  switch (random.below(depth > 0 ? 8 : 6)) {
    case 0: return random.pick(std::vector<std::string>{"true", "false", "null"});
    case 1: return random.pick(std::vector<std::string>{"0", "-0", "12", "-3.25", "1e3", "6.02E-2", "9007199254740991"});
    case 2:
    case 3:
      return random.pick(
          std::vector<std::string>{R"("")", R"("a\"b")", R"("\u00e9\n")", R"("\ud83c\udfbc")", "\"\xC3\xA9\"", R"("\/\b\f\t\r\\")"});
    case 4: return "[]";
    case 5: return "{ }";
    case 6: {
      std::string text = "[";
      for (std::size_t n = 1 + random.below(3); n > 0; --n) text += random_json(random, depth - 1) + (n > 1 ? " ,\n" : "");
      return text + "]";
    }
    default: break;
  }
  std::string text = "{";
  for (std::size_t n = 1 + random.below(3); n > 0; --n)
    text += "\"k" + std::to_string(n) + "\" :" + random_json(random, depth - 1) + (n > 1 ? "," : "");
  return text + "}";
}

bool same(const JsonValue& ours, const nlohmann::json& theirs) {
  switch (ours.kind) {
    case JsonValue::Kind::Null: return theirs.is_null();
    case JsonValue::Kind::Boolean: return theirs.is_boolean() && theirs.get<bool>() == ours.boolean;
    case JsonValue::Kind::Number: return theirs.is_number() && nlohmann::json::parse(ours.text) == theirs;
    case JsonValue::Kind::String: return theirs.is_string() && theirs.get<std::string>() == ours.text;
    case JsonValue::Kind::Array: {
      if (!theirs.is_array() || theirs.size() != ours.items.size()) return false;
      for (std::size_t i = 0; i < ours.items.size(); ++i)
        if (!same(ours.items[i], theirs[i])) return false;
      return true;
    }
    case JsonValue::Kind::Object: {
      if (!theirs.is_object() || theirs.size() != ours.members.size()) return false;
      for (const auto& member : ours.members)
        if (!theirs.contains(member.key) || !same(member.value, theirs[member.key])) return false;
      return true;
    }
  }
  return false;
}

/// Every value's bytes, read alone, are that value.
bool places_hold(const JsonValue& value, std::string_view text) {
  const auto alone = detail::read_json(text.substr(value.begin, value.end - value.begin));
  if (!std::holds_alternative<JsonValue>(alone) || std::get<JsonValue>(alone).kind != value.kind) return false;
  for (const JsonValue& item : value.items)
    if (!places_hold(item, text)) return false;
  for (const auto& member : value.members)
    if (text[member.key_begin] != '"' || text[member.key_end - 1] != '"' || !places_hold(member.value, text)) return false;
  return true;
}

TEST_CASE("both readers accept the same texts and read the same values") {
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    Random random(seed);
    std::string text = random_json(random, 4);
    // Half of the texts are damaged: a byte changed, taken out, or put in.
    if (seed % 2 == 0) {
      static const std::string bytes = "{}[]\",:\\u0123456789eE+-. truefalsn\n\x01\x7F\x80\xC3\xA9\xED\xFF";
      for (std::size_t n = 1 + random.below(2); n > 0; --n) {
        const std::size_t at = random.below(text.size());
        const char byte = bytes[random.below(bytes.size())];
        const std::size_t how = random.below(3);
        if (how == 0) text[at] = byte;
        if (how == 1) text.insert(at, 1, byte);
        if (how == 2 && text.size() > 1) text.erase(at, 1);
      }
    }
    INFO("seed " << seed << ": " << text);
    nlohmann::json theirs = nlohmann::json::value_t::discarded;
    try {
      theirs = nlohmann::json::parse(text);
    } catch (const nlohmann::json::out_of_range&) {
      continue;  // a number beyond a double: ours keeps the spelling, the other reader refuses it
    } catch (const nlohmann::json::parse_error&) {
      // stays discarded
    }
    const auto ours = detail::read_json(text);
    REQUIRE(std::holds_alternative<JsonValue>(ours) == !theirs.is_discarded());
    if (theirs.is_discarded()) {
      ++refused;
      REQUIRE(std::get<detail::JsonFault>(ours).at <= text.size());
      continue;
    }
    ++accepted;
    // A damaged key may now stand twice; the other reader keeps one of the two.
    if (seed % 2 == 1) REQUIRE(same(std::get<JsonValue>(ours), theirs));
    REQUIRE(places_hold(std::get<JsonValue>(ours), text));
  }
  REQUIRE(accepted > 3000);
  REQUIRE(refused > 1000);
}

TEST_CASE("what is written as a JSON string is read back, and is valid whatever the bytes were") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    std::string text;
    for (std::size_t n = random.below(12); n > 0; --n) text += static_cast<char>(random.below(256));
    const std::string written = detail::json_string(text);
    const nlohmann::json theirs = nlohmann::json::parse(written, nullptr, false);
    REQUIRE(theirs.is_string());
    const auto ours = detail::read_json(written);
    REQUIRE(std::get<JsonValue>(ours).text == theirs.get<std::string>());
  }
}

}  // namespace
}  // namespace sarek::policy::test
