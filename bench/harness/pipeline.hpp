// Counts the operations of one pipelined run: which is next, and when all are done.
//
// A completion asks for the next operation first and reports its own end last: after the last
// report the waiting thread may destroy the pipeline.
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

  // The number of the operation to start, if any is left.
  std::optional<std::size_t> next() noexcept;
  void completed(bool success) noexcept;

  // Throws std::runtime_error if an operation failed, or if they are not all done in time.
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

}  // namespace conclave::bench
