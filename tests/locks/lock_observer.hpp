// Helpers for tests of locks under faults: an observer of a wait queue and a check for exclusion.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <ostream>
#include <string>
#include <vector>

#include "conclave/mutex.hpp"
#include "integration/harness.hpp"

namespace conclave::testing {

// All processes on the machine share this clock.
using moment = std::chrono::steady_clock::time_point;
inline moment now() { return std::chrono::steady_clock::now(); }

// From the return of lock() to the last time at which held() returned true.
struct hold_interval {
  hold_interval(moment f, moment t, std::int64_t with) : from{f}, to{t}, token{with} {}
  moment from;
  moment to;
  std::int64_t token;
};

// Adds a failure for each two holders at the same time, and for each token that does not increase.
inline void expect_exclusion(std::vector<hold_interval> all) {
  std::erase_if(all, [](const hold_interval& s) { return s.to <= s.from; });
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.from < b.from; });
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LE(all[i - 1].to, all[i].from)
        << "two holders, tokens " << all[i - 1].token << " and " << all[i].token << ", for "
        << std::chrono::nanoseconds{all[i - 1].to - all[i].from}.count() << " ns";
    EXPECT_LT(all[i - 1].token, all[i].token) << "the token does not increase";
  }
}

// The wait queue of one lock, observed by a client without faults.
class lock_observer {
 public:
  explicit lock_observer(const std::string& name) : path_{fresh_node(zk_, name)} {}

  client& zk() { return zk_; }
  const std::string& path() const { return path_; }

  std::vector<std::string> contenders() {
    auto names = zk_.children(path_).names;
    std::sort(names.begin(), names.end());
    return names;
  }
  // Waits until there are n contenders, or at least n. Returns false on a timeout.
  bool wait_for(std::size_t n) {
    return wait([n](std::size_t there) { return there == n; });
  }
  bool wait_for_at_least(std::size_t n) {
    return wait([n](std::size_t there) { return there >= n; });
  }
  // Waits until this node is deleted.
  bool wait_until_gone(const std::string& node) {
    for (;;) {
      watch_recorder changed;
      try {
        zk_.get(node, changed.get());
      } catch (const error& e) {
        if (e.code() == errc::no_node) return true;
        throw;
      }
      if (!changed.take()) return false;
    }
  }

 private:
  template <class Condition>
  bool wait(Condition fits) {
    for (;;) {
      watch_recorder changed;
      if (fits(zk_.children(path_, changed.get()).names.size())) return true;
      if (!changed.take()) return false;
    }
  }

  client zk_{shared_server().connect_string()};
  std::string path_;
};

inline std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Runs the function in another thread.
template <class F>
auto run_async(F f) {
  return std::async(std::launch::async, std::move(f));
}

template <class T>
bool ready(const std::future<T>& f, std::chrono::nanoseconds limit = wait_limit) {
  return f.wait_for(limit) == std::future_status::ready;
}

// Runs each test with and without tickets.
class with_and_without_tickets : public ::testing::TestWithParam<bool> {
 protected:
  static lock_options options() {
    lock_options o;
    o.tickets = GetParam();
    return o;
  }
};
inline std::string tickets_name(const ::testing::TestParamInfo<bool>& i) {
  return i.param ? "tickets" : "no_tickets";
}

}  // namespace conclave::testing
