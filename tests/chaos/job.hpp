// What a worker does, again and again until it is told to stop, and what all jobs have in common.
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

struct surroundings {
  client& zk;
  history& story;
  fenced_store_link& store;
  std::mt19937_64 random;
  std::stop_token stop;
  std::string name;       // of this process; part of its items' names
  bool careless = false;  // broken on purpose: it looks neither at held() nor at lost()

  bool chance(double p) { return std::bernoulli_distribution{p}(random); }
  std::chrono::milliseconds between(int least, int most) {
    return std::chrono::milliseconds{std::uniform_int_distribution<int>{least, most}(random)};
  }
  // Some time, or until the stop.
  void pause(std::chrono::milliseconds d) const;
};

// What comes of an outage, and is no fault of anybody: tried again.
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
std::unique_ptr<job> make_job(std::string_view kind, surroundings& s);
std::unique_ptr<job> make_lock_job(std::string_view kind, surroundings& s);
std::unique_ptr<job> make_queue_job(std::string_view kind, surroundings& s);

}  // namespace conclave::chaos
