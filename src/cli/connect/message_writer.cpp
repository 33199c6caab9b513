#include "cli/connect/message_writer.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace conclave::cli {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_waiting = 100;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd writable{STDERR_FILENO, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return;  // nobody can read the message
    }
  }
}

}  // namespace

struct message_writer::state {
  enum class thread_phase { not_started, running, ending };

  void run() {
    std::unique_lock lock{mutex};
    while (true) {
      changed.wait(lock, [this] { return !waiting.empty() || phase == thread_phase::ending; });
      if (waiting.empty()) return;
      auto text = std::move(waiting.front());
      waiting.pop_front();
      if (waiting.empty() && dropped != 0)
        text += "conclave: " + std::to_string(std::exchange(dropped, 0)) +
                " further messages were dropped, because stderr was blocked\n";
      writing = true;
      lock.unlock();
      write_all(text);
      lock.lock();
      writing = false;
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> waiting;
  std::size_t dropped = 0;
  bool writing = false;
  thread_phase phase = thread_phase::not_started;
};

message_writer::message_writer() : state_{std::make_shared<state>()} {}

message_writer::~message_writer() {
  flush();
  const std::lock_guard lock{state_->mutex};
  state_->phase = state::thread_phase::ending;
  state_->changed.notify_all();
}

void message_writer::post(const std::string& what) noexcept {
  try {
    const std::lock_guard lock{state_->mutex};
    if (state_->waiting.size() == most_waiting) {
      ++state_->dropped;
      return;
    }
    state_->waiting.push_back("conclave: " + what + "\n");
    // Commands without messages need no thread.
    if (state_->phase == state::thread_phase::not_started) {
      std::thread{[s = state_] { s->run(); }}.detach();
      state_->phase = state::thread_phase::running;
    }
    state_->changed.notify_all();
  } catch (const std::exception&) {
    // There is no memory or no thread for the message. The next message tries again.
  }
}

void message_writer::flush() noexcept {
  std::unique_lock lock{state_->mutex};
  if (state_->phase != state::thread_phase::running) return;
  auto left = state_->waiting.size();
  const auto written = [this] { return state_->waiting.empty() && !state_->writing; };
  // As long as messages are written, stderr is not blocked.
  while (!state_->changed.wait_for(lock, 1s, written) && state_->waiting.size() < left)
    left = state_->waiting.size();
}

}  // namespace conclave::cli
