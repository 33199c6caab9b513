#include "differential/servers.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace conclave::differential {
namespace {

using namespace std::chrono_literals;

// "super:boss" has all permissions.
constexpr const char* super_digest = "super:LVxiMPaAxLDvqJJmnC2tINqpoZU=";
// Short ticks and timeouts, for sessions that must expire. Other sessions request long timeouts.
constexpr int tick_ms = 200;
constexpr int min_session_timeout_ms = 400;
constexpr int max_session_timeout_ms = 120'000;
constexpr auto start_limit = 30s;
constexpr auto poll_interval = 5ms;
constexpr std::size_t shown_of_log = 3000;

testing::zookeeper_options apache_options(const server_settings& settings) {
  testing::zookeeper_options o;
  o.tick_ms = tick_ms;
  o.min_session_timeout_ms = min_session_timeout_ms;
  o.max_session_timeout_ms = max_session_timeout_ms;
  // By default, Apache's server answers a reconfig with ReconfigDisabled, which kazoo treats as a
  // lost connection. With this setting it answers Unimplemented, like the embedded server.
  o.config["reconfigEnabled"] = "true";
  o.java_properties = {
      std::string{"zookeeper.DigestAuthenticationProvider.superDigest="} + super_digest,
      "znode.container.checkIntervalMs=" + std::to_string(settings.reap_interval.count()),
      "org.slf4j.simpleLogger.defaultLogLevel=error",  // otherwise logs every refused request
  };
  return o;
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string tail(const std::string& s) {
  return s.substr(s.size() > shown_of_log ? s.size() - shown_of_log : 0);
}

}  // namespace

embedded_server::embedded_server(const server_settings& settings) : settings_{settings} { start(); }

void embedded_server::start() {
  const auto output = folder_.path() / "log";
  const auto before = contents(output).size();
  const char* const other = std::getenv("CONCLAVE_DIFFERENTIAL_SERVER");
  std::vector<std::string> command{other != nullptr ? other : CONCLAVE_BINARY,
                                   "serve",
                                   "--no-socket",
                                   "--listen",
                                   "127.0.0.1:" + std::to_string(port_),
                                   "--tick",
                                   std::to_string(tick_ms) + "ms",
                                   "--min-session-timeout",
                                   std::to_string(min_session_timeout_ms) + "ms",
                                   "--max-session-timeout",
                                   std::to_string(max_session_timeout_ms) + "ms",
                                   "--container-check",
                                   std::to_string(settings_.reap_interval.count()) + "ms",
                                   "--super-digest",
                                   super_digest};
  if (settings_.on_disk)
    command.insert(command.end(), {"--data", (folder_.path() / "data").string()});
  else
    command.insert(command.end(), {"--durability", "none"});
  testing::child_options options{std::move(command)};
  options.output = output;
  process_ = std::make_unique<testing::child_process>(options);

  const std::string ready = "conclave ready: 127.0.0.1:";
  const auto deadline = std::chrono::steady_clock::now() + start_limit;
  for (;;) {
    const auto log = contents(output);
    const auto at = log.find(ready, before);
    if (at != std::string::npos && log.find('\n', at) != std::string::npos) {
      port_ = static_cast<std::uint16_t>(std::stoi(log.substr(at + ready.size())));
      return;
    }
    if (!process_->running() || std::chrono::steady_clock::now() > deadline)
      throw std::runtime_error{"conclave serve does not start:\n" + tail(log)};
    std::this_thread::sleep_for(poll_interval);
  }
}

void embedded_server::kill_and_start_again() {
  process_->kill(SIGKILL);
  process_->wait(10s);
  process_.reset();
  start();
}

std::string embedded_server::log() const { return contents(folder_.path() / "log"); }

servers::servers(const server_settings& settings)
    : apache_{apache_options(settings)}, embedded_{settings} {}

void servers::restart() {
  embedded_.kill_and_start_again();
  apache_.kill();
  apache_.start_again();
}

std::string servers::logs() {
  const auto state = [](bool running) { return running ? " runs; " : " HAS ENDED; "; };
  return std::string{"Apache ZooKeeper"} + state(apache_.running()) + "its log ends with:\n" +
         tail(apache_.log()) + "\nconclave" + state(embedded_.running()) + "its log ends with:\n" +
         tail(embedded_.log()) + "\n";
}

}  // namespace conclave::differential
