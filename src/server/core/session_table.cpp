#include "server/core/session_table.hpp"

#include <algorithm>

#include "server/core/shrink.hpp"

namespace conclave::server_impl {
namespace {

// The time that keepers have to attach again after a server restart. They retry every few
// milliseconds.
constexpr std::chrono::seconds keeper_reattach_time{1};

}  // namespace

session_table::session_table(const std::vector<session_row>& stored, time_point now) {
  for (const auto& row : stored) {
    add(row, now);
    stored_.insert(row.id);
  }
  dirty_.clear();
  restart_timeouts(now);
}

void session_table::restart_timeouts(time_point now) {
  deadlines_ = {};
  for (auto& [id, s] : sessions_) {
    s.last_heard = now;
    s.keeper_deadline = std::min(s.deadline(), now + keeper_reattach_time);
    s.queued_deadline_ = time_point::max();
    queue_deadline(s);
  }
}

live_session& session_table::add(const session_row& row, time_point now) {
  auto& s = sessions_[row.id];
  s.row = row;
  s.last_heard = now;
  dirty_.insert(row.id);
  queue_deadline(s);
  return s;
}

live_session* session_table::find(std::int64_t id) {
  const auto i = sessions_.find(id);
  return i == sessions_.end() ? nullptr : &i->second;
}

void session_table::remove(std::int64_t id) {
  sessions_.erase(id);
  dirty_.erase(id);
  if (stored_.erase(id) != 0) removed_.push_back(id);
}

void session_table::expire_at(live_session& s, time_point when) {
  s.last_heard += when - s.deadline();
  queue_deadline(s);
}

void session_table::queue_deadline(live_session& s) {
  const auto when = s.deadline();
  if (s.queued_deadline_ <= when) return;  // the earlier entry is checked in time and queued again
  s.queued_deadline_ = when;
  deadlines_.push({when, s.row.id});
}

live_session* session_table::next_expired(time_point now) {
  while (!deadlines_.empty() && deadlines_.top().when <= now) {
    const auto first = deadlines_.top();
    deadlines_.pop();
    auto* s = find(first.id);
    if (s == nullptr || s->queued_deadline_ != first.when)
      continue;  // removed, or replaced by an earlier entry
    s->queued_deadline_ = time_point::max();
    if (s->expiry_suspended) continue;  // queued again when its connection closes
    if (s->deadline() <= now) return s;
    queue_deadline(*s);
  }
  return nullptr;
}

std::optional<time_point> session_table::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.top().when;
}

void session_table::extend_sessions(std::chrono::steady_clock::duration silence) {
  for (auto& [id, s] : sessions_) s.last_heard += silence;
}

void session_table::shrink() {
  server_impl::shrink(sessions_);
  server_impl::shrink(dirty_);
  server_impl::shrink(stored_);
  auto copy = deadlines_;  // has no unused capacity
  deadlines_.swap(copy);
}

void session_table::take_dirty(batch& out) {
  out.removed_sessions = std::move(removed_);
  removed_.clear();
  for (const auto id : dirty_) {
    out.sessions.push_back(sessions_.at(id).row);
    stored_.insert(id);
  }
  dirty_.clear();
}

}  // namespace conclave::server_impl
