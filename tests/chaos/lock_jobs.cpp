// Jobs that acquire and release locks.
#include <future>
#include <memory>
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

// Some workers keep the lock after unlock().
lock_options some_keep(worker_context& s) {
  lock_options o;
  if (s.chance(0.7)) o.keep_for = s.between(20, 2000);
  return o;
}

// Uses a lock that may be kept again and again, until another contender has it.
template <class Mutex, class Use>
void use_again(worker_context& s, Mutex& m, Use use) {
  for (auto n = s.between(0, 20).count(); n > 0 && m.try_lock(); --n) use(s.between(1, 5));
}

// A lock is kept only if it is free when it is acquired, so a worker sometimes does not contend.
void sometimes_idle(worker_context& s) {
  if (s.chance(0.15)) s.pause(s.between(100, 1000));
}

class mutex_job : public job {
 public:
  explicit mutex_job(worker_context& s)
      : s_{s}, options_{options(s)}, mutex_{s.zk, mutex_path, options_} {}
  void once() override {
    if (!(next_.valid() ? next_.get()
                        : ask(
                              s_, [&](auto stop) { return mutex_.lock(std::move(stop)); },
                              [&](auto time) { return mutex_.try_lock_for(time); },
                              [&] { return mutex_.try_lock(); })))
      return s_.pause(s_.between(0, 20));
    use(some_stay(s_));
    if (!next_.valid() && options_.keep_for > 0ns)
      use_again(s_, mutex_, [&](auto length) { use(length); });
    if (!next_.valid()) sometimes_idle(s_);
  }

 private:
  // Contenders with and without tickets share one wait queue.
  static lock_options options(worker_context& s) {
    auto o = some_keep(s);
    o.tickets = s.chance(0.7);
    if (o.keep_for > 0ns && s.chance(0.5))
      o.local_handoffs = static_cast<std::size_t>(s.between(1, 4).count());
    return o;
  }
  void use(std::chrono::milliseconds length) {
    const std::lock_guard guard{mutex_, std::adopt_lock};
    if (options_.local_handoffs > 0 && !next_.valid() && s_.chance(0.7)) call_next();
    recorded_hold{s_, mutex_.hold(), {mutex_path}}.stay(length);
  }
  // Starts a second call of the same lock object, which waits for the unlock(). Only such calls are
  // local hand-offs.
  void call_next() {
    const auto result = std::make_shared<std::promise<bool>>();
    next_ = result->get_future();
    mutex_.async_try_lock_for(s_.between(20, 3000), [result](error_code ec, bool acquired) {
      if (ec)
        result->set_exception(std::make_exception_ptr(error{ec, "async_try_lock_for"}));
      else
        result->set_value(acquired);
    });
  }

  worker_context& s_;
  lock_options options_;
  mutex mutex_;
  std::future<bool> next_;
};

class shared_job : public job {
 public:
  explicit shared_job(worker_context& s)
      : s_{s}, options_{some_keep(s)}, mutex_{s.zk, shared_path, options_} {}
  void once() override {
    s_.chance(0.5) ? read() : write();
    sometimes_idle(s_);
  }

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
    use_as_writer(some_stay(s_));
    if (options_.keep_for > 0ns) use_again(s_, mutex_, [&](auto length) { use_as_writer(length); });
  }
  void use_as_writer(std::chrono::milliseconds length) {
    bool downgraded = false;
    held_resource what{shared_path};
    if (s_.chance(0.3))
      what.downgrade = [&] {
        try {
          mutex_.downgrade();
          downgraded = true;
        } catch (const error& e) {
          // recorded_hold notices the loss at its next check.
          if (e.code() != errc::lock_lost) throw;
        }
      };
    recorded_hold{s_, mutex_.hold(), what}.stay(length);
    downgraded ? mutex_.unlock_shared() : mutex_.unlock();
  }

  worker_context& s_;
  lock_options options_;
  shared_mutex mutex_;
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
