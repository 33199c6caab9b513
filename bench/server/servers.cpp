#include "servers.hpp"

#include <hiredis/hiredis.h>

#include <chrono>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "driver/process.hpp"
#include "support/free_port.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* redis_program = "redis-server";

constexpr auto start_limit = 60s;

}  // namespace

redis_server::redis_server(const std::filesystem::path& socket)
    : socket_(socket), port_(testing::free_port()) {
  testing::child_options options({redis_program, "--bind", "127.0.0.1", "--port",
                                  std::to_string(port_), "--unixsocket", socket_.string(), "--save",
                                  "", "--appendonly", "no", "--daemonize", "no", "--dir",
                                  folder_.path().string()});
  options.output = folder_.path() / "output";
  process_ = std::make_unique<testing::child_process>(options);
  const auto deadline = std::chrono::steady_clock::now() + start_limit;
  // Redis prints a line for each listener. The socket is the last one.
  while (text_of(options.output).find("ready to accept connections at") == std::string::npos) {
    if (!process_->running() || std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error("redis-server does not start:\n" + text_of(options.output));
    std::this_thread::sleep_for(5ms);
  }
}

std::string redis_server::version() {
  const auto text =
      output_of({redis_program, "--version"}, 10s);  // "Redis server v=7.0.15 sha=..."
  const auto begin = text.find("v=");
  const auto number = begin == std::string::npos
                          ? std::string("unknown")
                          : text.substr(begin + 2, text.find(' ', begin) - begin - 2);
  std::ostringstream all;
  all << "Redis " << number << ", hiredis " << HIREDIS_MAJOR << '.' << HIREDIS_MINOR << '.'
      << HIREDIS_PATCH;
  return all.str();
}

testing::zookeeper_options apache_options() {
  testing::zookeeper_options options;
  // The heap size of ZooKeeper's start script, and Java's default garbage collector and compilers.
  options.jvm_flags = {"-Xmx1000m", "-XX:-UsePerfData"};
  options.force_sync = true;
  options.config["preAllocSize"] = "65536";  // KiB, ZooKeeper's default
  return options;
}

}  // namespace conclave::bench
