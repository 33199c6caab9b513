#include "environment.hpp"

#include <zookeeper/zookeeper_version.h>

#include <conclave/version.hpp>

namespace conclave::bench {

testing::zookeeper_options server_options() {
  testing::zookeeper_options options;
  options.jvm_flags = {"-Xms1g", "-Xmx1g", "-XX:-UsePerfData"};
  options.force_sync = false;
  options.config["snapCount"] = "10000000";  // no snapshot falls into a round
  options.config["preAllocSize"] = "65536";  // KiB, ZooKeeper's default
  return options;
}

environment describe_environment(const testing::zookeeper_server& server,
                                 const testing::zookeeper_options& options) {
  std::string flags;
  for (const auto& flag : options.jvm_flags) flags += ' ' + flag;
  return {
      {"contestants", std::string("conclave ") + version + ", libzookeeper_mt " + ZOO_VERSION},
      {"server",
       version_of(server) + flags + ", forceSync=no (the disk is not measured), loopback"},
      {"machine", machine()},
      {"compiler", compiler()},
      {"started", started_now()},
      {"figures", "medians of the rounds (smallest–largest); each round is a process of its own"},
      {"tuned", "libzookeeper without its default of resolving names on every turn of its loop"},
  };
}

}  // namespace conclave::bench
