// Keeps a client's session alive from other processes, without its connection.
//
// On the Unix socket of our own server a session lives as long as a process holds one of its
// connections open (server.hpp). A session_keeper is such a connection, on which the server accepts
// no requests: it can be passed on to programs that are not trusted with the session itself.
//
//   session_keeper keeper{"/run/conclave/socket", session_key::of(zk), 1s};
//   if (keeper.state() == session_keeper::result::attached) ... a child inherits
//   keeper.descriptor()
//
// The session then lives until the last process has closed the keeper, even if this one is killed.
// A restarted server does not know the connection any more: broken() is true, and another keeper
// must be attached within the session timeout.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace conclave {

class client;

// What identifies a session to its server. Whoever has it can use and close the session.
struct session_key {
  std::int64_t session = 0;  // 0: there is none
  std::array<char, 16> password{};
  std::chrono::milliseconds timeout{0};

  static session_key of(const client& c);
};

class session_keeper {
 public:
  enum class result {
    attached,
    session_over,  // the server does not know the session
    refused,       // the server closed the connection: it just ended, or knows no keepers
    no_server,
  };

  session_keeper() = default;
  // Blocks for at most `limit`. Never throws.
  session_keeper(const std::string& socket, const session_key& key,
                 std::chrono::milliseconds limit) noexcept;
  session_keeper(session_keeper&& other) noexcept;
  session_keeper& operator=(session_keeper&& other) noexcept;
  ~session_keeper();

  result state() const noexcept { return state_; }
  // Closed by execve(2) unless that is changed; -1 if not attached.
  int descriptor() const noexcept { return descriptor_; }
  // The server has closed it: it keeps nothing any more.
  bool broken() const noexcept;

  // Gives up this connection for every process that has inherited it. The session lives on if
  // something else keeps it.
  void end() noexcept;

  // Makes the session this process's own, so that it ends with this process and the last other
  // keeper. For a session whose own process has ended: a live client would lose its connection.
  // False if the server did not confirm it in time. The connection stays open until the process
  // ends.
  static bool bind_session(const std::string& socket, const session_key& key,
                           std::chrono::milliseconds limit) noexcept;

 private:
  result state_ = result::no_server;
  int descriptor_ = -1;
};

}  // namespace conclave
