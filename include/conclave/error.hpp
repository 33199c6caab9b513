// Error codes and error conditions.
//
// Asynchronous operations complete with an error_code. Blocking operations throw conclave::error,
// which contains the same code. The completion tokens use_awaitable and use_future throw
// boost::system::system_error, as for every Asio operation. The code() of this exception is the
// same error_code. as_tuple(use_awaitable) returns the code without an exception.
//
// To learn what a code means for the caller, compare it with a condition instead of listing codes:
//
//   if (ec == conclave::condition::outcome_unknown) { ... read the node before you retry ... }
#pragma once

#include <string>
#include <system_error>
#include <type_traits>

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>

namespace conclave {

using error_code = boost::system::error_code;

// Negative values are ZooKeeper's error codes. Positive values come from this library. A cancelled
// operation completes with boost::asio::error::operation_aborted, as in Asio.
enum class errc {
  // From the server.
  system_error = -1,           // an internal server error
  runtime_inconsistency = -2,  // in a transaction: not executed, because an earlier part failed
  data_inconsistency = -3,     // the server found its data inconsistent
  connection_loss = -4,        // the connection was lost before the reply; the outcome is unknown
  marshalling_error = -5,      // the server could not parse the request
  unimplemented = -6,          // the server does not support this operation
  operation_timeout = -7,      // the operation timed out in the server; the outcome is unknown
  bad_arguments = -8,          // the server rejects the arguments
  no_node = -101,              // the node does not exist
  no_auth = -102,              // the ACL does not allow the operation
  bad_version = -103,          // the node has a different version
  no_children_for_ephemerals = -108,  // an ephemeral node cannot have children
  node_exists = -110,                 // the node already exists
  not_empty = -111,                   // the node has children
  session_expired = -112,             // the session has expired
  invalid_acl = -114,                 // the ACL is empty or malformed
  auth_failed = -115,                 // the server rejects the credentials
  session_moved = -118,               // the session has moved to another connection
  not_read_only = -119,               // a write on a server that accepts only reads
  ephemeral_on_local_session = -120,  // a local session cannot have ephemeral nodes
  no_watcher = -121,                  // there is no such watch
  request_timeout = -122,             // the request timed out in the server; the outcome is unknown
  reconfig_disabled = -123,           // the ensemble cannot be reconfigured at run time
  session_closed_require_sasl_auth = -124,  // the server requires authentication
  quota_exceeded = -125,                    // a quota of the server is exceeded
  throttled = -127,                         // the server is overloaded

  // From this library.
  not_connected = 1,        // nothing was sent: no server could be reached in time, or
                            // the outcome of an earlier write is unknown (client.hpp)
  closed = 2,               // the client was closed
  backlog_full = 3,         // too many requests wait for a reply; nothing was sent
  invalid_path = 4,         // not a valid node path, or not allowed for a lock (layout.hpp)
  invalid_argument = 5,     // the arguments are not valid
  too_large = 6,            // larger than client_options::max_request_bytes or, in a recipe,
                            // than the server accepts; the request had no effect
  protocol_error = 7,       // the server does not follow ZooKeeper's protocol
  would_deadlock = 8,       // a blocking call on the I/O thread would wait for itself
  forked = 9,               // the client belongs to the parent process
  not_supported = 10,       // not supported by this library
  bad_connect_string = 11,  // the connect string is not valid
  tls_failed = 12,          // the TLS handshake failed, or a certificate is not valid
  bad_secret = 13,          // a file or environment variable with a secret cannot be read
  reply_too_large = 14,     // the reply is larger than client_options::max_reply_bytes

  // From locks.
  lock_busy = 15,            // another contender holds the lock, and the call does not wait
  lock_lost = 16,            // the call needs a lock that is not held
  waiter_node_deleted = 17,  // somebody deleted the node of a waiter
  layout_mismatch = 18,      // other programs use a different node layout on this path
  upgrade_refused = 19,      // the thread has a shared hold and would wait for itself
  permits_mismatch = 20,     // the path is used with a different number of permits or kind of lock

  // Reasons for a loss. The other reasons are closed, session_expired and auth_failed.
  deadline_passed = 22,  // the server did not answer for so long that the session may have expired
  node_deleted = 23,     // somebody deleted the lock's node
};

// Error conditions group the codes by their meaning for the caller.
enum class condition {
  // The request may or may not have taken effect. Read the nodes before you repeat a write. Also
  // matches operation_aborted.
  outcome_unknown = 1,
  // The session has ended. The server has deleted its ephemeral nodes or will delete them.
  session_dead = 2,
  // The lock is no longer held. Also matches all codes of session_dead.
  lock_lost = 3,
};

const boost::system::error_category& error_category() noexcept;
const boost::system::error_category& condition_category() noexcept;

error_code make_error_code(errc e) noexcept;
boost::system::error_condition make_error_condition(condition c) noexcept;

// Thrown by blocking calls. what() contains the operation, its path and the reason.
class error : public std::system_error {
 public:
  error(error_code ec, const std::string& what)
      : std::system_error{std::error_code{ec}, what}, code_{ec} {}

  // The code that an asynchronous operation would complete with. It can be compared with errc and
  // condition.
  const error_code& code() const noexcept { return code_; }

 private:
  error_code code_;
};

}  // namespace conclave

template <>
struct boost::system::is_error_code_enum<conclave::errc> : std::true_type {};
template <>
struct boost::system::is_error_condition_enum<conclave::condition> : std::true_type {};
