// A lock whose node has a fixed name. The client that creates the node holds the lock, and all
// other clients watch it.
//
// Use mutex instead, unless people or other programs must find the lock by the name of its node.
// Each release notifies every waiter, and only one of them acquires the lock. The cost of a
// hand-off therefore grows with the number of waiters. Waiters are not ordered: the next holder is
// the waiter that creates the node first.
//
// If somebody deletes the node by hand, the next contender may acquire the lock before the old
// holder receives the watch event. If the old holder releases the lock in this interval, it can
// delete the new holder's node. If it commits a fenced transaction in this interval, the
// transaction can succeed, although the lock is lost. To keep this interval short, a holder watches
// its node from the grant on.
//
// Any client that may delete children of the parent can delete the lock's node. Conclave creates
// missing parents with client_options::default_acl. If that is empty, the parents are open to
// everybody. Create the parent yourself if it needs a different ACL.
//
// A persistent node with the same name blocks the lock until somebody removes it.
//
// See exclusive_lock.hpp for the member functions, ownership and errors. Its ordering rules do not
// apply here.
#pragma once

#include <string>

#include "conclave/exclusive_lock.hpp"

namespace conclave {

class named_mutex : public exclusive_lock {
 public:
  // `path` is the lock's node itself. lock_options::layout, tickets and on_enqueued are ignored.
  // Throws errc::invalid_path.
  named_mutex(client& c, std::string path, lock_options options = {});
};

}  // namespace conclave
