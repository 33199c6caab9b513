// A process that wants a lock, or to lead an election, to be killed, stopped, cut off.
//
//   contestant contend ADDRESS TIMEOUT_MS PATH TICKETS STORAGE_PORT NUMBER
//       locks and unlocks again and again, writing to the storage each time, until SIGTERM
//   contestant hold ADDRESS TIMEOUT_MS PATH TICKETS STORAGE_PORT NUMBER
//       locks once and writes on and on, without a look at the lock, until the storage refuses;
//       then it ends well if it is told that the lock was lost
//   contestant keep ADDRESS TIMEOUT_MS PATH TICKETS STORAGE_PORT NUMBER
//       locks once and writes as long as held() says so
//   contestant campaign ..., contestant lead ...
//       the same two with an election in the place of the lock
//
// On standard output, a line for each hold: "+ TOKEN FROM" when it begins, "- TOKEN TO SUSPENDED
// LOST" when it ends. FROM and TO are nanoseconds of the clock that all processes share: the return
// of lock(), and the last moment at which held() said yes before it was given back. SUSPENDED is 1
// if the connection was lost in between, LOST if the lock was.
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

// An election, called as a mutex is.
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
void hold_for_a_moment(Lock& m, storage_link& storage, const std::atomic<bool>& suspended) {
  const auto hold = m.hold();
  const auto from = clock::now();
  std::printf("+ %lld %lld\n", static_cast<long long>(hold.fencing_token()), nanoseconds(from));
  std::fflush(stdout);
  storage.write(hold.fencing_token());
  // Mostly short, but often enough long for a fault to hit; and whoever is cut off stays on to see
  // what comes of it.
  const auto length = hold.fencing_token() % 4 == 0 ? 40ms : 4ms;
  auto last = from;
  bool lost = false;
  for (auto t = from; t < from + length || hold.suspended(); t = clock::now()) {
    // The time is taken before the question, so that a pause in between cannot make it too late.
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
      if (e.code() == errc::not_connected) continue;  // the outage is longer than we are patient
      throw;
    }
    hold_for_a_moment(m, storage, suspended);
    m.unlock();
  }
  return 0;
}

template <class Lock>
int hold_on(Lock& m, storage_link& storage, inbox<bool>& lost) {
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
    return role == "lead" ? hold_on(l, storage, lost) : contend(l, storage, suspended);
  }
  mutex m{zk, arguments.at(4), how};
  if (arguments.at(1) == "keep") return keep(m, storage);
  return arguments.at(1) == "hold" ? hold_on(m, storage, lost) : contend(m, storage, suspended);
}

}  // namespace
}  // namespace conclave::testing

int main(int argc, char** argv) {
  // Waited for by a thread of its own: a handler would interrupt the others' system calls.
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
    std::cerr << "contestant: " << e.what() << "\n";
    return 1;
  }
}
