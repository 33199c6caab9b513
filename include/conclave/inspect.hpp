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
// The functions that have a client as a parameter block, and throw the same errors as the client's
// blocking calls. A node that is deleted during the call is omitted. A node that cannot be read is
// listed as unreadable.
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

// Counts the items, producers and consumers of a queue.
//
// `producers`, `consumers` and `waiting` count only objects of the class conclave::queue, not
// clients of other libraries. Queue objects of one client with the same path and options count as
// one consumer, but each of them counts as a producer. A consumer counts in `consumers` from the
// first item that it finds until its queue object is destroyed. While it waits, it counts in
// `waiting`, whether it counts in `consumers` or not.
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
  // If the layout is unknown, this is the name of the contenders' nodes without the sequence
  // number. Empty for an unused path.
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

// Stores the contenders that inspect() has read, for its next calls. Each call then reads only the
// contenders that are new or have changed. A lock with 10,000 waiters costs one list of names and a
// few reads.
//
// Watches report which contenders have changed. Set them before the first call of inspect(). If
// they end (watch_event::kind::session_ended, watch_lost), set them again and then call clear(). If
// add_watch() fails, do not use a cache. Servers before ZooKeeper 3.6 have no recursive watches.
//
//   const auto cache = std::make_shared<conclave::inspection_cache>();
//   for (const auto& path : conclave::inspected_paths(paths))
//     zk.add_watch(path, conclave::watch_mode::recursive,
//                  [cache](const conclave::watch_event& e) { cache->on_event(e); });
//
// A cache belongs to one client and must receive every event of these watches. The members may be
// called from any thread. Only one call of inspect() at a time may use the cache. A contender with
// more than 4 KiB of data is not stored. When the cache has more than 200,000 contenders, the next
// call of inspect() clears it.
class inspection_cache {
 public:
  inspection_cache();
  ~inspection_cache();
  inspection_cache(const inspection_cache&) = delete;
  inspection_cache& operator=(const inspection_cache&) = delete;

  // Removes the node of the event from the cache, so that the next inspect() reads it again. If the
  // event shows that others may be missing, clears the cache.
  void on_event(const watch_event& e);
  void clear();
  // Returns how many contenders inspect() has read from the server since the cache was created. A
  // contender counts each time it is read.
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

// Contenders of different layouts on one path do not exclude each other (layout.hpp), so inspect()
// returns a separate recipe_info for each layout.
inspection inspect(client& c, const std::vector<std::string>& paths,
                   const inspect_options& options = {});

// Returns all paths that inspect() starts from: the given paths, and for each of them the sibling
// nodes that a queue (PATH.conclave) or a semaphore of kazoo (PATH-__lock__) would have. Recursive
// watches on all these paths report every change that affects the result.
std::vector<std::string> inspected_paths(const std::vector<std::string>& paths);

// --- nodes left behind

// A node that find_unused() has found.
struct unused_node {
  enum class kind {
    lock,       // the path of a lock or election: it has data that this library has written
    semaphore,  // the path of a semaphore, or one of its two children `locks` and `leases`
    queue,      // the path of a queue, its sibling node, or a child of the sibling node
    folder      // nothing shows which recipe used the node
  };
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
// - It was created, and its data was last changed, at or before the time `before`, by the server's
//   clock. Creations and deletions of its children do not change this time.
// So an empty node of another program also counts as unused if it once had children. Therefore pass
// only paths that recipes use.
//
// Choose a time well before now, for example an hour ago (the default of `conclave gc`), so that
// the difference between the two clocks does not matter. The node of a lock that was released a
// moment ago can be older than that. It is then returned, too. Removing it does no harm to programs
// that use Conclave, because they create missing nodes again. kazoo's Lock and Queue objects create
// them only at their start.
//
// The function never returns these nodes: ephemeral nodes, / and /conclave, /zookeeper and
// everything below it, and the children `entries` and `taken` of a path that has both. (kazoo's
// LockingQueue creates these two only at its start.) It does not return a queue's path while the
// queue's sibling node is in use.
unused_nodes find_unused(client& c, const std::vector<std::string>& paths,
                         std::chrono::system_clock::time_point before);

// The result for one node.
// - removed: the node no longer exists. This call, another client or the server has removed it.
// - in_use: the node was kept, because it has children (errc::not_empty) or because its data was
//   changed (errc::bad_version).
// - refused: the node was kept, because the client is not permitted to remove it (errc::no_auth).
// `ec` is the server's error. It is set for in_use and refused.
struct removal {
  enum class outcome { removed, in_use, refused } what = outcome::removed;
  error_code ec;
};
// Removes unused nodes. Returns one result for each node, in the same order. A node that is in use
// again is kept. If the call throws, for example because the connection is lost, it may already
// have removed some of the nodes. Call find_unused() again to find the others.
std::vector<removal> remove_unused(client& c, const std::vector<unused_node>& nodes);

// --- single nodes

// Returns true if this is the name of a contender (in a layout that Conclave knows), of a permit,
// of a queue item or of the sibling node of a queue. `name` is the last part of a path.
bool is_recipe_node(std::string_view name);
// Returns the path of the recipe to which this node belongs, as far as the names in `path` show it.
// If they show nothing, returns `path` itself. So the path of a recipe is returned unchanged,
// unless its name looks like that of a recipe's own node.
std::string recipe_path_of(const std::string& path);
// Returns true if kazoo's LockingQueue stores its items in a child of its path with this name.
bool is_items_folder(std::string_view name);

// Returns the number of permits that is recorded in the data of a semaphore's path, or nullopt if
// none is recorded. `semaphore` is the result of client::get() for that path.
std::optional<std::size_t> recorded_permits(const get_result& semaphore);

// Determines the layout of the queue at this path. Returns the first of these that applies:
// - kazoo_locking if the path has a child `entries` that has children, and all of them are items of
//   that layout
// - zookeeper if a child of the path is an item of that layout
// - kazoo if a child of the path is an item of that layout
// - kazoo_locking if the path has an empty child `entries`
// - nullopt
std::optional<queue_layout> find_queue_layout(client& c, const std::string& path);

// Returns the claims of a queue with this layout, one for each claimed item. The last part of
// contender_info::node is the name of the item. `holds` is true, `owner` describes the consumer,
// and `since` is the time of the claim. The role has no meaning.
std::vector<contender_info> queue_claims(client& c, const std::string& path, queue_layout names);

}  // namespace conclave
