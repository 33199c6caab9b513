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
  static server_options on(const std::filesystem::path& socket) {
    server_options options;
    options.socket = socket;
    return options;
  }
  std::unique_ptr<contestant> start(int number) {
    return std::make_unique<contestant>(storage, "hold", host, 1000ms, "/held", true, number);
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
  first->process().pause();
  // Longer than its session would live elsewhere. Nothing can be waited for: nothing happens.
  std::this_thread::sleep_for(3s);
  EXPECT_EQ(storage.last_writer(), 1);
  first->process().resume();
  ASSERT_TRUE(storage.next_of(1)) << "it goes on";
  ASSERT_TRUE(storage.next_of(1));
  EXPECT_EQ(storage.refused(), 0u);
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
