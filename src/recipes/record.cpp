#include "recipes/record.hpp"

#include <charconv>

namespace conclave::recipes {
namespace {

constexpr std::string_view mark = "conclave 1 ";

template <class Number>
bool take(std::string_view& text, char end, Number& out) {
  const auto [stop, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (ec != std::errc{} || stop == text.data() + text.size() || *stop != end) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
  return true;
}

}  // namespace

std::string write_record(std::int64_t parent_czxid, std::int32_t served) {
  return std::string{mark} + std::to_string(parent_czxid) + ' ' + std::to_string(served) + '\n';
}

parent_record read_record(std::string_view data, const node_stat& parent) {
  if (data.empty()) return {true, std::nullopt};
  if (!data.starts_with(mark)) return {};
  data.remove_prefix(mark.size());
  std::int64_t czxid = 0;
  std::int32_t served = 0;
  if (!take(data, ' ', czxid) || !take(data, '\n', served) || !data.empty()) return {};
  if (czxid != parent.czxid) return {true, std::nullopt};
  return {true, served};
}

}  // namespace conclave::recipes
