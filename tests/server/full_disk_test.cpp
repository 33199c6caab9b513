// A full disk: acknowledged changes are stored, reads continue, and writes continue when there is
// space.
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <thread>

#include "integration/harness.hpp"
#include "server/serve_process.hpp"
#include "server/statistics.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

// A small file system. Processes that are started through `inside()` see it at folder(). This
// process sees it at host_path().
class small_disk {
 public:
  explicit small_disk(const std::string& size) {
    std::filesystem::create_directory(folder());
    child_options keeper{{"unshare", "--mount", "--propagation", "private", "sh", "-c",
                          "mount -t tmpfs -o size=" + size + " small " + folder().string() +
                              " && echo mounted && exec sleep 1000"}};
    keeper.output = scratch_.path() / "keeper";
    keeper_ = std::make_unique<child_process>(keeper);
    const bool mounted = eventually([&] {
      std::ifstream said{keeper.output};
      std::string word;
      return !keeper_->running() || (said >> word && word == "mounted");
    });
    if (!mounted || !keeper_->running())
      throw std::runtime_error{
          "cannot mount a small tmpfs in a mount namespace of its own (unshare --mount): this test "
          "needs root, or CAP_SYS_ADMIN in its container"};
  }

  std::filesystem::path folder() const { return scratch_.path() / "disk"; }
  std::filesystem::path host_path() const {
    return "/proc/" + std::to_string(keeper_->pid()) + "/root" + folder().string();
  }
  argument_list inside() const {
    // --root is needed too, because entering a mount namespace leaves a chroot.
    return {"nsenter", "--target", std::to_string(keeper_->pid()), "--mount", "--root"};
  }

  // Uses all the space.
  void fill() const {
    std::ofstream ballast{host_path() / "ballast", std::ios::binary | std::ios::app};
    const std::string piece(4096, 'x');
    while (ballast << piece << std::flush) {
    }
  }
  void make_room() const { std::filesystem::remove(host_path() / "ballast"); }

 private:
  temporary_directory scratch_;
  std::unique_ptr<child_process> keeper_;
};

class full_disk : public ::testing::Test {
 protected:
  // Writes until the server refuses a write. The log has some preallocated space.
  void write_until_refused() {
    disk.fill();
    for (int i = 0; i < 500; ++i) {
      const auto path = "/n" + std::to_string(written++);
      const std::string data(20'000, static_cast<char>('a' + i % 26));
      const auto ec = code_of([&] { zk.create(path, data); });
      if (!ec) {
        acknowledged[path] = data;
        continue;
      }
      EXPECT_TRUE(ec == errc::connection_loss || ec == errc::system_error) << ec.message();
      return;
    }
    FAIL() << "the disk is larger than expected";
  }

  void expect_everything_is_there(client& reader) {
    for (const auto& [path, data] : acknowledged)
      EXPECT_TRUE(reader.get(path).data == data) << path;
  }

  bool reports_full_disk() {
    return statistic(server.port(), "conclave_disk_full") == 1 &&
           ask_server(server.port(), "isro") == "ro";
  }

  small_disk disk{"16m"};
  serve_process server{{"--data", disk.folder() / "data", "--listen", "0", "--tick", "100ms",
                        "--max-session-timeout", "40s"},
                       disk.inside()};
  client zk{server.tcp(), reconnecting_at_once()};
  std::map<std::string, std::string> acknowledged;
  int written = 0;
};

TEST_F(full_disk, refuses_changes_until_there_is_space) {
  const auto session = [&] {
    zk.create("/alive", "", create_mode::ephemeral);
    return zk.session_id();
  }();
  for (int round = 0; round < 2; ++round) {
    write_until_refused();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(eventually([&] { return reports_full_disk(); }));
    EXPECT_TRUE(server.prints("nothing can be changed until 4 MiB are free"));
    expect_everything_is_there(zk);
    EXPECT_EQ(code_of([&] { zk.create("/refused"); }), errc::system_error);
    EXPECT_EQ(code_of([&] { zk.set("/", "x"); }), errc::system_error);
    EXPECT_EQ(code_of([&] { zk.remove(acknowledged.begin()->first); }), errc::system_error);
    EXPECT_FALSE(zk.exists("/refused"));

    disk.make_room();
    ASSERT_TRUE(eventually([&] { return !reports_full_disk(); }));
    zk.create("/made-" + std::to_string(round), "with room");
    expect_everything_is_there(zk);
    EXPECT_EQ(ask_server(server.port(), "isro"), "rw");
  }
  EXPECT_EQ(zk.session_id(), session);
  EXPECT_TRUE(zk.exists("/alive"));

  // A new process loads the same data.
  server.kill();
  server.start_again();
  client fresh{server.tcp()};
  expect_everything_is_there(fresh);
  EXPECT_TRUE(fresh.exists("/made-1"));
  EXPECT_FALSE(fresh.exists("/refused"));
}

TEST_F(full_disk, sessions_that_cannot_end_use_no_cpu_time) {
  link_proxy proxy{server.port()};
  auto options = reconnecting_at_once();
  options.session_timeout = 2s;
  client leaving{proxy.connect_string(), options};
  leaving.create("/leaving", "", create_mode::ephemeral);
  write_until_refused();
  ASSERT_FALSE(HasFatalFailure());
  proxy.disconnect();
  std::this_thread::sleep_for(2200ms);  // the session is overdue, but its end cannot be stored

  const auto before = server.cpu_time();
  std::this_thread::sleep_for(1s);
  const auto used = server.cpu_time() - before;
  RecordProperty("cpu_ms_in_a_second", static_cast<int>(used.count()));
  EXPECT_LT(used, 100ms) << "the server is busy instead of waiting";

  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/leaving", gone.get()));
  disk.make_room();
  EXPECT_TRUE(gone.take()) << "when there is space";
}

TEST_F(full_disk, a_kill_while_it_is_full_loses_nothing) {
  write_until_refused();
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_TRUE(eventually([&] { return reports_full_disk(); }));
  server.kill();
  disk.make_room();
  server.start_again();
  client fresh{server.tcp()};
  expect_everything_is_there(fresh);
  fresh.create("/made", "with room");
}

// A write fails for another reason than a full disk, here a limit for the size of files. Then the
// state of the disk is unknown until the next start.
TEST(failing_disk, ends_the_server_without_losing_acknowledged_changes) {
  serve_process server{{}, {"prlimit", "--fsize=5000000"}};
  int acknowledged = 0;
  {
    client_options options = with_timeout(1s);
    options.connect_wait = 1ms;
    client zk{server.socket(), options};
    ASSERT_TRUE(zk.wait_connected(wait_limit));
    const std::string data(50'000, 'x');
    while (!code_of([&] { zk.create("/n" + std::to_string(acknowledged), data); }))
      ASSERT_LT(++acknowledged, 1000);
  }
  const auto status = server.wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 1) << "ended by signal " << status->signal;
  EXPECT_TRUE(server.prints("check the disk, then start the server again")) << server.output();
  EXPECT_FALSE(std::filesystem::exists(server.data() / "socket"));

  serve_process next{{"--data", server.data()}};
  client zk{next.socket()};
  EXPECT_GT(acknowledged, 20);
  for (int i = 0; i < acknowledged; ++i) EXPECT_TRUE(zk.exists("/n" + std::to_string(i))) << i;
}

}  // namespace
}  // namespace conclave::testing
