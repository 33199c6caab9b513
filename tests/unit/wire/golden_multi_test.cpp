// Encodes and decodes transactions and compares them with ZooKeeper's bytes.

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "field_walker.hpp"
#include "golden_file.hpp"
#include "wire/multi.hpp"

namespace conclave::wire {
namespace {

constexpr auto min32 = std::numeric_limits<std::int32_t>::min();
constexpr auto max32 = std::numeric_limits<std::int32_t>::max();
constexpr auto min64 = std::numeric_limits<std::int64_t>::min();

const std::vector<acl_record> two_entries{{31, "world", "anyone"}, {5, "digest", "u:h="}};
const stat_record plain_stat{{0x0102030405060708, 0x1112131415161718, 0x2122232425262728,
                              0x3132333435363738, 0x41424344, 0x51525354, 0x61626364,
                              0x7172737475767778, 0x01020304, 0x11121314, 0x2122232425262729}};
const stat_record negative_stat{{-1, -2, -3, -4, -5, -6, -7, min64, min32, -10, -11}};

std::string text(const std::vector<multi_part>& parts) {
  field_text t;
  for (const auto& part : parts) {
    t(part.type, static_cast<int>(part.body.index()));
    std::visit(t, part.body);
  }
  return t.text();
}

std::string text(const std::vector<multi_reply>& answers) {
  field_text t;
  for (const auto& a : answers) t(a.type, a.error, a.path, a.data, a.names, a.stat);
  return t.text();
}

void expect_request(std::string_view name, const std::vector<multi_part>& expected) {
  SCOPED_TRACE(name);
  const auto bytes = golden(name);
  std::string written;
  writer out{written};
  write_multi_request(out, expected);
  EXPECT_EQ(hex(written), hex(bytes));

  reader in{bytes};
  std::vector<multi_part> decoded;
  EXPECT_TRUE(read_multi_request(in, decoded));
  EXPECT_TRUE(in.ok() && in.at_end());
  EXPECT_EQ(text(decoded), text(expected));
  written.clear();
  write_multi_request(out, decoded);
  EXPECT_EQ(hex(written), hex(bytes));
}

void expect_response(std::string_view name, const std::vector<multi_reply>& expected) {
  SCOPED_TRACE(name);
  const auto bytes = golden(name);
  std::string written;
  writer out{written};
  write_multi_response(out, expected);
  EXPECT_EQ(hex(written), hex(bytes));

  reader in{bytes};
  std::vector<multi_reply> decoded;
  EXPECT_TRUE(read_multi_response(in, decoded));
  EXPECT_TRUE(in.ok() && in.at_end());
  EXPECT_EQ(text(decoded), text(expected));
  written.clear();
  write_multi_response(out, decoded);
  EXPECT_EQ(hex(written), hex(bytes));
}

multi_reply failed(std::int32_t error) {
  multi_reply a;
  a.error = error;
  return a;
}

multi_reply answer(opcode type) {
  multi_reply a;
  a.type = type;
  return a;
}

TEST(golden_multi, header) {
  const auto expect = [](std::string_view name, const multi_header& expected) {
    const auto bytes = golden(name);
    std::string written;
    writer{written}(expected);
    EXPECT_EQ(hex(written), hex(bytes));
    EXPECT_EQ(text_of(reader{bytes}.read<multi_header>()), text_of(expected));
  };
  expect("multi_header", {opcode::multi, false, -1});
  expect("multi_header/end", multi_end);
  expect("multi_header/largest", {static_cast<opcode>(max32), false, min32});
}

TEST(golden_multi, request_that_writes) {
  expect_request("multi_request/write",
                 {{opcode::create, create_request{"/c", "d", two_entries, 3}},
                  {opcode::create_container, create_request{"/box", "", two_entries, 4}},
                  {opcode::create_ttl, create_ttl_request{"/ttl", {}, two_entries, 5, 60'000}},
                  {opcode::remove, path_version_request{"/x", any_version}},
                  {opcode::set_data, set_data_request{"/s", "\xff", 4}},
                  {opcode::check, path_version_request{"/k", max32}}});
}

TEST(golden_multi, request_that_reads) {
  expect_request("multi_request/read", {{opcode::get_data, path_watch_request{"/g", false}},
                                        {opcode::get_children, path_watch_request{"/h", false}}});
}

TEST(golden_multi, request_without_parts) { expect_request("multi_request/empty", {}); }

// ZooKeeper's client does not send create2 in a transaction, but its server accepts it.
TEST(golden_multi, create2_has_the_body_of_create) {
  std::string bytes;
  writer out{bytes};
  write_multi_request(out, {{opcode::create2, create_request{"/c", "d", two_entries, 3}}});
  auto expected = golden("multi_request/write").substr(0, bytes.size() - 9);
  expected[3] = static_cast<char>(opcode::create2);
  EXPECT_EQ(hex(bytes), hex(expected + golden("multi_header/end")));
  reader in{bytes};
  std::vector<multi_part> parts;
  ASSERT_TRUE(read_multi_request(in, parts));
  EXPECT_EQ(std::get<create_request>(parts.at(0).body).path, "/c");
}

TEST(golden_multi, response_of_a_transaction) {
  auto created = answer(opcode::create);
  created.path = "/c0000000001";
  auto box = answer(opcode::create2);
  box.path = "/box";
  box.stat = plain_stat;
  auto changed = answer(opcode::set_data);
  changed.stat = negative_stat;
  expect_response("multi_response/done",
                  {created, box, answer(opcode::remove), changed, answer(opcode::check)});
}

TEST(golden_multi, response_of_a_failed_transaction) {
  expect_response("multi_response/failed", {failed(0), failed(-101), failed(-2)});
}

TEST(golden_multi, response_of_a_group_of_reads) {
  auto data = answer(opcode::get_data);
  data.data = "data";
  data.stat = plain_stat;
  auto names = answer(opcode::get_children);
  names.names = {"a", "b"};
  expect_response("multi_response/read", {data, names, failed(-102)});
}

TEST(golden_multi, response_without_parts) { expect_response("multi_response/empty", {}); }

TEST(golden_multi, unknown_type_of_part_is_refused) {
  for (const auto type : {opcode::ping, opcode::sync, opcode::multi, opcode::close_session,
                          static_cast<opcode>(12'345), static_cast<opcode>(min32)}) {
    std::string bytes;
    writer{bytes}(multi_header{type, false, -1}, multi_end);
    reader request{bytes};
    std::vector<multi_part> parts;
    EXPECT_FALSE(read_multi_request(request, parts)) << static_cast<int>(type);
    reader response{bytes};
    std::vector<multi_reply> answers;
    EXPECT_FALSE(read_multi_response(response, answers)) << static_cast<int>(type);
  }
}

TEST(golden_multi, number_of_parts_is_bounded) {
  for (const std::size_t n : {max_multi_parts, max_multi_parts + 1}) {
    std::string bytes;
    writer out{bytes};
    write_multi_response(out, std::vector<multi_reply>(n, answer(opcode::check)));
    reader in{bytes};
    std::vector<multi_reply> answers;
    EXPECT_EQ(read_multi_response(in, answers), n <= max_multi_parts);
  }
}

}  // namespace
}  // namespace conclave::wire
