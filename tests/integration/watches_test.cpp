// Watches of all kinds on a real server, without connection losses (see reconnect_test).
#include <atomic>

#include "integration/harness.hpp"

namespace conclave::testing {
namespace {

using kind = watch_event::kind;

class watches : public ::testing::Test {
 protected:
  void expect(watch_recorder& recorder, kind type, const std::string& path) {
    const auto event = recorder.take();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, type);
    EXPECT_EQ(event->path, path);
  }

  client zk{shared_server().connect_string()};
  client other{shared_server().connect_string()};
  std::string root = fresh_node(zk, "watch");
};

TEST_F(watches, get_reports_one_data_change) {
  watch_recorder seen;
  zk.get(root, seen.get());
  other.set(root, "1");
  other.set(root, "2");
  expect(seen, kind::changed, root);
  zk.sync(root);
  EXPECT_EQ(seen.size(), 0u);
}

TEST_F(watches, get_reports_a_deletion) {
  watch_recorder seen;
  const auto path = zk.create(root + "/d").path;
  zk.get(path, seen.get());
  other.remove(path);
  expect(seen, kind::deleted, path);
}

TEST_F(watches, exists_reports_a_creation) {
  watch_recorder seen;
  EXPECT_FALSE(zk.exists(root + "/n", seen.get()));
  other.create(root + "/n");
  expect(seen, kind::created, root + "/n");
}

TEST_F(watches, a_failed_get_sets_no_watch) {
  watch_recorder seen;
  EXPECT_EQ(code_of([&] { zk.get(root + "/n", seen.get()); }), errc::no_node);
  other.create(root + "/n");
  zk.sync(root);
  EXPECT_EQ(seen.size(), 0u);
}

TEST_F(watches, children_reports_additions_and_the_deletion_of_the_parent) {
  watch_recorder seen;
  zk.children(root, seen.get());
  other.create(root + "/a");
  expect(seen, kind::children_changed, root);
  zk.children(root + "/a", seen.get());
  other.remove(root + "/a");
  expect(seen, kind::deleted, root + "/a");
}

TEST_F(watches, an_event_precedes_the_reply_that_shows_the_change) {
  std::atomic<bool> called{false};
  zk.get(root, [&](const watch_event&) { called = true; });
  other.set(root, "new");
  zk.sync(root);
  ASSERT_EQ(zk.get(root).data, "new");
  EXPECT_TRUE(called);
}

TEST_F(watches, all_watchers_of_one_node_are_called) {
  watch_recorder first;
  watch_recorder second;
  zk.get(root, first.get());
  zk.exists(root, second.get());
  zk.get(root, first.get());
  other.set(root, "x");
  expect(first, kind::changed, root);
  expect(second, kind::changed, root);
  zk.sync(root);
  EXPECT_EQ(first.size(), 0u) << "set twice, called once";
}

TEST_F(watches, a_persistent_watch_reports_every_change) {
  watch_recorder seen;
  zk.add_watch(root, watch_mode::persistent, seen.get());
  other.set(root, "1");
  other.set(root, "2");
  other.create(root + "/child");
  other.set(root + "/child", "not reported");
  expect(seen, kind::changed, root);
  expect(seen, kind::changed, root);
  expect(seen, kind::children_changed, root);
  zk.sync(root);
  EXPECT_EQ(seen.size(), 0u);
}

TEST_F(watches, a_recursive_watch_reports_all_descendants) {
  watch_recorder seen;
  zk.add_watch(root, watch_mode::recursive, seen.get());
  other.create(root + "/a");
  other.create(root + "/a/b");
  other.set(root + "/a/b", "x");
  other.remove(root + "/a/b");
  other.set(root, "y");
  expect(seen, kind::created, root + "/a");
  expect(seen, kind::created, root + "/a/b");
  expect(seen, kind::changed, root + "/a/b");
  expect(seen, kind::deleted, root + "/a/b");
  expect(seen, kind::changed, root);
}

TEST_F(watches, a_one_shot_watch_does_not_end_a_persistent_one) {
  watch_recorder persistent;
  watch_recorder once;
  zk.add_watch(root, watch_mode::persistent, persistent.get());
  zk.get(root, once.get());
  other.set(root, "1");
  other.set(root, "2");
  expect(once, kind::changed, root);
  expect(persistent, kind::changed, root);
  expect(persistent, kind::changed, root);
  zk.sync(root);
  EXPECT_EQ(once.size(), 0u);
}

TEST_F(watches, a_one_shot_watch_right_after_add_watch_does_not_end_it) {
  watch_recorder persistent;
  watch_recorder once;
  inbox<error_code> done;
  zk.async_add_watch(root, watch_mode::persistent, persistent.get(),
                     [&](error_code ec) { done.put(ec); });
  zk.get(root, once.get());
  EXPECT_EQ(done.take(), error_code{});
  other.set(root, "1");
  other.set(root, "2");
  expect(once, kind::changed, root);
  expect(persistent, kind::changed, root);
  expect(persistent, kind::changed, root);
}

TEST_F(watches, destructors_of_captured_objects_may_use_the_client) {
  struct nosy {
    explicit nosy(client& c) : zk{&c} {}
    ~nosy() { zk->state(); }
    client* zk;
  };
  zk.get(root, [n = std::make_shared<nosy>(zk)](const watch_event&) {});
  zk.remove_watch(root, watch_kind::data);  // would hang if the client were locked
}

TEST_F(watches, removed_watches_are_not_called_and_are_removed_on_the_server) {
  watch_recorder seen;
  zk.get(root, seen.get());
  zk.children(root, seen.get());
  zk.remove_watch(root, watch_kind::data, seen.get());
  zk.remove_watch(root, watch_kind::children, seen.get());
  EXPECT_EQ(shared_server().ask("wchp").find(root + "\n"), std::string::npos);
  other.set(root, "x");
  zk.sync(root);
  EXPECT_EQ(seen.size(), 0u);
  EXPECT_EQ(code_of([&] { zk.remove_watch(root, watch_kind::data, seen.get()); }),
            errc::no_watcher);
}

TEST_F(watches, persistent_watches_can_be_removed) {
  watch_recorder seen;
  zk.add_watch(root, watch_mode::recursive, seen.get());
  zk.remove_watch(root, watch_kind::any, seen.get());
  other.create(root + "/a");
  zk.sync(root);
  EXPECT_EQ(seen.size(), 0u);
}

TEST_F(watches, removing_one_watch_keeps_the_other) {
  watch_recorder leaving;
  watch_recorder staying;
  zk.get(root, leaving.get());
  zk.get(root, staying.get());
  zk.remove_watch(root, watch_kind::data, leaving.get());
  other.set(root, "x");
  expect(staying, kind::changed, root);
  EXPECT_EQ(leaving.size(), 0u);
}

TEST_F(watches, paths_in_events_are_without_the_chroot) {
  client inside{shared_server().connect_string() + root};
  watch_recorder seen;
  inside.create("/a");
  inside.get("/a", seen.get());
  inside.children("/", seen.get());
  other.set(root + "/a", "x");
  other.create(root + "/b");
  expect(seen, kind::changed, "/a");
  expect(seen, kind::children_changed, "/");
}

TEST_F(watches, closing_the_client_calls_no_watcher) {
  watch_recorder seen;
  zk.get(root, seen.get());
  zk.close();
  EXPECT_EQ(seen.size(), 0u);
}

TEST_F(watches, a_blocking_call_in_a_watcher_is_refused_but_an_asynchronous_one_is_not) {
  inbox<error_code> blocking;
  inbox<std::string> data;
  zk.get(root, [&](const watch_event&) {
    blocking.put(code_of([&] { zk.get(root); }));
    zk.async_get(root, [&](error_code, get_result r) { data.put(r.data); });
  });
  other.set(root, "news");
  EXPECT_EQ(blocking.take(), error_code{errc::would_deadlock});
  EXPECT_EQ(data.take(), "news");
}

}  // namespace
}  // namespace conclave::testing
