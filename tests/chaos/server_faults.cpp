#include "chaos/server_faults.hpp"

#include <exception>
#include <stdexcept>

namespace conclave::chaos {

server_faults::server_faults(servers& s, const worker_pool& f, fault_log& log, std::uint64_t seed,
                             nanoseconds session)
    : servers_{s}, workers_{f}, log_{log}, random_{seed}, session_{session} {
  thread_ = std::jthread{[this](const std::stop_token& stop) {
    try {
      run(stop);
    } catch (const std::exception& e) {
      failure_ = e.what();
    }
  }};
}

void server_faults::finish() {
  thread_.request_stop();
  thread_.join();
  if (!failure_.empty()) throw std::runtime_error{failure_};
}

void server_faults::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pause(stop, between(session_ / 2, 3 * session_));
    if (!stop.stop_requested()) inject_one(stop);
    servers_.wait_until_all_serve();
  }
}

// The first four faults are one of each kind. Later faults are random.
void server_faults::inject_one(const std::stop_token& stop) {
  const auto which = done_ < 4 ? done_ : static_cast<int>(between(0, 3));
  ++done_;
  const bool of_leader = which % 2 == 0;
  const bool by_kill = which < 2;
  const auto i = choose(of_leader);
  const auto length = between(session_ / 20, 2 * session_);
  fault f;
  f.kind = std::string{by_kill ? "kill -9 of " : "stop of "} + (servers_.count() == 1 ? "the server"
                                                                : of_leader           ? "the leader"
                                                                            : "a follower");
  f.target = "server-" + std::to_string(i + 1);
  f.slots = workers_.connected_to(i);
  f.of_server = true;
  f.at = now();
  f.until = f.at + length;
  by_kill ? servers_.kill(i) : servers_.pause(i);
  const auto logged = log_.add(std::move(f));
  pause(stop, length);
  by_kill ? servers_.start_again(i) : servers_.resume(i);
  log_.healed(logged);
}

std::size_t server_faults::choose(bool of_leader) {
  const auto leader = servers_.leader().value_or(0);
  if (of_leader || servers_.count() == 1) return leader;
  return (leader +
          static_cast<std::size_t>(between(1, static_cast<nanoseconds>(servers_.count()) - 1))) %
         servers_.count();
}

void server_faults::pause(const std::stop_token& stop, nanoseconds length) {
  std::mutex m;
  std::condition_variable_any stopped;
  std::unique_lock lock{m};
  stopped.wait_for(lock, stop, std::chrono::nanoseconds{length}, [] { return false; });
}

}  // namespace conclave::chaos
