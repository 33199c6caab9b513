// A lock that is held, and what can be known about it.
//
//   std::scoped_lock guard{mutex};
//   const conclave::hold hold = mutex.hold();
//   storage.write(data, hold.fencing_token());            // refused there if a newer one was seen
//   client.commit(hold.fenced(transaction{}.set(...)));   // not done if the lock is gone
//
// Exclusion ends with the session. At the server a session lives for its timeout T from the last
// request the server heard. So a hold counts from the moment *before* that request was sent, gives
// up a tenth of T early, and is lost then, by its own clock, whether or not there is a connection:
// before a single server can give the lock to anybody else. On an ensemble that is best effort
// (client::session_deadline says why), and what must be safe compares fencing tokens.
//
// On the Unix socket of our own server a session lives as long as its process holds the connection
// open. There is nothing to count then: a process may be stopped for hours and still hold its lock.
//
// A lost connection alone is not a loss: the hold is suspended, and restored when the same session
// is attached again and the lock's node was found unharmed. Once lost, a hold stays lost.
//
// A hold is a small value; copies tell about the same. It can outlive the lock object. All members
// may be called from any thread.
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
  hold() = default;  // of nothing: not held, never was
  explicit hold(std::shared_ptr<const recipes::hold_state> state) : state_{std::move(state)} {}

  // Strictly larger than that of every earlier holder of this lock, over restarts of anything: the
  // zxid of the transaction that created the lock's node. 0 for a hold of nothing.
  std::int64_t fencing_token() const noexcept;

  // Neither released nor lost, and the session cannot have expired by now. True as well while it
  // is suspended.
  bool held() const noexcept;
  explicit operator bool() const noexcept { return held(); }

  // How long that stays true without another word from the server; zero if it is not held.
  std::chrono::nanoseconds remaining() const noexcept;

  // Asked to stop when the hold is lost (not when it is released). Callbacks run on the I/O thread
  // or on a thread that calls into this library, and must not block.
  std::stop_token lost() const noexcept;

  // Why it was lost: errc::deadline_passed, errc::session_expired, errc::node_deleted,
  // errc::closed or errc::auth_failed, all of which compare equal to condition::lock_lost. Set
  // before lost() is asked to stop. No error as long as it is not lost, and if it was released.
  error_code why_lost() const noexcept;

  bool suspended() const noexcept;

  // The lock's node. Of a lock of several paths, that in the first one by the alphabet.
  std::string node() const;

  // The session it belongs to.
  std::int64_t session_id() const noexcept;

  // The transaction, to be committed only while this is held, and only in the session that holds
  // it, so by the client of the lock: errc::lock_lost otherwise, and nothing was sent. It also
  // checks that the lock's node is there: errc::no_node if somebody has deleted that by hand.
  // One transaction can be fenced by several holds. Throws errc::lock_lost if nothing is held.
  transaction fenced(transaction t) const;

 private:
  std::shared_ptr<const recipes::hold_state> state_;
};

}  // namespace conclave
