#include "recipes/sequence_number.hpp"

#include <charconv>
#include <system_error>

namespace conclave::recipes {
namespace {

bool all_digits(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<numbered_name> split(std::string_view name, std::size_t length, bool negative) {
  if (name.size() < length) return std::nullopt;
  const auto end = name.substr(name.size() - length);
  if (!all_digits(negative ? end.substr(1) : end) || (negative && end[0] != '-'))
    return std::nullopt;
  numbered_name n{name.substr(0, name.size() - length), 0};
  const auto [stop, ec] = std::from_chars(end.data(), end.data() + end.size(), n.number);
  if (ec != std::errc{}) return std::nullopt;
  return n;
}

}  // namespace

std::array<std::optional<numbered_name>, 3> split_sequence_number(std::string_view name) {
  std::array<std::optional<numbered_name>, 3> all{split(name, 11, true), split(name, 10, false),
                                                  split(name, 10, true)};
  if (all[0] && all[0]->number > -1'000'000'000) all[0].reset();
  return all;
}

}  // namespace conclave::recipes
