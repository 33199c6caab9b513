// What can go wrong, one line per value.
//
// Asynchronous operations complete with an error_code. Blocking ones throw conclave::error, which
// carries the same code. Tokens that turn a code into an exception (use_awaitable, use_future)
// throw boost::system::system_error instead, as they do for every Asio operation; its code()
// compares alike, and as_tuple(use_awaitable) gives the code itself. Ask about the *meaning* of a
// code with the conditions at the end of this file rather than by listing codes:
//
//   if (ec == conclave::condition::outcome_unknown) { ... look before trying again ... }
#pragma once

#include <string>
#include <system_error>
#include <type_traits>

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>

namespace conclave {

using error_code = boost::system::error_code;

// Negative values are the server's own numbers; positive ones arise in this library.
// A cancelled operation completes with boost::asio::error::operation_aborted, as Asio's do.
enum class errc {
  // Answered by the server.
  system_error = -1,                        // the server failed inside
  runtime_inconsistency = -2,               // in a transaction: not tried, an earlier part failed
  data_inconsistency = -3,                  // the server found its data inconsistent
  connection_loss = -4,                     // sent, but the connection ended before the answer
  marshalling_error = -5,                   // the server could not read the request
  unimplemented = -6,                       // the server does not know this operation
  operation_timeout = -7,                   // the server gave up on the operation
  bad_arguments = -8,                       // the server refuses the arguments
  no_node = -101,                           // there is no such node
  no_auth = -102,                           // the ACL does not allow it
  bad_version = -103,                       // the node has another version
  no_children_for_ephemerals = -108,        // an ephemeral node cannot have children
  node_exists = -110,                       // there is such a node already
  not_empty = -111,                         // the node has children
  session_expired = -112,                   // the server ended the session
  invalid_acl = -114,                       // the ACL is empty or malformed
  auth_failed = -115,                       // the server refuses the credentials
  session_moved = -118,                     // the session continues on another connection
  not_read_only = -119,                     // a write on a server that only reads now
  ephemeral_on_local_session = -120,        // this kind of session has no ephemeral nodes
  no_watcher = -121,                        // no such watch
  request_timeout = -122,                   // the server gave up on the request
  reconfig_disabled = -123,                 // the ensemble cannot be changed at run time
  session_closed_require_sasl_auth = -124,  // the server wants SASL, which is not supported
  quota_exceeded = -125,                    // a quota of the server is used up
  throttled = -127,                         // the server is overloaded

  // Found here, before or instead of an answer.
  not_connected = 1,        // no server could be reached in time; nothing was sent
  closed = 2,               // the client was closed
  backlog_full = 3,         // too many requests or bytes outstanding; nothing was sent
  invalid_path = 4,         // not a valid node path
  invalid_argument = 5,     // arguments that no server would take
  too_large = 6,            // the request would not fit the server's frame limit
  protocol_error = 7,       // the server sent something that is not ZooKeeper's protocol
  would_deadlock = 8,       // a blocking call on the I/O thread, which it would wait for
  forked = 9,               // this client belongs to the parent process
  not_supported = 10,       // not supported by this library (SASL)
  bad_connect_string = 11,  // the connect string cannot be read
  tls_failed = 12,          // the TLS handshake failed, or a certificate is not the one expected
  bad_secret = 13,          // a secret's file or environment variable cannot be read
  reply_too_large = 14,     // the answer is above client_options::max_reply_bytes

  // Of locks.
  taken = 15,             // somebody else holds it, and we were not to wait
  lock_lost = 16,         // the call needs a lock that is not held, or not any more
  out_of_line = 17,       // our place in the line is gone: its node was deleted by somebody
  layout_mismatch = 18,   // other programs use it with another node layout, and would not see us
  upgrade_refused = 19,   // this thread holds it shared, and would wait for itself to write
  permits_mismatch = 20,  // in use with another number of permits, or as another kind of lock

  // Why a lock was lost; closed, session_expired and auth_failed are others.
  deadline_passed = 22,  // the server was silent for so long that the session may have expired
  node_deleted = 23,     // somebody deleted the lock's node
};

// What a code means for the caller.
enum class condition {
  // The request may or may not have taken effect: look at the nodes before repeating a write.
  outcome_unknown = 1,
  // The session is over; its ephemeral nodes are gone or will go.
  session_dead = 2,
  // A lock is not held any more, for whatever reason.
  lock_lost = 3,
};

const boost::system::error_category& error_category() noexcept;
const boost::system::error_category& condition_category() noexcept;

error_code make_error_code(errc e) noexcept;
boost::system::error_condition make_error_condition(condition c) noexcept;

// Thrown by blocking calls. what() names the operation, its path and the reason.
class error : public std::system_error {
 public:
  error(error_code ec, const std::string& what)
      : std::system_error{std::error_code{ec}, what}, code_{ec} {}

  // The code in the form asynchronous operations give, so that `e.code() == errc::no_node` and
  // `e.code() == condition::session_dead` read the same in both worlds.
  const error_code& code() const noexcept { return code_; }

 private:
  error_code code_;
};

}  // namespace conclave

template <>
struct boost::system::is_error_code_enum<conclave::errc> : std::true_type {};
template <>
struct boost::system::is_error_condition_enum<conclave::condition> : std::true_type {};
