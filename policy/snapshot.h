// One immutable state of the store, and how the next one is made from it. Private to store.cpp and its tests: users see Store.
//
// A snapshot shares everything that did not change with the one before: names stand in a persistent search tree, so a change copies one
// path of it (about 2 log2 n nodes). Each snapshot owns what was made for it and points at its predecessor; the store frees the chain
// when it dies, and nothing before.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/vocabulary.h"

namespace sarek::policy::detail {

/// A reason per grant; null where the grant was not made.
using Reasons = std::array<const std::string*, Grant::count>;

/// What the store knows of one kernel name.
struct NameEntry {
  Reasons own{};
  std::vector<std::string> members;  // the registry of fused and derived names; empty for a name of the program
  bool generated() const { return !members.empty(); }
};

/// A treap by name: search order by name, heap order by a hash of it, so that the shape depends on the set of names alone.
struct TreeNode {
  std::string name;
  std::uint64_t priority = 0;
  const NameEntry* entry = nullptr;
  const TreeNode* left = nullptr;
  const TreeNode* right = nullptr;
};

struct Snapshot {
  std::uint64_t version = 0;
  Reasons process{};
  OptimisationSet restricted;
  const TreeNode* root = nullptr;

  const Snapshot* previous = nullptr;
  std::vector<std::unique_ptr<const TreeNode>> nodes;
  std::unique_ptr<const NameEntry> entry;
  std::unique_ptr<const std::string> reason;

  /// What is known of a name; null when nothing is.
  const NameEntry* find(std::string_view name) const;

  // Each returns the following snapshot, not yet numbered or linked, or null when nothing would change.
  std::unique_ptr<Snapshot> with_process_grant(Grant grant, std::string_view text) const;
  std::unique_ptr<Snapshot> with_kernel_grant(std::string_view kernel, Grant grant, std::string_view text) const;
  std::unique_ptr<Snapshot> with_members(std::string_view name, const std::vector<std::string>& members) const;
  std::unique_ptr<Snapshot> with_restriction(Optimisation optimisation) const;

 private:
  std::unique_ptr<Snapshot> copy() const;
};

}  // namespace sarek::policy::detail
