// A producer and a consumer: queue SERVER
#include <future>
#include <iostream>

#include <conclave/queue.hpp>

int main(int argc, char** argv) try {
  conclave::client zk{argc > 1 ? argv[1] : "127.0.0.1:2181"};
  conclave::queue q{zk, "/examples/queue"};

  auto consumer = std::async(std::launch::async, [&] {
    for (;;) {
      const auto item = q.pop();  // waits for an item
      if (item.data == "end") return;
      std::cout << "popped " << item.data << "\n";
    }
  });
  q.push("one");
  q.push({"two", "three"});  // pushes both items or none
  q.push("end");
  consumer.get();
  std::cout << "items left: " << q.size() << "\n";
} catch (const conclave::error& e) {
  std::cerr << "queue: " << e.what() << "\n";
  return 1;
}
