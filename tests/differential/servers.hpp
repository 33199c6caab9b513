// The two servers, with the same settings and no data.
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
  bool on_disk = false;  // for the embedded server; Apache's server always stores on disk
  // The interval at which containers and TTL nodes are removed. The two servers have no common
  // clock, so removals are disabled in comparisons of single steps.
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
  // Returns whether the servers run, and the last lines of both logs.
  std::string logs();

 private:
  testing::zookeeper_server apache_;
  embedded_server embedded_;
};

}  // namespace conclave::differential
