// A process that pushes to a queue or works on its items, to be killed, stopped, cut off.
//
//   queue_worker produce ADDRESS TIMEOUT_MS PATH NAME COUNT
//       pushes NAME-0 to NAME-(COUNT-1), some at a time, and ends
//   queue_worker work ADDRESS TIMEOUT_MS PATH
//       claims items and completes them, one in eight at the second attempt, until SIGTERM
//
// On standard output, a line for each step of an item: "> ITEM" before it is pushed and "= ITEM"
// once it is in the queue, "? ITEM" before it is completed, "! ITEM" once it is, "~ ITEM" if that
// cannot be told.
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

void say(char what, const std::string& item) {
  std::printf("%c %s\n", what, item.c_str());
  std::fflush(stdout);
}

int produce(queue& q, const std::string& name, int count) {
  for (int i = 0; i < count;) {
    std::vector<std::string> some;
    for (int n = i % 7; n >= 0 && i < count; --n) some.push_back(name + '-' + std::to_string(i++));
    for (const auto& item : some) say('>', item);
    try {
      q.push(some);
      for (const auto& item : some) say('=', item);
    } catch (const error& e) {
      // Whether they are there cannot be told.
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
      if (job->attempts() == 1 && std::hash<std::string>{}(item) % 8 == 0) continue;  // given back
      say('?', item);
      try {
        job->complete();
        say('!', item);
      } catch (const error& e) {
        if (e.code() == condition::session_dead)
          say('~', item);
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
  // Before any thread begins, so that only the one that waits gets it.
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
