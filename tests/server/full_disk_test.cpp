// No room on the disk: nothing is acknowledged that is not kept, reading goes on, and so does
// writing once there is room.
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <thread>

#include "integration/harness.hpp"
#include "server/figures.hpp"
#include "server/serve_process.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

// A small file system that only the processes started through `inside()` see at folder(); from here
// it is at seen_from_here().
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
  std::filesystem::path seen_from_here() const {
    return "/proc/" + std::to_string(keeper_->pid()) + "/root" + folder().string();
  }
  argument_list inside() const {
    // Its root as well: entering a mount namespace leads out of a chroot.
    return {"nsenter", "--target", std::to_string(keeper_->pid()), "--mount", "--root"};
  }

  // Takes all the room there is.
  void fill() const {
    std::ofstream ballast{seen_from_here() / "ballast", std::ios::binary | std::ios::app};
    const std::string piece(4096, 'x');
    while (ballast << piece << std::flush) {
    }
  }
  void make_room() const { std::filesystem::remove(seen_from_here() / "ballast"); }

 private:
  temporary_directory scratch_;
  std::unique_ptr<child_process> keeper_;
};

class full_disk : public ::testing::Test {
 protected:
  static client_options back_at_once() {
    client_options options = with_timeout(30s);
    options.reconnect = [](unsigned) { return 5ms; };
    return options;
  }

  // Writes until the server has no room for so much any more. The log was made with some in
  // advance.
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
    FAIL() << "the disk is larger than thought";
  }

  void expect_everything_is_there(client& reader) {
    for (const auto& [path, data] : acknowledged)
      EXPECT_TRUE(reader.get(path).data == data) << path;
  }

  bool is_told_as_full() {
    return figure(server.port(), "conclave_disk_full") == 1 &&
           ask_server(server.port(), "isro") == "ro";
  }

  small_disk disk{"16m"};
  serve_process server{{"--data", disk.folder() / "data", "--listen", "0", "--tick", "100ms",
                        "--max-session-timeout", "40s"},
                       disk.inside()};
  client zk{server.tcp(), back_at_once()};
  std::map<std::string, std::string> acknowledged;
  int written = 0;
};

TEST_F(full_disk, refuses_changes_until_there_is_room) {
  const auto session = [&] {
    zk.create("/alive", "", create_mode::ephemeral);
    return zk.session_id();
  }();
  for (int round = 0; round < 2; ++round) {
    write_until_refused();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(eventually([&] { return is_told_as_full(); }));
    EXPECT_TRUE(server.prints("nothing can be changed until there is room"));
    expect_everything_is_there(zk);
    EXPECT_EQ(code_of([&] { zk.create("/refused"); }), errc::system_error);
    EXPECT_EQ(code_of([&] { zk.set("/", "x"); }), errc::system_error);
    EXPECT_EQ(code_of([&] { zk.remove(acknowledged.begin()->first); }), errc::system_error);
    EXPECT_FALSE(zk.exists("/refused"));

    disk.make_room();
    ASSERT_TRUE(eventually([&] { return !is_told_as_full(); }));
    zk.create("/made-" + std::to_string(round), "with room");
    expect_everything_is_there(zk);
    EXPECT_EQ(ask_server(server.port(), "isro"), "rw");
  }
  EXPECT_EQ(zk.session_id(), session);
  EXPECT_TRUE(zk.exists("/alive"));

  // What a new process finds is the same.
  server.kill();
  server.start_again();
  client fresh{server.tcp()};
  expect_everything_is_there(fresh);
  EXPECT_TRUE(fresh.exists("/made-1"));
  EXPECT_FALSE(fresh.exists("/refused"));
}

TEST_F(full_disk, sessions_that_cannot_end_wait_and_cost_nothing) {
  link_proxy proxy{server.port()};
  auto options = back_at_once();
  options.session_timeout = 2s;
  client leaving{proxy.connect_string(), options};
  leaving.create("/leaving", "", create_mode::ephemeral);
  write_until_refused();
  ASSERT_FALSE(HasFatalFailure());
  proxy.cut();
  std::this_thread::sleep_for(2200ms);  // its session should have ended by now, and cannot

  const auto before = server.cpu_time();
  std::this_thread::sleep_for(1s);
  const auto used = server.cpu_time() - before;
  RecordProperty("cpu_ms_in_a_second", static_cast<int>(used.count()));
  EXPECT_LT(used, 100ms) << "it does not wait, it turns in circles";

  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/leaving", gone.get()));
  disk.make_room();
  EXPECT_TRUE(gone.take()) << "once there is room";
}

TEST_F(full_disk, nothing_is_lost_by_a_kill_while_it_is_full) {
  write_until_refused();
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_TRUE(eventually([&] { return is_told_as_full(); }));
  server.kill();
  disk.make_room();
  server.start_again();
  client fresh{server.tcp()};
  expect_everything_is_there(fresh);
  fresh.create("/made", "with room");
}

// A write fails for another reason than want of room; here, a limit on the size of files. Nobody
// can say any more what is on the disk but the next start.
TEST(failing_disk, ends_the_server_and_nothing_acknowledged_is_lost) {
  serve_process server{{}, {"prlimit", "--fsize=5000000"}};
  int acknowledged = 0;
  {
    client_options options = with_timeout(1s);
    options.connect_wait = 1ms;
    client zk{server.socket(), options};
    ASSERT_TRUE(zk.wait_connected(patience));
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
