#include "servers.hpp"

#include <hiredis/hiredis.h>

#include <csignal>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "driver/process.hpp"
#include "support/free_port.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* redis_program = "redis-server";

constexpr auto start_limit = 60s;
constexpr auto stop_limit = 20s;
constexpr auto poll_interval = 200us;  // short beside the start that is measured

}  // namespace

conclave_server::conclave_server(std::vector<std::string> command, const std::string& durability,
                                 const std::filesystem::path& socket) {
  command.insert(command.end(), {"serve", "--data", (folder_.path() / "data").string(), "--listen",
                                 "127.0.0.1:0", "--durability", durability});
  if (socket.empty())  // by default it is beside the data, where its path may become too long
    command.emplace_back("--no-socket");
  else
    command.insert(command.end(), {"--socket", socket.string()});
  testing::child_options options(std::move(command));
  options.output = folder_.path() / "output";
  process_ = std::make_unique<testing::child_process>(options);
  await_ready();
}

conclave_server::~conclave_server() {
  process_->kill(SIGTERM);
  process_->wait(stop_limit);
}

void conclave_server::await_ready() {
  const auto deadline = std::chrono::steady_clock::now() + start_limit;
  while (!read_ready_line()) {
    if (!process_->running()) fail("ended while starting");
    if (std::chrono::steady_clock::now() > deadline) fail("does not become ready");
    std::this_thread::sleep_for(poll_interval);
  }
  if (connect_string_.empty()) fail("names no address");
}

// "conclave ready: 127.0.0.1:34567 unix:/path/socket"
bool conclave_server::read_ready_line() {
  const std::string mark = "conclave ready:";
  std::istringstream lines(text_of(folder_.path() / "output"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(mark) || lines.eof()) continue;  // eof: not the whole line yet
    std::istringstream words(line.substr(mark.size()));
    for (std::string word; words >> word;)
      (word.starts_with("unix:") ? socket_string_ : connect_string_) = word;
    return true;
  }
  return false;
}

void conclave_server::fail(const std::string& what) const {
  throw std::runtime_error("our server " + what + "; its output:\n" +
                           text_of(folder_.path() / "output"));
}

redis_server::redis_server(const std::filesystem::path& socket)
    : socket_(socket), port_(testing::free_port()) {
  testing::child_options options({redis_program, "--bind", "127.0.0.1", "--port",
                                  std::to_string(port_), "--unixsocket", socket_.string(), "--save",
                                  "", "--appendonly", "no", "--daemonize", "no", "--dir",
                                  folder_.path().string()});
  options.output = folder_.path() / "output";
  process_ = std::make_unique<testing::child_process>(options);
  const auto deadline = std::chrono::steady_clock::now() + start_limit;
  // It prints a line for each listener; the socket is the last one.
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
  // The heap of its own start script, and the default collector and compilers of Java.
  options.jvm_flags = {"-Xmx1000m", "-XX:-UsePerfData"};
  options.force_sync = true;
  options.config["preAllocSize"] = "65536";  // KiB, ZooKeeper's default
  return options;
}

}  // namespace conclave::bench
