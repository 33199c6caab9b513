// The names of candidates' nodes, as flags say them.
#pragma once

#include <string>

#include "cli/exit_code.hpp"
#include "conclave/client.hpp"
#include "conclave/layout.hpp"

namespace CLI {
class App;
}

namespace conclave::cli {

inline constexpr const char* default_election_layout = "election";

// election, leader-latch, curator (its LeaderSelector) or kazoo.
layout election_layout(const std::string& text);

// Others use the path with another layout, as errc::layout_mismatch says: which one, and what to
// pass. `command` and `flag` are what the user wrote.
failure election_disagreement(client& zk, const std::string& command, const std::string& path,
                              const std::string& flag);

void add_election_layout(CLI::App& app, std::string& text);

}  // namespace conclave::cli
