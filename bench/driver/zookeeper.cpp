#include "driver/zookeeper.hpp"

#include <sstream>
#include <stdexcept>

#include "driver/process.hpp"

namespace conclave::bench {

testing::zookeeper_options measured_server_options(bool force_sync) {
  testing::zookeeper_options options;
  options.jvm_flags = {"-Xms1g", "-Xmx1g", "-XX:-UsePerfData"};
  options.force_sync = force_sync;
  options.config["snapCount"] = "10000000";
  options.config["preAllocSize"] = "65536";  // KiB, ZooKeeper's default
  return options;
}

std::string version_of(const testing::zookeeper_server& server) {
  std::istringstream status(server.ask("srvr"));
  const auto version = value_after(status, "Zookeeper version", ':');
  std::istringstream settings(server.ask("envi"));
  return "Apache ZooKeeper " + version.substr(0, version.find_first_of(",-")) + ", Java " +
         value_after(settings, "java.version", '=');
}

void await_connection(client& zk) {
  if (!zk.wait_connected(time_limit))
    throw std::runtime_error("cannot connect to the server in time");
}

std::vector<std::unique_ptr<client>> open_sessions(std::size_t count, const std::string& servers,
                                                   std::optional<context> shared,
                                                   const client_options& options) {
  std::vector<std::unique_ptr<client>> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(shared ? std::make_unique<client>(*shared, servers, options)
                         : std::make_unique<client>(servers, options));
  for (auto& zk : all) await_connection(*zk);
  return all;
}

}  // namespace conclave::bench
