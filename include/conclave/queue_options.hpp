// What can be set on a queue. The defaults are meant for use.
#pragma once

#include <cstddef>
#include <string>

namespace conclave {

// How the items' nodes are named, so that programs of other libraries can share the queue. Every
// program that uses it must agree.
enum class queue_layout {
  // PATH/qn-N: ZooKeeper's DistributedQueue, Curator's SimpleDistributedQueue. No priorities.
  zookeeper,
  // PATH/entry-PPP-N: kazoo's Queue.
  kazoo,
  // PATH/entries/entry-PPP-N, claims at PATH/taken: kazoo's LockingQueue. For claiming only: what
  // pops is refused with errc::invalid_argument.
  kazoo_locking,
};

struct queue_options {
  queue_options() = default;

  queue_layout layout = queue_layout::zookeeper;

  // Producers of this object wait while the queue has so many items, claimed ones included; 0: no
  // limit. What is larger by itself is pushed when the queue is empty. Each producer counts for
  // itself: several that push at the same moment may pass the limit by what they push.
  std::size_t capacity = 0;

  // An item that was claimed this many times and never completed is set aside by whoever meets it
  // next; see queue::set_aside(). 0: never.
  int max_attempts = 0;

  // Who we are, for people who look at claims. Empty: the host's name and the process id.
  std::string owner;
};

}  // namespace conclave
