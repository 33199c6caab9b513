// Writing frames to a byte stream and reading them from it.

#include "wire/frame.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "golden_file.hpp"
#include "wire/records.hpp"

namespace conclave::wire {
namespace {

using namespace std::literals;

constexpr std::size_t limit = 1000;

std::string prefix(std::int32_t length) {
  std::string bytes;
  writer{bytes}(length);
  return bytes;
}

std::string framed(std::string_view payload) {
  return prefix(static_cast<std::int32_t>(payload.size())) + std::string{payload};
}

const std::vector<std::string> payloads{"first", "", "x", std::string(300, 'y'), "", "last one"};

std::string stream() {
  std::string all;
  for (const auto& p : payloads) all += framed(p);
  return all;
}

// Feeds a copy of the bytes and then frees it, like a receive buffer.
void feed(frame_splitter& splitter, std::string_view bytes, std::vector<std::string>& frames) {
  const std::vector<char> buffer{bytes.begin(), bytes.end()};
  splitter.feed({buffer.data(), buffer.size()});
  while (const auto payload = splitter.next()) frames.emplace_back(*payload);
}

TEST(append_frame, writes_the_length_and_the_parts) {
  std::string out = "before";
  append_frame(out, request_header{7, opcode::get_data}, path_watch_request{"/a", true});
  EXPECT_EQ(hex(out), hex("before") + "0000000f" + "0000000700000004" + "000000022f6101");
}

TEST(append_frame, without_parts_is_an_empty_frame) {
  std::string out;
  append_frame(out);
  EXPECT_EQ(hex(out), "00000000");
}

TEST(frame_splitter, whole_stream_at_once) {
  frame_splitter splitter{limit};
  std::vector<std::string> frames;
  feed(splitter, stream(), frames);
  EXPECT_EQ(frames, payloads);
  EXPECT_FALSE(splitter.failed());
}

TEST(frame_splitter, split_in_two_at_every_byte) {
  const auto bytes = stream();
  for (std::size_t split = 0; split <= bytes.size(); ++split) {
    frame_splitter splitter{limit};
    std::vector<std::string> frames;
    feed(splitter, std::string_view{bytes}.substr(0, split), frames);
    feed(splitter, std::string_view{bytes}.substr(split), frames);
    ASSERT_EQ(frames, payloads) << split;
  }
}

TEST(frame_splitter, split_in_three_at_every_two_bytes) {
  std::string bytes;
  const std::vector<std::string> few{"ab", "", "cdefg"};
  for (const auto& p : few) bytes += framed(p);
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (std::size_t second = first; second <= bytes.size(); ++second) {
      frame_splitter splitter{limit};
      std::vector<std::string> frames;
      const std::string_view all{bytes};
      feed(splitter, all.substr(0, first), frames);
      feed(splitter, all.substr(first, second - first), frames);
      feed(splitter, all.substr(second), frames);
      ASSERT_EQ(frames, few) << first << ' ' << second;
    }
  }
}

TEST(frame_splitter, byte_by_byte) {
  frame_splitter splitter{limit};
  std::vector<std::string> frames;
  const auto bytes = stream();
  for (const char c : bytes) feed(splitter, {&c, 1}, frames);
  EXPECT_EQ(frames, payloads);
}

TEST(frame_splitter, empty_frames) {
  frame_splitter splitter{limit};
  std::vector<std::string> frames;
  feed(splitter, framed("") + framed("") + framed(""), frames);
  EXPECT_EQ(frames, (std::vector<std::string>{"", "", ""}));
}

TEST(frame_splitter, no_input_yields_no_frame) {
  frame_splitter splitter{limit};
  EXPECT_FALSE(splitter.next());
  splitter.feed({});
  EXPECT_FALSE(splitter.next());
  EXPECT_FALSE(splitter.failed());
}

TEST(frame_splitter, a_whole_frame_is_not_copied) {
  const auto bytes = framed("payload");
  frame_splitter splitter{limit};
  splitter.feed(bytes);
  EXPECT_EQ(splitter.next()->data(), bytes.data() + frame_prefix);
}

TEST(frame_splitter, the_limit_itself_is_allowed) {
  frame_splitter splitter{limit};
  std::vector<std::string> frames;
  feed(splitter, framed(std::string(limit, 'z')), frames);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].size(), limit);
}

TEST(frame_splitter, invalid_lengths_fail) {
  constexpr auto min32 = std::numeric_limits<std::int32_t>::min();
  constexpr auto max32 = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t length : {-1, -2, min32, max32, std::int32_t{limit} + 1}) {
    // At once and byte by byte, as the first frame and after a valid frame.
    for (const auto& before : {""s, framed("good")}) {
      const auto bytes = before + prefix(length) + "something" + framed("never");
      frame_splitter at_once{limit};
      std::vector<std::string> frames;
      feed(at_once, bytes, frames);
      EXPECT_TRUE(at_once.failed()) << length;
      EXPECT_EQ(at_once.too_large(), length > 0);
      EXPECT_EQ(frames.size(), before.empty() ? 0u : 1u);

      frame_splitter slowly{limit};
      frames.clear();
      for (const char c : bytes) feed(slowly, {&c, 1}, frames);
      EXPECT_TRUE(slowly.failed()) << length;
      EXPECT_EQ(slowly.too_large(), length > 0);
      EXPECT_EQ(frames.size(), before.empty() ? 0u : 1u);
    }
  }
}

TEST(frame_splitter, after_a_failure_yields_nothing_until_reset) {
  frame_splitter splitter{limit};
  std::vector<std::string> frames;
  feed(splitter, prefix(-1), frames);
  feed(splitter, framed("late"), frames);
  EXPECT_TRUE(splitter.failed());
  EXPECT_TRUE(frames.empty());
  splitter.reset();
  EXPECT_FALSE(splitter.failed() || splitter.too_large());
  feed(splitter, framed("fresh"), frames);
  EXPECT_EQ(frames, std::vector<std::string>{"fresh"});
}

// A caller that accepts or skips frames above the limit, depending on their first four bytes.
std::vector<std::string> decided(std::string_view bytes, std::size_t piece) {
  frame_splitter splitter{limit, 4};
  std::vector<std::string> frames;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::vector<char> buffer{
        bytes.begin() + static_cast<std::ptrdiff_t>(at),
        bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at + piece, bytes.size()))};
    splitter.feed({buffer.data(), buffer.size()});
    for (;;) {
      if (const auto payload = splitter.next()) {
        frames.emplace_back(*payload);
      } else if (const auto large = splitter.oversized()) {
        frames.push_back(std::string{large->beginning} + std::to_string(large->size));
        if (large->beginning == "take")
          splitter.accept_oversized();
        else
          splitter.skip_oversized();
      } else {
        break;
      }
    }
  }
  EXPECT_FALSE(splitter.failed());
  return frames;
}

TEST(frame_splitter, frames_above_the_limit_are_accepted_or_skipped) {
  const auto wanted = "take" + std::string(2000, 'w');
  const auto bytes = framed("first") + framed("skip" + std::string(3000, 's')) + framed("second") +
                     framed(wanted) + framed("") + framed("skip" + std::string(1500, 's')) +
                     framed("last");
  const std::vector<std::string> expected{"first", "skip3004", "second",   "take2004",
                                          wanted,  "",         "skip1504", "last"};
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{7}, std::size_t{1000},
                                  std::size_t{2500}, bytes.size()})
    EXPECT_EQ(decided(bytes, piece), expected) << piece;
}

TEST(frame_splitter, reset_discards_a_skipped_frame) {
  frame_splitter splitter{limit, 4};
  std::vector<std::string> frames;
  feed(splitter, prefix(5000) + "skip", frames);
  ASSERT_TRUE(splitter.oversized());
  splitter.skip_oversized();
  feed(splitter, "some of it", frames);
  splitter.reset();
  feed(splitter, framed("whole"), frames);
  EXPECT_EQ(frames, std::vector<std::string>{"whole"});
}

TEST(frame_splitter, reset_discards_a_partial_frame) {
  frame_splitter splitter{limit};
  std::vector<std::string> frames;
  feed(splitter, framed("half").substr(0, 6), frames);
  splitter.reset();
  feed(splitter, framed("whole"), frames);
  EXPECT_EQ(frames, std::vector<std::string>{"whole"});
}

}  // namespace
}  // namespace conclave::wire
