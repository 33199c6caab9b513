// The server without sockets and disk. Its inputs are requests and the current time. Its outputs
// are replies, watch events and changes to store. The same inputs and the same random numbers
// produce the same outputs.
//
// The owner works in turns:
//
//   core.begin_turn(now);
//   core.receive(...), connected(...), disconnected(...)     any number of them
//   core.expire();
//   if (core.has_changes()) store.commit(core.take_changes());
//   for (id : core.take_ready()) { send core.output(id); if core.is_closing(id), close it }
//
// The owner must not send anything before the commit, so that replies and events report only
// durable changes. If the commit fails, the core is ahead of the disk. The owner must then discard
// the core and close all connections.
//
// Guarantees that locks rely on:
//   * an expired session makes no more changes, and neither does the old connection of a session
//     that has moved to a new one;
//   * a client that has seen a zxid later than the server's own is refused;
//   * on every connection, the watch event of a change precedes any reply that shows the change.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "conclave/error.hpp"
#include "server/core/access.hpp"
#include "server/core/peer_table.hpp"
#include "server/core/rows.hpp"
#include "server/core/session_table.hpp"
#include "server/core/tree.hpp"
#include "server/core/watch_table.hpp"
#include "wire/multi.hpp"

namespace conclave::server_impl {

// Why a session ends: its client was silent for the session timeout, closed it, or its process (the
// last one that kept it) exited.
enum class session_end { expired, closed, process_exited };

struct core_options {
  core_options() = default;

  std::chrono::milliseconds tick{2000};
  std::chrono::milliseconds min_session_timeout{4000};
  std::chrono::milliseconds max_session_timeout{40'000};
  // Time between checks for empty containers and expired TTL nodes.
  std::chrono::milliseconds reap_interval{60'000};
  std::string super_digest;  // "super:" and a hash, see digest_of(); empty if there is none
  // A client must authenticate with one of these schemes before it sends requests. If the list is
  // empty, no authentication is required.
  std::vector<std::string> required_auth;
  bool digest_auth = true;  // allows digest authentication and digests in ACLs
  bool ttl_nodes = true;
  std::size_t max_sessions = 100'000;
  // Limits per peer, see fair_share.hpp. 0 means no limit.
  std::size_t max_sessions_per_peer = 25'000;
  std::size_t max_watches_per_peer = 1'000'000;
  std::size_t max_watched_bytes_per_peer = 64u << 20;
  std::size_t max_watches_per_connection = 1'000'000;
  std::size_t max_watched_bytes_per_connection = 64u << 20;  // of the watched paths
  std::size_t max_watches = 4'000'000;                       // all connections together
  std::size_t max_watched_bytes = 256u << 20;
  // Limits for the watch events of one turn, which stay in memory until its commit. A connection
  // that exceeds a limit is closed.
  std::size_t max_event_bytes_per_connection = 64u << 20;
  std::size_t max_event_bytes = 128u << 20;
  std::function<void(std::string_view)> log_session;  // logs the start and end of sessions
  // Called when a session ends, with the ephemeral nodes that are removed with it.
  std::function<void(std::int64_t, session_end, const std::vector<std::string>&)> on_session_end;
  std::function<void(char*, std::size_t)> random;  // fills a buffer with cryptographic random bytes
};

struct peer {
  std::string address;  // the identity of the "ip" scheme; empty on a Unix socket
  // If the client's handshake contains this value as its protocol version, the session is
  // process-bound. Such a session does not expire while the connection is open. 0 means that the
  // connection does not support process-bound sessions.
  std::int32_t process_binding = 0;
  peer_id id{};  // the peer whose share of the sessions and watches the client uses
};

struct moment {
  time_point now;
  std::int64_t wall_ms = 0;
};

class core {
 public:
  // The zxid continues from the greater of stored.zxid and `first_zxid`.
  core(core_options options, image stored, std::int64_t first_zxid, moment now);

  // --- input

  // Call when clients can connect. The timeouts of the stored sessions start now, because the time
  // to load a store can exceed them.
  void begin_serving(moment now);
  void begin_turn(moment now);
  // Extends all session deadlines by `silence`, the time for which the server process itself was
  // stopped. This call is not needed after a long turn, for example on a slow disk. The owner reads
  // the pending input before it calls expire(), so pings that arrived during the turn are counted.
  void extend_sessions(std::chrono::steady_clock::duration silence);
  void connected(connection_id id, peer from);
  // Processes the payload of one frame.
  void receive(connection_id id, std::string_view frame);
  void disconnected(connection_id id);
  // Call when the client has read some of its output. This shows that the client is alive, even if
  // the server has received no request from it.
  void record_activity(connection_id id);
  // Call when the client process of a process-bound session has exited. The session ends now, or
  // when its last keeper disconnects.
  void process_ended(std::int64_t session);
  void expire();
  // The owner passes false while the disk is full. Requests that need a commit then fail.
  void set_writable(bool yes) noexcept { writable_ = yes; }
  bool is_writable() const noexcept { return writable_; }

  // --- output

  // Also returns true if only the zxid has changed. The zxid must be stored, too, because clients
  // see it in replies.
  bool has_changes() const noexcept {
    return (zxid_ != stored_zxid_ && writable_) || tree_.has_dirty() || sessions_.has_dirty();
  }
  batch take_changes();
  // Returns the connections that have output or are to be closed.
  std::vector<connection_id> take_ready();
  std::string& output(connection_id id);
  // Returns true if the owner must close the connection after it has sent the output.
  bool is_closing(connection_id id) const;
  // Returns true if the connection is closing because its watch events exceeded a limit.
  bool overflowed(connection_id id) const;
  // Returns the number of bytes of this turn's watch events, for all connections.
  std::size_t event_bytes() const noexcept { return event_bytes_; }
  std::int64_t session_of(connection_id id) const;  // 0 if there is none
  // Returns true if the session of this connection does not expire while the connection is open,
  // and ends when its process exits.
  bool is_process_bound(connection_id id) const;
  // Returns true if the session exists and its client is not connected.
  bool awaits_reconnect(std::int64_t session);
  // Frees memory that was needed only during a burst of requests. Call between turns, when there is
  // little to do: this takes a few milliseconds if much is unused.
  void shrink();
  // Returns the time by which the owner must run the next turn, even without input.
  time_point next_deadline() const;

  // --- for the four-letter words and the metrics

  std::int64_t zxid() const noexcept { return zxid_; }
  const core_options& options() const noexcept { return options_; }
  const tree& nodes() const noexcept { return tree_; }
  const session_table& sessions() const noexcept { return sessions_; }
  const peer_table& peers() const noexcept { return peers_; }
  const watch_table& data_watches() const noexcept { return data_watches_; }
  const watch_table& child_watches() const noexcept { return child_watches_; }

 private:
  struct connection {
    connection_id id = 0;
    identities who;
    peer_usage* from = nullptr;        // in peers_
    std::int32_t process_binding = 0;  // set to 0 if the client's handshake has another value
    enum class stage {
      handshake,   // the next frame is the connect request
      serving,     // frames are requests; a keeper connection must not send frames
      closing,     // input is ignored; the owner sends the output and closes the connection
      overflowed,  // like closing, but the output was discarded
    };
    stage current_stage = stage::handshake;
    bool is_ready = false;
    live_session* session = nullptr;
    live_session* kept_session = nullptr;  // of a keeper connection (wire/keep_session.hpp)
    std::string out;
    std::size_t event_bytes = 0;  // of this turn

    bool is_closing() const noexcept { return current_stage >= stage::closing; }
    watcher as_watcher() const noexcept { return {id, from}; }
    // Returns true if client and server have sent the same process_binding.
    bool is_process_bound() const noexcept { return session != nullptr && process_binding != 0; }
  };
  // A watch event that is delivered when its transaction is complete. It contains the ACLs at the
  // time of the change.
  struct event {
    event_type type;
    std::string path;
    std::shared_ptr<const acl> access;
    std::shared_ptr<const acl> parent_access;  // for the children_changed event of the parent
  };

  // core.cpp
  void mark_ready(connection& c);
  void start_closing(connection& c, connection::stage next = connection::stage::closing);
  void handle_handshake(connection& c, std::string_view frame);
  void handle_keep_session(connection& c, const wire::connect_request& request);
  fair_share::verdict check_new_session(const connection& c) const;
  void charge_session(live_session& s, peer_usage& to);
  void set_timeout(live_session& s, std::int32_t timeout_ms);
  void update_expiry(live_session& s);
  void send_handshake_response(connection& c, bool with_read_only_flag);
  void serve(connection& c, std::string_view frame);
  errc dispatch(connection& c, wire::opcode type, wire::reader& in);
  void authenticate(connection& c, std::int32_t xid, wire::reader& in);
  bool is_authenticated(const connection& c) const;
  void end_session(live_session& s, session_end why);
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
  // Checks each long ACL once per request. Thousands of parts of a request can need the same check.
  bool is_allowed(const connection& c, const std::shared_ptr<const acl>& access,
                  std::int32_t permissions);
  bool is_permitted_acl(const std::vector<wire::acl_record>& sent, const identities& who) const;
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
  void notify(connection& c, event_type type, std::string_view path,
              const std::shared_ptr<const acl>& access);
  void send_event(connection& c, event_type type, std::string_view path);

  core_options options_;
  moment now_;
  std::int64_t zxid_;
  std::int64_t stored_zxid_;
  tree tree_;
  session_table sessions_;
  peer_table peers_;
  watch_table data_watches_;
  watch_table child_watches_;
  std::unordered_map<connection_id, connection> connections_;
  std::vector<connection_id> ready_;
  std::vector<event> events_;              // of the current transaction
  std::vector<connection_id> watchers_;    // kept to reuse its memory
  std::size_t event_bytes_ = 0;            // of this turn
  std::string body_;                       // of the current reply; kept to reuse its memory
  std::shared_ptr<const acl> recent_acl_;  // most nodes share one ACL
  std::size_t expanded_acl_bytes_ = 0;     // of the current request
  // The results of is_allowed() for long ACLs, during the current request and its watch events.
  std::map<std::tuple<connection_id, std::shared_ptr<const acl>, std::int32_t>, bool> long_checks_;
  time_point next_reap_;
  bool writable_ = true;
};

}  // namespace conclave::server_impl
