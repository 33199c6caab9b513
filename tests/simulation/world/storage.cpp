#include "simulation/world/storage.hpp"

#include <utility>

namespace conclave::simulated {

server_impl::image memory_storage::load() {
  server_impl::image kept;
  kept.zxid = zxid_;
  for (const auto& [path, n] : nodes_) kept.nodes.push_back(n);
  for (const auto& [id, row] : sessions_) kept.sessions.push_back(row);
  return kept;
}

void memory_storage::commit(const server_impl::batch& changes) {
  const bool fails = std::exchange(failing_, false);
  if (!fails || survives_) apply(changes);
  if (fails) throw power_failure{};
}

void memory_storage::apply(const server_impl::batch& changes) {
  zxid_ = changes.zxid;
  for (const auto& path : changes.removed_nodes) nodes_.erase(path);
  for (const auto& n : changes.nodes) {
    auto& kept = nodes_[std::string{n.path}];
    if (kept.path.empty()) kept = {std::string{n.path}, {}, {0, n.row->czxid}};
    kept.row = *n.row;
  }
  for (const auto& p : changes.parents) nodes_.at(std::string{p.path}).children = p.row;
  for (const auto id : changes.removed_sessions) sessions_.erase(id);
  for (const auto& s : changes.sessions) sessions_[s.id] = s;
}

}  // namespace conclave::simulated
