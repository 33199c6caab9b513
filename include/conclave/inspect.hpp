// Inspects a tree of nodes: which locks, semaphores, queues and elections are in use, who holds
// them, who waits for them, and which nodes they have left behind.
//
//   const conclave::inspection seen = conclave::inspect(zk, {"/locks"});
//   for (const conclave::recipe_info& r : seen.recipes)
//     for (const conclave::contender_info& c : r.contenders)
//       std::cout << r.path << (c.holds ? " held by " : " wanted by ") << c.owner << "\n";
//
// Recipes of other libraries (Curator, kazoo, ZooKeeper's own recipes) are recognised by the names
// of their nodes. A path need not be that of a lock: everything at and below it is inspected.
//
// Use it for tools and for people, not for decisions. Nodes change while they are read, so two
// entries may show different moments.
//
// These functions block. They throw the same errors as the client's blocking calls. A node that
// does not exist any more is left out. A node that may not be read is listed as unreadable.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/contender_info.hpp"
#include "conclave/layout.hpp"
#include "conclave/queue_options.hpp"

namespace conclave {

// --- recipes in use

// The numbers of a queue.
struct queue_counts {
  std::size_t items = 0;      // in the queue, also the claimed ones
  std::size_t claimed = 0;    // claimed by a consumer
  std::size_t set_aside = 0;  // no consumer could complete them
  std::size_t producers = 0;  // clients that push
  std::size_t consumers = 0;  // clients that pop
  std::size_t waiting = 0;    // consumers that wait for an item
};

struct recipe_info {
  // `unused` is a path that had children and has none. Its kind is unknown.
  enum class kind { lock, read_write_lock, semaphore, queue, election, unused };

  std::string path;
  kind what = kind::lock;
  // The names of the nodes: "curator", "kazoo", "zookeeper", "leader_latch", "kazoo_locking", the
  // pattern of a custom layout, or "named" for a named_mutex.
  std::string layout;
  // Holders first, then waiters in the order of the wait queue. For a queue, the claims.
  std::vector<contender_info> contenders;
  std::optional<int> permits;  // of a semaphore, if the number is recorded in its path
  queue_counts queue;          // of a queue

  bool in_use() const noexcept {
    return !contenders.empty() || queue.items + queue.claimed + queue.set_aside + queue.producers +
                                          queue.consumers + queue.waiting >
                                      0;
  }
};

const char* to_string(recipe_info::kind k) noexcept;

struct unreadable_node {
  std::string path;
  error_code why;
};

struct inspection {
  std::vector<recipe_info> recipes;  // sorted by path
  std::vector<unreadable_node> unreadable;
};

struct inspect_options {
  // Recognises the contenders of these layouts, in addition to those that Conclave knows.
  std::vector<layout> layouts;
  // Lists also recipes that nobody uses, and unused paths.
  bool include_unused = false;
};

// Contenders of different layouts on one path do not exclude each other, so each layout is a recipe
// of its own.
inspection inspect(client& c, const std::vector<std::string>& paths,
                   const inspect_options& options = {});

// All paths that inspect() starts from: the given ones, and the nodes that queues and semaphores
// have beside them. Recursive watches on them report every change of the result.
std::vector<std::string> inspected_paths(const std::vector<std::string>& paths);

// --- nodes left behind

struct unused_node {
  enum class kind { lock, semaphore, queue, folder };
  std::string path;
  kind what = kind::folder;
  std::int32_t version = 0;
  std::chrono::system_clock::time_point changed;  // last change, by the server's clock
};

const char* to_string(unused_node::kind k) noexcept;

struct unused_nodes {
  std::vector<unused_node> nodes;  // children before their parents
  std::vector<unreadable_node> unreadable;
};

// Finds the nodes that recipes have left behind. The server removes containers by itself, but not
// every server supports them, and not every library uses them.
//
// A node is unused if three conditions hold. It had children and has none, or only unused ones. It
// has no data except a record of this library. Its last change was before the given time. Excluded
// are ephemeral nodes, /, /conclave, /zookeeper, and folders that kazoo creates once and needs
// later.
unused_nodes find_unused(client& c, const std::vector<std::string>& paths,
                         std::chrono::system_clock::time_point before);

struct removal {
  enum class outcome { removed, in_use, refused } what = outcome::removed;
  error_code ec;
};
// Removes unused nodes. Returns one result for each node, in the same order. Nodes that are in use
// again are kept: the server does not remove a node with children, and a node with changed data is
// skipped.
std::vector<removal> remove_unused(client& c, const std::vector<unused_node>& nodes);

// --- single nodes

// Whether recipes give such a name to their own nodes: contenders, permits, items, and the folder
// beside a queue. `name` is the last part of a path.
bool is_recipe_node(std::string_view name);

// The number of permits that is recorded in the path of a semaphore.
std::optional<std::size_t> recorded_permits(const get_result& semaphore);

// The layout of the queue at this path. None if the path has no items.
std::optional<queue_layout> find_queue_layout(client& c, const std::string& path);

// The claimed items of a queue. The last part of contender_info::node is the name of the item.
std::vector<contender_info> queue_claims(client& c, const std::string& path, queue_layout names);

}  // namespace conclave
