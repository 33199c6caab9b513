// A fixture with a connected client and a new node, for the blocking and the asynchronous
// functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "client.hpp"

namespace conclave::testing {

std::string describe(const Stat& s);

// Compares all fields.
#define EXPECT_SAME_STAT(a, b) EXPECT_EQ(describe(a), describe(b))

// Creates a new node "/NAME-K" that is open to all clients.
std::string fresh_node(zhandle_t* zk, const std::string& name);

// Runs each test with the blocking and with the asynchronous functions.
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

  // Waits until all earlier events of this client were passed to its watchers.
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
