// A client that is connected, or the program ends with a message that says what to do.
#pragma once

#include <memory>
#include <string>

#include "cli/connect/connect_flags.hpp"
#include "conclave/client.hpp"

namespace conclave::cli {

class connection {
 public:
  // Throws failure with unavailable if there is no server in time, and for what cannot be read.
  explicit connection(server_address at);
  explicit connection(const connect_flags& flags) : connection{find_server(flags)} {}
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  client& zk() noexcept { return *client_; }
  const server_address& at() const noexcept { return at_; }

 private:
  class reviver;
  void wait_until_connected();

  server_address at_;
  // Starts this user's own server again whenever it has died under us.
  std::unique_ptr<reviver> reviver_;
  std::unique_ptr<client> client_;
};

}  // namespace conclave::cli
