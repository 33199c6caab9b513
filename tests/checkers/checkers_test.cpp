// A checker that never complains shows nothing.
#include <vector>

#include <gtest/gtest.h>

#include "checkers/exclusion.hpp"
#include "checkers/fenced_resource.hpp"
#include "checkers/grant_order.hpp"
#include "checkers/queue_account.hpp"

namespace conclave::checkers {
namespace {

struct heard {
  std::vector<std::string> all;
  listener ear() {
    return [this](const std::string& what) { all.push_back(what); };
  }
  std::size_t count() const { return all.size(); }
};

TEST(exclusion, two_at_a_time_are_one_too_many) {
  heard h;
  exclusion e{h.ear()};
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
  heard h;
  exclusion e{h.ear()};
  e.granted("/a", 1, {"reader", 1, true});
  e.granted("/a", 2, {"reader", 1, true});
  EXPECT_EQ(h.count(), 0u);
  e.granted("/a", 3, {"writer"});
  EXPECT_EQ(h.count(), 2u);
  e.ended(1);
  e.ended(2);
  e.shares(3);
  e.granted("/a", 4, {"reader", 1, true});
  EXPECT_EQ(h.count(), 2u);
  e.is_alone(3);
  EXPECT_EQ(h.count(), 3u);
  e.ended(4);
  e.is_alone(3);
  EXPECT_EQ(h.count(), 3u);
}

TEST(exclusion, permits_are_counted) {
  heard h;
  exclusion e{h.ear()};
  e.granted("/s", 1, {"one", 2});
  e.granted("/s", 2, {"two", 2});
  EXPECT_EQ(h.count(), 0u);
  e.granted("/s", 3, {"three", 2});
  EXPECT_EQ(h.all, std::vector<std::string>{"three is number 3 to hold /s, of 2"});
}

TEST(exclusion, a_hold_whose_time_is_up_is_none) {
  heard h;
  exclusion e{h.ear(), [](exclusion::id which) { return which != 1; }};
  e.granted("/a", 1, {"one"});
  e.granted("/a", 2, {"two"});
  EXPECT_EQ(h.count(), 0u);
}

TEST(grant_order, tokens_rise_and_readers_overtake_readers_only) {
  heard h;
  grant_order o{h.ear()};
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
  heard h;
  queue_account q{h.ear()};
  for (const auto* item : {"a", "b", "c"}) q.pushed(item, queue_account::fate::done);
  q.pushed("d", queue_account::fate::refused);
  q.pushed("e", queue_account::fate::unclear);
  q.delivered("a");
  q.delivered("a");
  EXPECT_EQ(h.all, std::vector<std::string>{"a was delivered twice"});
  q.delivered("d");
  q.perhaps_delivered("b");
  q.close();
  EXPECT_EQ(h.count(), 3u) << "d was refused, and c is missing";
}

TEST(queue_account, what_was_lost_in_delivery_may_be_missing) {
  heard h;
  queue_account q{h.ear()};
  q.pushed("a", queue_account::fate::done);
  q.lost_in_delivery();
  q.close();
  EXPECT_EQ(h.count(), 0u);
}

}  // namespace
}  // namespace conclave::checkers
