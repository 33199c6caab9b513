// The server of this benchmark, and on what and against what was measured.
#pragma once

#include "harness/environment.hpp"
#include "options.hpp"

namespace conclave::bench {

testing::zookeeper_options server_options(const options& wanted);
environment describe(const testing::zookeeper_server& server, const options& wanted);

}  // namespace conclave::bench
