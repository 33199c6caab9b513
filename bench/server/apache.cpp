#include "apache.hpp"

namespace conclave::bench {

testing::zookeeper_options apache_options() {
  testing::zookeeper_options options;
  // The heap that its own start script gives it; the collector and the compilers are Java's choice.
  options.jvm_flags = {"-Xmx1000m", "-XX:-UsePerfData"};
  options.force_sync = true;
  options.config["preAllocSize"] = "65536";  // KiB, ZooKeeper's default
  return options;
}

}  // namespace conclave::bench
