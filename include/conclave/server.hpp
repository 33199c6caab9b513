// A ZooKeeper-compatible server in this process, for one machine: for tests, and for programs that
// want locks without anything to install.
//
//   conclave::server server;                              // in memory, on a free port
//   conclave::client zk{server.connect_string()};
//
//   conclave::server_options options;                     // durable, on a Unix socket
//   options.data = "/var/lib/app/conclave";
//   options.socket = "/run/app/conclave/socket";
//   conclave::server server{options};
//
// ZooKeeper's own clients, Curator and kazoo work with it unchanged. It does not replicate: across
// machines, run Apache ZooKeeper and connect to that.
//
// Link with conclave::server. The server has a thread of its own; the object may be used from any
// thread, but not in a handler of that server's log. After fork() the child has no server: there
// the destructor does nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conclave/server_options.hpp"

namespace conclave {

class server {
 public:
  // Serves when it returns. Throws std::runtime_error that says what is wrong and what to do: the
  // folder is in use, damaged or of a newer version; an address is taken; a certificate is bad.
  explicit server(server_options options = {});
  // Stops it. Clients find their sessions again if one with the same folder is started in time.
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // Where it listens, as a client writes it: the first of addresses().
  std::string connect_string() const;
  // TCP first, then TLS, then the Unix socket.
  const std::vector<std::string>& addresses() const noexcept;

  // Certificates for connections from now on, when they were renewed; those that are open keep
  // theirs. Throws conclave::error and changes nothing if the files cannot be used, or if the
  // server was started without TLS.
  void set_tls(const server_tls_options& options);

  // Ends it; returns before it has ended, and may be called again.
  void stop() noexcept;
  // Until it has ended: by stop(), by idle_exit, or because the disk failed, which is thrown.
  void wait();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace conclave
