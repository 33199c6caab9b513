// A frame is an int32 length followed by that many bytes of payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/archive.hpp"

namespace conclave::wire {

// The size of the length field.
inline constexpr std::size_t frame_prefix = 4;

// Appends one frame: the length, then the parts.
template <class... Parts>
void append_frame(std::string& out, const Parts&... parts) {
  const auto begin = out.size();
  writer w{out};
  w(std::int32_t{0}, parts...);
  const auto length = big_endian(static_cast<std::uint32_t>(out.size() - begin - frame_prefix));
  out.replace(begin, frame_prefix, reinterpret_cast<const char*>(&length), frame_prefix);
}

// Splits a byte stream into frames. Memory use depends on the received bytes, not on the length
// field.
class frame_splitter {
 public:
  explicit frame_splitter(std::size_t max_payload) : max_payload_{max_payload} {}
  // If a frame is larger than the limit, oversized() returns its first `shown` bytes, and the
  // caller accepts or skips the frame. If `shown` is not given, such a frame makes the stream fail.
  frame_splitter(std::size_t max_payload, std::size_t shown)
      : max_payload_{max_payload}, shown_{shown} {}

  // Adds received bytes. The bytes must stay valid until next() has returned nullopt.
  void feed(std::string_view bytes);

  // Returns the payload of the next complete frame, valid until the next call. Returns nullopt if
  // there is no complete frame, if the stream has failed() or if the frame is oversized().
  std::optional<std::string_view> next();

  // Returned by oversized() if the next frame is larger than the limit and its first bytes have
  // arrived.
  struct oversized_frame {
    std::size_t size;
    std::string_view beginning;
  };
  std::optional<oversized_frame> oversized() const;
  // Returns true if the next frame is larger than the limit, even if its first bytes have not
  // arrived yet.
  bool begins_oversized() const noexcept {
    return oversized_ == oversize::beginning || oversized_ == oversize::undecided;
  }
  // Assembles the frame although it is larger than the limit.
  void accept_oversized() noexcept { oversized_ = oversize::accepted; }
  // Drops the bytes of the frame as they arrive.
  void skip_oversized() noexcept;

  // The received bytes that are not part of any frame yet.
  std::string_view rest() const noexcept { return fed_; }
  // Sets the limit for later frames.
  void set_limit(std::size_t max_payload) noexcept { max_payload_ = max_payload; }

  // Returns true if a length was negative or larger than the limit. The rest of the stream cannot
  // be parsed.
  bool failed() const noexcept { return failed_; }
  // Returns true if the length was valid but larger than the limit.
  bool too_large() const noexcept { return too_large_; }

  void reset();

 private:
  enum class oversize { no, beginning, undecided, accepted };

  std::size_t payload_length(std::string_view prefix);

  std::size_t max_payload_;
  std::size_t shown_ = 0;
  std::size_t to_skip_ = 0;
  oversize oversized_ = oversize::no;  // state of the frame in partial_
  std::string partial_;                // the beginning of an incomplete frame
  std::string complete_;               // the last returned frame, if it came in pieces
  std::string_view fed_;               // received bytes that were not parsed yet
  bool failed_ = false;
  bool too_large_ = false;
};

}  // namespace conclave::wire
