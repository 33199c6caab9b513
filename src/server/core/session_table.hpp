// The sessions and their expiry deadlines.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "server/core/peer_table.hpp"
#include "server/core/rows.hpp"
#include "server/core/watch_table.hpp"

namespace conclave::server_impl {

using time_point = std::chrono::steady_clock::time_point;

struct live_session {
  session_row row;
  connection_id attached = 0;  // 0 if the client is not connected
  // The peer whose share the session uses, which is the peer of its last connection. Null after a
  // server restart until the client reconnects.
  peer_usage* charged_to = nullptr;
  time_point last_heard;
  // The timeout from the next request on, if the client has reconnected with a shorter timeout and
  // has sent no request since. Otherwise 0.
  std::int32_t shorter_timeout_ms = 0;
  // True while a process-bound connection or a keeper is open. The session then does not expire.
  bool expiry_suspended = false;
  std::size_t keepers = 0;   // open keeper connections (wire/keep_session.hpp)
  bool owner_ended = false;  // the client process has exited; the session ends with its last keeper
  // Set at a server restart. Until this time, the session stays alive even if its process exits and
  // no keeper has attached again yet.
  time_point keeper_deadline = time_point::min();

  time_point deadline() const { return last_heard + std::chrono::milliseconds{row.timeout_ms}; }

 private:
  friend class session_table;
  time_point queued_deadline_ = time_point::max();  // the valid entry in the queue, or max()
};

class session_table {
 public:
  session_table(const std::vector<session_row>& stored, time_point now);

  // Starts the timeouts of all sessions again.
  void restart_timeouts(time_point now);

  live_session& add(const session_row& row, time_point now);
  live_session* find(std::int64_t id);
  void remove(std::int64_t id);
  void mark_dirty(const live_session& s) { dirty_.insert(s.row.id); }
  std::size_t size() const noexcept { return sessions_.size(); }
  const std::unordered_map<std::int64_t, live_session>& all() const noexcept { return sessions_; }

  // Queues the deadline of the session, so that it can expire.
  void queue_deadline(live_session& s);
  // Moves the deadline of the session to `when`.
  void expire_at(live_session& s, time_point when);
  // Returns a session whose deadline has passed, or null.
  live_session* next_expired(time_point now);
  // Returns a time that is not later than the first expiry, or nullopt if no session can expire.
  std::optional<time_point> next_deadline() const;
  // Extends the deadlines of all sessions by `silence`, the time for which the server process was
  // stopped.
  void extend_sessions(std::chrono::steady_clock::duration silence);

  // Frees memory that is no longer needed.
  void shrink();

  void take_dirty(batch& out);
  bool has_dirty() const noexcept { return !dirty_.empty() || !removed_.empty(); }

 private:
  struct entry {
    time_point when;  // the session may have a later deadline by now
    std::int64_t id;
    bool operator>(const entry& o) const { return when != o.when ? when > o.when : id > o.id; }
  };

  std::unordered_map<std::int64_t, live_session> sessions_;
  std::priority_queue<entry, std::vector<entry>, std::greater<>> deadlines_;
  std::unordered_set<std::int64_t> dirty_;
  std::unordered_set<std::int64_t> stored_;
  std::vector<std::int64_t> removed_;
};

}  // namespace conclave::server_impl
