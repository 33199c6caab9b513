// Random tasks on random locks. A model runs the tasks that can run, until none can. The tasks that
// are left are deadlocked. The wait graph must report a certain deadlock if and only if tasks are
// left, and only such tasks.
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "inspected_locks.hpp"

namespace conclave::testing {
namespace {

using role = layout::role;

struct model {
  struct contender {
    int task;
    layout::role role;
    int id;
    bool permit;  // it holds a permit of a semaphore
  };
  struct lock {
    int permits = 0;  // 0: not a semaphore
    std::vector<contender> queue;
  };
  std::vector<lock> locks;
  std::vector<bool> runs;                     // by task
  std::vector<std::vector<int>> acquired;     // by task: ids
  std::vector<std::vector<int>> held_before;  // by task: what it held when its wait began
  int last_id = 0;

  bool granted(const lock& l, std::size_t i) const {
    if (l.permits != 0) {
      if (l.queue[i].permit) return true;
      int used = 0;
      for (std::size_t a = 0; a < l.queue.size(); ++a) {
        used += l.queue[a].permit;
        if (a < i && !l.queue[a].permit) return false;
      }
      return used < l.permits;
    }
    for (std::size_t a = 0; a < i; ++a)
      if (l.queue[i].role != role::reader || l.queue[a].role != role::reader) return false;
    return true;
  }

  // The task asks for the lock. It waits if the lock is not granted.
  void acquire(int task, std::size_t which, layout::role r) {
    auto& l = locks[which];
    const auto t = static_cast<std::size_t>(task);
    held_before[t] = acquired[t];
    l.queue.push_back({task, l.permits != 0 ? role::exclusive : r, ++last_id, false});
    runs[t] = granted(l, l.queue.size() - 1);
    if (!runs[t]) return;
    l.queue.back().permit = l.permits != 0;
    acquired[t].push_back(last_id);
    if (l.permits != 0)  // holders come first
      std::stable_partition(l.queue.begin(), l.queue.end(), [](const auto& c) { return c.permit; });
  }

  // Runs the tasks until none can run. A task that runs releases everything and ends.
  std::set<int> left_over() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& l : locks)
        if (std::erase_if(l.queue, [&](const contender& c) { return runs[task_index(c)]; }) > 0)
          changed = true;
      for (auto& l : locks)
        for (std::size_t i = 0; i < l.queue.size(); ++i)
          if (const auto t = task_index(l.queue[i]); !runs[t] && waits_here(l, i) && granted(l, i))
            runs[t] = changed = true;
    }
    std::set<int> left;
    for (std::size_t t = 0; t < runs.size(); ++t)
      if (!runs[t]) left.insert(static_cast<int>(t));
    return left;
  }

  static std::size_t task_index(const contender& c) { return static_cast<std::size_t>(c.task); }
  // Returns true if this is the contender that its task waits for.
  bool waits_here(const lock& l, std::size_t i) const {
    const auto& ids = acquired[task_index(l.queue[i])];
    return std::find(ids.begin(), ids.end(), l.queue[i].id) == ids.end();
  }

  inspected_locks seen() const {
    inspected_locks all;
    for (std::size_t n = 0; n < locks.size(); ++n) {
      const auto path = "/" + std::to_string(n);
      for (const auto& c : locks[n].queue) {
        inspected_locks::contender shown;
        shown.owner = std::to_string(c.task);
        shown.session = 1 + c.task / 2;  // two tasks share a session
        shown.id = c.id;
        shown.holds = held_before[task_index(c)];
        shown.role = c.role;
        if (locks[n].permits != 0)
          all.add_permit(path, locks[n].permits, shown, c.permit);
        else
          all.add(path, shown);
      }
    }
    return all;
  }
};

TEST(wait_graph, finds_exactly_the_deadlocks_of_random_tasks) {
  int with_deadlock = 0, without = 0;
  for (unsigned seed = 1; seed <= 20'000; ++seed) {
    std::mt19937 random{seed};
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    model m;
    const int tasks = 2 + below(6), locks = 2 + below(5);
    const auto count = static_cast<std::size_t>(tasks);
    m.runs.assign(count, true);
    m.acquired.resize(count);
    m.held_before.resize(count);
    for (int i = 0; i < locks; ++i) m.locks.push_back({below(3) == 0 ? 1 + below(3) : 0, {}});
    for (int steps = 4 + below(20); steps > 0; --steps) {
      const int task = below(tasks);
      if (!m.runs[static_cast<std::size_t>(task)]) continue;
      const auto r = below(3) == 0 ? role::writer : below(2) == 0 ? role::reader : role::exclusive;
      m.acquire(task, static_cast<std::size_t>(below(locks)), r);
    }
    const auto found = m.seen().deadlocks();
    const auto left = m.left_over();
    (left.empty() ? without : with_deadlock)++;
    ASSERT_EQ(found.empty(), left.empty()) << "seed " << seed;
    for (const auto& d : found) {
      ASSERT_TRUE(d.certain) << "seed " << seed;
      for (const auto& member : d.members)
        ASSERT_TRUE(left.contains(std::stoi(member.waits_for.contender.owner)))
            << "seed " << seed << ": " << explain(d);
    }
  }
  EXPECT_GT(with_deadlock, 1000);
  EXPECT_GT(without, 1000);
}

}  // namespace
}  // namespace conclave::testing
