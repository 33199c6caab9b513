#include "driver/conclave_server.hpp"

#include <chrono>
#include <csignal>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "driver/process.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto start_limit = 60s;
constexpr auto stop_limit = 20s;
constexpr auto poll_interval = 200us;  // short beside the start that is measured

}  // namespace

conclave_server::conclave_server(std::vector<std::string> command, const std::string& durability,
                                 const std::filesystem::path& socket,
                                 const std::vector<std::string>& more_arguments)
    : command_(std::move(command)) {
  command_.insert(command_.end(), {"serve", "--listen", "127.0.0.1:0", "--durability", durability});
  if (durability != "none") command_.insert(command_.end(), {"--data", data_directory().string()});
  if (socket.empty())  // by default it is beside the data, where its path may become too long
    command_.emplace_back("--no-socket");
  else
    command_.insert(command_.end(), {"--socket", socket.string()});
  command_.insert(command_.end(), more_arguments.begin(), more_arguments.end());
  start();
}

conclave_server::~conclave_server() { stop(); }

void conclave_server::stop() {
  process_->kill(SIGTERM);
  process_->wait(stop_limit);
}

void conclave_server::start_again() {
  std::filesystem::remove(folder_.path() / "output");  // it has the line of the start before
  start();
}

void conclave_server::start() {
  testing::child_options options(command_);
  options.output = folder_.path() / "output";
  process_ = std::make_unique<testing::child_process>(options);
  await_ready();
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

}  // namespace conclave::bench
