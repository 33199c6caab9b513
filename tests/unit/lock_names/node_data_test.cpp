// What stands in the nodes of a lock.
#include <gtest/gtest.h>

#include "recipes/badge.hpp"
#include "recipes/record.hpp"

namespace conclave::recipes {
namespace {

node_stat parent(std::int64_t czxid) {
  node_stat s;
  s.czxid = czxid;
  return s;
}

TEST(record, tells_the_last_ticket_served) {
  const auto text = write_record(7, 42);
  EXPECT_EQ(text, "conclave 1 7 42\n");
  const auto r = read_record(text, parent(7));
  EXPECT_TRUE(r.writable);
  EXPECT_EQ(r.served, 42);
}

TEST(record, of_another_parent_is_not_believed_but_may_be_replaced) {
  const auto r = read_record(write_record(7, 42), parent(8));
  EXPECT_TRUE(r.writable);
  EXPECT_FALSE(r.served);
}

TEST(record, an_empty_node_may_be_written) {
  EXPECT_TRUE(read_record("", parent(7)).writable);
  EXPECT_FALSE(read_record("", parent(7)).served);
}

TEST(record, anybody_elses_data_is_left_alone) {
  for (const auto* data :
       {"192.168.0.1", "conclave", "conclave 1 7 42", "conclave 2 7 42\n", "conclave 1 7 \n",
        "conclave 1 x 42\n", "conclave 1 7 42\nmore", "conclave 1 7 99999999999\n"}) {
    EXPECT_FALSE(read_record(data, parent(7)).writable) << data;
    EXPECT_FALSE(read_record(data, parent(7)).served) << data;
  }
}

TEST(badge, keeps_the_owner_and_the_id) {
  const auto b = read_badge(write_badge("web1:17\nsecond line", "abc"));
  EXPECT_EQ(b.owner, "web1:17\nsecond line");
  EXPECT_EQ(b.id, "abc");
}

TEST(badge, other_data_is_an_owner_without_an_id) {
  for (const auto* data : {"", "10.0.0.1", "10.0.0.1\n__REVOKE__"}) {
    EXPECT_EQ(read_badge(data).owner, data);
    EXPECT_TRUE(read_badge(data).id.empty());
    EXPECT_FALSE(read_badge(data).asked_to_release);
  }
}

TEST(badge, a_request_to_release_keeps_the_owner_and_the_id) {
  const auto asked = ask_to_release(write_badge("web1:17", "abc"));
  const auto b = read_badge(asked);
  EXPECT_EQ(b.owner, "web1:17");
  EXPECT_EQ(b.id, "abc");
  EXPECT_TRUE(b.asked_to_release);
  EXPECT_EQ(ask_to_release(asked), asked);
}

TEST(badge, other_libraries_know_the_request_alone) {
  EXPECT_EQ(ask_to_release("10.0.0.1"), "__REVOKE__");
  EXPECT_TRUE(read_badge("__REVOKE__").asked_to_release);
  EXPECT_TRUE(read_badge("__REVOKE__").owner.empty());
}

}  // namespace
}  // namespace conclave::recipes
