// Injects faults into servers, one at a time, in its own thread: kill -9 with a restart, and
// SIGSTOP, of leaders and followers. The next fault comes when all servers serve again.
#pragma once

#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "chaos/fault_log.hpp"
#include "chaos/servers.hpp"
#include "chaos/worker_pool.hpp"

namespace conclave::chaos {

class server_faults {
 public:
  // Uses the servers until finish() returns. Uses only connected_to() of the workers.
  server_faults(servers& s, const worker_pool& f, fault_log& log, std::uint64_t seed,
                nanoseconds session);
  // Heals the fault and returns when all servers serve. Throws if they do not.
  void finish();

 private:
  void run(const std::stop_token& stop);
  void inject_one(const std::stop_token& stop);
  std::size_t choose(bool leader);
  void pause(const std::stop_token& stop, nanoseconds length);
  nanoseconds between(nanoseconds least, nanoseconds most) {
    return std::uniform_int_distribution<nanoseconds>{least, most}(random_);
  }

  servers& servers_;
  const worker_pool& workers_;
  fault_log& log_;
  std::mt19937_64 random_;
  nanoseconds session_;
  int done_ = 0;
  std::string failure_;
  std::jthread thread_;
};

}  // namespace conclave::chaos
