// Producers and consumers in processes of their own, which are killed, stopped and disconnected. In
// the end every pushed item has been completed once.
#include <csignal>
#include <fstream>
#include <map>
#include <random>

#include "queue/fixture.hpp"
#include "support/child_process.hpp"
#include "support/link_proxy.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {
namespace {

constexpr auto session = 1000ms;
constexpr int items = 10'000;
constexpr int producers = 4;
constexpr int workers = 4;
constexpr int faults = 12;

struct item_counts {
  int pushing = 0, pushed = 0, completing = 0, completed = 0, unclear = 0;
};

class worker {
 public:
  worker(const std::string& address, const std::string& path, std::vector<std::string> more)
      : process_{[&] {
          std::vector<std::string> args{QUEUE_WORKER, more.size() > 1 ? "produce" : "work", address,
                                        std::to_string(session.count()), path};
          if (more.size() > 1) args.insert(args.end(), more.begin(), more.end());
          child_options o{args};
          o.output = folder_.path() / "said";
          return o;
        }()} {}

  child_process& process() { return process_; }

  // A killed process may not have written its last step.
  void report(std::map<std::string, item_counts>& counts) const {
    std::ifstream said{folder_.path() / "said"};
    for (std::string line; std::getline(said, line);) {
      if (line.size() < 3 || line[1] != ' ') {
        ADD_FAILURE() << "unexpected line of a worker: " << line;
        continue;
      }
      auto& f = counts[line.substr(2)];
      switch (line[0]) {
        case '>': ++f.pushing; break;
        case '=': ++f.pushed; break;
        case '?': ++f.completing; break;
        case '!': ++f.completed; break;
        case '~': ++f.unclear; break;
        default: ADD_FAILURE() << "unexpected line of a worker: " << line;
      }
    }
  }

 private:
  temporary_directory folder_;
  child_process process_;
};

class queue_processes : public one_queue {
 protected:
  // How many items were created or removed.
  int changes() { return zk.exists(path)->cversion; }

  // Waits for the condition as long as the queue changes. Returns false if the queue has not
  // changed for `wait_limit`.
  template <class Condition>
  bool wait_while_it_changes(Condition done) {
    auto seen = changes();
    auto since = std::chrono::steady_clock::now();
    while (!done()) {
      const auto present = std::chrono::steady_clock::now();
      if (const auto count = changes(); count != seen) {
        seen = count;
        since = present;
      } else if (present - since > wait_limit) {
        return false;
      }
    }
    return true;
  }
};

TEST_F(queue_processes, every_pushed_item_is_completed_once) {
  std::vector<std::unique_ptr<link_proxy>> proxies;
  std::vector<std::unique_ptr<worker>> producing, working;
  std::map<std::string, item_counts> counts;
  int next_name = 0;
  const auto produce = [&](const std::string& address, int count) {
    return std::make_unique<worker>(
        address, path,
        std::vector<std::string>{"p" + std::to_string(next_name++), std::to_string(count)});
  };
  const auto work = [&](const std::string& address) {
    return std::make_unique<worker>(address, path, std::vector<std::string>{});
  };
  for (int i = 0; i < producers + workers; ++i)
    proxies.push_back(std::make_unique<link_proxy>(shared_server().port()));
  for (std::size_t i = 0; i < producers; ++i)
    producing.push_back(produce(proxies[i]->connect_string(), items / producers));
  for (std::size_t i = 0; i < workers; ++i)
    working.push_back(work(proxies[producers + i]->connect_string()));

  std::mt19937 random{7};
  for (int round = 0; round < faults; ++round) {
    // Every item causes two changes. The faults are spread over two thirds of them.
    while (changes() < round * items * 4 / 3 / faults) {
    }
    const auto slot = random() % workers;
    auto& proxy = *proxies[producers + slot];
    switch (round % 4) {
      case 0:
        working[slot]->process().kill(SIGKILL);
        ASSERT_TRUE(working[slot]->process().wait(wait_limit));
        working[slot]->report(counts);
        working[slot] = work(proxy.connect_string());
        break;
      case 1: {
        // For longer than its session timeout. Meanwhile the others continue.
        working[slot]->process().pause();
        const auto until = std::chrono::steady_clock::now() + 2 * session;
        while (std::chrono::steady_clock::now() < until) zk.sync();
        working[slot]->process().resume();
        break;
      }
      case 2: {
        const auto producer = random() % producers;
        for (auto& each : proxies) each->drop_links();
        producing[producer]->process().kill(SIGKILL);
        ASSERT_TRUE(producing[producer]->process().wait(wait_limit));
        producing[producer]->report(counts);
        producing[producer] = produce(proxies[producer]->connect_string(), items / producers / 4);
        break;
      }
      default:
        proxy.disconnect(link_proxy::ending::reset);
        zk.sync();
        proxy.heal();
    }
  }
  for (auto& each : producing) {
    std::optional<exit_status> ended;
    ASSERT_TRUE(wait_while_it_changes([&] {
      ended = each->process().wait(0s);
      return ended.has_value();
    })) << "a producer hangs";
    EXPECT_EQ(ended->code, 0);
    each->report(counts);
  }
  queue q{zk, path};
  EXPECT_TRUE(wait_while_it_changes([&] { return q.empty(); }))
      << "the remaining items are not completed";
  for (auto& each : working) each->process().kill(SIGTERM);
  for (auto& each : working) {
    const auto ended = each->process().wait(wait_limit);
    ASSERT_TRUE(ended) << "a worker hangs";
    EXPECT_EQ(ended->code, 0);
    each->report(counts);
  }

  int pushed = 0, completed = 0, unclear = 0;
  for (const auto& [item, f] : counts) {
    pushed += f.pushed;
    completed += f.completed;
    unclear += f.pushed == 1 && f.completed == 0;
    EXPECT_EQ(f.pushing, 1) << item << " is not an item";
    EXPECT_LE(f.completed, 1) << item << " was completed twice";
    // Its worker was killed, or its session ended, before it could report the completion.
    if (f.pushed == 1 && f.completed == 0) {
      EXPECT_GT(f.completing, 0) << item << " was pushed and never completed";
    }
  }
  EXPECT_GT(pushed, items * 3 / 4);
  EXPECT_LE(unclear, faults) << "at most one for each fault";
  RecordProperty("pushed", pushed);
  RecordProperty("completed", completed);
  std::cout << pushed << " pushed, " << completed << " completed, " << unclear
            << " completed by a worker that did not report it\n";
  const auto left =
      zk.exists(path + ".conclave/taken") ? zk.children(path + ".conclave/taken").names.size() : 0;
  EXPECT_EQ(left, 0u) << "claims are left";
}

}  // namespace
}  // namespace conclave::testing
