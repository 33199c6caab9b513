// Everything that can be set on a server. The defaults are meant for use.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "conclave/client_options.hpp"
#include "conclave/secret.hpp"

namespace conclave {

// PEM files.
struct server_tls_options {
  std::string certificate_file;  // the chain, the server's own certificate first
  std::string key_file;          // its password, if any:
  secret key_password;
  // Who signs clients' certificates. If given, clients are asked for one; one that is shown must be
  // good, and showing none is allowed unless it is required.
  std::string client_ca_file;
  bool require_client_certificate = false;
};

struct server_options {
  server_options() = default;

  // The folder where nodes and sessions are kept; made if it is missing. Everything a client has
  // been told is on disk there. Empty: kept in memory only, and gone when the server ends.
  std::filesystem::path data;

  // TCP: "127.0.0.1:2181", "[::1]:2181", "0.0.0.0:2181"; "2181" is 127.0.0.1:2181. Port 0 is a free
  // one. With neither these nor a socket: 127.0.0.1:0.
  std::vector<std::string> listen;
  std::vector<std::string> listen_tls;  // the same, with TLS
  std::optional<server_tls_options> tls;
  // A Unix socket, for this user and root only, or for a group as well. Its folder is made (for
  // the same ones only) if it is missing. Sessions on it are bound to processes: one lives as long
  // as some process holds its connection open, and ends at once when the last of them is gone.
  std::filesystem::path socket;
  std::string socket_group;  // by name

  // Session timeouts are held between these; without values, between 2 and 20 ticks.
  std::chrono::milliseconds tick{2000};
  std::optional<std::chrono::milliseconds> min_session_timeout;
  std::optional<std::chrono::milliseconds> max_session_timeout;
  // How often empty containers and TTL nodes past their time are looked for.
  std::chrono::milliseconds reap_interval{60'000};

  // A client must be authenticated by one of these schemes, "digest" or "ip", before its requests
  // are answered. Empty: no authentication is needed. A digest is any user name and password: what
  // that user may do is decided by ACLs. A client on the Unix socket has no "ip".
  std::vector<std::string> required_auth;
  bool digest_auth = true;  // false: nobody can authenticate by digest, and ACLs cannot name one
  bool ttl_nodes = true;    // false: to create one is refused (errc::unimplemented)
  // Who may do everything: "super:" and a hash, made by ZooKeeper's DigestAuthenticationProvider.
  std::string super_digest;
  // Four-letter words that are answered; "*" stands for all of them. Not among these: wchc and
  // wchp, which are dear when there are many watches, dirs, crst and srst.
  std::vector<std::string> words{"ruok", "srvr", "stat", "mntr", "conf",
                                 "cons", "dump", "envi", "isro", "wchs"};

  std::size_t max_connections = 16'000;
  // On TCP, so that one client cannot take them all; zero: no limit. Without a value, a quarter of
  // max_connections, but at least 60. 127.0.0.0/8 counts as one address, and so do the IPv6
  // addresses with the same upper half. The last eighth of max_connections is kept for the Unix
  // socket and for sessions that reconnect.
  std::optional<std::size_t> max_connections_per_address;
  std::size_t max_sessions = 100'000;
  std::size_t max_request_bytes = 0xfffff;
  std::chrono::milliseconds handshake_limit{10'000};  // to say who one is
  // A client that does not read its answers is dropped when this much waits for it; on TCP also
  // when it has taken nothing for so long.
  std::size_t max_unsent_bytes = 64u << 20;
  std::chrono::milliseconds stall_limit{30'000};

  // End by itself when there was neither a session nor a connection for so long. Zero: never.
  std::chrono::milliseconds idle_exit{0};

  log_callback log;  // silent without one
};

}  // namespace conclave
