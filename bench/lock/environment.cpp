#include "environment.hpp"

#include <conclave/version.hpp>

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
      {"WriteLock",
       "sleeps for good if the one before it leaves while it looks; here it is woken after 250 ms"},
      {"contestants", "two processes of each library, started once"},
      {"figures",
       "medians of the rounds (smallest–largest); latency: of a whole cycle when alone,"
       " otherwise from unlock called to the next one's lock returned"},
  };
}

}  // namespace conclave::bench
