// The server without its sockets and its disk: requests and time go in; replies, events and changes
// to be stored come out. The same input gives the same output, byte for byte, if `random` does.
//
// The owner works in turns:
//
//   core.begin_turn(now);
//   core.receive(...), connected(...), disconnected(...)     any number of them
//   core.expire();
//   if (core.has_changes()) store.commit(core.take_changes());
//   for (id : core.take_touched()) { send core.output(id); if core.finished(id), close it }
//
// Nothing may be sent before the commit: what a reply or an event tells is on disk. If the commit
// fails, the core knows more than the disk and must be thrown away with all connections.
//
// What locks rely on:
//   * an expired session changes nothing any more, and neither does a connection whose session
//     continues on another one;
//   * a client that has seen a later zxid than ours is refused;
//   * on every connection, the event of a change comes before anything that shows the change.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "conclave/error.hpp"
#include "server/core/access.hpp"
#include "server/core/rows.hpp"
#include "server/core/session_table.hpp"
#include "server/core/tree.hpp"
#include "server/core/watch_table.hpp"
#include "wire/multi.hpp"

namespace conclave::server_impl {

struct core_options {
  core_options() = default;

  std::chrono::milliseconds tick{2000};
  std::chrono::milliseconds min_session_timeout{4000};
  std::chrono::milliseconds max_session_timeout{40'000};
  // How often empty containers and TTL nodes past their time are looked for.
  std::chrono::milliseconds reap_interval{60'000};
  std::string super_digest;  // "super:" and a hash, as digest_of() makes it; empty: nobody
  // A client must be authenticated by one of these schemes before it may send requests. Empty: no
  // authentication is needed.
  std::vector<std::string> required_auth;
  bool digest_auth = true;  // whether clients may authenticate by digest, and ACLs name digests
  bool ttl_nodes = true;
  std::size_t max_sessions = 100'000;
  std::size_t max_watches_per_connection = 1'000'000;
  std::size_t max_watched_bytes_per_connection = 64u << 20;  // of their paths
  std::size_t max_watches = 4'000'000;                       // of all connections
  std::size_t max_watched_bytes = 256u << 20;
  // Watch events of one turn, which cannot be sent before its commit. A connection for which there
  // is no more room is dropped.
  std::size_t max_event_bytes_per_connection = 64u << 20;
  std::size_t max_event_bytes = 128u << 20;
  std::function<void(std::string_view)> log_session;  // what becomes of sessions, for the log
  std::function<void(char*, std::size_t)> random;  // for session ids and passwords; not guessable
};

struct peer {
  std::string address;  // of the "ip" scheme; empty on a Unix socket
  // If the client sends the same, its session lives as long as the connection is open. Zero: it is
  // another kind of connection, or nothing can be proved.
  std::int32_t process_binding = 0;
};

struct moment {
  time_point now;
  std::int64_t wall_ms = 0;
};

class core {
 public:
  // The zxid continues from the image's or from `first_zxid`, whichever is greater.
  core(core_options options, image stored, std::int64_t first_zxid, moment now);

  // --- in

  void begin_turn(moment now);
  // The owner did not run for that long (a stopped process): it does not count against clients.
  // Where it only worked long (a slow disk), it reads what waits before it calls expire(); that is
  // enough.
  void extend_sessions(std::chrono::steady_clock::duration silence);
  void connected(connection_id id, peer from);
  // The payload of one frame.
  void receive(connection_id id, std::string_view frame);
  void disconnected(connection_id id);
  // It took what was sent to it, and so it lives, though nothing of it was read.
  void record_activity(connection_id id);
  // The process that held the session's connection is gone: the session ends, at once or with the
  // last connection that keeps it.
  void process_ended(std::int64_t session);
  void expire();
  // While the disk is full: everything that would have to be stored is refused.
  void set_writable(bool yes) noexcept { writable_ = yes; }

  // --- out

  // Also when nothing is left of them but the zxid, which clients were told.
  bool has_changes() const noexcept {
    return (zxid_ != stored_zxid_ && writable_) || tree_.has_dirty() || sessions_.has_dirty();
  }
  batch take_changes();
  // Connections with output, or to be closed.
  std::vector<connection_id> take_ready();
  std::string& output(connection_id id);
  // Nothing more will come: to be closed when the output is sent.
  bool is_closing(connection_id id) const;
  // Finished, because more watch events waited for it than may.
  bool overflowed(connection_id id) const;
  // Of the turn, for all connections.
  std::size_t event_bytes() const noexcept { return event_bytes_; }
  std::int64_t session_of(connection_id id) const;  // zero: none
  // Its session lives as long as it is open, and ends with its process.
  bool is_process_bound(connection_id id) const;
  // Its client is not connected and may come back.
  bool awaits_reconnect(std::int64_t session);
  // Something is to be done then at the latest, even if nothing arrives.
  time_point next_deadline() const;

  // --- for the four-letter words and the figures

  std::int64_t zxid() const noexcept { return zxid_; }
  const core_options& options() const noexcept { return options_; }
  const tree& nodes() const noexcept { return tree_; }
  const session_table& sessions() const noexcept { return sessions_; }
  const watch_table& data_watches() const noexcept { return data_watches_; }
  const watch_table& child_watches() const noexcept { return child_watches_; }

 private:
  struct connection {
    connection_id id = 0;
    identities who;
    std::int32_t process_binding = 0;
    bool is_process_bound = false;  // both ends agree on it
    enum class stage { handshake, serving, closing, overflowed };
    stage at = stage::handshake;
    bool is_ready = false;
    live_session* session = nullptr;
    live_session* kept_session = nullptr;  // without a request (wire/keep_session.hpp)
    std::string out;
    std::size_t event_bytes = 0;  // of the turn

    bool is_closing() const noexcept { return at >= stage::closing; }
  };
  // What a transaction will tell once it is complete. The ACL is the one at that moment.
  struct event {
    event_type type;
    std::string path;
    std::shared_ptr<const acl> access;
    std::shared_ptr<const acl> parent_access;  // for the parent's list of children
  };

  // core.cpp
  void mark_ready(connection& c);
  void start_closing(connection& c, connection::stage at = connection::stage::closing);
  void handle_handshake(connection& c, std::string_view frame);
  void handle_keep_session(connection& c, const wire::connect_request& request);
  void update_expiry(live_session& s);
  void send_handshake_response(connection& c, bool with_read_only_flag);
  void serve(connection& c, std::string_view frame);
  errc dispatch(connection& c, wire::opcode type, wire::reader& in);
  void authenticate(connection& c, std::int32_t xid, wire::reader& in);
  bool is_authenticated(const connection& c) const;
  void end_session(live_session& s);
  void log_session(std::int64_t session, const char* what) const;
  void close_session(connection& c, std::int32_t xid);
  void reap();

  // reads.cpp
  errc exists(connection& c, wire::reader& in);
  errc get_data(connection& c, std::string_view path, bool watch);
  errc get_children(connection& c, std::string_view path, bool watch, bool with_stat);
  errc get_acl(connection& c, wire::reader& in);
  errc get_ephemerals(connection& c, wire::reader& in);
  errc get_all_children_number(connection& c, wire::reader& in);
  errc multi_read(connection& c, wire::reader& in);

  // writes.cpp
  struct creation {
    std::string_view path;
    std::string_view data;
    const std::vector<wire::acl_record>& acl;
    std::int32_t flags;
    std::int64_t ttl_ms;
  };
  errc write(connection& c, wire::opcode type, wire::reader& in);
  errc multi(connection& c, wire::reader& in);
  errc create(connection& c, wire::opcode type, const creation& what, node*& created);
  errc remove(connection& c, const wire::path_version_request& what);
  errc set_data(connection& c, const wire::set_data_request& what, node*& changed);
  errc set_acl(connection& c, const wire::set_acl_request& what, node*& changed);
  errc check(connection& c, const wire::path_version_request& what);
  std::shared_ptr<const acl> stored_acl(const std::vector<wire::acl_record>& sent,
                                        const identities& who);
  void remove_node(node& n);
  void complete();

  // watches.cpp
  errc set_watches(connection& c, wire::reader& in, bool is_version2);
  errc add_watch(connection& c, wire::reader& in);
  errc remove_watches(connection& c, wire::reader& in, bool check_only);
  bool has_room_for_watches(const connection& c, std::size_t more) const;
  void notify(const event& e);
  void notify(connection& c, event_type type, std::string_view path, const acl& access);
  void send_event(connection& c, event_type type, std::string_view path);

  core_options options_;
  moment now_;
  std::int64_t zxid_;
  std::int64_t stored_zxid_;
  tree tree_;
  session_table sessions_;
  watch_table data_watches_;
  watch_table child_watches_;
  std::unordered_map<connection_id, connection> connections_;
  std::vector<connection_id> ready_;
  std::vector<event> events_;              // of the transaction under way
  std::vector<connection_id> watchers_;    // reused
  std::size_t event_bytes_ = 0;            // of the turn
  std::string body_;                       // of the reply under way, reused
  std::shared_ptr<const acl> recent_acl_;  // most nodes have the same
  time_point next_reap_;
  bool writable_ = true;
};

}  // namespace conclave::server_impl
