#include "redis_server.hpp"

#include <hiredis/hiredis.h>

#include <sstream>
#include <stdexcept>
#include <thread>

#include "harness/command.hpp"
#include "harness/text_file.hpp"
#include "support/free_port.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* program = "redis-server";
constexpr auto start_limit = 20s;

}  // namespace

redis_server::redis_server(const std::filesystem::path& socket)
    : socket_(socket), port_(testing::free_port()) {
  testing::child_options options({program, "--bind", "127.0.0.1", "--port", std::to_string(port_),
                                  "--unixsocket", socket_.string(), "--save", "", "--appendonly",
                                  "no", "--daemonize", "no", "--dir", folder_.path().string()});
  options.output = folder_.path() / "output";
  process_ = std::make_unique<testing::child_process>(options);
  const auto deadline = std::chrono::steady_clock::now() + start_limit;
  // It tells of each listener by itself; the socket comes last.
  while (text_of(options.output).find("ready to accept connections at") == std::string::npos) {
    if (!process_->running() || std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error("redis-server does not start:\n" + text_of(options.output));
    std::this_thread::sleep_for(5ms);
  }
}

std::string redis_server::version() {
  const auto text = output_of({program, "--version"}, 10s);  // "Redis server v=7.0.15 sha=..."
  const auto begin = text.find("v=");
  const auto number = begin == std::string::npos
                          ? std::string("unknown")
                          : text.substr(begin + 2, text.find(' ', begin) - begin - 2);
  std::ostringstream all;
  all << "Redis " << number << ", hiredis " << HIREDIS_MAJOR << '.' << HIREDIS_MINOR << '.'
      << HIREDIS_PATCH;
  return all.str();
}

}  // namespace conclave::bench
