// The I/O thread, which reads from the sockets of any number of clients.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <span>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "runtime/boot_timers.hpp"
#include "runtime/fork_guard.hpp"

namespace conclave::runtime {

// The event loop of the thread. Sessions share ownership of the loop, so it lives until the last
// session has ended.
class io_loop {
 public:
  boost::asio::io_context& io() noexcept { return io_; }
  boot_timers& timers() noexcept { return timers_; }
  // The receive buffer. Its content is processed before the next read, so all clients can share it.
  std::span<char> read_buffer() noexcept { return {read_buffer_.get(), read_buffer_size}; }

  bool is_current() const noexcept {
    return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  // Returns true in a forked child process, which does not have the thread.
  bool in_child() const noexcept { return guard_.in_child(); }

  void run();
  // Lets run() return when there is no work left, and waits up to two seconds for it to return.
  // Returns false if run() is still running, for example because a host name is being resolved.
  bool end();

 private:
  fork_guard guard_;
  boost::asio::io_context io_{1};
  boot_timers timers_{io_};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  static constexpr std::size_t read_buffer_size = std::size_t{256} * 1024;
  // Not initialised, because short-lived programs never use most of the buffer.
  std::unique_ptr<char[]> read_buffer_ = std::make_unique_for_overwrite<char[]>(read_buffer_size);
  std::atomic<std::thread::id> thread_;
  std::promise<void> ended_;  // set when run() has returned
};

// Owns the thread. Clients and contexts share this object. The last of them stops the thread.
class io_thread {
 public:
  io_thread();
  // Joins the thread. If it is the current thread or does not exit in time, detaches it instead.
  ~io_thread();
  io_thread(const io_thread&) = delete;
  io_thread& operator=(const io_thread&) = delete;

  const std::shared_ptr<io_loop>& loop() const noexcept { return loop_; }

 private:
  std::shared_ptr<io_loop> loop_;
  std::thread thread_;
};

}  // namespace conclave::runtime
