// The size of the metrics does not depend on the lengths of paths or on the number of clients.
#include <string>

#include <gtest/gtest.h>

#include "web/metrics_cache.hpp"
#include "web/path_label.hpp"

namespace conclave::web {
namespace {

TEST(path_label, is_the_path_up_to_256_bytes) {
  const auto longest = "/" + std::string(255, 'x');
  EXPECT_EQ(path_label("/a"), "/a");
  EXPECT_EQ(path_label(longest), longest);
  EXPECT_EQ(path_label(longest + "x"),
            longest.substr(0, 222) + "//5d9f0b61cf0a5a940cad145f89de4148");
  EXPECT_EQ(path_label(std::string(1'000'000, 'x')).size(), 256u);
}

TEST(path_label, is_different_for_different_paths) {
  const std::string beginning(1000, 'x');
  EXPECT_NE(path_label(beginning + "1"), path_label(beginning + "2"));
  EXPECT_EQ(path_label(beginning + "1"), path_label(beginning + "1"));
  EXPECT_NE(path_label(beginning).find("//"), std::string::npos) << "no valid path contains it";
}

TEST(path_label, does_not_cut_a_character) {
  for (std::size_t ascii = 0; ascii < 4; ++ascii) {
    auto path = std::string(ascii, 'x');
    for (int i = 0; i < 100; ++i) path += "\u20ac";  // three bytes
    const auto label = path_label(path);
    const auto beginning = label.substr(0, label.find("//"));
    EXPECT_EQ((beginning.size() - ascii) % 3, 0u) << ascii;
    EXPECT_GE(label.size(), 254u);
    EXPECT_LE(label.size(), 256u);
  }
}

TEST(metrics_cache, shares_one_text_for_a_second) {
  metrics_cache cache;
  live_state s;
  live_model::connection_state connection;
  connection.is_connected = true;
  const auto first = cache.text(s, connection, 5 * one_second);
  EXPECT_EQ(cache.text(s, connection, 6 * one_second - 1), first);
  EXPECT_NE(cache.text(s, connection, 6 * one_second), first) << "waits grow with the time";
}

TEST(metrics_cache, shows_the_latest_state) {
  metrics_cache cache;
  live_state s;
  s.deadlocks = 1;
  live_model::connection_state connection;
  const auto has = [&](const char* line) {
    return cache.text(s, connection, one_second)->find(line) != std::string::npos;
  };
  EXPECT_TRUE(has("conclave_deadlocks{certainty=\"certain\"} 1\n"));
  s.deadlocks = 2;
  ++s.version;
  EXPECT_TRUE(has("conclave_deadlocks{certainty=\"certain\"} 2\n"));
  EXPECT_TRUE(has("conclave_up 0\n"));
  connection.is_connected = true;
  EXPECT_TRUE(has("conclave_up 1\n"));
  EXPECT_FALSE(cache.text(s, connection, 0)->empty()) << "the clock was set back";
}

}  // namespace
}  // namespace conclave::web
