// A function locks a mutex and calls another function that locks it again: reentrant SERVER
#include <iostream>
#include <mutex>

#include <conclave/recursive_mutex.hpp>

namespace {

void book(conclave::recursive_mutex& m) {
  const std::scoped_lock guard{m};
  std::cout << "booked, held " << m.hold_count() << " times by this thread\n";
}

void transfer(conclave::recursive_mutex& m) {
  const std::scoped_lock guard{m};
  book(m);
  book(m);
}

}  // namespace

int main(int argc, char** argv) try {
  conclave::client zk{argc > 1 ? argv[1] : "127.0.0.1:2181"};
  conclave::recursive_mutex m{zk, "/examples/ledger"};
  transfer(m);
  std::cout << "afterwards held by this thread: " << std::boolalpha << m.held_by_this_thread()
            << "\n";
} catch (const conclave::error& e) {
  std::cerr << "reentrant: " << e.what() << "\n";
  return 1;
}
