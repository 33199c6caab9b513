#include "runtime/io_thread.hpp"

#include <pthread.h>
#include <signal.h>

namespace conclave::runtime {
namespace {

constexpr std::size_t read_buffer_size = 256 * 1024;

}  // namespace

io_thread::state::state() : read_buffer(read_buffer_size) {}

io_thread::io_thread() : state_{std::make_shared<state>()} {
  // Signals are the application's: none must end up on this thread.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread{[state = state_] {
    ::pthread_setname_np(::pthread_self(), "conclave-io");
    state->id = std::this_thread::get_id();
    state->io.run();
  }};
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

io_thread::~io_thread() {
  if (in_child()) {
    // There is no such thread in this process, and the epoll set is the parent's: leave everything.
    new std::shared_ptr<state>{std::move(state_)};
    new std::thread{std::move(thread_)};
    return;
  }
  state_->io.stop();
  if (is_current())
    thread_.detach();
  else
    thread_.join();
}

}  // namespace conclave::runtime
