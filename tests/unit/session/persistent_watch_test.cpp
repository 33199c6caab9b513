// One-shot and persistent watches on the same path. Servers before ZooKeeper 3.9 store one kind of
// watch for each path, so a one-shot watch must not be set if a persistent watch delivers the same
// events.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using lines = std::vector<std::string>;
using kind = watch_event::kind;

struct attached {
  attached() { loop.attach(); }
  void persistent(const std::string& path, watch_mode mode) {
    loop.submit(add_watch(path, mode, l));
    loop.answer(loop.take_request());
  }
  // Returns whether the read sets a watch on the server.
  bool requests_watch(test_operation_ptr op) {
    loop.submit(std::move(op));
    const auto r = loop.take_request();
    wire::reader in{r.body};
    const auto body = in.read<wire::path_watch_request>();
    EXPECT_TRUE(in.ok() && in.at_end());
    loop.answer(r);
    return body.watch;
  }
  virtual_loop loop;
  watcher l = loop.journal_watcher("persistent");
  watcher w = loop.journal_watcher("once");
};

TEST(persistent_watch, a_read_requests_a_watch_if_there_is_no_persistent_one) {
  attached a;
  EXPECT_TRUE(a.requests_watch(get("/a", a.w)));
  EXPECT_TRUE(a.requests_watch(exists("/a", a.w)));
  EXPECT_TRUE(a.requests_watch(children("/a", a.w)));
  EXPECT_FALSE(a.requests_watch(get("/a")));
}

TEST(persistent_watch, covers_every_one_shot_watch) {
  attached a;
  a.persistent("/a", watch_mode::persistent);
  EXPECT_FALSE(a.requests_watch(get("/a", a.w)));
  EXPECT_FALSE(a.requests_watch(exists("/a", a.w)));
  EXPECT_FALSE(a.requests_watch(children("/a", a.w)));
  EXPECT_TRUE(a.requests_watch(get("/a/b", a.w)));
}

TEST(persistent_watch, recursive_does_not_cover_child_watches) {
  attached a;
  a.persistent("/a", watch_mode::recursive);
  EXPECT_FALSE(a.requests_watch(get("/a", a.w)));
  EXPECT_FALSE(a.requests_watch(exists("/a", a.w)));
  EXPECT_TRUE(a.requests_watch(children("/a", a.w)));
  EXPECT_TRUE(a.requests_watch(get("/a/b", a.w)));  // another path
}

TEST(persistent_watch, and_one_shot_watchers_are_both_called) {
  attached a;
  a.persistent("/a", watch_mode::persistent);
  a.requests_watch(get("/a", a.w));
  a.loop.take_journal();
  a.loop.event(kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), (lines{"once changed /a", "persistent changed /a"}));
  a.loop.event(kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"persistent changed /a"});
}

TEST(persistent_watch, covers_one_shot_watches_as_soon_as_it_is_requested) {
  attached a;
  a.loop.submit(add_watch("/a", watch_mode::persistent, a.l));
  a.loop.submit(get("/a", a.w));
  a.loop.take_request();
  const auto r = a.loop.take_request();
  EXPECT_EQ(r.body.back(), '\0');
}

TEST(persistent_watch, removal_keeps_the_watch_for_a_one_shot_watcher) {
  attached a;
  a.persistent("/a", watch_mode::persistent);
  a.requests_watch(get("/a", a.w));
  error_code ec;
  EXPECT_FALSE(a.loop.machine().forget_watch(watch_kind::any, "/a", a.l, ec));
  EXPECT_FALSE(ec);
  a.loop.take_journal();
  a.loop.event(kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"once changed /a"});
}

// The read has succeeded, but there is no watch on the server.
TEST(persistent_watch, that_fails_does_not_remove_the_watch_of_a_read) {
  attached a;
  a.loop.submit(add_watch("/a", watch_mode::persistent, a.l));
  a.loop.submit(get("/a", a.w));
  const auto add = a.loop.take_request();
  const auto read = a.loop.take_request();
  const bool sets_watch = read.body.back() != '\0';
  a.loop.take_journal();
  a.loop.answer_error(add, errc::unimplemented);
  a.loop.answer(read);
  const auto journal = a.loop.take_journal();
  EXPECT_TRUE(sets_watch || journal.back() == "once watch_lost /a")
      << "the watcher of the read will never be called";
}

}  // namespace
}  // namespace conclave::session
