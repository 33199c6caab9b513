// On what, and against what, the clients were measured.
#pragma once

#include "harness/environment.hpp"

namespace conclave::bench {

// How the server is started: an ordinary JVM, but no fsync, or the disk would be measured.
testing::zookeeper_options server_options();

environment describe_environment(const testing::zookeeper_server& server,
                                 const testing::zookeeper_options& options);

}  // namespace conclave::bench
