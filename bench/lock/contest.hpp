// A number of contenders of this library that take and leave one lock again and again, in this
// process.
//
// Until go() whoever gets the lock keeps it, so that a line can form in peace. From then on each
// contender gives it up at once and asks for it again.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cycle.hpp"

namespace conclave::bench {

namespace mode {
inline constexpr const char* blocking = "blocking";          // a thread for each contender
inline constexpr const char* asynchronous = "asynchronous";  // no thread for any; so the others
inline constexpr const char* without_tickets = "without-tickets";
inline constexpr const char* named = "named";
inline constexpr const char* naive = "naive";
}  // namespace mode

struct contest_plan {
  std::string mode;
  std::string servers;
  std::string path;
  std::size_t sessions{1};
  std::size_t contenders{1};    // spread over the sessions
  std::size_t first_number{0};  // of these contenders among those of all processes
};

class contest {
 public:
  virtual ~contest() = default;
  virtual void go() = 0;
  virtual std::size_t count() const = 0;  // of cycles so far
  // Ends the sessions; what waits in line goes with them.
  virtual std::vector<cycle> stop() = 0;
};

// Connected, and every contender has asked for the lock.
std::unique_ptr<contest> begin_contest(const contest_plan& plan);
std::unique_ptr<contest> begin_blocking_contest(const contest_plan& plan);
std::unique_ptr<contest> begin_asynchronous_contest(const contest_plan& plan);

}  // namespace conclave::bench
