#include "recipes/parent_record.hpp"

#include <charconv>

namespace conclave::recipes {
namespace {

constexpr std::string_view record_mark = "conclave 1 ";
constexpr std::string_view permits_mark = "permits ";

template <class Number>
bool take(std::string_view& text, char end, Number& out) {
  const auto [stop, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (ec != std::errc{} || stop == text.data() + text.size() || *stop != end) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
  return true;
}

}  // namespace

std::string format_served_record(std::int64_t parent_czxid, std::int32_t served) {
  return std::string{record_mark} + std::to_string(parent_czxid) + ' ' + std::to_string(served) +
         '\n';
}

std::string format_permits_record(std::int64_t path_czxid, std::size_t permits) {
  return std::string{record_mark} + std::to_string(path_czxid) + ' ' + std::string{permits_mark} +
         std::to_string(permits) + '\n';
}

parent_record parse_parent_record(std::string_view data, const node_stat& parent) {
  parent_record record;
  record.writable = data.empty();
  if (data.empty()) return record;
  if (!data.starts_with(record_mark)) return record;
  data.remove_prefix(record_mark.size());
  std::int64_t czxid = 0;
  if (!take(data, ' ', czxid)) return record;
  const bool of_permits = data.starts_with(permits_mark);
  std::size_t permits = 0;
  std::int32_t served = 0;
  if (of_permits) data.remove_prefix(permits_mark.size());
  if (!(of_permits ? take(data, '\n', permits) : take(data, '\n', served)) || !data.empty())
    return record;
  record.writable = true;
  if (czxid != parent.czxid) return record;
  if (of_permits)
    record.permits = permits;
  else
    record.served = served;
  return record;
}

bool is_parent_record(std::string_view data) {
  return !data.empty() && parse_parent_record(data, {}).writable;
}

}  // namespace conclave::recipes
