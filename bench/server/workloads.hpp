// The workloads: rounds that run in a worker. They throw std::runtime_error or conclave::error when
// anything fails: a round with an error in it is no measurement.
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
// One client's lock, without disk.
inline constexpr const char* blocking_lock = "blocking-lock";
inline constexpr const char* blocking_lock_awaited = "blocking-lock-awaited";
inline constexpr const char* asynchronous_lock = "asynchronous-lock";
inline constexpr const char* redis_lock = "redis-lock";
}  // namespace workload

// One round.
struct round_task {
  std::string workload;  // one of the above
  std::string servers;   // a connect string; for Redis "HOST:PORT" or "unix:PATH"
  pid_t server{0};
  std::optional<int> cpu;  // the worker's core
  std::size_t sessions{1};
  std::chrono::milliseconds warm_up{0};
  std::chrono::milliseconds measured{0};
  std::string root;  // the parent of all nodes of the round; no other round uses it
};

// Runs a round in a worker. Repeats a disturbed round once and returns the less disturbed one: the
// choice depends on what other programs did, never on how fast the round was.
figures measure(const round_task& task);

// The worker's side.
void run_server_worker(std::span<const std::string> arguments);

// As long as the identity that a lock stores in its nodes.
inline constexpr const char* lock_token = "0c8e6a5e-6ad3-4a2f-9d11-6f1c2b7d9e40";

// Each session acquires and releases a lock of its own as often as it can: an ephemeral sequential
// node and the list of its parent's children in one write, then the delete. Each reply is awaited
// before the next request. The sessions share one context, and nothing blocks.
figures run_lock_cycles(const round_task& task);

// 256 creates in flight; each completion starts the next one.
figures run_pipelined_creates(const round_task& task);

// The server's memory with 10,000 nodes and so many sessions.
figures run_memory(const round_task& task);

// One thread acquires and releases a lock: a node, and its parent's data, in one write and with one
// wait. The delete is sent at once; the thread waits for its reply only if it is awaited.
enum class delete_mode { awaited, not_awaited };
figures run_blocking_lock(const round_task& task, delete_mode mode);

// The same with handlers on the context's thread; the delete is not awaited.
figures run_asynchronous_lock(const round_task& task);

// SET NX PX, then compare and delete by a script, as in the Redis documentation.
figures run_redis_lock(const round_task& task);

}  // namespace conclave::bench
