// host:port,host:port/chroot, and unix:/path:/chroot

#include "conclave/connect_string.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "conclave/error.hpp"

namespace conclave {
namespace {

std::string parsed(const std::string& text) {
  const auto result = connect_string::parse(text);
  std::string all;
  for (const auto& e : result.hosts) all += to_string(e) + ' ';
  return all + '|' + result.chroot;
}

TEST(connect_string, accepts_valid_strings) {
  EXPECT_EQ(parsed("zk1"), "zk1:2181 |");
  EXPECT_EQ(parsed("zk1:2182"), "zk1:2182 |");
  EXPECT_EQ(parsed("zk1:1,zk2,10.0.0.3:65535"), "zk1:1 zk2:2181 10.0.0.3:65535 |");
  EXPECT_EQ(parsed("zk1/"), "zk1:2181 |");
  EXPECT_EQ(parsed("zk1/app"), "zk1:2181 |/app");
  EXPECT_EQ(parsed("zk1:1,zk2:2/a/b/c"), "zk1:1 zk2:2 |/a/b/c");
  EXPECT_EQ(parsed("zk1:0002181"), "zk1:2181 |");
}

TEST(connect_string, ipv6) {
  EXPECT_EQ(parsed("[::1]"), "[::1]:2181 |");
  EXPECT_EQ(parsed("[::1]:2182"), "[::1]:2182 |");
  EXPECT_EQ(parsed("[fe80::1%eth0]:1,zk2/x"), "[fe80::1%eth0]:1 zk2:2181 |/x");
  EXPECT_EQ(connect_string::parse("[::1]:5").hosts.at(0), (endpoint{"::1", 5}));
}

TEST(connect_string, spaces_are_ignored) {
  EXPECT_EQ(parsed(" zk1:1 , zk2:2 "), "zk1:1 zk2:2 |");
  EXPECT_EQ(parsed(" zk1:1 , zk2:2 /app "), "zk1:1 zk2:2 |/app");
}

TEST(connect_string, unix_sockets) {
  EXPECT_EQ(parsed("unix:/run/conclave/socket"), "unix:/run/conclave/socket |");
  EXPECT_EQ(parsed("unix:/s:/app"), "unix:/s |/app");
  EXPECT_EQ(parsed("unix:/s:/"), "unix:/s |");
  EXPECT_EQ(parsed("unix:/s:/a/b:c,d"), "unix:/s |/a/b:c,d");
  EXPECT_EQ(parsed("unix:/a,unix:/b c:/app"), "unix:/a unix:/b c |/app");
  EXPECT_EQ(parsed(" unix:/s , zk1 "), "unix:/s zk1:2181 |");
  const auto e = connect_string::parse("unix:/s").hosts.at(0);
  EXPECT_EQ(e.socket_path, "/s");
  EXPECT_EQ(e.host, "");
  EXPECT_TRUE(connect_string::parse("zk1").hosts.at(0).socket_path.empty());
}

TEST(connect_string, unix_sockets_among_others) {
  EXPECT_EQ(parsed("unix:/s,zk1:1,[::1]:2/app"), "unix:/s zk1:1 [::1]:2 |/app");
  EXPECT_EQ(parsed("zk1:1,unix:/s:/app"), "zk1:1 unix:/s |/app");
}

TEST(connect_string, a_socket_path_has_the_length_limit_of_the_system) {
  const std::string longest = '/' + std::string(106, 'x');
  EXPECT_EQ(parsed("unix:" + longest), "unix:" + longest + " |");
  EXPECT_THROW(parsed("unix:" + longest + 'x'), error);
}

TEST(connect_string, a_host_may_be_called_unix) {
  EXPECT_EQ(parsed("unix"), "[unix]:2181 |");
  EXPECT_EQ(parsed("unix/app"), "[unix]:2181 |/app");
  EXPECT_EQ(parsed("[unix]:5,unix2:6"), "[unix]:5 unix2:6 |");
  EXPECT_EQ(connect_string::parse("[unix]:5").hosts.at(0), (endpoint{"unix", 5}));
}

TEST(connect_string, refuses_invalid_strings) {
  const std::vector<std::string> all{"",
                                     " ",
                                     ",",
                                     ",,/app",
                                     ",zk1",
                                     "zk1,",
                                     "zk1,,zk2",
                                     "zk1,,unix:/s",
                                     "unix:/s,",
                                     "zk1,/app",
                                     "/app",
                                     "/",
                                     ":2181",
                                     "zk1:",
                                     "zk1:0",
                                     "zk1:65536",
                                     "zk1:-1",
                                     "zk1:+1",
                                     "zk1:x",
                                     "zk1:21 81",
                                     "zk1:2181x",
                                     "zk1:99999999999999999999",
                                     "zk 1",
                                     "zk\t1",
                                     "zk1\n",
                                     "::1",
                                     "::1:2181",
                                     "[::1",
                                     "[::1]x",
                                     "[::1]2181",
                                     "[::1]:",
                                     "[]",
                                     "[]:1",
                                     "zk1/a/",
                                     "zk1//",
                                     "zk1//a",
                                     "zk1/a/../b",
                                     "zk1/.",
                                     "zk1/\x01",
                                     "zk1/\xff",
                                     "zk1,zk2:x",
                                     "[[a]",
                                     "a]b",
                                     "unix:",
                                     "unix:,zk1",
                                     "unix::/app",
                                     "unix:2181",
                                     "unix:run/socket",
                                     "unix:./socket",
                                     "unix:/",
                                     "unix:/run/",
                                     "unix:/s:",
                                     "unix:/s:2181",
                                     "unix:/s:app",
                                     "unix:/s:/a/",
                                     "unix:/s:/a/../b",
                                     "unix:/s\n",
                                     "unix:/s\x7f",
                                     "zk1,unix:socket",
                                     "unix:/" + std::string(107, 'x'),
                                     std::string("unix:/a\0b", 9),
                                     std::string("zk\0"
                                                 "1",
                                                 4)};
  for (const auto& text : all) {
    try {
      parsed(text);
      ADD_FAILURE() << "'" << text << "' was accepted";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), error_code{errc::bad_connect_string}) << text;
      EXPECT_NE(std::string{e.what()}.find("'" + text.substr(0, text.find('\0'))),
                std::string::npos)
          << e.what();
    }
  }
}

TEST(connect_string, the_message_says_what_to_do) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      connect_string::parse(text);
      return "";
    } catch (const error& e) {
      return e.what();
    }
  };
  EXPECT_NE(message("zk1:70000").find("'70000' is not a port (1 to 65535)"), std::string::npos);
  EXPECT_NE(message("::1").find("[::1]:2181"), std::string::npos);
  EXPECT_NE(message("zk1/a//b").find("'/a//b' is not a valid path"), std::string::npos);
  EXPECT_NE(message("").find("host:port"), std::string::npos);
  EXPECT_NE(message("unix:").find("write unix:/path/to/socket"), std::string::npos);
  EXPECT_NE(message("unix:run/s").find("write unix:/path/to/socket"), std::string::npos);
  EXPECT_NE(message("unix:2181").find("[unix]:2181"), std::string::npos);
  EXPECT_NE(message("unix:/run/").find("write unix:/path/to/socket"), std::string::npos);
  EXPECT_NE(message("unix:/s:2181").find("unix:/s:/chroot"), std::string::npos);
  EXPECT_NE(message(std::string("unix:/a\0b", 9)).find("control characters"), std::string::npos);
  const auto long_path = "unix:/" + std::string(120, 'x');
  EXPECT_NE(message(long_path).find("at most 107 bytes, this one has 121"), std::string::npos);
}

}  // namespace
}  // namespace conclave
