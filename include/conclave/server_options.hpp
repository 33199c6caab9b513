// Options for a server. The defaults are meant for production use.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/client_options.hpp"
#include "conclave/secret.hpp"

namespace conclave {

// The TLS settings of a server. All files are in PEM format.
struct server_tls_options {
  std::string certificate_file;  // the certificate chain, the server's own certificate first
  std::string key_file;
  secret key_password;  // for an encrypted key_file
  // Certificate authorities for client certificates. If set, the server requests a certificate from
  // every client and verifies it. Clients without a certificate are refused only if
  // require_client_certificate is set.
  std::string client_ca_file;
  bool require_client_certificate = false;
};

// All four-letter words that the server knows.
inline constexpr std::array<std::string_view, 16> four_letter_words{
    "ruok", "srvr", "stat", "mntr", "conf", "cons", "dump", "ends",
    "envi", "isro", "wchs", "wchc", "wchp", "dirs", "crst", "srst"};

// The four-letter words that are enabled by default. dirs, crst and srst are not enabled, and
// neither are wchc and wchp, which are expensive if there are many watches.
inline constexpr std::array<std::string_view, 11> default_words{
    "ruok", "srvr", "stat", "mntr", "conf", "cons", "dump", "ends", "envi", "isro", "wchs"};

struct server_options {
  server_options() = default;

  // The folder for nodes and sessions. It is created if it does not exist. The server writes every
  // change to disk before it replies. If empty, the data is only in memory and is lost when the
  // server exits.
  std::filesystem::path data;

  // TCP addresses: "127.0.0.1:2181", "[::1]:2181", "0.0.0.0:2181". "2181" means 127.0.0.1:2181.
  // Port 0 selects a free port. Without any address or socket, the server listens on 127.0.0.1:0.
  std::vector<std::string> listen;
  // TCP addresses for connections with TLS. They need the option `tls`, which is refused without
  // them.
  std::vector<std::string> listen_tls;
  std::optional<server_tls_options> tls;
  // The path of a Unix socket. Only the server's user, root and socket_group can connect. If the
  // socket's folder does not exist, it is created with the same access. A session on this socket is
  // bound to processes: it lives while any process keeps its connection open, and ends when the
  // last process closes it. A connection through a relay is not bound, and its session expires
  // after the session timeout. The path must not contain ',' or ':', because a connect string
  // cannot contain such a path.
  std::filesystem::path socket;
  std::string socket_group;  // name of a group that may use the socket; empty if there is none

  // Descriptors of listening sockets that another process has opened, for example systemd: Unix
  // sockets, and TCP sockets for connections without TLS. The server also listens on these, and
  // uses them instead of opening the same `socket` itself. The caller keeps its descriptors. A
  // client that connects while no server runs waits for the next server on this socket, because the
  // server neither shuts the socket down nor removes its file.
  std::vector<int> listening_sockets;

  // The range of session timeouts that the server grants. The defaults are 2 ticks and 20 ticks.
  std::chrono::milliseconds tick{2000};
  std::optional<std::chrono::milliseconds> min_session_timeout;
  std::optional<std::chrono::milliseconds> max_session_timeout;
  // How often the server deletes empty container nodes and expired TTL nodes.
  std::chrono::milliseconds reap_interval{60'000};

  // With {"digest"}, a client must authenticate before the server answers its requests. The server
  // accepts every user name and password. The ACLs determine what each user may do. "ip" is not
  // allowed here, because every TCP client has an IP address.
  std::vector<std::string> required_auth;
  bool digest_auth = true;  // if false, clients and ACLs cannot use the scheme "digest"
  bool ttl_nodes = true;    // if false, creating a TTL node fails with errc::unimplemented
  // The user with full access, written as "super:" and a hash that ZooKeeper's
  // DigestAuthenticationProvider has generated.
  std::string super_digest;
  // The four-letter words that the server answers for every client that can connect. "*" means all
  // of them. Unknown words are refused. If this option is not set, the server answers
  // default_words. There is one exception if required_auth is set: only root and the server's own
  // user, on the Unix socket, can then use default_words. For all other clients, the server answers
  // only ruok, srvr and isro, which show no paths and no sessions.
  std::optional<std::vector<std::string>> words;

  std::size_t max_connections = 16'000;
  // The limit on the connections of one peer: a TCP address, or a user of the Unix socket other
  // than root and the server's user. Zero means no limit. The default is a quarter of
  // max_connections, but at least 60. All of 127.0.0.0/8 counts as one address, and so do IPv6
  // addresses with the same upper 64 bits. One eighth of max_connections is reserved for the Unix
  // socket and for sessions that reconnect.
  std::optional<std::size_t> max_connections_per_address;
  // max_sessions is the limit for all peers together. The limit for one peer is a quarter of
  // max_sessions, or max_connections_per_address if that is greater. If max_connections_per_address
  // is zero, there is no limit per peer. One sixteenth of max_sessions is reserved for the Unix
  // socket. A session that reconnects is always accepted.
  std::size_t max_sessions = 100'000;
  std::size_t max_request_bytes = 0xfffff;
  std::chrono::milliseconds handshake_limit{10'000};  // how long a client's handshake may take
  // The server disconnects a client that does not read its replies. This happens when more than
  // max_unsent_bytes wait to be sent to the client, not counting its largest reply, or when the
  // client has read nothing for stall_limit. stall_limit does not apply to sessions that are bound
  // to a process on the Unix socket. If more than 512 MiB wait to be sent to all clients together,
  // the server also disconnects the clients that have unread replies.
  std::size_t max_unsent_bytes = 64u << 20;
  std::chrono::milliseconds stall_limit{30'000};

  // The server shuts down when it has had no session and no connection for this long. Zero means
  // that it never shuts down by itself.
  std::chrono::milliseconds idle_exit{0};

  log_callback log;  // if empty, nothing is logged
};

}  // namespace conclave
