// A worker process: repeats one job until SIGTERM. The driver kills, stops and disconnects it.
//
//   chaos_worker JOB ADDRESS TIMEOUT_MS HISTORY STORE NAME SEED [careless]
#include <csignal>
#include <exception>
#include <iostream>
#include <thread>
#include <vector>

#include "chaos/job.hpp"

namespace conclave::chaos {

using namespace std::chrono_literals;

void worker_context::pause(std::chrono::milliseconds d) const {
  const auto end = now() + std::chrono::nanoseconds{d}.count();
  while (now() < end && !stop.stop_requested()) std::this_thread::sleep_for(1ms);
}

bool is_outage(const error_code& ec) {
  return ec == errc::not_connected || ec == condition::session_dead ||
         ec == condition::outcome_unknown;
}

std::unique_ptr<job> make_job(std::string_view kind, worker_context& s) {
  if (auto j = make_lock_job(kind, s)) return j;
  if (auto j = make_queue_job(kind, s)) return j;
  throw std::invalid_argument{"no job '" + std::string{kind} + "'"};
}

namespace {

void work(const std::vector<std::string>& args, history& log, std::stop_token stop) {
  fenced_store_link store{args.at(5)};
  client_options o;
  o.session_timeout = std::chrono::milliseconds{std::stoi(args.at(3))};
  o.reconnect = exponential_backoff(20ms, 200ms);
  client zk{args.at(2), o};
  worker_context s{zk,
                   log,
                   store,
                   std::mt19937_64{std::stoull(args.at(7))},
                   std::move(stop),
                   args.at(6),
                   args.size() > 8 && args[8] == "careless"};
  const auto j = make_job(args.at(1), s);
  while (!s.stop.stop_requested()) {
    try {
      j->once();
    } catch (const error& e) {
      if (!is_outage(e.code())) throw;
      s.pause(s.between(0, 50));
    }
  }
}

int run(const std::vector<std::string>& args) {
  // Blocked before any thread starts, so that only sigwait() receives it.
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  std::stop_source stop;
  std::thread{[term, stop]() mutable {
    int signal = 0;
    sigwait(&term, &signal);
    stop.request_stop();
  }}.detach();
  history log{args.at(4)};
  try {
    work(args, log, stop.get_token());
    return 0;
  } catch (const std::exception& e) {
    log.write("error", {e.what()});
    return 1;
  }
}

}  // namespace
}  // namespace conclave::chaos

int main(int argc, char** argv) {
  try {
    return conclave::chaos::run({argv, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "chaos_worker: " << e.what() << '\n';
    return 2;
  }
}
