// The workloads: rounds that run in a worker. They throw std::runtime_error or conclave::error if
// an operation fails, because a round with an error cannot be used.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "driver/results.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* resident_kib = "resident_kib";
}

namespace workload {
inline constexpr const char* lock_cycles = "lock-cycles";
inline constexpr const char* pipelined_creates = "pipelined-creates";
inline constexpr const char* memory = "memory";
// The lock of one client, with servers that do not write to disk.
inline constexpr const char* blocking_lock = "blocking-lock";
inline constexpr const char* blocking_lock_awaited = "blocking-lock-awaited";
inline constexpr const char* asynchronous_lock = "asynchronous-lock";
inline constexpr const char* redis_lock = "redis-lock";
}  // namespace workload

// One round.
struct round_task {
  std::string workload;  // one of the names above
  std::string servers;   // a connect string; for Redis "HOST:PORT" or "unix:PATH"
  pid_t server{0};
  std::optional<int> cpu;  // the worker's core
  std::size_t sessions{1};
  std::chrono::milliseconds warm_up{0};
  std::chrono::milliseconds measured{0};
  std::string root;  // the parent of all nodes of the round; no other round uses it
};

// Runs a round in a worker. Repeats a disturbed round once and returns the less disturbed one. The
// choice depends only on the CPU time of other programs, never on the speed of the round.
figures measure(const round_task& task);

// Runs in the worker.
void run_server_worker(std::span<const std::string> arguments);

// Has the same length as the id that a lock stores in its nodes.
inline constexpr const char* lock_token = "0c8e6a5e-6ad3-4a2f-9d11-6f1c2b7d9e40";

// Each session repeatedly acquires and releases its own lock. It sends the create of an ephemeral
// sequential node and a request for the list of children in one write, and then the delete. It
// waits for each reply before the next request. The sessions share one context and never block.
figures run_lock_cycles(const round_task& task);

// Keeps 256 creates in flight. Each completion starts the next one.
figures run_pipelined_creates(const round_task& task);

// Measures the memory of the server with 10,000 nodes and the given number of sessions.
figures run_memory(const round_task& task);

// One thread acquires and releases a lock. It sends the create and a read of the parent's data in
// one write and waits once. It sends the delete immediately, and waits for its reply only if
// requested.
enum class delete_mode { awaited, not_awaited };
figures run_blocking_lock(const round_task& task, delete_mode mode);

// The same with handlers on the context's thread. Does not wait for the delete.
figures run_asynchronous_lock(const round_task& task);

// SET NX PX, then a compare-and-delete script, as in the Redis documentation.
figures run_redis_lock(const round_task& task);

}  // namespace conclave::bench
