// A reference implementation of the server that is simple enough to be verified by reading. It
// searches one map of nodes and copies the map where a change may have to be undone.
//
// Supports the requests of the random histories, for clients without identities.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conclave/error.hpp"
#include "conclave/node.hpp"
#include "server/core/rows.hpp"
#include "server/core/session_table.hpp"

namespace conclave::server_impl {

// A request to both servers.
struct action {
  enum kinds {
    create,
    create2,
    create_container,
    create_ttl,
    remove,
    set,
    set_acl,
    check,
    multi,
    get,
    exists,
    children,
    ephemerals,
    count,
    watch_always,
    watch_below,
    unwatch
  };

  kinds kind{};
  std::string path;
  std::optional<std::string> data;
  std::int32_t flags = 0;
  std::int32_t permissions = 31;  // of the world
  std::int32_t version = -1;
  std::int64_t ttl_ms = 0;
  bool watch = false;
  std::vector<action> parts;
};

// The expected reply. Only the fields that the reply contains are set.
struct expectation {
  errc error{};
  std::int64_t zxid = 0;
  std::string path;
  std::optional<std::string> data;
  std::optional<node_stat> stat;
  std::vector<std::string> names;
  std::int32_t number = 0;
  std::vector<expectation> parts;
};

class naive_server {
 public:
  struct naive_node {
    std::optional<std::string> data;
    std::int32_t permissions = 31;
    node_stat stat;  // without the computed fields cversion, num_children and data_length
    std::int32_t creates = 0;
    node_kind kind = node_kind::persistent;
    std::int64_t ttl_ms = 0;
  };
  struct naive_session {
    std::int32_t timeout_ms = 0;
    time_point last_heard;
    int client = 0;  // 0 if not connected
    bool process_bound = false;
    std::int32_t timeout_of_next_request = 0;  // 0 if unchanged
  };
  using journal = std::map<int, std::vector<std::string>>;  // of each client

  naive_server(std::int64_t first_zxid, std::chrono::milliseconds reap_interval);

  void set_time(time_point now, std::int64_t wall_ms) { now_ = now, wall_ms_ = wall_ms; }
  void start_again();  // with the stored rows
  void new_session(std::int64_t id, std::int32_t timeout_ms, int client, bool process_bound);
  void reconnect(std::int64_t id, std::int32_t timeout_ms, int client, bool process_bound);
  void disconnect(int client);
  void close_session(std::int64_t id);
  expectation perform(std::int64_t session, const action& a);
  void end_of_turn();
  time_point next_deadline() const;

  std::int64_t zxid() const { return zxid_; }
  node_stat stat_of(const std::string& path) const;
  std::vector<std::string> children_of(const std::string& path) const;
  const std::map<std::string, naive_node>& nodes() const { return nodes_; }
  const std::map<std::int64_t, naive_session>& sessions() const { return sessions_; }
  journal take_events() { return std::exchange(events_, {}); }
  int reaped = 0;

 private:
  enum watch_kind { data, child, persistent, recursive };
  struct watch {
    int client;
    std::string path;
    watch_kind kind;
    auto operator<=>(const watch&) const = default;
  };
  struct change {
    std::string what, path;
    std::int32_t permissions, parent_permissions;
  };

  static std::string parent_of(const std::string& path);
  expectation step(std::int64_t session, const action& a);
  expectation make(std::int64_t session, const action& a);
  void take_out(const std::string& path);
  void end_session(std::int64_t id);
  void notify();
  void notify(const std::string& what, const std::string& path, bool readable,
              const std::vector<watch_kind>& of_path, bool below);

  std::map<std::string, naive_node> nodes_;
  std::map<std::int64_t, naive_session> sessions_;
  std::vector<watch> watches_;
  std::vector<change> changes_;
  journal events_;
  std::int64_t zxid_;
  time_point now_;
  std::int64_t wall_ms_ = 0;
  std::chrono::milliseconds reap_interval_;
  time_point next_reap_;
};

}  // namespace conclave::server_impl
