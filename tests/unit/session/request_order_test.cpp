// Requests get xids, and replies arrive in the order of the requests.

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

TEST(request_order, xids_increase_and_are_written_to_the_frames) {
  virtual_loop loop;
  loop.attach();
  for (int i = 1; i <= 5; ++i) {
    loop.submit(set("/a", "data"));
    const auto r = loop.take_request();
    EXPECT_EQ(r.xid, i);
    EXPECT_EQ(r.type, wire::opcode::set_data);
    wire::reader in{r.body};
    const auto body = in.read<wire::set_data_request>();
    EXPECT_TRUE(in.ok() && in.at_end());
    EXPECT_EQ(body.path, "/a");
    EXPECT_EQ(body.data, "data");
    EXPECT_EQ(body.version, -1);
  }
  EXPECT_EQ(loop.machine().in_flight(), 5u);
}

TEST(request_order, xids_are_written_to_frames_that_wait_for_the_socket) {
  virtual_loop loop;
  loop.attach();
  loop.limit_socket(0);
  for (const auto* path : {"/1", "/2", "/3"}) loop.submit(set(path));
  loop.limit_socket(10);  // part of the first frame
  loop.submit(set("/4"));
  loop.limit_socket();
  for (int i = 1; i <= 4; ++i) {
    const auto r = loop.take_request();
    EXPECT_EQ(r.xid, i);
    EXPECT_EQ(r.path(), "/" + std::to_string(i));
  }
}

TEST(request_order, replies_complete_their_requests) {
  virtual_loop loop;
  loop.attach();
  const auto a = loop.submit(get("/a"));
  const auto b = loop.submit(set("/b"));
  const auto c = loop.submit(get("/c"));
  loop.answer(loop.take_request(), std::int32_t{7});
  EXPECT_TRUE(a->succeeded());
  EXPECT_EQ(a->body, std::string("\0\0\0\7", 4));
  EXPECT_TRUE(b->pending() && c->pending());
  loop.answer_error(loop.take_request(), errc::bad_version);
  EXPECT_TRUE(b->failed(errc::bad_version));
  EXPECT_EQ(b->server_error, static_cast<int>(errc::bad_version));
  loop.answer(loop.take_request());
  EXPECT_TRUE(c->succeeded());
  EXPECT_EQ(loop.machine().outstanding(), 0u);
}

TEST(request_order, an_error_may_be_a_result) {
  virtual_loop loop;
  loop.attach();
  const auto missing = loop.submit(exists("/a"));
  loop.answer_error(loop.take_request(), errc::no_node);
  EXPECT_TRUE(missing->succeeded());
  EXPECT_EQ(missing->server_error, static_cast<int>(errc::no_node));
  const auto forbidden = loop.submit(exists("/a"));
  loop.answer_error(loop.take_request(), errc::no_auth);
  EXPECT_TRUE(forbidden->failed(errc::no_auth));
}

TEST(request_order, replies_may_arrive_in_pieces_or_together) {
  for (const std::size_t piece : {1u, 3u, 16u, 1000u}) {
    virtual_loop loop;
    loop.attach();
    std::vector<std::shared_ptr<operation_state>> all;
    std::string bytes;
    for (int i = 1; i <= 20; ++i) {
      all.push_back(loop.submit(get("/a")));
      wire::append_frame(bytes, wire::reply_header{i, i, 0}, std::string(i, 'x'));
    }
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      loop.deliver(std::string_view{bytes}.substr(at, piece));
    for (const auto& op : all) EXPECT_TRUE(op->succeeded());
    EXPECT_EQ(loop.machine().last_zxid(), 20);
  }
}

TEST(request_order, a_reply_out_of_order_is_a_protocol_error) {
  for (const std::int32_t xid : {2, 3, 99, -3, -9, std::numeric_limits<std::int32_t>::min()}) {
    virtual_loop loop;
    loop.attach();
    const auto read = loop.submit(get("/a"));
    const auto write = loop.submit(set("/b"));
    const auto later = loop.submit(get("/c"));
    loop.answer({xid, {}, {}});
    EXPECT_EQ(loop.machine().state(), session_state::suspended) << xid;
    EXPECT_EQ(loop.events().back().reason, error_code{errc::protocol_error});
    EXPECT_TRUE(write->failed(errc::connection_loss));
    EXPECT_TRUE(read->failed(errc::protocol_error));  // the next reply belonged to it
    EXPECT_TRUE(later->pending());
    ASSERT_TRUE(loop.is_connecting());
    loop.attach();
    EXPECT_EQ(loop.take_list(), lines{"get /c"});
  }
}

TEST(request_order, a_reply_without_a_request_is_a_protocol_error) {
  virtual_loop loop;
  loop.attach();
  loop.answer({1, {}, {}});
  EXPECT_EQ(loop.events().back().reason, error_code{errc::protocol_error});
  EXPECT_TRUE(loop.is_connecting());
}

TEST(request_order, input_after_a_protocol_error_is_discarded) {
  virtual_loop loop;
  loop.attach();
  const auto op = loop.submit(get("/a"));
  std::string bytes;
  wire::append_frame(bytes, wire::reply_header{99, 1, 0});
  wire::append_frame(bytes, wire::reply_header{1, 1, 0});
  loop.deliver(bytes);
  EXPECT_TRUE(op->failed(errc::protocol_error));
  loop.deliver(bytes);  // still in flight when the connection was closed
  EXPECT_EQ(op->completions, 1);
}

TEST(request_order, xids_continue_on_the_next_connection) {
  virtual_loop loop;
  loop.attach();
  loop.submit(set("/a"));
  EXPECT_EQ(loop.take_request().xid, 1);
  loop.lose_connection();
  loop.attach();
  loop.submit(set("/a"));
  EXPECT_GT(loop.take_request().xid, 1);
}

TEST(request_order, the_highest_zxid_is_kept) {
  virtual_loop loop;
  loop.attach();
  loop.submit(get("/a"));
  loop.submit(get("/a"));
  loop.send_frame(wire::reply_header{1, 500, 0});
  loop.send_frame(wire::reply_header{2, 400, 0});
  loop.event(watch_event::kind::changed, "/a");
  EXPECT_EQ(loop.machine().last_zxid(), 500);
  loop.lose_connection();
  loop.accept();
  EXPECT_EQ(loop.last_handshake().last_zxid_seen, 500);
}

}  // namespace
}  // namespace conclave::session
