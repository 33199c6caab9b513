#include "variant.hpp"

#include <filesystem>

#include "contest.hpp"
#include "contestant.hpp"
#include "harness/command.hpp"

namespace conclave::bench {
namespace {

// A thousand threads are what a program may still have for its waiters; a thousand sessions of
// ZooKeeper's Java client would be three thousand.
constexpr std::size_t many = 10'000;
constexpr std::size_t many_threads = 1'000;
constexpr std::size_t many_sessions = 100;

std::vector<std::string> java(const char* name) {
  return {CONCLAVE_BENCH_JAVA,
          "-Xmx512m",
          "-XX:-UsePerfData",
          "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",  // they complain of sessions that end
          "-cp",
          CONCLAVE_BENCH_CLASS_PATH,
          "conclave.bench.lock.Contestant",
          name};
}

std::vector<std::string> command_of(library l) {
  switch (l) {
    case library::curator: return java("curator");
    case library::zookeeper: return java("zookeeper");
    case library::kazoo: return {"/usr/bin/python3", CONCLAVE_BENCH_KAZOO};
    case library::conclave: break;
  }
  return {this_program(), contestant_option};
}

// Debian has each jar under two names, one of them with the version in it.
std::string version_in(const std::string& jar) {
  const auto beginning = jar + '-';
  for (const auto& file : std::filesystem::directory_iterator("/usr/share/java")) {
    const auto name = file.path().stem().string();
    if (name.starts_with(beginning)) return name.substr(beginning.size());
  }
  return "of unknown version";
}

std::string kazoo_version() {
  auto text =
      output_of({"/usr/bin/python3", "-c", "import kazoo; print(kazoo.__version__, end='')"},
                std::chrono::seconds{20});
  return text;
}

}  // namespace

namespace variants {
const variant ours{"conclave", library::conclave, mode::blocking, 0, false, true};
const variant asynchronous{
    "conclave, async", library::conclave, mode::asynchronous, many, false, true};
const variant without_tickets{
    "conclave, no tickets", library::conclave, mode::without_tickets, many, false, true};
const variant named{"conclave, named", library::conclave, mode::named, many, false, false};
const variant naive{"naive: all watch all", library::conclave, mode::naive, 1'000, false, true};
const variant curator{"curator", library::curator, "-", many_threads, false, true};
const variant kazoo{"kazoo", library::kazoo, "-", many_threads, false, true};
const variant write_lock{"zk WriteLock", library::zookeeper, "-", many_sessions, true, true};
}  // namespace variants

contestant_process& cast::member(library l, std::size_t number) {
  auto& process = all_[{l, number}];
  if (!process) process = std::make_unique<contestant_process>(command_of(l), cpu_);
  return *process;
}

std::string peers() {
  return "Curator " + version_in("curator-recipes") + " InterProcessMutex, kazoo " +
         kazoo_version() + " Lock, ZooKeeper " + version_in("zookeeper-recipes-lock") +
         " WriteLock";
}

}  // namespace conclave::bench
