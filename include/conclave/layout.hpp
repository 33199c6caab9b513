// A layout defines the names of a lock's nodes, so that programs that use other libraries can share
// the lock.
//
// All programs must use the same layout for one lock path. A library sees only nodes whose names it
// knows. So if two layouts were used on one path, two contenders could hold the lock at the same
// time. Conclave throws errc::layout_mismatch if it finds a node that belongs to another layout
// that it knows. It ignores all other nodes.
//
// In every layout, Conclave's mutexes, readers and writers share one wait queue, ordered by
// sequence number, and exclude each other. In other libraries, mutexes do not see readers and
// writers, and readers and writers do not see mutexes. Conclave therefore also throws
// errc::layout_mismatch if a mutex finds a reader or writer of another library, or if a reader or
// writer finds a mutex of another library.
//
// The Lock and WriteLock of kazoo use the same node names, so Conclave cannot tell them apart.
// kazoo's Lock does not see readers. So on a path that has readers, use kazoo's WriteLock.
//
// A lock's path must not contain a name that looks like a contender's node, a permit or a queue's
// item, such as `/backups/lock-1763287000`. The lock `/backups` would mistake this path for a
// contender that never leaves. Locks, semaphores, elections and queues throw errc::invalid_path for
// such a path.
//
// The server appends a sequence number to each name. The sequence numbers order the contenders. The
// name of a Conclave node consists only of a prefix and the sequence number. The owner is in the
// node's data.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conclave {

class layout {
 public:
  // Apache Curator and go-zookeeper: lock-N, __READ__N, __WRIT__N, where N is the sequence number.
  static layout curator();
  // kazoo: __lock__N, __rlock__N.
  static layout kazoo();
  // The WriteLock of ZooKeeper's own recipes in Java and C: x-N. These recipes have no shared
  // locks. For shared locks, Conclave uses read-N and write-N.
  static layout zookeeper();

  // The LeaderElectionSupport of ZooKeeper's own recipes, for elections: n_N. To share an election
  // with Curator's LeaderSelector use curator(), and with kazoo's Election use kazoo().
  static layout election();
  // Curator's LeaderLatch, for elections: latch-N.
  static layout leader_latch();

  // User-defined names. A pattern is a name without its sequence number. A `*` in the pattern
  // matches any text in the names of other contenders. In the names of Conclave's own nodes, the
  // `*` is replaced with `filling`. For example, custom("lock-*-", session) creates and matches
  // lock-SESSION-N. custom() is for exclusive locks only, and custom_shared() is for shared locks
  // only. Throws errc::invalid_argument if a pattern is empty or has more than one `*`, or if an
  // argument contains a slash.
  static layout custom(std::string exclusive, std::string filling = {});
  static layout custom_shared(std::string read, std::string write, std::string filling = {});

  enum class role { exclusive, reader, writer };

  // The layouts that Conclave knows: the named ones above, custom("lock-*-") and
  // custom_shared("*-R-", "*-W-").
  static const std::vector<layout>& known();

  // The name of the layout: "curator", "leader-latch" and so on. A user-defined layout has its
  // pattern as its name, or its writers' pattern if it is for shared locks.
  const std::string& name() const noexcept { return name_; }
  // Returns true for election() and leader_latch(). The other layouts are for locks, and elections
  // may use them, too.
  bool is_for_elections() const noexcept { return is_for_elections_; }

  // Returns the name of a new node without its sequence number, or an empty string if the layout
  // does not have this role.
  std::string name_prefix(role r) const;

  struct contender {
    layout::role role;
    std::int32_t number;
    bool ours = true;  // the name has the form that Conclave creates, not that of another library
  };
  // Parses the name of a child of the lock's path. Returns nullopt if it is not a contender's name.
  std::optional<contender> parse(std::string_view name) const;
  // Like parse(), but returns nullopt also for a contender that is not in the wait queue of a
  // contender with the role `own`.
  std::optional<contender> parse_for(role own, std::string_view name) const;

  // Returns true if this is a contender's name in any layout known to Conclave.
  static bool in_known_layout(std::string_view name);
  // Returns the name of the first layout known to Conclave in which this is a contender's name.
  // Returns an empty string if there is none.
  static std::string known_as(std::string_view name);
  // Returns true if this may be a writer's node in any layout known to Conclave.
  static bool may_be_writer(std::string_view name);
  // Returns a message that explains why this child of the lock's path does not match this layout.
  std::string explain_mismatch(std::string_view child) const;

 private:
  layout() = default;
  struct pattern {
    layout::role role;
    std::string head;
    std::optional<std::string> tail;  // the text after a `*`
  };
  static pattern make(layout::role r, std::string_view text);
  bool share_wait_queue(role own, const contender& other) const;
  static std::optional<std::int32_t> match(const pattern& p, std::string_view name);
  static layout of_election(
      std::string name, std::initializer_list<std::pair<layout::role, std::string_view>> patterns);
  static layout of(std::string name,
                   std::initializer_list<std::pair<layout::role, std::string_view>> patterns,
                   std::string filling);
  // Conclave's own nodes are named after the first pattern of their role. Copies share the
  // patterns, because every acquisition copies the layout.
  std::shared_ptr<const std::vector<pattern>> patterns_;
  std::string filling_;
  std::string name_;
  bool is_for_elections_ = false;
};

const char* to_string(layout::role r) noexcept;

}  // namespace conclave
