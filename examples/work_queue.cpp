// Claims items, so that no item is lost if a worker fails: work_queue SERVER
#include <iostream>

#include <conclave/queue.hpp>

int main(int argc, char** argv) try {
  conclave::client zk{argc > 1 ? argv[1] : "127.0.0.1:2181"};
  conclave::queue_options options;
  options.max_attempts = 2;
  conclave::queue jobs{zk, "/examples/jobs", options};
  jobs.push({"resize 1.png", "resize broken.png", "resize 2.png"});

  while (auto job = jobs.try_claim()) {
    std::cout << job->data() << ", attempt " << job->attempts() << ": ";
    if (job->data().find("broken") != std::string::npos) {
      std::cout << "failed\n";  // the destructor of the claim returns the item to the queue
      continue;
    }
    job->complete();
    std::cout << "done\n";
  }
  for (const auto& item : jobs.set_aside()) {
    std::cout << "set aside: " << item.data << "\n";
    jobs.discard(item);  // or restore() it when the cause is fixed
  }
} catch (const conclave::error& e) {
  std::cerr << "work_queue: " << e.what() << "\n";
  return 1;
}
