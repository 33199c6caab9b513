#include "round.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "series.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr const char* parent = "/bench";
constexpr int first_round = 1000;  // so that all paths have the same length
constexpr std::chrono::seconds answer_limit = 60s;
constexpr std::size_t item_bytes = 100;
constexpr std::int64_t items_in_a_transaction = 250;

// Of `all`, what falls to one of the processes.
std::size_t share(std::size_t all, std::size_t processes, std::size_t number) {
  return all / processes + (number < all % processes ? 1 : 0);
}

// Where its items are.
std::string items_path(const variant& who, const std::string& path) {
  return who.claims ? path + "/entries" : path;
}

void fill(client& zk, const variant& who, const std::string& path, std::int64_t items) {
  const auto name = items_path(who, path) + '/' + who.item_prefix;
  for (std::int64_t i = 0; i < items;) {
    transaction some;
    for (const auto end = std::min(items, i + items_in_a_transaction); i < end; ++i)
      some.create(name, item_text(i, item_bytes), create_mode::persistent_sequential);
    zk.commit(std::move(some));
  }
}

// So that the server's tree does not grow from round to round.
void empty(client& zk, const std::string& path) {
  const auto names = zk.children(path).names;
  for (std::size_t i = 0; i < names.size();) {
    transaction some;
    for (const auto end = std::min(names.size(), i + items_in_a_transaction); i < end; ++i)
      some.remove(path + '/' + names[i]);
    zk.commit(std::move(some));
  }
}

void check(const round_plan& plan, const flow_result& found) {
  const auto wanted = plan.items * (plan.items - 1) / 2;
  if (found.consumed == plan.items && found.sum == wanted) return;
  throw std::runtime_error(plan.who->name +
                           " has lost or doubled items: " + std::to_string(found.consumed) +
                           " of " + std::to_string(plan.items) + " consumed, with the sum " +
                           std::to_string(found.sum) + " instead of " + std::to_string(wanted));
}

}  // namespace

arena::arena(const testing::zookeeper_options& options, std::optional<int> cpu)
    : server_(options), control_(server_.connect_string()), cast_(cpu) {
  control_.create(parent);
  if (cpu) pin_.emplace(server_.pid(), *cpu);
}

round_result arena::run(const round_plan& plan) try {
  const auto path = make_queue(plan);
  start(plan, path);
  const bool ended = await_end(plan);
  const auto found = stop();
  if (ended)
    check(plan, found);
  else
    empty(control_, items_path(*plan.who, path));
  const auto seconds = static_cast<double>(found.last - found.begun) / 1e9;
  const auto items = static_cast<double>(found.consumed);
  if (items == 0) throw std::runtime_error("nothing was consumed");
  return {{{figure::operations_per_second, items / seconds},
           {figure::us_per_item, seconds * 1e6 / items},
           {figure::items, items}},
          !ended};
} catch (const std::exception& e) {
  throw std::runtime_error(plan.who->name + ": " + e.what());
}

// It is there before anybody comes: users of DistributedQueue that make it at the same moment fail.
std::string arena::make_queue(const round_plan& plan) {
  auto path = std::string(parent) + '/' + std::to_string(first_round + rounds_++);
  control_.create(path);
  if (plan.who->claims) {
    control_.create(path + "/entries");
    control_.create(path + "/taken");
  }
  if (plan.producers == 0) fill(control_, *plan.who, path, plan.items);
  return path;
}

// Producers and consumers are spread so that, with one of each, they are in different processes.
void arena::start(const round_plan& plan, const std::string& path) {
  const auto processes = std::min(cast::processes, plan.producers + plan.consumers);
  const auto each =
      plan.producers == 0 ? 0 : plan.items / static_cast<std::int64_t>(plan.producers);
  present_.clear();
  std::int64_t first = 0;
  for (std::size_t i = 0; i < processes; ++i) {
    present_.push_back(&cast_.member(plan.who->library, i));
    const auto producers = share(plan.producers, processes, i);
    std::ostringstream command;
    command << "run " << plan.who->mode << ' ' << server_.connect_string() << ' ' << path << ' '
            << producers << ' ' << share(plan.consumers, processes, processes - 1 - i) << ' '
            << first << ' ' << each << ' ' << item_bytes;
    present_.back()->tell(command.str());
    first += static_cast<std::int64_t>(producers) * each;
  }
  for (auto* one : present_) one->answer("ready", answer_limit);
  for (auto* one : present_) one->tell("go");
  for (auto* one : present_) one->answer("going", answer_limit);
}

// False at the limit.
bool arena::await_end(const round_plan& plan) {
  const auto deadline = clock::now() + plan.limit;
  for (;;) {
    std::int64_t consumed = 0;
    for (auto* one : present_) {
      one->tell("count");
      consumed += std::stoll(one->answer("count ", answer_limit).substr(6));
    }
    if (consumed >= plan.items) return true;
    if (clock::now() > deadline) return false;
    std::this_thread::sleep_for(10ms);
  }
}

flow_result arena::stop() {
  flow_result all;
  for (auto* one : present_) one->tell("stop");
  for (auto* one : present_) {
    std::istringstream words(one->answer("stopped ", answer_limit).substr(8));
    flow_result some;
    words >> some.consumed >> some.sum >> some.begun >> some.last;
    all.consumed += some.consumed;
    all.sum += some.sum;
    all.begun = all.begun == 0 ? some.begun : std::min(all.begun, some.begun);
    all.last = std::max(all.last, some.last);
  }
  return all;
}

}  // namespace conclave::bench
