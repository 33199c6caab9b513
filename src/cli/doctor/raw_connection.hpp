// A connection to a server below the protocol of sessions: to see whether and how it can be
// reached, and to ask it four-letter words.
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

// Why it did not work, and what to do about it.
struct trouble {
  std::string what, advice;
};

struct socket_address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  std::string text;  // without the port
};

// Of a host with a name, or of a Unix socket. Takes as long as the system's resolver does.
std::vector<socket_address> resolve(const endpoint& host, trouble& why_none);

struct tls_facts {
  std::string protocol, subject;
  std::chrono::system_clock::time_point good_until;
};

class raw_connection {
 public:
  // None, with the reason, if there is no connection in time.
  static std::optional<raw_connection> to(const socket_address& at, deadline until, trouble& why);
  raw_connection(raw_connection&& other) noexcept;
  raw_connection& operator=(raw_connection&&) = delete;
  ~raw_connection();

  std::optional<tls_facts> start_tls(const tls_options& options, const std::string& host,
                                     deadline until, trouble& why);

  // Whether the other side answers in TLS, whoever it is. The connection is of no more use then.
  bool speaks_tls(deadline until);

  // The answer to a four-letter word, after which the server closes the connection; empty if it
  // does not answer.
  std::string ask(const std::string& word, deadline until);

 private:
  explicit raw_connection(int fd) : fd_{fd} {}
  void limit(deadline until) const;

  struct ssl_end {
    void operator()(ssl_st* s) const noexcept;
  };
  int fd_;
  std::unique_ptr<ssl_st, ssl_end> tls_;
};

}  // namespace conclave::cli
