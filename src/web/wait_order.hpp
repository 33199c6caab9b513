// Follows the wait queue of one lock or election through watch events, without reads.
//
// The names of contenders contain their sequence numbers, so the events show the order, and who
// holds the lock after each event. The times are those at which the events arrived.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "conclave/layout.hpp"
#include "web/hold_log.hpp"
#include "web/moment.hpp"

namespace conclave::web {

class wait_order {
 public:
  explicit wait_order(hold_log& log) : log_{log} {}

  struct contender {
    std::string node;
    layout::role role{};
    moment since = 0;  // the creation of its node
    bool holds = false;
  };
  using contenders = std::map<std::int32_t, contender>;  // by sequence number

  // A node was created. `since` is also the time of the grant if the lock is free. Has no effect if
  // the node is known.
  void add(std::int32_t number, contender c);
  // A contender was found by reading. Call update_found() after the last one.
  void add_found(std::int32_t number, contender c);
  // The first contenders hold the lock now. `grant_of` returns when each of them was granted it.
  template <class GrantOf>
  void update_found(GrantOf grant_of) {
    for_each_head([&](contender& c) {
      if (std::exchange(c.holds, true)) return;
      log_.begin(c.node, grant_of(c));
    });
  }
  // A node was deleted at this time.
  void remove(std::int32_t number, moment at);

  const contenders& all() const { return all_; }

 private:
  // Calls f for the contenders that hold the lock: the first one, or all readers at the head.
  template <class F>
  void for_each_head(F f) {
    bool is_first = true;
    for (auto& [number, c] : all_) {
      const bool reads = c.role == layout::role::reader;
      if (!is_first && !reads) return;
      f(c);
      if (!reads) return;
      is_first = false;
    }
  }
  void grant_heads(moment at, bool is_handoff);

  hold_log& log_;
  contenders all_;
};

}  // namespace conclave::web
