#include "server/listener/service.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <boost/asio/post.hpp>
#include <openssl/rand.h>

#include "server/core/clock_zxid.hpp"
#include "server/core/shrink.hpp"

namespace conclave::server_impl {
namespace {

// The number of bytes that are read from one client before the next client is served.
constexpr std::size_t read_size = 64 * 1024;
// Limits the length of a turn under constant load.
constexpr int max_handlers_per_turn = 1024;
// After a turn that began this late or took this long, pending input is read before any session
// expires. Expiry resumes when no input is left, or after max_turns_without_expiry turns.
constexpr auto long_delay = std::chrono::milliseconds{200};
constexpr int max_turns_without_expiry = 64;
constexpr std::uintmax_t min_free_bytes = 4u << 20;
constexpr auto check_interval = std::chrono::seconds{1};
// The service is at rest after this many consecutive checks with at most this many commits each.
constexpr int checks_before_upkeep = 5;
constexpr std::uint64_t max_commits_at_rest = 10;

std::uint64_t frames_in(std::string_view bytes) {
  wire::frame_splitter frames{std::numeric_limits<std::int32_t>::max()};
  frames.feed(bytes);
  std::uint64_t count = 0;
  while (frames.next()) ++count;
  return count;
}

}  // namespace

service::service(server_options options, storage opened)
    : options_{std::move(options)}, storage_{std::move(opened)}, read_buffer_(read_size) {
  auto& per_address = options_.max_connections_per_address;
  if (!per_address) per_address = fair_share::default_per_peer(options_.max_connections);
  admission_ = std::make_unique<admission>(fair_share{options_.max_connections, *per_address});
  if (!storage_.notice.empty()) log(log_level::warning, storage_.notice);
  auto stored = storage_.backend->load();
  const auto started = now();
  const auto first_zxid = clock_zxid(started.wall_ms, stored.zxid);
  core_ = std::make_unique<core>(make_core_options(), std::move(stored), first_zxid, started);
  // Handshake replies show the zxid even before the first change, so it must be durable.
  storage_.backend->commit(core_->take_changes());
  if (options_.tls) tls_ = std::make_unique<tls::tls_server_settings>(*options_.tls);
  if (storage_.check_folder)
    folder_watch_ = std::make_unique<folder_watch>(io_, options_.data, storage_.check_folder);
  open_acceptors();
}

service::~service() = default;

moment service::now() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {clock::now(), std::chrono::duration_cast<std::chrono::milliseconds>(wall).count()};
}

core_options service::make_core_options() {
  core_options c;
  c.tick = options_.tick;
  c.min_session_timeout = options_.min_session_timeout.value_or(2 * options_.tick);
  c.max_session_timeout = options_.max_session_timeout.value_or(20 * options_.tick);
  if (c.min_session_timeout.count() <= 0 || c.min_session_timeout > c.max_session_timeout)
    throw error{errc::invalid_argument,
                "the shortest session timeout is " + std::to_string(c.min_session_timeout.count()) +
                    " ms and the longest is " + std::to_string(c.max_session_timeout.count()) +
                    " ms; both must be above zero, and the shortest must not exceed the longest"};
  if (options_.reap_interval.count() <= 0)
    throw error{errc::invalid_argument,
                "the time between checks for empty containers must be above zero"};
  c.reap_interval = options_.reap_interval;
  c.super_digest = options_.super_digest;
  for (const auto& scheme : options_.required_auth)
    if (scheme != "digest" || !options_.digest_auth)
      throw error{errc::invalid_argument, "clients cannot authenticate by '" + scheme +
                                              "'; the only scheme to require is digest"};
  c.required_auth = options_.required_auth;
  for (const auto& word : options_.words.value_or(std::vector<std::string>{}))
    if (word != "*" && std::ranges::find(four_letter_words, word) == four_letter_words.end())
      throw error{errc::invalid_argument, "there is no four-letter word '" + word + "'"};
  c.digest_auth = options_.digest_auth;
  c.ttl_nodes = options_.ttl_nodes;
  c.max_sessions = options_.max_sessions;
  // Every connection that a peer may open can have a session.
  const auto per_peer = *options_.max_connections_per_address;
  c.max_sessions_per_peer =
      per_peer == 0 ? 0 : std::max(per_peer, fair_share::default_per_peer(options_.max_sessions));
  if (per_peer == 0) c.max_watches_per_peer = c.max_watched_bytes_per_peer = 0;
  c.on_session_end = [this](std::int64_t session, session_end why,
                            const std::vector<std::string>& nodes) {
    ended_nodes_.add(session, why, nodes);
  };
  c.log_session = [this](std::string_view text) { log(log_level::info, std::string{text}); };
  c.random = [](char* into, std::size_t size) {
    if (RAND_bytes(reinterpret_cast<unsigned char*>(into), static_cast<int>(size)) != 1)
      throw std::runtime_error{"the system provides no random numbers"};
  };
  return c;
}

void service::set_tls(const server_tls_options& options) {
  if (!options_.tls)
    throw error{errc::invalid_argument,
                "cannot set certificates: the server was started without TLS"};
  auto fresh = std::make_unique<tls::tls_server_settings>(options);
  boost::asio::post(io_, [this, fresh = std::move(fresh)]() mutable { tls_ = std::move(fresh); });
}

void service::log(log_level level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

// --- turns

void service::run() {
  // This is also done on exceptions, because after a disk failure clients must not wait for replies
  // that never come.
  struct connection_closer {
    service& s;
    ~connection_closer() {
      s.acceptors_.clear();
      for (const auto& [id, c] : s.connections_) c->close();
      s.connections_.clear();
      s.pending_handshakes_.clear();
    }
  } const close_on_exit{*this};
  for (auto& a : acceptors_) wait_to_accept(a);
  core_->begin_serving(now());
  next_check_ = idle_since_ = clock::now();
  arm_timer();
  while (!stopping_) {
    io_.run_one();
    int left = max_handlers_per_turn;
    while (left > 0 && io_.poll_one() != 0) --left;
    if (left > 0) turns_without_expiry_ = 0;  // all pending input was read
    end_turn();
  }
}

void service::stop() {
  stopping_ = true;
  boost::asio::post(io_, [] {});
}

void service::begin_turn() {
  if (in_turn_) return;
  in_turn_ = true;
  const auto n = now();
  turn_began_ = n.now;
  core_->begin_turn(n);
  if (const auto late = n.now - turn_deadline_; late > long_delay) {
    core_->extend_sessions(late);
    turns_without_expiry_ = max_turns_without_expiry;
  }
}

void service::end_turn() {
  begin_turn();
  in_turn_ = false;
  const bool check_is_due = turn_began_ >= next_check_;
  if (check_is_due) run_periodic_checks();
  if (turns_without_expiry_ == 0)
    core_->expire();
  else
    --turns_without_expiry_;
  if (core_->has_changes()) commit();
  new_output_bytes_ = 0;

  const auto ready = core_->take_ready();
  for (const auto id : ready) {
    // A client that was disconnected in this loop may have been the last one that kept a session.
    // Watch events about the end of that session must follow its commit.
    if (core_->has_changes()) commit();
    const auto i = connections_.find(id);
    if (i == connections_.end()) continue;
    const auto c = i->second;
    if (core_->overflowed(id)) {
      drop(c, client_fault::too_many_events);
      continue;
    }
    if (core_->is_closing(id)) enter(*c, client_connection::phase::closing);
    auto& out = core_->output(id);
    const auto frames = frames_in(out);
    c->frames_sent += frames;
    statistics_.sent += frames;
    send(c, out);
  }
  // The answers describe the state after this turn, so they are sent after its commit.
  answer_words();
  const auto took =
      std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - turn_began_);
  if (!ready.empty()) {
    statistics_.min_time = statistics_.turns == 0 ? took : std::min(statistics_.min_time, took);
    statistics_.max_time = std::max(statistics_.max_time, took);
    statistics_.total_time += took;
    statistics_.turn_times.add(took);
    ++statistics_.turns;
  }
  if (check_is_due) return_unused_space();
  if (clock::now() - turn_began_ > long_delay) turns_without_expiry_ = max_turns_without_expiry;
  arm_timer();
}

void service::commit() {
  try {
    const auto began = clock::now();
    storage_.backend->commit(core_->take_changes());
    statistics_.commit_times.add(clock::now() - began);
    ++statistics_.commits;
    ended_nodes_.commit();
  } catch (const disk_full& e) {
    handle_disk_full(e.what());
  }
}

// The core has changes that the disk does not have. No reply was sent for them, so the service
// discards them: it closes all connections and reloads the last commit. Until there is space on the
// disk, reads succeed and writes fail.
void service::handle_disk_full(const std::string& why) {
  log(log_level::error, why + "; nothing can be changed until " +
                            std::to_string(min_free_bytes >> 20) + " MiB are free");
  while (!connections_.empty()) {
    const auto c = connections_.begin()->second;
    core_->output(c->id).clear();
    disconnect(c);
  }
  ended_nodes_.discard_uncommitted();
  core_ = std::make_unique<core>(make_core_options(), storage_.backend->load(), 0, now());
  core_->begin_serving(now());
  core_->set_writable(false);
}

void service::retry_disk() {
  // The store preallocates its WAL, so a small commit can succeed on a full disk. The next failure
  // would close all connections again.
  std::error_code unknown;
  const auto space = std::filesystem::space(options_.data, unknown);
  if (!unknown && space.available < min_free_bytes) return;
  try {
    batch nothing;
    nothing.zxid = core_->zxid();
    storage_.backend->commit(nothing);
  } catch (const disk_full&) {
    return;
  }
  core_->set_writable(true);
  log(log_level::warning, "there is room on the disk again; changes are accepted");
  for (const auto session : std::exchange(ended_while_disk_full_, {}))
    core_->process_ended(session);
}

void service::arm_timer() {
  const auto when = std::min(core_->next_deadline(), next_check_);
  turn_deadline_ = std::max(when, clock::now());
  if (when == timer_set_for_) return;
  timer_set_for_ = when;
  timer_.expires_at(when);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) timer_set_for_ = clock::time_point::max();
  });
}

// These checks do not need an exact time: pending handshakes, slow readers, a full disk, the idle
// limit.
void service::run_periodic_checks() {
  next_check_ = turn_began_ + check_interval;
  if (storage_.check_folder) storage_.check_folder();
  while (!pending_handshakes_.empty() &&
         turn_began_ - pending_handshakes_.front()->since > options_.handshake_limit) {
    const auto c = pending_handshakes_.front();
    log_client(client_fault::no_handshake, log_level::info,
               c->name + " sent no connect request in time");
    disconnect(c);
  }
  std::vector<connection_ptr> stalled;
  for (const auto& [id, c] : connections_) {
    // A stopped process does not read, but keeps its process-bound session.
    if (!core_->is_process_bound(id) && c->unsent() > 0 &&
        turn_began_ - c->last_sent > options_.stall_limit)
      stalled.push_back(c);
  }
  for (const auto& c : stalled) drop(c, client_fault::does_not_read);
  std::erase_if(watched_processes_,
                [this](const auto& a) { return !core_->awaits_reconnect(a.first); });
  if (!core_->is_writable()) retry_disk();
  if (accepting_paused_) {
    accepting_paused_ = false;
    for (auto& a : acceptors_) wait_to_accept(a);
  }
  if (!connections_.empty() || core_->sessions().size() > 0) idle_since_ = turn_began_;
  if (options_.idle_exit.count() > 0 && turn_began_ - idle_since_ >= options_.idle_exit) {
    log(log_level::info, "no clients and no sessions within the idle limit; the server stops");
    stopping_ = true;
  }
}

// After a burst of changes, the tables, the heap and the files have much unused space. At rest, the
// service returns it in steps, one per check, so that no request waits long.
void service::return_unused_space() {
  const auto commits = statistics_.commits - std::exchange(commits_at_check_, statistics_.commits);
  if (commits > 0 && upkeep_ == upkeep::none) upkeep_ = upkeep::memory;
  checks_at_rest_ = commits > max_commits_at_rest ? 0 : checks_at_rest_ + 1;
  if (checks_at_rest_ < checks_before_upkeep) return;
  switch (upkeep_) {
    case upkeep::none: break;
    case upkeep::memory:
      core_->shrink();
      shrink(connections_);
      memory_.trim();
      upkeep_ = storage_.shrink ? upkeep::disk : upkeep::none;
      break;
    case upkeep::disk:
      if (!storage_.shrink()) upkeep_ = upkeep::none;
      break;
  }
}

}  // namespace conclave::server_impl
