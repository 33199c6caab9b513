// On the Unix socket of conclave's server, a lock is held while its process lives, without a
// deadline.
#include <csignal>

#include "conclave/server.hpp"
#include "locks/lock_user_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {
namespace {

class process_bound_lock : public ::testing::Test {
 protected:
  static constexpr auto timeout = 1000ms;

  static server_options on(const std::filesystem::path& socket) {
    server_options options;
    options.socket = socket;
    options.min_session_timeout = timeout;  // so that a short stop exceeds the timeout
    return options;
  }
  std::unique_ptr<lock_user> start(int number) {
    return std::make_unique<lock_user>(storage, "keep", host, timeout, "/held", true, number);
  }

  temporary_directory folder;
  std::string host = "unix:" + (folder.path() / "socket").string();
  server running{on(folder.path() / "socket")};
  fenced_storage storage;
};

TEST_F(process_bound_lock, a_stopped_holder_keeps_its_lock_and_a_killed_one_does_not) {
  auto first = start(1);
  ASSERT_TRUE(storage.next_of(1));
  auto second = start(2);
  client zk{host};
  while (zk.children("/held").names.size() < 2) zk.sync();
  // Longer than the silence limit of a connection, and longer than the session timeout.
  for (const auto length : {timeout * 4 / 5, timeout * 3 / 2}) {
    first->process().pause();
    std::this_thread::sleep_for(length);  // there is no event to wait for
    EXPECT_EQ(storage.last_writer(), 1);
    first->process().resume();
    // The holder checks held() before each write and stops writing after a loss.
    for (auto more = storage.pending() + 30; more > 0; --more) {
      const auto write = storage.next();
      ASSERT_TRUE(write) << "the holder continues";
      ASSERT_EQ(write->writer, 1);
    }
    EXPECT_EQ(storage.refused(), 0u);
  }
  EXPECT_TRUE(first->process().running());
  first->process().kill(SIGKILL);
  ASSERT_TRUE(storage.next_of(2)) << "the next process must get the lock at once";
}

TEST_F(process_bound_lock, has_no_deadline_while_connected) {
  client zk{host, with_timeout(1s)};
  mutex m{zk, "/held/m"};
  m.lock();
  EXPECT_EQ(zk.session_deadline(), boot_clock::time_point::max());
  EXPECT_GT(m.hold().remaining(), 24h);
  inbox<error_code> lost;
  const std::stop_callback on_loss{m.lost(), [&] { lost.put({}); }};
  running.stop();
  running.wait();
  ASSERT_TRUE(lost.take()) << "the server has stopped, so there is a deadline";
  EXPECT_FALSE(m.held());
  m.unlock();
}

}  // namespace
}  // namespace conclave::testing
