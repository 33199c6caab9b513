// The one thread that reads for any number of clients.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/boot_timers.hpp"
#include "runtime/fork_guard.hpp"

namespace conclave::runtime {

class io_thread {
 public:
  io_thread();
  // Ends the thread. Its clients are gone by then: each of them shares the ownership.
  ~io_thread();
  io_thread(const io_thread&) = delete;
  io_thread& operator=(const io_thread&) = delete;

  boost::asio::io_context& io() noexcept { return state_->io; }
  boot_timers& timers() noexcept { return state_->timers; }
  // What arrives is read into this and handled before the next read, whoever it is for: an idle
  // client needs no buffer of its own.
  std::vector<char>& read_buffer() noexcept { return state_->read_buffer; }

  bool is_current() const noexcept { return state_->id.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  bool in_child() const noexcept { return guard_.in_child(); }

 private:
  struct state {
    state();
    boost::asio::io_context io{1};
    boot_timers timers{io};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
    std::vector<char> read_buffer;
    std::atomic<std::thread::id> id;
  };

  fork_guard guard_;
  // The thread holds it, too: the last client may go on the I/O thread itself.
  std::shared_ptr<state> state_;
  std::thread thread_;
};

}  // namespace conclave::runtime
