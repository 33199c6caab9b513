#include "recipes/badge.hpp"

namespace conclave::recipes {
namespace {
constexpr std::string_view mark = "\nid ";
}

std::string write_badge(std::string_view owner, std::string_view id) {
  return std::string{owner}.append(mark).append(id);
}

badge read_badge(std::string_view data) {
  const auto at = data.rfind(mark);
  if (at == data.npos) return {std::string{data}, {}};
  return {std::string{data.substr(0, at)}, std::string{data.substr(at + mark.size())}};
}

}  // namespace conclave::recipes
