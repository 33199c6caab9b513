#include "recipes/contender_data.hpp"

#include <chrono>
#include <utility>

namespace conclave::recipes {
namespace {
constexpr std::string_view id_mark = "\nid ";
constexpr std::string_view request = "\n__REVOKE__";
constexpr std::string_view request_alone = request.substr(1);  // as written by Curator's Revoker
}  // namespace

std::string format_contender_data(std::string_view owner, std::string_view id) {
  return std::string{owner}.append(id_mark).append(id);
}

contender_data parse_contender_data(std::string_view data) {
  if (data == request_alone) return {{}, {}, true};
  const auto at = data.rfind(id_mark);
  if (at == data.npos) return {std::string{data}, {}};
  auto id = data.substr(at + id_mark.size());
  const bool asks_for_release = id.ends_with(request);
  if (asks_for_release) id.remove_suffix(request.size());
  return {std::string{data.substr(0, at)}, std::string{id}, asks_for_release};
}

void set_node_info(contender_info& info, std::string_view data, const node_stat& stat) {
  auto parsed = parse_contender_data(data);
  info.owner = std::move(parsed.owner);
  info.asked_to_release = parsed.asked_to_release;
  info.session_id = stat.ephemeral_owner;
  info.fencing_token = stat.czxid;
  info.since = std::chrono::system_clock::time_point{std::chrono::milliseconds{stat.ctime}};
}

std::string ask_to_release(std::string_view data) {
  const auto shown = parse_contender_data(data);
  if (shown.asked_to_release) return std::string{data};
  if (shown.id.empty()) return std::string{request_alone};
  return std::string{data}.append(request);
}

}  // namespace conclave::recipes
