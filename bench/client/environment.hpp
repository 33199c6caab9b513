// On what, and against what, was measured.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/zookeeper_server.hpp"

namespace conclave::bench {

// How the server is started: an ordinary JVM, but no fsync, or the disk would be measured.
testing::zookeeper_options server_options();

// Names and values, in the order to show them.
using environment = std::vector<std::pair<std::string, std::string>>;
environment describe_environment(const testing::zookeeper_server& server,
                                 const testing::zookeeper_options& options);

}  // namespace conclave::bench
