#include "queue_rounds.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t item_bytes = 100;
constexpr std::int64_t items_in_a_transaction = 250;

std::string items_path(const queue_variant& v, const std::string& path) {
  return v.claims ? path + "/entries" : path;
}

void fill(client& zk, const queue_variant& v, const std::string& path, std::int64_t items) {
  const auto name = items_path(v, path) + '/' + v.item_prefix;
  for (std::int64_t i = 0; i < items;) {
    transaction some;
    for (const auto end = std::min(items, i + items_in_a_transaction); i < end; ++i)
      some.create(name, item_text(i, item_bytes), create_mode::persistent_sequential);
    zk.commit(std::move(some));
  }
}

// Removes the nodes, so that the tree of the server does not grow with each round.
void empty(client& zk, const std::string& path) {
  const auto names = zk.children(path).names;
  for (std::size_t i = 0; i < names.size();) {
    transaction some;
    for (const auto end = std::min(names.size(), i + items_in_a_transaction); i < end; ++i)
      some.remove(path + '/' + names[i]);
    zk.commit(std::move(some));
  }
}

void check(const round_plan& plan, const consumption& found) {
  const auto wanted = plan.items * (plan.items - 1) / 2;
  if (found.count == plan.items && found.sum == wanted) return;
  throw std::runtime_error("items were lost or duplicated: " + std::to_string(found.count) +
                           " of " + std::to_string(plan.items) + " consumed, with the sum " +
                           std::to_string(found.sum) + " instead of " + std::to_string(wanted));
}

}  // namespace

round_result queue_rounds::run(const round_plan& plan) try {
  const auto path = make_queue(plan);
  start(plan, path);
  const bool ended = await_end(plan);
  const auto found = stop();
  if (ended)
    check(plan, found);
  else
    empty(control(), items_path(*plan.variant, path));
  const auto seconds = static_cast<double>(found.last - found.begun) / 1e9;
  const auto items = static_cast<double>(found.count);
  if (items == 0) throw std::runtime_error("no item was consumed");
  return {{{figure::operations_per_second, items / seconds},
           {figure::us_per_item, seconds * 1e6 / items},
           {figure::items, items}},
          !ended};
} catch (const std::exception& e) {
  throw std::runtime_error(plan.variant->name + ": " + e.what());
}

// Creates the queue before the workers start. Users of DistributedQueue fail if they create it at
// the same time.
std::string queue_rounds::make_queue(const round_plan& plan) {
  auto path = new_path();
  control().create(path);
  if (plan.variant->claims) {
    control().create(path + "/entries");
    control().create(path + "/taken");
  }
  if (plan.producers == 0) fill(control(), *plan.variant, path, plan.items);
  return path;
}

// If there is only one producer and one consumer, they run in different processes.
void queue_rounds::start(const round_plan& plan, const std::string& path) {
  const auto workers = std::min(workers_of_a_library, plan.producers + plan.consumers);
  const auto items_each =
      plan.producers == 0 ? 0 : plan.items / static_cast<std::int64_t>(plan.producers);
  std::vector<std::string> arguments;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < workers; ++i) {
    const auto producers = part(plan.producers, workers, i);
    std::ostringstream text;
    text << plan.variant->mode << ' ' << server().connect_string() << ' ' << path << ' '
         << producers << ' ' << part(plan.consumers, workers, workers - 1 - i) << ' ' << first
         << ' ' << items_each << ' ' << item_bytes;
    arguments.push_back(text.str());
    first += static_cast<std::int64_t>(producers) * items_each;
  }
  prepare_workers(plan.variant->library, arguments);
  start_workers();
}

// Returns false at the time limit.
bool queue_rounds::await_end(const round_plan& plan) {
  for (const auto deadline = clock::now() + plan.limit; count() < plan.items;) {
    if (clock::now() > deadline) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

consumption queue_rounds::stop() {
  consumption all;
  for (const auto& text : stop_workers()) {
    const auto some = consumption_from(text);
    all.count += some.count;
    all.sum += some.sum;
    all.begun = all.begun == 0 ? some.begun : std::min(all.begun, some.begun);
    all.last = std::max(all.last, some.last);
  }
  return all;
}

}  // namespace conclave::bench
