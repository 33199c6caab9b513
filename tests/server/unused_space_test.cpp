// Unused space in the files is returned when the server is idle after many changes.
#include "integration/harness.hpp"
#include "server/serve_process.hpp"
#include "server/statistics.hpp"

namespace conclave::testing {
namespace {

TEST(unused_space, is_returned_when_the_server_is_idle) {
  serve_process server;
  const auto file = server.data() / "conclave.db";
  const auto log = server.data() / "conclave.db-wal";
  client zk{server.socket()};
  const auto log_size = std::filesystem::file_size(log);

  constexpr int nodes = 60;
  const auto path = [](int i) { return "/n" + std::to_string(i); };
  for (int i = 0; i < nodes; ++i) zk.create(path(i), std::string(100'000, 'x'));
  EXPECT_GT(std::filesystem::file_size(file) + std::filesystem::file_size(log), 5u << 20);
  for (int i = 1; i < nodes; ++i) zk.remove(path(i));

  // The server handles requests while it returns the space.
  int requests = 0;
  const auto is_small = [&] {
    zk.set(path(0), "change " + std::to_string(++requests));
    std::this_thread::sleep_for(300ms);
    return std::filesystem::file_size(file) <= 1600u << 10 &&
           std::filesystem::file_size(log) == log_size;
  };
  EXPECT_TRUE(eventually(is_small, 60s))
      << std::filesystem::file_size(file) << ' ' << std::filesystem::file_size(log);
  server.kill();
  server.start_again();
  client again{server.socket()};
  EXPECT_EQ(again.get(path(0)).data, "change " + std::to_string(requests));
  EXPECT_EQ(again.children("/").names.size(), 2u);
}

}  // namespace
}  // namespace conclave::testing
