// The watches that connections have set on paths.
//
// Like ZooKeeper, the core has two tables: data watches (creation, removal and data of a node) and
// child watches (the list of children and the removal of a node).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "server/core/peer_table.hpp"
#include "server/core/text_hash.hpp"

namespace conclave::server_impl {

using connection_id = std::uint64_t;

enum class event_type : std::int32_t {
  created = 1,
  removed = 2,
  data_changed = 3,
  children_changed = 4,
};

enum class watch_mode : std::uint8_t { once = 1, persistent = 2, recursive = 4 };

// A connection that has set watches, and its peer.
struct watcher {
  connection_id connection;
  peer_usage* peer;  // the table counts the connection's watches there
};

class watch_table {
 public:
  void add(std::string_view path, watcher by, watch_mode mode);
  // Removes the connection's watch on this path, whatever its modes are. Returns false if there is
  // no such watch.
  bool remove(std::string_view path, connection_id connection);
  bool contains(std::string_view path, connection_id connection) const;
  void remove_all(connection_id connection);

  // Appends the connections that must be notified to `receivers`, each one once, in the order of
  // their watches. Removes one-shot watches that fire.
  void trigger(std::string_view path, event_type type, std::vector<connection_id>& receivers);

  // Frees memory that is no longer needed.
  void shrink();

  std::size_t count() const noexcept { return count_; }  // number of pairs of path and connection
  std::size_t count_of(connection_id connection) const;
  std::size_t bytes_of(connection_id connection) const;  // of the watched paths
  std::size_t bytes() const noexcept { return bytes_; }  // sum of bytes_of() for all connections
  std::size_t watching_connections() const noexcept { return by_connection_.size(); }
  std::size_t watched_paths() const noexcept { return by_path_.size(); }

  template <class F>
  void for_each(F f) const {  // calls f(path, connection)
    for (const auto& [path, watches] : by_path_)
      for (const auto& w : watches) f(path, w.connection);
  }

 private:
  struct watch {
    connection_id connection;
    std::uint8_t modes;
  };
  using path_map = std::unordered_map<std::string, std::vector<watch>, text_hash, std::equal_to<>>;

  void notify(path_map::iterator at, bool is_parent, event_type type,
              std::vector<connection_id>& receivers);
  void remove_from_connection(const std::string& path, connection_id connection);

  path_map by_path_;
  struct watched {
    std::unordered_set<const std::string*> paths;
    std::size_t bytes = 0;
    peer_usage* peer = nullptr;
  };
  std::unordered_map<connection_id, watched> by_connection_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  std::size_t recursive_count_ = 0;  // if 0, ancestors need no check
};

}  // namespace conclave::server_impl
