// Faults of servers, one at a time, in a thread of its own: kill -9 and a restart, SIGSTOP and
// SIGCONT, of leaders and of followers. The next one comes when all of them serve again.
#pragma once

#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "chaos/fault_log.hpp"
#include "chaos/fleet.hpp"
#include "chaos/servers.hpp"

namespace conclave::chaos {

class server_faults {
 public:
  // Uses the servers until finish() has returned; of the fleet only reached().
  server_faults(servers& s, const fleet& f, fault_log& log, std::uint64_t seed,
                nanoseconds session);
  // Heals, and returns when all servers serve; throws if they do not.
  void finish();

 private:
  void run(const std::stop_token& stop);
  void harm_one(const std::stop_token& stop);
  std::size_t choose(bool leader);
  void pause(const std::stop_token& stop, nanoseconds length);
  nanoseconds between(nanoseconds least, nanoseconds most) {
    return std::uniform_int_distribution<nanoseconds>{least, most}(random_);
  }

  servers& servers_;
  const fleet& fleet_;
  fault_log& log_;
  std::mt19937_64 random_;
  nanoseconds session_;
  int done_ = 0;
  std::string failure_;
  std::jthread thread_;
};

}  // namespace conclave::chaos
