// Faults of workers and of their links: kill -9, SIGSTOP, links that are cut, reset, silent, slow,
// or lose one message at a place of the protocol. Several at a time, of each worker at most one of
// its process and one of its links; mostly of workers that hold something.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "chaos/fault_log.hpp"
#include "chaos/fleet.hpp"

namespace conclave::chaos {

class worker_faults {
 public:
  worker_faults(fleet& f, fault_log& log, std::uint64_t seed);

  // Heals what is due, and begins what is due. To be called every few milliseconds.
  void step();
  void heal_all();

 private:
  enum class part { process, links };
  enum class aim {
    anybody,        // what it hits is a moment of the protocol
    holder,         // mostly
    fenced_holder,  // mostly; it leads to a stale write
  };
  struct harm {
    std::size_t slot = 0;
    part of = part::links;
    nanoseconds until = 0;
    std::size_t logged = 0;  // its place in the log
    std::function<void()> heal;
    // Of one that waits for its place in the protocol: whether it has come. What it is called.
    std::function<bool()> happened;
    std::string kind;
  };
  // What one kind does to a worker.
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
  bool harmed(std::size_t slot, part p) const;

  void kill(const std::string& name, std::size_t slot);
  void stop_shortly(const std::string& name, std::size_t slot);
  void stop_long(const std::string& name, std::size_t slot);
  void cut(const std::string& name, std::size_t slot);
  void drop(const std::string& name, std::size_t slot);
  void blackhole(const std::string& name, std::size_t slot);
  void delay(const std::string& name, std::size_t slot);
  void lose_reply(const std::string& name, std::size_t slot);
  void lose_request(const std::string& name, std::size_t slot);
  void cut_after_requests(const std::string& name, std::size_t slot);
  void cut_after_replies(const std::string& name, std::size_t slot);

  void stop(const std::string& name, std::size_t slot, nanoseconds length);
  void add(const std::string& name, std::size_t slot, part of, nanoseconds at, nanoseconds length,
           std::function<void()> heal);
  void arm(const std::string& name, std::size_t slot,
           const std::function<void(testing::link_proxy&)>& set);
  // One of the writes that this worker makes.
  std::int32_t some_write(std::size_t slot);
  // All links of a worker, or only that in use.
  std::vector<testing::link_proxy*> some_links(std::size_t slot);

  nanoseconds between(nanoseconds least, nanoseconds most) {
    return std::uniform_int_distribution<nanoseconds>{least, most}(random_);
  }
  bool chance(double p) { return std::bernoulli_distribution{p}(random_); }
  nanoseconds session(std::size_t slot) const;

  static const std::vector<kind> kinds;

  fleet& fleet_;
  fault_log& log_;
  std::mt19937_64 random_;
  std::vector<harm> harms_;
  std::vector<const kind*> opening_;  // each once, and on a holder, before chance decides
  nanoseconds next_ = 0;
  nanoseconds waits_since_ = 0;  // for a holder
};

}  // namespace conclave::chaos
