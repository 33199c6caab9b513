// Requests that change nothing, and unknown requests.

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

using namespace std::string_view_literals;

const acl unreadable = world(all_permissions & ~permission::read);

TEST(get_data, returns_the_data_and_the_stat) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a", "hello"));
  const auto got = c.ask(get("/a"));
  EXPECT_EQ(got, ok);
  EXPECT_EQ(got.data, "hello");
  EXPECT_EQ(got.stat.data_length, 5);
  EXPECT_EQ(got.zxid, server.core().zxid());
}

TEST(get_data, distinguishes_null_and_empty_data) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/null", std::string_view{}));
  c.ask(create("/empty", ""));
  EXPECT_EQ(c.ask(get("/null")).data, std::nullopt);
  EXPECT_EQ(c.ask(get("/empty")).data, "");
  server.crash();
  auto& again = server.reconnect(c);
  EXPECT_EQ(again.ask(get("/null")).data, std::nullopt);
  EXPECT_EQ(again.ask(get("/empty")).data, "");
  again.ask(set("/empty", std::string_view{}));
  EXPECT_EQ(again.ask(get("/empty")).data, std::nullopt);
  EXPECT_EQ(again.ask(get("/empty")).stat.data_length, 0);
}

TEST(get_data, returns_any_bytes) {
  test_server server;
  auto& c = server.open_session();
  std::string all;
  for (int i = 0; i < 1000; ++i) all.push_back(static_cast<char>(i));
  c.ask(create("/a", all));
  EXPECT_EQ(c.ask(get("/a")).data, all);
}

TEST(reads, check_existence_before_permissions) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create_with("/secret", unreadable));
  for (const auto read : {get, children, children2}) {
    EXPECT_EQ(c.ask(read("/missing", false)), errc::no_node);
    EXPECT_EQ(c.ask(read("/secret", false)), errc::no_auth);
  }
  EXPECT_EQ(c.ask(get_all_children_number("/missing")), errc::no_node);
  EXPECT_EQ(c.ask(get_all_children_number("/secret")), errc::no_auth);
  EXPECT_EQ(c.ask(get_acl("/missing")), errc::no_node);
}

TEST(reads, without_permission_set_no_watch) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create_with("/secret", unreadable));
  for (const auto read : {get, children, children2}) {
    c.ask(read("/missing", watched));
    c.ask(read("/secret", watched));
  }
  EXPECT_EQ(server.core().data_watches().count(), 0u);
  EXPECT_EQ(server.core().child_watches().count(), 0u);
}

TEST(reads, of_invalid_paths_find_nothing) {
  test_server server;
  auto& c = server.open_session();
  for (const auto path : {""sv, "a"sv, "/a/"sv, "//"sv, "/a//b"sv, "/\0"sv}) {
    EXPECT_EQ(c.ask(get(path)), errc::no_node) << path;
    EXPECT_EQ(c.ask(children(path)), errc::no_node) << path;
    EXPECT_EQ(c.ask(get_acl(path)), errc::no_node) << path;
  }
}

TEST(reads, of_a_null_path_are_malformed) {
  test_server server;
  auto& c = server.open_session();
  for (const auto& r : {get({}), exists({}), children({}), children2({}), get_acl({}),
                        get_all_children_number({}), check_watches({})})
    EXPECT_EQ(c.ask(r), errc::marshalling_error) << static_cast<int>(r.type);
}

TEST(exists, needs_no_permission) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/secret", "12345", mode::persistent, unreadable));
  const auto found = c.ask(exists("/secret"));
  EXPECT_EQ(found, ok);
  EXPECT_EQ(found.stat.data_length, 5);
  EXPECT_EQ(c.ask(exists("/missing")), errc::no_node);
}

TEST(exists, refuses_a_path_with_a_zero_byte) {
  test_server server;
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(exists("/a\0b"sv, watched)), errc::bad_arguments);
  EXPECT_EQ(server.core().data_watches().count(), 0u);
}

TEST(get_children, returns_only_the_children) {
  test_server server;
  auto& c = server.open_session();
  for (const auto path : {"/a", "/a/x", "/a/y", "/a/y/deep", "/ab"}) c.ask(create(path));
  EXPECT_EQ(c.ask(children("/a")).names, (lines{"x", "y"}));
  EXPECT_EQ(c.ask(children("/a/x")).names, lines{});
  EXPECT_EQ(c.ask(children("/")).names, (lines{"a", "ab", "zookeeper"}));
  const auto with_stat = c.ask(children2("/a"));
  EXPECT_EQ(with_stat.names, (lines{"x", "y"}));
  EXPECT_EQ(with_stat.stat, c.ask(exists("/a")).stat);
  c.ask(remove("/a/x"));
  EXPECT_EQ(c.ask(children("/a")).names, lines{"y"});
}

TEST(get_ephemerals, returns_the_nodes_of_the_own_session) {
  test_server server;
  auto& a = server.open_session();
  auto& b = server.open_session();
  a.ask(create("/dir"));
  a.ask(create_ephemeral("/dir/2"));
  a.ask(create_ephemeral("/dir/1"));
  a.ask(create_ephemeral("/other"));
  b.ask(create_ephemeral("/dir/b"));
  const lines all{"/dir/1", "/dir/2", "/other"};
  EXPECT_EQ(a.ask(get_ephemerals("/")).names, all);
  EXPECT_EQ(a.ask(get_ephemerals("")).names, all);
  EXPECT_EQ(a.ask(get_ephemerals({})).names, all) << "a null prefix";
  EXPECT_EQ(a.ask(get_ephemerals(" / ")).names, all) << "Apache's server trims it";
  EXPECT_EQ(a.ask(get_ephemerals(" ")).names, all);
  EXPECT_EQ(a.ask(get_ephemerals(" /dir")).names, lines{});
  EXPECT_EQ(a.ask(get_ephemerals("/dir")).names, (lines{"/dir/1", "/dir/2"}));
  EXPECT_EQ(a.ask(get_ephemerals("/dir/1")).names, lines{"/dir/1"});
  EXPECT_EQ(a.ask(get_ephemerals("/none")).names, lines{});
  EXPECT_EQ(b.ask(get_ephemerals("/")).names, lines{"/dir/b"});
}

TEST(get_all_children_number, counts_the_whole_subtree) {
  test_server server;
  auto& c = server.open_session();
  const auto empty = c.ask(get_all_children_number("/")).number;
  EXPECT_EQ(empty, 3) << "/zookeeper, its config and its quota";
  for (const auto path : {"/a", "/a/x", "/a/x/1", "/a/x/2", "/a/y", "/ab", "/ab/z"})
    c.ask(create(path));
  EXPECT_EQ(c.ask(get_all_children_number("/")).number, empty + 7);
  EXPECT_EQ(c.ask(get_all_children_number("/a")).number, 4);
  EXPECT_EQ(c.ask(get_all_children_number("/a/x")).number, 2);
  EXPECT_EQ(c.ask(get_all_children_number("/a/y")).number, 0);
}

TEST(multi_read, returns_a_result_for_each_part) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a", "data"));
  c.ask(create("/a/x"));
  c.ask(create_with("/secret", unreadable));
  const auto all = c.ask(
      multi_read({get("/a"), get("/missing"), children("/a"), children("/secret"), get("/a/x")}));
  EXPECT_EQ(all, ok);
  ASSERT_EQ(all.parts.size(), 5u);
  EXPECT_EQ(all.parts[0].data, "data");
  EXPECT_EQ(all.parts[0].stat.num_children, 1);
  EXPECT_EQ(all.parts[1], errc::no_node);
  EXPECT_EQ(all.parts[2].names, lines{"x"});
  EXPECT_EQ(all.parts[3], errc::no_auth);
  EXPECT_EQ(all.parts[4].data, "");
  EXPECT_EQ(c.ask(multi_read({})).parts.size(), 0u);
}

TEST(multi_read, sets_no_watches) {
  test_server server;
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(multi_read({get("/", watched), children("/", watched)})), ok);
  EXPECT_EQ(server.core().data_watches().count(), 0u);
  EXPECT_EQ(server.core().child_watches().count(), 0u);
}

TEST(multi_read, limits_the_size_of_its_reply) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/large", std::string(1'000'000, 'x')));
  EXPECT_EQ(c.ask(multi_read(std::vector<request>(4, get("/large")))), ok);
  EXPECT_EQ(c.ask(multi_read(std::vector<request>(10, get("/large")))), errc::quota_exceeded);
  EXPECT_EQ(c.ask(get("/large")), ok);
}

TEST(multi_read, refuses_writes) {
  test_server server;
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(multi_read({get("/"), create("/a")})), errc::marshalling_error);
  EXPECT_EQ(c.ask(multi_read({get("/"), check("/")})), errc::marshalling_error);
  EXPECT_EQ(c.ask(exists("/a")), errc::no_node);
}

TEST(sync, returns_the_path) {
  test_server server;
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(sync("/whatever")).path, "/whatever");
}

TEST(ping, returns_the_last_zxid) {
  test_server server;
  auto& c = server.open_session();
  server.open_session().ask(create("/a"));
  const auto answered = c.ask(ping());
  EXPECT_EQ(answered, ok);
  EXPECT_EQ(answered.zxid, server.core().zxid());
  EXPECT_EQ(answered.body_size, 0u);
}

// --- the initial tree

TEST(a_new_tree, has_the_nodes_of_apaches_tree) {
  test_server server;
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(children("/")).names, lines{"zookeeper"});
  EXPECT_EQ(c.ask(children("/zookeeper")).names, (lines{"config", "quota"}));
  EXPECT_EQ(c.ask(get("/")).data, "");
  EXPECT_EQ(c.ask(get("/")).stat.czxid, 0);
  EXPECT_EQ(c.ask(get("/")).stat.cversion, -1);
  EXPECT_EQ(c.ask(get("/zookeeper")).stat.cversion, -2);
  EXPECT_EQ(c.ask(get_acl("/")).acl, open_to_all());
  EXPECT_EQ(c.ask(get_acl("/zookeeper/config")).acl, world(permission::read));
  EXPECT_EQ(c.ask(set("/zookeeper/config", "x")), errc::no_auth);
}

TEST(a_new_tree, is_the_same_after_a_crash) {
  test_server server;
  auto& c = server.open_session();
  const auto before = c.ask(multi_read({get("/"), get("/zookeeper"), get("/zookeeper/config")}));
  server.crash();
  const auto after =
      server.reconnect(c).ask(multi_read({get("/"), get("/zookeeper"), get("/zookeeper/config")}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(before.parts[i].stat, after.parts[i].stat);
}

// --- unknown requests

TEST(unknown_requests, end_the_connection_but_not_the_session) {
  for (const int type : {0, 10, 23, 99, 108, 1000, -1, -2, -10, -12, INT32_MAX, INT32_MIN}) {
    test_server server;
    auto& c = server.open_session();
    server.turn([&] {
      c.send({static_cast<wire::opcode>(type), "whatever"});
      c.send(create("/after"));
    });
    EXPECT_EQ(c.next_reply(), errc::unimplemented) << type;
    EXPECT_EQ(c.unread_replies(), 0u);
    EXPECT_TRUE(c.closed());
    EXPECT_TRUE(server.core().awaits_reconnect(c.session()));
    EXPECT_EQ(server.reconnect(c).ask(exists("/after")), errc::no_node);
  }
}

TEST(unknown_requests, include_requests_of_ensembles) {
  test_server server;
  auto& c = server.open_session();
  EXPECT_EQ(c.ask({static_cast<wire::opcode>(16), {}}), errc::unimplemented);
  EXPECT_EQ(c.ask(make_request(wire::opcode::delete_container, "/")), errc::bad_arguments);
  EXPECT_FALSE(c.closed());
}

TEST(unknown_requests, sasl_is_refused) {
  test_server server;
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(make_request(wire::opcode::sasl, "token")), errc::auth_failed);
  EXPECT_TRUE(c.closed());
}

}  // namespace
}  // namespace conclave::server_impl
