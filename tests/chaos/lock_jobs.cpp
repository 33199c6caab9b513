// Jobs that acquire and release locks.
#include <mutex>
#include <shared_mutex>

#include "chaos/job.hpp"
#include "chaos/recorded_hold.hpp"
#include "conclave/election.hpp"
#include "conclave/mutex.hpp"
#include "conclave/semaphore.hpp"
#include "conclave/shared_mutex.hpp"

namespace conclave::chaos {
namespace {

using namespace std::chrono_literals;

// Mostly short, for many hand-offs, and sometimes long enough for a fault.
std::chrono::milliseconds some_stay(worker_context& s) {
  return s.chance(0.15) ? s.between(200, 2500) : s.between(1, 30);
}

// Acquires a lock in a random way: waits until a stop, waits with a timeout, or does not wait.
template <class Forever, class ForSome, class Now>
bool ask(worker_context& s, Forever forever, ForSome for_some, Now at_once) {
  if (s.chance(0.75)) return forever(s.stop);
  if (s.chance(0.7)) return for_some(s.between(20, 3000));
  return at_once();
}

class mutex_job : public job {
 public:
  explicit mutex_job(worker_context& s) : s_{s}, mutex_{s.zk, mutex_path, options(s)} {}
  void once() override {
    if (!ask(
            s_, [&](auto stop) { return mutex_.lock(std::move(stop)); },
            [&](auto time) { return mutex_.try_lock_for(time); },
            [&] { return mutex_.try_lock(); }))
      return s_.pause(s_.between(0, 20));
    const std::lock_guard guard{mutex_, std::adopt_lock};
    recorded_hold{s_, mutex_.hold(), {mutex_path}}.stay(some_stay(s_));
  }

 private:
  // Contenders with and without tickets share one wait queue. Some keep the lock after unlock().
  static lock_options options(worker_context& s) {
    lock_options o;
    o.tickets = s.chance(0.7);
    if (s.chance(0.4)) o.keep_for = s.between(20, 2000);
    return o;
  }
  worker_context& s_;
  mutex mutex_;
};

class shared_job : public job {
 public:
  explicit shared_job(worker_context& s) : s_{s} {}
  void once() override { s_.chance(0.5) ? read() : write(); }

 private:
  void read() {
    if (!ask(
            s_, [&](auto stop) { return mutex_.lock_shared(std::move(stop)); },
            [&](auto time) { return mutex_.try_lock_shared_for(time); },
            [&] { return mutex_.try_lock_shared(); }))
      return s_.pause(s_.between(0, 20));
    const std::shared_lock guard{mutex_, std::adopt_lock};
    recorded_hold{s_, mutex_.shared_hold(), {shared_path, "shared", false}}.stay(some_stay(s_));
  }
  void write() {
    if (!ask(
            s_, [&](auto stop) { return mutex_.lock(std::move(stop)); },
            [&](auto time) { return mutex_.try_lock_for(time); },
            [&] { return mutex_.try_lock(); }))
      return s_.pause(s_.between(0, 20));
    bool downgraded = false;
    held_resource what{shared_path};
    if (s_.chance(0.5))
      what.downgrade = [&] {
        try {
          mutex_.downgrade();
          downgraded = true;
        } catch (const error& e) {
          // recorded_hold notices the loss at its next check.
          if (e.code() != errc::lock_lost) throw;
        }
      };
    recorded_hold{s_, mutex_.hold(), what}.stay(some_stay(s_));
    downgraded ? mutex_.unlock_shared() : mutex_.unlock();
  }

  worker_context& s_;
  shared_mutex mutex_{s_.zk, shared_path};
};

class semaphore_job : public job {
 public:
  explicit semaphore_job(worker_context& s) : s_{s} {}
  void once() override {
    if (!ask(
            s_, [&](auto stop) { return semaphore_.acquire(std::move(stop)); },
            [&](auto time) { return semaphore_.try_acquire_for(time); },
            [&] { return semaphore_.try_acquire(); }))
      return s_.pause(s_.between(0, 20));
    recorded_hold{s_, semaphore_.hold(), {semaphore_path, std::to_string(permits), false}}.stay(
        some_stay(s_));
    semaphore_.release();
  }

 private:
  worker_context& s_;
  semaphore semaphore_{s_.zk, semaphore_path, permits};
};

class election_job : public job {
 public:
  explicit election_job(worker_context& s) : s_{s}, election_{s.zk, election_path, options(s)} {}
  void once() override {
    if (!(s_.chance(0.8) ? election_.campaign(s_.stop)
                         : election_.campaign_for(s_.between(20, 3000))))
      return;
    recorded_hold{s_, election_.hold(), {election_path}}.stay(some_stay(s_));
    election_.resign();
  }

 private:
  static election_options options(worker_context& s) {
    election_options o;
    o.id = s.name;
    return o;
  }
  worker_context& s_;
  election election_;
};

}  // namespace

std::unique_ptr<job> make_lock_job(std::string_view kind, worker_context& s) {
  if (kind == "mutex") return std::make_unique<mutex_job>(s);
  if (kind == "shared") return std::make_unique<shared_job>(s);
  if (kind == "semaphore") return std::make_unique<semaphore_job>(s);
  if (kind == "election") return std::make_unique<election_job>(s);
  return nullptr;
}

}  // namespace conclave::chaos
