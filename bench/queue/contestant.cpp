#include "contestant.hpp"

#include <chrono>
#include <iostream>
#include <sstream>
#include <string>

#include "flow.hpp"

namespace conclave::bench {

std::int64_t monotonic_ns() {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

std::string item_text(std::int64_t number, std::size_t bytes) {
  auto text = std::to_string(number);
  text.resize(bytes, ' ');
  return text;
}

std::unique_ptr<flow> begin_flow(const flow_plan& plan) {
  return plan.mode == mode::blocking || plan.mode == mode::claiming ? begin_blocking_flow(plan)
                                                                    : begin_asynchronous_flow(plan);
}

void run_contestant() {
  std::unique_ptr<flow> present;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "run") {
      flow_plan plan;
      words >> plan.mode >> plan.servers >> plan.path >> plan.producers >> plan.consumers >>
          plan.first >> plan.items >> plan.bytes;
      present = begin_flow(plan);
      std::cout << "ready" << std::endl;
    } else if (command == "go") {
      present->go();
      std::cout << "going" << std::endl;
    } else if (command == "count") {
      std::cout << "count " << present->consumed() << std::endl;
    } else if (command == "stop") {
      const auto found = present->stop();
      present.reset();
      std::cout << "stopped " << found.consumed << ' ' << found.sum << ' ' << found.begun << ' '
                << found.last << std::endl;
    }
  }
}

}  // namespace conclave::bench
