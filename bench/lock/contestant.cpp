#include "contestant.hpp"

#include <iostream>
#include <sstream>
#include <string>

#include "contest.hpp"

namespace conclave::bench {

std::unique_ptr<contest> begin_contest(const contest_plan& plan) {
  return plan.mode == mode::blocking ? begin_blocking_contest(plan)
                                     : begin_asynchronous_contest(plan);
}

void run_contestant() {
  std::unique_ptr<contest> present;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "run") {
      contest_plan plan;
      words >> plan.mode >> plan.servers >> plan.path >> plan.sessions >> plan.contenders >>
          plan.first_number;
      present = begin_contest(plan);
      std::cout << "ready" << std::endl;
    } else if (command == "go") {
      present->go();
      std::cout << "going" << std::endl;
    } else if (command == "count") {
      std::cout << "count " << present->count() << std::endl;
    } else if (command == "stop") {
      std::string file;
      words >> file;
      write_cycles(file, present->stop());
      present.reset();
      std::cout << "stopped" << std::endl;
    }
  }
}

}  // namespace conclave::bench
