// Uses the client without locks: creates a node and watches it: quickstart SERVER
#include <future>
#include <iostream>

#include <conclave/client.hpp>

int main(int argc, char** argv) try {
  conclave::client zk{argc > 1 ? argv[1] : "127.0.0.1:2181"};

  const auto node = zk.create("/greeting-", "hello", conclave::create_mode::ephemeral_sequential);
  std::cout << "created " << node.path << " with czxid " << node.stat.czxid << "\n";

  std::promise<conclave::watch_event> changed;
  zk.get(node.path, [&](const conclave::watch_event& e) { changed.set_value(e); });
  zk.set(node.path, "good evening");
  std::cout << "watch event: " << changed.get_future().get().path << " changed\n";

  std::cout << "its data: " << zk.get(node.path).data << "\n";
} catch (const conclave::error& e) {
  std::cerr << "quickstart: " << e.what() << "\n";
  return 1;
}
