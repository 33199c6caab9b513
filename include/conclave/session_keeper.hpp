// A session_keeper keeps a client's session alive from another process, without the client's
// connection.
//
// On the Unix socket of the embedded server, a session lives while any process keeps one of its
// connections open (server_options.hpp). A session_keeper is such a connection, but the server
// accepts no requests on it. Therefore programs that must not use the session can inherit the
// keeper.
//
//   session_keeper keeper{"/run/conclave/socket", session_key::of(zk), 1s};
//   if (keeper.state() == session_keeper::result::attached) {
//     // let a child process inherit keeper.descriptor()
//   }
//
// The session then lives until the last process has closed the keeper, even if the client's own
// process is killed. A server restart closes the keeper's connection, and broken() then returns
// true. The restarted server keeps the session for the session timeout, and a new keeper must
// attach within this time. If the client's process reconnects and then exits, the time is shorter:
// a keeper must attach within one second after the restart. If the process exits later than that
// and no keeper is attached, the session ends at once.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace conclave {

class client;

// Identifies a session to its server. Anyone who has the key can use and close the session.
struct session_key {
  std::int64_t session = 0;  // 0 if there is no session
  std::array<char, 16> password{};
  std::chrono::milliseconds timeout{0};

  static session_key of(const client& c);
};

class session_keeper {
 public:
  enum class result {
    attached,
    session_expired,  // the server no longer knows the session
    refused,          // the server closed the connection: it is stopping or supports no keepers
    no_server,        // nobody listens on the socket, or the server did not reply in time
    no_descriptors,   // this process or the system has too many open files
  };

  session_keeper() = default;
  // Connects and attaches to the session. Blocks for at most `limit`.
  session_keeper(const std::string& socket, const session_key& key,
                 std::chrono::milliseconds limit) noexcept;
  session_keeper(session_keeper&& other) noexcept;
  session_keeper& operator=(session_keeper&& other) noexcept;
  ~session_keeper();

  result state() const noexcept { return state_; }
  // The connection's descriptor, or -1 if not attached. execve(2) closes it, unless the caller
  // clears FD_CLOEXEC.
  int descriptor() const noexcept { return descriptor_; }
  // Returns true if the connection does not keep the session alive: it is not attached, or the
  // server has closed it.
  bool broken() const noexcept;

  // Shuts the connection down, even for processes that inherited it. The session continues if
  // another connection keeps it alive.
  void end() noexcept;

  // Binds the session to this process. This does not create a keeper: the session moves to a new
  // connection, which stays open until this process exits. The session then ends when this process
  // has exited and no keeper is left. Call this function only if the session's own process has
  // exited, because a live client would lose its connection. Returns true if the server confirms,
  // or if the session has already ended. Returns false if the server does not confirm in time.
  static bool bind_session(const std::string& socket, const session_key& key,
                           std::chrono::milliseconds limit) noexcept;

 private:
  result state_ = result::no_server;
  int descriptor_ = -1;
};

}  // namespace conclave
