// Many readers or one writer, and a writer that becomes a reader: read_write SERVER
#include <iostream>
#include <shared_mutex>

#include <conclave/shared_mutex.hpp>

int main(int argc, char** argv) try {
  const auto server = argc > 1 ? argv[1] : "127.0.0.1:2181";
  conclave::client zk{server};
  conclave::client zk2{server};
  conclave::shared_mutex first{zk, "/examples/catalogue"};
  conclave::shared_mutex second{zk2, "/examples/catalogue"};

  {
    const std::shared_lock reader1{first};
    const std::shared_lock reader2{second};
    std::cout << "two readers hold the lock\n";
  }
  auto guard = first.scoped_lock();
  std::cout << "a writer holds the lock; can a reader acquire it: " << std::boolalpha
            << second.try_lock_shared() << "\n";
  guard.downgrade();  // no other writer can acquire the lock in between
  const std::shared_lock reader{second};
  std::cout << "after the downgrade, both hold it as readers\n";
} catch (const conclave::error& e) {
  std::cerr << "read_write: " << e.what() << "\n";
  return 1;
}
