#include "recipes/thread_holds.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "recipes/contender_data.hpp"
#include "recipes/hold_state.hpp"

namespace conclave::recipes {
namespace {

std::atomic<bool> has_holds_of_unknown_tasks{false};
std::atomic<bool> holds_change_threads{false};

// Counts the forks between the first process and this one.
std::atomic<std::uint64_t> generation{0};

std::uint64_t current_generation() noexcept {
  [[maybe_unused]] static const int registered = ::pthread_atfork(
      nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  return generation.load(std::memory_order_relaxed);
}

struct thread_holds {
  std::vector<std::weak_ptr<const hold_state>> holds;
  std::size_t erase_ended_at = 16;  // at this size
  bool has_unknown = false;
  std::uint64_t process = current_generation();  // to which the other members belong

  void forget_holds_of_parent() {
    if (process == current_generation()) return;
    *this = {};
  }
};

thread_local thread_holds ours;

bool has_ended(const std::weak_ptr<const hold_state>& weak) {
  const auto h = weak.lock();
  return !h || h->ended();
}

}  // namespace

void add_hold_of_this_thread(const hold& h) {
  ours.forget_holds_of_parent();
  if (ours.holds.size() >= ours.erase_ended_at) {
    std::erase_if(ours.holds, has_ended);
    ours.erase_ended_at = 2 * ours.holds.size() + 16;
  }
  ours.holds.push_back(h.shared_state());
}

void add_unknown_hold_of_this_thread() noexcept { ours.has_unknown = true; }

void add_hold_of_unknown_task() noexcept {
  if (!has_holds_of_unknown_tasks) has_holds_of_unknown_tasks = true;
}

void note_release_by_other_thread() noexcept { holds_change_threads = true; }

task_holds holds_of_this_thread() {
  ours.forget_holds_of_parent();
  task_holds found;
  auto& ids = holds_change_threads ? found.possible : found.certain;
  found.may_hold_others = holds_change_threads || has_holds_of_unknown_tasks || ours.has_unknown;
  // The newest holds come first. A thread with many locks lists only these.
  for (auto weak = ours.holds.rbegin(); weak != ours.holds.rend(); ++weak) {
    const auto h = weak->lock();
    if (!h || h->ended()) continue;
    if (ids.size() == most_listed_holds) {
      found.may_hold_others = true;
      break;
    }
    if (auto id = h->id(); !id.empty()) ids.push_back(std::move(id));
  }
  return found;
}

}  // namespace conclave::recipes
