// conclave::server: the server embedded in a program.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "conclave/server.hpp"
#include "integration/harness.hpp"
#include "server/raw_session.hpp"
#include "support/certificates.hpp"
#include "support/free_port.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {
namespace {

using clock = std::chrono::steady_clock;

std::string why_not(const server_options& options) {
  try {
    const server refused{options};
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return {};
}

TEST(server_class, starts_with_one_line_of_code) {
  server local;
  client zk{local.connect_string()};
  zk.create("/a", "data");
  EXPECT_EQ(zk.get("/a").data, "data");
}

TEST(server_class, several_can_run_in_one_process) {
  server first;
  server second;
  EXPECT_NE(first.connect_string(), second.connect_string());
  client one{first.connect_string()};
  client two{second.connect_string()};
  one.create("/only-in-one");
  EXPECT_FALSE(two.exists("/only-in-one"));
}

TEST(server_class, returns_its_addresses_in_order) {
  const temporary_directory folder;
  server_options options;
  options.listen = {"127.0.0.1:0", "0"};
  options.socket = folder.path() / "run/socket";
  const server s{options};
  ASSERT_EQ(s.addresses().size(), 3u);
  EXPECT_EQ(s.connect_string(), s.addresses()[0]);
  EXPECT_EQ(s.addresses()[2], "unix:" + options.socket.string());
  for (const auto& address : s.addresses()) EXPECT_TRUE(client{address}.exists("/")) << address;
}

TEST(server_class, its_destructor_does_not_wait_for_clients) {
  auto s = std::make_unique<server>();
  std::vector<std::unique_ptr<client>> clients;
  std::vector<std::unique_ptr<session_recorder>> events;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<client>(s->connect_string(), with_timeout(1s)));
    events.push_back(std::make_unique<session_recorder>(*clients.back()));
    ASSERT_TRUE(clients.back()->exists("/"));
  }
  const auto silent = connect_to(s->connect_string());
  const auto begin = clock::now();
  s.reset();
  EXPECT_LT(clock::now() - begin, 5s);
  for (auto& e : events) EXPECT_TRUE(e->wait_for(session_event::kind::suspended));
}

TEST(server_class, can_be_stopped_and_waited_for) {
  server s;
  std::atomic<int> returned = 0;
  std::thread first{[&] { s.wait(), ++returned; }};
  std::thread second{[&] { s.wait(), ++returned; }};
  raw_session connected{s.connect_string()};
  EXPECT_TRUE(connected.handshake(10'000));
  EXPECT_EQ(returned, 0);
  s.stop();
  s.stop();
  first.join();
  second.join();
  s.wait();
  EXPECT_EQ(s.addresses().size(), 1u);
  EXPECT_THROW(connect_to(s.connect_string()), connection_ended);
}

TEST(server_class, ends_when_idle_if_configured) {
  server_options options;
  options.idle_exit = 100ms;
  server s{options};
  s.wait();
}

TEST(server_class, can_be_stopped_while_clients_are_active) {
  for (int round = 0; round < 5; ++round) {
    const temporary_directory folder;
    server_options options;
    options.data = folder.path() / "data";
    options.socket = folder.path() / "socket";
    auto s = std::make_unique<server>(options);
    std::vector<std::thread> threads;
    std::atomic<int> ready = 0;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&ready, t, address = s->connect_string()] {
        client_options mine;
        mine.connect_wait = 50ms;
        client zk{address, mine};
        EXPECT_TRUE(zk.wait_connected(wait_limit));
        try {
          for (int i = 0;; ++i) {
            zk.create("/" + std::to_string(t) + "-" + std::to_string(i));
            if (i == 20) ++ready;
          }
        } catch (const error&) {  // the server has stopped
        }
      });
    while (ready < 3) std::this_thread::yield();
    s.reset();
    for (auto& t : threads) t.join();
  }
}

TEST(server_class, sessions_continue_in_the_next_server_with_the_same_folder) {
  const temporary_directory folder;
  server_options options;
  options.data = folder.path() / "data";
  options.socket = folder.path() / "socket";
  auto s = std::make_unique<server>(options);
  client zk{s->connect_string(), reconnecting_at_once()};
  zk.create("/e", "", create_mode::ephemeral);
  const auto session = zk.session_id();
  s.reset();
  EXPECT_FALSE(std::filesystem::exists(options.socket));
  s = std::make_unique<server>(options);
  EXPECT_TRUE(zk.exists("/e"));
  EXPECT_EQ(zk.session_id(), session);
}

TEST(server_class, reports_why_it_cannot_start) {
  const temporary_directory folder;
  server_options in_use;
  in_use.data = folder.path() / "data";
  const server first{in_use};
  EXPECT_NE(why_not(in_use).find("is in use by another server"), std::string::npos);

  const auto port = first.connect_string();
  server_options taken;
  taken.listen = {port};
  EXPECT_NE(why_not(taken).find("cannot listen on " + port + ": Address already in use"),
            std::string::npos);

  server_options nonsense;
  nonsense.listen = {"nonsense:port"};
  EXPECT_NE(why_not(nonsense).find("write HOST:PORT"), std::string::npos);

  server_options no_certificate;
  no_certificate.listen_tls = {"0"};
  EXPECT_NE(why_not(no_certificate).find("certificate"), std::string::npos);

  server_options bad_certificate;
  bad_certificate.listen_tls = {"0"};
  bad_certificate.tls.emplace();
  bad_certificate.tls->certificate_file = "/nonexistent.pem";
  bad_certificate.tls->key_file = "/nonexistent.key";
  EXPECT_NE(why_not(bad_certificate).find("/nonexistent.pem"), std::string::npos);

  server_options no_tls_address;
  no_tls_address.listen = {"0"};
  no_tls_address.tls = bad_certificate.tls;
  certificate_authority authority{folder.path(), "ca"};
  no_tls_address.tls->certificate_file = authority.issue("server", {"IP:127.0.0.1"}).bundle;
  no_tls_address.tls->key_file = no_tls_address.tls->certificate_file;
  EXPECT_NE(why_not(no_tls_address).find("no address for TLS"), std::string::npos);

  for (const auto* name : {"a,b", "a:b"}) {
    server_options not_in_a_connect_string;
    not_in_a_connect_string.socket = folder.path() / name;
    EXPECT_NE(why_not(not_in_a_connect_string).find("a connect string cannot contain"),
              std::string::npos)
        << name;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / name));
  }

  server_options unknown_word;
  unknown_word.words = {"ruok", "xx"};
  EXPECT_NE(why_not(unknown_word).find("there is no four-letter word 'xx'"), std::string::npos);

  server_tls_options renewed;
  renewed.certificate_file = renewed.key_file = "/nonexistent.pem";
  server plain;
  EXPECT_EQ(code_of([&] { plain.set_tls(renewed); }), errc::invalid_argument) << "without TLS";

  server_options no_such_scheme;
  no_such_scheme.required_auth = {"sasl"};
  EXPECT_NE(why_not(no_such_scheme).find("clients cannot authenticate by 'sasl'"),
            std::string::npos);

  server_options timeouts;
  timeouts.min_session_timeout = 10s;
  timeouts.max_session_timeout = 1s;
  EXPECT_NE(why_not(timeouts).find("session timeout"), std::string::npos);

  server_options no_folder;
  no_folder.data = "/dev/null/data";
  EXPECT_NE(why_not(no_folder).find("/dev/null"), std::string::npos);

  server_options long_path;
  long_path.socket = folder.path() / std::string(200, 'x');
  EXPECT_NE(why_not(long_path).find("at most 107 bytes"), std::string::npos);

  // A failed start leaves no address in use.
  server_options half;
  half.data = folder.path() / "half";
  half.socket = folder.path() / "half/socket";
  half.listen = {"0", port};
  EXPECT_NE(why_not(half), "");
  half.listen = {"0"};
  EXPECT_EQ(why_not(half), "");
}

TEST(server_class, logs_to_the_configured_function) {
  inbox<std::string> lines;
  server_options options;
  options.log = [&](log_level, std::string_view line) { lines.put(std::string{line}); };
  server s{options};
  auto link = connect_to(s.connect_string());
  link.send("\xff\xff\xff\xff");
  EXPECT_TRUE(is_ended(link));
  const auto line = lines.take();
  ASSERT_TRUE(line);
  EXPECT_NE(line->find("sent something that is not ZooKeeper's protocol"), std::string::npos);
}

TEST(server_class, a_slow_reader_is_dropped_at_the_configured_limit) {
  server_options options;
  options.max_unsent_bytes = 1 << 20;
  server s{options};
  client zk{s.connect_string()};
  const auto path = zk.create("/" + std::string(100'000, 'x')).path;
  raw_session watching{s.connect_string()};
  ASSERT_TRUE(watching.handshake(10'000));
  ASSERT_EQ(watching.call(add_watch_request(1, "/", true)).error, 0);
  // More than the limit and the buffers of the kernel.
  for (int i = 0; i < 200; ++i) zk.set(path, "");
  EXPECT_TRUE(is_ended(watching.link));
}

// The kernel's buffers for a Unix socket are smaller than the list.
TEST(server_class, a_reply_above_the_limit_for_unsent_bytes_is_sent) {
  const temporary_directory folder;
  server_options options;
  options.socket = folder.path() / "socket";
  options.max_unsent_bytes = 1;  // any rest of the reply exceeds it
  server s{options};
  const auto address = "unix:" + options.socket.string();
  client zk{address};
  constexpr int children = 20'000;
  const std::string padding(200, 'x');
  zk.create("/list");
  for (int i = 0; i < children;) {
    transaction some;
    for (int last = i + 1000; i < last; ++i) some.create("/list/" + padding + std::to_string(i));
    zk.commit(some);
  }
  raw_session slow{address};
  ASSERT_TRUE(slow.handshake(10'000));
  ASSERT_EQ(slow.call(path_request(1, op::exists, "/list", true)).error, 0);
  slow.link.send_frame(path_request(2, op::get_children, "/list"));
  zk.set("/list", "");  // adds the event of the watch to the output
  zk.sync();
  const auto reply = decode_reply(slow.link.receive_frame());
  EXPECT_EQ(reply.error, 0);
  EXPECT_GT(reply.body.size(), children * padding.size());
}

// --- signals and processes

// Runs f in a child process and returns its exit code, which is the result of f.
template <class F>
int in_child(F f) {
  const auto pid = ::fork();
  if (pid == 0) ::_exit(f());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST(server_class, does_not_handle_signals) {
  server s;
  ASSERT_TRUE(raw_session{s.connect_string()}.handshake(10'000)) << "its thread runs";
  // Like a program that sets up everything and then waits for signals.
  sigset_t mine{};
  ::sigemptyset(&mine);
  ::sigaddset(&mine, SIGUSR1);
  sigset_t before{};
  ::pthread_sigmask(SIG_BLOCK, &mine, &before);
  std::vector<std::string> unguarded;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::ifstream status{task.path() / "status"};
    std::string word;
    std::string name;
    unsigned long long blocked = 0;
    while (status >> word) {
      if (word == "Name:") status >> name;
      if (word == "SigBlk:") status >> std::hex >> blocked;
    }
    if ((blocked >> (SIGUSR1 - 1) & 1) == 0) unguarded.push_back(name);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
#if !defined(__SANITIZE_THREAD__)  // TSan starts its own thread
  EXPECT_TRUE(unguarded.empty()) << "such a signal would end this program: " << unguarded.front();
#endif
}

TEST(server_class, a_forked_childs_destructor_does_nothing) {
  const temporary_directory folder;
  server_options options;
  options.data = folder.path() / "data";
  options.socket = folder.path() / "socket";
  auto s = std::make_unique<server>(options);
  client zk{s->connect_string()};
  zk.create("/e", "", create_mode::ephemeral);
  const auto session = zk.session_id();
  EXPECT_EQ(in_child([&] {
              s.reset();
              return 7;
            }),
            7);
  EXPECT_TRUE(std::filesystem::exists(options.socket));
  EXPECT_TRUE(zk.exists("/e"));
  EXPECT_EQ(zk.state(), session_state::connected);
  EXPECT_EQ(zk.session_id(), session);
  EXPECT_NE(why_not(options), "") << "the folder is still the parent's";
}

// A child has copies of all descriptors, and may live longer than the server.
TEST(server_class, a_forked_child_keeps_no_descriptors_open) {
  const temporary_directory folder;
  server_options options;
  options.socket = folder.path() / "socket";
  options.listen = {std::to_string(free_port())};
  auto s = std::make_unique<server>(options);
  raw_session by_tcp{s->addresses()[0]};
  raw_session local{s->addresses()[1]};
  ASSERT_TRUE(by_tcp.handshake(30'000));
  ASSERT_TRUE(local.handshake(30'000));

  const auto child = ::fork();
  while (child == 0) ::pause();
  s.reset();
  EXPECT_TRUE(is_ended(by_tcp.link, 2s)) << "the client waits for a reply that cannot arrive";
  EXPECT_TRUE(is_ended(local.link, 2s));
  EXPECT_THROW(connect_to("127.0.0.1:" + options.listen[0]), connection_ended);
  EXPECT_EQ(why_not(options), "") << "the next server can start";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace conclave::testing
