#include "recipes/contender_data.hpp"

namespace conclave::recipes {
namespace {
constexpr std::string_view mark = "\nid ";
constexpr std::string_view request = "\n__REVOKE__";
constexpr std::string_view request_alone = request.substr(1);  // as written by Curator's Revoker
}  // namespace

std::string format_contender_data(std::string_view owner, std::string_view id) {
  return std::string{owner}.append(mark).append(id);
}

contender_data parse_contender_data(std::string_view data) {
  if (data == request_alone) return {{}, {}, true};
  const auto at = data.rfind(mark);
  if (at == data.npos) return {std::string{data}, {}};
  auto id = data.substr(at + mark.size());
  const bool asked = id.ends_with(request);
  if (asked) id.remove_suffix(request.size());
  return {std::string{data.substr(0, at)}, std::string{id}, asked};
}

std::string ask_to_release(std::string_view data) {
  const auto shown = parse_contender_data(data);
  if (shown.asked_to_release) return std::string{data};
  if (shown.id.empty()) return std::string{request_alone};
  return std::string{data}.append(request);
}

}  // namespace conclave::recipes
