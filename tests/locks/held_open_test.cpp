// On the Unix socket of our own server a lock is held as long as its process lives, whatever the
// clocks say.
#include <csignal>

#include "conclave/server.hpp"
#include "locks/contestants.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {
namespace {

class held_open : public ::testing::Test {
 protected:
  static constexpr auto timeout = 1000ms;

  static server_options on(const std::filesystem::path& socket) {
    server_options options;
    options.socket = socket;
    options.min_session_timeout = timeout;  // otherwise no stop of a test would be a long one
    return options;
  }
  std::unique_ptr<contestant> start(int number) {
    return std::make_unique<contestant>(storage, "keep", host, timeout, "/held", true, number);
  }

  temporary_directory folder;
  std::string host = "unix:" + (folder.path() / "socket").string();
  server running{on(folder.path() / "socket")};
  fenced_storage storage;
};

TEST_F(held_open, a_stopped_holder_keeps_its_lock_and_a_killed_one_does_not) {
  auto first = start(1);
  ASSERT_TRUE(storage.next_of(1));
  auto second = start(2);
  client zk{host};
  while (zk.children("/held").names.size() < 2) zk.sync();
  // Longer than a connection may be silent, and longer than its session would live elsewhere.
  for (const auto length : {timeout * 4 / 5, timeout * 3 / 2}) {
    first->process().pause();
    std::this_thread::sleep_for(length);  // nothing can be waited for: nothing happens
    EXPECT_EQ(storage.last_writer(), 1);
    first->process().resume();
    // It asks held() before each of them, and writes nothing if it was told that the lock was lost.
    for (auto more = storage.pending() + 30; more > 0; --more) {
      const auto write = storage.next();
      ASSERT_TRUE(write) << "it goes on";
      ASSERT_EQ(write->writer, 1);
    }
    EXPECT_EQ(storage.refused(), 0u);
  }
  EXPECT_TRUE(first->process().running());
  first->process().kill(SIGKILL);
  ASSERT_TRUE(storage.next_of(2)) << "the next one has it at once";
}

TEST_F(held_open, has_no_deadline_while_the_connection_is_whole) {
  client zk{host, with_timeout(1s)};
  mutex m{zk, "/held/m"};
  m.lock();
  EXPECT_EQ(zk.session_deadline(), boot_clock::time_point::max());
  EXPECT_GT(m.hold().remaining(), 24h);
  inbox<error_code> lost;
  const std::stop_callback on_loss{m.lost(), [&] { lost.put({}); }};
  running.stop();
  running.wait();
  ASSERT_TRUE(lost.take()) << "the server has gone, and the time counts";
  EXPECT_FALSE(m.held());
  m.unlock();
}

}  // namespace
}  // namespace conclave::testing
