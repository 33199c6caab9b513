// A length in a frame is not trusted. Memory is allocated only for bytes that have arrived.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "allocation_count.hpp"
#include "wire/frame.hpp"
#include "wire/multi.hpp"
#include "wire/records.hpp"

namespace conclave::wire {
namespace {

constexpr std::size_t sixteen_mib = 16u << 20;

std::string with_length(std::int32_t length, std::string_view behind) {
  std::string bytes;
  writer{bytes}(length);
  return bytes + std::string{behind};
}

TEST(memory, the_start_of_a_large_frame_allocates_little) {
  const auto bytes = with_length(sixteen_mib, "only this much has arrived");
  frame_splitter splitter{sixteen_mib};
  const auto before = allocated_bytes();
  splitter.feed(bytes);
  EXPECT_FALSE(splitter.next());
  EXPECT_LT(allocated_bytes() - before, 1024u);
}

TEST(memory, a_frame_in_pieces_allocates_a_small_multiple_of_its_size) {
  const auto promise = with_length(1'000'000, {});
  const std::string piece(1000, 'x');
  frame_splitter splitter{sixteen_mib};
  const auto before = allocated_bytes();
  splitter.feed(promise);
  EXPECT_FALSE(splitter.next());
  for (int i = 0; i < 999; ++i) {
    splitter.feed(piece);
    ASSERT_FALSE(splitter.next());
  }
  splitter.feed(piece);
  ASSERT_TRUE(splitter.next());
  EXPECT_LT(allocated_bytes() - before, 6'000'000u);
}

TEST(memory, a_skipped_frame_allocates_none) {
  const std::string piece(1000, 'x');
  const auto beginning = with_length(1'000'000'000, {});
  frame_splitter splitter{sixteen_mib, 16};
  splitter.feed(beginning);
  EXPECT_FALSE(splitter.next());
  splitter.feed(piece);
  EXPECT_FALSE(splitter.next());
  ASSERT_TRUE(splitter.oversized());
  splitter.skip_oversized();
  const auto before = allocated_bytes();
  for (int i = 0; i < 1000; ++i) {
    splitter.feed(piece);
    ASSERT_FALSE(splitter.next());
  }
  EXPECT_EQ(allocated_bytes(), before);
}

TEST(memory, complete_frames_allocate_none) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += with_length(100, std::string(100, 'x'));
  frame_splitter splitter{sixteen_mib};
  const auto before = allocated_bytes();
  splitter.feed(bytes);
  int frames = 0;
  while (splitter.next()) ++frames;
  EXPECT_EQ(frames, 1000);
  EXPECT_EQ(allocated_bytes(), before);
}

TEST(memory, a_false_count_allocates_none) {
  const auto bytes = with_length(std::numeric_limits<std::int32_t>::max(), std::string(64, '\0'));
  const auto before = allocated_bytes();
  EXPECT_TRUE(reader{bytes}.read<names_response>().names.empty());
  EXPECT_TRUE(reader{bytes}.read<who_am_i_response>().identities.empty());
  EXPECT_TRUE(reader{bytes}.read<get_acl_response>().acl.empty());
  EXPECT_EQ(allocated_bytes(), before);
}

TEST(memory, a_plausible_count_allocates_only_for_its_elements) {
  // Each empty string takes four bytes in the frame and a view in memory.
  const auto bytes = with_length(100'000, std::string(100'000, '\0'));
  const auto before = allocated_bytes();
  EXPECT_TRUE(reader{bytes}.read<names_response>().names.empty());
  EXPECT_LT(allocated_bytes() - before, 100'000u * sizeof(std::string_view));
}

}  // namespace
}  // namespace conclave::wire
