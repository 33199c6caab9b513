// The servers of a run: an ensemble of three Apache ZooKeeper servers, or one `conclave serve`.
// A server can be killed, restarted with the same data and port, and stopped with SIGSTOP.
//
// For one thread at a time; ports() and connect_string() never change.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chaos/expiry.hpp"
#include "chaos/options.hpp"
#include "support/zookeeper_ensemble.hpp"

namespace conclave::chaos {

class servers {
 public:
  explicit servers(const options& o);

  std::size_t count() const { return ports_.size(); }
  const std::vector<std::uint16_t>& ports() const { return ports_; }
  std::string connect_string() const;
  std::string version() const;

  void kill(std::size_t i) { member(i).kill(); }
  void start_again(std::size_t i);
  void pause(std::size_t i) { member(i).pause(); }
  void resume(std::size_t i) { member(i).resume(); }
  std::optional<std::size_t> leader() const;
  // Returns when all members serve. Throws std::runtime_error if they do not.
  void wait_until_all_serve();

  // From the members' logs.
  std::vector<expiry> expiries();
  void keep_logs(const std::filesystem::path& folder);

 private:
  testing::zookeeper_server& member(std::size_t i) {
    return single_ ? *single_ : ensemble_->server(i);
  }

  std::unique_ptr<testing::zookeeper_server> single_;
  std::unique_ptr<testing::zookeeper_ensemble> ensemble_;
  std::vector<std::uint16_t> ports_;
};

}  // namespace conclave::chaos
