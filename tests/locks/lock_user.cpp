// A process that acquires a lock or campaigns in an election. Tests kill, stop and disconnect it.
//
//   lock_user contend ADDRESS TIMEOUT_MS PATH TICKETS STORAGE_PORT NUMBER
//       locks, writes to the storage and unlocks, repeatedly, until SIGTERM
//   lock_user hold ADDRESS TIMEOUT_MS PATH TICKETS STORAGE_PORT NUMBER
//       locks once and writes, without checking the lock, until the storage refuses a write;
//       then exits with 0 if the loss of the lock is reported
//   lock_user keep ADDRESS TIMEOUT_MS PATH TICKETS STORAGE_PORT NUMBER
//       locks once and writes while held() returns true
//   lock_user campaign ..., lock_user lead ...
//       like contend and hold, but with an election instead of a lock
//
// Writes two lines for each hold to standard output: "+ TOKEN FROM" when it begins and "- TOKEN TO
// SUSPENDED LOST" when it ends. FROM is the return of lock(), and TO is the last time at which
// held() returned true, in nanoseconds of the clock that all processes share. SUSPENDED is 1 if the
// connection was lost during the hold, and LOST is 1 if the lock was lost.
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "conclave/election.hpp"
#include "conclave/mutex.hpp"
#include "locks/fenced_storage.hpp"

namespace conclave::testing {
namespace {

using clock = std::chrono::steady_clock;

std::atomic<bool> stopping{false};

long long nanoseconds(clock::time_point t) { return t.time_since_epoch().count(); }

// An election with the interface of a mutex.
struct leadership {
  election e;
  void lock() { e.campaign(); }
  void unlock() { e.resign(); }
  conclave::hold hold() const { return e.hold(); }
  std::int64_t fencing_token() const { return e.fencing_token(); }
  bool held() const { return e.held(); }
  std::stop_token lost() const { return e.lost(); }
};

template <class Lock>
void hold_briefly(Lock& m, storage_link& storage, const std::atomic<bool>& suspended) {
  const auto hold = m.hold();
  const auto from = clock::now();
  std::printf("+ %lld %lld\n", static_cast<long long>(hold.fencing_token()), nanoseconds(from));
  std::fflush(stdout);
  storage.write(hold.fencing_token());
  // Most holds are short, but every fourth is long enough for a fault. A suspended hold continues
  // until it is restored or lost.
  const auto length = hold.fencing_token() % 4 == 0 ? 40ms : 4ms;
  auto last = from;
  bool lost = false;
  for (auto t = from; t < from + length || hold.suspended(); t = clock::now()) {
    // `t` was read before this call, so a pause in between cannot make it too late.
    lost = !hold.held();
    if (lost) break;
    last = t;
    std::this_thread::sleep_for(200us);
  }
  std::printf("- %lld %lld %d %d\n", static_cast<long long>(hold.fencing_token()),
              nanoseconds(last), suspended ? 1 : 0, lost ? 1 : 0);
  std::fflush(stdout);
}

template <class Lock>
int contend(Lock& m, storage_link& storage, std::atomic<bool>& suspended) {
  while (!stopping) {
    suspended = false;
    try {
      m.lock();
    } catch (const error& e) {
      if (e.code() == errc::not_connected) continue;  // the outage exceeds connect_wait
      throw;
    }
    hold_briefly(m, storage, suspended);
    m.unlock();
  }
  return 0;
}

template <class Lock>
int write_until_refused(Lock& m, storage_link& storage, inbox<bool>& lost) {
  m.lock();
  while (storage.write(m.fencing_token())) std::this_thread::sleep_for(5ms);
  if (!lost.take()) return 3;
  return m.held() || !m.lost().stop_requested() ? 4 : 0;
}

int keep(mutex& m, storage_link& storage) {
  m.lock();
  while (m.held() && storage.write(m.fencing_token())) std::this_thread::sleep_for(5ms);
  return 5;
}

int play(const std::vector<std::string>& arguments) {
  client_options options;
  options.session_timeout = std::chrono::milliseconds{std::stoi(arguments.at(3))};
  options.reconnect = [](unsigned) { return 20ms; };
  storage_link storage{static_cast<std::uint16_t>(std::stoi(arguments.at(6))),
                       std::stoi(arguments.at(7))};
  std::atomic<bool> suspended{false};
  inbox<bool> lost;
  lock_options how;
  how.tickets = arguments.at(5) == "1";
  how.on_suspended = [&](const hold&) { suspended = true; };
  how.on_lost = [&](const hold&, error_code) { lost.put(true); };
  client zk{arguments.at(2), options};
  if (const auto role = arguments.at(1); role == "campaign" || role == "lead") {
    election_options of;
    of.id = arguments.at(7);
    of.on_suspended = how.on_suspended;
    of.on_lost = how.on_lost;
    leadership l{{zk, arguments.at(4), of}};
    return role == "lead" ? write_until_refused(l, storage, lost) : contend(l, storage, suspended);
  }
  mutex m{zk, arguments.at(4), how};
  if (arguments.at(1) == "keep") return keep(m, storage);
  return arguments.at(1) == "hold" ? write_until_refused(m, storage, lost)
                                   : contend(m, storage, suspended);
}

}  // namespace
}  // namespace conclave::testing

int main(int argc, char** argv) {
  // A thread waits for the signal, because a handler would interrupt system calls of other threads.
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  std::thread{[term] {
    int got = 0;
    sigwait(&term, &got);
    conclave::testing::stopping = true;
  }}.detach();
  try {
    return conclave::testing::play({argv, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "lock_user: " << e.what() << "\n";
    return 1;
  }
}
