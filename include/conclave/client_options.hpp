// Everything that can be set on a client. The defaults are meant for use.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/acl.hpp"
#include "conclave/secret.hpp"
#include "conclave/session_event.hpp"

namespace conclave {

enum class log_level { debug, info, warning, error };

// Called from the I/O thread and from threads that make calls, so it must be safe for that.
// Secrets and node data never reach it.
using log_callback = std::function<void(log_level, std::string_view)>;

// How long to wait before the n-th try (n = 1, 2, ...) after all servers were tried in vain.
// It must not throw, nor call the client.
using reconnect_policy = std::function<std::chrono::milliseconds(unsigned n)>;

// Doubles from `first` up to `most`; each delay is drawn at random from its upper half, so that
// the clients of a restarted server do not come back in step.
reconnect_policy exponential_backoff(std::chrono::milliseconds first,
                                     std::chrono::milliseconds most);

struct tls_options {
  std::string ca_file;           // PEM; empty: the system's authorities
  std::string certificate_file;  // PEM chain, if the server asks clients for one
  std::string key_file;          // PEM; its password, if any:
  secret key_password;
  bool verify_host = true;  // the certificate must be for the host of the connect string
};

struct client_options {
  client_options() = default;

  // Asked of the server, which may give another; see client::session_timeout().
  std::chrono::milliseconds session_timeout{30'000};
  // How long an operation may wait for a connection before it fails with errc::not_connected.
  // Zero: as long as the session timeout. Once sent, it is answered or fails with the connection.
  std::chrono::milliseconds connect_wait{0};
  // After an expired session: begin a new one (true), or stay dead.
  bool renew_expired = true;
  // Accept a server that is cut off from its ensemble and can only read. The client stays there as
  // long as that connection lasts; servers end it when they have a majority again.
  bool allow_read_only = false;
  // Try the hosts in random order, so that clients spread over the servers.
  bool shuffle_hosts = true;
  // Programs that this process starts inherit the connection, if it is by a Unix socket. On our own
  // server the session then lives until the last of them has ended, as with flock(2): server.hpp.
  // They can send any request with it; for programs that must not, see session_keeper.hpp.
  bool inheritable = false;

  reconnect_policy reconnect =
      exponential_backoff(std::chrono::milliseconds{100}, std::chrono::seconds{5});

  // Shown to the server on every connection.
  std::vector<conclave::credentials> credentials;
  // For nodes created without an ACL. Empty: creator_all_acl() if there are credentials, otherwise
  // open_acl(), which is said once in the log. Missing nodes above the path of a lock, queue or
  // election are shared with other users: they get this ACL, or open_acl() if it is empty.
  conclave::acl default_acl;
  std::optional<tls_options> tls;  // for all hosts but Unix sockets, over which it is not spoken

  // Bounds on requests that are not answered yet. Beyond them a blocking call waits and an async_
  // one completes with errc::backlog_full. Locks are not bound by them: a lock sends few requests
  // for each caller, and one that holds or waits must not be kept from the server.
  std::size_t max_outstanding = 4096;
  std::size_t max_outstanding_bytes = 32u << 20;
  // Must not exceed the server's jute.maxbuffer.
  std::size_t max_request_bytes = 0xfffff;
  // Large lists of children exceed the request limit. A call whose reply is above this fails with
  // errc::reply_too_large; the connection and other calls are not affected. Locks, elections and
  // queues are not bound by it: they list whatever the server has accepted.
  std::size_t max_reply_bytes = 16u << 20;

  // Told every session event from the first one on, like client::on_session_event.
  std::function<void(const session_event&)> on_session_event;

  log_callback log;  // silent without one
};

}  // namespace conclave
