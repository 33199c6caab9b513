// Truncated requests, wrong lengths and invalid paths.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "server/core/node_path.hpp"
#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

// Each request would succeed unchanged.
std::vector<request> every_request() {
  const acl several{{31, "world", "anyone"}, {1, "ip", "10.0.0.0/8"}, {1, "digest", "ann:hash"}};
  return {
      create("/new", "data", mode::ephemeral, several),
      create2("/new", "data"),
      create_container("/new"),
      create_ttl("/new", 1000),
      create_sequential("/new-"),
      remove("/leaf"),
      set("/a", "data"),
      set_acl("/a", several),
      check("/a"),
      multi({create("/new", "data"), create_ttl("/ttl", 1000), set("/a", "x"), check("/a"),
             remove("/leaf")}),
      multi_read({get("/a"), children("/a")}),
      exists("/a", watched),
      get("/a", watched),
      children("/a", watched),
      children2("/a", watched),
      get_acl("/a"),
      get_ephemerals("/"),
      get_all_children_number("/a"),
      sync("/a"),
      add_persistent_watch("/a"),
      add_recursive_watch("/a"),
      check_watches("/watched"),
      remove_watches("/watched"),
      set_watches(0, {"/a", "/b"}, {"/c"}, {"/d"}),
      set_watches2(0, {"/a"}, {"/b"}, {"/c"}, {"/d"}, {"/e"}),
      auth("digest", "ann:secret"),
  };
}

struct malformed : ::testing::Test {
  test_server server;
  client& other = server.open_local_session();
  client* c = nullptr;

  malformed() {
    other.ask(create("/a", "data"));
    other.ask(create("/leaf"));
  }

  client& fresh() {
    if (c == nullptr || c->closed()) c = &server.open_local_session();
    c->ask(exists("/watched", watched));
    c->take_events();
    return *c;
  }
};

TEST_F(malformed, the_samples_are_well_formed) {
  for (const auto& r : every_request()) {
    test_server one;
    auto& it = one.open_session();
    it.ask(create("/a", "data"));
    it.ask(create("/leaf"));
    it.ask(exists("/watched", watched));
    EXPECT_EQ(it.ask(r), ok) << static_cast<int>(r.type);
    EXPECT_FALSE(it.closed());
  }
}

TEST_F(malformed, truncated_at_any_byte) {
  for (const auto& r : every_request()) {
    for (std::size_t n = 0; n < r.body.size(); ++n) {
      SCOPED_TRACE("type " + std::to_string(static_cast<int>(r.type)) + ", " + std::to_string(n) +
                   " of " + std::to_string(r.body.size()) + " bytes");
      auto& sender = fresh();
      const auto zxid = server.core().zxid();
      const auto commits = server.commits();
      const auto watches =
          server.core().data_watches().count() + server.core().child_watches().count();
      const auto answered = sender.ask({r.type, r.body.substr(0, n), r.xid});
      if (sender.closed())
        EXPECT_EQ(answered, unanswered);
      else
        EXPECT_EQ(answered, errc::marshalling_error);
      EXPECT_EQ(server.core().zxid(), zxid);
      EXPECT_EQ(server.commits(), commits);
      if (!sender.closed()) {
        EXPECT_EQ(server.core().data_watches().count() + server.core().child_watches().count(),
                  watches);
      }
    }
  }
  EXPECT_EQ(other.ask(get("/a")).data, "data");
}

TEST_F(malformed, without_a_complete_header) {
  std::string header;
  wire::writer{header}(wire::request_header{1, wire::opcode::ping});
  for (std::size_t n = 0; n < header.size(); ++n) {
    auto& sender = server.open_session();
    sender.send_bytes(header.substr(0, n));
    EXPECT_TRUE(sender.closed()) << n;
    EXPECT_EQ(sender.unread_replies(), 0u);
    EXPECT_TRUE(server.core().awaits_reconnect(sender.session()));
  }
}

TEST_F(malformed, extra_bytes_are_ignored) {
  for (auto r : every_request()) {
    test_server one;
    auto& it = one.open_session();
    it.ask(create("/a", "data"));
    it.ask(create("/leaf"));
    it.ask(exists("/watched", watched));
    r.body += "and something else";
    EXPECT_EQ(it.ask(r), ok) << static_cast<int>(r.type);
  }
}

// Replaces each length, count and number with extreme values. The request is answered or ends the
// connection. (test_server checks that replies are well-formed and the stored rows are consistent.)
TEST_F(malformed, extreme_numbers) {
  const std::array<std::int32_t, 8> extremes{INT32_MAX, INT32_MIN, -1, -2, 0, 1, 0x1000000, 0x7fff};
  for (const auto& r : every_request()) {
    test_server one;
    auto* sender = &one.open_local_session();
    for (std::size_t at = 0; at + 4 <= r.body.size(); ++at) {
      for (const auto value : extremes) {
        if (sender->closed()) sender = &one.open_local_session();
        auto bad = r;
        std::string bytes;
        wire::writer{bytes}(value);
        bad.body.replace(at, 4, bytes);
        sender->ask(bad);
        sender->take_events();
      }
    }
    EXPECT_EQ(one.open_session().ask(get("/")), ok);
  }
}

TEST_F(malformed, a_very_deep_path) {
  std::string path;
  server.turn([&] {
    for (int i = 0; i < 2000; ++i) other.send(create(path += "/x"));
  });
  while (other.unread_replies() > 0) EXPECT_EQ(other.next_reply(), ok);
  other.ask(add_recursive_watch("/x"));
  EXPECT_EQ(other.ask(set(path, "deep")), ok);
  EXPECT_EQ(other.take_events(), lines{"changed " + path});
  EXPECT_EQ(other.ask(get_all_children_number("/x")).number, 1999);
}

TEST_F(malformed, a_path_of_slashes) {
  const std::string slashes(100'000, '/');
  EXPECT_EQ(other.ask(create(slashes)), errc::no_node);
  EXPECT_EQ(other.ask(exists(slashes, watched)), errc::no_node);
  EXPECT_EQ(other.ask(add_recursive_watch(slashes)), ok);
  EXPECT_EQ(other.ask(create("/b")), ok);
}

TEST_F(malformed, a_request_before_the_handshake) {
  auto& rude = server.connect();
  std::string payload;
  wire::writer{payload}(wire::request_header{1, wire::opcode::create}, "/rude");
  rude.send_bytes(payload);
  EXPECT_TRUE(rude.closed());
  EXPECT_FALSE(server.stored().nodes.contains("/rude"));
}

TEST_F(malformed, input_for_an_unknown_connection_is_ignored) {
  server.turn([&] {
    server.core().receive(4711, "whatever");
    server.core().disconnected(4711);
  });
  EXPECT_EQ(server.core().session_of(4711), 0);
}

// --- paths

TEST(node_path, returns_the_parent) {
  EXPECT_EQ(parent_path("/"), "/");
  EXPECT_EQ(parent_path("/a"), "/");
  EXPECT_EQ(parent_path("/a/b"), "/a");
  EXPECT_EQ(parent_path("/a/b/"), "/a/b");
}

}  // namespace
}  // namespace conclave::server_impl
