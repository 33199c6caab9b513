// Statistics of a server, read with four-letter words.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <thread>

#include "support/four_letter_word.hpp"

namespace conclave::testing {

// A value of mntr, or -1 if there is none.
inline long long statistic(std::uint16_t port, const std::string& name) {
  std::istringstream lines{ask_server(port, "mntr", std::chrono::seconds{10})};
  std::string word;
  long long value = 0;
  for (std::string line; std::getline(lines, line);)
    if (std::istringstream fields{line}; fields >> word && word == name && fields >> value)
      return value;
  return -1;
}

// Includes the connection of this query.
inline long long connections_of(std::uint16_t port) {
  return statistic(port, "zk_num_alive_connections");
}

// Polls the condition, for actions of a server that cause no event. Returns false on a timeout.
inline bool eventually(const std::function<bool()>& what,
                       std::chrono::milliseconds limit = std::chrono::seconds{30}) {
  for (const auto end = std::chrono::steady_clock::now() + limit; !what();) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return true;
}

}  // namespace conclave::testing
