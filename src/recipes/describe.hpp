// What is known of a contender from its node.
#pragma once

#include <chrono>
#include <string_view>

#include "conclave/contenders.hpp"
#include "recipes/badge.hpp"
#include "recipes/revocation.hpp"

namespace conclave::recipes {

inline void describe(contender_info& info, std::string_view data, const node_stat& stat) {
  if (data != revocation) info.owner = read_badge(data).owner;
  info.session_id = stat.ephemeral_owner;
  info.fencing_token = stat.czxid;
  info.since = std::chrono::system_clock::time_point{std::chrono::milliseconds{stat.ctime}};
}

}  // namespace conclave::recipes
