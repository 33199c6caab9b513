// Tasks that each acquire a lock and then wait for another one, in one process with one session.
// The Java and the Python program in this folder have the same command line and behave the same.
//
//   deadlocked_tasks CONNECT (NAME HELD LAYOUT AWAITED LAYOUT)...
//
//   NAME   the owner of the locks of this task
//
// There is one thread for each group of five words. The program prints "holds" when all threads
// have acquired their first locks. The threads begin to wait for the second locks when the program
// reads a line. It ends when it is killed.
#include <iostream>
#include <latch>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/mutex.hpp"

namespace {

conclave::layout layout_named(std::string_view name) {
  if (name == "curator") return conclave::layout::curator();
  if (name == "kazoo") return conclave::layout::kazoo();
  throw std::invalid_argument{"unknown layout"};
}

conclave::mutex lock_at(conclave::client& zk, const std::string& path, const std::string& layout,
                        const std::string& name) {
  conclave::lock_options options;
  options.layout = layout_named(layout);
  options.owner = name;
  return {zk, path, options};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words{argv + 1, argv + argc};
  constexpr std::size_t words_of_task = 5;
  const auto tasks = (words.size() - 1) / words_of_task;
  conclave::client zk{words[0]};
  std::latch all_hold{static_cast<std::ptrdiff_t>(tasks)};
  std::latch may_wait{1};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < tasks; ++i)
    threads.emplace_back([&, task = words.data() + 1 + i * words_of_task] {
      auto held = lock_at(zk, task[1], task[2], task[0]);
      auto awaited = lock_at(zk, task[3], task[4], task[0]);
      held.lock();
      all_hold.count_down();
      may_wait.wait();
      awaited.lock();
    });
  all_hold.wait();
  std::cout << "holds" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  may_wait.count_down();
}
