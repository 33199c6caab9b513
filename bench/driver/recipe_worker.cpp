#include "driver/recipe_worker.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>

namespace conclave::bench {

void serve_loads(const std::function<std::unique_ptr<recipe_load>(std::istream&)>& prepare) {
  std::unique_ptr<recipe_load> load;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "prepare") {
      load = prepare(words);
      std::cout << "ready" << std::endl;
    } else if (command == "start") {
      load->start();
      std::cout << "started" << std::endl;
    } else if (command == "count") {
      std::cout << "count " << load->count() << std::endl;
    } else if (command == "stop") {
      std::string argument;
      words >> argument;
      const auto result = load->stop(argument);
      load.reset();
      std::cout << "stopped " << result << std::endl;
    }
  }
}

std::int64_t monotonic_ns() {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

void abort_round(const char* operation, const char* message) {
  std::fprintf(stderr, "%s: %s\n", operation, message);
  std::_Exit(1);
}

}  // namespace conclave::bench
