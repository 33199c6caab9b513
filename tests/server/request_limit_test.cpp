// Recipes on a server whose limit for the request size is lower than the client's.
#include <future>

#include <boost/asio/use_future.hpp>

#include "conclave/queue.hpp"
#include "conclave/server.hpp"
#include "integration/harness.hpp"

namespace conclave::testing {
namespace {

server_options low_limit() {
  server_options options;
  options.max_request_bytes = 100'000;
  return options;
}

class request_limit : public ::testing::Test {
 protected:
  server running{low_limit()};
  client zk{running.connect_string(), reconnecting_at_once()};
  queue q{zk, "/queue"};
};

TEST_F(request_limit, of_the_server_fails_a_larger_push) {
  auto pushed = q.async_push(std::string(200'000, 'x'), boost::asio::use_future);
  ASSERT_EQ(pushed.wait_for(20s), std::future_status::ready);
  try {
    pushed.get();
    ADD_FAILURE() << "it was pushed";
  } catch (const boost::system::system_error& e) {
    EXPECT_EQ(e.code(), errc::too_large);
  }
  q.push("small");
  EXPECT_EQ(q.size(), 1u);
}

// Another library pushed an item that leaves no space for the data of a claim.
TEST_F(request_limit, of_the_server_makes_consumers_skip_items_that_they_cannot_claim) {
  q.push("first");
  q.pop();
  zk.create("/queue/qn-", std::string(99'910, 'x'), create_mode::persistent_sequential);
  q.push("small");
  auto claimed = q.async_claim(boost::asio::use_future);
  ASSERT_EQ(claimed.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(claimed.get()->data(), "small");
}

TEST_F(request_limit, of_the_server_does_not_affect_the_claim_of_another_large_item) {
  q.push("first");
  q.pop();
  zk.create("/queue/qn-", std::string(99'910, 'x'), create_mode::persistent_sequential);
  q.push(std::string(20'000, 'y'));
  q.push("small");
  auto one = q.async_claim(boost::asio::use_future);
  auto other = q.async_claim(boost::asio::use_future);
  ASSERT_EQ(one.wait_for(20s), std::future_status::ready);
  ASSERT_EQ(other.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(one.get()->data().size() + other.get()->data().size(), 20'000u + 5u);
}

}  // namespace
}  // namespace conclave::testing
