#include "variant.hpp"

#include "contestant.hpp"
#include "flow.hpp"
#include "harness/command.hpp"
#include "harness/peers.hpp"

namespace conclave::bench {
namespace {

std::vector<std::string> java(const char* name) {
  return java_command(CONCLAVE_BENCH_JAVA, CONCLAVE_BENCH_CLASS_PATH,
                      "conclave.bench.queue.Contestant", name);
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
const variant ours{"conclave", "conclave", library::conclave, mode::blocking, "qn-", false};
const variant asynchronous{
    "conclave, async", "conclave-async", library::conclave, mode::asynchronous, "qn-", false};
const variant zookeeper{
    "zk DistributedQueue", "distributed-queue", library::zookeeper, mode::blocking, "qn-", false};
const variant curator{"curator", "curator", library::curator, mode::blocking, "qn-", false};
const variant kazoo{"kazoo Queue", "kazoo", library::kazoo, mode::blocking, "entry-100-", false};
const variant claiming{"conclave, claims", "conclave-claims", library::conclave,
                       mode::claiming,     "entry-100-",      true};
const variant claiming_asynchronously{"conclave, async claims",
                                      "conclave-async-claims",
                                      library::conclave,
                                      mode::claiming_asynchronously,
                                      "entry-100-",
                                      true};
const variant kazoo_locking{"kazoo LockingQueue", "locking-queue", library::kazoo,
                            mode::claiming,       "entry-100-",    true};
const std::vector<const variant*> all{
    &ours,         &asynchronous, &zookeeper, &curator, &kazoo, &claiming, &claiming_asynchronously,
    &kazoo_locking};
}  // namespace variants

contestant_process& cast::member(library l, std::size_t number) {
  auto& process = all_[{l, number}];
  if (!process) process = std::make_unique<contestant_process>(command_of(l), cpu_);
  return *process;
}

std::string peers() {
  return "ZooKeeper " + version_of_jar("zookeeper-recipes-queue") + " DistributedQueue, Curator " +
         version_of_jar("curator-recipes") + " SimpleDistributedQueue, kazoo " +
         version_of_kazoo() + " Queue and LockingQueue";
}

}  // namespace conclave::bench
