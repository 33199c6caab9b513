// A real Apache ZooKeeper (the jars of Debian's libzookeeper-java), in a temporary folder and on
// free ports of 127.0.0.1 only. Neither a system service nor its configuration is involved.
//
// With CONCLAVE_TEST_SERVER=embedded in the environment it is `conclave serve` (the program that
// CONCLAVE_BINARY names) with the same configuration: one test, two servers.
//
// The constructor returns when the server answers, after trying other ports if one was taken, and
// throws std::runtime_error with the tail of the server's log after 60 s or when the server exits.
// The destructor kills it and removes the folder.
//
// The ports never change, also across kill() and start_again(): port(), secure_port() and
// connect_string() may be called from any thread. The others are for one thread at a time, of which
// start_again() may be used from a short-lived one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "child_process.hpp"
#include "temporary_directory.hpp"
#include "zookeeper_options.hpp"

namespace conclave::testing {

class zookeeper_server {
 public:
  explicit zookeeper_server(zookeeper_options options = zookeeper_options());
  ~zookeeper_server();
  zookeeper_server(const zookeeper_server&) = delete;
  zookeeper_server& operator=(const zookeeper_server&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  std::uint16_t secure_port() const noexcept { return secure_port_; }  // 0 without TLS
  std::string connect_string() const;                                  // "127.0.0.1:PORT"
  std::string secure_connect_string() const;

  pid_t pid() const;
  bool running();

  void stop_gracefully();  // SIGTERM, and waits for the end
  void kill();             // SIGKILL, and waits for the end
  void start_again();      // same ports, same data; returns when it answers
  void pause();            // returns when the process has stopped
  void resume();

  std::string ask(std::string_view four_letter_word) const;
  std::string mode() const;  // as server_mode()
  // Returns once it says so of itself: "leader", "follower", "standalone", "read-only".
  void wait_for_mode(std::string_view wanted,
                     std::chrono::milliseconds timeout = std::chrono::seconds(60));
  std::string log() const;  // of all starts so far; lines begin with the local time in milliseconds
  std::filesystem::path data_directory() const { return folder_.path() / "data"; }

 private:
  friend class zookeeper_ensemble;

  // A member of an ensemble: `membership` are its server.N lines. Nothing is started yet.
  zookeeper_server(zookeeper_options options, int id, std::map<std::string, std::string> membership,
                   std::uint16_t port, std::uint16_t secure_port);

  void launch();
  bool answers_as_this_server() const;
  bool secure_port_is_open() const;
  std::string mode_while_starting() const;
  bool found_port_taken() const;
  void wait_until_serving();
  void write_configuration() const;
  std::vector<std::string> command_line() const;
  [[noreturn]] void fail(const std::string& what) const;

  zookeeper_options options_;
  temporary_directory folder_;
  int id_{0};  // in the ensemble; 0 when alone
  std::map<std::string, std::string> membership_;
  std::uint16_t port_{0};
  std::uint16_t secure_port_{0};
  std::size_t log_start_{0};  // where the present start's part of the log begins
  std::unique_ptr<child_process> process_;
};

}  // namespace conclave::testing
