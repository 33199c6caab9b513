#include "runtime/io_thread.hpp"

#include <pthread.h>

#include <new>

#include "base/all_signals_blocked.hpp"

namespace conclave::runtime {
namespace {

constexpr std::chrono::seconds shutdown_limit{2};

}  // namespace

void io_loop::run() {
  thread_ = std::this_thread::get_id();
  io_.run();
  ended_.set_value();
}

bool io_loop::end() {
  work_.reset();
  return !is_current() && ended_.get_future().wait_for(shutdown_limit) == std::future_status::ready;
}

io_thread::io_thread() : loop_{std::make_shared<io_loop>()} {
  const all_signals_blocked inherited;
  thread_ = std::thread{[loop = loop_] {
    ::pthread_setname_np(::pthread_self(), "conclave-io");
    loop->run();
  }};
}

io_thread::~io_thread() {
  if (loop_->in_child()) {
    // This is a child process. The thread does not exist here and the epoll set belongs to the
    // parent, so destroy nothing.
    new (std::nothrow) std::shared_ptr<io_loop>{std::move(loop_)};
    new (std::nothrow) std::thread{std::move(thread_)};
    return;
  }
  if (loop_->end())
    thread_.join();
  else
    thread_.detach();
}

}  // namespace conclave::runtime
