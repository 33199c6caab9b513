// Four-letter words, with replies in the format of Apache's server.
#include <regex>
#include <set>

#include <openssl/ssl.h>

#include "integration/harness.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"
#include "support/certificates.hpp"

namespace conclave::testing {
namespace {

// Sends the word in these pieces, each in its own packet, over a plain connection.
std::string ask(const std::string& address, const std::vector<std::string>& pieces) {
  auto link = connect_to(address);
  for (const auto& piece : pieces) {
    link.send(piece);
    if (&piece != &pieces.back()) std::this_thread::sleep_for(20ms);  // so that they are not merged
  }
  return link.receive_until_end();
}

std::string ask_with_tls(std::uint16_t port, const std::vector<std::string>& pieces) {
  const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context{
      ::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free};
  const auto link = loopback_socket::connect(port);
  const int flags = ::fcntl(link.native_handle(), F_GETFL);
  ::fcntl(link.native_handle(), F_SETFL, flags & ~O_NONBLOCK);
  const timeval limit{10, 0};
  ::setsockopt(link.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const std::unique_ptr<SSL, decltype(&::SSL_free)> tls{::SSL_new(context.get()), &::SSL_free};
  ::SSL_set_fd(tls.get(), link.native_handle());
  if (::SSL_connect(tls.get()) != 1) return "no handshake";
  for (const auto& piece : pieces) {
    if (::SSL_write(tls.get(), piece.data(), static_cast<int>(piece.size())) <= 0)
      return "no write";
    if (&piece != &pieces.back()) std::this_thread::sleep_for(20ms);
  }
  std::string answer;
  std::array<char, 4096> buffer{};
  for (int n; (n = ::SSL_read(tls.get(), buffer.data(), buffer.size())) > 0;)
    answer.append(buffer.data(), static_cast<std::size_t>(n));
  return answer;
}

class four_letter_words : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new temporary_directory;
    certificate_authority authority{folder->path(), "ca"};
    const auto files = authority.issue("server", {"IP:127.0.0.1"});
    server = new serve_process{{"--listen", "0", "--tls-listen", "0", "--tls-cert",
                                files.certificate, "--tls-key", files.key, "--words",
                                "ruok,srvr,stat,mntr,conf,cons,dump,ends,envi,isro,wchs,wchc,wchp,"
                                "dirs,crst,srst"}};
  }
  static void TearDownTestSuite() {
    delete server;
    delete folder;
  }

  static void expect_form(const std::string& word, const std::string& form) {
    const auto answer = ask(server->tcp(), {word});
    EXPECT_TRUE(std::regex_match(answer, std::regex{form})) << word << ":\n" << answer;
  }

  static inline temporary_directory* folder = nullptr;
  static inline serve_process* server = nullptr;
};

TEST_F(four_letter_words, have_replies_in_the_format_of_apache) {
  client zk{server->tcp(), with_timeout(20s)};
  zk.create("/e", "data", create_mode::ephemeral);
  watch_recorder watch;
  ASSERT_TRUE(zk.exists("/e", watch.get()));
  zk.children("/", watch.get());
  std::ostringstream session_text;
  session_text << "0x" << std::hex << zk.session_id();
  const auto session = session_text.str();

  const std::string version = "Zookeeper version: 3\\.8\\.0-[^,\n]*, built on .*\n";
  const std::string summary =
      "Latency min/avg/max: \\d+/\\d+\\.\\d+/\\d+\nReceived: \\d+\nSent: \\d+\nConnections: \\d+\n"
      "Outstanding: \\d+\nZxid: 0x[0-9a-f]+\nMode: standalone\nNode count: \\d+\n";
  expect_form("ruok", "imok");
  expect_form("isro", "rw");
  expect_form("srvr", version + summary);
  expect_form("stat", version +
                          "Clients:\n( /127\\.0\\.0\\.1:\\d+\\[[01]\\]\\(queued=\\d+,recved=\\d+,"
                          "sent=\\d+\\)\n)+\n" +
                          summary);
  expect_form("cons",
              "( /127\\.0\\.0\\.1:\\d+\\[[01]\\]\\(queued=\\d+,recved=\\d+,sent=\\d+"
              "(,sid=" +
                  session + ",.*to=20000.*)?\\)\n)+\n");
  expect_form("mntr", "(zk_[a-z_]+\t.*\n|conclave_[a-z_0-9]+\t\\d+\n)+");
  expect_form("conf", "([a-zA-Z]+=.*\n)+");
  expect_form("envi", "Environment:\nzookeeper\\.version=3\\.8\\.0-.*\n([a-z.]+=.*\n)+");
  expect_form("dump",
              "SessionTracker dump:\n(.*\n)+ephemeral nodes dump:\n"
              "Sessions with Ephemerals \\(1\\):\n" +
                  session + ":\n\t/e\n");
  expect_form("wchs", "1 connections watching 2 paths\nTotal watches:2\n");
  expect_form("wchc", session + "\n\t/\n\t/e\n\n");
  expect_form("wchp", "/\n\t" + session + "\n/e\n\t" + session + "\n\n");
  expect_form("dirs", "datadir_size: \\d+\nlogdir_size: \\d+\n");
  expect_form("crst", "Connection stats reset\\.\n");
  expect_form("srst", "Server stats reset\\.\n");

  const auto figures = ask(server->tcp(), {"mntr"});
  for (const auto* name :
       {"zk_version", "zk_server_state", "zk_avg_latency", "zk_max_latency", "zk_min_latency",
        "zk_packets_received", "zk_packets_sent", "zk_num_alive_connections",
        "zk_outstanding_requests", "zk_znode_count", "zk_watch_count", "zk_ephemerals_count",
        "zk_approximate_data_size", "zk_global_sessions", "zk_uptime"})
    EXPECT_NE(figures.find(std::string{name} + "\t"), std::string::npos) << name;
}

// Programs that follow locks can tell a loss from a release.
TEST_F(four_letter_words, list_the_nodes_that_were_removed_with_their_sessions) {
  std::ostringstream ids;
  ids << std::hex;
  {
    client zk{server->tcp(), with_timeout(20s)};
    zk.create("/released", "", create_mode::ephemeral);
    ids << "0x" << zk.session_id();
    zk.create("/closed 1", "", create_mode::ephemeral);
    zk.create("/stays", "");
    zk.remove("/released");
  }
  raw_session silent{server->tcp()};
  ASSERT_TRUE(silent.handshake(4000));
  ids << " 0x" << silent.id;
  ASSERT_EQ(silent.create("/expired", "", true), 0);
  {
    client zk{server->tcp(), with_timeout(20s)};
    watch_recorder watch;
    ASSERT_TRUE(zk.exists("/expired", watch.get()));
    ASSERT_TRUE(watch.take());
  }
  std::istringstream words{ids.str()};
  std::string closed, expired;
  words >> closed >> expired;
  // Other tests of this server may have ended sessions before.
  const auto text = ask(server->tcp(), {"ends"});
  const std::regex form{"ended with their sessions: (\\d+)\n(?:.*\n)*(\\d+) " + closed +
                        " closed /closed 1\n(\\d+) " + expired + " expired /expired\n"};
  std::smatch numbers;
  ASSERT_TRUE(std::regex_match(text, numbers, form)) << text;
  EXPECT_EQ(std::stoi(numbers[2]) + 1, std::stoi(numbers[3]));
  EXPECT_EQ(numbers[1], numbers[3]);
  EXPECT_EQ(text.find("/released"), std::string::npos);

  // The list has at most 1000 nodes, the last ones.
  {
    client zk{server->tcp(), with_timeout(20s)};
    for (int i = 0; i < 1100; ++i)
      zk.create("/many" + std::to_string(i), "", create_mode::ephemeral);
  }
  const auto many = ask(server->tcp(), {"ends"});
  EXPECT_EQ(std::count(many.begin(), many.end(), '\n'), 1001);
  EXPECT_EQ(many.find(" /expired\n"), std::string::npos);
}

// Returns the values of a histogram of mntr: the counts up to each limit, and all of them.
std::vector<long long> histogram_of(const std::string& figures, const std::string& name) {
  std::vector<long long> counts;
  std::istringstream lines{figures};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + "_us_le_") || line.starts_with(name + "_us_count\t"))
      counts.push_back(std::stoll(line.substr(line.find('\t'))));
  return counts;
}

TEST_F(four_letter_words, report_times_and_the_disk) {
  client zk{server->tcp(), with_timeout(20s)};
  const auto before = ask(server->tcp(), {"mntr"});
  for (int i = 0; i < 20; ++i) zk.create("/x" + std::to_string(i), "data");
  const auto after = ask(server->tcp(), {"mntr"});
  for (const std::string name : {"conclave_turn", "conclave_commit", "conclave_flush"}) {
    const auto old = histogram_of(before, name);
    const auto now = histogram_of(after, name);
    ASSERT_EQ(now.size(), 15u) << name;
    EXPECT_TRUE(std::is_sorted(now.begin(), now.end())) << name;
    EXPECT_GE(now.back(), old.back() + 20) << name;
    EXPECT_NE(after.find(name + "_us_sum\t"), std::string::npos);
  }
  const auto value = [&](const std::string& name) {
    const auto at = after.find(name + "\t");
    return at == std::string::npos ? -1 : std::stoll(after.substr(at + name.size() + 1));
  };
  EXPECT_GT(value("conclave_store_bytes"), 0);
  EXPECT_GT(value("conclave_journal_bytes"), 0);
  EXPECT_GT(value("conclave_disk_free_bytes"), 0);

  serve_process in_memory{{"--listen", "0", "--durability", "none"}};
  const auto figures = ask(in_memory.tcp(), {"mntr"});
  EXPECT_NE(figures.find("conclave_turn_us_count\t"), std::string::npos);
  EXPECT_EQ(figures.find("conclave_flush"), std::string::npos);
  EXPECT_EQ(figures.find("conclave_store_bytes"), std::string::npos);
}

// Apache counts messages, not bytes.
TEST_F(four_letter_words, report_received_and_sent_messages) {
  raw_session s{server->tcp()};
  ASSERT_TRUE(s.handshake(10'000));
  ask(server->tcp(), {"crst"});
  for (int i = 0; i < 5; ++i) ASSERT_EQ(s.exists("/"), 0);
  std::ostringstream id;
  id << std::hex << s.id;
  const std::regex line{"recved=(\\d+),sent=(\\d+),sid=0x" + id.str() + ","};
  const auto answer = ask(server->tcp(), {"cons"});
  std::smatch counts;
  ASSERT_TRUE(std::regex_search(answer, counts, line)) << answer;
  EXPECT_EQ(counts[1], "5");
  EXPECT_EQ(counts[2], "5");
}

TEST_F(four_letter_words, may_arrive_in_pieces_and_on_every_kind_of_address) {
  for (const auto& pieces :
       {std::vector<std::string>{"ruok"}, {"ru", "ok"}, {"r", "u", "o", "k"}, {"ruok\n"}}) {
    EXPECT_EQ(ask(server->tcp(), pieces), "imok");
    EXPECT_EQ(ask(server->socket(), pieces), "imok");
    EXPECT_EQ(ask_with_tls(server->port(1), pieces), "imok");
  }
  EXPECT_NE(ask_with_tls(server->port(1), {"mn", "tr"}).find("zk_znode_count\t"),
            std::string::npos);
}

TEST_F(four_letter_words, are_refused_if_not_allowed_and_unknown_ones_are_not_recognized) {
  EXPECT_EQ(ask(server->tcp(), {"bkup/tmp/stolen\n"}), "") << "on the socket only";
  EXPECT_EQ(ask(server->tcp(), {"abcd"}), "");
  serve_process strict{{"--listen", "0", "--words", "ruok"}};
  EXPECT_EQ(ask(strict.tcp(), {"ruok"}), "imok");
  for (const auto* word : {"srvr", "stat", "mntr", "conf", "cons", "dump", "ends", "envi", "isro",
                           "wchs", "wchc", "wchp", "dirs", "crst", "srst"})
    EXPECT_EQ(ask(strict.tcp(), {word}),
              std::string{word} + " is not executed because it is not in the whitelist.\n");
}

// Otherwise clients that repeat slow words would delay all requests.
TEST(slow_words, are_answered_one_in_a_turn) {
  serve_process server{{"--listen", "0"}};
  raw_session s{server.tcp()};
  ASSERT_TRUE(s.handshake(30'000));
  ASSERT_EQ(s.create("/large", std::string(300'000, 'x')), 0);
  server.pause();
  std::vector<loopback_socket> links;
  for (int i = 0; i < 4; ++i) {
    links.push_back(connect_to(server.tcp()));
    links.back().send("dump");
  }
  auto fast = connect_to(server.tcp());
  fast.send("mntr");
  // After a reply of this size, the server executes the next request only in its next turn.
  s.link.send_frame(path_request(++s.xid, op::get_data, "/large"));
  s.link.send_frame(create_request(++s.xid, "/later", "", true));
  server.resume();
  int answered_later = 0;
  for (auto& link : links)
    answered_later += link.receive_until_end().find("\t/later\n") != std::string::npos ? 1 : 0;
  EXPECT_GE(answered_later, 2);
  EXPECT_NE(fast.receive_until_end().find("zk_ephemerals_count\t0\n"), std::string::npos)
      << "fast words are answered at once";
}

}  // namespace
}  // namespace conclave::testing
