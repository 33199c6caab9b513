// One request of the user's on its way through a session.
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

// What becomes of an operation whose connection ends before the answer.
enum class on_cut {
  fail,     // it may have taken effect: errc::connection_loss
  repeat,   // it changes nothing, or the same thing twice is the same as once
  succeed,  // the cut itself did what was asked
};

class operation {
 public:
  // As large as any frame can be.
  static constexpr std::size_t any_reply = std::numeric_limits<std::int32_t>::max();

  operation(wire::opcode type, on_cut rule) : type_{type}, on_cut_{rule} {}
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;
  virtual ~operation() = default;

  // Takes the answer apart; called inside the machine, before complete(). False if it is
  // malformed. Most answers with an error in their header have no body.
  virtual bool read_answer(const wire::reply_header& header, wire::reader& body) = 0;

  // Exactly once, by the driver, outside the machine.
  virtual void complete(error_code ec) noexcept = 0;

  // What the answer's code means for the caller, once it was read: no_node is a result for exists,
  // and a transaction has its errors in its parts.
  virtual error_code verdict(error_code answered) const noexcept { return answered; }

  // Why it may not be submitted any more, if anything; asked with the session's lock held.
  virtual error_code barred() const noexcept { return {}; }

  wire::opcode type() const noexcept { return type_; }
  on_cut cut_rule() const noexcept { return on_cut_; }

  // The whole frame with a zero xid, which the machine fills in when it sends.
  std::string frame;

  // The watch that a successful answer leaves behind, by the server's path.
  struct wanted_watch {
    watch_slot slot;
    std::string path;
    conclave::watcher watcher;
  };
  std::optional<wanted_watch> watch;

  // Of add_auth: shown again on every later connection once they were accepted.
  std::optional<credentials> shown;

  // The session and the connection in which alone it may be sent; 0: any. Elsewhere it completes
  // unsent with errc::session_expired or errc::not_connected.
  struct place {
    std::int64_t session = 0;
    std::uint64_t connection = 0;  // as machine::connection() counts them
  };
  place only_in;

  // Taken although the backlog is full: whoever sends such operations bounds them by itself.
  bool beyond_limits = false;

  // Its answer may be larger than client_options::max_reply_bytes, if it is not larger than this.
  std::size_t max_reply_bytes = 0;

  // Not kept by a batch of the user's, who may not even know of it.
  bool at_once = false;

  // Kept by the machine.
  place sent_in;
  unsigned repeats = 0;

  // For machine::cancel(); unique in this process.
  std::uint64_t id() const noexcept { return id_; }

 private:
  static std::uint64_t new_id() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  std::uint64_t id_ = new_id();
  wire::opcode type_;
  on_cut on_cut_;
};

}  // namespace conclave::session
