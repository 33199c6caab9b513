// The figures of one step, and the meter that takes them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "driver/pipeline.hpp"
#include "driver/results.hpp"
#include "driver/stopwatch.hpp"
#include "workloads.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* seconds = "seconds";                        // wall time
inline constexpr const char* cpu_seconds = "cpu_seconds";                // client and server
inline constexpr const char* client_cpu_seconds = "client_cpu_seconds";  // the process
inline constexpr const char* server_cpu_seconds = "server_cpu_seconds";
inline constexpr const char* bytes = "bytes";            // on the wire, both directions
inline constexpr const char* frames = "frames";          // requests, replies and watch events
inline constexpr const char* client_kib = "client_kib";  // resident memory
inline constexpr const char* server_kib = "server_kib";

// Of some workloads only.
inline constexpr const char* bytes_of_held_lock = "bytes_of_held_lock";  // memory in the client
inline constexpr const char* cpu_ms_per_hold = "cpu_ms_per_hold";        // client
inline constexpr const char* error_characters = "error_characters";      // of a message
inline constexpr const char* pop_us_per_item = "pop_us_per_item";        // wall time
inline constexpr const char* pop_cpu_us_per_item = "pop_cpu_us_per_item";
inline constexpr const char* bytes_per_second = "bytes_per_second";
inline constexpr const char* server_core_share = "server_core_share";  // 1: a whole core
inline constexpr const char* client_core_share = "client_core_share";
inline constexpr const char* restart_seconds = "restart_seconds";  // until the first session
inline constexpr const char* restart_cpu_seconds = "restart_cpu_seconds";  // of the server
inline constexpr const char* restarted_kib = "restarted_kib";
inline constexpr const char* rested_kib = "rested_kib";  // the server after a minute of rest
inline constexpr const char* rested_file_kib = "rested_file_kib";
}  // namespace figure

inline constexpr std::chrono::seconds step_limit{90};  // for each wait within a step

// Measures from its construction to finish(). All connections of this process to the server must
// have been opened before, or stay open until finish().
class meter {
 public:
  explicit meter(const step_task& task);

  // Keeps the resident memory of both sides, which is otherwise that at the end.
  void note_memory();
  figures finish();

 private:
  struct counters {
    double server_cpu_us;
    double bytes;
    double frames;
  };
  counters read() const;

  step_task task_;
  figures memory_;
  counters before_;
  stopwatch watch_;
};

// Requests, replies and watch events so far, as the server counts them.
double frames_of(const std::string& servers);

// Waits for all operations. If they fail or take too long, prints the reason and ends the process:
// the operations in flight refer to objects of the caller.
void await_all(pipeline& all);

// Like run_pipelined(), with await_all().
template <class Start>
void run_all(std::size_t count, std::size_t window, const Start& start) {
  pipeline all(count);
  for (std::size_t i = 0; i < window; ++i) start_next(all, start);
  await_all(all);
}

// The number behind the last colon of "127.0.0.1:PORT".
std::uint16_t port_of(const std::string& servers);

}  // namespace conclave::bench
