// Contenders of this library in one worker, which repeatedly acquire and release one lock.
//
// Until start(), the first holder keeps the lock, so that a wait queue forms. After that, each
// contender releases the lock immediately and acquires it again.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include <conclave/client.hpp>

#include "driver/recipe_worker.hpp"

namespace conclave::bench {

namespace mode {
inline constexpr const char* blocking = "blocking";          // a thread for each contender
inline constexpr const char* keeping = "keeping";            // the same with keep_for
inline constexpr const char* asynchronous = "asynchronous";  // no threads, as in the modes below
inline constexpr const char* without_tickets = "without-tickets";
inline constexpr const char* named = "named";
inline constexpr const char* naive = "naive";
}  // namespace mode

// The arguments of `prepare`: MODE SERVERS PATH SESSIONS CONTENDERS FIRST.
struct load_plan {
  std::string mode;
  std::string servers;
  std::string path;
  std::size_t sessions{1};
  std::size_t contenders{1};       // distributed among the sessions
  std::size_t first_contender{0};  // the number of the first contender among those of all workers
};

// Returns a connected load whose contenders have all called lock(). The argument of stop() is the
// file for the cycles (see history.hpp).
std::unique_ptr<recipe_load> make_lock_load(std::istream& arguments);
std::unique_ptr<recipe_load> make_blocking_load(const load_plan& plan);
std::unique_ptr<recipe_load> make_asynchronous_load(const load_plan& plan);

// A thousand waiters may send requests at the same moment.
inline client_options options_for_many_waiters() {
  client_options options;
  options.max_outstanding = 1u << 18;
  return options;
}

}  // namespace conclave::bench
