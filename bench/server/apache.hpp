// Apache ZooKeeper as it runs in production: durable, and with an ordinary JVM.
#pragma once

#include "support/zookeeper_options.hpp"

namespace conclave::bench {

testing::zookeeper_options apache_options();

}  // namespace conclave::bench
