// Runs some steps while it holds a lock: lock SERVER
#include <iostream>
#include <mutex>

#include <conclave/mutex.hpp>

int main(int argc, char** argv) try {
  conclave::client zk{argc > 1 ? argv[1] : "127.0.0.1:2181"};
  conclave::mutex m{zk, "/examples/lock"};

  const std::scoped_lock guard{m};
  std::cout << "acquired with fencing token " << m.fencing_token() << "\n";

  // A long task must check from time to time whether the lock is still held.
  for (int step = 1; step <= 3 && m.held(); ++step) std::cout << "step " << step << "\n";
} catch (const conclave::error& e) {
  std::cerr << "lock: " << e.what() << "\n";
  return 1;
}
