// Histories: what users do and what befalls them, all from a seed.
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

// What happened, over many histories: one in which nothing happens shows nothing.
using tally = std::map<std::string, std::uint64_t, std::less<>>;

struct history_options {
  std::uint64_t seed = 1;
  // Calls fail that have no connection for a moment. Not drawn by lot, which would change what the
  // other seeds stand for.
  bool impatient() const noexcept { return seed % 8 == 0; }
  bool sqlite = false;  // the real store below the server
  std::function<void(instant, const std::string&)> trace = {};
};

// Runs one, and says what went wrong, one line for each.
using history = std::vector<std::string> (*)(const history_options&, tally&);

struct workload {
  std::string_view name;
  history run;
  // Of the tally: what has to happen, if enough of them are run.
  std::vector<std::string_view> expected;
};
const std::vector<workload>& workloads();

// For whoever draws lots.
class lots {
 public:
  explicit lots(std::uint64_t seed) : random_{seed} {}
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

// Fast and slow networks, short and long sessions, clocks that drift, several names for the server.
world_options any_world(lots& l, const history_options& o);

}  // namespace conclave::simulated
