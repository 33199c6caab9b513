// Timers on CLOCK_BOOTTIME for all sessions of one I/O thread, on one timerfd.
//
// Asio's own timers stand still while the machine is suspended, and a session's deadline does not.
// Used on the I/O thread only.
#pragma once

#include <functional>
#include <map>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "conclave/boot_clock.hpp"

namespace conclave::runtime {

class boot_timers {
 public:
  using callback = std::function<void()>;
  using queue = std::multimap<boot_clock::time_point, callback>;
  using handle = queue::iterator;

  explicit boot_timers(boost::asio::io_context& io);

  handle arm(boot_clock::time_point when, callback f);
  // Not for one that was called.
  void cancel(handle h);

 private:
  void set_descriptor();
  void wait();
  void run_due();

  boost::asio::posix::stream_descriptor descriptor_;
  queue queue_;
  boot_clock::time_point set_to_ = boot_clock::time_point::max();
  bool waiting_ = false;
};

}  // namespace conclave::runtime
