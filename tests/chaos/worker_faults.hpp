// Injects faults into workers and their connections: kill -9, SIGSTOP, and connections that are
// closed, reset, silent or slow, or that lose one chosen message. Several faults are active at a
// time, but at most one for each worker's process and one for its connections. Most hit a holder.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "chaos/fault_log.hpp"
#include "chaos/worker_pool.hpp"

namespace conclave::chaos {

class worker_faults {
 public:
  worker_faults(worker_pool& f, fault_log& log, std::uint64_t seed);

  // Heals and starts faults that are due. Call every few milliseconds.
  void step();
  void heal_all();

 private:
  enum class part { process, links };
  enum class aim {
    anybody,        // triggered by a frame
    holder,         // mostly
    fenced_holder,  // mostly; leads to a stale write
  };
  struct active_fault {
    std::size_t slot = 0;
    part of = part::links;
    nanoseconds until = 0;
    std::size_t logged = 0;  // the index in the log
    std::function<void()> heal;
    // For a fault that waits for a frame: whether it has happened, and its name.
    std::function<bool()> happened;
    std::string kind;
  };
  struct kind {
    std::string name;
    double weight = 1;
    part of = part::links;
    aim at = aim::holder;
    void (worker_faults::*begin)(const std::string& name, std::size_t slot) = nullptr;
  };

  void begin_one();
  const kind& next_kind();
  std::optional<std::size_t> choose(const kind& k, bool must_hold);
  bool has_fault(std::size_t slot, part p) const;

  void kill(const std::string& name, std::size_t slot);
  void stop_briefly(const std::string& name, std::size_t slot);
  void stop_long(const std::string& name, std::size_t slot);
  void disconnect(const std::string& name, std::size_t slot);
  void drop(const std::string& name, std::size_t slot);
  void blackhole(const std::string& name, std::size_t slot);
  void delay(const std::string& name, std::size_t slot);
  void lose_reply(const std::string& name, std::size_t slot);
  void lose_request(const std::string& name, std::size_t slot);
  void disconnect_after_requests(const std::string& name, std::size_t slot);
  void disconnect_after_replies(const std::string& name, std::size_t slot);

  void stop(const std::string& name, std::size_t slot, nanoseconds length);
  void add(const std::string& name, std::size_t slot, part of, nanoseconds at, nanoseconds length,
           std::function<void()> heal);
  void arm(const std::string& name, std::size_t slot,
           const std::function<void(testing::link_proxy&)>& set);
  // The opcode of a random write that this worker has sent before.
  std::int32_t some_write(std::size_t slot);
  // All proxies of a worker, or only those in use.
  std::vector<testing::link_proxy*> some_links(std::size_t slot);

  nanoseconds between(nanoseconds least, nanoseconds most) {
    return std::uniform_int_distribution<nanoseconds>{least, most}(random_);
  }
  bool chance(double p) { return std::bernoulli_distribution{p}(random_); }
  nanoseconds session(std::size_t slot) const;

  static const std::vector<kind> kinds;

  worker_pool& workers_;
  fault_log& log_;
  std::mt19937_64 random_;
  std::vector<active_fault> active_faults_;
  std::vector<const kind*> opening_;  // each kind once, on a holder, before random ones
  nanoseconds next_ = 0;
  nanoseconds waits_since_ = 0;  // since when it waits for a holder
};

}  // namespace conclave::chaos
