// A fixture for tests of shared queues.
#pragma once

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "conclave/queue.hpp"
#include "integration/harness.hpp"
#include "user_process.hpp"

namespace conclave::testing {

inline void PrintTo(recipe r, std::ostream* out) { *out << name_of(r); }

inline std::string name_of_param(const ::testing::TestParamInfo<recipe>& i) {
  return name_of(i.param);
}

using item_list = std::vector<std::string>;

// NAME-0, NAME-1, ...
inline item_list items_named(const std::string& name, int count) {
  item_list all;
  for (int i = 0; i < count; ++i) all.push_back(name + '-' + std::to_string(i));
  return all;
}

inline item_list sorted(item_list items) {
  std::sort(items.begin(), items.end());
  return items;
}

inline item_list operator+(item_list a, const item_list& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class queue_interop_test : public ::testing::Test {
 protected:
  user_process start(side s, recipe r, const std::string& roles, int pace_ms = 0,
                     std::chrono::milliseconds session_timeout = 20s) const {
    return {s, usage{r, path, roles, pace_ms, session_timeout}};
  }

  // Concurrent users of DistributedQueue fail to create the queue, so the test creates it.
  void make_queue() { zk.create(path); }

  queue open(recipe r) {
    queue_options options;
    options.layout = layout_of(r);
    return {zk, path, options};
  }

  // Pushes `end` items after all other items. Each ends one consumer.
  void put_ends(recipe r, std::size_t count) {
    create_options options;
    options.mode = create_mode::persistent_sequential;
    const auto prefix = layout_of(r) == queue_layout::zookeeper ? "/qn-" : "/entry-999-";
    for (std::size_t i = 0; i < count; ++i) zk.create(items_path(r, path) + prefix, "end", options);
  }

  // Ignores the child that conclave's consumers add if they have not created the path.
  item_list items_left(recipe r, const watcher& w = {}) {
    auto names = zk.children(items_path(r, path), w).names;
    std::erase(names, "conclave");
    return names;
  }

  // Waits until everything has been consumed.
  void await_empty(recipe r) {
    const auto end = std::chrono::steady_clock::now() + wait_limit;
    for (;;) {
      watch_recorder changed;
      const auto now = items_left(r, changed.get()).size();
      if (now == 0) return;
      ASSERT_TRUE(changed.take(end - std::chrono::steady_clock::now()))
          << now << " items are left at " << path;
    }
  }

  // Checks that no items and no claims are left.
  void expect_empty(recipe r) {
    EXPECT_EQ(items_left(r), item_list{});
    if (r == recipe::kazoo_locking) {
      EXPECT_EQ(zk.children(path + "/taken").names, item_list{});
    }
  }

  client zk{shared_server().connect_string()};
  std::string path = fresh_node(zk, "queue") + "/shared";  // created by the first user
};

// Runs each test with each recipe.
class with_a_recipe : public queue_interop_test, public ::testing::WithParamInterface<recipe> {};

}  // namespace conclave::testing
