// Many readers or one writer, and a writer that goes on as a reader: read_write SERVER
#include <iostream>
#include <shared_mutex>

#include <conclave/shared_mutex.hpp>

int main(int argc, char** argv) try {
  const auto server = argc > 1 ? argv[1] : "127.0.0.1:2181";
  conclave::client zk{server};
  conclave::client another{server};
  conclave::shared_mutex here{zk, "/examples/catalogue"};
  conclave::shared_mutex there{another, "/examples/catalogue"};

  {
    const std::shared_lock one{here};
    const std::shared_lock two{there};
    std::cout << "two read\n";
  }
  auto guard = here.scoped_lock();
  std::cout << "one writes; another may read: " << std::boolalpha << there.try_lock_shared()
            << "\n";
  guard.downgrade();  // no writer can come between
  const std::shared_lock too{there};
  std::cout << "the writer reads what it wrote, and so does the other\n";
} catch (const conclave::error& e) {
  std::cerr << "read_write: " << e.what() << "\n";
  return 1;
}
