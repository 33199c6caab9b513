// A client that connects through a Unix socket. A relay forwards to a real server.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include <boost/asio/use_future.hpp>

#include "integration/harness.hpp"
#include "support/link_proxy.hpp"
#include "support/temporary_directory.hpp"
#include "support/unix_relay.hpp"

namespace conclave::testing {
namespace {

sockaddr_un address_of(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
  return address;
}

class unix_socket : public ::testing::Test {
 protected:
  static client_options one_after_the_other() {
    client_options options;
    options.shuffle_hosts = false;
    return options;
  }

  temporary_directory folder;
  std::filesystem::path file = folder.path() / "socket";
  std::string host = "unix:" + file.string();
  link_proxy proxy{shared_server().port()};
  unix_relay relay{file, proxy.port()};
};

TEST_F(unix_socket, carries_operations_watches_and_large_data) {
  client zk{host};
  const auto root = fresh_node(zk, "unix");
  const std::string data(800'000, 'x');
  watch_recorder watch;
  zk.create(root + "/a", data);
  EXPECT_TRUE(zk.get(root + "/a", watch.get()).data == data);
  std::vector<std::future<get_result>> results;
  results.reserve(50);
  for (int i = 0; i < 50; ++i)
    results.push_back(zk.async_get(root + "/a", boost::asio::use_future));
  for (auto& r : results) EXPECT_TRUE(r.get().data == data);
  zk.set(root + "/a", "small");
  const auto seen = watch.take();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->path, root + "/a");
  EXPECT_EQ(relay.links_accepted(), 1u);
}

TEST_F(unix_socket, has_a_chroot_after_a_colon) {
  client by_tcp{shared_server().connect_string()};
  const auto root = fresh_node(by_tcp, "unix");
  client zk{host + ":" + root};
  zk.create("/a", "inside");
  EXPECT_EQ(by_tcp.get(root + "/a").data, "inside");
}

TEST_F(unix_socket, the_session_survives_a_reconnect) {
  client zk{host};
  session_recorder events{zk};
  const auto root = fresh_node(zk, "unix");
  zk.create(root + "/e", "", create_mode::ephemeral);
  const auto session = zk.session_id();
  proxy.drop_links();
  ASSERT_TRUE(events.wait_for(session_event::kind::reconnected));
  EXPECT_EQ(zk.session_id(), session);
  EXPECT_TRUE(zk.exists(root + "/e"));
  EXPECT_EQ(relay.links_accepted(), 2u);
}

TEST_F(unix_socket, a_missing_socket_is_reported_and_the_next_host_is_tried) {
  const auto missing = "unix:" + (folder.path() / "missing").string();
  const auto first = missing + ",";
  for (const auto& next : {host, shared_server().connect_string()}) {
    inbox<std::string> log;
    auto options = one_after_the_other();
    options.log = [&](log_level, std::string_view line) { log.put(std::string{line}); };
    client zk{first + next, options};
    EXPECT_TRUE(zk.exists("/"));
    std::string all;
    while (const auto line = log.take(0s)) all += *line + '\n';
    EXPECT_NE(all.find("cannot connect to " + missing + ": No such file or directory"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("connected to " + next), std::string::npos) << all;
  }
}

// connect() fails with EAGAIN on Linux, where TCP would wait.
TEST_F(unix_socket, a_full_backlog_is_a_failed_connection) {
  const auto full = folder.path() / "full";
  const auto address = address_of(full);
  const auto* to = reinterpret_cast<const sockaddr*>(&address);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, to, sizeof address), 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  std::vector<int> waiting;
  do {
    waiting.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  } while (waiting.size() < 100 && ::connect(waiting.back(), to, sizeof address) == 0);
  ASSERT_EQ(errno, EAGAIN);

  inbox<std::string> log;
  auto options = one_after_the_other();
  options.log = [&](log_level, std::string_view line) { log.put(std::string{line}); };
  {
    client zk{"unix:" + full.string() + "," + host, options};
    EXPECT_TRUE(zk.exists("/"));
  }
  EXPECT_EQ(log.take(0s).value_or(""),
            "cannot connect to unix:" + full.string() + ": Resource temporarily unavailable");
  for (const int fd : waiting) ::close(fd);
  ::close(listener);
}

TEST_F(unix_socket, does_not_use_the_tls_of_other_hosts) {
  client_options options;
  options.tls.emplace();
  client zk{host, options};
  EXPECT_TRUE(zk.exists("/"));
}

TEST_F(unix_socket, is_not_inherited_by_programs) {
  client zk{host};
  EXPECT_TRUE(zk.exists("/"));
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    const int fd = std::stoi(entry.path().filename());
    sockaddr_un peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
        peer.sun_family != AF_UNIX || file != peer.sun_path)
      continue;
    ++found;
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC);
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace conclave::testing
