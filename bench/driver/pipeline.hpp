// Counts pipelined operations, and starts the next operation when one completes.
//
// A completion handler first requests the next operation and reports its own completion last. After
// the last report, the waiting thread may destroy the pipeline.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>

namespace conclave::bench {

class pipeline {
 public:
  explicit pipeline(std::size_t total) : total_(total) {}

  // Returns the number of the operation to start, or nothing if all have been started.
  std::optional<std::size_t> next() noexcept;
  void completed(bool success) noexcept;

  // Throws std::runtime_error if an operation failed, or if they do not all complete in time.
  void wait(std::chrono::seconds limit);

 private:
  const std::size_t total_;
  std::atomic<std::size_t> started_{0};
  std::atomic<std::size_t> completed_{0};
  std::atomic<std::size_t> failed_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_{false};
};

template <class Start>
void start_next(pipeline& all, const Start& start) {
  const auto number = all.next();
  if (!number) return;
  start(*number, [&all, &start](const auto& ec, const auto&...) {
    start_next(all, start);
    all.completed(!ec);
  });
}

// Calls start(number, handler) for each number below `count`, with `window` operations in flight,
// and waits for all of them.
template <class Start>
void run_pipelined(std::size_t count, std::size_t window, std::chrono::seconds limit,
                   const Start& start) {
  pipeline all(count);
  for (std::size_t i = 0; i < window; ++i) start_next(all, start);
  all.wait(limit);
}

}  // namespace conclave::bench
