// One-shot watches beside lasting ones on the same path. Servers before ZooKeeper 3.9 keep one kind
// of watch for a path, so a one-shot watch must not be left where a lasting one tells the same.

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
  void lasting(const std::string& path, watch_mode mode) {
    loop.submit(add_watch(path, mode, l));
    loop.answer(loop.take_request());
  }
  // Whether the read asks the server for a watch.
  bool asks_for_watch(test_operation_ptr op) {
    loop.submit(std::move(op));
    const auto r = loop.take_request();
    wire::reader in{r.body};
    const auto body = in.read<wire::path_watch_request>();
    EXPECT_TRUE(in.ok() && in.at_end());
    loop.answer(r);
    return body.watch;
  }
  virtual_loop loop;
  watcher l = loop.journal_watcher("lasting");
  watcher w = loop.journal_watcher("once");
};

TEST(lasting_watch, alone_a_read_asks_for_its_watch) {
  attached a;
  EXPECT_TRUE(a.asks_for_watch(get("/a", a.w)));
  EXPECT_TRUE(a.asks_for_watch(exists("/a", a.w)));
  EXPECT_TRUE(a.asks_for_watch(children("/a", a.w)));
  EXPECT_FALSE(a.asks_for_watch(get("/a")));
}

TEST(lasting_watch, a_persistent_one_covers_every_one_shot_watch) {
  attached a;
  a.lasting("/a", watch_mode::persistent);
  EXPECT_FALSE(a.asks_for_watch(get("/a", a.w)));
  EXPECT_FALSE(a.asks_for_watch(exists("/a", a.w)));
  EXPECT_FALSE(a.asks_for_watch(children("/a", a.w)));
  EXPECT_TRUE(a.asks_for_watch(get("/a/b", a.w)));
}

TEST(lasting_watch, a_recursive_one_does_not_tell_of_children_lists) {
  attached a;
  a.lasting("/a", watch_mode::recursive);
  EXPECT_FALSE(a.asks_for_watch(get("/a", a.w)));
  EXPECT_FALSE(a.asks_for_watch(exists("/a", a.w)));
  EXPECT_TRUE(a.asks_for_watch(children("/a", a.w)));
  EXPECT_TRUE(a.asks_for_watch(get("/a/b", a.w)));  // another path: the server keeps both
}

TEST(lasting_watch, both_are_called_and_the_one_shot_one_once) {
  attached a;
  a.lasting("/a", watch_mode::persistent);
  a.asks_for_watch(get("/a", a.w));
  a.loop.take_journal();
  a.loop.event(kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), (lines{"once changed /a", "lasting changed /a"}));
  a.loop.event(kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"lasting changed /a"});
}

TEST(lasting_watch, counts_as_soon_as_it_is_asked_for) {
  attached a;
  a.loop.submit(add_watch("/a", watch_mode::persistent, a.l));
  a.loop.submit(get("/a", a.w));
  a.loop.take_request();
  const auto r = a.loop.take_request();
  EXPECT_EQ(r.body.back(), '\0');
}

TEST(lasting_watch, removing_it_leaves_the_servers_watch_to_the_one_shot_watcher) {
  attached a;
  a.lasting("/a", watch_mode::persistent);
  a.asks_for_watch(get("/a", a.w));
  error_code ec;
  EXPECT_FALSE(a.loop.machine().forget_watch(watch_kind::any, "/a", a.l, ec));
  EXPECT_FALSE(ec);
  a.loop.take_journal();
  a.loop.event(kind::changed, "/a");
  EXPECT_EQ(a.loop.take_journal(), lines{"once changed /a"});
}

// The server has no watch then, although the read was answered.
TEST(lasting_watch, one_that_fails_does_not_take_a_reads_watch_with_it) {
  attached a;
  a.loop.submit(add_watch("/a", watch_mode::persistent, a.l));
  a.loop.submit(get("/a", a.w));
  const auto add = a.loop.take_request();
  const auto read = a.loop.take_request();
  const bool asked = read.body.back() != '\0';
  a.loop.take_journal();
  a.loop.answer_error(add, errc::unimplemented);
  a.loop.answer(read);
  const auto told = a.loop.take_journal();
  EXPECT_TRUE(asked || told.back() == "once watch_lost /a")
      << "nobody will ever call the watcher of the read";
}

}  // namespace
}  // namespace conclave::session
