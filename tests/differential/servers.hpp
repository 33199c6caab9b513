// The two servers under comparison, with the same settings, and nothing in them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"
#include "support/zookeeper_server.hpp"

namespace conclave::differential {

struct server_settings {
  bool on_disk = false;  // of ours; Apache's is always
  // How often containers and TTL nodes are removed. By a clock that the two servers do not share:
  // never, if their steps are to be compared.
  std::chrono::milliseconds reap_interval = std::chrono::hours{24};
};

// `conclave serve` in a folder of its own.
class embedded_server {
 public:
  explicit embedded_server(const server_settings& settings);

  std::uint16_t port() const noexcept { return port_; }
  void kill_and_start_again();
  bool running() { return process_->running(); }
  std::string log() const;

 private:
  void start();

  testing::temporary_directory folder_;
  server_settings settings_;
  std::uint16_t port_ = 0;
  std::unique_ptr<testing::child_process> process_;
};

class servers {
 public:
  explicit servers(const server_settings& settings);

  std::uint16_t apache_port() const noexcept { return apache_.port(); }
  std::uint16_t embedded_port() const noexcept { return embedded_.port(); }
  void restart();
  bool running() { return apache_.running() && embedded_.running(); }
  // Whether they still run, and the last lines of both.
  std::string logs();

 private:
  testing::zookeeper_server apache_;
  embedded_server embedded_;
};

}  // namespace conclave::differential
