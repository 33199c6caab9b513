#include "zookeeper_server.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "four_letter_word.hpp"
#include "free_port.hpp"
#include "loopback_socket.hpp"

namespace conclave::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto start_limit = 60s;
constexpr auto poll_interval = 10ms;
// A starting server may never answer a request, but it answers a later one.
constexpr auto answer_limit = 200ms;
constexpr int port_attempts = 5;

// zookeeper.jar's manifest names most of what it needs, but neither a logger nor the two parts of
// Netty that its Netty connection factory (the one with TLS) loads.
const char* const jars[] = {"zookeeper.jar", "netty-codec.jar", "netty-resolver.jar",
                            "slf4j-simple.jar"};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The `conclave` program, if the tests use the embedded server instead of Apache's.
const char* embedded_server() {
  const char* const which = std::getenv("CONCLAVE_TEST_SERVER");
  if (which == nullptr || std::string_view(which) != "embedded") return nullptr;
  const char* const program = std::getenv("CONCLAVE_BINARY");
  if (program == nullptr) throw std::runtime_error("CONCLAVE_BINARY does not name the server");
  return program;
}

}  // namespace

zookeeper_options::zookeeper_options()
    // One compiler tier and the serial collector start fastest; performance data would leave a file
    // behind for every killed server.
    : jvm_flags{"-Xms32m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-XX:-UsePerfData"} {
  for (const char* jar : jars)
    class_path +=
        (class_path.empty() ? "/usr/share/java/" : ":/usr/share/java/") + std::string(jar);
}

zookeeper_server::zookeeper_server(zookeeper_options options) : options_(std::move(options)) {
  for (int attempt = 1;; ++attempt) {
    const auto ports = free_ports(2);
    port_ = ports[0];
    secure_port_ = options_.tls ? ports[1] : std::uint16_t{0};
    try {
      start_again();
      return;
    } catch (const std::runtime_error&) {
      if (attempt == port_attempts || !found_port_taken()) throw;
      process_.reset();
    }
  }
}

zookeeper_server::zookeeper_server(zookeeper_options options, int id,
                                   std::map<std::string, std::string> membership,
                                   std::uint16_t port, std::uint16_t secure_port)
    : options_(std::move(options)),
      id_(id),
      membership_(std::move(membership)),
      port_(port),
      secure_port_(secure_port) {}

zookeeper_server::~zookeeper_server() {
  process_.reset();  // before the folder it writes to goes
}

std::string zookeeper_server::connect_string() const {
  return "127.0.0.1:" + std::to_string(port_);
}
std::string zookeeper_server::secure_connect_string() const {
  return "127.0.0.1:" + std::to_string(secure_port_);
}

pid_t zookeeper_server::pid() const { return process_ ? process_->pid() : -1; }
bool zookeeper_server::running() { return process_ && process_->running(); }

void zookeeper_server::stop_gracefully() {
  if (!process_) return;
  process_->kill(SIGTERM);
  if (!process_->wait(20s)) fail("did not stop on SIGTERM");
  process_.reset();
}

void zookeeper_server::kill() { process_.reset(); }

void zookeeper_server::start_again() {
  launch();
  wait_until_serving();
}

void zookeeper_server::pause() {
  if (process_) process_->pause();
}

void zookeeper_server::resume() {
  if (process_) process_->resume();
}

std::string zookeeper_server::ask(std::string_view word) const { return ask_server(port_, word); }
std::string zookeeper_server::mode() const { return server_mode(port_); }

void zookeeper_server::wait_for_mode(std::string_view wanted, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (mode() != wanted) {
    if (!running()) fail("exited");
    if (std::chrono::steady_clock::now() > deadline) fail("does not become " + std::string(wanted));
    std::this_thread::sleep_for(poll_interval);
  }
}

std::string zookeeper_server::log() const { return read_file(folder_.path() / "log"); }

void zookeeper_server::launch() {
  if (running()) throw std::logic_error("ZooKeeper already runs on port " + std::to_string(port_));
  process_.reset();
  write_configuration();
  log_start_ = log().size();
  child_options child(command_line());
  child.directory = folder_.path();
  child.output = folder_.path() / "log";
  process_ = std::make_unique<child_process>(child);
}

// The server of another test may have taken the port before this one could bind it, and would
// answer instead. It has another data folder.
bool zookeeper_server::answers_as_this_server() const {
  return ask_server(port_, "conf", answer_limit).find("dataDir=" + data_directory().string()) !=
         std::string::npos;
}

// It opens after the plain port.
bool zookeeper_server::secure_port_is_open() const {
  if (secure_port_ == 0) return true;
  try {
    loopback_socket::connect(secure_port_, answer_limit);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::string zookeeper_server::mode_while_starting() const {
  return secure_port_is_open() ? server_mode(port_, answer_limit) : std::string();
}

bool zookeeper_server::found_port_taken() const {
  return log().find("Address already in use", log_start_) != std::string::npos;
}

void zookeeper_server::wait_until_serving() {
  const auto deadline = std::chrono::steady_clock::now() + start_limit;
  while (mode_while_starting().empty() || !answers_as_this_server()) {
    if (!running()) fail("exited while starting");
    if (found_port_taken()) fail("found its port taken");
    if (std::chrono::steady_clock::now() > deadline) fail("does not answer");
    std::this_thread::sleep_for(poll_interval);
  }
}

void zookeeper_server::write_configuration() const {
  std::map<std::string, std::string> lines{
      {"dataDir", data_directory().string()},
      {"tickTime", std::to_string(options_.tick_ms)},
      {"minSessionTimeout", std::to_string(options_.min_session_timeout_ms)},
      {"maxSessionTimeout", std::to_string(options_.max_session_timeout_ms)},
      {"clientPort", std::to_string(port_)},
      {"clientPortAddress", "127.0.0.1"},
      {"maxClientCnxns", "0"},  // the default refuses more than 60 connections of one address
      {"admin.enableServer", "false"},  // would take port 8080
      {"4lw.commands.whitelist", "*"},
      {"preAllocSize", "64"},  // KiB; the default writes 64 MiB of zeros for every log file
  };
  if (options_.tls) {
    lines["secureClientPort"] = std::to_string(secure_port_);
    lines["secureClientPortAddress"] = "127.0.0.1";
    lines["ssl.keyStore.location"] = options_.tls->key_store.string();
    lines["ssl.keyStore.type"] = "PEM";
    lines["ssl.trustStore.location"] = options_.tls->trust_store.string();
    lines["ssl.trustStore.type"] = "PEM";
    lines["ssl.clientAuth"] = options_.tls->client_certificate_required ? "need" : "none";
  }
  if (id_ != 0) {
    lines["initLimit"] = "10";
    lines["syncLimit"] = "5";
    lines.insert(membership_.begin(), membership_.end());
  }
  for (const auto& [name, value] : options_.config) lines[name] = value;
  if (embedded_server() != nullptr) {
    // The embedded server reads these settings from its configuration, not from Java properties.
    constexpr std::string_view prefix = "zookeeper.";
    for (const auto& property : options_.java_properties) {
      const auto equals = property.find('=');
      const auto begin = property.rfind(prefix, 0) == 0 ? prefix.size() : 0;
      lines[property.substr(begin, equals - begin)] = property.substr(equals + 1);
    }
  }

  std::filesystem::create_directories(data_directory());
  std::ofstream file(folder_.path() / "zoo.cfg");
  for (const auto& [name, value] : lines) file << name << '=' << value << '\n';
  if (id_ != 0) std::ofstream(data_directory() / "myid") << id_ << '\n';
}

std::vector<std::string> zookeeper_server::command_line() const {
  const auto configuration = (folder_.path() / "zoo.cfg").string();
  if (const char* program = embedded_server(); program != nullptr)
    return {program, "serve", "--verbose", "--config", configuration};

  std::vector<std::string> properties{
      "zookeeper.extendedTypesEnabled=true",  // TTL nodes answer Unimplemented otherwise
      std::string("zookeeper.forceSync=") + (options_.force_sync ? "yes" : "no"),
      "org.slf4j.simpleLogger.showDateTime=true",
      "org.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
  };
  if (options_.read_only_mode) properties.emplace_back("readonlymode.enabled=true");
  if (options_.tls) {
    // The only factory with TLS; it then serves the plain port as well.
    properties.emplace_back(
        "zookeeper.serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory");
  }
  properties.insert(properties.end(), options_.java_properties.begin(),
                    options_.java_properties.end());

  std::vector<std::string> command{"java"};
  command.insert(command.end(), options_.jvm_flags.begin(), options_.jvm_flags.end());
  for (const auto& property : properties)
    command.push_back("-D" + property);  // of equal names the last one counts
  command.insert(command.end(),
                 {"-cp", options_.class_path, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                  configuration});
  return command;
}

void zookeeper_server::fail(const std::string& what) const {
  constexpr std::size_t shown = 4000;
  const std::string text = log();
  throw std::runtime_error("ZooKeeper on port " + std::to_string(port_) + " " + what +
                           "; the end of its log:\n" +
                           text.substr(text.size() > shown ? text.size() - shown : 0));
}

}  // namespace conclave::testing
