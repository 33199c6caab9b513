#include "environment.hpp"

#include <sys/utsname.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include "text.hpp"

namespace conclave::bench {
namespace {

// What follows the separator on the first line that begins with the name.
std::string value_of(std::istream& text, const std::string& name, char separator) {
  for (std::string line; std::getline(text, line);) {
    const auto end = line.find(separator);
    if (!line.starts_with(name) || end == std::string::npos) continue;
    const auto begin = line.find_first_not_of(" \t", end + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return "unknown";
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  return value_of(file, "model name", ':');
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

void print_environment(const environment& where) {
  for (const auto& [name, value] : where)
    std::printf("%s %s\n", padded(name, 12).c_str(), value.c_str());
}

std::string machine() {
  return cpu_model() + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, " +
         kernel();
}

std::string compiler() { return CONCLAVE_BENCH_BUILD; }

std::string started_now() { return now() + ", load average " + load_average(); }

std::string version_of(const testing::zookeeper_server& server) {
  std::istringstream status(server.ask("srvr"));
  const auto version = value_of(status, "Zookeeper version", ':');
  std::istringstream settings(server.ask("envi"));
  return "Apache ZooKeeper " + version.substr(0, version.find_first_of(",-")) + ", Java " +
         value_of(settings, "java.version", '=');
}

}  // namespace conclave::bench
