// What other threads leave for the thread of live_model: watch events and requests to release a
// lock. All members may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "conclave/watch.hpp"
#include "web/moment.hpp"

namespace conclave::web {

struct timed_event {
  watch_event event;
  moment at;
};

class inbox {
 public:
  using clock = std::chrono::steady_clock;

  // Does not store the event if there are already too many.
  void add(const watch_event& e, moment at);
  void add_release_request(std::string node);
  // Lets the next call of wait(), or the current one, return.
  void wake();

  struct contents {
    std::vector<timed_event> events;
    bool are_complete = true;  // otherwise, more events arrived than could be stored
    std::vector<std::string> release_requests;
  };
  // Returns the contents when there are some, after wake(), at `latest` or when a stop is
  // requested. Collects events until `earliest`. A release request does not wait for that time.
  contents wait(const std::stop_token& stop, clock::time_point earliest, clock::time_point latest);
  // Returns the events without waiting. Does not return release requests.
  contents take_events();
  // Waits for this time, or until a stop is requested.
  void pause(const std::stop_token& stop, clock::duration time);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  contents waiting_;
  bool events_end_wait_ = false;
  bool is_woken_ = false;
};

}  // namespace conclave::web
