#include "web/inbox.hpp"

#include <cstddef>
#include <utility>

namespace conclave::web {
namespace {

constexpr std::size_t max_events = 100'000;
constexpr std::size_t max_release_requests = 100;

}  // namespace

void inbox::add(const watch_event& e, moment at) {
  {
    const std::lock_guard lock{mutex_};
    if (waiting_.events.size() >= max_events) {
      waiting_.are_complete = false;
      return;
    }
    waiting_.events.push_back({e, at});
    if (!events_end_wait_) return;
  }
  changed_.notify_all();
}

void inbox::add_release_request(std::string node) {
  {
    const std::lock_guard lock{mutex_};
    if (waiting_.release_requests.size() >= max_release_requests) return;
    waiting_.release_requests.push_back(std::move(node));
  }
  changed_.notify_all();
}

void inbox::wake() {
  {
    const std::lock_guard lock{mutex_};
    is_woken_ = true;
  }
  changed_.notify_all();
}

inbox::contents inbox::wait(const std::stop_token& stop, clock::time_point earliest,
                            clock::time_point latest) {
  std::unique_lock lock{mutex_};
  changed_.wait_until(lock, stop, earliest, [this] { return !waiting_.release_requests.empty(); });
  events_end_wait_ = true;
  changed_.wait_until(lock, stop, latest, [this] {
    return is_woken_ || !waiting_.events.empty() || !waiting_.release_requests.empty();
  });
  events_end_wait_ = is_woken_ = false;
  return std::exchange(waiting_, {});
}

inbox::contents inbox::take_events() {
  const std::lock_guard lock{mutex_};
  contents taken;
  taken.events = std::exchange(waiting_.events, {});
  taken.are_complete = std::exchange(waiting_.are_complete, true);
  return taken;
}

void inbox::pause(const std::stop_token& stop, clock::duration time) {
  std::unique_lock lock{mutex_};
  changed_.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace conclave::web
