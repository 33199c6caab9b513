// What a worker, a process that runs one round, is to do.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace conclave::bench {

namespace work {
inline constexpr const char* lock_cycles = "lock-cycles";
inline constexpr const char* pipelined_creates = "pipelined-creates";
inline constexpr const char* crowd = "crowd";
// One client's lock, without disk.
inline constexpr const char* blocking_lock = "blocking-lock";
inline constexpr const char* blocking_lock_awaited = "blocking-lock-awaited";
inline constexpr const char* asynchronous_lock = "asynchronous-lock";
inline constexpr const char* redis_lock = "redis-lock";
}  // namespace work

struct assignment {
  std::string kind;     // one of the above
  std::string servers;  // a connect string; for Redis "HOST:PORT" or "unix:PATH"
  pid_t server{0};
  std::optional<int> cpu;  // run on this core only
  std::size_t sessions{1};
  std::chrono::milliseconds warm_up{0};
  std::chrono::milliseconds measured{0};
  std::string root;  // a node to make everything below of, in no other round's use
};

inline constexpr const char* worker_option = "--worker";

// No single wait of a worker takes longer than this.
inline constexpr std::chrono::seconds time_limit{60};

// The command line after the program's name, and back.
std::vector<std::string> to_arguments(const assignment& a);
assignment from_arguments(std::span<const std::string> arguments);

}  // namespace conclave::bench
