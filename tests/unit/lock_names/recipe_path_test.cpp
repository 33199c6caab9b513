// Paths that are refused because a lock there would look like a contender of its parent's lock.
#include "recipes/recipe_path.hpp"

#include <gtest/gtest.h>

#include "conclave/error.hpp"

namespace conclave::recipes {
namespace {

// The reason for a refusal, or empty.
std::string refusal(const std::string& path, const layout& names = layout::curator()) {
  try {
    require_recipe_path("lock", path, names);
    return {};
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::invalid_path);
    return e.what();
  }
}

TEST(recipe_path, with_the_name_of_a_recipes_node_is_refused) {
  for (const auto* name : {"lock-1763287000",
                           "lock--000000001",
                           "lock--2000000000",
                           "__READ__0000000001",
                           "__WRIT__0000000001",
                           "_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000001",
                           "_c_01234567-89ab-cdef-0123-456789abcdef-__READ__0000000001",
                           "__lock__0000000001",
                           "0123456789abcdef0123456789abcdef__lock__0000000001",
                           "__rlock__0000000001",
                           "0123456789abcdef0123456789abcdef__rlock__0000000001",
                           "x-0000000001",
                           "x-72057594037927936-0000000001",
                           "read-0000000001",
                           "write-0000000001",
                           "n_0000000001",
                           "latch-0000000001",
                           "lock-db-0000000001",
                           "host-R-0000000001",
                           "host-W-0000000001",
                           "lease-0000000001",
                           "_c_01234567-89ab-cdef-0123-456789abcdef-lease-0000000001",
                           "qn-0000000001",
                           "entry-100-0000000001"}) {
    const std::string text = name;
    EXPECT_NE(refusal("/" + text), "") << name;
    EXPECT_NE(refusal("/backups/" + text), "") << name;
    EXPECT_NE(refusal("/backups/" + text + "/db/daily"), "") << name;
  }
}

TEST(recipe_path, with_other_names_is_accepted) {
  for (const auto* name : {"lock", "lock-1", "lock-176328700", "lock-17632870000",
                           "lock-1763287000.d", "job-1763287000", "1763287000", "lock1763287000",
                           "leases", "entry-0000000001", "queue-0000000001"})
    EXPECT_EQ(refusal(std::string{"/backups/"} + name), "") << name;
}

TEST(recipe_path, with_a_name_of_its_own_layout_is_refused) {
  const std::string path = "/backups/job-1763287000";
  EXPECT_NE(refusal(path, layout::custom("job-")), "");
  EXPECT_NE(refusal(path, layout::custom_shared("job-", "task-")), "");
  EXPECT_EQ(refusal(path, layout::custom("task-")), "");
}

TEST(recipe_path, that_is_not_a_valid_path_is_refused) {
  for (const auto* path : {"", "/", "backups", "/backups/", "/a//b", "/a/../b"})
    EXPECT_NE(refusal(path), "") << path;
}

TEST(recipe_path, the_message_says_why_and_what_to_do) {
  EXPECT_EQ(refusal("/a/b/lock-1763287000/c"),
            "lock /a/b/lock-1763287000/c ('lock-1763287000' looks like the node of a contender at "
            "/a/b; use a name that does not end with ten digits): not a valid node path");
}

}  // namespace
}  // namespace conclave::recipes
