#include "round.hpp"

#include <algorithm>
#include <sstream>
#include <thread>

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr const char* parent = "/bench";
constexpr int first_round = 1000;  // so that all paths have the same length
constexpr std::chrono::seconds answer_limit = 60s;
constexpr auto line_limit = 20s;
constexpr auto measured_limit = 12s;

// Of `all`, what falls to one of the processes.
std::size_t share(std::size_t all, std::size_t processes, std::size_t number) {
  return all / processes + (number < all % processes ? 1 : 0);
}

// Both: a long list may have been asked for and not been sent yet.
std::size_t received_and_sent(const testing::zookeeper_server& server) {
  const auto status = server.ask("srvr");
  std::size_t sum = 0;
  for (const std::string name : {"Received: ", "Sent: "}) {
    const auto at = status.find(name);
    if (at == std::string::npos) throw std::runtime_error("the server does not count:\n" + status);
    sum += std::stoul(status.substr(at + name.size()));
  }
  return sum;
}

figures figures_of(const round_plan& plan, const std::vector<cycle>& cycles, time_span span) {
  return plan.contenders == 1 ? cycle_figures(cycles, span) : hand_off_figures(cycles, span);
}

}  // namespace

arena::arena(const testing::zookeeper_options& options, std::optional<int> cpu)
    : server_(options), control_(server_.connect_string()), cast_(cpu) {
  control_.create(parent);
  if (cpu) pin_.emplace(server_.pid(), *cpu);
}

figures arena::timed(const round_plan& plan) {
  const auto found = run(plan, nullptr);
  return figures_of(plan, found.cycles, found.span);
}

figures arena::counted(const round_plan& plan) {
  const testing::link_proxy proxy(server_.port());
  const auto found = run(plan, &proxy);
  const auto operations = figures_of(plan, found.cycles, found.span).at(figure::operations);
  return found.after->since(*found.before, operations);
}

arena::taken arena::run(const round_plan& plan, const testing::link_proxy* proxy) {
  taken result;
  const auto path = std::string(parent) + '/' + std::to_string(first_round + rounds_++);
  start(plan, path, proxy ? proxy->connect_string() : server_.connect_string());
  try {
    await_line(plan, path);
    measure(plan, proxy, result);
  } catch (const gave_up&) {
    stop();
    throw;
  }
  result.cycles = stop();
  return result;
}

void arena::start(const round_plan& plan, const std::string& path, const std::string& servers) {
  const auto processes = std::min(cast::processes, plan.sessions);
  present_.clear();
  std::size_t first = 0;
  for (std::size_t i = 0; i < processes; ++i) {
    present_.push_back(&cast_.member(plan.who->library, i));
    const auto contenders = share(plan.contenders, processes, i);
    std::ostringstream command;
    command << "run " << plan.who->mode << ' ' << servers << ' ' << path << ' '
            << share(plan.sessions, processes, i) << ' ' << contenders << ' ' << first;
    present_.back()->tell(command.str());
    first += contenders;
  }
  for (auto* one : present_) one->answer("ready", answer_limit);
}

// Somebody has the lock and keeps it, all others wait.
void arena::await_line(const round_plan& plan, const std::string& path) {
  const auto deadline = clock::now() + line_limit;
  const auto in_time = [&](std::size_t standing) {
    if (clock::now() < deadline) return;
    throw gave_up("after " + std::to_string(line_limit / 1s) + " s only " +
                  std::to_string(standing) + " stood in line");
  };
  if (plan.who->has_line) {
    const auto standing = [&] {
      const auto parent = control_.exists(path);
      return parent ? static_cast<std::size_t>(parent->num_children) : 0;
    };
    for (auto n = standing(); n < plan.contenders; n = standing()) {
      in_time(n);
      std::this_thread::sleep_for(5ms);
    }
  }
  // Who stands in line still looks who is before him: until the server has nothing to do.
  constexpr std::size_t quiet = 20;  // some session may send a ping
  for (auto before = received_and_sent(server_);;) {
    std::this_thread::sleep_for(50ms);
    const auto now = received_and_sent(server_);
    if (now < before + quiet) break;
    before = now;
    in_time(plan.contenders);
  }
}

void arena::measure(const round_plan& plan, const testing::link_proxy* proxy, taken& result) {
  for (auto* one : present_) one->tell("go");
  for (auto* one : present_) one->answer("going", answer_limit);
  std::this_thread::sleep_for(plan.warm_up);
  const auto before = count();
  const auto begun = clock::now();
  result.span.from = monotonic_ns();
  if (proxy) result.before.emplace(*proxy);
  std::this_thread::sleep_for(plan.measured);
  while (count() < before + plan.least_operations) {
    if (clock::now() > begun + measured_limit)
      throw gave_up("in " + std::to_string(measured_limit / 1s) + " s only " +
                    std::to_string(count() - before) + " hand-offs");
    std::this_thread::sleep_for(20ms);
  }
  if (proxy) result.after.emplace(*proxy);
  result.span.until = monotonic_ns();
}

std::size_t arena::count() {
  std::size_t sum = 0;
  for (auto* one : present_) {
    one->tell("count");
    sum += std::stoul(one->answer("count ", answer_limit).substr(6));
  }
  return sum;
}

// All are told before anybody is waited for: those who leave would make the others move up.
std::vector<cycle> arena::stop() {
  std::vector<cycle> all;
  const auto file = [this](std::size_t i) { return folder_.path() / std::to_string(i); };
  for (std::size_t i = 0; i < present_.size(); ++i) present_[i]->tell("stop " + file(i).string());
  for (std::size_t i = 0; i < present_.size(); ++i) {
    present_[i]->answer("stopped", answer_limit);
    const auto some = read_cycles(file(i));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace conclave::bench
