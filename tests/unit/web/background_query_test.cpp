#include "web/background_query.hpp"

#include <atomic>
#include <future>
#include <stdexcept>

#include <gtest/gtest.h>

namespace conclave::web {
namespace {

using namespace std::chrono_literals;

TEST(a_background_query, does_not_block_its_callers) {
  std::promise<void> asked, answered;
  std::promise<int> reply;
  background_query<int> query{[&]() -> std::optional<int> {
                                asked.set_value();
                                return reply.get_future().get();
                              },
                              {1h, 1h},
                              [&] { answered.set_value(); }};
  query.request();
  ASSERT_EQ(asked.get_future().wait_for(30s), std::future_status::ready);
  query.request();
  EXPECT_EQ(query.last(), nullptr);
  const auto before = now();
  reply.set_value(7);
  ASSERT_EQ(answered.get_future().wait_for(30s), std::future_status::ready);
  ASSERT_NE(query.last(), nullptr);
  EXPECT_EQ(query.last()->result, 7);
  EXPECT_LE(query.last()->asked_at, before);
}

TEST(a_background_query, continues_after_failures) {
  std::atomic<int> calls = 0;
  std::promise<void> answered;
  background_query<int>* self = nullptr;
  background_query<int> query{[&]() -> std::optional<int> {
                                const int call = ++calls;
                                self->request();  // before this call has ended
                                if (call == 1) return {};
                                if (call == 2) throw std::runtime_error{"failed"};
                                return call;
                              },
                              {1h, 0s},
                              [&] { answered.set_value(); }};
  self = &query;
  query.request();
  ASSERT_EQ(answered.get_future().wait_for(30s), std::future_status::ready);
  EXPECT_EQ(query.last()->result, 3);
  EXPECT_EQ(calls, 3);  // the next call is in an hour
}

TEST(a_background_query, without_a_function_has_no_results) {
  background_query<int> query{{}, {0s, 0s}, {}};
  query.request();
  EXPECT_EQ(query.last(), nullptr);
}

}  // namespace
}  // namespace conclave::web
