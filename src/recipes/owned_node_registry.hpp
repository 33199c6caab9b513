// The nodes that the contenders of one session have registered as their own. A node is identified
// by its path and czxid.
//
// The path alone is not enough: another client can delete a node, and its name can be assigned
// again before the contender learns of the deletion.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace conclave::recipes {

class owned_node_registry {
 public:
  static constexpr std::int64_t any_age = 0;  // the czxid of a node that is being created

  void add(std::string_view path, std::int64_t czxid) { nodes_.emplace(path, czxid); }
  void remove(std::string_view path, std::int64_t czxid) {
    const auto [from, to] = nodes_.equal_range(path);
    const auto it = std::find_if(from, to, [&](const auto& n) { return n.second == czxid; });
    if (it != to) nodes_.erase(it);
  }
  bool has_name(std::string_view path) const { return nodes_.contains(path); }
  bool contains(std::string_view path, std::int64_t czxid) const {
    const auto [from, to] = nodes_.equal_range(path);
    return std::any_of(from, to,
                       [&](const auto& n) { return n.second == czxid || n.second == any_age; });
  }
  bool empty() const noexcept { return nodes_.empty(); }

 private:
  std::multimap<std::string, std::int64_t, std::less<>> nodes_;
};

}  // namespace conclave::recipes
