#include "driver/recipe_benchmark.hpp"

#include <chrono>
#include <filesystem>

#include <conclave/version.hpp>

#include "driver/zookeeper.hpp"

namespace conclave::bench {
namespace {

constexpr int first_path = 1000;

std::vector<std::string> java_command(const peer_programs& programs, const char* library_name) {
  return {programs.java,
          "-Xmx512m",
          "-XX:-UsePerfData",
          "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",  // no warnings about closed sessions
          "-cp",
          programs.class_path,
          programs.java_class,
          library_name};
}

std::vector<std::string> command_of(library l, const peer_programs& programs) {
  switch (l) {
    case library::curator: return java_command(programs, "curator");
    case library::zookeeper: return java_command(programs, "zookeeper");
    case library::kazoo: return {"/usr/bin/python3", programs.kazoo_script};
    case library::conclave: break;
  }
  return worker_command({});
}

}  // namespace

// Debian installs each jar under two names. One of them contains the version.
std::string version_of_jar(const std::string& jar) {
  const auto beginning = jar + '-';
  for (const auto& file : std::filesystem::directory_iterator("/usr/share/java")) {
    const auto name = file.path().stem().string();
    if (name.starts_with(beginning)) return name.substr(beginning.size());
  }
  return "of unknown version";
}

std::string version_of_kazoo() {
  return output_of({"/usr/bin/python3", "-c", "import kazoo; print(kazoo.__version__, end='')"},
                   std::chrono::seconds{20});
}

recipe_rounds::recipe_rounds(bool force_sync, std::optional<int> cpu, const peer_programs& programs)
    : programs_(programs),
      cpu_(cpu),
      server_(measured_server_options(force_sync)),
      control_(server_.connect_string()) {
  control_.create(parent);
  if (cpu) pin_.emplace(server_.pid(), *cpu);
}

std::size_t recipe_rounds::part(std::size_t all, std::size_t parts, std::size_t number) {
  return all / parts + (number < all % parts ? 1 : 0);
}

std::string recipe_rounds::new_path() {
  return std::string(parent) + '/' + std::to_string(first_path + paths_++);
}

void recipe_rounds::prepare_workers(library l, const std::vector<std::string>& arguments) {
  active_.clear();
  for (const auto& text : arguments) {
    active_.push_back(&worker(l, active_.size()));
    active_.back()->send("prepare " + text);
  }
  for (auto* w : active_) w->receive("ready");
}

void recipe_rounds::start_workers() {
  for (auto* w : active_) w->send("start");
  for (auto* w : active_) w->receive("started");
}

std::int64_t recipe_rounds::count() {
  std::int64_t sum = 0;
  for (auto* w : active_) {
    w->send("count");
    sum += std::stoll(w->receive("count "));
  }
  return sum;
}

std::vector<std::string> recipe_rounds::stop_workers(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < active_.size(); ++i)
    active_[i]->send(i < arguments.size() ? "stop " + arguments[i] : "stop");
  std::vector<std::string> results;
  for (auto* w : active_) results.push_back(w->receive("stopped"));
  return results;
}

worker_process& recipe_rounds::worker(library l, std::size_t number) {
  auto& process = workers_[{l, number}];
  if (!process) process = std::make_unique<worker_process>(command_of(l, programs_), cpu_);
  return *process;
}

std::vector<option> recipe_benchmark::extra_options() {
  return {{"--no-sync", "", "the server does not call fsync (forceSync=no)",
           [this](const std::string&) { force_sync_ = false; }},
          {"--one-core", "", "server and workers share one core; the rates are lower but vary less",
           [this](const std::string&) { one_core_ = true; }}};
}

std::optional<int> recipe_benchmark::cpu() const {
  return one_core_ ? std::optional(last_allowed_cpu()) : std::nullopt;
}

environment recipe_benchmark::common_environment(const testing::zookeeper_server& server,
                                                 const std::string& peers) const {
  return {
      {"conclave", version},
      {"peers", peers},
      {"server", version_of(server) + ", standalone, loopback, " +
                     (force_sync_ ? "forceSync=yes" : "forceSync=no (the disk is not measured)")},
      {"cores", one_core_ ? "one for the server and all workers" : "not pinned"},
      {"machine", machine()},
      {"compiler", compiler()},
      {"started", started_now()}};
}

}  // namespace conclave::bench
