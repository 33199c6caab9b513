// Starts a lock user (lock_user.cpp) in its own process and parses its output.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "locks/fenced_storage.hpp"
#include "locks/lock_observer.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {

struct lock_user_report {
  std::vector<hold_interval> holds;
  std::size_t suspended = 0;  // holds during which the connection was lost
  std::size_t lost = 0;
  std::size_t open = 0;  // holds without an end
};

class lock_user {
 public:
  lock_user(const fenced_storage& storage, const std::string& role, const std::string& address,
            std::chrono::milliseconds timeout, const std::string& path, bool tickets, int number)
      : process_{[&] {
          child_options o{{LOCK_USER, role, address, std::to_string(timeout.count()), path,
                           tickets ? "1" : "0", std::to_string(storage.port()),
                           std::to_string(number)}};
          o.output = folder_.path() / "output";
          return o;
        }()} {}

  child_process& process() { return process_; }

  // For a killed process, `killed_at` is the end of its last hold.
  lock_user_report report(moment killed_at = moment::min()) const {
    lock_user_report r;
    std::ifstream output{folder_.path() / "output"};
    std::map<long long, moment> begun;
    for (std::string text; std::getline(output, text);) {
      std::istringstream words{text};
      char sign = 0;
      long long token = 0;
      long long at = 0;
      std::size_t suspended = 0;
      std::size_t lost = 0;
      if (!(words >> sign >> token >> at)) {
        ADD_FAILURE() << "unexpected line of a lock_user: " << text;
        continue;
      }
      const moment t{std::chrono::nanoseconds{at}};
      if (sign == '+') {
        begun[token] = t;
        continue;
      }
      words >> suspended >> lost;
      r.suspended += suspended;
      r.lost += lost;
      r.holds.emplace_back(begun[token], t, token);
      begun.erase(token);
    }
    r.open = begun.size();
    for (const auto& [token, from] : begun) r.holds.emplace_back(from, killed_at, token);
    return r;
  }

 private:
  temporary_directory folder_;
  child_process process_;
};

}  // namespace conclave::testing
