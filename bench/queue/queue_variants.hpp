// The variants. A variant is a library and a way to use its queue.
#pragma once

#include <string>
#include <vector>

#include "driver/recipe_benchmark.hpp"
#include "queue_load.hpp"

namespace conclave::bench {

struct queue_variant {
  std::string name;
  const char* short_name;  // in the names of figures
  bench::library library;
  const char* mode;         // see queue_load.hpp
  const char* item_prefix;  // of the nodes' names
  bool claims;              // items are claimed and completed instead of popped
};
using variant_list = std::vector<const queue_variant*>;

namespace variant {
inline const queue_variant conclave{"conclave",     "conclave", library::conclave,
                                    mode::blocking, "qn-",      false};
inline const queue_variant asynchronous{
    "conclave, async", "conclave-async", library::conclave, mode::asynchronous, "qn-", false};
inline const queue_variant zookeeper{
    "zk DistributedQueue", "distributed-queue", library::zookeeper, mode::blocking, "qn-", false};
inline const queue_variant curator{"curator",      "curator", library::curator,
                                   mode::blocking, "qn-",     false};
inline const queue_variant kazoo{"kazoo Queue",  "kazoo",      library::kazoo,
                                 mode::blocking, "entry-100-", false};
inline const queue_variant claiming{"conclave, claims", "conclave-claims", library::conclave,
                                    mode::claiming,     "entry-100-",      true};
inline const queue_variant claiming_asynchronously{"conclave, async claims",
                                                   "conclave-async-claims",
                                                   library::conclave,
                                                   mode::claiming_asynchronously,
                                                   "entry-100-",
                                                   true};
inline const queue_variant kazoo_locking{"kazoo LockingQueue", "locking-queue", library::kazoo,
                                         mode::claiming,       "entry-100-",    true};
// In the order of the tables.
inline const variant_list all{
    &conclave,     &asynchronous, &zookeeper, &curator, &kazoo, &claiming, &claiming_asynchronously,
    &kazoo_locking};
}  // namespace variant

}  // namespace conclave::bench
