// Options for a client. The defaults are meant for production use.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/acl.hpp"
#include "conclave/secret.hpp"
#include "conclave/session_event.hpp"

namespace conclave {

class metrics;
class tracer;

enum class log_level { debug, info, warning, error };

// Called on the I/O thread and on threads that call the client, so it must be thread-safe. Log
// messages never contain secrets or node data.
using log_callback = std::function<void(log_level, std::string_view)>;

// Returns the delay before the next round of connection attempts. `n` counts the rounds in which
// all servers have failed (1, 2, ...). The function must not throw and must not call the client.
using reconnect_policy = std::function<std::chrono::milliseconds(unsigned n)>;

// Returns a policy whose base delay starts at `first` and doubles in each round, up to `most`. Each
// delay is chosen at random between half of the base delay and the full base delay, so that clients
// of a restarted server do not all reconnect at once.
reconnect_policy exponential_backoff(std::chrono::milliseconds first,
                                     std::chrono::milliseconds most);

struct tls_options {
  std::string ca_file;           // PEM; if empty, the system's certificate authorities are used
  std::string certificate_file;  // PEM chain, if the server requires a client certificate
  std::string key_file;          // PEM
  secret key_password;           // for an encrypted key_file
  bool verify_host = true;       // the certificate must match the host name in the connect string
};

struct client_options {
  client_options() = default;

  // The session timeout that the client requests. The server may grant a different one. See
  // client::session_timeout().
  std::chrono::milliseconds session_timeout{30'000};
  // How long an operation waits for a connection before it fails with errc::not_connected. Zero
  // means the session timeout. The limit does not apply to requests that were already sent.
  std::chrono::milliseconds connect_wait{0};
  // Start a new session after the current one has expired. If false, the client stays expired.
  bool renew_expired = true;
  // Accept a read-only server: one that has lost contact with its ensemble and answers only reads.
  // The client stays connected to that server. When the server is part of a majority again, it
  // closes the connection.
  bool allow_read_only = false;
  // Try the servers in random order, to distribute clients over the servers.
  bool shuffle_hosts = true;
  // Let child processes inherit the connection, if it uses a Unix socket. On the embedded server,
  // the session then lives until the last of these processes has exited, as with flock(2). See
  // server_options.hpp. The child processes can send any request on the connection. To prevent
  // this, use session_keeper.hpp instead.
  bool inheritable = false;

  reconnect_policy reconnect =
      exponential_backoff(std::chrono::milliseconds{100}, std::chrono::seconds{5});

  // Presented to the server on every connection.
  std::vector<conclave::credentials> credentials;
  // The default ACL, for nodes that are created without an explicit ACL. If default_acl is empty,
  // such nodes get creator_all_acl() if there are credentials, and open_acl() otherwise. The client
  // logs the use of open_acl() once. Nodes that are created above the path of a lock, queue or
  // election are shared with other users. They get default_acl, or open_acl() if default_acl is
  // empty.
  conclave::acl default_acl;
  // Used for all servers except those on Unix sockets, which never use TLS.
  std::optional<tls_options> tls;

  // Limits on requests that wait for their reply. When a limit is reached, blocking calls wait, and
  // async_ calls complete with errc::backlog_full. Locks, elections and queues ignore these limits,
  // because they send few requests and must be able to reach the server.
  std::size_t max_outstanding = 4096;
  std::size_t max_outstanding_bytes = 32u << 20;
  // Must not exceed the server's jute.maxbuffer.
  std::size_t max_request_bytes = 0xfffff;
  // A call whose reply is larger fails with errc::reply_too_large. This does not affect the
  // connection or other calls. The default exceeds max_request_bytes because lists of children can
  // be large. Locks, elections and queues ignore this limit.
  std::size_t max_reply_bytes = 16u << 20;

  // Like client::on_session_event(), but called for all events from the first one on.
  std::function<void(const session_event&)> on_session_event;

  log_callback log;  // if empty, nothing is logged

  // Counts what the client does, see metrics.hpp. Several clients can share the object. If null,
  // nothing is counted.
  std::shared_ptr<conclave::metrics> metrics;
  // Receives the begin and the end of acquisitions and holds, see tracer.hpp. If null, nothing is
  // traced.
  std::shared_ptr<conclave::tracer> tracer;
};

}  // namespace conclave
