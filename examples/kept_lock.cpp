// Uses a lock again and again without a request to the server: kept_lock SERVER
#include <chrono>
#include <iostream>
#include <mutex>

#include <conclave/mutex.hpp>

int main(int argc, char** argv) try {
  using namespace std::chrono_literals;
  conclave::client zk{argc > 1 ? argv[1] : "127.0.0.1:2181"};
  conclave::lock_options options;
  options.keep_for = 1s;  // the lock stays with `mutex` while no other contender exists
  conclave::mutex mutex{zk, "/examples/kept", options};

  constexpr int rounds = 100'000;
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) const std::scoped_lock guard{mutex};
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begun;
  std::cout << rounds << " acquisitions in " << time.count() << " s\n";
} catch (const conclave::error& e) {
  std::cerr << "kept_lock: " << e.what() << "\n";
  return 1;
}
