#include "wire/frame.hpp"

#include <algorithm>

namespace conclave::wire {
namespace {

constexpr std::size_t kept_capacity = std::size_t{64} * 1024;
// A larger value cannot be a length, so the peer uses another protocol.
constexpr std::int32_t longest_skipped = std::int32_t{1} << 30;

}  // namespace

void frame_splitter::feed(std::string_view bytes) { fed_ = bytes; }

std::optional<std::string_view> frame_splitter::next() {
  // An idle client must not keep the memory of one large reply.
  if (complete_.capacity() > kept_capacity)
    complete_ = {};
  else
    complete_.clear();
  const auto take_into_partial = [this](std::size_t wanted_size) {
    const auto n = std::min(wanted_size - partial_.size(), fed_.size());
    partial_.append(fed_.substr(0, n));
    fed_.remove_prefix(n);
    return partial_.size() == wanted_size;
  };

  if (failed_ || oversized_ == oversize::undecided) return std::nullopt;
  const auto skipped = std::min(to_skip_, fed_.size());
  fed_.remove_prefix(skipped);
  to_skip_ -= skipped;
  if (to_skip_ > 0) return std::nullopt;
  if (partial_.empty() && fed_.size() >= frame_prefix) {
    const auto length = payload_length(fed_);
    if (failed_) return std::nullopt;
    if (oversized_ == oversize::no && fed_.size() - frame_prefix >= length) {
      const auto payload = fed_.substr(frame_prefix, length);  // in place, without a copy
      fed_.remove_prefix(frame_prefix + length);
      return payload;
    }
  }
  if (partial_.size() < frame_prefix && !take_into_partial(frame_prefix)) return std::nullopt;
  const auto length = payload_length(partial_);
  if (failed_) return std::nullopt;
  if (oversized_ == oversize::beginning) {
    if (take_into_partial(frame_prefix + std::min(length, shown_)))
      oversized_ = oversize::undecided;
    return std::nullopt;
  }
  if (!take_into_partial(frame_prefix + length)) return std::nullopt;
  complete_.swap(partial_);
  partial_.clear();
  oversized_ = oversize::no;
  return std::string_view{complete_}.substr(frame_prefix);
}

// Returns the length of the frame that starts with these bytes. Also sets failed_ and oversized_.
std::size_t frame_splitter::payload_length(std::string_view prefix) {
  const auto length = reader{prefix}.read<std::int32_t>();
  const bool too_large = length > 0 && static_cast<std::size_t>(length) > max_payload_;
  if (too_large && shown_ > 0 && oversized_ == oversize::no) oversized_ = oversize::beginning;
  too_large_ = too_large && shown_ == 0;
  failed_ = length < 0 || too_large_ || (too_large && length > longest_skipped);
  return failed_ ? 0 : static_cast<std::size_t>(length);
}

std::optional<frame_splitter::oversized_frame> frame_splitter::oversized() const {
  if (oversized_ != oversize::undecided) return std::nullopt;
  const auto length = reader{partial_}.read<std::int32_t>();
  return oversized_frame{static_cast<std::size_t>(length),
                         std::string_view{partial_}.substr(frame_prefix)};
}

void frame_splitter::skip_oversized() noexcept {
  if (const auto frame = oversized()) to_skip_ = frame->size - frame->beginning.size();
  oversized_ = oversize::no;
  partial_.clear();
}

void frame_splitter::reset() {
  partial_ = {};
  complete_ = {};
  fed_ = {};
  to_skip_ = 0;
  oversized_ = oversize::no;
  failed_ = false;
  too_large_ = false;
}

}  // namespace conclave::wire
