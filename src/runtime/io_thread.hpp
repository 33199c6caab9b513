// The one thread that reads for any number of clients.
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

// What runs on the thread. Sessions share it, so that it is there until the last of them is done.
class io_loop {
 public:
  boost::asio::io_context& io() noexcept { return io_; }
  boot_timers& timers() noexcept { return timers_; }
  // What arrives is read into this and handled before the next read, whoever it is for: an idle
  // client needs no buffer of its own.
  std::span<char> read_buffer() noexcept { return {read_buffer_.get(), read_buffer_size}; }

  bool is_current() const noexcept {
    return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  // This is a child process, in which there is no such thread.
  bool in_child() const noexcept { return guard_.in_child(); }

  void run();
  // Lets run() return when nothing is left to do, and waits for that a moment: a name that takes
  // its time to resolve can hold it up. False if it goes on.
  bool end();

 private:
  fork_guard guard_;
  boost::asio::io_context io_{1};
  boot_timers timers_{io_};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  // Not filled with anything: a program that ends soon never touches most of it.
  static constexpr std::size_t read_buffer_size = std::size_t{256} * 1024;
  std::unique_ptr<char[]> read_buffer_ = std::make_unique_for_overwrite<char[]>(read_buffer_size);
  std::atomic<std::thread::id> thread_;
  std::promise<void> ended_;  // run() has returned
};

// Owns the thread. Shared by the clients and contexts that use it; the last one ends it.
class io_thread {
 public:
  io_thread();
  // Joins the thread, unless it runs on it or does not end in time; then it ends by itself.
  ~io_thread();
  io_thread(const io_thread&) = delete;
  io_thread& operator=(const io_thread&) = delete;

  const std::shared_ptr<io_loop>& loop() const noexcept { return loop_; }

 private:
  std::shared_ptr<io_loop> loop_;
  std::thread thread_;
};

}  // namespace conclave::runtime
