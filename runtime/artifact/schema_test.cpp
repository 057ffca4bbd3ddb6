// The schema of the index describes what the writer writes: checked with a validator for the part of JSON Schema that package.schema.json
// uses.
#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "runtime/artifact/package.h"

using namespace sarek::artifact;
using Json = nlohmann::json;

namespace {

class Validator {
 public:
  explicit Validator(const Json& schema) : root_(schema) {}

  /// What is wrong, with its place; nothing when the value is valid. Throws on a keyword it does not know, so that no part of the schema
  /// goes unread.
  std::optional<std::string> check(const Json& value) const { return check(value, root_, "index"); }

 private:
  std::optional<std::string> check(const Json& value, const Json& schema, const std::string& at) const {
    // The kind first: the other rules take it for granted.
    if (schema.contains("type") && !has_type(value, schema["type"].get<std::string>()))
      return at + " is no " + schema["type"].get<std::string>();
    for (const auto& [keyword, rule] : schema.items())
      if (auto fault = keyword_fault(value, schema, keyword, rule, at)) return fault;
    return {};
  }

  std::optional<std::string> keyword_fault(const Json& value, const Json& schema, const std::string& keyword, const Json& rule,
                                           const std::string& at) const {
    const auto unless = [&](bool holds) { return holds ? std::optional<std::string>() : at + " breaks " + keyword + " " + rule.dump(); };
    if (keyword == "$ref") return check(value, root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), at);
    if (keyword == "type") return {};
    if (keyword == "const") return unless(value == rule);
    if (keyword == "enum") return unless(std::find(rule.begin(), rule.end(), value) != rule.end());
    if (keyword == "anyOf") return unless(std::any_of(rule.begin(), rule.end(), [&](const Json& s) { return !check(value, s, at); }));
    if (keyword == "minimum") return unless(value.get<std::int64_t>() >= rule.get<std::int64_t>());
    if (keyword == "maximum") return unless(value.get<std::int64_t>() <= rule.get<std::int64_t>());
    if (keyword == "multipleOf") return unless(value.get<std::int64_t>() % rule.get<std::int64_t>() == 0);
    if (keyword == "minItems") return unless(value.size() >= rule.get<std::size_t>());
    if (keyword == "maxItems") return unless(value.size() <= rule.get<std::size_t>());
    if (keyword == "pattern") return unless(std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>())));
    if (keyword == "required") {
      for (const Json& name : rule)
        if (!value.contains(name.get<std::string>())) return at + " lacks " + name.get<std::string>();
      return {};
    }
    if (keyword == "additionalProperties") {
      for (const auto& [name, member] : value.items())
        if (!schema.at("properties").contains(name)) return at + " has the unknown member " + name;
      return {};
    }
    if (keyword == "properties") {
      for (const auto& [name, member] : rule.items())
        if (value.contains(name))
          if (auto fault = check(value.at(name), member, at + "." + name)) return fault;
      return {};
    }
    if (keyword == "items") {
      for (std::size_t i = 0; i < value.size(); ++i)
        if (auto fault = check(value[i], rule, at + "[" + std::to_string(i) + "]")) return fault;
      return {};
    }
    if (keyword == "$schema" || keyword == "title" || keyword == "description" || keyword == "definitions") return {};
    throw std::runtime_error("the validator does not know " + keyword);
  }

  static bool has_type(const Json& value, const std::string& type) {
    return type == "object"    ? value.is_object()
           : type == "array"   ? value.is_array()
           : type == "string"  ? value.is_string()
           : type == "integer" ? value.is_number_integer()
           : type == "boolean" ? value.is_boolean()
                               : type == "null" && value.is_null();
  }

  const Json& root_;
};

Json schema() {
  std::ifstream file(SAREK_SOURCE_DIR "/runtime/artifact/package.schema.json");
  REQUIRE(file);
  return Json::parse(file);
}

/// Every list holds something, so that every part of the schema is met.
Package full() {
  Package p;
  p.compiler = "sarekc test";
  p.module = "all";
  p.policy_digest = "0123";
  p.blobs = {{"native", std::vector<std::uint8_t>(65, 0xc3)}, {"opencl-c", {'x'}}};
  Kernel k;
  k.name = "all";
  k.file = "all.sarek";
  k.line = 7;
  k.block = {16, 4, 1};
  k.push_bytes = 4;
  k.params = {{"n", false, "", "i32", 4, 4, {{"", "i32", 0}}, {}, 0, 1},
              {"m", true, "inout", "Particle", 16, 4, {{"pos.0", "f32", 0}, {"on", "bool", 12}}, {0, 8}, 1, 1}};
  k.slots = {{"scalar", "i32", "n", 0, -1, 0},
             {"buffer", "", "m", 1, -1, 0},
             {"length", "i32", "m.len", -1, 1, 0},
             {"num-groups", "i32", "num_groups.y", -1, -1, 1},
             {"shared-length", "i32", "t.len", -1, 0, 0}};
  k.dynamic_shared = {{"t", "f64", 8}};
  Variant v;
  v.target = "native";
  v.level = "avx2";
  v.grants = {"single-rounding"};
  v.optimisations = {"narrowing-proof"};
  v.requires_ = {"fp64"};
  v.blob = 0;
  v.shared_bytes = 128;
  v.fault_sites = {{"bounds", "m", "all.sarek", 9, 3}};
  k.variants = {v};
  p.kernels = {k};
  return p;
}

}  // namespace

TEST_CASE("a written index is what the schema says, and the text that stands in the file") {
  const Json rules = schema();
  const std::string text = index_text(full());
  const auto fault = Validator(rules).check(Json::parse(text));
  CHECK(fault.value_or("") == "");
  const std::vector<std::uint8_t> bytes = write_package(full());
  CHECK(std::string(bytes.end() - static_cast<std::ptrdiff_t>(text.size()), bytes.end()) == text);
  const auto read = read_package(bytes);
  REQUIRE(read);
  CHECK(index_text(*read) == text);
}

TEST_CASE("the schema refuses an index with a member more, less or of another kind") {
  const Json rules = schema();
  const Json index = Json::parse(index_text(full()));
  // Every object of the index, by pointer.
  std::vector<Json::json_pointer> objects;
  const auto collect = [&](auto self, const Json& value, const Json::json_pointer& at) -> void {
    if (value.is_object()) {
      objects.push_back(at);
      for (const auto& [name, member] : value.items()) self(self, member, at / name);
    } else if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) self(self, value[i], at / i);
    }
  };
  collect(collect, index, Json::json_pointer());
  CHECK(objects.size() == 17);
  for (const Json::json_pointer& at : objects)
    for (const auto& [name, member] : index.at(at).items()) {
      INFO(at.to_string() << " " << name);
      Json less = index;
      less.at(at).erase(name);
      CHECK(Validator(rules).check(less));
      Json other = index;
      other.at(at)[name] = Json::object();
      CHECK(Validator(rules).check(other));
      Json more = index;
      more.at(at)[name + "_"] = 1;
      CHECK(Validator(rules).check(more));
    }
}

TEST_CASE("a name that is no UTF-8 does not break the index") {
  Package p = full();
  p.kernels[0].file = "caf\xe9.sarek";
  const auto read = read_package(write_package(p));
  REQUIRE(read);
  CHECK(read->kernels[0].file == "caf\xef\xbf\xbd.sarek");
}
