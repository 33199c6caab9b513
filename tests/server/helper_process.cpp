// A client in a separate process. Tests kill, stop and disconnect it. Its arguments:
//
//   hold ADDRESS TIMEOUT_MS PATH      creates the ephemeral node PATH and keeps it
//   inherit ADDRESS TIMEOUT_MS PATH   like hold, but forks a child that inherits the connection and
//                                     writes its process id to the node
//   lend ADDRESS TIMEOUT_MS PATH      creates the node, writes the session's id and password to it,
//                                     and closes the connection
//   no_read ADDRESS TIMEOUT_MS PATH   creates the node and sends requests without reading
//   silent ADDRESS COUNT PATH         opens COUNT connections without a handshake, then `hold`
//
// SIGUSR1 closes its connection. After the reconnect, the process writes "back" to the node.
// SIGUSR2 makes it write "fine".
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "conclave/client.hpp"
#include "server/raw_session.hpp"

namespace conclave::testing {
namespace {

void disconnect_all() {
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"})
    ::shutdown(std::stoi(entry.path().filename()), SHUT_RDWR);
}

void set(client& zk, const std::string& path, const std::string& data) {
  try {
    zk.set(path, data);
  } catch (const error& e) {
    if (e.code() != condition::outcome_unknown) throw;
    set(zk, path, data);  // the connection was lost, and repeating the write is safe
  }
}

int obey(client& zk, const std::string& path, const sigset_t& orders) {
  while (true) {
    int order = 0;
    ::sigwait(&orders, &order);
    if (order == SIGUSR1) disconnect_all();
    set(zk, path, order == SIGUSR1 ? "back" : "fine");
  }
}

int lend(const std::string& address, int timeout_ms, const std::string& path) {
  {
    raw_session s{address};
    if (!s.handshake(timeout_ms)) return 1;
    std::string key;
    append_int64(key, s.id);
    if (s.create(path, key + s.password, true) != 0) return 1;
  }
  while (true) ::pause();
}

int send_without_reading(const std::string& address, int timeout_ms, const std::string& path) {
  const auto large = path + "-large";
  raw_session s{address};
  if (!s.handshake(timeout_ms) || s.create(large, std::string(100'000, 'x')) != 0) return 1;
  if (s.create(path, "", true) != 0) return 1;
  for (int i = 1; i <= 50; ++i) s.link.send_frame(path_request(i, op::get_data, large));
  while (true) ::pause();
}

int play(const std::vector<std::string>& arguments) {
  const auto& role = arguments.at(1);
  const auto& address = arguments.at(2);
  const int number = std::stoi(arguments.at(3));
  const auto& path = arguments.at(4);
  if (role == "lend") return lend(address, number, path);
  if (role == "no_read") return send_without_reading(address, number, path);

  std::vector<loopback_socket> silent;
  client_options options;
  if (role == "silent") {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    for (int i = 0; i < number; ++i) silent.push_back(connect_to(address));
  } else {
    options.session_timeout = std::chrono::milliseconds{number};
  }

  // Blocked before the first thread starts, so that only this thread receives the signals.
  sigset_t orders{};
  ::sigemptyset(&orders);
  ::sigaddset(&orders, SIGUSR1);
  ::sigaddset(&orders, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &orders, nullptr);
  client zk{address, options};
  zk.create(path, "", create_mode::ephemeral);
  if (role == "inherit") {
    const auto child = ::fork();
    while (child == 0) ::pause();
    zk.set(path, std::to_string(child));
  }
  return obey(zk, path, orders);
}

}  // namespace
}  // namespace conclave::testing

int main(int argc, char** argv) {
  try {
    return conclave::testing::play({argv, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "server_test_helper_process: " << e.what() << "\n";
    return 1;
  }
}
