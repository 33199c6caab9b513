// Options for a queue. The defaults are meant for production use.
#pragma once

#include <cstddef>
#include <string>

namespace conclave {

// How the items' nodes are named. Choose the layout of the other library if its programs share the
// queue. All programs must use the same layout. N is the sequence number, and PPP is the priority.
enum class queue_layout {
  // PATH/qn-N: ZooKeeper's DistributedQueue and Curator's SimpleDistributedQueue. No priorities.
  zookeeper,
  // PATH/entry-PPP-N: kazoo's Queue.
  kazoo,
  // PATH/entries/entry-PPP-N, with claims at PATH/taken: kazoo's LockingQueue. Only for claiming:
  // popping fails with errc::invalid_argument.
  kazoo_locking,
};

// Returns the name of the layout: "zookeeper", "kazoo" or "kazoo-locking".
const char* to_string(queue_layout l) noexcept;

struct queue_options {
  queue_options() = default;

  queue_layout layout = queue_layout::zookeeper;

  // Producers wait while the queue has this many items, including claimed ones. 0 means no limit. A
  // push of more items than the capacity waits until the queue is empty. Each queue object checks
  // the limit separately, so objects that push at the same time can exceed it together.
  std::size_t capacity = 0;

  // If an item was claimed this many times and never completed, the next consumer that finds it
  // sets it aside: it moves the item out of the queue. queue::set_aside() lists such items. A claim
  // also counts if it was released, for example because the consumer was shut down. 0 means that no
  // item is set aside.
  int max_attempts = 0;

  // Describes this consumer to people who inspect claims. If empty, the host name and the process
  // id are used.
  std::string owner;
};

}  // namespace conclave
