// The plainest lock: a node of a name that can be there only once. Who creates it holds the lock,
// and everybody else watches it.
//
// It has what its plainness brings. Every release wakes every waiter, and all but one have woken in
// vain (the herd): the cost of a hand-off grows with the number of waiters. Nobody stands in a
// line, so luck decides who is next. Take mutex, unless the node's very name matters: to people, or
// to programs that know the lock by it.
//
// Its name comes back with every holder. It therefore watches its node from the grant on, and its
// holds are told apart by their sessions. What remains: if somebody deletes the node by hand, then
// until its holder has heard of that (one event of the server) the next one may have the lock, too,
// and a release or a fenced transaction sent in that moment takes the next one's node for its own.
//
// Whoever may delete children of its parent can delete its node. Missing parents are created open
// for everybody (client_options::default_acl): if that matters, create the parent before.
//
// A node of that name that is there for good (created by hand, not ephemeral) is waited for like
// any other, for ever: it is a way to keep everybody out.
//
// Its calls, and what holds for them, are those of exclusive_lock.hpp, but for the order.
#pragma once

#include <string>

#include "conclave/exclusive_lock.hpp"

namespace conclave {

class named_mutex : public exclusive_lock {
 public:
  // `path` is the lock's node itself. lock_options::layout, tickets and on_enqueued mean nothing
  // here. Throws errc::invalid_path.
  named_mutex(client& c, std::string path, lock_options options = {});
};

}  // namespace conclave
