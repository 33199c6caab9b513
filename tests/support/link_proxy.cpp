#include "link_proxy.hpp"

#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "frames.hpp"
#include "listen_on_loopback.hpp"
#include "proxied_link.hpp"

namespace conclave::testing {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using clock = std::chrono::steady_clock;

constexpr std::int32_t largest_frame = 64 << 20;
constexpr std::int32_t event_xid = -1;
// A direction is not read while more than this waits in it.
constexpr std::size_t largest_queue = 4U << 20;

void reset(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(asio::socket_base::linger(true, 0), ignored);  // close() then sends RST
  socket.close(ignored);
}

}  // namespace

// One thread runs the io_context. Its handlers and the public members both hold mutex_ throughout,
// so a member can act on the sockets itself, and has taken effect when it returns.
class link_proxy::implementation {
 public:
  implementation(std::uint16_t upstream_port, bool opaque)
      : opaque_(opaque),
        upstream_(asio::ip::address_v4::loopback(), upstream_port),
        acceptor_(io_) {
    int listener = -1;
    std::tie(listener, port_) = listen_on_loopback();
    acceptor_.assign(tcp::v4(), listener);
    accept_next();
    thread_ = std::thread([this] { io_.run(); });
  }

  ~implementation() {
    io_.stop();
    thread_.join();
  }

  std::uint16_t port() const noexcept { return port_; }

  void disconnect(ending how) {
    const std::lock_guard lock(mutex_);
    refuse_and_finish_all(how);
  }

  void heal() {
    const std::lock_guard lock(mutex_);
    if (!refusing_) return;
    refusing_ = false;
    acceptor_.listen();
    accept_next();
  }

  void drop_links(ending how) {
    const std::lock_guard lock(mutex_);
    finish_all(how);
  }

  void blackhole(bool on) {
    const std::lock_guard lock(mutex_);
    blackhole_ = on;
    pump_all();
  }

  void delay(std::chrono::milliseconds each_way) {
    const std::lock_guard lock(mutex_);
    delay_ = each_way;
  }

  void drop_reply_to(std::int32_t opcode) {
    const std::lock_guard lock(mutex_);
    drop_reply_to_ = opcode;
  }

  void drop_request(std::int32_t opcode) {
    const std::lock_guard lock(mutex_);
    drop_request_ = opcode;
  }

  void disconnect_after_frames(direction d, std::size_t n, afterwards what) {
    const std::lock_guard lock(mutex_);
    triggers_[d].reset();
    if (n > 0) {
      triggers_[d] = trigger{n, what};
    } else {
      count_fault();
      what == afterwards::refuse_until_heal ? refuse_and_finish_all(ending::fin)
                                            : finish_all(ending::fin);
    }
  }

  bool wait_for_faults(std::size_t count, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return fault_happened_.wait_for(lock, timeout, [&] { return counters_.faults >= count; });
  }

  struct counters {
    std::array<std::size_t, 2> frames{};
    std::array<std::uint64_t, 2> bytes{};
    std::map<std::int32_t, std::size_t> requests;
    std::size_t events{0};
    std::size_t links_accepted{0};
    std::size_t faults{0};
    std::size_t links{0};  // open now
  };

  counters count() {
    const std::lock_guard lock(mutex_);
    counters result = counters_;
    result.links = links_.size();
    return result;
  }

  void reset_counters() {
    const std::lock_guard lock(mutex_);
    counters_ = counters{};
  }

 private:
  struct trigger {
    std::size_t frames_left;
    afterwards what;
  };

  void accept_next() {
    if (accepting_ || refusing_) return;
    accepting_ = true;
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      const std::lock_guard lock(mutex_);
      accepting_ = false;
      if (!error && refusing_) reset(socket);
      if (!error && !refusing_) begin_link(std::move(socket));
      accept_next();
    });
  }

  void begin_link(tcp::socket accepted) {
    ++counters_.links_accepted;
    auto l = std::make_shared<proxied_link>(io_, std::move(accepted));
    for (auto& each : l->lanes) each.opaque = opaque_;
    links_.insert(l);
    l->server.async_connect(upstream_, [this, l](error_code error) {
      const std::lock_guard lock(mutex_);
      if (l->finished) return;
      if (error) return finish(l, ending::reset);
      error_code ignored;
      l->client.set_option(tcp::no_delay(true), ignored);
      l->server.set_option(tcp::no_delay(true), ignored);
      for (const direction d : both_directions) read_next(l, d);
    });
  }

  // ---- reading ----

  void read_next(const link_ptr& l, direction d) {
    lane& in = l->lanes[d];
    if (in.reading || in.input_ended || in.queued_bytes > largest_queue || !l->source(d).is_open())
      return;
    in.reading = true;
    l->source(d).async_read_some(
        asio::buffer(in.buffer), [this, l, d](error_code error, std::size_t size) {
          const std::lock_guard lock(mutex_);
          lane& lane = l->lanes[d];
          lane.reading = false;
          lane.input_ended = static_cast<bool>(error);
          if (l->finished) {
            close_if_both_left(l);
          } else if (error) {
            enqueue(lane, error == asio::error::eof ? item::kind::fin : item::kind::reset, {});
          } else {
            lane.unparsed.append(lane.buffer.data(), size);
            split_into_items(lane);
          }
          pump(l, d);
          read_next(l, d);
        });
  }

  void split_into_items(lane& in) {
    std::string_view rest = in.unparsed;
    while (!in.opaque && rest.size() >= 4) {
      const std::int32_t length = int32_at(rest, 0);
      if (length < 0 || length > largest_frame) {
        in.opaque = true;
        break;
      }
      const std::size_t size = 4 + static_cast<std::size_t>(length);
      if (rest.size() < size) break;
      enqueue(in, item::kind::frame, std::string(rest.substr(0, size)));
      rest.remove_prefix(size);
    }
    if (in.opaque && !rest.empty()) {
      enqueue(in, item::kind::piece, std::string(rest));
      rest = {};
    }
    in.unparsed.erase(0, in.unparsed.size() - rest.size());
  }

  void enqueue(lane& in, item::kind what, std::string bytes) {
    in.queued_bytes += bytes.size();
    in.queue.push_back(item{what, std::move(bytes), clock::now() + delay_});
  }

  // ---- passing on ----

  void pump(const link_ptr& l, direction d) {
    lane& out = l->lanes[d];
    // A direction is held while its last permitted frame is being written, maybe on another link.
    if (l->finished || out.writing || out.queue.empty() || blackhole_ || held_[d]) return;
    const item& head = out.queue.front();
    if (head.due > clock::now()) return wait_until_due(l, d);
    switch (head.what) {
      case item::kind::reset: return finish(l, ending::reset);
      case item::kind::fin: return pass_end_on(l, d);
      case item::kind::frame:
        if (swallows(*l, d, head.bytes)) {
          count_fault();
          return finish(l, ending::fin);
        }
        count_frame(out, d, head.bytes);
        break;
      case item::kind::piece: break;
    }
    counters_.bytes[d] += head.bytes.size();
    write_front(l, d);
  }

  void wait_until_due(const link_ptr& l, direction d) {
    lane& out = l->lanes[d];
    if (out.timer_armed) return;
    out.timer_armed = true;
    out.timer.expires_at(out.queue.front().due);
    out.timer.async_wait([this, l, d](error_code) {
      const std::lock_guard lock(mutex_);
      l->lanes[d].timer_armed = false;
      pump(l, d);
    });
  }

  void pass_end_on(const link_ptr& l, direction d) {
    lane& out = l->lanes[d];
    out.queue.pop_front();
    out.output_ended = true;
    error_code ignored;
    l->target(d).shutdown(tcp::socket::shutdown_send, ignored);
    if (l->lanes[to_server].output_ended && l->lanes[to_client].output_ended) {
      l->finished = true;
      close_if_both_left(l);
      links_.erase(l);
    }
  }

  // Returns whether a fault drops this frame.
  bool swallows(proxied_link& l, direction d, std::string_view frame) {
    if (l.lanes[d].frames_passed == 0 || frame.size() < 12)
      return false;  // a handshake, or no header
    const std::int32_t xid = int32_at(frame, 4);
    if (d == to_client) return l.drop_xid == xid;
    const std::int32_t opcode = int32_at(frame, 8);
    if (drop_request_ == opcode) {
      drop_request_.reset();
      return true;
    }
    if (drop_reply_to_ == opcode) {
      drop_reply_to_.reset();
      l.drop_xid = xid;
    }
    return false;
  }

  void count_frame(lane& out, direction d, std::string_view frame) {
    const bool handshake = out.frames_passed++ == 0;
    ++counters_.frames[d];
    if (!handshake && frame.size() >= 12) {
      if (d == to_server) ++counters_.requests[int32_at(frame, 8)];
      if (d == to_client && int32_at(frame, 4) == event_xid) ++counters_.events;
    }
    if (triggers_[d] && --triggers_[d]->frames_left == 0) {
      out.disconnect_after_write = triggers_[d]->what;
      triggers_[d].reset();
      held_[d] = true;
    }
  }

  // Not asio::async_write: it would start the second of several writes without mutex_.
  void write_front(const link_ptr& l, direction d, std::size_t written = 0) {
    lane& out = l->lanes[d];
    out.writing = true;
    l->target(d).async_write_some(asio::buffer(out.queue.front().bytes) + written,
                                  [this, l, d, written](error_code error, std::size_t size) {
                                    const std::lock_guard lock(mutex_);
                                    lane& lane = l->lanes[d];
                                    const std::size_t total = lane.queue.front().bytes.size();
                                    if (!error && written + size < total)
                                      return write_front(l, d, written + size);
                                    lane.writing = false;
                                    lane.queued_bytes -= total;
                                    lane.queue.pop_front();
                                    if (lane.disconnect_after_write)
                                      return disconnect_after_last_frame(l, d);
                                    if (error) return finish(l, ending::reset);
                                    read_next(l, d);
                                    pump(l, d);
                                  });
  }

  void disconnect_after_last_frame(const link_ptr& l, direction d) {
    const auto what = *std::exchange(l->lanes[d].disconnect_after_write, std::nullopt);
    held_[d] = false;
    count_fault();
    if (what == afterwards::refuse_until_heal) {
      refuse_and_finish_all(ending::fin);
    } else {
      finish(l, ending::fin);
      pump_all();
    }
  }

  void pump_all() {
    const auto present = links_;  // pumping may end links
    for (const auto& each : present) {
      for (const direction d : both_directions) pump(each, d);
    }
  }

  // ---- ending ----

  void finish(const link_ptr& l, ending how) {
    if (std::exchange(l->finished, true)) return;
    links_.erase(l);
    for (lane& each : l->lanes) {
      each.timer.cancel();
      while (each.queue.size() > (each.writing ? 1U : 0U)) each.queue.pop_back();
      each.queued_bytes = each.queue.empty() ? 0 : each.queue.front().bytes.size();
    }
    if (how == ending::reset) {
      reset(l->client);
      reset(l->server);
      return;
    }
    // Closing a socket with unread input sends RST, which could destroy the last frames delivered
    // before their receiver read them. So both sides only end their output, and are drained.
    error_code ignored;
    l->client.shutdown(tcp::socket::shutdown_send, ignored);
    l->server.shutdown(tcp::socket::shutdown_send, ignored);
    for (const direction d : both_directions) read_next(l, d);
  }

  void close_if_both_left(const link_ptr& l) {
    if (!l->lanes[to_server].input_ended || !l->lanes[to_client].input_ended) return;
    error_code ignored;
    l->client.close(ignored);
    l->server.close(ignored);
  }

  void finish_all(ending how) {
    const auto present = links_;
    for (const auto& each : present) finish(each, how);
  }

  void refuse_and_finish_all(ending how) {
    if (!std::exchange(refusing_, true)) {
      // A listener that is shut down refuses connections, as an absent server does, but keeps its
      // port.
      ::shutdown(acceptor_.native_handle(), SHUT_RD);
      error_code ignored;
      acceptor_.cancel(ignored);
    }
    finish_all(how);
  }

  void count_fault() {
    ++counters_.faults;
    fault_happened_.notify_all();
  }

  const bool opaque_;
  const tcp::endpoint upstream_;
  std::uint16_t port_{0};
  std::mutex mutex_;
  std::condition_variable fault_happened_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> keep_running_{io_.get_executor()};
  tcp::acceptor acceptor_;
  bool accepting_{false};
  bool refusing_{false};
  bool blackhole_{false};
  std::chrono::milliseconds delay_{0};
  std::optional<std::int32_t> drop_reply_to_;
  std::optional<std::int32_t> drop_request_;
  std::array<std::optional<trigger>, 2> triggers_;
  std::array<bool, 2> held_{};
  counters counters_;
  std::set<link_ptr> links_;
  std::thread thread_;
};

link_proxy::link_proxy(std::uint16_t upstream_port, bool opaque)
    : implementation_(std::make_unique<implementation>(upstream_port, opaque)) {}
link_proxy::~link_proxy() = default;

std::uint16_t link_proxy::port() const noexcept { return implementation_->port(); }
std::string link_proxy::connect_string() const { return "127.0.0.1:" + std::to_string(port()); }

void link_proxy::disconnect(ending how) { implementation_->disconnect(how); }
void link_proxy::heal() { implementation_->heal(); }
void link_proxy::drop_links(ending how) { implementation_->drop_links(how); }
void link_proxy::blackhole(bool on) { implementation_->blackhole(on); }
void link_proxy::delay(std::chrono::milliseconds each_way) { implementation_->delay(each_way); }
void link_proxy::drop_reply_to(std::int32_t opcode) { implementation_->drop_reply_to(opcode); }
void link_proxy::drop_request(std::int32_t opcode) { implementation_->drop_request(opcode); }
void link_proxy::disconnect_after_client_frames(std::size_t n, afterwards what) {
  implementation_->disconnect_after_frames(to_server, n, what);
}
void link_proxy::disconnect_after_server_frames(std::size_t n, afterwards what) {
  implementation_->disconnect_after_frames(to_client, n, what);
}

bool link_proxy::wait_for_faults(std::size_t count, std::chrono::milliseconds timeout) const {
  return implementation_->wait_for_faults(count, timeout);
}
std::size_t link_proxy::faults() const { return implementation_->count().faults; }
std::size_t link_proxy::client_frames() const { return implementation_->count().frames[to_server]; }
std::size_t link_proxy::server_frames() const { return implementation_->count().frames[to_client]; }
std::size_t link_proxy::requests(std::int32_t opcode) const {
  return implementation_->count().requests[opcode];
}
std::size_t link_proxy::events() const { return implementation_->count().events; }
std::size_t link_proxy::links_accepted() const { return implementation_->count().links_accepted; }
std::size_t link_proxy::links() const { return implementation_->count().links; }
std::uint64_t link_proxy::bytes_to_client() const {
  return implementation_->count().bytes[to_client];
}
std::uint64_t link_proxy::bytes_to_server() const {
  return implementation_->count().bytes[to_server];
}
void link_proxy::reset_counters() { implementation_->reset_counters(); }

}  // namespace conclave::testing
