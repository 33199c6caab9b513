// Reading and writing of single values, as far as the tests of records do not cover it.

#include "wire/archive.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "golden_file.hpp"
#include "wire/records.hpp"

namespace conclave::wire {
namespace {

using namespace std::string_view_literals;

template <class T>
std::string written(const T& v) {
  std::string out;
  writer{out}(v);
  return hex(out);
}

TEST(writer, integers_are_big_endian) {
  EXPECT_EQ(written(std::int32_t{1}), "00000001");
  EXPECT_EQ(written(std::int32_t{-2}), "fffffffe");
  EXPECT_EQ(written(std::numeric_limits<std::int32_t>::min()), "80000000");
  EXPECT_EQ(written(std::int64_t{0x0102030405060708}), "0102030405060708");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "8000000000000000");
  EXPECT_EQ(written(true), "01");
  EXPECT_EQ(written(false), "00");
}

TEST(writer, null_and_empty_strings_differ) {
  EXPECT_EQ(written(std::string_view{}), "ffffffff");
  EXPECT_EQ(written(""sv), "00000000");
  EXPECT_EQ(written(std::string{}), "00000000");
  EXPECT_EQ(written("a\0b"sv), "00000003610062");
}

TEST(writer, appends) {
  std::string out = "x";
  writer{out}(true);
  EXPECT_EQ(out, "x\1"sv);
}

TEST(reader, every_byte_but_zero_is_true) {
  EXPECT_TRUE(reader{"\x80"sv}.read<bool>());
  EXPECT_TRUE(reader{"\1"sv}.read<bool>());
  EXPECT_FALSE(reader{"\0"sv}.read<bool>());
}

TEST(reader, null_and_empty_strings_differ) {
  reader null{"\xff\xff\xff\xff"sv};
  EXPECT_EQ(null.read<std::string_view>().data(), nullptr);
  EXPECT_TRUE(null.ok());
  reader empty{"\0\0\0\0"sv};
  const auto s = empty.read<std::string_view>();
  EXPECT_NE(s.data(), nullptr);
  EXPECT_TRUE(s.empty() && empty.ok());
}

TEST(reader, strings_point_into_the_frame) {
  const auto frame = "\0\0\0\2ab"sv;
  EXPECT_EQ(reader{frame}.read<std::string_view>().data(), frame.data() + 4);
}

TEST(reader, everything_after_a_failure_is_zero_or_empty) {
  reader in{"\0\0\0\62abc\0\0\0\1"sv};
  EXPECT_EQ(in.read<std::string_view>().data(), nullptr);
  EXPECT_FALSE(in.ok());
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(in.read<std::int32_t>(), 0);
  EXPECT_EQ(in.read<std::int64_t>(), 0);
  EXPECT_FALSE(in.read<bool>());
  EXPECT_TRUE(in.read<std::string>().empty());
  EXPECT_TRUE(in.read<std::vector<std::string_view>>().empty());
  EXPECT_FALSE(in.ok());
}

TEST(reader, a_vector_with_a_broken_element_is_empty) {
  reader in{"\0\0\0\2\0\0\0\1a\0\0\0\5"sv};
  EXPECT_TRUE(in.read<std::vector<std::string_view>>().empty());
  EXPECT_FALSE(in.ok());
}

// The count is limited by the number of bytes that follow.
TEST(reader, a_count_allocates_no_memory_before_its_elements) {
  std::string bytes;
  writer{bytes}(std::int32_t{1'000'000});
  bytes.resize(1'000'004, '\xff');  // 250,000 null strings, not a million
  reader in{bytes};
  const auto names = in.read<std::vector<std::string_view>>();
  EXPECT_FALSE(in.ok());
  EXPECT_TRUE(names.empty());

  std::string lie;
  writer{lie}(std::numeric_limits<std::int32_t>::max());
  reader liar{lie};
  EXPECT_EQ(liar.read<std::vector<acl_record>>().capacity(), 0u);
  EXPECT_FALSE(liar.ok());
}

TEST(reader, fail_stops_the_reader) {
  reader in{"\0\0\0\1"sv};
  in.fail();
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.read<std::int32_t>(), 0);
}

}  // namespace
}  // namespace conclave::wire
