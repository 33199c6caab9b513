// Fills in a contender_info from the data and the stat of the contender's node.
#pragma once

#include <chrono>
#include <string_view>
#include <utility>

#include "conclave/contender_info.hpp"
#include "recipes/contender_data.hpp"

namespace conclave::recipes {

inline void describe(contender_info& info, std::string_view data, const node_stat& stat) {
  auto shown = parse_contender_data(data);
  info.owner = std::move(shown.owner);
  info.asked_to_release = shown.asked_to_release;
  info.session_id = stat.ephemeral_owner;
  info.fencing_token = stat.czxid;
  info.since = std::chrono::system_clock::time_point{std::chrono::milliseconds{stat.ctime}};
}

}  // namespace conclave::recipes
