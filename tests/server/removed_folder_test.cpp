// A server ends if its data folder is removed, moved or replaced. Otherwise the next server would
// create a new store there, and the same lock would be granted twice.
#include <fstream>
#include <functional>

#include "integration/harness.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"

namespace conclave::testing {
namespace {

namespace fs = std::filesystem;

void expect_the_server_ends(const std::function<void(const serve_process&)>& harm) {
  serve_process server{{"--listen", "0"}};
  raw_session by_tcp{server.tcp()};
  raw_session by_socket{server.socket()};
  ASSERT_TRUE(by_tcp.handshake(10'000));
  ASSERT_TRUE(by_socket.handshake(10'000));
  harm(server);
  EXPECT_TRUE(is_ended(by_tcp.link));
  EXPECT_TRUE(is_ended(by_socket.link));
  const auto status = server.wait();
  ASSERT_TRUE(status);
  EXPECT_NE(status->code, 0);
  EXPECT_TRUE(server.prints("was removed or replaced under the running server")) << server.output();
}

TEST(removed_folder, ends_the_server) {
  expect_the_server_ends([](const serve_process& s) {
    // The server removes its socket at the same time, so remove_all() may fail on a missing file.
    for (std::error_code ec; fs::exists(s.data());) fs::remove_all(s.data(), ec);
  });
}

TEST(removed_folder, ends_the_server_if_it_was_moved) {
  expect_the_server_ends(
      [](const serve_process& s) { fs::rename(s.data(), s.folder() / "elsewhere"); });
}

TEST(removed_folder, ends_the_server_if_only_its_lock_was_replaced) {
  expect_the_server_ends([](const serve_process& s) {
    fs::remove(s.data() / "lock");
    std::ofstream{s.data() / "lock"} << "another one\n";
  });
}

// A stopped server gets no notification, and inotify does not report changes of parent folders.
TEST(removed_folder, ends_the_server_before_it_acknowledges_anything_and_keeps_the_next_server) {
  serve_process first{{"--listen", "0"}};
  raw_session writer{first.tcp()};
  ASSERT_TRUE(writer.handshake(10'000));
  first.pause();
  fs::remove_all(first.data());
  serve_process second{{"--data", first.data()}};
  {
    client zk{second.socket()};
    zk.create("/of_the_second", "kept");
  }
  writer.link.send_frame(create_request(1, "/of_the_first", "", false));
  first.resume();
  EXPECT_THROW(decode_reply(writer.link.receive_frame()), connection_ended);
  EXPECT_TRUE(first.wait());

  // The second server still has its log and its socket.
  EXPECT_EQ(client{second.socket()}.get("/of_the_second").data, "kept");
  second.kill();
  second.start_again();
  client zk{second.socket()};
  EXPECT_EQ(zk.get("/of_the_second").data, "kept");
  EXPECT_FALSE(zk.exists("/of_the_first"));
}

}  // namespace
}  // namespace conclave::testing
