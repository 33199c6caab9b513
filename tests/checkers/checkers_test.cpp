// Verifies that each checker reports violations and accepts correct histories.
#include <sstream>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "checkers/exclusion.hpp"
#include "checkers/fenced_resource.hpp"
#include "checkers/grant_order.hpp"
#include "checkers/history_judge.hpp"
#include "checkers/queue_account.hpp"

namespace conclave::checkers {
namespace {

struct recorded_violations {
  std::vector<std::string> all;
  violation_callback callback() {
    return [this](const std::string& what) { all.push_back(what); };
  }
  std::size_t count() const { return all.size(); }
};

TEST(exclusion, two_at_a_time_are_one_too_many) {
  recorded_violations h;
  exclusion e{h.callback()};
  e.granted("/a", 1, {"one"});
  e.granted("/b", 2, {"two"});
  EXPECT_EQ(h.count(), 0u);
  e.granted("/a", 3, {"three"});
  EXPECT_EQ(h.all, std::vector<std::string>{"three was granted /a while one held it"});
  e.ended(1);
  e.ended(3);
  e.ended(3);
  e.granted("/a", 4, {"four"});
  EXPECT_EQ(h.count(), 1u);
  EXPECT_EQ(e.most("/a"), 2u);
}

TEST(exclusion, readers_share_and_writers_do_not) {
  recorded_violations h;
  exclusion e{h.callback()};
  e.granted("/a", 1, {"reader", 1, true});
  e.granted("/a", 2, {"reader", 1, true});
  EXPECT_EQ(h.count(), 0u);
  e.granted("/a", 3, {"writer"});
  EXPECT_EQ(h.count(), 2u);
  e.ended(1);
  e.ended(2);
  e.becomes_shared(3);
  e.granted("/a", 4, {"reader", 1, true});
  EXPECT_EQ(h.count(), 2u);
  e.becomes_exclusive(3);
  EXPECT_EQ(h.count(), 3u);
  e.ended(4);
  e.becomes_exclusive(3);
  EXPECT_EQ(h.count(), 3u);
}

TEST(exclusion, permits_are_counted) {
  recorded_violations h;
  exclusion e{h.callback()};
  e.granted("/s", 1, {"one", 2});
  e.granted("/s", 2, {"two", 2});
  EXPECT_EQ(h.count(), 0u);
  e.granted("/s", 3, {"three", 2});
  EXPECT_EQ(h.all, std::vector<std::string>{"three is number 3 to hold /s, of 2"});
}

TEST(exclusion, a_hold_whose_time_is_up_is_none) {
  recorded_violations h;
  exclusion e{h.callback(), [](exclusion::id which) { return which != 1; }};
  e.granted("/a", 1, {"one"});
  e.granted("/a", 2, {"two"});
  EXPECT_EQ(h.count(), 0u);
}

TEST(grant_order, tokens_rise_and_readers_overtake_readers_only) {
  recorded_violations h;
  grant_order o{h.callback()};
  o.granted("/a", 5, "one");
  o.granted("/a", 8, "two", true);
  o.granted("/a", 7, "three", true);
  o.granted("/b", 1, "four");
  EXPECT_EQ(h.count(), 0u);
  o.granted("/a", 4, "five", true);
  o.granted("/a", 8, "six");
  EXPECT_EQ(h.count(), 2u);
}

TEST(fenced_resource, refuses_what_is_older) {
  fenced_resource r;
  EXPECT_TRUE(r.write(3));
  EXPECT_TRUE(r.write(3));
  EXPECT_FALSE(r.write(2));
  EXPECT_EQ(r.done(), 2u);
  EXPECT_EQ(r.refused(), 1u);
}

TEST(queue_account, each_item_once) {
  recorded_violations h;
  queue_account q{h.callback()};
  for (const auto* item : {"a", "b", "c"}) q.pushed(item, queue_account::fate::done);
  q.pushed("d", queue_account::fate::refused);
  q.pushed("e", queue_account::fate::unknown);
  q.delivered("a");
  q.delivered("a");
  EXPECT_EQ(h.all, std::vector<std::string>{"a was delivered twice"});
  q.delivered("d");
  q.delivery_unknown("b");
  q.close();
  EXPECT_EQ(h.count(), 3u) << "d was refused, and c is missing";
}

TEST(queue_account, what_was_lost_in_delivery_may_be_missing) {
  recorded_violations h;
  queue_account q{h.callback()};
  q.pushed("a", queue_account::fate::done);
  q.pop_outcome_unknown();
  q.close();
  EXPECT_EQ(h.count(), 0u);
}

std::vector<std::string> judged(const std::string& text) {
  std::istringstream history{text};
  return judge_history(history);
}

using lines = std::vector<std::string>;

TEST(history_judge, finds_nothing_in_a_history_that_is_right) {
  EXPECT_EQ(judged("# two readers, two permits, one hold of two paths, an item that came back\n"
                   "10 granted 1 r1 5 rw shared\n"
                   "11 granted 2 r2 4 rw shared\n"
                   "11 ended 1\n"
                   "12 ended 2\n"
                   "13 granted 3 w 6 rw\n"
                   "20 granted 4 p1 9 p permits=2\n"
                   "21 granted 5 p2 8 p permits=2\n"
                   "\n"
                   "30 granted 6 both 20 a\n"
                   "30 granted 6 both 20 b\n"
                   "31 ended 6\n"
                   "32 granted 7 one 21 b\n"
                   "40 pushed x done\n"
                   "41 delivery-unknown x\n"
                   "42 delivered x\n"
                   "43 pushed y unknown\n"
                   "44 pushed z refused\n"),
            lines{});
}

TEST(history_judge, finds_two_holders) {
  EXPECT_EQ(judged("1 granted 1 one 5 a\n2 granted 2 two 6 a\n3 ended 1\n4 ended 2\n"),
            lines{"2: two was granted a while one held it"});
  EXPECT_EQ(judged("1 granted 1 reader 5 a shared\n2 granted 2 writer 6 a\n"),
            lines{"2: writer was granted a while reader held it"});
  EXPECT_EQ(judged("1 granted 1 both 5 a\n1 granted 1 both 5 b\n2 granted 2 one 6 b\n"),
            lines{"2: one was granted b while both held it"});
  EXPECT_EQ(judged("1 granted 1 one 5 p permits=2\n1 granted 2 two 6 p permits=2\n"
                   "2 granted 3 three 7 p permits=2\n"),
            lines{"2: three is number 3 to hold p, of 2"});
}

TEST(history_judge, finds_a_falling_token) {
  EXPECT_EQ(judged("1 granted 1 one 5 a\n2 ended 1\n3 granted 2 two 4 a\n"),
            lines{"3: two was granted a with token 4 after 5"});
}

TEST(history_judge, finds_items_that_are_lost_doubled_or_refused) {
  EXPECT_EQ(judged("1 pushed x done\n2 pushed y done\n3 delivered y\n"),
            lines{"3: 1 items are missing, 0 may be"});
  EXPECT_EQ(judged("1 pushed x done\n2 delivered x\n3 delivered x\n"),
            lines{"3: x was delivered twice"});
  EXPECT_EQ(judged("1 pushed x refused\n2 delivered x\n"),
            lines{"2: x was refused, but was delivered"});
}

TEST(history_judge, refuses_what_makes_no_sense) {
  for (const auto* bad :
       {"granted 1 one 5 a", "1", "1 begun 2", "1 granted 1 one 5", "1 granted one 1 5 a",
        "1 granted 1 one 5 a loosely", "1 granted 1 one 5 a permits=", "1 granted 1 one -5 a",
        "1 ended", "1 ended 1 2", "1 pushed x", "1 pushed x lost", "1 delivered x y",
        "2 delivered x\n1 delivered y"})
    EXPECT_THROW(judged(bad), std::runtime_error) << bad;
}

}  // namespace
}  // namespace conclave::checkers
