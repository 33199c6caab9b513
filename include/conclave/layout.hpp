// How the nodes of a lock are named, so that programs of other libraries can share it.
//
// One lock path has one layout: a library sees only nodes whose names it knows, so two layouts on
// one path would mean two holders. Conclave refuses that with errc::layout_mismatch when it meets a
// node of another layout it knows. Nodes that fit no known layout are ignored.
//
// In every layout Conclave's mutexes, readers and writers stand in one wait queue, ordered by
// number: they exclude each other on one path. Other libraries' mutexes do not see readers, nor
// their readers mutexes, so a node of another library and another kind is refused as well. In
// kazoo's layout a Lock and a WriteLock have the same names and cannot be told apart: kazoo's Lock
// does not see readers, so use kazoo's WriteLock where Conclave or kazoo reads.
//
// The server ends each name with a number that orders the contenders. Conclave puts nothing else
// behind the prefix: who a node belongs to stands in its data.
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
  // lock-N, __READ__N, __WRIT__N: Apache Curator, go-zookeeper.
  static layout curator();
  // __lock__N, __rlock__N: kazoo.
  static layout kazoo();
  // x-N: the WriteLock of ZooKeeper's own recipes, in Java and C. Readers and writers, which those
  // do not have: read-N, write-N.
  static layout zookeeper();

  // For elections (curator() is Curator's LeaderSelector, kazoo() is kazoo's Election).
  // n_N: the LeaderElectionSupport of ZooKeeper's own recipes.
  static layout election();
  // latch-N: Curator's LeaderLatch.
  static layout leader_latch();

  // Names of one's own. A pattern is the name without its number; a `*` in it stands for anything
  // in the names of others, and for `filling` in ours: custom("lock-*-", session) makes and reads
  // lock-SESSION-N. Without a pattern for readers and writers it is for exclusive locks only.
  // Throws errc::invalid_argument for an empty pattern, one with several `*`, and for a slash.
  static layout custom(std::string exclusive, std::string filling = {});
  static layout custom_shared(std::string read, std::string write, std::string filling = {});

  enum class role { exclusive, reader, writer };

  // "curator", "kazoo", ..., or the pattern of one's own.
  const std::string& name() const noexcept { return name_; }

  // The name of a node to be created, up to the number; empty if there is no such role.
  std::string name_prefix(role r) const;

  struct contender {
    layout::role role;
    std::int32_t number;
    bool ours = true;  // named as Conclave names its nodes, or as others do
  };
  // What a child's name says; none if it belongs to no contender of this layout.
  std::optional<contender> parse(std::string_view name) const;

  // Whether it is a contender's name in a layout that Conclave knows, this one or another.
  static bool known_elsewhere(std::string_view name);
  // The name of the first layout that Conclave knows and that has such contenders; empty if none.
  static std::string known_as(std::string_view name);
  // Whether it may be a writer's node in a layout that Conclave knows.
  static bool may_be_writer(std::string_view name);
  // Why a lock of this layout does not go together with that child of its path, for people.
  std::string explain_mismatch(std::string_view child) const;

 private:
  layout() = default;
  struct pattern {
    layout::role role;
    std::string head;
    std::optional<std::string> tail;  // behind a `*`
  };
  static pattern make(layout::role r, std::string_view text);
  static std::optional<std::int32_t> match(const pattern& p, std::string_view name);
  static layout of(std::string name,
                   std::initializer_list<std::pair<layout::role, std::string_view>> patterns,
                   std::string filling);
  static const std::vector<layout>& known();

  // The first of a role is that of our own nodes. Shared by copies, of which every attempt at a
  // lock makes some.
  std::shared_ptr<const std::vector<pattern>> patterns_;
  std::string filling_;
  std::string name_;
};

}  // namespace conclave
