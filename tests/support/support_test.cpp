// The test tools themselves: a tool that silently does nothing would make every test that uses it
// pass.
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "support/certificates.hpp"
#include "support/child_process.hpp"
#include "support/four_letter_word.hpp"
#include "support/frames.hpp"
#include "support/link_proxy.hpp"
#include "support/loopback_socket.hpp"
#include "support/scripted_server.hpp"
#include "support/temporary_directory.hpp"
#include "support/zookeeper_ensemble.hpp"
#include "support/zookeeper_server.hpp"

namespace conclave::testing {
namespace {

using namespace std::chrono_literals;
using stopwatch = std::chrono::steady_clock;

constexpr std::int32_t op_create = 1;
constexpr std::int32_t op_exists = 3;

long milliseconds_since(stopwatch::time_point start) {
  return static_cast<long>(
      std::chrono::duration_cast<std::chrono::milliseconds>(stopwatch::now() - start).count());
}

std::string request(std::int32_t xid, std::int32_t opcode, const std::string& path) {
  std::string payload;
  append_int32(payload, xid);
  append_int32(payload, opcode);
  append_int32(payload, static_cast<std::int32_t>(path.size()));
  payload += path;
  if (opcode == op_create) {
    append_int32(payload, 0);  // empty data
    append_int32(payload, 1);  // one ACL entry: world:anyone, all permissions
    append_int32(payload, 31);
    payload += std::string("\0\0\0\5world\0\0\0\6anyone", 19);
    append_int32(payload, 0);  // persistent
  } else {
    payload.push_back('\0');  // no watch
  }
  return payload;
}

std::int32_t error_of(std::string_view reply) { return int32_at(reply, 12); }

loopback_socket open_session(std::uint16_t port) {
  auto socket = loopback_socket::connect(port);
  socket.send_frame(encode(connect_request(10000)));
  EXPECT_GT(int32_at(socket.receive_frame(), 4), 0) << "no session granted";
  return socket;
}

std::int32_t call(loopback_socket& socket, std::int32_t xid, std::int32_t opcode,
                  const std::string& path) {
  socket.send_frame(request(xid, opcode, path));
  return error_of(socket.receive_frame());
}

template <class Server>
class timed_start {
 public:
  explicit timed_start(const char* what, zookeeper_options options = zookeeper_options()) {
    const auto start = stopwatch::now();
    server_ = std::make_unique<Server>(std::move(options));
    std::cout << "[  timing  ] " << what << " started in " << milliseconds_since(start) << " ms\n";
  }
  Server* operator->() { return server_.get(); }

 private:
  std::unique_ptr<Server> server_;
};

// ---- processes ----

TEST(child_process_test, reports_exit_output_environment_and_folder) {
  temporary_directory folder;
  child_options options({"sh", "-c", "echo $GREETING; pwd; ls /proc/self/fd | wc -l; exit 7"});
  options.environment["GREETING"] = "hello";
  options.directory = folder.path();
  options.output = folder.path() / "out";
  child_process child(options);
  const auto status = child.wait(10s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 7);
  std::ifstream file(options.output);
  std::string greeting, where, descriptors;
  file >> greeting >> where >> descriptors;
  EXPECT_EQ(greeting, "hello");
  EXPECT_EQ(where, folder.path().string());
  EXPECT_EQ(descriptors, "4");  // 0, 1, 2 and the one that ls has open on the folder
}

TEST(child_process_test, pauses_resumes_and_dies_with_its_group) {
  pid_t pid = -1;
  {
    child_process child(child_options({"sleep", "1000"}));
    pid = child.pid();
    for (int round = 0; round < 3; ++round) {
      child.pause();
      std::string name, state;
      std::ifstream("/proc/" + std::to_string(pid) + "/stat") >> name >> name >> state;
      EXPECT_EQ(state, "T");
      child.resume();
    }
    EXPECT_FALSE(child.wait(20ms));
    EXPECT_TRUE(child.running());
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(child_process_test, outlives_the_thread_that_started_it) {
  std::unique_ptr<child_process> child;
  std::thread([&] {
    child = std::make_unique<child_process>(child_options({"sleep", "1000"}));
  }).join();
  EXPECT_FALSE(child->wait(50ms));
}

// Run by the next test in a process of its own, which is then killed.
TEST(child_process_test, DISABLED_holds_a_child) {
  child_process child(child_options({"sleep", "1000"}));
  std::cout << "child " << child.pid() << std::endl;
  child.wait(1min);
}

TEST(child_process_test, dies_with_the_test_process) {
  temporary_directory folder;
  child_options options({std::filesystem::read_symlink("/proc/self/exe").string(),
                         "--gtest_also_run_disabled_tests",
                         "--gtest_filter=*.DISABLED_holds_a_child"});
  options.output = folder.path() / "out";
  child_process holder(options);
  pid_t grandchild = 0;
  for (const auto deadline = stopwatch::now() + 10s;
       grandchild == 0 && stopwatch::now() < deadline;) {
    std::this_thread::sleep_for(5ms);
    std::ifstream file(options.output);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto at = text.find("child ");
    if (at != std::string::npos && text.find('\n', at) != std::string::npos)
      grandchild = std::stoi(text.substr(at + 6));
  }
  ASSERT_NE(grandchild, 0);
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, grandchild, 0U));
  ASSERT_GE(pidfd, 0);
  holder.kill(SIGKILL);  // alone: the grandchild has a group of its own
  pollfd ended{pidfd, POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 10000), 1);
  ::close(pidfd);
}

TEST(child_process_test, missing_program_throws) {
  EXPECT_THROW(child_process(child_options({"no-such-program"})), std::system_error);
  EXPECT_THROW(child_process(child_options({"/no/such/program"})), std::system_error);
}

// ---- scripted server ----

TEST(scripted_server_test, plays_its_script) {
  scripted_server server([](scripted_connection& connection) {
    const auto asked = connection.accept_session(4000, 0x77);
    EXPECT_EQ(asked.timeout_ms, 10000);
    const std::string frame = connection.read_frame();
    connection.send_reply(int32_at(frame, 0), 5, -101);
    connection.reset();
  });
  auto socket = open_session(server.port());
  EXPECT_EQ(call(socket, 1, op_exists, "/a"), -101);
  EXPECT_THROW(socket.receive_frame(), connection_ended);
  EXPECT_EQ(server.connections(), 1U);
  EXPECT_TRUE(server.failures().empty());
}

TEST(scripted_server_test, stops_at_once_while_a_script_blocks) {
  auto server = std::make_unique<scripted_server>(
      [](scripted_connection& connection) { connection.read_frame(1h); });
  auto socket = loopback_socket::connect(server->port());
  while (server->connections() == 0) std::this_thread::sleep_for(1ms);
  const auto start = stopwatch::now();
  server.reset();
  EXPECT_LT(milliseconds_since(start), 1000);
}

TEST(scripted_server_test, keeps_what_escapes) {
  scripted_server server([](scripted_connection& connection) { connection.read_frame(10ms); });
  auto socket = loopback_socket::connect(server.port());
  EXPECT_EQ(socket.receive_until_end(), "");
  // The failure is noted before the connection is closed.
  EXPECT_EQ(server.failures().size(), 1U);
}

// ---- proxy, in front of a scripted server that answers every request ----

class link_proxy_test : public ::testing::Test {
 protected:
  std::atomic<int> requests_served_{0};
  scripted_server server_{[this](scripted_connection& connection) {
    connection.accept_session(10000, 1);
    for (std::int64_t zxid = 1;; ++zxid) {
      const std::string frame = connection.read_frame(1min);
      ++requests_served_;
      if (int32_at(frame, 4) == op_create) connection.send_reply(-1, zxid, 0, "event");
      connection.send_reply(int32_at(frame, 0), zxid, 0);
    }
  }};
  link_proxy proxy_{server_.port()};
};

TEST_F(link_proxy_test, counts_what_passes) {
  auto socket = open_session(proxy_.port());
  EXPECT_EQ(call(socket, 1, op_exists, "/a"), 0);
  socket.send_frame(request(2, op_create, "/a"));
  EXPECT_EQ(int32_at(socket.receive_frame(), 0), -1);
  EXPECT_EQ(int32_at(socket.receive_frame(), 0), 2);
  EXPECT_EQ(proxy_.links_accepted(), 1U);
  EXPECT_EQ(proxy_.links(), 1U);
  EXPECT_EQ(proxy_.client_frames(), 3U);
  EXPECT_EQ(proxy_.server_frames(), 4U);
  EXPECT_EQ(proxy_.requests(op_exists), 1U);
  EXPECT_EQ(proxy_.requests(op_create), 1U);
  EXPECT_EQ(proxy_.events(), 1U);
  EXPECT_EQ(proxy_.bytes_to_client(), (4U + 37U) + 3 * (4U + 16U) + 5U);
}

TEST_F(link_proxy_test, disconnect_refuses_until_healed) {
  for (const auto how : {link_proxy::ending::fin, link_proxy::ending::reset}) {
    auto socket = open_session(proxy_.port());
    proxy_.disconnect(how);
    EXPECT_THROW(socket.receive_frame(), connection_ended);
    EXPECT_THROW(loopback_socket::connect(proxy_.port()), connection_ended);
    EXPECT_EQ(proxy_.links(), 0U);
    proxy_.heal();
    auto again = open_session(proxy_.port());
    proxy_.drop_links(how);
    EXPECT_THROW(again.receive_frame(), connection_ended);
    open_session(proxy_.port());
  }
}

// For ThreadSanitizer: the proxy writes a large frame in many parts on its own thread.
TEST_F(link_proxy_test, can_disconnect_while_it_writes_a_large_frame) {
  for (int round = 0; round < 20; ++round) {
    auto socket = open_session(proxy_.port());
    socket.send_frame(std::string(8U << 20, 'x'));
    proxy_.drop_links(link_proxy::ending::reset);
    EXPECT_THROW(socket.receive_frame(), connection_ended);
  }
}

TEST_F(link_proxy_test, blackhole_holds_back) {
  auto socket = open_session(proxy_.port());
  proxy_.blackhole(true);
  socket.send_frame(request(1, op_exists, "/a"));
  EXPECT_THROW(socket.receive(1, 50ms), timed_out);
  EXPECT_EQ(requests_served_, 0);
  proxy_.blackhole(false);
  EXPECT_EQ(error_of(socket.receive_frame()), 0);
}

TEST_F(link_proxy_test, delays_each_way) {
  auto socket = open_session(proxy_.port());
  proxy_.delay(30ms);
  const auto start = stopwatch::now();
  call(socket, 1, op_exists, "/a");
  EXPECT_GE(milliseconds_since(start), 60);
}

TEST_F(link_proxy_test, swallows_a_reply_or_a_request) {
  auto socket = open_session(proxy_.port());
  proxy_.drop_reply_to(op_create);
  EXPECT_EQ(call(socket, 1, op_exists, "/a"), 0);
  socket.send_frame(request(2, op_create, "/a"));
  EXPECT_EQ(int32_at(socket.receive_frame(), 0), -1);  // events before the reply still pass
  EXPECT_THROW(socket.receive_frame(), connection_ended);
  EXPECT_TRUE(proxy_.wait_for_faults(1, 5s));
  EXPECT_EQ(requests_served_, 2);

  auto again = open_session(proxy_.port());
  proxy_.drop_request(op_create);
  again.send_frame(request(1, op_create, "/a"));
  EXPECT_THROW(again.receive_frame(), connection_ended);
  EXPECT_EQ(requests_served_, 2);
  EXPECT_EQ(proxy_.faults(), 2U);
}

TEST_F(link_proxy_test, cuts_after_exactly_n_frames) {
  for (std::size_t n = 1; n <= 4; ++n) {
    requests_served_ = 0;
    proxy_.disconnect_after_client_frames(n);  // the handshake is the first
    auto socket = loopback_socket::connect(proxy_.port());
    std::string all = framed(encode(connect_request(10000)));
    for (std::int32_t xid = 1; xid <= 10; ++xid) all += framed(request(xid, op_exists, "/a"));
    socket.send(all);
    EXPECT_NO_THROW(socket.receive_until_end());
    ASSERT_TRUE(proxy_.wait_for_faults(n, 5s));
    const auto deadline = stopwatch::now() + 5s;
    while (requests_served_ != static_cast<int>(n) - 1 && stopwatch::now() < deadline)
      std::this_thread::sleep_for(1ms);
    EXPECT_EQ(requests_served_, static_cast<int>(n) - 1);
  }
  for (std::size_t n = 1; n <= 4; ++n) {
    proxy_.disconnect_after_server_frames(n, link_proxy::afterwards::refuse_until_heal);
    auto socket = loopback_socket::connect(proxy_.port());
    std::string all = framed(encode(connect_request(10000)));
    for (std::int32_t xid = 1; xid <= 10; ++xid) all += framed(request(xid, op_exists, "/a"));
    socket.send(all);
    EXPECT_EQ(socket.receive_until_end().size(), 41 + (n - 1) * 20);
    EXPECT_THROW(loopback_socket::connect(proxy_.port()), connection_ended);
    proxy_.heal();
  }
}

// ---- ZooKeeper ----

TEST(zookeeper_test, serves_and_keeps_its_data_across_a_kill) {
  timed_start<zookeeper_server> server("one node");
  EXPECT_EQ(server->mode(), "standalone");
  EXPECT_NE(server->ask("srvr").find("Zookeeper version: 3."), std::string::npos);
  {
    auto socket = open_session(server->port());
    EXPECT_EQ(call(socket, 1, op_create, "/kept"), 0);
  }
  for (const auto& file :
       std::filesystem::directory_iterator(server->data_directory() / "version-2")) {
    EXPECT_LT(file.file_size(), 1U << 20)
        << file.path() << ": log files are not preallocated in full";
  }
  for (const bool gracefully : {false, true}) {
    gracefully ? server->stop_gracefully() : server->kill();
    EXPECT_FALSE(server->running());
    EXPECT_EQ(server->mode(), "");
    const auto start = stopwatch::now();
    server->start_again();
    std::cout << "[  timing  ] started again in " << milliseconds_since(start) << " ms\n";
    auto socket = open_session(server->port());
    EXPECT_EQ(call(socket, 1, op_exists, "/kept"), 0);
  }
  server->pause();
  EXPECT_EQ(ask_server(server->port(), "ruok", 100ms), "");
  server->resume();
  EXPECT_EQ(server->ask("ruok"), "imok");
}

TEST(zookeeper_test, behind_the_proxy_loses_a_reply_but_not_the_change) {
  zookeeper_server server;
  link_proxy proxy(server.port());
  auto socket = open_session(proxy.port());
  proxy.drop_reply_to(op_create);
  socket.send_frame(request(1, op_create, "/made"));
  EXPECT_THROW(socket.receive_frame(), connection_ended);
  auto again = open_session(proxy.port());
  EXPECT_EQ(call(again, 1, op_exists, "/made"), 0);
}

TEST(zookeeper_test, reports_why_it_did_not_start) {
  zookeeper_options options;
  options.config["tickTime"] = "soon";
  try {
    zookeeper_server server(options);
    FAIL() << "started with a bad configuration";
  } catch (const std::runtime_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("NumberFormatException"), std::string::npos)
        << failure.what();
  }
}

TEST(zookeeper_test, ensemble_elects_and_re_elects) {
  timed_start<zookeeper_ensemble> ensemble("three nodes");
  const auto first = ensemble->leader();
  ASSERT_TRUE(first);
  {
    auto socket = open_session(ensemble->server((*first + 1) % 3).port());
    EXPECT_EQ(call(socket, 1, op_create, "/kept"), 0);
  }
  auto start = stopwatch::now();
  ensemble->kill(*first);
  const std::size_t second = ensemble->wait_for_quorum();
  std::cout << "[  timing  ] new leader after " << milliseconds_since(start) << " ms\n";
  EXPECT_NE(second, *first);
  start = stopwatch::now();
  ensemble->start_again(*first);
  ensemble->wait_for_quorum();
  std::cout << "[  timing  ] killed node back after " << milliseconds_since(start) << " ms\n";
  auto socket = open_session(ensemble->server(*first).port());
  EXPECT_EQ(call(socket, 1, op_exists, "/kept"), 0);
}

TEST(zookeeper_test, last_member_of_an_ensemble_can_serve_read_only) {
  zookeeper_options options;
  options.read_only_mode = true;
  zookeeper_ensemble ensemble(options);
  ensemble.kill(0);
  ensemble.kill(1);
  const auto deadline = stopwatch::now() + 30s;
  while (ensemble.server(2).mode() != "read-only" && stopwatch::now() < deadline)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(ensemble.server(2).mode(), "read-only");
}

// ---- TLS ----

// The outcome of a TLS handshake and of opening a session through it: "" or what went wrong.
std::string open_tls_session(std::uint16_t port, const std::filesystem::path& authority,
                             const certificate_files* client, const char* host) {
  auto socket = loopback_socket::connect(port);
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (SSL_CTX_load_verify_locations(context.get(), authority.c_str(), nullptr) != 1)
    return "authority unreadable";
  if (client != nullptr &&
      (SSL_CTX_use_certificate_chain_file(context.get(), client->certificate.c_str()) != 1 ||
       SSL_CTX_use_PrivateKey_file(context.get(), client->key.c_str(), SSL_FILETYPE_PEM) != 1)) {
    return "client certificate unreadable";
  }
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
  const int fd = socket.native_handle();
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  SSL_set_fd(ssl.get(), fd);
  X509_VERIFY_PARAM_set1_host(SSL_get0_param(ssl.get()), host, 0);
  if (SSL_connect(ssl.get()) != 1) {
    const long result = SSL_get_verify_result(ssl.get());
    return result == X509_V_OK ? "handshake refused" : X509_verify_cert_error_string(result);
  }
  const std::string hello = framed(encode(connect_request(10000)));
  SSL_write(ssl.get(), hello.data(), static_cast<int>(hello.size()));
  char response[41];
  return SSL_read(ssl.get(), response, sizeof response) == sizeof response ? "" : "no session";
}

TEST(zookeeper_test, serves_tls) {
  temporary_directory folder;
  certificate_authority authority(folder.path(), "authority");
  certificate_authority untrusted(folder.path(), "untrusted");
  const auto server_files = authority.issue("server", {"DNS:localhost", "IP:127.0.0.1"});
  const auto client = authority.issue("client", {});
  const auto untrusted_client = untrusted.issue("untrusted_client", {});
  const auto expired_client = authority.issue("expired_client", {}, -1h);

  zookeeper_options options;
  options.tls = zookeeper_tls(server_files.bundle, authority.certificate(), false);
  {
    timed_start<zookeeper_server> server("one node with TLS", options);
    EXPECT_EQ(
        open_tls_session(server->secure_port(), authority.certificate(), nullptr, "localhost"), "");
    EXPECT_EQ(
        open_tls_session(server->secure_port(), authority.certificate(), nullptr, "elsewhere"),
        "hostname mismatch");
    EXPECT_NE(
        open_tls_session(server->secure_port(), untrusted.certificate(), nullptr, "localhost"), "");
    link_proxy proxy(server->secure_port(), true);
    EXPECT_EQ(open_tls_session(proxy.port(), authority.certificate(), nullptr, "localhost"), "");
    EXPECT_GT(proxy.bytes_to_client(), 500U);
    open_session(server->port());  // the plain port still serves
  }
  options.tls->client_certificate_required = true;
  zookeeper_server strict(options);
  EXPECT_EQ(open_tls_session(strict.secure_port(), authority.certificate(), &client, "localhost"),
            "");
  EXPECT_NE(open_tls_session(strict.secure_port(), authority.certificate(), nullptr, "localhost"),
            "");
  EXPECT_NE(open_tls_session(strict.secure_port(), authority.certificate(), &untrusted_client,
                             "localhost"),
            "");
  EXPECT_NE(
      open_tls_session(strict.secure_port(), authority.certificate(), &expired_client, "localhost"),
      "");
}

}  // namespace
}  // namespace conclave::testing
