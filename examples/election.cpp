// Three candidates, one of which leads at a time: election SERVER
#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <conclave/election.hpp>

int main(int argc, char** argv) try {
  const std::string server = argc > 1 ? argv[1] : "127.0.0.1:2181";
  conclave::client zk{server};
  std::mutex printing;
  const auto print = [&](const std::string& text) {
    const std::scoped_lock guard{printing};
    std::cout << text << std::endl;
  };

  // An observer does not have to be a candidate.
  const conclave::election_observer observer{
      zk, "/examples/election",
      [&](const auto& leader) { print("leader: " + (leader ? leader->owner : "nobody")); }};

  std::atomic<bool> failed{false};
  std::vector<std::jthread> candidates;
  for (const std::string name : {"ann", "bob", "eve"})
    candidates.emplace_back([&, name] {
      // In production, each candidate is a separate process.
      try {
        conclave::client mine{server};
        conclave::election_options options;
        options.id = name;
        conclave::election e{mine, "/examples/election", options};
        e.run_as_leader([&](const std::stop_token& lost) {
          for (int step = 1; step <= 3 && !lost.stop_requested(); ++step) {
            print(name + " works, step " + std::to_string(step) + ", token " +
                  std::to_string(e.fencing_token()));
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
          }
        });
        print(name + " has resigned");
      } catch (const conclave::error& e) {
        std::cerr << "election: " + name + ": " + e.what() + "\n";
        failed = true;
      }
    });
  candidates.clear();
  return failed ? 1 : 0;
} catch (const conclave::error& e) {
  std::cerr << "election: " << e.what() << "\n";
  return 1;
}
