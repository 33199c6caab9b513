#include "variant.hpp"

#include "contest.hpp"
#include "contestant.hpp"
#include "harness/command.hpp"
#include "harness/peers.hpp"

namespace conclave::bench {
namespace {

// A thousand threads are what a program may still have for its waiters; a thousand sessions of
// ZooKeeper's Java client would be three thousand.
constexpr std::size_t many = 10'000;
constexpr std::size_t many_threads = 1'000;
constexpr std::size_t many_sessions = 100;

std::vector<std::string> java(const char* name) {
  return java_command(CONCLAVE_BENCH_JAVA, CONCLAVE_BENCH_CLASS_PATH,
                      "conclave.bench.lock.Contestant", name);
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
  return "Curator " + version_of_jar("curator-recipes") + " InterProcessMutex, kazoo " +
         version_of_kazoo() + " Lock, ZooKeeper " + version_of_jar("zookeeper-recipes-lock") +
         " WriteLock";
}

}  // namespace conclave::bench
