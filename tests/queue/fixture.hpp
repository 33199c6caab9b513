// A fixture and helpers for the tests of the queue.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "conclave/queue.hpp"
#include "integration/harness.hpp"

namespace conclave::testing {

// A client and a new path for a queue.
class one_queue : public ::testing::Test {
 protected:
  client zk{shared_server().connect_string()};
  std::string path = fresh_node(zk, "queue");

  // Pops all items.
  static std::vector<std::string> drain(queue& q) {
    std::vector<std::string> all;
    while (auto item = q.try_pop()) all.push_back(std::move(item->data));
    return all;
  }
};

inline std::vector<std::string> numbered(int from, int to) {
  std::vector<std::string> all;
  for (int i = from; i < to; ++i) all.push_back(std::to_string(i));
  return all;
}

inline std::vector<std::string> sorted(std::vector<std::string> all) {
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace conclave::testing
