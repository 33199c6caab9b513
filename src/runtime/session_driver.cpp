#include "runtime/session_driver.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include "runtime/one_shot.hpp"

namespace conclave::runtime {
namespace {

using session::machine;

// If more requests than this are in flight, the driver batches in both directions.
//
// A calling thread leaves its bytes in the buffer and wakes the I/O thread, unless another call has
// already woken it. The I/O thread sends the whole buffer.
//
// The I/O thread waits before it reads again, so that replies can accumulate. One wake-up per reply
// would cost more than everything else. The pause is an eighth of the current reply time.
constexpr std::size_t deep_pipeline = 64;
constexpr int pause_fraction = 8;
constexpr std::chrono::microseconds shortest_pause{50};
constexpr std::chrono::microseconds longest_pause{2000};
// A calling thread sends the buffer itself if the buffer has this many bytes.
constexpr std::size_t gather_bytes = std::size_t{32} * 1024;
// The number of consecutive reads for one session before it is the turn of other sessions.
constexpr int reads_in_a_row = 4;

std::uint64_t shuffle_seed(const client_options& options) {
  return options.shuffle_hosts ? std::random_device{}() | 1u : 0;
}

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;  // clang 14 needs this guide

}  // namespace

std::shared_ptr<session_driver> session_driver::start(std::shared_ptr<io_loop> loop,
                                                      connect_string where,
                                                      const client_options& options) {
  auto driver = std::make_shared<session_driver>(std::move(loop), std::move(where), options);
  std::unique_lock lock{driver->mutex_};
  driver->machine_.start(boot_clock::now());
  driver->unlock_and_wake(lock);
  return driver;
}

session_driver::session_driver(std::shared_ptr<io_loop> loop, connect_string where,
                               const client_options& options)
    : loop_{std::move(loop)},
      gathering_{loop_->io()},
      log_{options.log},
      inheritable_{options.inheritable},
      machine_{std::move(where), options, shuffle_seed(options)},
      listeners_{loop_, options.on_session_event} {
  if (options.tls) tls_.emplace(*options.tls);
}

session_driver::~session_driver() = default;

// --- on the calling thread

void session_driver::wait_for_room(std::unique_lock<std::mutex>& lock) {
  // Only replies make room, and only requests that were sent get replies.
  flush();
  unlock_and_wake(lock);
  lock.lock();
  ++waiters_;
  changed_.wait(lock, [&] { return !machine_.full() || machine_.finished(); });
  --waiters_;
}

error_code session_driver::submit(std::unique_ptr<session::operation>& op, bool blocking) {
  if (loop_->in_child()) return errc::forked;
  std::unique_lock lock{mutex_};
  if (blocking && machine_.full()) wait_for_room(lock);
  const bool at_once = op->at_once;
  if (const auto ec = machine_.submit(op, boot_clock::now())) return ec;
  if (at_once) batches_.note_urgent();
  // While the I/O thread delivers notices, it sends all submitted requests once, at the end.
  const bool held = inside_process() || (batches_.hold_back() && !blocking);
  const bool deep = batches_.empty() && machine_.in_flight() > deep_pipeline &&
                    machine_.output().size() < gather_bytes;
  if (!held && !deep) flush();
  const bool must_wake = !held && deep && !std::exchange(send_requested_, true);
  unlock_and_wake(lock, must_wake ? wake::always : wake::if_needed);
  return {};
}

error_code session_driver::submit_watch_removal(std::unique_ptr<session::operation>& op,
                                                watch_kind kind, std::string_view path,
                                                const watcher& w, bool blocking) {
  if (loop_->in_child()) return errc::forked;
  // The mutex stays locked from the removal to the submission, so that no read can come in between.
  std::unique_lock lock{mutex_};
  if (blocking && machine_.full()) wait_for_room(lock);
  if (machine_.finished()) return machine_.submit(op, boot_clock::now());  // returns the reason
  if (machine_.full() && !op->beyond_limits) return errc::backlog_full;
  error_code ec;
  const bool must_remove_at_server = machine_.forget_watch(kind, path, w, ec);
  if (!ec && must_remove_at_server) {
    ec = machine_.submit(op, boot_clock::now());
    flush();
  }
  unlock_and_wake(lock);
  if (!ec && op) refuse(std::move(op), {});  // nothing to send: completes without an error
  return ec;
}

session_status session_driver::status() const {
  if (loop_->in_child()) return {};
  const std::lock_guard lock{mutex_};
  const bool keeps_session = machine_.held_open() && link_ && !link_->peer_closed();
  return {machine_.session_id(), machine_.state() == session_state::connected,
          machine_.end_reason(),
          keeps_session ? session::time_point::max() : machine_.session_deadline()};
}

void session_driver::refuse(std::unique_ptr<session::operation> op, error_code ec) {
  if (loop_->in_child()) return op->complete(ec);  // there is no I/O thread here
  boost::asio::post(loop_->io(),
                    [self = shared_from_this(), op = std::move(op), ec] { op->complete(ec); });
}

void session_driver::cancel(std::uint64_t id) {
  if (loop_->in_child()) return;
  std::unique_lock lock{mutex_};
  machine_.cancel(id);
  const auto closer =
      std::find_if(closers_.begin(), closers_.end(), [&](auto& op) { return op->id() == id; });
  std::unique_ptr<session::operation> cancelled;
  if (closer != closers_.end()) {
    cancelled = std::move(*closer);
    closers_.erase(closer);
  }
  unlock_and_wake(lock);
  if (cancelled) refuse(std::move(cancelled), boost::asio::error::operation_aborted);
}

void session_driver::begin_batch(open_batches::kind k) {
  if (loop_->in_child()) return;
  const std::lock_guard lock{mutex_};
  batches_.open(k);
}

void session_driver::end_batch(open_batches::kind k) {
  if (loop_->in_child()) return;
  std::unique_lock lock{mutex_};
  batches_.close(k);
  if (!batches_.hold_back() && !inside_process()) flush();
  unlock_and_wake(lock);
}

void session_driver::begin_close(std::unique_ptr<session::operation> when_closed) {
  if (loop_->in_child()) {
    if (when_closed) refuse(std::move(when_closed), errc::forked);
    return;
  }
  std::unique_lock lock{mutex_};
  if (when_closed) closers_.push_back(std::move(when_closed));
  machine_.close(boot_clock::now());
  publish_deadline();
  flush();
  unlock_and_wake(lock, wake::always);
}

void session_driver::wait_closed() {
  if (loop_->in_child() || loop_->is_current()) return;
  std::unique_lock lock{mutex_};
  ++waiters_;
  changed_.wait(lock, [&] { return ended_; });  // the machine limits how long closing takes
  --waiters_;
  lock.unlock();
  // Refused operations complete in posted handlers. Wait for the handlers that were posted before.
  one_shot all_have_run;
  boost::asio::post(loop_->io(), [&] { all_have_run.set(); });
  all_have_run.wait();
}

bool session_driver::wait_connected(std::chrono::nanoseconds limit) {
  std::unique_lock lock{mutex_};
  ++waiters_;
  const auto connected = [&] { return machine_.state() == session_state::connected; };
  // A limit that is too large to add to now() must not overflow.
  changed_.wait_for(lock, std::min<std::chrono::nanoseconds>(limit, std::chrono::hours{24 * 365}),
                    [&] { return connected() || machine_.finished(); });
  --waiters_;
  return connected();
}

bool session_driver::needs_processing() const noexcept {
  return machine_.has_notices() || machine_.has_command() || machine_.next_deadline() < armed_ ||
         output_ == output_phase::blocked;
}

void session_driver::unlock_and_wake(std::unique_lock<std::mutex>& lock, wake when) {
  const bool needed = when == wake::always || needs_processing();
  lock.unlock();
  if (!needed || inside_process()) return;
  boost::asio::post(loop_->io(), [self = shared_from_this()] { self->process(); });
}

// --- on the I/O thread

void session_driver::process() {
  processing_ = true;
  for (;;) {
    machine::command command;
    std::vector<session::notice> notices;
    std::vector<std::unique_ptr<session::operation>> closers;
    {
      const std::lock_guard lock{mutex_};
      send_requested_ = false;
      if (!batches_.hold_back()) flush();
      command = machine_.take_command();
      notices = machine_.take_notices();
      if (machine_.finished()) closers.swap(closers_);
      if (std::holds_alternative<std::monostate>(command) && notices.empty() && closers.empty()) {
        rearm_timer();
        if (output_ == output_phase::blocked) wait_writable(link_);
        ended_ = machine_.finished();
        if (waiters_ > 0) changed_.notify_all();
        break;
      }
    }
    apply(command);
    for (auto& n : notices) deliver(n);
    for (auto& op : closers) op->complete({});
    // If the handler forked, the child process also returns from the handler. It must not touch
    // anything here.
    if (loop_->in_child()) ::_exit(127);
  }
  processing_ = false;
}

void session_driver::apply(const machine::command& command) {
  if (std::holds_alternative<std::monostate>(command)) return;
  if (link_) {
    const std::lock_guard lock{mutex_};
    output_ = output_phase::closed;
    link_->close();
    link_.reset();
    engine_.reset();
  }
  if (const auto* to = std::get_if<machine::connect_to>(&command)) connect(to->host);
}

void session_driver::connect(const endpoint& to) {
  auto link = std::make_shared<socket_link>(loop_->io(), inheritable_);
  {
    const std::lock_guard lock{mutex_};
    link_ = link;
    host_ = to;
  }
  link->connect(to, [self = shared_from_this(), weak = std::weak_ptr{link}](error_code ec) {
    const auto l = weak.lock();
    if (!l || l != self->link_) return;
    if (!ec) return self->connected(l);
    {
      const std::lock_guard lock{self->mutex_};
      self->connection_lost(ec);
    }
    self->process();
  });
}

void session_driver::connected(const std::shared_ptr<socket_link>& link) {
  {
    const std::lock_guard lock{mutex_};
    output_ = output_phase::open;
    if (tls_ && host_.socket_path.empty()) {
      engine_.emplace(*tls_, host_.host);
      receive({}, boot_clock::now());  // starts the TLS handshake
    } else {
      machine_.connected(boot_clock::now(), link->binding());
    }
    flush();
  }
  wait_readable(link);
  process();
}

void session_driver::wait_readable(const std::shared_ptr<socket_link>& link) {
  link->when_readable([self = shared_from_this(), link](boost::system::error_code) {
    if (link == self->link_) self->read(link);
  });
}

void session_driver::wait_writable(const std::shared_ptr<socket_link>& link) {
  output_ = output_phase::waiting;
  link->when_writable([self = shared_from_this(), link](boost::system::error_code) {
    {
      const std::lock_guard lock{self->mutex_};
      if (link == self->link_ && self->output_ == output_phase::waiting)
        self->output_ = output_phase::open;
      self->flush();
    }
    self->process();
  });
}

void session_driver::read(const std::shared_ptr<socket_link>& link) {
  const auto buffer = loop_->read_buffer();
  auto pause = std::chrono::nanoseconds{0};
  for (int i = 0; i < reads_in_a_row && link == link_; ++i) {
    const auto got = link->receive(buffer.data(), buffer.size());
    if (got.ec == boost::asio::error::would_block) break;
    {
      const std::lock_guard lock{mutex_};
      if (got.ec || got.bytes == 0)
        connection_lost(got.ec ? got.ec : error_code{boost::asio::error::eof});
      else
        pause = receive({buffer.data(), got.bytes}, boot_clock::now());
    }
    process();
    if (got.bytes < buffer.size()) break;
  }
  if (link != link_) return;
  if (pause < shortest_pause) return wait_readable(link);
  gathering_.expires_after(pause);
  gathering_.async_wait([self = shared_from_this(), link](boost::system::error_code) {
    if (link == self->link_) self->read(link);
  });
}

void session_driver::deliver(session::notice& n) noexcept {
  std::visit(overloaded{
                 [](session::completion& c) { c.op->complete(c.ec); },
                 [](session::triggered_watch& f) {
                   for (const auto& w : f.watchers) w(f.event);
                 },
                 [](session::discarded&) {},
                 [this](const session_event& e) { listeners_.notify(e); },
                 [this](const session::log_line& l) {
                   if (log_) log_(l.level, l.text);
                 },
             },
             n);
}

void session_driver::rearm_timer() {
  const auto when = machine_.next_deadline();
  const bool ended = when == session::time_point::max();
  // Most deadlines move to a later time. It is cheaper to let the timer fire early and check again
  // than to set it for every request.
  if (timer_ && (ended || when < armed_)) {
    loop_->timers().cancel(*timer_);
    timer_.reset();
    armed_ = session::time_point::max();
  }
  if (timer_ || ended) return;
  armed_ = when;
  timer_ = loop_->timers().arm(when, [self = shared_from_this()] {
    self->timer_.reset();
    {
      const std::lock_guard inner{self->mutex_};
      self->armed_ = session::time_point::max();
      self->machine_.time_passed(boot_clock::now());
      self->flush();
    }
    self->process();
  });
}

// --- with the mutex locked

std::chrono::nanoseconds session_driver::receive(std::string_view bytes, session::time_point now) {
  const bool attached = machine_.state() == session_state::connected;
  if (engine_)
    decrypt(bytes, now);
  else
    machine_.received(bytes, now);
  publish_deadline();
  if (!attached) flush();  // sends the handshake and waiting requests, even if batches are open
  if (machine_.in_flight() <= deep_pipeline) return {};
  return std::min<std::chrono::nanoseconds>(machine_.reply_time(now) / pause_fraction,
                                            longest_pause);
}

void session_driver::decrypt(std::string_view bytes, session::time_point now) {
  const bool before = engine_->established();
  plain_.clear();
  const auto ec = engine_->receive(bytes, plain_);
  if (ec) {
    flush();
    machine_.log(log_level::error,
                 "TLS with " + to_string(host_) + " failed: " + engine_->reason());
    return connection_lost(ec);
  }
  if (!before && engine_->established()) machine_.connected(now);
  if (!plain_.empty()) machine_.received(plain_, now);
  if (plain_.capacity() > std::size_t{64} * 1024) plain_ = {};
}

void session_driver::flush() {
  batches_.note_flushed();
  if (output_ != output_phase::open) return;
  for (;;) {
    std::string_view bytes;
    if (engine_) {
      if (engine_->output.empty() && engine_->established()) {
        const auto plain = machine_.output();
        if (engine_->encrypt(plain)) return connection_lost(errc::tls_failed);
        machine_.sent(plain.size());
      }
      bytes = engine_->output;
    } else {
      bytes = machine_.output();
    }
    if (bytes.empty()) return;
    const auto done = link_->send(bytes);
    if (done.ec == boost::asio::error::would_block) {
      output_ = output_phase::blocked;
      return;
    }
    // The code that reads also notices a broken connection and handles it.
    if (done.ec) {
      output_ = output_phase::closed;
      return;
    }
    if (engine_)
      engine_->output.erase(0, done.bytes);
    else
      machine_.sent(done.bytes);
  }
}

void session_driver::connection_lost(error_code why) {
  output_ = output_phase::closed;
  machine_.disconnected(why, boot_clock::now());
}

// Only receive() makes the deadline later, on the I/O thread. The end of a session is delivered
// there before anything is received in the next session.
void session_driver::publish_deadline() noexcept {
  early_deadline_.store(machine_.session_deadline().time_since_epoch().count(),
                        std::memory_order_release);
}

}  // namespace conclave::runtime
