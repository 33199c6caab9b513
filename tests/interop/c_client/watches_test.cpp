// Watches on one connection.
#include "fixture.hpp"

namespace conclave::testing {
namespace {

class watches : public both_halves {
 protected:
  void SetUp() override {
    both_halves::SetUp();
    ASSERT_TRUE(other.wait_connected());
    elsewhere = calls_on(other);
  }

  c_client other{shared_server().connect_string()};
  std::unique_ptr<calls> elsewhere;  // makes the changes
};
INSTANTIATE_BOTH_HALVES(watches);

TEST_P(watches, exists_on_a_missing_node_reports_its_creation) {
  watch w;
  EXPECT_EQ(api->exists(root + "/a", &w).rc, ZNONODE);
  ASSERT_EQ(elsewhere->create(root + "/a", "").rc, ZOK);
  EXPECT_EQ(w.take(), created(root + "/a"));
}

TEST_P(watches, exists_reports_changes_and_removal) {
  watch change;
  watch removal;
  ASSERT_EQ(api->exists(root, &change).rc, ZOK);
  ASSERT_EQ(elsewhere->set(root, "x").rc, ZOK);
  EXPECT_EQ(change.take(), changed(root));
  ASSERT_EQ(api->exists(root, &removal).rc, ZOK);
  ASSERT_EQ(elsewhere->remove(root).rc, ZOK);
  EXPECT_EQ(removal.take(), deleted(root));
}

TEST_P(watches, get_reports_changes_and_removal) {
  watch change;
  watch removal;
  ASSERT_EQ(api->get(root, &change).rc, ZOK);
  ASSERT_EQ(elsewhere->create(root + "/child", "").rc, ZOK);
  ASSERT_EQ(elsewhere->remove(root + "/child").rc, ZOK);
  ASSERT_EQ(elsewhere->set_acl(root, open_acl()).rc, ZOK);
  catch_up();
  EXPECT_EQ(change.size(), 0u) << "children and permissions are not data";
  ASSERT_EQ(elsewhere->set(root, "x").rc, ZOK);
  EXPECT_EQ(change.take(), changed(root));
  ASSERT_EQ(api->get(root, &removal).rc, ZOK);
  ASSERT_EQ(elsewhere->remove(root).rc, ZOK);
  EXPECT_EQ(removal.take(), deleted(root));
}

TEST_P(watches, a_failed_read_sets_none) {
  watch w;
  EXPECT_EQ(api->get(root + "/a", &w).rc, ZNONODE);
  EXPECT_EQ(api->children(root + "/a", &w).rc, ZNONODE);
  ASSERT_EQ(elsewhere->create(root + "/a", "").rc, ZOK);
  ASSERT_EQ(elsewhere->set(root + "/a", "x").rc, ZOK);
  catch_up();
  EXPECT_EQ(w.size(), 0u);
}

TEST_P(watches, children_reports_created_and_removed_children_and_the_removal_of_the_node) {
  watch made;
  watch removed;
  watch end;
  ASSERT_EQ(api->children(root, &made).rc, ZOK);
  ASSERT_EQ(elsewhere->set(root, "x").rc, ZOK);
  ASSERT_EQ(elsewhere->create(root + "/a", "").rc, ZOK);
  EXPECT_EQ(made.take(), children_changed(root)) << "the change of its data is no business of it";

  ASSERT_EQ(api->children2(root, &removed).rc, ZOK);
  ASSERT_EQ(elsewhere->set(root + "/a", "x").rc, ZOK);
  ASSERT_EQ(elsewhere->remove(root + "/a").rc, ZOK);
  EXPECT_EQ(removed.take(), children_changed(root));

  ASSERT_EQ(api->children(root, &end).rc, ZOK);
  ASSERT_EQ(elsewhere->remove(root).rc, ZOK);
  EXPECT_EQ(end.take(), deleted(root));
}

TEST_P(watches, a_flag_instead_of_a_watcher) {
  ASSERT_EQ(api->exists_flagged(root + "/a").rc, ZNONODE);
  ASSERT_EQ(elsewhere->create(root + "/a", "").rc, ZOK);
  EXPECT_EQ(zk.events.take(), created(root + "/a"));
  ASSERT_EQ(api->get_flagged(root + "/a").rc, ZOK);
  ASSERT_EQ(elsewhere->set(root + "/a", "x").rc, ZOK);
  EXPECT_EQ(zk.events.take(), changed(root + "/a"));
  ASSERT_EQ(api->children_flagged(root).rc, ZOK);
  ASSERT_EQ(elsewhere->remove(root + "/a").rc, ZOK);
  EXPECT_EQ(zk.events.take(), children_changed(root));
}

TEST_P(watches, each_fires_once) {
  watch w;
  ASSERT_EQ(api->get(root, &w).rc, ZOK);
  ASSERT_EQ(api->exists(root, &w).rc, ZOK);
  ASSERT_EQ(elsewhere->set(root, "1").rc, ZOK);
  ASSERT_EQ(elsewhere->set(root, "2").rc, ZOK);
  catch_up();
  EXPECT_EQ(w.take(), changed(root));
  EXPECT_EQ(w.size(), 0u);
}

TEST_P(watches, all_watching_clients_are_notified) {
  watch first;
  watch second;
  watch third;
  ASSERT_EQ(api->get(root, &first).rc, ZOK);
  ASSERT_EQ(api->exists(root, &second).rc, ZOK);
  ASSERT_EQ(elsewhere->get(root, &third).rc, ZOK);
  ASSERT_EQ(elsewhere->set(root, "x").rc, ZOK);
  EXPECT_EQ(first.take(), changed(root));
  EXPECT_EQ(second.take(), changed(root));
  EXPECT_EQ(third.take(), changed(root));
}

TEST_P(watches, one_event_for_the_removal_of_a_node_with_two_kinds_of_watches) {
  watch data;
  watch list;
  ASSERT_EQ(api->get(root, &data).rc, ZOK);
  ASSERT_EQ(api->children(root, &list).rc, ZOK);
  ASSERT_EQ(elsewhere->remove(root).rc, ZOK);
  EXPECT_EQ(data.take(), deleted(root));
  EXPECT_EQ(list.take(), deleted(root));
  catch_up();
  EXPECT_EQ(data.size() + list.size(), 0u);
}

// The library delivers events and completions in the order of their arrival.
TEST_P(watches, an_event_precedes_the_reply_that_shows_the_change) {
  struct order {
    event_log log;
    static void on_event(zhandle_t*, int type, int, const char* path, void* self) {
      if (type != ZOO_SESSION_EVENT) static_cast<order*>(self)->log.put({type, 0, path});
    }
    static void on_set(int rc, const Stat*, const void* self) {
      static_cast<order*>(const_cast<void*>(self))->log.put({0, rc, "answer"});
    }
  } seen;
  Stat stat{};
  ASSERT_EQ(zoo_wexists(zk, root.c_str(), order::on_event, &seen, &stat), ZOK);
  ASSERT_EQ(zoo_aset(zk, root.c_str(), "x", 1, -1, order::on_set, &seen), ZOK);
  EXPECT_EQ(seen.log.take(), (event{ZOO_CHANGED_EVENT, 0, root}));
  EXPECT_EQ(seen.log.take(), (event{0, ZOK, "answer"}));

  ASSERT_EQ(zoo_wexists(zk, root.c_str(), order::on_event, &seen, &stat), ZOK);
  ASSERT_EQ(elsewhere->set(root, "y").rc, ZOK);
  ASSERT_EQ(zoo_aexists(zk, root.c_str(), 0, order::on_set, &seen), ZOK);
  EXPECT_EQ(seen.log.take(), (event{ZOO_CHANGED_EVENT, 0, root}));
  EXPECT_EQ(seen.log.take(), (event{0, ZOK, "answer"}));
}

TEST_P(watches, removed_ones_do_not_fire) {
  watch data;
  watch list;
  watch kept;
  ASSERT_EQ(api->get(root, &data).rc, ZOK);
  ASSERT_EQ(api->children(root, &list).rc, ZOK);
  ASSERT_EQ(api->children(root, &kept).rc, ZOK);
  EXPECT_EQ(api->remove_watch(root, ZWATCHTYPE_DATA, &data).rc, ZOK);
  EXPECT_EQ(api->remove_watch(root, ZWATCHTYPE_CHILD, &list).rc, ZOK);
  EXPECT_EQ(api->remove_watch(root, ZWATCHTYPE_CHILD, &list).rc, ZNOWATCHER);
  ASSERT_EQ(elsewhere->set(root, "x").rc, ZOK);
  ASSERT_EQ(elsewhere->create(root + "/a", "").rc, ZOK);
  EXPECT_EQ(kept.take(), children_changed(root));
  catch_up();
  EXPECT_EQ(data.size() + list.size(), 0u);
}

TEST_P(watches, all_of_a_node_are_removed) {
  watch data;
  watch list;
  ASSERT_EQ(api->get(root, &data).rc, ZOK);
  ASSERT_EQ(api->children(root, &list).rc, ZOK);
  EXPECT_EQ(api->remove_all_watches(root, ZWATCHTYPE_DATA).rc, ZOK);
  EXPECT_EQ(api->remove_all_watches(root, ZWATCHTYPE_ANY).rc, ZOK);
  EXPECT_EQ(api->remove_all_watches(root, ZWATCHTYPE_ANY).rc, ZNOWATCHER);
  ASSERT_EQ(elsewhere->set(root, "x").rc, ZOK);
  ASSERT_EQ(elsewhere->create(root + "/a", "").rc, ZOK);
  catch_up();
  EXPECT_EQ(data.size() + list.size(), 0u);
}

// The server's own list shows the watches.
TEST_P(watches, the_server_forgets_removed_watches) {
  const auto held = [&] { return shared_server().ask("wchp").find(root) != std::string::npos; };
  watch w;
  ASSERT_EQ(api->get(root, &w).rc, ZOK);
  EXPECT_TRUE(held());
  EXPECT_EQ(api->remove_all_watches(root, ZWATCHTYPE_DATA).rc, ZOK);
  EXPECT_FALSE(held());
}

TEST_P(watches, no_event_without_permission_to_read) {
  const auto path = root + "/a";
  ASSERT_EQ(api->create(path, "").rc, ZOK);
  watch secret;
  watch open;
  ASSERT_EQ(api->get(path, &secret).rc, ZOK);
  ASSERT_EQ(api->get(root, &open).rc, ZOK);
  ASSERT_EQ(elsewhere->set_acl(path, {{ZOO_PERM_ALL & ~ZOO_PERM_READ, "world", "anyone"}}).rc, ZOK);
  ASSERT_EQ(elsewhere->set(path, "x").rc, ZOK);
  ASSERT_EQ(elsewhere->set(root, "x").rc, ZOK);
  EXPECT_EQ(open.take(), changed(root));
  EXPECT_EQ(secret.size(), 0u);
}

}  // namespace
}  // namespace conclave::testing
