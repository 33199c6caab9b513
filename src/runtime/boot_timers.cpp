#include "runtime/boot_timers.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <boost/asio/io_context.hpp>

namespace conclave::runtime {

boot_timers::boot_timers(boost::asio::io_context& io) : descriptor_{io} {
  const int fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) throw std::system_error{errno, std::system_category(), "timerfd_create"};
  descriptor_.assign(fd);
}

boot_timers::handle boot_timers::arm(boot_clock::time_point when, callback f) {
  const auto h = queue_.emplace(when, std::move(f));
  if (h == queue_.begin()) set_descriptor();
  return h;
}

void boot_timers::cancel(handle h) {
  // The descriptor may now fire although no timer is due. That costs less than setting the
  // descriptor again.
  queue_.erase(h);
  if (queue_.empty() && waiting_)
    descriptor_.cancel();  // lets the I/O thread exit when it has nothing to do
}

void boot_timers::set_descriptor() {
  const auto when = queue_.begin()->first;
  if (when < set_to_) {
    set_to_ = when;
    // Zero would disarm the timer.
    const auto ns = std::max<boot_clock::rep>(when.time_since_epoch().count(), 1);
    const itimerspec spec{{0, 0}, {ns / 1'000'000'000, ns % 1'000'000'000}};
    ::timerfd_settime(descriptor_.native_handle(), TFD_TIMER_ABSTIME, &spec, nullptr);
  }
  wait();
}

void boot_timers::wait() {
  if (waiting_) return;
  waiting_ = true;
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](boost::system::error_code) {
                           waiting_ = false;
                           std::uint64_t count = 0;
                           if (::read(descriptor_.native_handle(), &count, sizeof count) > 0)
                             set_to_ = boot_clock::time_point::max();
                           run_due();
                         });
}

void boot_timers::run_due() {
  const auto now = boot_clock::now();
  while (!queue_.empty() && queue_.begin()->first <= now) {
    const auto due = queue_.extract(queue_.begin());
    due.mapped()();
  }
  if (!queue_.empty()) set_descriptor();
}

}  // namespace conclave::runtime
