// Waits for a lock with a timeout: timed_lock SERVER
#include <chrono>
#include <iostream>
#include <mutex>

#include <conclave/contenders.hpp>
#include <conclave/mutex.hpp>

int main(int argc, char** argv) try {
  using namespace std::chrono_literals;
  const auto server = argc > 1 ? argv[1] : "127.0.0.1:2181";
  conclave::client zk{server};
  conclave::client zk2{server};
  conclave::mutex theirs{zk2, "/examples/timed"};
  conclave::mutex ours{zk, "/examples/timed"};

  theirs.lock();
  if (const std::unique_lock guard{ours, 100ms}; !guard)
    for (const auto& c : conclave::contenders(zk, "/examples/timed"))
      if (c.holds) std::cout << "not acquired within 100 ms: " << c.owner << " holds it\n";

  theirs.unlock();
  if (const std::unique_lock guard{ours, 10s}; guard) std::cout << "acquired\n";
} catch (const conclave::error& e) {
  std::cerr << "timed_lock: " << e.what() << "\n";
  return 1;
}
