// A connection without a session. It shows whether and how a server can be reached, and it can send
// four-letter words.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conclave/client_options.hpp"
#include "conclave/connect_string.hpp"

struct ssl_st;

namespace conclave::cli {

using deadline = std::chrono::steady_clock::time_point;

// What failed, and what to do about it.
struct connect_problem {
  std::string what, advice;
};

struct socket_address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  std::string text;  // without the port
};

// Returns the addresses of a host name or a Unix socket. Blocks as long as the system's resolver
// blocks.
std::vector<socket_address> resolve(const endpoint& host, connect_problem& problem);

struct tls_facts {
  std::string protocol, subject;
  std::chrono::system_clock::time_point valid_until;
};

class raw_connection {
 public:
  // If it cannot connect before the deadline, returns nullopt and sets `why`.
  static std::optional<raw_connection> to(const socket_address& at, deadline until,
                                          connect_problem& why);
  raw_connection(raw_connection&& other) noexcept;
  raw_connection& operator=(raw_connection&&) = delete;
  ~raw_connection();

  std::optional<tls_facts> start_tls(const tls_options& options, const std::string& host,
                                     deadline until, connect_problem& why);

  // Returns whether the server answers with TLS. Does not verify its certificate. The connection
  // cannot be used afterwards.
  bool speaks_tls(deadline until);

  // Returns the reply to a four-letter word, or an empty string. The server then closes the
  // connection.
  std::string query(const std::string& word, deadline until);

 private:
  explicit raw_connection(int fd) : fd_{fd} {}
  void set_timeout(deadline until) const;

  struct ssl_end {
    void operator()(ssl_st* s) const noexcept;
  };
  int fd_;
  std::unique_ptr<ssl_st, ssl_end> tls_;
};

}  // namespace conclave::cli
