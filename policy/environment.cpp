// Parsing of the two variables.
#include "policy/environment.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "policy/event_text.h"

namespace sarek::policy {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool separates(char c) { return c == ',' || c == ';' || c == ' ' || (c >= '\t' && c <= '\r'); }

/// `seen` holds the unknown items, so that a long hostile value costs no quadratic search.
void apply_item(Environment& environment, std::set<std::string>& seen, const std::string& item) {
  std::string name(item);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  if (name == "all") {
    for (Optimisation optimisation : all_optimisations()) environment.disabled.insert(optimisation);
    for (Grant grant : all_grants()) environment.revoked.insert(grant);
  } else if (const auto optimisation = optimisation_by_name(name)) {
    environment.disabled.insert(*optimisation);
  } else if (const auto grant = grant_by_name(name)) {
    environment.revoked.insert(*grant);
  } else if (seen.insert(item).second) {
    environment.unknown.push_back(item);
  }
}

}  // namespace

Environment Environment::parse(std::optional<std::string_view> opt_disable, std::optional<std::string_view> explain) {
  Environment result;
  result.explain = explain == "1";
  const std::string_view text = opt_disable.value_or("");
  std::set<std::string> seen;
  std::string item;
  for (char c : text) {
    if (!separates(c)) {
      item += c;
    } else if (!item.empty()) {
      apply_item(result, seen, item);
      item.clear();
    }
  }
  if (!item.empty()) apply_item(result, seen, item);
  return result;
}

Environment Environment::of_this_process() {
  const auto read = [](const char* name) -> std::optional<std::string_view> {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read once, at start-up
    if (value == nullptr) return std::nullopt;
    return std::string_view(value);
  };
  return parse(read("SAREK_OPT_DISABLE"), read("SAREK_EXPLAIN"));
}

std::string unknown_item_message(std::string_view item) {
  std::vector<std::string_view> known{"all"};
  for (Optimisation optimisation : all_optimisations()) known.push_back(optimisation_name(optimisation));
  for (Grant grant : all_grants()) known.push_back(grant_name(grant));
  std::string message = "SAREK_OPT_DISABLE names no optimisation or grant " + quoted_text(item) + ", which is ignored";
  const std::string_view nearest = nearest_name(item, known);
  if (!nearest.empty()) message.append("; did you mean `").append(nearest).append("`?");
  return message;
}

}  // namespace sarek::policy
