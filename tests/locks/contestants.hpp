// Starts contestants (contestant.cpp) and reads what they have to say.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "locks/contest.hpp"
#include "locks/fenced_storage.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {

struct contestant_report {
  std::vector<stay> stays;
  std::size_t suspended = 0;  // holds during which the connection was lost
  std::size_t lost = 0;
  std::size_t open = 0;  // holds without an end
};

class contestant {
 public:
  contestant(const fenced_storage& storage, const std::string& role, const std::string& address,
             std::chrono::milliseconds timeout, const std::string& path, bool tickets, int number)
      : process_{[&] {
          child_options o{{CONTESTANT, role, address, std::to_string(timeout.count()), path,
                           tickets ? "1" : "0", std::to_string(storage.port()),
                           std::to_string(number)}};
          o.output = folder_.path() / "said";
          return o;
        }()} {}

  child_process& process() { return process_; }

  // A hold without an end, of a process that was killed, ended with `killed_at`.
  contestant_report report(moment killed_at = moment::min()) const {
    contestant_report r;
    std::ifstream said{folder_.path() / "said"};
    std::map<long long, moment> begun;
    for (std::string text; std::getline(said, text);) {
      std::istringstream words{text};
      char sign = 0;
      long long token = 0;
      long long at = 0;
      std::size_t suspended = 0;
      std::size_t lost = 0;
      if (!(words >> sign >> token >> at)) {
        ADD_FAILURE() << "a contestant says: " << text;
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
      r.stays.emplace_back(begun[token], t, token);
      begun.erase(token);
    }
    r.open = begun.size();
    for (const auto& [token, from] : begun) r.stays.emplace_back(from, killed_at, token);
    return r;
  }

 private:
  temporary_directory folder_;
  child_process process_;
};

}  // namespace conclave::testing
