// The data of a lock's nodes.
#include <gtest/gtest.h>

#include "recipes/contender_data.hpp"
#include "recipes/parent_record.hpp"
#include "recipes/semaphore_names.hpp"

namespace conclave::recipes {
namespace {

node_stat parent(std::int64_t czxid) {
  node_stat s;
  s.czxid = czxid;
  return s;
}

TEST(parent_record, contains_the_last_served_ticket) {
  const auto text = format_served_record(7, 42);
  EXPECT_EQ(text, "conclave 1 7 42\n");
  const auto r = parse_parent_record(text, parent(7));
  EXPECT_TRUE(r.writable);
  EXPECT_EQ(r.served, 42);
}

TEST(parent_record, of_another_parent_is_ignored_but_may_be_replaced) {
  const auto r = parse_parent_record(format_served_record(7, 42), parent(8));
  EXPECT_TRUE(r.writable);
  EXPECT_FALSE(r.served);
}

TEST(parent_record, may_be_written_to_an_empty_node) {
  EXPECT_TRUE(parse_parent_record("", parent(7)).writable);
  EXPECT_FALSE(parse_parent_record("", parent(7)).served);
}

TEST(parent_record, does_not_replace_foreign_data) {
  for (const auto* data :
       {"192.168.0.1", "conclave", "conclave 1 7 42", "conclave 2 7 42\n", "conclave 1 7 \n",
        "conclave 1 x 42\n", "conclave 1 7 42\nmore", "conclave 1 7 99999999999\n"}) {
    EXPECT_FALSE(parse_parent_record(data, parent(7)).writable) << data;
    EXPECT_FALSE(parse_parent_record(data, parent(7)).served) << data;
    EXPECT_FALSE(is_parent_record(data)) << data;
  }
  EXPECT_FALSE(is_parent_record(""));
  EXPECT_TRUE(is_parent_record(format_served_record(7, 42)));
  EXPECT_TRUE(is_parent_record(format_permits_record(7, 3)));
}

TEST(semaphore_names, a_lease_is_recognized_by_its_name) {
  EXPECT_TRUE(is_lease("lease-0000000001"));
  EXPECT_TRUE(is_lease("_c_1b4e28ba-2fa1-11d2-883f-0016d3cca427-lease-0000000001"));
  EXPECT_FALSE(is_lease("lease-1"));
  EXPECT_FALSE(is_lease("lock-0000000001"));
  EXPECT_EQ(lease_layout().name_prefix(layout::role::exclusive), "lease-");
}

TEST(contender_data, contains_the_owner_and_the_id) {
  const auto b = parse_contender_data(format_contender_data("web1:17\nsecond line", "abc"));
  EXPECT_EQ(b.owner, "web1:17\nsecond line");
  EXPECT_EQ(b.id, "abc");
}

TEST(contender_data, other_data_is_an_owner_without_an_id) {
  for (const auto* data : {"", "10.0.0.1", "10.0.0.1\n__REVOKE__"}) {
    EXPECT_EQ(parse_contender_data(data).owner, data);
    EXPECT_TRUE(parse_contender_data(data).id.empty());
    EXPECT_FALSE(parse_contender_data(data).asked_to_release);
  }
}

TEST(contender_data, a_revocation_request_keeps_the_owner_and_the_id) {
  const auto asked = ask_to_release(format_contender_data("web1:17", "abc"));
  const auto b = parse_contender_data(asked);
  EXPECT_EQ(b.owner, "web1:17");
  EXPECT_EQ(b.id, "abc");
  EXPECT_TRUE(b.asked_to_release);
  EXPECT_EQ(ask_to_release(asked), asked);
}

TEST(contender_data, a_revocation_request_of_another_library_has_no_owner) {
  EXPECT_EQ(ask_to_release("10.0.0.1"), "__REVOKE__");
  EXPECT_TRUE(parse_contender_data("__REVOKE__").asked_to_release);
  EXPECT_TRUE(parse_contender_data("__REVOKE__").owner.empty());
}

TEST(contender_data, says_what_the_waiting_task_holds) {
  const std::string one(32, 'a'), other(32, 'b');
  wait_info w;
  w.task = {{one}, {other}, true};
  w.has_time_limit = true;
  w.permits = 3;
  const auto data = format_contender_data("web1:17", "abc", format_wait(w));
  EXPECT_EQ(data, "web1:17\nid abc\nholds " + one + ' ' + other + "? others limited permits=3");
  for (const auto& each : {data, ask_to_release(data)}) {
    const auto b = parse_contender_data(each);
    EXPECT_EQ(b.owner, "web1:17");
    EXPECT_EQ(b.id, "abc");
    EXPECT_EQ(b.asked_to_release, each != data);
    ASSERT_TRUE(b.wait);
    EXPECT_EQ(b.wait->task.certain, std::vector{one});
    EXPECT_EQ(b.wait->task.possible, std::vector{other});
    EXPECT_TRUE(b.wait->task.may_hold_others && b.wait->has_time_limit);
    EXPECT_EQ(b.wait->permits, 3u);
  }
  const auto nothing = parse_contender_data("web1:17\nid abc\nholds").wait;
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->task.certain.empty());
  EXPECT_FALSE(nothing->task.may_hold_others || nothing->has_time_limit);
}

TEST(contender_data, ignores_lines_of_later_versions) {
  for (const auto* line : {"holds later", "holds  others", "holdsothers", "holds abc",
                           "holds permits=x", "new line"}) {
    const auto b = parse_contender_data(std::string{"web1:17\nid abc\n"} + line);
    EXPECT_EQ(b.id, "abc") << line;
    EXPECT_FALSE(b.wait) << line;
  }
}

TEST(contender_data, the_number_of_listed_locks_is_limited) {
  wait_info w;
  w.task.may_hold_others = false;
  w.task.certain.assign(1000, std::string(32, 'a'));
  const auto line = format_wait(w);
  EXPECT_LT(line.size(), 1200u);
  EXPECT_TRUE(parse_wait(line)->task.may_hold_others);
  w.task.certain = {"not an id"};
  EXPECT_EQ(format_wait(w), "holds others");
}

}  // namespace
}  // namespace conclave::recipes
