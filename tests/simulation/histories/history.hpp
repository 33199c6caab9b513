// Histories: the actions of users and the faults. A seed determines both.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/world/world.hpp"

namespace conclave::simulated {

// Counts what happened in many histories. A history without events tests nothing.
using tally = std::map<std::string, std::uint64_t, std::less<>>;

struct history_options {
  std::uint64_t seed = 1;
  // Calls fail if there is no connection for a short time. Derived from the seed, because another
  // random draw would change the histories of all seeds.
  bool impatient() const noexcept { return seed % 8 == 0; }
  bool sqlite = false;  // the server uses the real store
  std::function<void(instant, const std::string&)> trace = {};
};

// Runs one history. Returns the violations, one line each.
using history = std::vector<std::string> (*)(const history_options&, tally&);

struct workload {
  std::string_view name;
  history run;
  // The entries of the tally that must not be 0 after enough histories.
  std::vector<std::string_view> expected;
};
const std::vector<workload>& workloads();

// Random choices that depend only on the seed.
class random_choices {
 public:
  explicit random_choices(std::uint64_t seed) : random_{seed} {}
  std::uint64_t number() { return random_(); }
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  bool chance(std::uint64_t one_in) { return draw(one_in) == 0; }
  instant within(instant most) {
    return instant{static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(most.count())))};
  }
  template <class T>
  void shuffle(T& all) {
    std::shuffle(all.begin(), all.end(), random_);
  }

 private:
  std::mt19937_64 random_;
};

// Random options: network delays, session timeouts, clock drift, number of server addresses.
world_options any_world(random_choices& l, const history_options& o);

}  // namespace conclave::simulated
