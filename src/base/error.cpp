#include "conclave/error.hpp"

#include <cerrno>

namespace conclave {
namespace {

const char* text(errc e) noexcept {
  switch (e) {
    case errc::system_error: return "internal error of the server; its disk may be full";
    case errc::runtime_inconsistency:
      return "not executed, because an earlier operation of the transaction failed";
    case errc::data_inconsistency: return "the data of the server is inconsistent";
    case errc::connection_loss:
      return "the connection was lost before the reply arrived; the outcome is unknown";
    case errc::marshalling_error: return "the server cannot decode the request";
    case errc::unimplemented: return "the server does not support this operation";
    case errc::operation_timeout: return "the operation timed out on the server";
    case errc::bad_arguments: return "the server refused the arguments";
    case errc::no_node: return "no such node";
    case errc::no_auth: return "not allowed by the node's ACL";
    case errc::bad_version: return "the node has a different version";
    case errc::no_children_for_ephemerals: return "an ephemeral node cannot have children";
    case errc::node_exists: return "the node already exists";
    case errc::not_empty: return "the node has children";
    case errc::session_expired: return "the session has expired";
    case errc::invalid_acl: return "the ACL is empty or malformed";
    case errc::auth_failed: return "the server refused the credentials, or requires credentials";
    case errc::session_moved: return "the session has moved to another connection";
    case errc::not_read_only: return "the server is read-only at the moment";
    case errc::ephemeral_on_local_session: return "a local session cannot create ephemeral nodes";
    case errc::no_watcher: return "no such watch";
    case errc::request_timeout: return "the request timed out on the server";
    case errc::reconfig_disabled: return "the ensemble does not permit reconfiguration";
    case errc::session_closed_require_sasl_auth:
      return "the server requires authentication; pass credentials (SASL is not supported)";
    case errc::quota_exceeded: return "a quota of the server is exceeded";
    case errc::throttled: return "the server is overloaded; try again later";
    case errc::not_connected: return "no connection to a server; nothing was sent";
    case errc::closed: return "the client is closed";
    case errc::backlog_full: return "too many requests wait for a reply; nothing was sent";
    case errc::invalid_path: return "not a valid node path";
    case errc::invalid_argument: return "invalid argument";
    case errc::too_large: return "the request is too large; it had no effect";
    case errc::protocol_error: return "the server does not speak ZooKeeper's protocol";
    case errc::would_deadlock:
      return "a blocking call on the I/O thread would wait for itself; use the async_ function";
    case errc::forked:
      return "this client belongs to the parent process; create a new client after fork()";
    case errc::not_supported: return "not supported";
    case errc::bad_connect_string: return "the connect string is not valid";
    case errc::tls_failed: return "TLS failed";
    case errc::reply_too_large: return "the reply is larger than client_options::max_reply_bytes";
    case errc::lock_busy: return "another contender holds the lock";
    case errc::lock_lost: return "the lock is no longer held";
    case errc::waiter_node_deleted: return "somebody deleted the node of this waiter; try again";
    case errc::upgrade_refused:
      return "this thread has a shared hold on the lock and would wait for itself; unlock it first";
    case errc::layout_mismatch:
      return "other programs use the path with a different layout and would not see this contender";
    case errc::permits_mismatch:
      return "other programs use the path with a different number of permits or kind of lock";
    case errc::deadline_passed:
      return "the server did not answer in time; the session may have expired";
    case errc::node_deleted: return "somebody deleted the lock's node";
    case errc::bad_secret: return "the secret cannot be read";
  }
  return "unknown error";
}

class category final : public boost::system::error_category {
 public:
  constexpr category() noexcept : error_category{0x436f6e636c617665ULL} {}
  const char* name() const noexcept override { return "conclave"; }
  std::string message(int value) const override { return text(static_cast<errc>(value)); }
};

class conditions final : public boost::system::error_category {
 public:
  constexpr conditions() noexcept : error_category{0x436f6e6469746e73ULL} {}
  const char* name() const noexcept override { return "conclave.condition"; }
  std::string message(int value) const override {
    switch (static_cast<condition>(value)) {
      case condition::outcome_unknown: return "the outcome is unknown";
      case condition::session_dead: return "the session has ended";
      case condition::lock_lost: return "the lock is no longer held";
    }
    return "unknown condition";
  }
  bool equivalent(const error_code& code, int value) const noexcept override {
    if (code == error_code{ECANCELED, boost::system::system_category()})
      return static_cast<condition>(value) == condition::outcome_unknown;
    if (code.category() != error_category_of_library()) return false;
    const auto e = static_cast<errc>(code.value());
    const bool session_dead = e == errc::session_expired || e == errc::auth_failed ||
                              e == errc::closed || e == errc::session_closed_require_sasl_auth;
    switch (static_cast<condition>(value)) {
      case condition::outcome_unknown:
        return e == errc::connection_loss || e == errc::operation_timeout ||
               e == errc::request_timeout;
      case condition::session_dead: return session_dead;
      case condition::lock_lost:
        return session_dead || e == errc::lock_lost || e == errc::deadline_passed ||
               e == errc::node_deleted;
    }
    return false;
  }

 private:
  static const boost::system::error_category& error_category_of_library() noexcept {
    return conclave::error_category();
  }
};

}  // namespace

const boost::system::error_category& error_category() noexcept {
  static constexpr category instance;
  return instance;
}

const boost::system::error_category& condition_category() noexcept {
  static constexpr conditions instance;
  return instance;
}

error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), error_category()}; }

boost::system::error_condition make_error_condition(condition c) noexcept {
  return {static_cast<int>(c), condition_category()};
}

}  // namespace conclave
