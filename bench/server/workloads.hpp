// One round of each workload, run in the worker. They throw std::runtime_error or conclave::error
// when anything fails: a round with an error in it is no measurement.
#pragma once

#include "assignment.hpp"
#include "harness/figures.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* resident_kib = "resident_kib";
}

// Each session takes and leaves a lock that nobody else wants, as often as it can: an ephemeral
// sequential node and the list of its parent's children in one write, then the delete, each
// answered before the next. The sessions share one context, and nothing blocks.
figures run_lock_cycles(const assignment& a);

// 256 creates under way, each completion starts the next one.
figures run_pipelined_creates(const assignment& a);

// 10,000 nodes and 1,000 sessions: what the server needs in memory for them.
figures run_crowd(const assignment& a);

// One client's thread takes and leaves a lock: a node, and its parent's data, in one write and with
// one wait. The delete is sent at once, and nobody waits for it (or, awaited, the thread does).
figures run_blocking_lock(const assignment& a, bool delete_awaited);

// The same by handlers on the context's thread.
figures run_asynchronous_lock(const assignment& a);

// SET NX PX, then compare and delete by a script, as the Redis documentation has it.
figures run_redis_lock(const assignment& a);

}  // namespace conclave::bench
