// Candidates of one election in a simulated world.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_test_world.hpp"

namespace conclave::simulated {

using lines = std::vector<std::string>;

class election_world {
 public:
  inline static const std::string path = "/services/leader";

  explicit election_world(const world_options& o) : c{o} {
    c.world.by_hand().create("/services");
    c.world.by_hand().create(path);
  }
  locker_pointer candidate(std::size_t client, const std::string& id = "host") {
    lock_options o;
    o.owner = id;
    return c.add(client, an_election(path), o);
  }
  call_pointer leader(const locker_pointer& l) {
    auto a = l->lock();
    EXPECT_TRUE(c.granted(a));
    return a;
  }
  call_pointer ready(const locker_pointer& l) {
    auto a = l->lock();
    EXPECT_TRUE(c.run_until([&] {
      return !l->events().empty() &&
             l->events().back().type == election_event::kind::ready_complete;
    }));
    return a;
  }
  void expire(std::size_t client) {
    auto& link = c.world.client(client);
    link.refuse_connections(true);
    link.disconnect();
    c.world.advance(std::chrono::seconds{30});
    link.refuse_connections(false);
  }
  lines ids() {
    lines all;
    for (const auto& name : c.children(path))
      all.push_back(c.world.by_hand().get(path + '/' + name).data);
    return all;
  }

  lock_test_world c;
};

}  // namespace conclave::simulated
