#include "stored_rows.hpp"

#include <set>
#include <tuple>

#include "server/core/node_path.hpp"

namespace conclave::server_impl {

bool operator==(const node_row& a, const node_row& b) {
  const auto plain = [](const node_row& r) {
    return std::tie(r.data, r.czxid, r.mzxid, r.ctime_ms, r.mtime_ms, r.version, r.aversion, r.kind,
                    r.owner, r.ttl_ms);
  };
  return plain(a) == plain(b) && *a.access == *b.access;
}

std::vector<std::string> stored_rows::apply(const batch& changes) {
  std::vector<std::string> complaints;
  const auto expect = [&](bool holds, std::string_view what, std::string_view path) {
    if (!holds) complaints.push_back(std::string{path} + ": " + std::string{what});
  };
  expect(changes.zxid >= zxid, "a lower zxid than before", "the batch");
  expect(changes.zxid > zxid || changes.removed_nodes.empty(), "removed without a zxid", "a node");
  zxid = changes.zxid;

  for (const auto& path : changes.removed_nodes)
    expect(nodes.erase(path) == 1, "removed, but not stored", path);

  std::set<std::string, std::less<>> written;
  for (const auto& n : changes.nodes) {
    expect(written.emplace(n.path).second, "written twice", n.path);
    const auto [at, is_new] = nodes.try_emplace(std::string{n.path});
    expect(is_new || !(at->second.row == *n.row), "written, but not changed", n.path);
    at->second.row = *n.row;
    // A deep copy, like on a disk.
    at->second.row.access = std::make_shared<const acl>(*n.row->access);
    if (is_new) at->second.children = {0, n.row->czxid};
  }

  written.clear();
  for (const auto& p : changes.parents) {
    expect(written.emplace(p.path).second, "children row written twice", p.path);
    const auto at = nodes.find(std::string{p.path});
    expect(at != nodes.end(), "children row without a node", p.path);
    if (at == nodes.end()) continue;
    expect(!(at->second.children == p.row), "children row written, but not changed", p.path);
    at->second.children = p.row;
  }

  for (const auto id : changes.removed_sessions)
    expect(sessions.erase(id) == 1, "removed, but not stored", "session " + std::to_string(id));
  for (const auto& s : changes.sessions) sessions[s.id] = s;

  for (const auto& [path, n] : nodes) {
    if (path != "/")
      expect(nodes.contains(std::string{parent_path(path)}), "stored without its parent", path);
    expect(n.row.czxid <= zxid && n.row.mzxid <= zxid && n.children.pzxid <= zxid,
           "a zxid above the batch's", path);
    if (n.row.kind == node_kind::ephemeral)
      expect(sessions.contains(n.row.owner), "stored without its session", path);
  }
  return complaints;
}

image stored_rows::load() const {
  image kept;
  kept.zxid = zxid;
  for (const auto& [path, n] : nodes) kept.nodes.push_back({path, n.row, n.children});
  for (const auto& [id, row] : sessions) kept.sessions.push_back(row);
  return kept;
}

}  // namespace conclave::server_impl
