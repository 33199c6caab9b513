// The variants. A variant is a library and a way to use its lock.
#pragma once

#include <cstddef>
#include <string>

#include "driver/recipe_benchmark.hpp"
#include "lock_load.hpp"

namespace conclave::bench {

struct lock_variant {
  std::string name;
  bench::library library;
  const char* mode;                  // see lock_load.hpp; the other libraries have only one mode
  std::size_t most_waiters;          // the variant does not run with more
  bool needs_session_per_contender;  // two contenders cannot share a session
  bool has_wait_queue;               // its contenders are the children of the lock's node
};

// A program can have a thousand threads for its waiters. A thousand sessions of ZooKeeper's Java
// client would need three thousand threads.
inline constexpr std::size_t most_waiters_with_threads = 1'000;
inline constexpr std::size_t most_waiters_with_sessions = 100;

namespace variant {
inline const lock_variant conclave{"conclave", library::conclave, mode::blocking, 0, false, true};
inline const lock_variant keeping{
    "conclave, keep_for", library::conclave, mode::keeping, 0, false, true};
inline const lock_variant asynchronous{
    "conclave, async", library::conclave, mode::asynchronous, 10'000, false, true};
inline const lock_variant without_tickets{
    "conclave, no tickets", library::conclave, mode::without_tickets, 10'000, false, true};
inline const lock_variant named{
    "conclave, named", library::conclave, mode::named, 10'000, false, false};
inline const lock_variant naive{
    "naive: all watch all", library::conclave, mode::naive, 1'000, false, true};
inline const lock_variant curator{
    "curator", library::curator, "-", most_waiters_with_threads, false, true};
inline const lock_variant kazoo{"kazoo", library::kazoo, "-", most_waiters_with_threads, false,
                                true};
inline const lock_variant write_lock{
    "zk WriteLock", library::zookeeper, "-", most_waiters_with_sessions, true, true};
}  // namespace variant

// Variants of the kept series that are not locks on a ZooKeeper server.
namespace other_lock {
inline const std::string redis = "redis";
inline const std::string std_mutex = "std::mutex";
}  // namespace other_lock

// The names of the series.
inline constexpr std::size_t client_counts[] = {2, 8, 32};
inline constexpr std::size_t waiter_counts[] = {10, 100, 1'000, 10'000};

namespace series_name {
inline const std::string cycles = "cycles";
inline const std::string kept = "kept";
inline const std::string recall = "kept-recall";
inline const std::string ensemble_prefix = "ensemble-";
inline const std::string waiters_prefix = "waiters-";
inline const std::string traffic_suffix = "-traffic";  // of the rounds through the counting proxy

inline std::string hand_offs(std::size_t clients) { return "hand-offs-" + std::to_string(clients); }
inline std::string kept_by(std::size_t threads) { return kept + '-' + std::to_string(threads); }
inline std::string waiters(std::size_t count) { return waiters_prefix + std::to_string(count); }
inline std::string on_ensemble(const std::string& name) { return ensemble_prefix + name; }
inline std::string traffic_of(const std::string& name) { return name + traffic_suffix; }
}  // namespace series_name

}  // namespace conclave::bench
