// Runs one session: it connects the state machine to a socket, a clock and the I/O thread.
//
// Calling threads serialise, submit and send requests themselves. The I/O thread reads and delivers
// completions, watch events and session events, one at a time and in the machine's order. No mutex
// is locked while it delivers them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "conclave/client_options.hpp"
#include "runtime/io_thread.hpp"
#include "runtime/open_batches.hpp"
#include "runtime/session_listeners.hpp"
#include "runtime/socket_link.hpp"
#include "session/machine.hpp"
#include "tls/tls_engine.hpp"

namespace conclave::runtime {

// The state of a session. A default-constructed status describes a session in a forked child
// process.
struct session_status {
  std::int64_t session_id = 0;
  bool connected = false;
  error_code end_reason = errc::forked;  // see session::machine::end_reason()
  // See client::session_deadline(). This is time_point::max() while the open connection keeps the
  // session alive.
  session::time_point deadline = session::time_point::min();
};

class session_driver : public std::enable_shared_from_this<session_driver> {
 public:
  // Starts to connect. Throws only if the TLS files are not valid.
  static std::shared_ptr<session_driver> start(std::shared_ptr<io_loop> loop, connect_string where,
                                               const client_options& options);
  session_driver(std::shared_ptr<io_loop> loop, connect_string where,
                 const client_options& options);
  ~session_driver();

  // Takes ownership of the operation. On error, returns the reason and leaves `op` unchanged. If
  // `blocking` is true, waits while the backlog is full.
  error_code submit(std::unique_ptr<session::operation>& op, bool blocking);

  void cancel(std::uint64_t id);

  // Like submit(), but for an operation that removes a watch. If the server's watch need not be
  // removed, the operation completes without being sent.
  error_code submit_watch_removal(std::unique_ptr<session::operation>& op, watch_kind kind,
                                  std::string_view path, const watcher& w, bool blocking);

  // While a batch is open, submitted requests stay in the buffer, unless a blocking call sends the
  // buffer. For open_batches, an operation with at_once is an urgent request.
  void begin_batch(open_batches::kind k);
  void end_batch(open_batches::kind k);

  // Closes the session. The operation, if any, completes when the session has ended.
  void begin_close(std::unique_ptr<session::operation> when_closed = nullptr);
  // Returns when the session has ended and all handlers have run. Returns at once on the I/O
  // thread.
  void wait_closed();
  // Returns true if the session is connected within `limit`.
  bool wait_connected(std::chrono::nanoseconds limit);

  // Registers a listener for session events; see session_listeners::add().
  std::shared_ptr<void> listen(session_listeners::callback call) {
    return listeners_.add(std::move(call));
  }

  // Calls f(machine) with the mutex locked. Returns `in_child` in a forked child process.
  template <class T, class F>
  T ask(T in_child, F f) const {
    if (loop_->in_child()) return in_child;
    const std::lock_guard lock{mutex_};
    return f(machine_);
  }

  session_status status() const;
  // A time that is not later than status().deadline. Takes no mutex. Once the session has ended,
  // this time has passed, and it does not become later until the end was delivered to the
  // listeners.
  session::time_point early_deadline() const noexcept {
    return session::time_point{session::duration{early_deadline_.load(std::memory_order_acquire)}};
  }

  io_loop& loop() noexcept { return *loop_; }
  // Completes an operation that submit() refused. Like all completions, this happens on the I/O
  // thread and never inside the function that started the operation.
  void refuse(std::unique_ptr<session::operation> op, error_code ec);

 private:
  // The state of the output to link_.
  enum class output_phase {
    closed,   // there is no connection, or it has failed; connected() opens it
    open,     // flush() sends, on any thread
    blocked,  // the socket's buffer is full; process() starts to wait for room
    waiting,  // the I/O thread waits for room; its handler sends the rest
  };

  // Called on the I/O thread.
  void process();
  void apply(const session::machine::command& command);
  void connect(const endpoint& to);
  void connected(const std::shared_ptr<socket_link>& link);
  void read(const std::shared_ptr<socket_link>& link);
  void wait_readable(const std::shared_ptr<socket_link>& link);
  void deliver(session::notice& n) noexcept;

  // Called on the I/O thread with the mutex locked.
  void wait_writable(const std::shared_ptr<socket_link>& link);
  void rearm_timer();

  // Called with the mutex locked.
  void wait_for_room(std::unique_lock<std::mutex>& lock);
  // Returns how long to wait for more replies before the next read.
  std::chrono::nanoseconds receive(std::string_view bytes, session::time_point now);
  void decrypt(std::string_view bytes, session::time_point now);
  void flush();
  void connection_lost(error_code why);
  bool needs_processing() const noexcept;
  void publish_deadline() noexcept;

  // Returns true if the caller runs inside process(), which sends requests and delivers notices
  // before it returns.
  bool inside_process() const noexcept { return loop_->is_current() && processing_; }

  enum class wake { if_needed, always };
  // Unlocks the mutex, and wakes the I/O thread if it has something to do.
  void unlock_and_wake(std::unique_lock<std::mutex>& lock, wake when = wake::if_needed);

  std::shared_ptr<io_loop> loop_;
  boost::asio::steady_timer gathering_;  // delays the next read, so that replies can accumulate
  log_callback log_;
  std::optional<tls::tls_settings> tls_;
  const bool inheritable_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // for threads that wait for room, a connection or the end
  unsigned waiters_ = 0;
  session::machine machine_;
  std::atomic<session::duration::rep> early_deadline_{session::duration::min().count()};
  std::shared_ptr<socket_link> link_;
  output_phase output_ = output_phase::closed;
  open_batches batches_;
  bool send_requested_ = false;  // the I/O thread was woken to send the buffer
  std::optional<tls::tls_engine> engine_;
  endpoint host_;
  session::time_point armed_ = session::time_point::max();
  std::vector<std::unique_ptr<session::operation>> closers_;
  bool ended_ = false;  // the session has ended and all its notices were delivered

  // Used only by the I/O thread.
  bool processing_ = false;
  std::optional<boot_timers::handle> timer_;
  std::string plain_;

  session_listeners listeners_;
};

}  // namespace conclave::runtime
