#include "server/serve_process.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace conclave::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 2ms;

// The program of this build, or another one to be tested.
std::string program() {
  const char* const other = std::getenv("CONCLAVE_BINARY");
  return other != nullptr ? other : CONCLAVE_BINARY;
}

argument_list command_line(argument_list launcher, const argument_list& arguments) {
  launcher.push_back(program());
  launcher.insert(launcher.end(), arguments.begin(), arguments.end());
  return launcher;
}

bool has(const argument_list& arguments, std::string_view flag) {
  return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
}

}  // namespace

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

finished_run run_conclave(argument_list arguments, argument_list launcher,
                          std::chrono::milliseconds limit) {
  const temporary_directory folder;
  child_options options{command_line(std::move(launcher), arguments)};
  options.output = folder.path() / "output";
  child_process process{options};
  const auto status = process.wait(limit);
  auto text = read_file(options.output);
  if (!status) throw std::runtime_error{"conclave did not end; it said: " + text};
  return {*status, std::move(text)};
}

serve_process::serve_process(argument_list arguments, argument_list launcher)
    : arguments_{std::move(arguments)}, launcher_{std::move(launcher)} {
  // A launcher may run the server as another user, who needs access to the folder.
  std::filesystem::permissions(folder(), std::filesystem::perms{0755});
  start();
}

serve_process::~serve_process() {
  process_.reset();  // before its folder is removed
}

void serve_process::start() {
  argument_list all{"serve"};
  if (!has(arguments_, "--data") && !has(arguments_, "--config") && !has(arguments_, "none"))
    all.insert(all.end(), {"--data", data()});
  if (has(arguments_, "none") && !has(arguments_, "--socket") && !has(arguments_, "--no-socket"))
    all.insert(all.end(), {"--socket", data() / "socket"});
  all.insert(all.end(), arguments_.begin(), arguments_.end());

  child_options options{command_line(launcher_, all)};
  options.output = folder() / "output";
  options.directory = folder();
  const auto said_before = output().size();
  addresses_.clear();
  process_ = std::make_unique<child_process>(options);

  const std::string mark = "conclave ready:";
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (true) {
    const auto text = output().substr(said_before);
    const auto begin = text.find(mark);
    if (const auto line_end = text.find('\n', begin);
        begin != std::string::npos && line_end != std::string::npos) {
      std::istringstream words{text.substr(begin + mark.size(), line_end - begin - mark.size())};
      for (std::string address; words >> address;) addresses_.push_back(address);
      return;
    }
    if (process_->wait(look_again) || std::chrono::steady_clock::now() > end)
      throw std::runtime_error{"conclave serve is not ready; it said: " + text};
  }
}

std::string serve_process::tcp() const { return addresses_.at(0); }

std::uint16_t serve_process::port(std::size_t n) const {
  const auto& address = addresses_.at(n);
  return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

std::string serve_process::socket() const {
  const auto& last = addresses_.back();
  if (!last.starts_with("unix:")) throw std::logic_error{"this server has no socket"};
  return last;
}

std::filesystem::path serve_process::socket_file() const { return socket().substr(5); }

void serve_process::kill() { process_.reset(); }

std::optional<exit_status> serve_process::wait(std::chrono::milliseconds limit) {
  return process_->wait(limit);
}

exit_status serve_process::terminate() {
  signal(SIGTERM);
  const auto status = wait();
  if (!status) throw std::runtime_error{"conclave serve does not stop; it said: " + output()};
  return *status;
}

void serve_process::start_again() {
  process_.reset();
  start();
}

void serve_process::start_again(argument_list arguments) {
  arguments_ = std::move(arguments);
  start_again();
}

std::string serve_process::output() const { return read_file(folder() / "output"); }

bool serve_process::prints(std::string_view part, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (output().find(part) == std::string::npos) {
    if (std::chrono::steady_clock::now() > end) return false;
    if (process_->wait(look_again)) return output().find(part) != std::string::npos;
  }
  return true;
}

std::size_t serve_process::status_line(std::string_view name) const {
  std::ifstream in{"/proc/" + std::to_string(pid()) + "/status"};
  for (std::string word; in >> word;) {
    std::size_t value = 0;
    if (word == name && in >> value) return value;
  }
  throw std::runtime_error{"the server has ended; it said: " + output()};
}

std::size_t serve_process::resident_kilobytes() const { return status_line("VmRSS:"); }
std::size_t serve_process::most_resident_kilobytes() const { return status_line("VmHWM:"); }

std::chrono::milliseconds serve_process::cpu_time() const {
  const auto text = read_file("/proc/" + std::to_string(pid()) + "/stat");
  std::istringstream fields{
      text.substr(text.rfind(')') + 2)};  // the name may contain any character
  std::string ignored;
  for (int i = 0; i < 11; ++i) fields >> ignored;
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return std::chrono::milliseconds{(user + system) * 1000 / ::sysconf(_SC_CLK_TCK)};
}

std::size_t serve_process::open_descriptors() const {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator{"/proc/" + std::to_string(pid()) + "/fd"},
                    std::filesystem::directory_iterator{}));
}

}  // namespace conclave::testing
