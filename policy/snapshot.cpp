// Making the next snapshot: path copying in the tree of names.
#include "policy/snapshot.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace sarek::policy::detail {
namespace {

/// std::hash may be weak in its high bits; the treap needs all of them spread. (The finaliser of SplitMix64.)
std::uint64_t priority_of(std::string_view name) {
  std::uint64_t z = std::hash<std::string_view>{}(name) + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// Inserts or replaces by copying the path; what it makes is owned by `owner`. Returns a node that nobody else holds yet, so the caller
/// may still rotate it.
TreeNode* insert(Snapshot& owner, const TreeNode* at, std::string_view name, const NameEntry* entry) {
  const auto make = [&](TreeNode node) {
    auto made = std::make_unique<TreeNode>(std::move(node));
    TreeNode* raw = made.get();
    owner.nodes.push_back(std::move(made));
    return raw;
  };
  if (at == nullptr) return make({std::string(name), priority_of(name), entry, nullptr, nullptr});
  TreeNode* copy = make(*at);
  if (name == at->name) {
    copy->entry = entry;
    return copy;
  }
  if (name < at->name) {
    TreeNode* child = insert(owner, at->left, name, entry);
    copy->left = child;
    if (child->priority <= copy->priority) return copy;
    copy->left = child->right;
    child->right = copy;
    return child;
  }
  TreeNode* child = insert(owner, at->right, name, entry);
  copy->right = child;
  if (child->priority <= copy->priority) return copy;
  copy->right = child->left;
  child->left = copy;
  return child;
}

}  // namespace

const NameEntry* Snapshot::find(std::string_view name) const {
  const TreeNode* at = root;
  while (at != nullptr) {
    const int order = name.compare(at->name);
    if (order == 0) return at->entry;
    at = order < 0 ? at->left : at->right;
  }
  return nullptr;
}

std::unique_ptr<Snapshot> Snapshot::copy() const {
  auto next = std::make_unique<Snapshot>();
  next->process = process;
  next->restricted = restricted;
  next->root = root;
  return next;
}

std::unique_ptr<Snapshot> Snapshot::with_process_grant(Grant grant, std::string_view text) const {
  if (process[grant.index()] != nullptr) return nullptr;
  auto next = copy();
  next->reason = std::make_unique<const std::string>(text);
  next->process[grant.index()] = next->reason.get();
  return next;
}

std::unique_ptr<Snapshot> Snapshot::with_kernel_grant(std::string_view kernel, Grant grant, std::string_view text) const {
  const NameEntry* known = find(kernel);
  if (known != nullptr && known->own[grant.index()] != nullptr) return nullptr;
  auto next = copy();
  next->reason = std::make_unique<const std::string>(text);
  auto changed = std::make_unique<NameEntry>(known != nullptr ? *known : NameEntry{});
  changed->own[grant.index()] = next->reason.get();
  next->root = insert(*next, root, kernel, changed.get());
  next->entry = std::move(changed);
  return next;
}

std::unique_ptr<Snapshot> Snapshot::with_members(std::string_view name, const std::vector<std::string>& members) const {
  const NameEntry* known = find(name);
  auto changed = std::make_unique<NameEntry>(known != nullptr ? *known : NameEntry{});
  const std::size_t before = changed->members.size();
  for (const std::string& member : members)
    if (std::find(changed->members.begin(), changed->members.end(), member) == changed->members.end()) changed->members.push_back(member);
  if (changed->members.size() == before) return nullptr;
  auto next = copy();
  next->root = insert(*next, root, name, changed.get());
  next->entry = std::move(changed);
  return next;
}

std::unique_ptr<Snapshot> Snapshot::with_restriction(Optimisation optimisation) const {
  if (restricted.contains(optimisation)) return nullptr;
  auto next = copy();
  next->restricted.insert(optimisation);
  return next;
}

}  // namespace sarek::policy::detail
