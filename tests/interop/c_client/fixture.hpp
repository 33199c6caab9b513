// What the suites share: a connected client, a node of their own, and both halves of the library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "client.hpp"

namespace conclave::testing {

std::string describe(const Stat& s);

// Nothing is equal to a Stat but a Stat with the same values.
#define EXPECT_SAME_STAT(a, b) EXPECT_EQ(describe(a), describe(b))

// "/NAME-K", created anew with the permissions of everybody.
std::string fresh_node(zhandle_t* zk, const std::string& name);

// Suites that run twice: with the blocking half of the library, and with the asynchronous one.
class both_halves : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(zk.wait_connected());
    api = calls_on(zk);
    root = fresh_node(zk, "c");
  }

  std::unique_ptr<calls> calls_on(zhandle_t* handle) const {
    return std::string(GetParam()) == "blocking" ? blocking_calls(handle)
                                                 : asynchronous_calls(handle);
  }

  // All that the server sent to this client before now has been given to its watchers.
  void catch_up(zhandle_t* handle) { ASSERT_EQ(sync(handle, "/").rc, ZOK); }
  void catch_up() { catch_up(zk); }

  c_client zk{shared_server().connect_string()};
  std::unique_ptr<calls> api;
  std::string root;
};

#define INSTANTIATE_BOTH_HALVES(suite)                         \
  INSTANTIATE_TEST_SUITE_P(                                    \
      c, suite, ::testing::Values("blocking", "asynchronous"), \
      [](const ::testing::TestParamInfo<const char*>& half) -> std::string { return half.param; })

}  // namespace conclave::testing
