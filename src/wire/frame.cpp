#include "wire/frame.hpp"

#include <algorithm>

namespace conclave::wire {
namespace {

constexpr std::size_t kept_capacity = std::size_t{64} * 1024;

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
  const auto payload_length = [this](std::string_view prefix) -> std::size_t {
    const auto length = reader{prefix}.read<std::int32_t>();
    too_large_ = length > 0 && static_cast<std::size_t>(length) > max_payload_;
    failed_ = length < 0 || too_large_;
    return failed_ ? 0 : static_cast<std::size_t>(length);
  };

  if (failed_) return std::nullopt;
  if (partial_.empty() && fed_.size() >= frame_prefix) {
    const auto length = payload_length(fed_);
    if (failed_) return std::nullopt;
    if (fed_.size() - frame_prefix >= length) {  // whole, and where it arrived: no copy
      const auto payload = fed_.substr(frame_prefix, length);
      fed_.remove_prefix(frame_prefix + length);
      return payload;
    }
  }
  if (partial_.size() < frame_prefix && !take_into_partial(frame_prefix)) return std::nullopt;
  const auto length = payload_length(partial_);
  if (failed_ || !take_into_partial(frame_prefix + length)) return std::nullopt;
  complete_.swap(partial_);
  partial_.clear();
  return std::string_view{complete_}.substr(frame_prefix);
}

void frame_splitter::reset() {
  partial_ = {};
  complete_ = {};
  fed_ = {};
  failed_ = false;
  too_large_ = false;
}

}  // namespace conclave::wire
