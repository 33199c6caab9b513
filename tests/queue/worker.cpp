// A process that pushes to a queue or completes its items. Tests kill, stop and disconnect it.
//
//   queue_worker produce ADDRESS TIMEOUT_MS PATH NAME COUNT
//       pushes NAME-0 to NAME-(COUNT-1), several at a time, and exits
//   queue_worker work ADDRESS TIMEOUT_MS PATH
//       claims items and completes them, one in eight at the second attempt, until SIGTERM
//
// It writes a line for each step of an item to standard output: "> ITEM" before the push, "= ITEM"
// after it, "? ITEM" before the completion, "! ITEM" after it, "~ ITEM" if the outcome is unknown.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "conclave/queue.hpp"

namespace conclave::testing {
namespace {

using namespace std::chrono_literals;

void report(char step, const std::string& item) {
  std::printf("%c %s\n", step, item.c_str());
  std::fflush(stdout);
}

int produce(queue& q, const std::string& name, int count) {
  for (int i = 0; i < count;) {
    std::vector<std::string> some;
    for (int n = i % 7; n >= 0 && i < count; --n) some.push_back(name + '-' + std::to_string(i++));
    for (const auto& item : some) report('>', item);
    try {
      q.push(some);
      for (const auto& item : some) report('=', item);
    } catch (const error& e) {
      // The outcome is unknown.
      if (e.code() != condition::session_dead && e.code() != condition::outcome_unknown) throw;
    }
  }
  return 0;
}

int work(queue& q, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      auto job = q.claim(stop);
      if (!job) break;
      const auto item = job->data();
      if (job->attempts() == 1 && std::hash<std::string>{}(item) % 8 == 0)
        continue;  // releases the claim
      report('?', item);
      try {
        job->complete();
        report('!', item);
      } catch (const error& e) {
        if (e.code() == condition::session_dead)
          report('~', item);
        else if (e.code() != errc::lock_lost)
          throw;
      }
    } catch (const error& e) {
      if (e.code() != errc::not_connected && e.code() != condition::session_dead) throw;
    }
  }
  return 0;
}

int run(const std::vector<std::string>& args) {
  client_options o;
  o.session_timeout = std::chrono::milliseconds{std::stoi(args.at(2))};
  // Blocked before any thread starts, so that only sigwait() receives it.
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  client zk{args.at(1), o};
  queue q{zk, args.at(3)};
  if (args.at(0) == "produce") return produce(q, args.at(4), std::stoi(args.at(5)));
  std::stop_source stop;
  std::thread waits{[&] {
    int signal = 0;
    sigwait(&term, &signal);
    stop.request_stop();
  }};
  const auto result = work(q, stop.get_token());
  waits.join();
  return result;
}

}  // namespace
}  // namespace conclave::testing

int main(int argc, char** argv) {
  try {
    return conclave::testing::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
