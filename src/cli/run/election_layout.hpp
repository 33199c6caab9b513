// The election layouts that --layout accepts, by name.
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

// `text` is election, leader-latch, curator (LeaderSelector) or kazoo.
layout election_layout(const std::string& text);

// Returns the failure for errc::layout_mismatch. Its message names the layout of the other
// candidates and the flag to pass. `command` and `flag` are the words that the user wrote.
failure election_disagreement(client& zk, const std::string& command, const std::string& path,
                              const std::string& flag);

void add_election_layout(CLI::App& app, std::string& text);

}  // namespace conclave::cli
