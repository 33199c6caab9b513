// Runs one session: the machine behind a short lock, a socket, the clock, and the I/O thread.
//
// A calling thread serialises, submits and sends by itself; nothing is posted just to be sent. The
// I/O thread reads, and alone delivers: completions, watches and session events reach the user
// from it, one at a time, in the machine's order, with no lock held.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "conclave/client_options.hpp"
#include "conclave/session_event.hpp"
#include "runtime/io_thread.hpp"
#include "runtime/socket_link.hpp"
#include "session/machine.hpp"
#include "tls/tls_engine.hpp"

namespace conclave::runtime {

class session_driver : public std::enable_shared_from_this<session_driver> {
 public:
  // Begins to connect. Throws only what is wrong with the TLS files.
  static std::shared_ptr<session_driver> start(std::shared_ptr<io_loop> loop, connect_string where,
                                               const client_options& options);
  session_driver(std::shared_ptr<io_loop> loop, connect_string where,
                 const client_options& options);
  ~session_driver();

  // Takes the operation over, or says why not and leaves it alone. For a call that blocks, a full
  // backlog is something to wait for.
  error_code submit(std::unique_ptr<session::operation>& op, bool blocking);

  void cancel(std::uint64_t id);

  // As submit(), for an operation that tells the server to forget a watch: not sent at all, and
  // completed, if nobody is left without it anyway.
  error_code submit_watch_removal(std::unique_ptr<session::operation>& op, watch_kind kind,
                                  std::string_view path, const watcher& w, bool blocking);

  // What is submitted stays in the buffer until the last uncork(), or until a call that waits or an
  // operation that is to be sent at once. These, in turn, wait for each other between gather() and
  // scatter().
  void cork();
  void uncork();
  void gather();
  void scatter();

  // Ends the session; the operation, if any, completes when that is done.
  void begin_close(std::unique_ptr<session::operation> when_closed = nullptr);
  // Returns when the session is over and the last handler was called; at once on the I/O thread.
  void wait_closed();
  // Whether there was a connection in time.
  bool wait_connected(std::chrono::nanoseconds limit);

  // Session events from now on. The returned token keeps the listener; once its destruction has
  // returned, the listener is not running and will not be called (unless destroyed by itself).
  std::shared_ptr<void> listen(std::function<void(const session_event&)> listener);

  // What the machine knows, under the lock; in a child process nothing is known.
  template <class T, class F>
  T ask(T in_child, F f) const {
    if (loop_->in_child()) return in_child;
    const std::lock_guard lock{mutex_};
    return f(machine_);
  }

  // How the session stands. The deadline is that of client::session_deadline(): a connection that
  // the server holds a session open for, and that the kernel knows to be whole, has none.
  struct standing {
    std::int64_t session_id = 0;
    bool connected = false;
    bool over = true;
    session::time_point deadline = session::time_point::min();
  };
  standing stands() const;

  io_loop& loop() noexcept { return *loop_; }
  // Completes an operation that was refused, from the I/O thread like any other, never from inside
  // its initiation.
  void refuse(std::unique_ptr<session::operation> op, error_code ec);

 private:
  struct listener;

  // On the I/O thread.
  void process();
  void apply(const session::machine::wish& wish);
  void connect(const endpoint& to);
  void connected(const std::shared_ptr<socket_link>& link);
  void read(const std::shared_ptr<socket_link>& link);
  void wait_readable(const std::shared_ptr<socket_link>& link);
  void deliver(session::notice& n) noexcept;

  // On the I/O thread with the lock held.
  void wait_writable(const std::shared_ptr<socket_link>& link);
  void rearm_timer();

  // With the lock held.
  void wait_for_room(std::unique_lock<std::mutex>& lock);
  // Returns how long to let further answers gather before the next read.
  std::chrono::nanoseconds take_in(std::string_view bytes, session::time_point now);
  void decrypt(std::string_view bytes, session::time_point now);
  void flush();
  void lose_link(error_code why);

  bool needs_processing() const noexcept;
  bool held_back() const noexcept { return gathers_ > 0 || (corks_ > 0 && !urgent_); }

  // Gives the lock back, and wakes the I/O thread if there is something for it to do.
  void nudge(std::unique_lock<std::mutex>& lock, bool surely = false);

  std::shared_ptr<io_loop> loop_;
  boost::asio::steady_timer gathering_;  // of answers, between two reads
  log_callback log_;
  std::optional<tls::tls_settings> tls_;
  const bool inheritable_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // for those who wait for room, a connection or the end
  unsigned waiters_ = 0;
  session::machine machine_;
  std::shared_ptr<socket_link> link_;  // sends only once it is connected
  bool can_send_ = false;
  unsigned corks_ = 0;
  unsigned gathers_ = 0;
  bool urgent_ = false;        // something that is to be sent at once is in the buffer
  bool nudged_ = false;        // the I/O thread was asked to send what has gathered
  bool send_blocked_ = false;  // the socket's buffer is full
  bool write_wait_ = false;    // and the I/O thread waits for room in it
  std::optional<tls::tls_engine> engine_;
  endpoint host_;
  session::time_point armed_ = session::time_point::max();
  std::vector<std::unique_ptr<session::operation>> closers_;
  bool ended_ = false;  // the session is finished and everything about it was delivered

  // Used by the I/O thread alone.
  bool processing_ = false;
  std::optional<boot_timers::handle> timer_;
  std::string plain_;

  std::mutex listeners_mutex_;
  std::vector<std::weak_ptr<listener>> listeners_;
  std::shared_ptr<listener> first_listener_;  // that of the options
};

}  // namespace conclave::runtime
