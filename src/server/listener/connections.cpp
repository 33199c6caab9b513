// The connections of the service: accepting, reading, sending and closing.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "base/process_binding.hpp"
#include "server/listener/service.hpp"

namespace conclave::server_impl {
namespace {

// The service stops reading from a client with more unsent output than this.
constexpr std::size_t pause_above_unsent = 256 * 1024;
// If all clients together have more unsent output than this, the service reads only from clients
// that have read all their replies.
constexpr std::size_t pause_all_above_unsent = 256u << 20;
// If they have more than this, the service disconnects clients with unsent output.
constexpr std::size_t drop_above_unsent = 512u << 20;
// If one turn has more bytes of watch events than this, requests wait for the next turn.
constexpr std::size_t pause_above_event_bytes = 32u << 20;
// Time for one client's requests before the next client is served.
constexpr auto max_time_per_client = std::chrono::milliseconds{5};
// A connect request is shorter than 100 bytes.
constexpr std::size_t handshake_limit_bytes = 1024;

}  // namespace

// --- acceptors

void service::open_acceptors() {
  if (!options_.listen_tls.empty() && tls_ == nullptr)
    throw error{errc::invalid_argument, "listening with TLS needs a certificate and its key"};
  if (options_.listen_tls.empty() && tls_ != nullptr)
    throw error{errc::invalid_argument,
                "there are TLS settings, but no address for TLS, so every connection would be "
                "without TLS; add such an address, or remove the settings"};
  auto tcp = options_.listen;
  if (tcp.empty() && options_.listen_tls.empty() && options_.socket.empty() &&
      options_.listening_sockets.empty())
    tcp.emplace_back("127.0.0.1:0");
  std::vector<acceptor> unix_sockets;
  for (const auto& address : tcp)
    acceptors_.push_back(acceptor::tcp(io_, address, acceptor::transport::tcp));
  for (const int fd : options_.listening_sockets) {
    auto a = acceptor::inherited(io_, fd);
    const bool is_unix = a.transport_type() == acceptor::transport::unix_socket;
    (is_unix ? unix_sockets : acceptors_).push_back(std::move(a));
  }
  for (const auto& address : options_.listen_tls)
    acceptors_.push_back(acceptor::tcp(io_, address, acceptor::transport::tls));
  const auto own = options_.socket.empty()
                       ? std::string{}
                       : "unix:" + std::filesystem::absolute(options_.socket).string();
  const bool is_inherited = std::any_of(unix_sockets.begin(), unix_sockets.end(),
                                        [&](const acceptor& a) { return a.address() == own; });
  if (!own.empty() && !is_inherited)
    unix_sockets.push_back(acceptor::unix_socket(io_, options_.socket, options_.socket_group));
  std::move(unix_sockets.begin(), unix_sockets.end(), std::back_inserter(acceptors_));
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
  c->must_reconnect = accepted->may_precede_listen;
  c->uid = accepted->uid;
  if (is_local) c->process = process_watch{io_, accepted->pid};
  admission_->opened(c->from);
  connections_.emplace(c->id, c);
  c->pending_position = pending_handshakes_.insert(pending_handshakes_.end(), c);
  const auto binding = is_local ? process_binding(::getpid(), accepted->pid) : 0;
  core_->connected(c->id, {c->address, binding, c->from});
  wait_to_read(c);
}

// Closes the oldest connection that has not completed its handshake. If a peer is given, closes the
// oldest such connection of that peer.
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
  if (c->is_closed() || std::exchange(c->is_waiting_to_read, true)) return;
  c->socket.async_wait(client_connection::socket_type::wait_read,
                       [this, c](const boost::system::error_code& ec) {
                         c->is_waiting_to_read = false;
                         if (!ec && !c->is_closed()) read(c);
                       });
}

void service::wait_to_write(const connection_ptr& c) {
  if (c->is_closed() || std::exchange(c->is_waiting_to_write, true)) return;
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
    // The client takes another process for its server, so its session could not be bound to
    // processes. When it connects again, the kernel shows it this process.
    if (c->must_reconnect) return disconnect(c);
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
  if (before == 0 || (before <= pause_above_unsent && bytes.size() > c->largest_output))
    c->largest_output = bytes.size();
  const bool is_open = c->send(bytes);
  unsent_bytes_ = unsent_bytes_ + c->unsent() - before;
  if (!is_open) return disconnect(c);
  if (c->unsent() == 0) {
    if (c->is_closing()) return disconnect(c);
  } else if (c->unsent() > options_.max_unsent_bytes + c->largest_output ||
             unsent_bytes_ > drop_above_unsent) {
    return drop(c, client_fault::does_not_read);
  } else {
    wait_to_write(c);
  }
  if (c->is_paused && c->unsent() <= pause_above_unsent / 2) resume_reading(c);
}

// This is posted, so that the input is processed inside a turn and its changes are committed.
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
    if (!core_->is_writable()) ended_while_disk_full_.push_back(session);
    core_->process_ended(session);
    watched_processes_.erase(session);
  });
}

// These messages are rate-limited, so that unauthenticated clients cannot fill the log.
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

}  // namespace conclave::server_impl
