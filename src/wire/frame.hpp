// Frames: an int32 length and that many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/archive.hpp"

namespace conclave::wire {

// The length stands before the payload.
inline constexpr std::size_t frame_prefix = 4;

// Writes one frame: its length, then the parts one after the other.
template <class... Parts>
void append_frame(std::string& out, const Parts&... parts) {
  const auto begin = out.size();
  writer w{out};
  w(std::int32_t{0}, parts...);
  const auto length = big_endian(static_cast<std::uint32_t>(out.size() - begin - frame_prefix));
  out.replace(begin, frame_prefix, reinterpret_cast<const char*>(&length), frame_prefix);
}

// Cuts a stream of bytes into frames. Memory grows with what has arrived, never with what a
// length field promises.
class frame_splitter {
 public:
  explicit frame_splitter(std::size_t max_payload) : max_payload_{max_payload} {}
  // Of a frame above the limit the first bytes, `shown` of them, are shown to the caller, who
  // accepts or skips it; without this it ends the stream.
  frame_splitter(std::size_t max_payload, std::size_t shown)
      : max_payload_{max_payload}, shown_{shown} {}

  // Adds what arrived. The bytes must stay where they are until next() has returned nothing.
  void feed(std::string_view bytes);

  // The payload of the next whole frame, valid until the next call; nothing if there is none yet,
  // or failed(), or oversized().
  std::optional<std::string_view> next();

  // The next frame is above the limit, and its first bytes are there.
  struct oversized_frame {
    std::size_t size;
    std::string_view beginning;
  };
  std::optional<oversized_frame> oversized() const;
  // As well, but its first bytes may still be to come.
  bool begins_oversized() const noexcept {
    return oversized_ == oversize::beginning || oversized_ == oversize::undecided;
  }
  // It is put together all the same.
  void accept_oversized() noexcept { oversized_ = oversize::accepted; }
  // Its bytes are dropped as they arrive.
  void skip_oversized() noexcept;

  // What was fed and is not part of a frame that was handed out, nor of one that was begun.
  std::string_view rest() const noexcept { return fed_; }
  // For the frames to come.
  void set_limit(std::size_t max_payload) noexcept { max_payload_ = max_payload; }

  // A length below zero or above the limit was seen: the stream cannot be read any further.
  bool failed() const noexcept { return failed_; }
  // It was a length that could be one, only too large.
  bool too_large() const noexcept { return too_large_; }

  void reset();

 private:
  enum class oversize { no, beginning, undecided, accepted };

  std::size_t payload_length(std::string_view prefix);

  std::size_t max_payload_;
  std::size_t shown_ = 0;
  std::size_t to_skip_ = 0;
  oversize oversized_ = oversize::no;  // the frame in partial_
  std::string partial_;                // the beginning of a frame whose end is still to come
  std::string complete_;               // a frame put together from pieces, handed out last
  std::string_view fed_;               // what arrived and was not looked at yet
  bool failed_ = false;
  bool too_large_ = false;
};

}  // namespace conclave::wire
