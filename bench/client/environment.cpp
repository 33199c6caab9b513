#include "environment.hpp"

#include <sys/utsname.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include <zookeeper/zookeeper_version.h>

#include <conclave/version.hpp>

namespace conclave::bench {
namespace {

// What follows "name:" on the first line that begins with it.
std::string value_of(std::istream& text, const std::string& name) {
  for (std::string line; std::getline(text, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with(name) || colon == std::string::npos) continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return "unknown";
}

std::string server_version(const testing::zookeeper_server& server) {
  std::istringstream answer(server.ask("srvr"));
  const auto version = value_of(answer, "Zookeeper version");
  return "Apache ZooKeeper " + version.substr(0, version.find(','));
}

std::string java_version(const testing::zookeeper_server& server) {
  std::istringstream answer(server.ask("envi"));
  for (std::string line; std::getline(answer, line);)
    if (line.starts_with("java.version=")) return "Java " + line.substr(line.find('=') + 1);
  return "Java";
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  return value_of(file, "model name");
}

std::string kernel() {
  utsname name{};
  ::uname(&name);
  return std::string(name.sysname) + ' ' + name.release + ' ' + name.machine;
}

std::string load_average() {
  double load = 0;
  if (::getloadavg(&load, 1) != 1) return "unknown";
  std::ostringstream text;
  text.precision(2);
  text << std::fixed << load;
  return text.str();
}

std::string now() {
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&t, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

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
      {"server", server_version(server) + ", " + java_version(server) + flags +
                     ", forceSync=no (the disk is not measured), loopback"},
      {"machine", cpu_model() + ", " + std::to_string(std::thread::hardware_concurrency()) +
                      " cores, " + kernel()},
      {"compiler", CONCLAVE_BENCH_BUILD},
      {"started", now() + ", load average " + load_average()},
  };
}

}  // namespace conclave::bench
