// Setting all watches again on a new connection.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "session/watch_registry.hpp"
#include "virtual_loop.hpp"
#include "wire/frame.hpp"

namespace conclave::session {
namespace {

using lines = std::vector<std::string>;

constexpr std::size_t chunk = 131'072;

const watcher ignored = [](const watch_event&) {};

// The parsed content of a list of frames.
struct parsed_requests {
  lines slots[watch_slots];
  std::vector<wire::opcode> types;
  std::vector<std::int64_t> zxids;

  explicit parsed_requests(const std::vector<std::string>& frames) {
    for (const auto& frame : frames) {
      wire::reader in{frame};
      EXPECT_EQ(in.read<std::int32_t>(), static_cast<std::int32_t>(frame.size() - 4));
      const auto header = in.read<wire::request_header>();
      EXPECT_EQ(header.xid, wire::special_xid::set_watches);
      types.push_back(header.type);
      wire::set_watches2_request r;
      if (header.type == wire::opcode::set_watches)
        in(r.relative_zxid, r.data, r.exist, r.child);
      else
        in(r);
      EXPECT_TRUE(in.ok() && in.at_end());
      zxids.push_back(r.relative_zxid);
      const std::vector<std::string_view>* lists[] = {&r.data, &r.exist, &r.child, &r.persistent,
                                                      &r.recursive};
      for (std::size_t i = 0; i < watch_slots; ++i)
        slots[i].insert(slots[i].end(), lists[i]->begin(), lists[i]->end());
    }
    for (auto& slot : slots) std::sort(slot.begin(), slot.end());
  }
};

using zxids = std::vector<std::int64_t>;

// Answers all requests. Returns the relative zxids of the set_watches requests.
zxids relative_zxids(virtual_loop& loop) {
  zxids all;
  while (loop.has_request()) {
    const auto r = loop.take_request();
    if (r.xid == wire::special_xid::set_watches) {
      wire::reader in{r.body};
      all.push_back(in.read<wire::set_watches_request>().relative_zxid);
    }
    loop.answer(r);
  }
  return all;
}

TEST(rearm, sends_nothing_without_watches) {
  EXPECT_TRUE(watch_registry{}.rearm_frames(7, chunk).empty());
}

TEST(rearm, uses_set_watches_if_it_is_sufficient) {
  watch_registry watches;
  watches.add(watch_slot::data, "/d", ignored);
  watches.add(watch_slot::exist, "/e", ignored);
  watches.add(watch_slot::child, "/c", ignored);
  const parsed_requests a{watches.rearm_frames(7, chunk)};
  EXPECT_EQ(a.types, std::vector{wire::opcode::set_watches});
  EXPECT_EQ(a.zxids, std::vector<std::int64_t>{7});
  EXPECT_EQ(a.slots[0], lines{"/d"});
  EXPECT_EQ(a.slots[1], lines{"/e"});
  EXPECT_EQ(a.slots[2], lines{"/c"});
}

TEST(rearm, uses_set_watches2_for_persistent_watches) {
  for (const auto slot : {watch_slot::persistent, watch_slot::recursive}) {
    watch_registry watches;
    watches.add(watch_slot::data, "/d", ignored);
    watches.add(slot, "/p", ignored);
    const parsed_requests a{watches.rearm_frames(7, chunk)};
    EXPECT_EQ(a.types, std::vector{wire::opcode::set_watches2});
    EXPECT_EQ(a.slots[0], lines{"/d"});
    EXPECT_EQ(a.slots[static_cast<std::size_t>(slot)], lines{"/p"});
  }
}

TEST(rearm, sends_many_watches_in_chunks) {
  watch_registry watches;
  lines expected[watch_slots];
  for (std::size_t slot = 0; slot < watch_slots; ++slot) {
    for (int i = 0; i < 5000; ++i) {
      expected[slot].push_back("/" + std::to_string(slot) + "/" + std::string(30, 'x') +
                               std::to_string(i));
      watches.add(static_cast<watch_slot>(slot), expected[slot].back(), ignored);
    }
    std::sort(expected[slot].begin(), expected[slot].end());
  }
  const auto frames = watches.rearm_frames(7, chunk);
  EXPECT_GT(frames.size(), 5u);
  EXPECT_LT(frames.size(), 12u);
  for (const auto& frame : frames) EXPECT_LE(frame.size(), chunk);
  const parsed_requests a{frames};
  for (std::size_t slot = 0; slot < watch_slots; ++slot) EXPECT_EQ(a.slots[slot], expected[slot]);
}

TEST(rearm, sends_a_path_above_the_limit_alone) {
  watch_registry watches;
  const auto large = "/" + std::string(1000, 'x');
  watches.add(watch_slot::data, large, ignored);
  watches.add(watch_slot::data, "/small", ignored);
  const auto frames = watches.rearm_frames(7, 500);
  EXPECT_EQ(frames.size(), 2u);
  EXPECT_EQ(parsed_requests{frames}.slots[0], (lines{"/small", large}));
}

TEST(rearm, happens_on_every_new_connection_with_the_last_zxid_seen) {
  virtual_loop loop;
  loop.attach();
  EXPECT_FALSE(loop.has_request());
  const auto w = loop.journal_watcher("w");
  loop.submit(get("/a", w));
  loop.answer_all();
  for (int i = 0; i < 3; ++i) {
    loop.lose_connection();
    loop.attach();
    const auto r = loop.take_request();
    EXPECT_EQ(r.type, wire::opcode::set_watches);
    EXPECT_EQ(r.xid, wire::special_xid::set_watches);
    wire::reader in{r.body};
    const auto body = in.read<wire::set_watches_request>();
    EXPECT_EQ(body.relative_zxid, loop.zxid());
    EXPECT_EQ(body.data, std::vector<std::string_view>{"/a"});
    loop.answer(r);
  }
}

TEST(rearm, missed_events_are_delivered) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  loop.submit(get("/a", w));
  loop.answer_all();
  loop.lose_connection();
  loop.attach();
  loop.take_journal();
  loop.event(watch_event::kind::changed, "/a");
  loop.answer_all();
  EXPECT_EQ(loop.take_journal(), lines{"w changed /a"});
  loop.lose_connection();
  loop.attach();
  EXPECT_FALSE(loop.has_request());  // the watch has fired
}

// ZooKeeper does not deliver missed events to persistent watches, only to one-shot watches.
TEST(rearm, persistent_watchers_are_notified_of_possibly_missed_events) {
  virtual_loop loop;
  loop.attach();
  const auto once = loop.journal_watcher("once");
  const auto p = loop.journal_watcher("p");
  const auto r = loop.journal_watcher("r");
  loop.submit(get("/once", once));
  loop.submit(add_watch("/p", watch_mode::persistent, p));
  loop.submit(add_watch("/r", watch_mode::recursive, r));
  loop.answer_all();
  loop.take_journal();
  loop.lose_connection();
  loop.attach();
  EXPECT_EQ(loop.take_journal(),
            (lines{"suspended", "reconnected", "p possibly_missed /p", "r possibly_missed /r"}));
  EXPECT_EQ(loop.machine().watch_count(), 3u);
}

// The reply that refuses the watches has a newer zxid. A server that is asked for the changes after
// that zxid does not report those that happened before.
TEST(rearm, is_repeated_with_the_same_zxid_if_the_server_is_overloaded) {
  for (const auto e :
       {errc::throttled, errc::operation_timeout, errc::request_timeout, errc::system_error}) {
    SCOPED_TRACE(static_cast<int>(e));
    virtual_loop loop;
    loop.attach();
    const auto w = loop.journal_watcher("w");
    loop.submit(get("/a", w));
    loop.answer_all();
    const auto seen = loop.zxid();
    loop.lose_connection();
    loop.attach();
    loop.take_journal();
    loop.answer_error(loop.take_request(), e);
    EXPECT_EQ(loop.machine().state(), session_state::suspended);
    EXPECT_EQ(loop.machine().watch_count(), 1u) << "all watches are kept";
    loop.attach();
    EXPECT_EQ(loop.last_handshake().last_zxid_seen, loop.zxid());
    EXPECT_EQ(relative_zxids(loop), zxids{seen});
    const auto all_seen = loop.zxid();
    loop.lose_connection();
    loop.attach();
    EXPECT_EQ(relative_zxids(loop), zxids{all_seen});
  }
}

class several_frames : public testing::Test {
 protected:
  several_frames() {
    loop.machine().limit_set_watches(1);  // one path in each request
    loop.attach();
    watch("/a");
    watch("/b");
    seen = loop.zxid();
    loop.lose_connection();
    loop.attach();
    loop.take_journal();
  }
  void watch(const char* path) {
    loop.submit(get(path, loop.journal_watcher("w")));
    loop.answer_all();
  }
  void reconnect() {
    loop.lose_connection();
    loop.attach();
  }
  virtual_loop loop;
  std::int64_t seen = 0;
};

// The second server that is asked must still report what the first one could not.
TEST_F(several_frames, keep_the_zxid_until_all_of_them_were_answered) {
  for (int i = 0; i < 3; ++i) {
    loop.answer(loop.take_request());
    reconnect();
    EXPECT_EQ(loop.last_handshake().last_zxid_seen, loop.zxid());
  }
  EXPECT_EQ(relative_zxids(loop), (zxids{seen, seen}));
  const auto all_seen = loop.zxid();
  reconnect();
  EXPECT_EQ(relative_zxids(loop), (zxids{all_seen, all_seen}));
}

TEST_F(several_frames, keep_the_zxid_if_one_of_them_was_refused) {
  loop.answer(loop.take_request());
  loop.answer_error(loop.take_request(), errc::throttled);
  loop.attach();
  EXPECT_EQ(relative_zxids(loop), (zxids{seen, seen}));
}

TEST_F(several_frames, delay_the_reconnect_if_one_of_them_is_refused_each_time) {
  const auto before = loop.clock();
  for (int i = 0; i < 4; ++i) {
    loop.answer(loop.take_request());
    loop.answer_error(loop.take_request(), errc::throttled);
    loop.attach();
  }
  EXPECT_GE(loop.clock() - before, std::chrono::seconds{1});
}

TEST_F(several_frames, keep_the_zxid_for_watches_that_were_not_called) {
  loop.event(watch_event::kind::changed, "/a");
  loop.answer(loop.take_request());
  reconnect();
  EXPECT_EQ(relative_zxids(loop), zxids{seen});
}

TEST_F(several_frames, keep_the_zxid_while_new_watches_are_requested) {
  loop.submit(get("/c", loop.journal_watcher("w")));
  loop.answer(loop.take_request());
  reconnect();
  EXPECT_EQ(relative_zxids(loop), (zxids{seen, seen}));
  const auto all_seen = loop.zxid();
  reconnect();
  EXPECT_EQ(relative_zxids(loop), (zxids{all_seen, all_seen, all_seen}));
}

TEST_F(several_frames, of_a_new_session_begin_with_its_own_zxid) {
  loop.answer(loop.take_request());
  loop.lose_connection();
  const auto attach_to_new_session = [&] {
    loop.accept();
    loop.accept_session(first_session + 1);
  };
  attach_to_new_session();
  watch("/c");
  const auto all_seen = loop.zxid();
  loop.lose_connection();
  attach_to_new_session();
  EXPECT_EQ(relative_zxids(loop), zxids{all_seen});
}

TEST_F(several_frames, that_are_refused_for_good_do_not_keep_the_zxid) {
  loop.answer_error(loop.take_request(), errc::unimplemented);
  loop.answer(loop.take_request());
  watch("/c");
  const auto all_seen = loop.zxid();
  reconnect();
  EXPECT_EQ(relative_zxids(loop), zxids{all_seen});
}

TEST(rearm, watches_are_lost_if_the_server_refuses_them) {
  virtual_loop loop;
  loop.attach();
  const auto once = loop.journal_watcher("once");
  const auto w = loop.journal_watcher("w");
  loop.submit(get("/once", once));
  loop.submit(add_watch("/a", watch_mode::recursive, w));
  loop.answer_all();
  loop.lose_connection();
  loop.attach();
  loop.take_journal();
  loop.answer_error(loop.take_request(), errc::unimplemented);
  EXPECT_EQ(loop.machine().state(), session_state::connected);
  EXPECT_EQ(loop.take_journal(), (lines{"once watch_lost /once", "w watch_lost /a"}));
  EXPECT_EQ(loop.machine().watch_count(), 0u);
}

}  // namespace
}  // namespace conclave::session
