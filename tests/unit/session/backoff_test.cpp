// The default delays between connection attempts.

#include <chrono>
#include <set>

#include <gtest/gtest.h>

#include "conclave/client_options.hpp"

namespace conclave {
namespace {

using namespace std::chrono_literals;

TEST(exponential_backoff, delays_double_with_random_jitter) {
  const auto policy = exponential_backoff(100ms, 5s);
  for (int i = 0; i < 200; ++i) {
    auto full = 100ms;
    for (unsigned n = 1; n <= 12; ++n) {
      const auto delay = policy(n);
      EXPECT_GE(delay, full / 2) << n;
      EXPECT_LE(delay, full) << n;
      full = std::min<std::chrono::milliseconds>(full * 2, 5s);
    }
  }
}

TEST(exponential_backoff, does_not_overflow) {
  const auto policy = exponential_backoff(1h, 24h);
  for (const unsigned n : {30u, 64u, 1000u, 4'000'000'000u}) {
    EXPECT_GE(policy(n), 12h);
    EXPECT_LE(policy(n), 24h);
  }
}

TEST(exponential_backoff, clients_have_different_delays) {
  std::set<std::chrono::milliseconds> delays;
  for (int i = 0; i < 50; ++i) delays.insert(exponential_backoff(10s, 10s)(1));
  EXPECT_GT(delays.size(), 10u);
}

TEST(exponential_backoff, handles_unusual_limits) {
  EXPECT_EQ(exponential_backoff(0ms, 0ms)(5), 0ms);
  EXPECT_LE(exponential_backoff(100ms, 10ms)(1), 10ms);
  EXPECT_EQ(exponential_backoff(-5ms, -5ms)(3), 0ms);
  EXPECT_LE(exponential_backoff(100ms, 1s)(0), 100ms);
}

}  // namespace
}  // namespace conclave
