// A hold describes one acquisition of a lock: whether the lock is still held, for how long, and its
// fencing token.
//
//   std::scoped_lock guard{mutex};
//   const conclave::hold hold = mutex.hold();
//   storage.write(data, hold.fencing_token());           // storage refuses lower tokens
//   client.commit(hold.fenced(transaction{}.set(...)));  // fails if the lock is lost
//
// Until it is released, a hold is in one of these states:
// - Held: the client is connected, and the session cannot have expired.
// - Suspended: the connection is lost, but the session cannot have expired yet, so held() is still
//   true. The hold is restored when the session reconnects and the client has verified the
//   lock's node.
// - Lost: the session ended, its deadline passed, or the lock's node was deleted. A lost hold is
//   never restored.
//
// A server expires a session when it receives no request for the session timeout T. The client
// counts T from the moment it *sent* the last request that the server answered. Nine tenths of T
// later, the deadline of the hold passes, and the client reports the loss, with or without a
// connection. A single server therefore cannot grant the lock to another contender before the loss
// is reported. On an ensemble this is best effort (see client::session_deadline()). Use fencing
// tokens where exclusion must be strict.
//
// On the Unix socket of the embedded server, a session lives as long as its process keeps the
// connection open. A hold in such a session has no deadline: a process can be stopped for hours and
// still hold the lock.
//
// A hold is a small value, and its copies share the same state. A hold may outlive the lock object.
// All members may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "conclave/transaction.hpp"

namespace conclave {

namespace recipes {
class hold_state;
}

class hold {
 public:
  hold() = default;  // an empty hold, which is not held and never was
  explicit hold(std::shared_ptr<const recipes::hold_state> state) : state_{std::move(state)} {}

  // The zxid of the transaction that created the lock's node. It is larger than the fencing token
  // of every earlier holder of the same lock, even after servers or clients restart. Holds that a
  // lock object grants without the server have the same token (lock_options::keep_for and
  // local_handoffs). To distinguish such holds, a program adds a counter of its own to the token.
  // Returns 0 for an empty hold.
  std::int64_t fencing_token() const noexcept;

  // Returns true if the lock is neither released nor lost and the session cannot have expired. Also
  // true while the hold is suspended.
  bool held() const noexcept;
  explicit operator bool() const noexcept { return held(); }

  // Returns how long held() stays true without another reply from the server. Returns zero if the
  // lock is not held, and a time of many years if the hold has no deadline.
  std::chrono::nanoseconds remaining() const noexcept;

  // A stop is requested on this token when the hold is lost, but not when it is released. Stop
  // callbacks run on the I/O thread or on a thread that calls into this library. They must not
  // block. An empty hold returns a token on which no stop is ever requested.
  std::stop_token lost() const noexcept;

  // The reason for the loss: errc::deadline_passed, errc::session_expired, errc::node_deleted,
  // errc::closed or errc::auth_failed. All of them compare equal to condition::lock_lost. The
  // reason is set before a stop is requested on lost(). Returns an empty error_code if the hold is
  // not lost or was released.
  error_code why_lost() const noexcept;

  // Returns true if the lock is held and the connection is lost, or the lock's node is not verified
  // yet on the new connection.
  bool suspended() const noexcept;

  // The path of the lock's node. For a lock on several paths, it is the node in the first path in
  // byte order. Empty for an empty hold.
  std::string node() const;

  // The id of this acquisition, 32 hexadecimal digits. It is part of the data of the lock's nodes
  // (contender_info::id) and is never used again. Holds that a lock object grants without the
  // server have the same id. A downgrade changes it. Empty for an empty hold, and for elections and
  // queues.
  std::string id() const;

  // The id of the session that holds the lock. 0 for an empty hold.
  std::int64_t session_id() const noexcept;

  // Returns a copy of the transaction that takes effect only during this hold. Throws
  // errc::lock_lost if the lock is not held now. Commit the copy with the lock's own client. The
  // client sends it only while the lock is held, and only in the session that holds the lock.
  // Otherwise the commit fails with errc::lock_lost, and nothing is sent. The server also checks
  // that the lock's node exists. If somebody deleted the node, the commit fails with errc::no_node,
  // which does not equal condition::lock_lost: check for both. Several holds of one session can
  // fence the same transaction.
  transaction fenced(transaction t) const;

  // Used by the library.
  const recipes::hold_state* state() const noexcept { return state_.get(); }
  const std::shared_ptr<const recipes::hold_state>& shared_state() const noexcept { return state_; }

 private:
  std::shared_ptr<const recipes::hold_state> state_;
};

}  // namespace conclave
