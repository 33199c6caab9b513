// Taking watches away: the server is told only when nobody needs its watch any more.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using lines = std::vector<std::string>;

struct attached {
  attached() { loop.attach(); }
  void leave(test_operation_ptr op) {
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

TEST(forget_watch, the_only_watcher) {
  attached a;
  a.leave(get("/a", a.w));
  EXPECT_TRUE(a.forget(watch_kind::data, a.w));
  EXPECT_FALSE(a.ec);
  EXPECT_EQ(a.loop.machine().watch_count(), 0u);
  a.loop.pump();
  EXPECT_EQ(a.loop.discarded(), 1);  // the user's object is destroyed outside the machine
  a.loop.take_journal();
  a.loop.event(watch_event::kind::changed, "/a");
  EXPECT_TRUE(a.loop.take_journal().empty());
}

TEST(forget_watch, one_of_two_keeps_the_servers_watch) {
  attached a;
  a.leave(get("/a", a.v));
  a.leave(get("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::data, a.v));
  EXPECT_FALSE(a.ec);
  a.loop.take_journal();
  a.loop.event(watch_event::kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"w changed /a"});
}

TEST(forget_watch, the_last_of_two_tells_the_server) {
  attached a;
  a.leave(get("/a", a.v));
  a.leave(get("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::data, a.v));
  EXPECT_TRUE(a.forget(watch_kind::data, a.w));
}

TEST(forget_watch, unknown) {
  attached a;
  EXPECT_FALSE(a.forget(watch_kind::any, a.w));
  EXPECT_EQ(a.ec, error_code{errc::no_watcher});
  a.leave(get("/a", a.v));
  EXPECT_FALSE(a.forget(watch_kind::any, a.w));
  EXPECT_EQ(a.ec, error_code{errc::no_watcher});
  EXPECT_FALSE(a.forget(watch_kind::children, a.v));
  EXPECT_EQ(a.ec, error_code{errc::no_watcher});
  EXPECT_EQ(a.loop.machine().watch_count(), 1u);
}

TEST(forget_watch, without_a_watcher_means_all) {
  attached a;
  a.leave(get("/a", a.v));
  a.leave(children("/a", a.w));
  a.leave(add_watch("/a", watch_mode::persistent, a.v));
  a.leave(add_watch("/a", watch_mode::recursive, a.w));
  EXPECT_TRUE(a.forget(watch_kind::any));
  EXPECT_EQ(a.loop.machine().watch_count(), 0u);
}

TEST(forget_watch, of_one_kind_leaves_the_others) {
  attached a;
  a.leave(get("/a", a.w));
  a.leave(children("/a", a.w));
  EXPECT_TRUE(a.forget(watch_kind::children, a.w));
  a.loop.take_journal();
  a.loop.event(watch_event::kind::children_changed, "/a");
  EXPECT_TRUE(a.loop.take_journal().empty());
  a.loop.event(watch_event::kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"w changed /a"});
}

// Removing "any" at the server would take everybody's.
TEST(forget_watch, of_any_kind_counts_watchers_of_every_kind) {
  attached a;
  a.leave(get("/a", a.v));
  a.leave(children("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::any, a.v));
  EXPECT_FALSE(a.ec);
  EXPECT_TRUE(a.forget(watch_kind::any, a.w));
}

// The server keeps a persistent watch as both a data and a child watch.
TEST(forget_watch, a_persistent_watch_of_somebody_protects_the_servers) {
  for (const auto mode : {watch_mode::persistent, watch_mode::recursive}) {
    attached a;
    a.leave(get("/a", a.w));
    a.leave(add_watch("/a", mode, a.v));
    EXPECT_FALSE(a.forget(watch_kind::data, a.w));
    EXPECT_FALSE(a.ec);
  }
}

TEST(forget_watch, a_read_in_flight_may_leave_the_same_watch) {
  attached a;
  a.leave(get("/a", a.v));
  const auto read = a.loop.submit(get("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::data, a.v));
  EXPECT_FALSE(a.ec);
  a.loop.answer_all();
  EXPECT_TRUE(read->succeeded());
  a.loop.take_journal();
  a.loop.event(watch_event::kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"w changed /a"});
}

TEST(forget_watch, reads_of_other_paths_or_without_a_watch_do_not_count) {
  attached a;
  a.leave(get("/a", a.v));
  a.loop.submit(get("/b", a.w));
  a.loop.submit(get("/a"));
  EXPECT_TRUE(a.forget(watch_kind::data, a.v));
}

TEST(forget_watch, without_a_connection_no_server_has_it) {
  attached a;
  a.leave(get("/a", a.w));
  a.loop.cut();
  EXPECT_FALSE(a.forget(watch_kind::data, a.w));
  EXPECT_FALSE(a.ec);
  a.loop.attach();
  EXPECT_FALSE(a.loop.has_request());  // nor is it told again
}

TEST(forget_watch, one_left_on_a_missing_node_is_a_data_watch) {
  attached a;
  a.loop.submit(exists("/a", a.w));
  a.loop.answer_error(a.loop.take_request(), errc::no_node);
  EXPECT_TRUE(a.forget(watch_kind::data, a.w));
}

// A one-shot watch beside a lasting one is not asked for: the lasting one brings its event. So it
// stays at the server when it is forgotten, until an event comes that nobody wants.
TEST(forget_watch, a_lasting_one_that_others_needed_is_removed_later) {
  attached a;
  a.leave(add_watch("/a", watch_mode::persistent, a.v));
  a.leave(children("/a", a.w));
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

TEST(forget_watch, a_lasting_one_is_not_removed_while_a_watch_is_under_way) {
  attached a;
  a.leave(add_watch("/a", watch_mode::persistent, a.v));
  a.leave(children("/a", a.w));
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

TEST(forget_watch, a_lasting_one_is_not_removed_while_another_relies_on_it) {
  attached a;
  a.leave(add_watch("/a", watch_mode::persistent, a.v));
  a.leave(children("/a", a.w));
  EXPECT_FALSE(a.forget(watch_kind::any, a.v));
  a.loop.take_journal();
  a.loop.event(watch_event::kind::changed, "/a");  // which nobody wants
  EXPECT_FALSE(a.loop.has_request());
  a.loop.event(watch_event::kind::children_changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"w children_changed /a"});
}

TEST(forget_watch, a_recursive_one_is_removed_by_what_happens_below_it) {
  attached a;
  a.leave(add_watch("/a", watch_mode::recursive, a.v));
  a.leave(get("/a", a.w));
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
