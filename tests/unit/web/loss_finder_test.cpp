#include "web/loss_finder.hpp"

#include <gtest/gtest.h>

namespace conclave::web {
namespace {

TEST(session_ends, are_read_from_a_reply) {
  removed_nodes found;
  ASSERT_TRUE(
      parse_session_ends("ended with their sessions: 4\n"
                         "1 0x1f expired /a/lock-0000000001\n"
                         "2 0x1f closed /a b/lock 1\n"
                         "3 0x2 process /c\n"
                         "4 0x2 unknown /d\n",
                         found));
  const removed_nodes expected{{"/a/lock-0000000001", loss::expired},
                               {"/a b/lock 1", loss::closed},
                               {"/c", loss::process_exited}};
  EXPECT_EQ(found, expected);
  ASSERT_TRUE(parse_session_ends("ended with their sessions: 0\n", found));
  EXPECT_EQ(found, expected);
}

TEST(session_ends, may_be_damaged_or_missing) {
  removed_nodes found;
  EXPECT_FALSE(parse_session_ends("", found));
  EXPECT_FALSE(
      parse_session_ends("ends is not executed because it is not in the whitelist.\n", found));
  EXPECT_TRUE(parse_session_ends("ended with their sessions: ", found));
  EXPECT_TRUE(
      parse_session_ends("ended with their sessions: 9\n\n1\n1 0x1\n1 0x1 expired\n", found));
  EXPECT_TRUE(parse_session_ends("ended with their sessions: 9\n1 0x1 expired relative", found));
  EXPECT_TRUE(found.empty());
}

TEST(a_loss, is_counted_once_and_a_release_is_not) {
  loss_counts counts{};
  loss_finder finder;
  finder.add("/lost", 10, counts);
  finder.add("/released", 11, counts);
  ASSERT_TRUE(finder.is_waiting());
  finder.apply({{"/lost", loss::expired}, {"/other", loss::closed}}, 12);
  EXPECT_FALSE(finder.is_waiting());
  EXPECT_EQ(counts, (loss_counts{1, 0, 0}));
  finder.apply({{"/lost", loss::expired}}, 13);
  EXPECT_EQ(counts, (loss_counts{1, 0, 0}));
}

// The server may have been asked before it removed the node.
TEST(a_hold_that_ends_after_the_question, waits_for_the_next_one) {
  loss_counts counts{};
  loss_finder finder;
  finder.add("/lost", 10, counts);
  finder.apply({}, 9);
  finder.apply({}, 10);
  ASSERT_TRUE(finder.is_waiting());
  finder.apply({{"/lost", loss::process_exited}}, 11);
  EXPECT_EQ(counts, (loss_counts{0, 1, 0}));
}

}  // namespace
}  // namespace conclave::web
