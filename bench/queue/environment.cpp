#include "environment.hpp"

#include <conclave/version.hpp>

#include "flow.hpp"
#include "variant.hpp"

namespace conclave::bench {

testing::zookeeper_options server_options(const options& wanted) {
  testing::zookeeper_options result;
  result.jvm_flags = {"-Xms1g", "-Xmx1g", "-XX:-UsePerfData"};
  result.force_sync = wanted.force_sync;
  result.config["snapCount"] = "10000000";  // no snapshot falls into a round
  result.config["preAllocSize"] = "65536";  // KiB, ZooKeeper's default
  return result;
}

environment describe(const testing::zookeeper_server& server, const options& wanted) {
  return {
      {"conclave", version},
      {"peers", peers()},
      {"server", version_of(server) + ", standalone, loopback, " +
                     (wanted.force_sync ? "forceSync=yes" : "forceSync=no: no disk is measured")},
      {"cores", wanted.one_core ? "one for the server and all contestants" : "not pinned"},
      {"machine", machine()},
      {"compiler", compiler()},
      {"started", started_now()},
      {"items", "100 bytes; the same number for all: " + std::to_string(wanted.items / 2) +
                    " with one producer, " + std::to_string(wanted.items) + " with four"},
      {"async", std::to_string(window) + " calls at once for each client; the others: one"},
      {"contestants", "two processes of each library, started once; a session for each user"},
      {"kazoo Queue", "cannot wait; on an empty queue it is given a watch, and asked again"},
      {"figures",
       "medians of the rounds (smallest–largest); from the first call until the last "
       "item was consumed"},
  };
}

}  // namespace conclave::bench
