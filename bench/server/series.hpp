// The results of one workload.
#pragma once

#include <string>
#include <vector>

#include "harness/turns.hpp"

namespace conclave::bench {

inline constexpr const char* ours = "conclave";
inline constexpr const char* apache = "apache";
inline constexpr const char* redis = "redis";
// Variants of the comparison with Redis.
inline constexpr const char* ours_awaited = "conclave, delete awaited";
inline constexpr const char* ours_asynchronous = "conclave, asynchronous";
inline constexpr const char* ours_socket = "conclave, Unix socket";
inline constexpr const char* redis_socket = "redis, Unix socket";

namespace series_name {
inline constexpr const char* cycles_64 = "lock-cycles-64-sessions";
inline constexpr const char* cycles_8 = "lock-cycles-8-sessions";
inline constexpr const char* cycles_1 = "lock-cycles-1-session";
inline constexpr const char* creates = "pipelined-creates";
inline constexpr const char* start = "start-to-first-session";
inline constexpr const char* memory = "memory";
inline constexpr const char* redis = "redis-lock-cycles";
}  // namespace series_name

struct series {
  std::string name;
  std::string title;
  std::vector<std::string> contenders;  // in the order to show them; ours is the first
  outcome result;
};

}  // namespace conclave::bench
