// judge_history FILE: checks a history (history_judge.hpp) and prints one line for each violation.
// Exit codes: 0 no violation, 1 violations, 2 the file cannot be read or is invalid.
#include <exception>
#include <fstream>
#include <iostream>

#include "history_judge.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: judge_history FILE\n";
    return 2;
  }
  std::ifstream history{argv[1]};
  if (!history) {
    std::cerr << "judge_history: cannot read " << argv[1] << "\n";
    return 2;
  }
  try {
    const auto violations = conclave::checkers::judge_history(history);
    for (const auto& v : violations) std::cout << v << "\n";
    return violations.empty() ? 0 : 1;
  } catch (const std::exception& e) {
    std::cerr << "judge_history: " << argv[1] << ": " << e.what() << "\n";
    return 2;
  }
}
