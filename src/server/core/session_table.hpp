// The sessions, and when each of them ends if nothing is heard of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "server/core/rows.hpp"
#include "server/core/watch_table.hpp"

namespace conclave::server_impl {

using time_point = std::chrono::steady_clock::time_point;

struct live_session {
  session_row row;
  connection_id attached = 0;  // none: it waits for its client to come back
  time_point last_heard;
  // As long as one of its connections is open, some process holds it: it does not expire.
  bool expiry_suspended = false;
  std::size_t keepers = 0;  // connections that keep it and send no requests (wire/keep_session.hpp)
  bool owner_ended = false;  // the process of its last own connection: it ends with its keepers
  // Of a session of an earlier server process: its keepers have this long to attach again, and
  // until then it does not end with its process.
  time_point keeper_deadline = time_point::min();

  time_point deadline() const { return last_heard + std::chrono::milliseconds{row.timeout_ms}; }

 private:
  friend class session_table;
  time_point queued_deadline_ = time_point::max();  // the entry that counts; none: max()
};

class session_table {
 public:
  session_table(const std::vector<session_row>& stored, time_point now);

  live_session& add(const session_row& row, time_point now);
  live_session* find(std::int64_t id);
  void remove(std::int64_t id);
  void mark_dirty(const live_session& s) { dirty_.insert(s.row.id); }
  std::size_t size() const noexcept { return sessions_.size(); }
  const std::unordered_map<std::int64_t, live_session>& all() const noexcept { return sessions_; }

  // It can expire from now on.
  void queue_deadline(live_session& s);
  // It expires then, unless something is heard of it.
  void expire_at(live_session& s, time_point when);
  // One whose time has passed, if any.
  live_session* next_expired(time_point now);
  // Not later than the first expiry.
  std::optional<time_point> next_deadline() const;
  // Nothing could be heard for that long: nobody is to blame for it.
  void extend_sessions(std::chrono::steady_clock::duration silence);

  void take_dirty(batch& out);
  bool has_dirty() const noexcept { return !dirty_.empty() || !removed_.empty(); }

 private:
  struct entry {
    time_point when;  // or later, if something was heard meanwhile
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
