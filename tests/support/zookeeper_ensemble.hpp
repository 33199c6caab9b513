// Several real ZooKeeper servers on loopback that form one ensemble; see zookeeper_server.hpp.
//
// The constructor returns when every member follows one leader, and throws std::runtime_error with
// the tail of a log otherwise. For one thread at a time, connect_string() excepted.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zookeeper_server.hpp"

namespace conclave::testing {

class zookeeper_ensemble {
 public:
  explicit zookeeper_ensemble(const zookeeper_options& options = zookeeper_options(),
                              std::size_t size = 3);

  std::size_t size() const noexcept { return members_.size(); }
  zookeeper_server& server(std::size_t index) { return *members_.at(index); }
  std::string connect_string() const;         // all members, "127.0.0.1:A,127.0.0.1:B,127.0.0.1:C"
  std::string secure_connect_string() const;  // with TLS

  // Who leads at this moment, if anyone; a paused member is not asked for long.
  std::optional<std::size_t> leader() const;

  void kill(std::size_t index) { server(index).kill(); }
  void start_again(std::size_t index);  // only starts it; see wait_for_quorum()

  // Returns the leader once all members that run (a majority at least) serve under one leader.
  // Do not call while a member is paused.
  std::size_t wait_for_quorum(std::chrono::milliseconds timeout = std::chrono::seconds(60));

 private:
  void draw_ports_and_launch(const zookeeper_options& options, std::size_t size);
  bool any_port_taken() const;

  std::vector<std::unique_ptr<zookeeper_server>> members_;
};

}  // namespace conclave::testing
