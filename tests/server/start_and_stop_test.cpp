// `conclave serve`: start, refused arguments and stop.
#include <grp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "integration/harness.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"
#include "support/certificates.hpp"

namespace conclave::testing {
namespace {

using clock = std::chrono::steady_clock;

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{folder})
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// --- start

TEST(serve_start, prints_its_addresses_in_one_line) {
  serve_process server{{"--listen", "0", "--listen", "localhost:0"}};
  const auto& at = server.addresses();
  ASSERT_EQ(at.size(), 3u);
  EXPECT_TRUE(at[0].starts_with("127.0.0.1:"));
  EXPECT_TRUE(at[2].starts_with("unix:/")) << "an absolute path";
  for (const auto& address : at) {
    client zk{address};
    EXPECT_TRUE(zk.exists("/")) << address;
  }
  std::string line = "conclave ready:";
  for (const auto& address : at) line += " " + address;
  EXPECT_EQ(server.output(), line + "\n");
}

TEST(serve_start, without_a_socket_if_configured) {
  serve_process server{{"--listen", "0", "--no-socket"}};
  EXPECT_EQ(server.addresses().size(), 1u);
  EXPECT_EQ(names_in(server.data()),
            (std::vector<std::string>{"conclave.db", "conclave.db-wal", "lock"}));
}

TEST(serve_start, replaces_the_socket_of_a_killed_server) {
  serve_process server;
  client{server.socket()}.create("/kept");
  server.kill();
  ASSERT_TRUE(std::filesystem::exists(server.data() / "socket"));
  server.start_again();
  EXPECT_TRUE(client{server.socket()}.exists("/kept"));
}

// An IPv4 client on an IPv6 address has its IPv4 address.
TEST(serve_start, recognizes_ipv4_clients_on_ipv6_addresses) {
  if (!std::filesystem::exists("/proc/net/if_inet6")) return;  // a machine without IPv6
  serve_process server{{"--listen", "[::]:0"}};
  client zk{"127.0.0.1:" + std::to_string(server.port())};
  EXPECT_EQ(zk.who_am_i(), (std::vector<identity>{{"ip", "127.0.0.1"}}));
  zk.create(
      "/mine", "",
      create_options{create_mode::persistent, acl{acl_entry{permission::all, "ip", "127.0.0.1"}}});
  zk.set("/mine", "x");
  client six{"[::1]:" + std::to_string(server.port())};
  EXPECT_EQ(six.who_am_i(), (std::vector<identity>{{"ip", "::1"}}));
  EXPECT_EQ(code_of([&] { six.set("/mine", "y"); }), errc::no_auth);
}

// --- stop

TEST(serve_stop, does_not_remove_the_socket_of_another_server) {
  serve_process first;
  const auto file = first.socket_file();
  std::filesystem::remove(file);
  serve_process second{{"--socket", file}};
  ASSERT_EQ(first.terminate().code, 0);
  EXPECT_TRUE(client{second.socket()}.exists("/"));
}

TEST(serve_stop, is_clean_on_a_signal) {
  for (const int number : {SIGTERM, SIGINT}) {
    serve_process server{{"--listen", "0"}};
    client zk{server.socket()};
    client by_tcp{server.tcp()};
    session_recorder events{zk};
    zk.create("/kept", "data");
    ASSERT_TRUE(by_tcp.exists("/kept"));
    server.signal(number);
    const auto status = server.wait();
    ASSERT_TRUE(status);
    EXPECT_EQ(status->code, 0);
    EXPECT_TRUE(events.wait_for(session_event::kind::suspended)) << "not expired";
    EXPECT_EQ(names_in(server.data()), (std::vector<std::string>{"conclave.db", "lock"}));
    server.start_again();
    EXPECT_EQ(client{server.socket()}.get("/kept").data, "data");
  }
}

TEST(serve_stop, does_not_happen_when_its_terminal_is_closed) {
  serve_process server;
  server.signal(SIGHUP);
  server.signal(SIGPIPE);
  EXPECT_TRUE(client{server.socket()}.exists("/"));
}

// --- refused arguments

TEST(serve_refuses, a_folder_that_is_in_use) {
  serve_process first;
  const auto second =
      run_conclave({"serve", "--data", first.data(), "--no-socket", "--listen", "0"});
  EXPECT_EQ(second.status.code, 1);
  EXPECT_TRUE(second.contains("conclave: the folder " + first.data().string() +
                              " is in use by another server (process " +
                              std::to_string(first.pid()) + ")"))
      << second.text;
  EXPECT_TRUE(client{first.socket()}.exists("/")) << "the first server still works";
}

TEST(serve_refuses, an_address_that_is_in_use) {
  serve_process first{{"--listen", "0"}};
  const temporary_directory folder;
  const auto tcp = run_conclave(
      {"serve", "--data", folder.path() / "a", "--listen", std::to_string(first.port())});
  EXPECT_EQ(tcp.status.code, 1);
  EXPECT_TRUE(tcp.contains("conclave: cannot listen on " + std::to_string(first.port()) +
                           ": Address already in use; another server listens there"))
      << tcp.text;
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a/socket"));

  const auto local =
      run_conclave({"serve", "--data", folder.path() / "b", "--socket", first.socket_file()});
  EXPECT_EQ(local.status.code, 1);
  EXPECT_TRUE(local.contains("another server listens there; stop it or choose another socket"))
      << local.text;
  EXPECT_TRUE(client{first.socket()}.exists("/"));
}

TEST(serve_refuses, a_socket_path_that_is_too_long_or_not_its_own) {
  const temporary_directory folder;
  const auto deep = folder.path() / std::string(100, 'x') / "socket";
  const auto long_path = run_conclave({"serve", "--data", folder.path() / "a", "--socket", deep});
  EXPECT_EQ(long_path.status.code, 64);
  EXPECT_TRUE(
      long_path.contains("a socket's path has at most 107 bytes; choose a shorter one with "
                         "--socket"))
      << long_path.text;

  const auto file = folder.path() / "letter";
  std::ofstream{file} << "dear diary";
  const auto other = run_conclave({"serve", "--data", folder.path() / "b", "--socket", file});
  EXPECT_EQ(other.status.code, 1);
  EXPECT_TRUE(other.contains("a file of that name exists and is not a socket; remove it"))
      << other.text;
  EXPECT_EQ(read_file(file), "dear diary");
}

// A stopped or busy server still owns its socket.
TEST(serve_refuses, a_socket_whose_queue_is_full) {
  serve_process first{{"--durability", "none"}};
  first.pause();
  std::vector<loopback_socket> waiting;
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::strncpy(at.sun_path, first.socket_file().c_str(), sizeof at.sun_path - 1);
  for (int i = 0; i < 6000; ++i) {
    waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));  // does not block
    if (::connect(waiting.back().native_handle(), reinterpret_cast<const sockaddr*>(&at),
                  sizeof at) != 0)
      break;
  }
  ASSERT_EQ(errno, EAGAIN);
  const temporary_directory folder;
  const auto second = run_conclave(
      {"serve", "--data", folder.path() / "data", "--socket", first.socket_file()}, {}, 10s);
  EXPECT_EQ(second.status.code, 1);
  EXPECT_TRUE(second.contains("another server listens there; stop it or choose another socket"))
      << second.text;
  first.resume();
  waiting.clear();
  EXPECT_TRUE(client{first.socket()}.exists("/"));
}

TEST(serve_refuses, invalid_addresses) {
  const temporary_directory folder;
  struct refused_address {
    std::string address, why;
    int code;
  };
  const refused_address wrong[] = {
      {"70000", "the highest port is 65535", 64},
      {"127.0.0.1:99999999999999999999", "the highest port is 65535", 64},
      {"127.0.0.1:", "write HOST:PORT", 64},
      {"127.0.0.1:-1", "write HOST:PORT", 64},
      {"::1:0", "[::1]:0", 64},
      {"no.such.host.invalid:0", "cannot listen on no.such.host.invalid:0", 1},
      {"192.0.2.1:0", "Cannot assign requested address", 1}};
  for (const auto& [address, why, code] : wrong) {
    const auto run =
        run_conclave({"serve", "--data", folder.path() / "data", "--listen=" + address});
    EXPECT_EQ(run.status.code, code) << address;
    EXPECT_TRUE(run.contains(why)) << run.text;
  }
}

TEST(serve_refuses, tls_without_a_usable_certificate) {
  const temporary_directory folder;
  std::ofstream{folder.path() / "letter"} << "dear diary";
  const auto run =
      run_conclave({"serve", "--data", folder.path() / "data", "--tls-listen", "0", "--tls-cert",
                    folder.path() / "letter", "--tls-key", folder.path() / "missing"});
  EXPECT_EQ(run.status.code, 64);
  EXPECT_TRUE(run.contains("letter") || run.contains("missing")) << run.text;
  const auto none = run_conclave({"serve", "--data", folder.path() / "data", "--tls-listen", "0"});
  EXPECT_EQ(none.status.code, 64);
  EXPECT_TRUE(none.contains("listening with TLS needs a certificate and its key")) << none.text;
}

TEST(serve_refuses, a_folder_that_it_may_not_write) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user: run this as root";
  const argument_list as_nobody{"setpriv", "--reuid", "65534",
                                "--regid", "65534",   "--clear-groups"};
  const temporary_directory folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
  const auto not_its_own = run_conclave({"serve", "--data", folder.path() / "data"}, as_nobody);
  EXPECT_EQ(not_its_own.status.code, 1);
  EXPECT_TRUE(not_its_own.contains("cannot create the folder " + (folder.path() / "data").string() +
                                   " (Permission denied); the server runs as user 65534"))
      << not_its_own.text;

  const auto read_only = folder.path() / "read-only";
  std::filesystem::create_directory(read_only);
  std::filesystem::permissions(read_only, std::filesystem::perms{0555});
  ASSERT_EQ(::chown(read_only.c_str(), 65534, 65534), 0);
  const auto refused = run_conclave({"serve", "--data", read_only}, as_nobody);
  EXPECT_EQ(refused.status.code, 1);
  EXPECT_TRUE(refused.contains("(Permission denied); the server runs as user 65534"))
      << refused.text;

  const auto no_home = run_conclave({"serve"}, as_nobody);
  EXPECT_EQ(no_home.status.code, 1);
  EXPECT_TRUE(no_home.contains("conclave: ")) << no_home.text;
}

// The server neither repairs nor replaces a damaged database.
TEST(serve_refuses, a_damaged_database_without_changing_it) {
  serve_process server;
  {
    client zk{server.socket()};
    for (int i = 0; i < 200; ++i) zk.create("/n" + std::to_string(i), std::string(500, 'x'));
  }
  ASSERT_EQ(server.terminate().code, 0);
  const auto file = server.data() / "conclave.db";
  const auto good = read_file(file);
  ASSERT_GT(good.size(), 100'000u);

  auto noise_inside = good;
  for (std::size_t i = 8192; i < 40'000; ++i) noise_inside[i] = static_cast<char>(i * 7);
  const std::pair<const char*, std::string> damages[] = {
      {"emptied", ""},
      {"cut in the header", good.substr(0, 50)},
      {"cut in half", good.substr(0, good.size() / 2)},
      {"not a database", std::string(good.size(), 'x')},
      {"overwritten inside", noise_inside}};
  for (const auto& [name, damaged] : damages) {
    std::ofstream{file, std::ios::binary | std::ios::trunc} << damaged;
    const auto run = run_conclave({"serve", "--data", server.data()});
    EXPECT_EQ(run.status.code, 1) << name;
    EXPECT_TRUE(run.contains("conclave: " + file.string())) << name << ": " << run.text;
    EXPECT_TRUE(run.contains("restore a backup, or move the folder")) << name << ": " << run.text;
    EXPECT_TRUE(read_file(file) == damaged) << name << ": the file was changed";
  }
  std::filesystem::remove(file);
  const auto missing = run_conclave({"serve", "--data", server.data()});
  EXPECT_EQ(missing.status.code, 1);
  EXPECT_TRUE(missing.contains(file.string() + " is missing")) << missing.text;
  EXPECT_FALSE(std::filesystem::exists(file)) << "the database must not be replaced";

  std::ofstream{file, std::ios::binary} << good;
  server.start_again();
  EXPECT_TRUE(client{server.socket()}.exists("/n199"));
}

// --- idle exit

TEST(serve_idle_exit, happens_if_no_client_ever_connected) {
  serve_process server{{"--idle-exit", "200ms"}};
  const auto status = server.wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
  EXPECT_FALSE(std::filesystem::exists(server.data() / "socket"));
}

TEST(serve_idle_exit, is_in_seconds_by_default) {
  serve_process server{{"--idle-exit", "3"}};
  EXPECT_FALSE(server.wait(1500ms)) << "not after three milliseconds";
  const auto status = server.wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
}

TEST(serve_idle_exit, happens_only_without_connections_and_sessions) {
  constexpr auto timeout = 1600ms;
  serve_process server{
      {"--listen", "0", "--idle-exit", "200ms", "--tick", "100ms", "--max-session-timeout", "10s"}};
  auto silent = std::make_unique<loopback_socket>(connect_to(server.socket()));
  EXPECT_FALSE(server.wait(1500ms)) << "a client is connected";
  raw_session s{server.tcp()};
  const auto begin = clock::now();
  ASSERT_TRUE(s.handshake(timeout.count()));
  s.link.close();
  silent.reset();
  const auto status = server.wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
  EXPECT_GE(clock::now() - begin, timeout) << "its session lived until then";
}

// --- access

TEST(serve_open_to_others, causes_a_warning) {
  const temporary_directory folder;
  certificate_authority authority{folder.path(), "ca"};
  const auto tls = authority.issue("server", {"IP:127.0.0.1"});
  const argument_list with_tls{
      "--tls-listen", "0.0.0.0:0", "--tls-cert",      tls.certificate,
      "--tls-key",    tls.key,     "--tls-client-ca", authority.certificate()};
  const auto warns = [](argument_list arguments) {
    arguments.insert(arguments.end(), {"--durability", "none", "--no-socket"});
    serve_process server{arguments};
    return server.output().find("without authentication") != std::string::npos;
  };
  const auto and_also = [](argument_list list, const argument_list& more) {
    list.insert(list.end(), more.begin(), more.end());
    return list;
  };
  EXPECT_TRUE(warns({"--listen", "0.0.0.0:0"}));
  EXPECT_TRUE(warns({"--listen", "0", "--listen", "[::]:0"}));
  EXPECT_FALSE(warns({"--listen", "0", "--listen", "127.0.0.2:0", "--listen", "[::1]:0"}));
  EXPECT_FALSE(warns({"--listen", "0.0.0.0:0", "--require-auth", "digest"}));
  EXPECT_TRUE(warns(with_tls));
  EXPECT_FALSE(warns(and_also(with_tls, {"--tls-require-client-cert"})));
}

// --- durability

TEST(serve_durability_none, stores_nothing) {
  serve_process server{{"--durability", "none"}};
  client{server.socket()}.create("/fleeting");
  EXPECT_EQ(names_in(server.data()), std::vector<std::string>{"socket"});
  ASSERT_EQ(server.terminate().code, 0);
  EXPECT_TRUE(names_in(server.data()).empty());
  server.start_again();
  EXPECT_FALSE(client{server.socket()}.exists("/fleeting"));
}

// --- the command line

TEST(command_line, invalid_arguments_cause_exit_code_64) {
  const argument_list wrong[] = {
      {},
      {"sevre"},
      {"serve", "--bogus"},
      {"serve", "surplus"},
      {"serve", "--data"},
      {"serve", "--durability", "maybe"},
      {"serve", "--durability", "none"},  // with --data
      {"serve", "--tick", "5x"},
      {"serve", "--idle-exit", "-1s"},
      {"serve", "--max-connections", "many"},
      {"serve", "--max-connections", "-3"},
      {"serve", "--max-sessions", "0"},
      {"serve", "--tls-cert", "without-a-key.pem"},
      {"serve", "--tls-key", "without-a-certificate.pem"},
      {"serve", "--tls-require-client-cert"},
  };
  const temporary_directory folder;
  for (const auto& arguments : wrong) {
    auto with_folder = arguments;
    if (!arguments.empty()) with_folder.insert(with_folder.end(), {"--data", folder.path() / "x"});
    const auto run = run_conclave(with_folder);
    std::string line;
    for (const auto& a : arguments) line += " " + a;
    EXPECT_EQ(run.status.code, 64) << "conclave" << line;
    EXPECT_FALSE(run.text.empty()) << "conclave" << line;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "x")) << "conclave" << line;
  }
}

TEST(command_line, contradictory_arguments_are_reported) {
  const temporary_directory folder;
  for (const argument_list& odd :
       {argument_list{"--tick", "0"}, argument_list{"--max-session-timeout", "1s"}}) {
    argument_list arguments{"serve", "--data", folder.path() / "x"};
    arguments.insert(arguments.end(), odd.begin(), odd.end());
    const auto run = run_conclave(arguments);
    EXPECT_EQ(run.status.code, 64) << run.text;
    EXPECT_TRUE(run.contains("session timeout")) << run.text;
  }
}

TEST(command_line, help_shows_the_usage) {
  const auto run = run_conclave({"serve", "--help"});
  EXPECT_EQ(run.status.code, 0);
  EXPECT_TRUE(run.contains("Examples:\n  conclave serve\n")) << run.text;
  EXPECT_TRUE(run.contains("conclave serve --data /var/lib/conclave --listen 2181")) << run.text;
  EXPECT_EQ(run_conclave({"--help"}).status.code, 0);
  const auto version = run_conclave({"--version"});
  EXPECT_EQ(version.status.code, 0);
  EXPECT_TRUE(version.text.starts_with("conclave ")) << version.text;
}

}  // namespace
}  // namespace conclave::testing
