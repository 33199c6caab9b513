// Parsing and formatting of contender names.
#include "conclave/layout.hpp"

#include <gtest/gtest.h>

#include "conclave/error.hpp"

namespace conclave {
namespace {

using role = layout::role;

void expect(const layout& l, const std::string& name, role r, std::int32_t number) {
  const auto parsed = l.parse(name);
  ASSERT_TRUE(parsed) << name;
  EXPECT_EQ(parsed->role, r) << name;
  EXPECT_EQ(parsed->number, number) << name;
}

TEST(layout, parses_its_own_names_and_those_of_other_libraries) {
  const auto curator = layout::curator();
  expect(curator, "lock-0000000042", role::exclusive, 42);
  expect(curator, "_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000007", role::exclusive, 7);
  expect(curator, "__READ__0000000001", role::reader, 1);
  expect(curator, "_c_01234567-89ab-cdef-0123-456789abcdef-__WRIT__0000000002", role::writer, 2);
  const auto kazoo = layout::kazoo();
  expect(kazoo, "__lock__0000000003", role::exclusive, 3);
  expect(kazoo, "0123456789abcdef0123456789abcdef__lock__0000000004", role::exclusive, 4);
  expect(kazoo, "0123456789abcdef0123456789abcdef__rlock__0000000005", role::reader, 5);
  const auto zookeeper = layout::zookeeper();
  expect(zookeeper, "x-0000000006", role::exclusive, 6);
  expect(zookeeper, "x-72057594037927936-0000000007", role::exclusive, 7);
  expect(zookeeper, "x--72057594037927936-0000000008", role::exclusive, 8);
  expect(zookeeper, "read-0000000009", role::reader, 9);
  expect(layout::election(), "n_0000000010", role::exclusive, 10);
  EXPECT_EQ(layout::election().name_prefix(role::exclusive), "n_");
  const auto latch = layout::leader_latch();
  expect(latch, "latch-0000000011", role::exclusive, 11);
  expect(latch, "_c_01234567-89ab-cdef-0123-456789abcdef-latch-0000000012", role::exclusive, 12);
  EXPECT_EQ(latch.name_prefix(role::exclusive), "latch-");
}

TEST(layout, parses_wrapped_sequence_numbers) {
  const auto l = layout::curator();
  expect(l, "lock-2147483647", role::exclusive, 2147483647);
  expect(l, "lock--2147483648", role::exclusive, -2147483647 - 1);
  expect(l, "lock--1000000000", role::exclusive, -1000000000);
  expect(l, "lock--999999999", role::exclusive, -999999999);
  expect(l, "lock--000000001", role::exclusive, -1);
  const auto z = layout::zookeeper();
  expect(z, "x-17-2147483647", role::exclusive, 2147483647);
  expect(z, "x-17--2147483648", role::exclusive, -2147483647 - 1);
  expect(z, "x--999999999", role::exclusive, -999999999);
}

TEST(layout, rejects_other_names) {
  const auto l = layout::curator();
  for (const auto* name : {"", "lock-", "lock-42", "lock-000000004x", "lock-00000000042",
                           "clock-0000000042", "lock-9999999999", "notes", "0000000042"}) {
    EXPECT_FALSE(l.parse(name)) << name;
    EXPECT_FALSE(layout::in_known_layout(name)) << name;
  }
  for (const auto* name :
       {"__lock__0000000001", "x-0000000001", "write-0000000001", "lock-ab-0000000001",
        "host-R-0000000001", "n_0000000001", "latch-0000000001", "_c_ab-latch-0000000001"}) {
    EXPECT_FALSE(l.parse(name)) << name;
    EXPECT_TRUE(layout::in_known_layout(name)) << name;
  }
}

TEST(layout, recognizes_its_own_nodes_and_those_of_writers) {
  const auto curator = layout::curator();
  EXPECT_TRUE(curator.parse("lock-0000000001")->ours);
  EXPECT_TRUE(curator.parse("__READ__0000000001")->ours);
  EXPECT_FALSE(curator.parse("_c_ab-lock-0000000001")->ours);
  EXPECT_FALSE(curator.parse("_c_ab-__WRIT__0000000001")->ours);
  EXPECT_FALSE(layout::kazoo().parse("ab__lock__0000000001")->ours);
  EXPECT_FALSE(layout::zookeeper().parse("x-17-0000000001")->ours);
  const auto custom = layout::custom("lock-*-", "17");
  EXPECT_TRUE(custom.parse("lock-17-0000000001")->ours);
  EXPECT_FALSE(custom.parse("lock-18-0000000001")->ours);
  for (const auto* name : {"__lock__0000000001", "ab__lock__0000000001", "__WRIT__0000000001",
                           "write-0000000001", "host-W-0000000001"})
    EXPECT_TRUE(layout::may_be_writer(name)) << name;
  for (const auto* name : {"lock-0000000001", "x-0000000001", "n_0000000001", "__READ__0000000001",
                           "latch-0000000001", "lock-17-0000000001"})
    EXPECT_FALSE(layout::may_be_writer(name)) << name;
  EXPECT_EQ(layout::known_as("__rlock__0000000001"), "kazoo");
  EXPECT_EQ(layout::known_as("notes"), "");
  EXPECT_EQ(curator.explain_mismatch("__rlock__0000000001"),
            "node __rlock__0000000001 has the layout kazoo, but this lock has the layout curator");
}

TEST(layout, finds_the_contenders_of_one_wait_queue) {
  const auto curator = layout::curator();
  for (const auto own : {role::exclusive, role::reader, role::writer})
    for (const auto* name : {"lock-0000000001", "__READ__0000000001", "__WRIT__0000000001"})
      EXPECT_TRUE(curator.parse_for(own, name)) << name;
  for (const auto own : {role::reader, role::writer}) {
    EXPECT_TRUE(curator.parse_for(own, "_c_ab-__READ__0000000001"));
    EXPECT_FALSE(curator.parse_for(own, "_c_ab-lock-0000000001"));
  }
  EXPECT_TRUE(curator.parse_for(role::exclusive, "_c_ab-lock-0000000001"));
  EXPECT_FALSE(curator.parse_for(role::exclusive, "_c_ab-__READ__0000000001"));
  EXPECT_FALSE(curator.parse_for(role::exclusive, "notes"));
  // kazoo's Lock and WriteLock have the same names, so its Lock may be a WriteLock.
  for (const auto own : {role::exclusive, role::reader, role::writer})
    for (const auto* name : {"ab__lock__0000000001", "ab__rlock__0000000001"})
      EXPECT_TRUE(layout::kazoo().parse_for(own, name)) << name;
}

TEST(layout, replaces_the_star_of_a_custom_pattern) {
  const auto l = layout::custom("lock-*-", "17");
  EXPECT_EQ(l.name_prefix(role::exclusive), "lock-17-");
  EXPECT_EQ(l.name_prefix(role::reader), "");
  expect(l, "lock-17-0000000001", role::exclusive, 1);
  expect(l, "lock-99-0000000002", role::exclusive, 2);
  EXPECT_FALSE(l.parse("lock-0000000003"));
  const auto s = layout::custom_shared("*-R-", "*-W-", "web1");
  EXPECT_EQ(s.name_prefix(role::writer), "web1-W-");
  expect(s, "web2-R-0000000004", role::reader, 4);
}

TEST(layout, has_no_slash_in_its_names) {
  for (const auto* filling : {"/", "rack1/host2"}) {
    EXPECT_THROW(layout::custom("lock-*-", filling), error) << filling;
    EXPECT_THROW(layout::custom_shared("*-R-", "*-W-", filling), error) << filling;
  }
}

TEST(layout, refuses_invalid_patterns) {
  for (const auto* pattern : {"", "a/b", "*-*"}) {
    try {
      layout::custom(pattern);
      ADD_FAILURE() << "'" << pattern << "' was taken";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::invalid_argument);
    }
  }
}

}  // namespace
}  // namespace conclave
