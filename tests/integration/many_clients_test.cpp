// A thousand idle clients cost one thread and little memory.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "integration/harness.hpp"

namespace conclave::testing {
namespace {

std::size_t threads() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator{"/proc/self/task"},
                    std::filesystem::directory_iterator{}));
}

std::size_t resident_kilobytes() {
  std::ifstream in{"/proc/self/status"};
  for (std::string word; in >> word;) {
    std::size_t kilobytes = 0;
    if (word == "VmRSS:" && in >> kilobytes) return kilobytes;
  }
  return 0;
}

TEST(many_clients, a_thousand_idle_clients_share_a_thread_and_100_megabytes) {
  shared_server();
  const auto threads_before = threads();
  context shared;
  std::vector<std::unique_ptr<client>> all;
  for (int i = 0; i < 1000; ++i)
    all.push_back(
        std::make_unique<client>(shared, shared_server().connect_string(), with_timeout(30s)));
  for (auto& zk : all) ASSERT_TRUE(zk->wait_connected(wait_limit));
  EXPECT_EQ(threads(), threads_before + 1);
  const auto kilobytes = resident_kilobytes();
  RecordProperty("resident_kilobytes", static_cast<int>(kilobytes));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(kilobytes, 100u * 1024) << "of the whole process";
#endif
  for (auto& zk : all) EXPECT_TRUE(zk->exists("/"));
  // Closed together, not one round trip after the other.
  inbox<int> closed;
  for (auto& zk : all) zk->async_close([&](error_code) { closed.put(1); });
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(closed.take());
}

}  // namespace
}  // namespace conclave::testing
