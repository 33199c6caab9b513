// A request from the user, from its submission to its completion.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "conclave/error.hpp"
#include "conclave/secret.hpp"
#include "conclave/watch.hpp"
#include "session/watch_registry.hpp"
#include "wire/records.hpp"

namespace conclave::session {

// What happens to an operation if the connection is lost before the reply.
enum class on_disconnect {
  fail,     // it completes with errc::connection_loss, because the outcome is unknown
  repeat,   // it is sent again, because it is a read or idempotent
  succeed,  // it completes without error, because the lost connection has the same effect
};

class operation {
 public:
  // Accepts a reply of any size.
  static constexpr std::size_t any_reply = std::numeric_limits<std::int32_t>::max();

  operation(wire::opcode type, on_disconnect rule) : type_{type}, disconnect_rule_{rule} {}
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;
  virtual ~operation() = default;

  // Parses the reply. Called inside the machine, before complete(). Returns false if the reply is
  // malformed. Most replies with an error code have no body.
  virtual bool read_reply(const wire::reply_header& header, wire::reader& body) = 0;

  // Called exactly once, by the driver, outside the machine.
  virtual void complete(error_code ec) noexcept = 0;

  // Converts the error code of the parsed reply for the caller. For example, no_node is a valid
  // result of exists, and the errors of a transaction are in its parts.
  virtual error_code verdict(error_code answered) const noexcept { return answered; }

  // Returns the reason if the operation may not be sent now. Called when the operation is
  // submitted, and again if it has waited for a connection. Called with the session's mutex locked.
  virtual error_code why_refused() const noexcept { return {}; }

  wire::opcode type() const noexcept { return type_; }
  on_disconnect disconnect_rule() const noexcept { return disconnect_rule_; }

  // The complete frame. The machine sets the xid when it sends the frame.
  std::string frame;

  // The watch that a successful reply sets. The path includes the chroot.
  struct wanted_watch {
    watch_slot slot;
    std::string path;
    conclave::watcher watcher;
    watch_owner owner = watch_owner::program;
  };
  std::optional<wanted_watch> watch;

  // For add_auth: the credentials. Once the server has accepted them, they are sent again on every
  // later connection.
  std::optional<credentials> new_credentials;

  // The only session and the only connection on which the operation may be sent (0 means any). If
  // that session or connection has ended, the operation is not sent and completes with
  // errc::session_expired or errc::not_connected.
  struct binding {
    std::int64_t session = 0;
    std::uint64_t connection = 0;  // see machine::connection()
  };
  binding bound_to;

  // Accept the operation even if the backlog is full. The sender itself limits the number of such
  // operations.
  bool beyond_limits = false;

  // When the connection is lost, an unsent write normally fails if the outcome of an earlier write
  // is unknown. With this flag, it is sent on the next connection. Set the flag if the operation
  // does not depend on an earlier write whose reply has not arrived. The recipes set it: they wait
  // for the reply to a write before they send a request that depends on it.
  bool independent = false;

  // Accept a reply larger than client_options::max_reply_bytes, up to this size.
  std::size_t max_reply_bytes = 0;

  // Send at once, even while the user has an open client::batch.
  bool at_once = false;

  // Set by the machine.
  binding sent_on;
  unsigned repeats = 0;

  // Identifies the operation for machine::cancel(). Unique in this process.
  std::uint64_t id() const noexcept { return id_; }

 private:
  static std::uint64_t new_id() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  std::uint64_t id_ = new_id();
  wire::opcode type_;
  on_disconnect disconnect_rule_;
};

}  // namespace conclave::session
