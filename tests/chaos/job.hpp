// The jobs of the workers, and the context that they share. A worker repeats its job until SIGTERM.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>

#include "chaos/fenced_store.hpp"
#include "chaos/history.hpp"
#include "chaos/paths.hpp"
#include "conclave/client.hpp"
#include "conclave/hold.hpp"

namespace conclave::chaos {

struct worker_context {
  client& zk;
  history& log;
  fenced_store_link& store;
  std::mt19937_64 random;
  std::stop_token stop;
  std::string name;       // of this process; prefix of its items
  bool careless = false;  // ignores held() and lost(), to test the checkers

  bool chance(double p) { return std::bernoulli_distribution{p}(random); }
  std::chrono::milliseconds between(int least, int most) {
    return std::chrono::milliseconds{std::uniform_int_distribution<int>{least, most}(random)};
  }
  // Returns after this time or when a stop is requested.
  void pause(std::chrono::milliseconds d) const;
};

// Errors that an outage causes. The job is repeated.
bool is_outage(const error_code& ec);

class job {
 public:
  job() = default;
  virtual ~job() = default;
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  virtual void once() = 0;
};

// "mutex", "shared", "semaphore", "election"; "push", "pop"; "push-claims", "claim". Throws
// std::invalid_argument.
std::unique_ptr<job> make_job(std::string_view kind, worker_context& s);
std::unique_ptr<job> make_lock_job(std::string_view kind, worker_context& s);
std::unique_ptr<job> make_queue_job(std::string_view kind, worker_context& s);

}  // namespace conclave::chaos
