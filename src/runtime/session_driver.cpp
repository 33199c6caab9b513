#include "runtime/session_driver.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <random>
#include <utility>

namespace conclave::runtime {
namespace {

using session::machine;

// Beyond this many unanswered requests a calling thread leaves its bytes in the buffer: answers
// are on their way, and the I/O thread sends all that has gathered when it has read them. Since a
// session's requests are answered in order, the caller's answer is not held up by this.
constexpr std::size_t send_at_once = 64;
// Unless so much has gathered that it fills a segment or two anyway.
constexpr std::size_t gather_bytes = 32 * 1024;
// Reads in a row for one session before others on the thread get their turn.
constexpr int reads_in_a_row = 4;

thread_local const session_driver* corked_driver = nullptr;
thread_local unsigned cork_depth = 0;

std::uint64_t shuffle_seed(const client_options& options) {
  return options.shuffle_hosts ? std::random_device{}() | 1u : 0;
}

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};

}  // namespace

struct session_driver::listener {
  std::mutex running;
  std::function<void(const session_event&)> call;
};

std::shared_ptr<session_driver> session_driver::start(std::shared_ptr<io_thread> thread, connect_string where,
                                                      const client_options& options) {
  auto driver = std::make_shared<session_driver>(std::move(thread), std::move(where), options);
  driver->machine_.start(boot_clock::now());
  driver->nudge(true);
  return driver;
}

session_driver::session_driver(std::shared_ptr<io_thread> thread, connect_string where, const client_options& options)
    : thread_{std::move(thread)}, log_{options.log}, machine_{std::move(where), options, shuffle_seed(options)} {
  if (options.tls) tls_.emplace(*options.tls);
}

session_driver::~session_driver() = default;

// --- on the caller's thread

error_code session_driver::submit(std::unique_ptr<session::operation>& op, bool wait_for_room) {
  if (thread_->in_child()) return errc::forked;
  const bool on_io_thread = thread_->is_current();
  std::unique_lock lock{mutex_};
  if (wait_for_room && machine_.full()) {
    ++waiters_;
    changed_.wait(lock, [&] { return !machine_.full() || machine_.finished(); });
    --waiters_;
  }
  if (const auto ec = machine_.submit(op, boot_clock::now())) return ec;
  // While the I/O thread delivers, it sends once, at the end, for all that was submitted meanwhile.
  const bool held = on_io_thread ? processing_ : corked_driver == this;
  const bool answers_coming = !on_io_thread && machine_.in_flight() > send_at_once && machine_.output().size() < gather_bytes;
  if (!held && !answers_coming) flush();
  const bool needed = needs_processing();
  lock.unlock();
  nudge(needed);
  return {};
}

error_code session_driver::submit_watch_removal(std::unique_ptr<session::operation>& op, watch_kind kind,
                                                std::string_view path, const watcher& w) {
  if (thread_->in_child()) return errc::forked;
  // Under one lock with the submission, so that nobody's read can come between.
  std::unique_lock lock{mutex_};
  if (machine_.full()) return errc::backlog_full;
  error_code ec;
  const bool tell_server = machine_.forget_watch(kind, path, w, ec);
  if (ec) return ec;
  if (!tell_server) {
    post([done = std::shared_ptr<session::operation>{std::move(op)}] { done->complete({}); });
    return {};
  }
  ec = machine_.submit(op, boot_clock::now());
  flush();
  const bool needed = needs_processing();
  lock.unlock();
  nudge(needed);
  return ec;
}

void session_driver::cancel(std::uint64_t id) {
  if (thread_->in_child()) return;
  std::unique_lock lock{mutex_};
  machine_.cancel(id);
  const bool needed = needs_processing();
  lock.unlock();
  nudge(needed);
}

void session_driver::cork() noexcept {
  if (corked_driver == nullptr) corked_driver = this;
  if (corked_driver == this) ++cork_depth;
}

void session_driver::uncork() {
  if (corked_driver != this || --cork_depth > 0) return;
  corked_driver = nullptr;
  if (thread_->in_child()) return;
  std::unique_lock lock{mutex_};
  if (!thread_->is_current() || !processing_) flush();
  const bool needed = needs_processing();
  lock.unlock();
  nudge(needed);
}

void session_driver::begin_close(std::unique_ptr<session::operation> when_closed) {
  if (thread_->in_child()) return;
  std::unique_lock lock{mutex_};
  if (when_closed) closers_.push_back(std::move(when_closed));
  machine_.close(boot_clock::now());
  flush();
  lock.unlock();
  nudge(true);
}

void session_driver::wait_closed() {
  if (thread_->in_child() || thread_->is_current()) return;
  std::unique_lock lock{mutex_};
  ++waiters_;
  changed_.wait(lock, [&] { return ended_; });  // the machine bounds how long closing takes
  --waiters_;
}

bool session_driver::wait_connected(std::chrono::nanoseconds limit) {
  std::unique_lock lock{mutex_};
  ++waiters_;
  const auto connected = [&] { return machine_.state() == session_state::connected; };
  changed_.wait_for(lock, limit, [&] { return connected() || machine_.finished(); });
  --waiters_;
  return connected();
}

void session_driver::post(std::function<void()> f) { boost::asio::post(thread_->io(), std::move(f)); }

bool session_driver::needs_processing() const noexcept {
  return machine_.has_notices() || machine_.has_wish() || machine_.next_deadline() < armed_ || (send_blocked_ && !write_wait_);
}

void session_driver::nudge(bool needed) {
  if (!needed) return;
  if (thread_->is_current() && processing_) return;
  boost::asio::post(thread_->io(), [self = shared_from_this()] { self->process(); });
}

// --- listeners

std::shared_ptr<void> session_driver::listen(std::function<void(const session_event&)> call) {
  auto entry = std::make_shared<listener>();
  entry->call = std::move(call);
  {
    const std::lock_guard lock{listeners_mutex_};
    std::erase_if(listeners_, [](const auto& l) { return l.expired(); });
    listeners_.push_back(entry);
  }
  // The token's deleter waits for a call in progress; on the I/O thread it may be that call.
  return {entry.get(), [entry, self = weak_from_this()](void*) mutable {
            const auto driver = self.lock();
            if (driver && !driver->thread_->in_child() && !driver->thread_->is_current()) {
              const std::lock_guard wait{entry->running};
              entry->call = nullptr;
            }
            entry.reset();
          }};
}

// --- on the I/O thread

void session_driver::process() {
  processing_ = true;
  for (;;) {
    machine::wish wish;
    std::vector<session::notice> notices;
    std::vector<std::unique_ptr<session::operation>> closers;
    {
      const std::lock_guard lock{mutex_};
      flush();
      wish = machine_.take_wish();
      notices = machine_.take_notices();
      if (machine_.finished()) closers.swap(closers_);
      if (std::holds_alternative<std::monostate>(wish) && notices.empty() && closers.empty()) {
        rearm_timer();
        if (send_blocked_ && !write_wait_) wait_writable(link_);
        ended_ = machine_.finished();
        if (waiters_ > 0) changed_.notify_all();
        break;
      }
    }
    apply(wish);
    for (auto& n : notices) deliver(n);
    for (auto& op : closers) op->complete({});
  }
  processing_ = false;
}

void session_driver::apply(const machine::wish& wish) {
  if (std::holds_alternative<std::monostate>(wish)) return;
  if (link_) {
    const std::lock_guard lock{mutex_};
    can_send_ = send_blocked_ = false;
    link_->close();
    link_.reset();
    engine_.reset();
  }
  if (const auto* to = std::get_if<machine::connect_to>(&wish)) connect(to->host);
}

void session_driver::connect(const endpoint& to) {
  auto link = std::make_shared<socket_link>(thread_->io());
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
      self->lose_link(ec);
    }
    self->process();
  });
}

void session_driver::connected(const std::shared_ptr<socket_link>& link) {
  {
    const std::lock_guard lock{mutex_};
    can_send_ = true;
    if (tls_) {
      engine_.emplace(*tls_, host_.host);
      take_in({}, boot_clock::now());  // says hello
    } else {
      machine_.connected(boot_clock::now());
    }
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
  write_wait_ = true;
  link->when_writable([self = shared_from_this(), link](boost::system::error_code) {
    {
      const std::lock_guard lock{self->mutex_};
      self->write_wait_ = false;
      if (link == self->link_) self->send_blocked_ = false;
    }
    self->process();
  });
}

void session_driver::read(const std::shared_ptr<socket_link>& link) {
  auto& buffer = thread_->read_buffer();
  for (int i = 0; i < reads_in_a_row && link == link_; ++i) {
    const auto got = link->receive(buffer.data(), buffer.size());
    if (got.ec == boost::asio::error::would_block) break;
    {
      const std::lock_guard lock{mutex_};
      if (got.ec || got.bytes == 0)
        lose_link(got.ec ? got.ec : error_code{boost::asio::error::eof});
      else
        take_in({buffer.data(), got.bytes}, boot_clock::now());
    }
    process();
    if (got.bytes < buffer.size()) break;
  }
  if (link == link_) wait_readable(link);
}

void session_driver::deliver(session::notice& n) noexcept {
  std::visit(overloaded{
                 [](session::completion& c) { c.op->complete(c.ec); },
                 [](session::firing& f) {
                   for (const auto& w : f.watchers) w(f.event);
                 },
                 [this](const session_event& e) {
                   std::vector<std::weak_ptr<listener>> all;
                   {
                     const std::lock_guard lock{listeners_mutex_};
                     all = listeners_;
                   }
                   for (const auto& weak : all) {
                     const auto l = weak.lock();
                     if (!l) continue;
                     const std::lock_guard running{l->running};
                     if (l->call) l->call(e);
                   }
                 },
                 [this](const session::log_line& l) {
                   if (log_) log_(l.level, l.text);
                 },
             },
             n);
}

void session_driver::rearm_timer() {
  const auto when = machine_.next_deadline();
  const bool ended = when == session::time_point::max();
  // Deadlines mostly move away; firing early and looking again is cheaper than setting the timer
  // with every request.
  if (timer_ && (ended || when < armed_)) {
    thread_->timers().cancel(*timer_);
    timer_.reset();
    armed_ = session::time_point::max();
  }
  if (timer_ || ended) return;
  armed_ = when;
  timer_ = thread_->timers().arm(when, [self = shared_from_this()] {
    self->timer_.reset();
    {
      const std::lock_guard inner{self->mutex_};
      self->armed_ = session::time_point::max();
      self->machine_.time_passed(boot_clock::now());
    }
    self->process();
  });
}

// --- with the lock held

void session_driver::take_in(std::string_view bytes, session::time_point now) {
  if (!engine_) return machine_.received(bytes, now);
  const bool before = engine_->established();
  plain_.clear();
  const auto ec = engine_->receive(bytes, plain_);
  if (ec) {
    flush();
    machine_.log(log_level::error, "TLS with " + to_string(host_) + " failed: " + engine_->reason());
    return lose_link(ec);
  }
  if (!before && engine_->established()) machine_.connected(now);
  if (!plain_.empty()) machine_.received(plain_, now);
  if (plain_.capacity() > 64 * 1024) plain_ = {};
}

void session_driver::flush() {
  if (!can_send_ || send_blocked_) return;
  for (;;) {
    std::string_view bytes;
    if (engine_) {
      if (engine_->output.empty() && engine_->established()) {
        const auto plain = machine_.output();
        if (engine_->encrypt(plain)) return lose_link(errc::tls_failed);
        machine_.sent(plain.size());
      }
      bytes = engine_->output;
    } else {
      bytes = machine_.output();
    }
    if (bytes.empty()) return;
    const auto done = link_->send(bytes);
    if (done.ec == boost::asio::error::would_block) {
      send_blocked_ = true;
      return;
    }
    // A broken connection is noticed by the reading side, too; one place is enough to act on it.
    if (done.ec) {
      can_send_ = false;
      return;
    }
    if (engine_)
      engine_->output.erase(0, done.bytes);
    else
      machine_.sent(done.bytes);
  }
}

void session_driver::lose_link(error_code why) {
  can_send_ = false;
  machine_.disconnected(why, boot_clock::now());
}

}  // namespace conclave::runtime
