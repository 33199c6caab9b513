// Encodes and decodes all records except transactions and compares them with ZooKeeper's bytes.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "field_walker.hpp"
#include "golden_file.hpp"
#include "wire/records.hpp"

namespace conclave::wire {
namespace {

using namespace std::string_view_literals;

constexpr auto min32 = std::numeric_limits<std::int32_t>::min();
constexpr auto max32 = std::numeric_limits<std::int32_t>::max();
constexpr auto min64 = std::numeric_limits<std::int64_t>::min();
constexpr auto max64 = std::numeric_limits<std::int64_t>::max();

constexpr auto sixteen = "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20"sv;
constexpr auto zeros = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"sv;
constexpr std::string_view null;

const std::vector<acl_record> two_entries{{31, "world", "anyone"}, {5, "digest", "u:h="}};
const stat_record plain_stat{{0x0102030405060708, 0x1112131415161718, 0x2122232425262728,
                              0x3132333435363738, 0x41424344, 0x51525354, 0x61626364,
                              0x7172737475767778, 0x01020304, 0x11121314, 0x2122232425262729}};
const stat_record negative_stat{{-1, -2, -3, -4, -5, -6, -7, min64, min32, -10, -11}};
const stat_record largest_stat{
    {max64, max64, max64, max64, max32, max32, max32, max64, max32, max32, max64}};

template <class Record>
std::string encoded(const Record& r) {
  std::string out;
  writer{out}(r);
  return out;
}

template <class Record>
void expect_golden(std::string_view name, const Record& expected) {
  SCOPED_TRACE(name);
  const auto bytes = golden(name);
  EXPECT_EQ(hex(encoded(expected)), hex(bytes));

  reader in{bytes};
  const auto decoded = in.read<Record>();
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(text_of(decoded), text_of(expected));
  EXPECT_EQ(hex(encoded(decoded)), hex(bytes));
}

TEST(golden_record, handshake) {
  expect_golden("connect_request",
                connect_request{0, 0x0102030405060708, 30'000, 0x1112131415161718, sixteen});
  expect_golden("connect_request/new", connect_request{0, 0, 10'000, 0, zeros});
  expect_golden("connect_request/null", connect_request{min32, min64, -1, -2, null});
  expect_golden("connect_request/largest", connect_request{max32, max64, max32, max64, ""});
  expect_golden("connect_response", connect_response{0, 30'000, 0x1112131415161718, sixteen});
  expect_golden("connect_response/expired", connect_response{0, 0, 0, zeros});
  expect_golden("connect_response/null", connect_response{-1, min32, min64, null});
  expect_golden("read_only_flag", read_only_flag{true});
  expect_golden("read_only_flag/no", read_only_flag{false});
}

TEST(golden_record, headers) {
  expect_golden("request_header", request_header{0x01020304, opcode::get_data});
  expect_golden("request_header/ping", request_header{special_xid::ping, opcode::ping});
  expect_golden("request_header/close", request_header{max32, opcode::close_session});
  expect_golden("reply_header", reply_header{0x01020304, 0x0102030405060708, 0});
  expect_golden("reply_header/event", reply_header{special_xid::watch_event, -1, 0});
  expect_golden("reply_header/no_node", reply_header{max32, max64, -101});
  expect_golden("watcher_event", watcher_event{2, 3, "/a/b"});
  expect_golden("watcher_event/null", watcher_event{-1, -112, null});
}

TEST(golden_record, parts) {
  expect_golden("stat_record", plain_stat);
  expect_golden("stat_record/negative", negative_stat);
  expect_golden("stat_record/largest", largest_stat);
  expect_golden("acl_record", acl_record{31, "world", "anyone"});
  expect_golden("acl_record/null", acl_record{-1, null, null});
  expect_golden("acl_record/empty", acl_record{0, "", ""});
  expect_golden("identity_record", identity_record{"digest", "user"});
  expect_golden("identity_record/null", identity_record{null, null});
}

TEST(golden_record, requests_that_create) {
  expect_golden("create_request", create_request{"/a", "\0\1\xff"sv, two_entries, 3});
  expect_golden("create_request/null", create_request{null, null, {}, -1});
  expect_golden("create_request/empty", create_request{"", "", {}, max32});
  expect_golden("create_request/unicode",
                create_request{"/\u00e9\u4e16", "\u00fc", two_entries, 0});
  expect_golden("create_ttl_request",
                create_ttl_request{"/ttl", "data", two_entries, 5, 0x0102030405060708});
  expect_golden("create_ttl_request/null", create_ttl_request{null, null, {}, 6, -1});
}

TEST(golden_record, requests_about_one_path) {
  expect_golden("path_version_request/delete", path_version_request{"/a", 7});
  expect_golden("path_version_request/check", path_version_request{"/a/b", any_version});
  expect_golden("path_version_request/null", path_version_request{null, min32});
  expect_golden("path_watch_request/exists", path_watch_request{"/a", true});
  expect_golden("path_watch_request/get_data", path_watch_request{"/a", false});
  expect_golden("path_watch_request/get_children", path_watch_request{"/a", true});
  expect_golden("path_watch_request/get_children2", path_watch_request{null, false});
  expect_golden("set_data_request", set_data_request{"/a", "new", 3});
  expect_golden("set_data_request/null", set_data_request{"/a", null, any_version});
  expect_golden("set_data_request/empty", set_data_request{"", "", max32});
  expect_golden("path_record/get_acl", path_record{"/a"});
  expect_golden("path_record/sync", path_record{"/"});
  expect_golden("path_record/sync_response", path_record{"/a"});
  expect_golden("path_record/get_ephemerals", path_record{"/pre"});
  expect_golden("path_record/get_all_children_number", path_record{"/a/b/c"});
  expect_golden("path_record/null", path_record{null});
  expect_golden("set_acl_request", set_acl_request{"/a", two_entries, 2});
  expect_golden("set_acl_request/empty", set_acl_request{null, {}, -1});
}

TEST(golden_record, requests_about_watches_and_identity) {
  expect_golden("auth_request", auth_request{0, "digest", "user:password"});
  expect_golden("auth_request/null", auth_request{-1, null, null});
  expect_golden("path_type_request/add_watch", path_type_request{"/a", 1});
  expect_golden("path_type_request/remove_watches", path_type_request{"/a", 3});
  expect_golden("path_type_request/check_watches", path_type_request{null, -1});
  expect_golden("set_watches_request",
                set_watches_request{0x0102030405060708, {"/d1", "/d2"}, {"/e"}, {"/c"}});
  expect_golden("set_watches_request/empty", set_watches_request{-1, {}, {}, {}});
  expect_golden("set_watches2_request",
                set_watches2_request{max64, {"/d"}, {"/e", "/f"}, {"/c"}, {"/p"}, {"/r", "/s"}});
  expect_golden("set_watches2_request/empty", set_watches2_request{min64, {}, {}, {}, {}, {}});
  expect_golden("sasl_record/request", sasl_record{"\1\0\xfe"sv});
  expect_golden("sasl_record/response", sasl_record{""});
  expect_golden("sasl_record/null", sasl_record{null});
}

TEST(golden_record, responses) {
  expect_golden("create_response", create_response{"/a-0000000001"});
  expect_golden("create_response/null", create_response{null});
  expect_golden("create2_response", create2_response{"/a", plain_stat});
  expect_golden("create2_response/negative", create2_response{"", negative_stat});
  expect_golden("stat_response/exists", stat_response{plain_stat});
  expect_golden("stat_response/set_data", stat_response{negative_stat});
  expect_golden("stat_response/set_acl", stat_response{largest_stat});
  expect_golden("get_data_response", get_data_response{"\xde\xad\0"sv, plain_stat});
  expect_golden("get_data_response/null", get_data_response{null, negative_stat});
  expect_golden("get_data_response/empty", get_data_response{"", largest_stat});
  expect_golden("get_acl_response", get_acl_response{two_entries, plain_stat});
  expect_golden("get_acl_response/empty", get_acl_response{{}, negative_stat});
  expect_golden("names_response/get_children", names_response{{"a", "", "\u4e16"}});
  expect_golden("names_response/get_ephemerals", names_response{{"/a/b", "/c"}});
  expect_golden("names_response/empty", names_response{});
  expect_golden("names_response/null_name", names_response{{"a", null}});
  expect_golden("get_children2_response", get_children2_response{{"x", "yy"}, plain_stat});
  expect_golden("get_children2_response/empty", get_children2_response{{}, negative_stat});
  expect_golden("get_all_children_number_response", get_all_children_number_response{0x01020304});
  expect_golden("get_all_children_number_response/negative", get_all_children_number_response{-1});
  expect_golden("who_am_i_response", who_am_i_response{{{"ip", "127.0.0.1"}, {"digest", "u"}}});
  expect_golden("who_am_i_response/empty", who_am_i_response{});
}

// ZooKeeper distinguishes null and empty lists. No client needs this, so conclave writes empty
// ones.
TEST(golden_record, null_list_is_parsed_as_empty) {
  const auto create_bytes = golden("create_request/null_acl");
  reader create_in{create_bytes};
  EXPECT_EQ(text_of(create_in.read<create_request>()), text_of(create_request{"/a", "", {}, 0}));
  EXPECT_TRUE(create_in.ok() && create_in.at_end());

  const auto names_bytes = golden("names_response/null_list");
  reader names_in{names_bytes};
  EXPECT_TRUE(names_in.read<names_response>().names.empty());
  EXPECT_TRUE(names_in.ok() && names_in.at_end());
}

}  // namespace
}  // namespace conclave::wire
