#include "server/listener/service.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <boost/asio/post.hpp>
#include <openssl/rand.h>

#include "base/process_binding.hpp"
#include "server/core/clock_zxid.hpp"

namespace conclave::server_impl {
namespace {

// Bytes read from one client before the next client is served.
constexpr std::size_t read_size = 64 * 1024;
// The service stops reading from a client with more unsent output than this.
constexpr std::size_t pause_above_unsent = 256 * 1024;
// With more unsent output than this for all clients together, the service reads only from clients
// that have read all their replies.
constexpr std::size_t pause_all_above_unsent = 256u << 20;
// With more than this, clients with unsent output are dropped.
constexpr std::size_t drop_above_unsent = 512u << 20;
// With more bytes of watch events than this in one turn, requests wait for the next turn.
constexpr std::size_t pause_above_event_bytes = 32u << 20;
// Time for one client's requests before the next client is served.
constexpr auto max_time_per_client = std::chrono::milliseconds{5};
// Limits the length of a turn under constant load.
constexpr int max_handlers_per_turn = 1024;
// A connect request has less than 100 bytes.
constexpr std::size_t handshake_limit_bytes = 1024;
// After a turn that began this late or took this long, pending input is read before any session
// expires. Expiry resumes when no input is left, or after max_turns_without_expiry turns.
constexpr auto long_delay = std::chrono::milliseconds{200};
constexpr int max_turns_without_expiry = 64;
constexpr std::uintmax_t min_free_bytes = 4u << 20;
constexpr auto check_interval = std::chrono::seconds{1};

moment now() {
  return {std::chrono::steady_clock::now(), std::chrono::duration_cast<std::chrono::milliseconds>(
                                                std::chrono::system_clock::now().time_since_epoch())
                                                .count()};
}

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

core_options service::make_core_options() const {
  core_options c;
  c.tick = options_.tick;
  c.min_session_timeout = options_.min_session_timeout.value_or(2 * options_.tick);
  c.max_session_timeout = options_.max_session_timeout.value_or(20 * options_.tick);
  if (c.min_session_timeout.count() <= 0 || c.min_session_timeout > c.max_session_timeout)
    throw error{errc::invalid_argument,
                "session timeouts must be above zero, and the minimum must not exceed the maximum"};
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
  c.digest_auth = options_.digest_auth;
  c.ttl_nodes = options_.ttl_nodes;
  c.max_sessions = options_.max_sessions;
  // Every connection that a peer may open can have a session.
  const auto per_peer = *options_.max_connections_per_address;
  c.max_sessions_per_peer =
      per_peer == 0 ? 0 : std::max(per_peer, fair_share::default_per_peer(options_.max_sessions));
  if (per_peer == 0) c.max_watches_per_peer = c.max_watched_bytes_per_peer = 0;
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

// Rate-limited, so that unauthenticated clients cannot fill the log.
void service::log_client(client_fault what, log_level level, std::string text) {
  const auto suppressed = client_log_limits_.of(what).allow(clock::now());
  if (!suppressed) return;
  if (*suppressed > 0)
    text += "; " + std::to_string(*suppressed) + " earlier lines like this were not logged";
  log(level, text);
}

void service::log_tls_failure(const client_connection& c) {
  if (c.tls == nullptr || c.tls->reason().empty()) return;
  log_client(client_fault::tls_failed, log_level::warning,
             c.name + ": TLS failed (" + c.tls->reason() + ")");
}

void service::log(log_level level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

// --- turns

void service::run() {
  // Also on exceptions: after a disk failure, clients must not wait for replies that never come.
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
  if (turn_began_ >= next_check_) run_periodic_checks();
  if (turns_without_expiry_ == 0)
    core_->expire();
  else
    --turns_without_expiry_;
  if (core_->has_changes()) commit();
  new_output_bytes_ = 0;

  const auto ready = core_->take_ready();
  for (const auto id : ready) {
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
  // The answers describe the state after this turn, so they must follow its commit.
  for (const auto& [c, word] : std::exchange(pending_words_, {})) {
    auto text = reply_to(*c, word);
    send(c, text);
  }
  const auto took =
      std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - turn_began_);
  if (took > long_delay) turns_without_expiry_ = max_turns_without_expiry;
  if (!ready.empty()) {
    statistics_.min_time = statistics_.turns == 0 ? took : std::min(statistics_.min_time, took);
    statistics_.max_time = std::max(statistics_.max_time, took);
    statistics_.total_time += took;
    ++statistics_.turns;
  }
  arm_timer();
}

void service::commit() {
  try {
    storage_.backend->commit(core_->take_changes());
    ++statistics_.commits;
  } catch (const disk_full& e) {
    handle_disk_full(e.what());
  }
}

// The core has changes that the disk does not have. No reply was sent for them, so the service
// discards them: it closes all connections and reloads the last commit. Until there is space on the
// disk, reads succeed and writes fail.
void service::handle_disk_full(const std::string& why) {
  log(log_level::error, why + "; nothing can be changed until there is room");
  while (!connections_.empty()) {
    const auto c = connections_.begin()->second;
    core_->output(c->id).clear();
    disconnect(c);
  }
  core_ = std::make_unique<core>(make_core_options(), storage_.backend->load(), 0, now());
  core_->set_writable(false);
  disk_full_ = true;
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
  disk_full_ = false;
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

// Checks that need no exact time: pending handshakes, slow readers, a full disk, the idle limit.
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
  if (disk_full_) retry_disk();
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

// --- acceptors

void service::open_acceptors() {
  if (!options_.listen_tls.empty() && tls_ == nullptr)
    throw error{errc::invalid_argument, "listening with TLS needs a certificate and its key"};
  auto tcp = options_.listen;
  if (tcp.empty() && options_.listen_tls.empty() && options_.socket.empty())
    tcp.emplace_back("127.0.0.1:0");
  for (const auto& address : tcp)
    acceptors_.push_back(acceptor::tcp(io_, address, acceptor::transport::tcp));
  for (const auto& address : options_.listen_tls)
    acceptors_.push_back(acceptor::tcp(io_, address, acceptor::transport::tls));
  if (!options_.socket.empty())
    acceptors_.push_back(acceptor::unix_socket(io_, options_.socket, options_.socket_group));
  for (const auto& a : acceptors_) addresses_.push_back(a.address());
}

void service::wait_to_accept(acceptor& a) {
  if (std::exchange(a.is_waiting, true)) return;
  a.async_wait_readable([this, &a](const boost::system::error_code& ec) {
    a.is_waiting = false;
    if (!ec) accept_connections(a);
  });
}

void service::accept_connections(acceptor& a) {
  begin_turn();
  bool out_of_descriptors = false;
  for (int i = 0; i < 64; ++i) {
    auto accepted = a.accept(out_of_descriptors);
    if (accepted == nullptr) break;
    add_connection(std::move(accepted), a.transport_type());
  }
  if (out_of_descriptors && !close_oldest_pending()) {
    accepting_paused_ = true;  // until the next periodic check
    return;
  }
  wait_to_accept(a);
}

void service::add_connection(std::unique_ptr<acceptor::accepted_connection> accepted,
                             acceptor::transport through) {
  const bool is_local = through == acceptor::transport::unix_socket;
  // With a socket group, the kernel has checked the permissions of the socket file.
  if (is_local && accepted->uid != 0 && accepted->uid != ::geteuid() &&
      options_.socket_group.empty()) {
    log_client(client_fault::foreign_user, log_level::warning,
               accepted->name + " of user " + std::to_string(accepted->uid) + " refused");
    ++statistics_.rejected;
    return;
  }
  const auto refuse = [&](client_fault what, const char* why) {
    log_client(what, log_level::warning, accepted->name + " refused: " + why);
    ++statistics_.rejected;
  };
  const auto from = is_local ? peer_id::of_user(accepted->uid, ::geteuid())
                             : peer_id::of_address(accepted->address);
  if (admission_->check(from) == admission::verdict::peer_full && !close_oldest_pending(&from))
    return refuse(client_fault::too_many_of_peer, is_local
                                                      ? "too many connections of its user"
                                                      : "too many connections from its address");
  if (admission_->check(from) == admission::verdict::server_full && !close_oldest_pending())
    return refuse(client_fault::too_many_connections, "too many connections");
  const auto c = std::make_shared<client_connection>(
      ++last_id_, std::move(accepted->socket), std::move(accepted->name), handshake_limit_bytes);
  c->address = std::move(accepted->address);
  c->from = from;
  if (through == acceptor::transport::tls) c->tls = std::make_unique<tls::tls_engine>(*tls_);
  c->is_local = is_local;
  c->uid = accepted->uid;
  if (is_local) c->process = process_watch{io_, accepted->pid};
  admission_->opened(c->from);
  connections_.emplace(c->id, c);
  c->pending_position = pending_handshakes_.insert(pending_handshakes_.end(), c);
  const auto binding = is_local ? process_binding(::getpid(), accepted->pid) : 0;
  core_->connected(c->id, {c->address, binding, c->from});
  wait_to_read(c);
}

// Disconnects the oldest connection without a handshake; if a peer is given, the oldest one of that
// peer.
bool service::close_oldest_pending(const peer_id* of) {
  const auto found =
      std::find_if(pending_handshakes_.begin(), pending_handshakes_.end(),
                   [&](const connection_ptr& c) { return of == nullptr || c->from == *of; });
  if (found == pending_handshakes_.end()) return false;
  const auto oldest = *found;  // a copy, because disconnect() erases the list entry
  disconnect(oldest);
  return true;
}

bool service::must_refuse_new_session(const client_connection& c,
                                      std::string_view connect_frame) const {
  const auto established = connections_.size() - pending_handshakes_.size();
  if (admission_->may_begin_session(c.from.kind, established)) return false;
  wire::reader in{connect_frame};
  return in.read<wire::connect_request>().session_id == 0;
}

void service::enter(client_connection& c, client_connection::phase next) {
  if (c.is_pending() && next >= client_connection::phase::established)
    pending_handshakes_.erase(c.pending_position);
  c.current_phase = next;
}

// --- connections

void service::wait_to_read(const connection_ptr& c) {
  if (c->is_waiting_to_read || c->is_closed()) return;
  c->is_waiting_to_read = true;
  c->socket.async_wait(client_connection::socket_type::wait_read,
                       [this, c](const boost::system::error_code& ec) {
                         c->is_waiting_to_read = false;
                         if (!ec && !c->is_closed()) read(c);
                       });
}

void service::wait_to_write(const connection_ptr& c) {
  if (c->is_waiting_to_write || c->is_closed()) return;
  c->is_waiting_to_write = true;
  c->socket.async_wait(client_connection::socket_type::wait_write,
                       [this, c](const boost::system::error_code& ec) {
                         c->is_waiting_to_write = false;
                         if (ec || c->is_closed()) return;
                         begin_turn();
                         const auto before = c->unsent();
                         std::string nothing;
                         send(c, nothing);
                         // The client may be paused and send nothing, but reading output proves
                         // that it is alive.
                         if (c->unsent() < before) core_->record_activity(c->id);
                       });
}

void service::read(const connection_ptr& c) {
  begin_turn();
  core_->begin_turn(now());  // a turn can be long; sessions record when their input was read
  std::string_view bytes;
  const auto before = c->unsent();
  const bool is_open = c->receive(read_buffer_.data(), read_buffer_.size(), bytes);
  unsent_bytes_ = unsent_bytes_ + c->unsent() - before;
  if (!is_open) {
    log_tls_failure(*c);
    return disconnect(c);
  }
  if (c->unsent() > 0) wait_to_write(c);  // TLS handshake messages
  if (c->unparsed.empty()) return process_input(c, bytes);
  const auto input = std::exchange(c->unparsed, {}).append(bytes);
  process_input(c, input);
}

// Processes frames until too much output is unsent. The rest of the input waits until the client
// has read some of its replies.
void service::process_input(const connection_ptr& c, std::string_view bytes) {
  if (c->current_phase == client_connection::phase::first_bytes &&
      handle_four_letter_word(c, bytes))
    return;
  c->frames.feed(bytes);
  const auto pause = [&] {
    c->unparsed.assign(c->frames.rest());
    c->frames.feed({});
    c->is_paused = true;
  };
  const auto started = clock::now();
  while (!c->is_closing() && !core_->is_closing(c->id)) {
    const auto waiting = core_->output(c->id).size();
    const auto unsent = c->unsent() + waiting;
    if (unsent > pause_above_unsent ||
        (unsent > 0 && unsent_bytes_ + new_output_bytes_ > pause_all_above_unsent))
      return pause();  // send() resumes reading
    if (new_output_bytes_ > pause_all_above_unsent ||
        core_->event_bytes() > pause_above_event_bytes ||
        clock::now() - started > max_time_per_client) {
      pause();
      return resume_reading(c);
    }
    const auto frame = c->frames.next();
    if (!frame) break;
    ++c->frames_received;
    ++statistics_.received;
    if (c->is_pending() && must_refuse_new_session(*c, *frame)) {
      log_client(client_fault::too_many_connections, log_level::warning,
                 c->name + " refused: too many connections");
      ++statistics_.rejected;
      return disconnect(c);
    }
    core_->receive(c->id, *frame);
    if (core_->overflowed(c->id)) break;
    new_output_bytes_ += core_->output(c->id).size() - waiting;
    if (c->is_pending()) {
      enter(*c, client_connection::phase::established);
      c->frames.set_limit(options_.max_request_bytes);
    }
  }
  if (c->frames.failed()) {
    log_client(client_fault::not_the_protocol, log_level::warning,
               c->name + " sent something that is not ZooKeeper's protocol");
    return disconnect(c);
  }
  if (!core_->is_closing(c->id)) wait_to_read(c);
}

void service::send(const connection_ptr& c, std::string& bytes) {
  if (c->is_closed()) return;
  const auto before = c->unsent();
  const bool is_open = c->send(bytes);
  unsent_bytes_ = unsent_bytes_ + c->unsent() - before;
  if (!is_open) return disconnect(c);
  if (c->unsent() == 0) {
    if (c->is_closing()) return disconnect(c);
  } else if (c->unsent() > options_.max_unsent_bytes || unsent_bytes_ > drop_above_unsent) {
    return drop(c, client_fault::does_not_read);
  } else {
    wait_to_write(c);
  }
  if (c->is_paused && c->unsent() <= pause_above_unsent / 2) resume_reading(c);
}

// Posted, so that the input is processed inside a turn and its changes are committed.
void service::resume_reading(const connection_ptr& c) {
  if (!std::exchange(c->is_paused, false)) return;
  boost::asio::post(io_, [this, c] {
    if (c->is_closed()) return;
    begin_turn();
    const auto rest = std::exchange(c->unparsed, {});
    process_input(c, rest);
  });
}

// Disconnects a slow client. The linger option discards the output that the kernel still holds and
// sends a reset. Otherwise the kernel would keep that output until the client reads it.
void service::drop(const connection_ptr& c, client_fault why) {
  log_client(why, log_level::warning,
             c->name + (why == client_fault::too_many_events
                            ? " has too many unsent watch events; disconnected"
                            : " does not read its replies; disconnected"));
  ++statistics_.dropped_slow;
  boost::system::error_code ignored;
  c->socket.set_option(boost::asio::socket_base::linger{true, 0}, ignored);
  disconnect(c);
}

// The session continues until it expires. A process-bound session ends as soon as its process
// exits.
void service::disconnect(const connection_ptr& c) {
  if (c->is_closed()) return;
  enter(*c, client_connection::phase::closed);
  admission_->closed(c->from);
  const auto session = core_->session_of(c->id);
  const bool ends_with_its_process = core_->is_process_bound(c->id) && c->process.is_available();
  core_->disconnected(c->id);
  connections_.erase(c->id);
  unsent_bytes_ -= c->unsent();
  c->close();
  if (session == 0) return;
  watched_processes_.erase(session);  // of the previous process of this session
  if (!ends_with_its_process) return;
  auto& watched = watched_processes_[session] = {c->id, std::move(c->process)};
  watched.process.async_wait_exit([this, session, id = c->id] {
    begin_turn();
    // The session may have reconnected and disconnected again, from another process.
    const auto i = watched_processes_.find(session);
    if (i == watched_processes_.end() || i->second.last_connection != id) return;
    if (disk_full_) ended_while_disk_full_.push_back(session);
    core_->process_ended(session);
    watched_processes_.erase(session);
  });
}

}  // namespace conclave::server_impl
