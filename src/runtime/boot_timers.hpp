// CLOCK_BOOTTIME timers for all sessions of one I/O thread, on one timerfd.
//
// Asio's own timers do not advance while the machine is suspended, but session deadlines do. All
// members must be called on the I/O thread.
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
  // Cancels a timer whose callback has not been called yet.
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
