// The names of candidates' nodes, as flags say them.
#pragma once

#include <string>

#include "conclave/layout.hpp"

namespace CLI {
class App;
}

namespace conclave::cli {

inline constexpr const char* default_election_layout = "election";

// election, leader-latch, curator (its LeaderSelector) or kazoo.
layout election_layout(const std::string& text);

void add_election_layout(CLI::App& app, std::string& text);

}  // namespace conclave::cli
