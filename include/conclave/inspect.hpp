// Inspects a tree of nodes. The functions show which locks, semaphores, queues and elections are in
// use, who holds them and who waits for them. They also find unused nodes that recipes have left
// behind.
//
//   const conclave::inspection seen = conclave::inspect(zk, {"/locks"});
//   for (const conclave::recipe_info& r : seen.recipes)
//     for (const conclave::contender_info& c : r.contenders)
//       std::cout << r.path << (c.holds ? " held by " : " wanted by ") << c.owner << "\n";
//
// Recipes of other libraries (Curator, kazoo, ZooKeeper's own recipes) are recognised by the names
// of their nodes. The path that is passed to inspect() need not be the path of a lock: inspect()
// reads everything at and below that path.
//
// Use these functions to show the state to people, not to make decisions in a program. Nodes change
// while they are read, so two entries may reflect different moments.
//
// These functions block. They throw the same errors as the client's blocking calls. A node that is
// deleted during the call is omitted. A node that cannot be read is listed as unreadable.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/contender_info.hpp"
#include "conclave/layout.hpp"
#include "conclave/queue_options.hpp"

namespace conclave {

namespace client_impl {
struct cache_access;  // gives inspect() access to a cache
}

// --- recipes in use

// Counts the items, producers and consumers of a queue. Queue objects of one client with the same
// path and options count as one consumer. A consumer is counted in `consumers` from the first item
// that it finds. Before that, it is counted only in `waiting`, while it waits. The last three
// members count only objects of the class conclave::queue, not clients of other libraries.
struct queue_counts {
  std::size_t items = 0;      // items in the queue, including claimed ones
  std::size_t claimed = 0;    // items that a consumer has claimed
  std::size_t set_aside = 0;  // items set aside after too many attempts; not part of `items`
  std::size_t producers = 0;  // queue objects that have pushed items
  std::size_t consumers = 0;  // consumers that have found items to pop or claim
  std::size_t waiting = 0;    // consumers that wait for an item
};

struct recipe_info {
  // `unused` is a path that has no children but had some before (node_stat::cversion is not 0). Its
  // kind is unknown. An election is recognised only in the layouts election() and leader_latch().
  // An election with the layout of a lock is listed as a lock.
  enum class kind { lock, read_write_lock, semaphore, queue, election, unused };

  std::string path;
  kind what = kind::lock;
  // The name of the layout: layout::name(), to_string(queue_layout), or "named" for a named_mutex.
  // A contender of an unknown layout has its prefix as its layout. Empty for an unused path.
  std::string layout;
  // The holders, followed by the waiters in the order of the wait queue. For a queue, these are the
  // claims.
  std::vector<contender_info> contenders;
  std::optional<int> permits;  // of a semaphore, if its path records the number
  queue_counts queue;          // only for a queue

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

// Keeps the nodes of contenders between calls of inspect(). Each call then reads only the
// contenders that are new or have changed. A lock with 10,000 waiters costs one list of names and a
// few reads.
//
//   const auto cache = std::make_shared<conclave::inspection_cache>();
//   for (const auto& path : conclave::inspected_paths(paths))
//     zk.add_watch(path, conclave::watch_mode::recursive,
//                  [cache](const conclave::watch_event& e) { cache->on_event(e); });
//
// A cache belongs to one client and must receive every event of these watches. The members may be
// called from any thread. Only one call of inspect() at a time may use the cache.
class inspection_cache {
 public:
  inspection_cache();
  ~inspection_cache();
  inspection_cache(const inspection_cache&) = delete;
  inspection_cache& operator=(const inspection_cache&) = delete;

  // Removes the node of the event. If events may be missing, removes all nodes.
  void on_event(const watch_event& e);
  void clear();
  // Returns the number of contenders that inspect() has read from the server.
  std::uint64_t reads() const;

  struct state;

 private:
  friend struct client_impl::cache_access;
  std::unique_ptr<state> state_;
};

struct inspect_options {
  // More layouts to recognise, in addition to those that Conclave knows.
  std::vector<layout> layouts;
  // If true, the result also lists recipes that nobody uses, and unused paths.
  bool include_unused = false;
  // If set, contenders that the cache contains are not read again.
  std::shared_ptr<inspection_cache> cache;
};

// Contenders of different layouts on one path do not exclude each other, so inspect() returns a
// separate recipe_info for each layout.
inspection inspect(client& c, const std::vector<std::string>& paths,
                   const inspect_options& options = {});

// All paths that inspect() starts from: the given paths, and the sibling nodes that queues
// (PATH.conclave) and semaphores (PATH-__lock__) may have. Recursive watches on all these paths
// report every change that affects the result.
std::vector<std::string> inspected_paths(const std::vector<std::string>& paths);

// --- nodes left behind

// A node that find_unused() has found. `folder` means that nothing shows which recipe used the
// node.
struct unused_node {
  enum class kind { lock, semaphore, queue, folder };
  std::string path;
  kind what = kind::folder;
  std::int32_t version = 0;  // of the data
  // When the node was created or its data was last changed, by the server's clock.
  std::chrono::system_clock::time_point changed;
};

const char* to_string(unused_node::kind k) noexcept;

struct unused_nodes {
  std::vector<unused_node> nodes;  // children before their parents
  std::vector<unreadable_node> unreadable;
};

// Finds the nodes that recipes have left behind. The server itself removes empty containers. But
// not every server supports containers, and not every library creates them.
//
// A node is unused if all these conditions are met:
// - It had children before (node_stat::cversion is not 0), or it belongs to the sibling node of a
//   queue.
// - It has no children now, or only unused ones.
// - It has no data, or only data that this library has written into the path of a lock or
//   semaphore.
// - It was created, and its data was last changed, at or before the time `before`.
// So an empty node of another program also counts as unused if it once had children. Therefore pass
// only paths that recipes use.
//
// The function never returns these nodes: ephemeral nodes, / and /conclave, /zookeeper and
// everything below it, and folders that kazoo creates once and needs later. It does not return a
// queue's path while the queue's sibling node is in use.
unused_nodes find_unused(client& c, const std::vector<std::string>& paths,
                         std::chrono::system_clock::time_point before);

// The result for one node.
// - removed: the node no longer exists. This call, another client or the server has removed it.
// - in_use: the node was kept, because it has children (errc::not_empty) or because its data was
//   changed (errc::bad_version).
// - refused: the node was kept, because the server refused the removal for a different reason, for
//   example errc::no_auth.
// `ec` is the server's error. It is set for in_use and refused.
struct removal {
  enum class outcome { removed, in_use, refused } what = outcome::removed;
  error_code ec;
};
// Removes unused nodes. Returns one result for each node, in the same order. A node that is in use
// again is kept.
std::vector<removal> remove_unused(client& c, const std::vector<unused_node>& nodes);

// --- single nodes

// Returns true if recipes give names of this form to their own nodes: contenders, permits, items,
// and the sibling node of a queue. `name` is the last part of a path.
bool is_recipe_node(std::string_view name);
// Returns the path of the recipe to which this node belongs, as far as the names show it. Returns
// the path itself if they do not.
std::string recipe_path_of(const std::string& path);
// Returns true if kazoo's LockingQueue stores its items in a child of its path with this name.
bool is_items_folder(std::string_view name);

// Returns the number of permits that is recorded at the path of a semaphore, or nullopt if none is
// recorded.
std::optional<std::size_t> recorded_permits(const get_result& semaphore);

// Determines the layout of the queue at this path, as inspect() does. Returns kazoo_locking if the
// path has a child `entries` with items of that layout and nothing else. Otherwise returns the
// layout of the path's own items. If there are items of the zookeeper layout and of the kazoo
// layout, returns zookeeper. If there are no items, returns kazoo_locking for an empty child
// `entries`, and otherwise nullopt.
std::optional<queue_layout> find_queue_layout(client& c, const std::string& path);

// Returns the claimed items of a queue. The last part of contender_info::node is the name of the
// item.
std::vector<contender_info> queue_claims(client& c, const std::string& path, queue_layout names);

}  // namespace conclave
