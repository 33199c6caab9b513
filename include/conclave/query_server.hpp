// Sends a four-letter word (srvr, mntr, ruok, ...) to one server, without a session.
//
//   const auto got = conclave::query_server({"zk1"}, "srvr");
//   std::cout << (got.error ? got.reason : got.reply);
//
// This is meant for tools that check servers. The result also says how the server was reached or
// why it could not be reached. ZooKeeper answers only the words in its setting
// 4lw.commands.whitelist.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "conclave/client_options.hpp"
#include "conclave/connect_string.hpp"
#include "conclave/error.hpp"

namespace conclave {

// Durations too large to add to now() mean no deadline.
struct query_options {
  query_options() = default;

  std::chrono::milliseconds timeout{10'000};  // for the whole call
  // Limits the time from sending the word until the server has sent its reply and closed the
  // connection.
  std::chrono::milliseconds reply_timeout{2'000};
  // As in client_options: used for all servers except those on Unix sockets.
  std::optional<tls_options> tls;
};

struct tls_info {
  std::string protocol;  // "TLSv1.3"
  // From the server's certificate. Not set if the client refused the certificate.
  std::string subject;  // as in RFC 2253: "CN=zk1,O=Example"
  std::chrono::system_clock::time_point valid_until;
};

struct query_result {
  // Why no connection was established:
  // - an error of the system or of its resolver
  // - boost::asio::error::timed_out
  // - boost::asio::error::eof if the server closed the connection during the TLS handshake
  // - errc::tls_failed if the TLS handshake failed for any other reason
  error_code error;
  std::string reason;  // text of the error, with details if the TLS handshake failed

  std::string address;  // the numeric address, or the path of the socket; empty if not connected
  std::chrono::nanoseconds connect_time{0};  // including the name lookup, without the handshake
  // Set if the server answered with TLS, even if the client refused the server's certificate.
  std::optional<tls_info> tls;

  // All bytes that the server sent before it closed the connection or the timeout passed. At most
  // 1 MiB. Empty if the server did not reply.
  std::string reply;
};

// Blocks until the server has replied or a timeout has passed. A name lookup can take longer than
// the timeout, because the system's resolver cannot be interrupted. Throws conclave::error if a
// file in query_options::tls cannot be used.
query_result query_server(const endpoint& at, std::string_view word,
                          const query_options& options = {});

}  // namespace conclave
