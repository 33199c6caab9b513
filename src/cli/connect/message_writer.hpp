// Writes messages to stderr on a thread of its own.
//
// A write blocks if the user has stopped the terminal with Ctrl-S, or if stderr is a full pipe. The
// client's I/O thread must not block, because it sends the pings and reconnects. So it passes its
// messages to this object.
#pragma once

#include <memory>
#include <string>

namespace conclave::cli {

class message_writer {
 public:
  message_writer();
  // Calls flush().
  ~message_writer();
  message_writer(const message_writer&) = delete;
  message_writer& operator=(const message_writer&) = delete;

  // Writes "conclave: WHAT" in a line of its own. Does not block. If too many messages are waiting,
  // the message is dropped, and a later line contains the number of dropped messages. May be called
  // from any thread.
  void post(const std::string& what) noexcept;

  // Returns when all messages are written, or when stderr has been blocked for a second.
  void flush() noexcept;

 private:
  struct state;
  std::shared_ptr<state> state_;  // shared with the thread, which may be blocked at our end
};

}  // namespace conclave::cli
