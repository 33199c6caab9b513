// On what, and against what, was measured.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/zookeeper_server.hpp"

namespace conclave::bench {

// Names and values, in the order to show them.
using environment = std::vector<std::pair<std::string, std::string>>;

void print_environment(const environment& where);

std::string machine();      // processor, cores, kernel
std::string compiler();     // and build type
std::string started_now();  // time of day and load average

// "Apache ZooKeeper 3.8.0, Java 17.0.1"
std::string version_of(const testing::zookeeper_server& server);

}  // namespace conclave::bench
