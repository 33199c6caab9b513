// A ZooKeeper-compatible server inside the program, for one machine. Use it in tests, and in
// programs that need locks without a separate installation.
//
//   conclave::server server;                 // in memory, on a free port
//   conclave::client zk{server.connect_string()};
//
//   conclave::server_options options;        // durable, on a Unix socket
//   options.data = "/var/lib/app/conclave";
//   options.socket = "/run/app/conclave/socket";
//   conclave::server server{options};
//
// ZooKeeper's own clients, Curator and kazoo work with it unchanged. The server does not replicate
// its data. For several machines, run Apache ZooKeeper and connect to it instead.
//
// Link with conclave::server. The server runs on its own thread. The object may be used from any
// thread, but not from its own log callback. After fork(), the child process has no server, and the
// destructor does nothing there. While such a child process lives, the data folder stays locked,
// even after the parent process has exited.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conclave/server_options.hpp"

namespace conclave {

class server {
 public:
  // The server accepts connections when the constructor returns. Throws std::runtime_error with a
  // message that says what to do. Examples: the data folder is in use, damaged or written by a
  // newer version, or an address is in use. Throws conclave::error if an option is not valid or a
  // file in the options cannot be used.
  explicit server(server_options options = {});
  // Stops the server. If a server with the same data folder starts within the session timeout,
  // clients reconnect and keep their sessions.
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // Returns a connect string for clients: the first of addresses().
  std::string connect_string() const;
  // Returns all addresses: first TCP, then TLS, then the Unix socket.
  const std::vector<std::string>& addresses() const noexcept;

  // Uses these certificates for new connections, for example after a renewal. Open connections keep
  // the old ones. Throws conclave::error and changes nothing if the files are not valid, or if the
  // server was started without TLS.
  void set_tls(const server_tls_options& options);

  // Begins the shutdown and returns immediately. May be called again.
  void stop() noexcept;
  // Waits until stop() or idle_exit has stopped the server. If a disk error has stopped it, throws
  // that error.
  void wait();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace conclave
