// SAREK_OPT_DISABLE and SAREK_EXPLAIN. Parsing is pure; one function reads the process environment. Nothing here can grant: the values can
// only take optimisations away, revoke grants and ask for a listener.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/vocabulary.h"

namespace sarek::policy {

struct Environment {
  OptimisationSet disabled;
  GrantSet revoked;
  bool explain = false;
  /// Items of SAREK_OPT_DISABLE that name nothing, each once, in order. They are ignored, with a warning by whoever reads the environment.
  std::vector<std::string> unknown;

  /// `opt_disable`: names of optimisations and grants separated by ',', ';' or white space, in any case; "all" names every one of them.
  /// `explain`: exactly "1" asks for a listener. A variable that is not set is nothing.
  static Environment parse(std::optional<std::string_view> opt_disable, std::optional<std::string_view> explain);

  /// Reads both variables of this process now.
  static Environment of_this_process();

  friend bool operator==(const Environment&, const Environment&) = default;
};

/// The warning for an unknown item, with the nearest known name where there is one.
std::string unknown_item_message(std::string_view item);

}  // namespace sarek::policy
