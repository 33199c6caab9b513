// Locks, semaphores and elections of one session.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <conclave/election.hpp>
#include <conclave/multi_mutex.hpp>
#include <conclave/mutex.hpp>
#include <conclave/semaphore.hpp>
#include <conclave/shared_mutex.hpp>

#include "driver/recipe_worker.hpp"
#include "driver/system_status.hpp"
#include "driver/zookeeper.hpp"
#include "step_figures.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t in_flight = 256;
constexpr const char* path = "/growth";

std::string path_of(std::size_t number) {
  return std::string(path) + "/n" + std::to_string(number);
}

void await_children(client& zk, std::size_t count) {
  const auto deadline = clock::now() + step_limit;
  for (;;) {
    const auto node = zk.exists(path);
    if (node && static_cast<std::size_t>(node->num_children) >= count) return;
    if (clock::now() > deadline) abort_round("step", "the contenders do not arrive in time");
    std::this_thread::sleep_for(50ms);
  }
}

template <class Lock>
std::vector<std::unique_ptr<Lock>> make_contenders(client& zk, std::size_t count) {
  std::vector<std::unique_ptr<Lock>> all;
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) all.push_back(std::make_unique<Lock>(zk, path));
  return all;
}

// All n contenders wait behind a holder. After its release, each is granted the lock once and
// releases it at once. `acquire` calls a function with an error_code.
template <class Lock, class Acquire, class Release>
figures run_hand_offs(const step_task& task, const Acquire& acquire, const Release& release) {
  client zk(task.servers);
  await_connection(zk);
  auto contenders = make_contenders<Lock>(zk, task.count + 1);
  auto& first = *contenders.back();
  pipeline held(1);
  acquire(first, [&held](error_code ec) { held.completed(!ec); });
  await_all(held);

  meter m(task);
  pipeline all(task.count);
  for (std::size_t i = 0; i < task.count; ++i)
    acquire(*contenders[i], [&all, &release, one = contenders[i].get()](error_code ec) {
      release(*one);
      all.completed(!ec);
    });
  await_children(zk, task.count + 1);
  m.note_memory();
  release(first);
  await_all(all);
  auto found = m.finish();
  zk.close();  // no handler runs after this
  return found;
}

// All calls of one object at once; then all releases.
template <class Acquire, class Release>
figures run_holds_of_one_object(const step_task& task, client& zk, const Acquire& acquire,
                                const Release& release) {
  meter m(task);
  run_all(task.count, task.count, [&](std::size_t, auto handler) { acquire(std::move(handler)); });
  m.note_memory();
  run_all(task.count, task.count, [&](std::size_t, auto handler) { release(std::move(handler)); });
  auto found = m.finish();
  zk.close();
  return found;
}

// n locks on paths of their own.
class held_locks {
 public:
  held_locks(client& zk, std::size_t count) {
    locks_.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      locks_.push_back(std::make_unique<mutex>(zk, path_of(i)));
    run_all(count, in_flight,
            [this](std::size_t i, auto handler) { locks_[i]->async_lock(std::move(handler)); });
  }
  void release() {
    run_all(locks_.size(), in_flight,
            [this](std::size_t i, auto handler) { locks_[i]->async_unlock(std::move(handler)); });
  }

 private:
  std::vector<std::unique_ptr<mutex>> locks_;
};

}  // namespace

figures run_locks_held(const step_task& task) {
  client zk(task.servers);
  await_connection(zk);
  const auto before_kib = resident_kib_of(::getpid());
  meter m(task);
  held_locks locks(zk, task.count);
  const auto held_kib = resident_kib_of(::getpid());
  m.note_memory();
  locks.release();
  auto found = m.finish();
  found[figure::bytes_of_held_lock] =
      (held_kib - before_kib) * 1024 / static_cast<double>(task.count);
  zk.close();
  return found;
}

// Holds of another lock, one after the other, beside n held locks. A hold that lasts 100 ms is
// monitored in another way than a shorter one.
figures run_long_holds(const step_task& task) {
  constexpr int holds = 20;
  constexpr auto duration = 150ms;
  client zk(task.servers);
  await_connection(zk);
  const held_locks locks(zk, task.count);
  mutex another(zk, std::string(path) + "/another");
  std::this_thread::sleep_for(1s);  // the new holds become long ones
  meter m(task);
  for (int i = 0; i < holds; ++i) {
    another.lock();
    std::this_thread::sleep_for(duration);
    another.unlock();
  }
  auto found = m.finish();
  found[figure::cpu_ms_per_hold] = found.at(figure::client_cpu_seconds) * 1e3 / holds;
  zk.close();
  return found;
}

figures run_locks_waited_for(const step_task& task) {
  return run_hand_offs<mutex>(
      task, [](mutex& m, auto handler) { m.async_lock(std::move(handler)); },
      [](mutex& m) { m.unlock(); });
}

figures run_writers(const step_task& task) {
  return run_hand_offs<shared_mutex>(
      task, [](shared_mutex& m, auto handler) { m.async_lock(std::move(handler)); },
      [](shared_mutex& m) { m.unlock(); });
}

figures run_candidates(const step_task& task) {
  return run_hand_offs<election>(
      task, [](election& e, auto handler) { e.async_campaign(std::move(handler)); },
      [](election& e) { e.resign(); });
}

figures run_readers_behind_writer(const step_task& task) {
  client zk(task.servers);
  await_connection(zk);
  shared_mutex writer(zk, path);
  writer.lock();
  auto readers = make_contenders<shared_mutex>(zk, task.count);
  meter m(task);
  pipeline granted(task.count);
  for (auto& reader : readers)
    reader->async_lock_shared([&granted](error_code ec) { granted.completed(!ec); });
  await_children(zk, task.count + 1);
  writer.unlock();
  await_all(granted);
  m.note_memory();
  run_all(task.count, in_flight, [&](std::size_t i, auto handler) {
    readers[i]->async_unlock_shared(std::move(handler));
  });
  auto found = m.finish();
  zk.close();
  return found;
}

figures run_shared_holds(const step_task& task) {
  client zk(task.servers);
  await_connection(zk);
  shared_mutex object(zk, path);
  return run_holds_of_one_object(
      task, zk, [&](auto handler) { object.async_lock_shared(std::move(handler)); },
      [&](auto handler) { object.async_unlock_shared(std::move(handler)); });
}

figures run_permits(const step_task& task) {
  client zk(task.servers);
  await_connection(zk);
  semaphore object(zk, path, task.count);
  return run_holds_of_one_object(
      task, zk, [&](auto handler) { object.async_acquire(std::move(handler)); },
      [&](auto handler) { object.async_release(std::move(handler)); });
}

// n observers learn of a leader, and of its successor.
figures run_observers(const step_task& task) {
  client zk(task.servers);
  await_connection(zk);
  election_options named;
  named.id = "first";
  election first(zk, path, named);
  named.id = "second";
  election second(zk, path, named);
  first.campaign();

  pipeline saw_first(task.count);
  pipeline saw_second(task.count);
  struct observation {
    std::atomic<bool> first{false};
    std::atomic<bool> second{false};
    std::unique_ptr<election_observer> observer;
  };
  std::vector<observation> all(task.count);
  meter m(task);
  for (auto& one : all)
    one.observer = std::make_unique<election_observer>(
        zk, path, [&one, &saw_first, &saw_second](const std::optional<contender_info>& leader) {
          if (!leader) return;
          const bool is_first = leader->owner == "first";
          auto& seen = is_first ? one.first : one.second;
          if (!seen.exchange(true)) (is_first ? saw_first : saw_second).completed(true);
        });
  await_all(saw_first);
  m.note_memory();
  first.resign();
  second.campaign();
  await_all(saw_second);
  auto found = m.finish();
  all.clear();
  zk.close();
  return found;
}

// One lock on n paths, or the error if they do not fit into one request.
figures run_multi_paths(const step_task& task) {
  client zk(task.servers);
  await_connection(zk);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < task.count; ++i) paths.push_back(path_of(i));
  multi_mutex all(zk, std::move(paths));
  meter m(task);
  std::string message;
  try {
    all.lock();
    m.note_memory();
    pipeline released(1);
    all.async_unlock([&released](error_code ec) { released.completed(!ec); });
    await_all(released);
  } catch (const error& e) {
    if (e.code() != errc::too_large) throw;
    message = e.what();
  }
  auto found = m.finish();
  zk.close();
  if (message.empty()) return found;
  return {{figure::error_characters, static_cast<double>(message.size())}};
}

}  // namespace conclave::bench
