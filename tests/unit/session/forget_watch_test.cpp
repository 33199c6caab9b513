// Removal of watchers. A watch is removed from the server only if no watcher needs it.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using lines = std::vector<std::string>;

test_operation_ptr set_by_library(test_operation_ptr read) {
  read->watch->owner = watch_owner::library;
  return read;
}

struct attached {
  attached() { loop.attach(); }
  void set_watch(test_operation_ptr op) {
    loop.submit(std::move(op));
    loop.answer(loop.take_request());
  }
  bool forget(watch_kind kind, const watcher& which = {}) {
    ec = {};
    return loop.machine().forget_watch(kind, "/a", which, ec);
  }
  virtual_loop loop;
  watcher v = loop.journal_watcher("v");
  watcher w = loop.journal_watcher("w");
  error_code ec;
};

TEST(forget_watch, removes_the_watch_with_the_only_watcher) {
  attached a;
  a.set_watch(get("/a", a.w));
  EXPECT_TRUE(a.forget(watch_kind::data, a.w));
  EXPECT_FALSE(a.ec);
  EXPECT_EQ(a.loop.machine().watch_count(), 0u);
  a.loop.pump();
  EXPECT_EQ(a.loop.discarded(), 1);  // the watcher is destroyed outside the machine
  a.loop.take_journal();
  a.loop.event(watch_event::kind::changed, "/a");
  EXPECT_TRUE(a.loop.take_journal().empty());
}

TEST(forget_watch, keeps_the_watch_while_another_watcher_is_left) {
  attached a;
  a.set_watch(get("/a", a.v));
  a.set_watch(get("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::data, a.v));
  EXPECT_FALSE(a.ec);
  a.loop.take_journal();
  a.loop.event(watch_event::kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"w changed /a"});
}

TEST(forget_watch, removes_the_watch_with_the_last_of_two_watchers) {
  attached a;
  a.set_watch(get("/a", a.v));
  a.set_watch(get("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::data, a.v));
  EXPECT_TRUE(a.forget(watch_kind::data, a.w));
}

TEST(forget_watch, of_an_unknown_watcher_fails) {
  attached a;
  EXPECT_FALSE(a.forget(watch_kind::any, a.w));
  EXPECT_EQ(a.ec, error_code{errc::no_watcher});
  a.set_watch(get("/a", a.v));
  EXPECT_FALSE(a.forget(watch_kind::any, a.w));
  EXPECT_EQ(a.ec, error_code{errc::no_watcher});
  EXPECT_FALSE(a.forget(watch_kind::children, a.v));
  EXPECT_EQ(a.ec, error_code{errc::no_watcher});
  EXPECT_EQ(a.loop.machine().watch_count(), 1u);
}

TEST(forget_watch, without_a_watcher_removes_all) {
  attached a;
  a.set_watch(get("/a", a.v));
  a.set_watch(children("/a", a.w));
  a.set_watch(add_watch("/a", watch_mode::persistent, a.v));
  a.set_watch(add_watch("/a", watch_mode::recursive, a.w));
  EXPECT_TRUE(a.forget(watch_kind::any));
  EXPECT_EQ(a.loop.machine().watch_count(), 0u);
}

// A program that removes all watches of a lock's node does not mean the watches of the lock.
TEST(forget_watch, without_a_watcher_keeps_the_watches_of_the_library) {
  attached a;
  a.set_watch(set_by_library(get("/a", a.v)));
  EXPECT_FALSE(a.forget(watch_kind::data));
  EXPECT_EQ(a.ec, error_code{errc::no_watcher});
  a.set_watch(get("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::any));  // the server keeps its watch
  EXPECT_FALSE(a.ec);
  a.loop.pump();
  EXPECT_EQ(a.loop.discarded(), 1);
  a.loop.take_journal();
  a.loop.event(watch_event::kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"v changed /a"});
}

TEST(forget_watch, removes_a_given_watch_of_the_library) {
  attached a;
  a.set_watch(set_by_library(children("/a", a.v)));
  EXPECT_TRUE(a.forget(watch_kind::children, a.v));
  EXPECT_FALSE(a.ec);
}

TEST(forget_watch, of_one_kind_keeps_the_others) {
  attached a;
  a.set_watch(get("/a", a.w));
  a.set_watch(children("/a", a.w));
  EXPECT_TRUE(a.forget(watch_kind::children, a.w));
  a.loop.take_journal();
  a.loop.event(watch_event::kind::children_changed, "/a");
  EXPECT_TRUE(a.loop.take_journal().empty());
  a.loop.event(watch_event::kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"w changed /a"});
}

// Removing "any" on the server would remove the watches of all watchers.
TEST(forget_watch, of_any_kind_considers_watchers_of_every_kind) {
  attached a;
  a.set_watch(get("/a", a.v));
  a.set_watch(children("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::any, a.v));
  EXPECT_FALSE(a.ec);
  EXPECT_TRUE(a.forget(watch_kind::any, a.w));
}

// The server stores a persistent watch as a data watch and a child watch.
TEST(forget_watch, keeps_the_watch_if_a_persistent_watch_needs_it) {
  for (const auto mode : {watch_mode::persistent, watch_mode::recursive}) {
    attached a;
    a.set_watch(get("/a", a.w));
    a.set_watch(add_watch("/a", mode, a.v));
    EXPECT_FALSE(a.forget(watch_kind::data, a.w));
    EXPECT_FALSE(a.ec);
  }
}

TEST(forget_watch, keeps_the_watch_if_a_sent_read_may_set_it) {
  attached a;
  a.set_watch(get("/a", a.v));
  const auto read = a.loop.submit(get("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::data, a.v));
  EXPECT_FALSE(a.ec);
  a.loop.answer_all();
  EXPECT_TRUE(read->succeeded());
  a.loop.take_journal();
  a.loop.event(watch_event::kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"w changed /a"});
}

TEST(forget_watch, ignores_reads_of_other_paths_or_without_a_watch) {
  attached a;
  a.set_watch(get("/a", a.v));
  a.loop.submit(get("/b", a.w));
  a.loop.submit(get("/a"));
  EXPECT_TRUE(a.forget(watch_kind::data, a.v));
}

TEST(forget_watch, while_disconnected_sends_nothing) {
  attached a;
  a.set_watch(get("/a", a.w));
  a.loop.lose_connection();
  EXPECT_FALSE(a.forget(watch_kind::data, a.w));
  EXPECT_FALSE(a.ec);
  a.loop.attach();
  EXPECT_FALSE(a.loop.has_request());  // and the watch is not set again
}

TEST(forget_watch, treats_a_watch_on_a_missing_node_as_a_data_watch) {
  attached a;
  a.loop.submit(exists("/a", a.w));
  a.loop.answer_error(a.loop.take_request(), errc::no_node);
  EXPECT_TRUE(a.forget(watch_kind::data, a.w));
}

// While a persistent watch exists, one-shot watches are not set, because the persistent watch
// delivers their events. So a forgotten persistent watch stays on the server until an event arrives
// for which there is no watcher.
TEST(forget_watch, removes_a_persistent_watch_later_if_others_needed_it) {
  attached a;
  a.set_watch(add_watch("/a", watch_mode::persistent, a.v));
  a.set_watch(children("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::any, a.v));
  a.loop.pump();
  EXPECT_FALSE(a.loop.has_request());
  a.loop.take_journal();
  a.loop.event(watch_event::kind::children_changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"w children_changed /a"});
  EXPECT_FALSE(a.loop.has_request());
  a.loop.event(watch_event::kind::children_changed, "/a");
  EXPECT_TRUE(a.loop.take_journal().empty());
  const auto removal = a.loop.take_request();
  EXPECT_EQ(removal.type, wire::opcode::remove_watches);
  EXPECT_EQ(removal.path(), "/a");
  a.loop.answer(removal);
  a.loop.event(watch_event::kind::children_changed, "/a");
  EXPECT_FALSE(a.loop.has_request());
  EXPECT_TRUE(a.loop.connected());
}

TEST(forget_watch, keeps_a_persistent_watch_while_a_read_sets_a_watch) {
  attached a;
  a.set_watch(add_watch("/a", watch_mode::persistent, a.v));
  a.set_watch(children("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::any, a.v));
  a.loop.event(watch_event::kind::children_changed, "/a");
  a.loop.take_journal();
  a.loop.submit(children("/a", a.v));
  const auto read = a.loop.take_request();
  a.loop.event(watch_event::kind::children_changed, "/a");
  EXPECT_FALSE(a.loop.has_request());
  a.loop.answer(read);
  a.loop.event(watch_event::kind::children_changed, "/a");
  EXPECT_FALSE(a.loop.has_request());
  a.loop.event(watch_event::kind::children_changed, "/a");
  EXPECT_EQ(a.loop.take_request().type, wire::opcode::remove_watches);
}

TEST(forget_watch, keeps_a_persistent_watch_while_another_watcher_needs_it) {
  attached a;
  a.set_watch(add_watch("/a", watch_mode::persistent, a.v));
  a.set_watch(children("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::any, a.v));
  a.loop.take_journal();
  a.loop.event(watch_event::kind::changed, "/a");  // without a watcher
  EXPECT_FALSE(a.loop.has_request());
  a.loop.event(watch_event::kind::children_changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"w children_changed /a"});
}

TEST(forget_watch, removes_a_recursive_watch_after_an_event_below_it) {
  attached a;
  a.set_watch(add_watch("/a", watch_mode::recursive, a.v));
  a.set_watch(get("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::any, a.v));
  a.loop.event(watch_event::kind::created, "/a/b/c");
  EXPECT_FALSE(a.loop.has_request());
  a.loop.event(watch_event::kind::changed, "/a");
  a.loop.event(watch_event::kind::created, "/a/b/c");
  const auto removal = a.loop.take_request();
  EXPECT_EQ(removal.type, wire::opcode::remove_watches);
  EXPECT_EQ(removal.path(), "/a");
}

}  // namespace
}  // namespace conclave::session
