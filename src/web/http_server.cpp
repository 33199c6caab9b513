#include "web/http_server.hpp"

#include <array>
#include <atomic>
#include <exception>
#include <optional>
#include <sstream>
#include <thread>
#include <unordered_set>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/write.hpp>

#include "web/http_parsing.hpp"

namespace conclave::web {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

// Replies of at most this size are always sent, so that health checks and errors arrive.
constexpr std::size_t small_reply_bytes = 4096;

class connection;

// What a connection shares with all others.
struct shared_parts {
  http_limits limits;
  http_server::handler on_request;
  std::size_t connections = 0;
  std::size_t outgoing_bytes = 0;  // events and replies that are being sent
  std::unordered_set<connection*> event_streams;
};

// Scripts and styles come only from this server, and the page sends data only to it. Other sites
// can neither embed the page nor read its replies.
void set_security_headers(http::fields& to) {
  to.set("Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
         "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
         "require-trusted-types-for 'script'; trusted-types 'none'");
  to.set("X-Frame-Options", "DENY");
  to.set("X-Content-Type-Options", "nosniff");
  to.set("Referrer-Policy", "no-referrer");
  to.set("Cross-Origin-Opener-Policy", "same-origin");
  to.set("Cross-Origin-Resource-Policy", "same-origin");
  to.set("Permissions-Policy", "camera=(), geolocation=(), microphone=()");
}

class connection : public std::enable_shared_from_this<connection> {
 public:
  connection(tcp::socket socket, std::shared_ptr<shared_parts> parts)
      : stream_{std::move(socket)}, delay_{stream_.get_executor()}, parts_{std::move(parts)} {
    ++parts_->connections;
    error_code ignored;
    stream_.socket().set_option(tcp::no_delay{true}, ignored);
    // Limits what the kernel stores for a client that does not read.
    stream_.socket().set_option(asio::socket_base::send_buffer_size{64 * 1024}, ignored);
  }
  ~connection() {
    --parts_->connections;
    forget_outgoing();
    parts_->event_streams.erase(this);
  }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void start() { read_request(); }

  // Sends what is new on an event stream. If nothing is new and `is_heartbeat` is set, sends a
  // comment, so that both sides notice a broken connection.
  void send_events(bool is_heartbeat) {
    try {
      if (events_->has_ended()) return close();
      if (is_writing_) return;
      outgoing_ = events_->next();
    } catch (const std::exception&) {  // for example, out of memory
      return close();
    }
    static const auto comment = share(":\n\n");
    if (!outgoing_ && is_heartbeat) outgoing_ = comment;
    if (!outgoing_) return;
    if (!count_outgoing()) return close();
    is_writing_ = true;
    stream_.expires_after(parts_->limits.write_timeout);
    asio::async_write(stream_, asio::buffer(*outgoing_),
                      [self = shared_from_this()](error_code ec, std::size_t) {
                        self->is_writing_ = false;
                        self->outgoing_.reset();
                        self->forget_outgoing();
                        if (ec) return self->close();
                        self->send_events(false);
                      });
  }

  void close() {
    parts_->event_streams.erase(this);
    delay_.cancel();
    stream_.close();
  }

 private:
  void read_request() {
    auto& parser = parser_.emplace();
    parser.header_limit(parts_->limits.max_header_bytes);
    parser.body_limit(parts_->limits.max_body_bytes);
    stream_.expires_after(parts_->limits.read_timeout);
    http::async_read(
        stream_, input_, parser,
        [self = shared_from_this()](error_code ec, std::size_t) { self->on_read(ec); });
  }

  void on_read(const error_code& ec) {
    if (const auto refused = refusal_of(ec, *parser_))
      return refuse(refused->status, refused->reason);
    if (ec) return close();
    const auto request = parser_->release();
    is_head_ = request.method() == http::verb::head;
    keep_alive_ = request.keep_alive();
    version_ = request.version();
    try {
      reply(parts_->on_request(to_request(request)));
    } catch (const std::exception&) {  // for example, out of memory
      refuse(500, "the server cannot reply\n");
    }
  }

  void refuse(unsigned status, std::string text) {
    keep_alive_ = false;
    http_response r;
    r.status = status;
    r.body = share(std::move(text));
    send(std::move(r));
  }

  void reply(http_reply r) {
    if (r.events && !is_head_) return begin_events(std::move(r.events));
    if (!r.response.delayed) return send(std::move(r.response));
    // The read timeout does not run now, because no read is pending.
    delay_.expires_after(1s);
    delay_.async_wait(
        [self = shared_from_this(), r = std::move(r.response)](error_code ec) mutable {
          if (!ec) self->send(std::move(r));
        });
  }

  // Returns false if all connections together would send too much.
  bool count_outgoing() {
    const auto size = outgoing_->size();
    if (parts_->outgoing_bytes + size > parts_->limits.max_outgoing_bytes) return false;
    outgoing_bytes_ = size;
    parts_->outgoing_bytes += size;
    return true;
  }
  void forget_outgoing() { parts_->outgoing_bytes -= std::exchange(outgoing_bytes_, 0); }

  void send(http_response r) {
    outgoing_ = r.body ? std::move(r.body) : share({});
    const bool counts = !is_head_ && outgoing_->size() > small_reply_bytes;
    if (counts && !count_outgoing())
      return refuse(503, "the server is sending too much to other clients; try again\n");
    auto& response = response_.emplace();
    response.result(r.status);
    response.version(version_);
    response.keep_alive(keep_alive_);
    set_security_headers(response);
    response.set(http::field::cache_control, "no-store");
    response.set(http::field::content_type, r.content_type);
    for (const auto& [name, value] : r.headers) response.set(name, value);
    response.body() = {outgoing_->data(), outgoing_->size()};
    response.content_length(outgoing_->size());
    auto& serializer = serializer_.emplace(response);
    stream_.expires_after(parts_->limits.write_timeout);
    const auto done = [self = shared_from_this()](error_code ec, std::size_t) {
      self->forget_outgoing();
      if (ec || !self->keep_alive_) return self->close_gracefully();
      self->read_request();
    };
    if (is_head_)
      http::async_write_header(stream_, serializer, done);
    else
      http::async_write(stream_, serializer, done);
  }

  void begin_events(std::unique_ptr<event_source> events) {
    if (parts_->event_streams.size() >= parts_->limits.max_event_streams)
      return refuse(503, "the server has too many event streams; close a page\n");
    events_ = std::move(events);
    http::response<http::empty_body> head{http::status::ok, 11};
    head.keep_alive(false);  // the stream ends when the connection is closed
    set_security_headers(head);
    head.set(http::field::cache_control, "no-store");
    head.set(http::field::content_type, "text/event-stream");
    head.set("X-Accel-Buffering", "no");  // for pages behind nginx
    std::ostringstream text;
    text << head.base();
    outgoing_ = share(std::move(text).str());
    is_writing_ = true;
    parts_->event_streams.insert(this);
    stream_.expires_after(parts_->limits.write_timeout);
    asio::async_write(stream_, asio::buffer(*outgoing_),
                      [self = shared_from_this()](error_code ec, std::size_t) {
                        self->is_writing_ = false;
                        if (ec) return self->close();
                        self->wait_for_end();
                        self->send_events(false);
                      });
  }

  // Reads only to notice that the client has closed the connection. A client of a stream sends
  // nothing.
  void wait_for_end() {
    stream_.expires_never();
    stream_.async_read_some(
        asio::buffer(&unexpected_, 1),
        [self = shared_from_this()](error_code, std::size_t) { self->close(); });
  }

  // A client that is still sending would lose the reply if the socket was closed at once. So this
  // reads and discards a limited amount first.
  void close_gracefully() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(1s);
    discard(32);
  }
  void discard(int left) {
    stream_.async_read_some(asio::buffer(discarded_),
                            [self = shared_from_this(), left](error_code ec, std::size_t) {
                              if (ec || left == 0) return self->close();
                              self->discard(left - 1);
                            });
  }

  beast::tcp_stream stream_;
  asio::steady_timer delay_;
  std::shared_ptr<shared_parts> parts_;
  beast::flat_buffer input_{std::size_t{16} * 1024};  // at most this many bytes
  std::optional<request_parser> parser_;
  std::optional<http::response<http::span_body<const char>>> response_;
  std::optional<http::response_serializer<http::span_body<const char>>> serializer_;
  std::unique_ptr<event_source> events_;
  shared_text outgoing_;
  std::size_t outgoing_bytes_ = 0;  // its part of shared_parts::outgoing_bytes
  std::array<char, 4096> discarded_;
  bool is_writing_ = false;
  bool is_head_ = false;
  bool keep_alive_ = false;
  unsigned version_ = 11;
  char unexpected_ = 0;
};

}  // namespace

struct http_server::state {
  state(const std::string& address, std::uint16_t port, handler on_request,
        const http_limits& limits)
      : acceptor{io}, accept_pause{io}, heartbeat{io} {
    parts->limits = limits;
    parts->on_request = std::move(on_request);
    const tcp::endpoint at{asio::ip::make_address(address), port};
    acceptor.open(at.protocol());
    acceptor.set_option(asio::socket_base::reuse_address{true});
    acceptor.bind(at);
    acceptor.listen();
    local = acceptor.local_endpoint();
  }

  void accept() {
    acceptor.async_accept([this](error_code ec, tcp::socket socket) {
      is_accepting = false;
      if (ec == asio::error::operation_aborted) return;
      if (ec) {  // for example, there are no more descriptors
        accept_pause.expires_after(100ms);
        accept_pause.async_wait([this](error_code e) {
          is_accepting = false;
          if (!e) accept();
        });
        is_accepting = true;
        return;
      }
      if (parts->connections < parts->limits.max_connections)
        std::make_shared<connection>(std::move(socket), parts)->start();
      accept();  // a socket above the limit is closed here
    });
    is_accepting = true;
  }

  void send_events(bool is_heartbeat) {
    const std::vector<connection*> all{parts->event_streams.begin(), parts->event_streams.end()};
    for (auto* const c : all)
      if (parts->event_streams.contains(c)) c->shared_from_this()->send_events(is_heartbeat);
  }

  void beat() {
    heartbeat.expires_after(parts->limits.heartbeat);
    heartbeat.async_wait([this](error_code ec) {
      is_beating = false;
      if (ec) return;
      send_events(true);
      beat();
    });
    is_beating = true;
  }

  // Runs until the io_context is stopped. An exception, for example for want of memory, must not
  // end the program: it may also be the server of the locks.
  void run() {
    for (;;) {
      try {
        if (!is_accepting) accept();
        if (!is_beating) beat();
        io.run();
        return;
      } catch (const std::exception&) {
        std::this_thread::sleep_for(100ms);
      }
    }
  }

  std::shared_ptr<shared_parts> parts = std::make_shared<shared_parts>();
  asio::io_context io{1};
  tcp::acceptor acceptor;
  asio::steady_timer accept_pause;
  asio::steady_timer heartbeat;
  tcp::endpoint local;
  bool is_accepting = false;  // a handler will continue to accept connections
  bool is_beating = false;
  std::atomic<bool> is_notified{false};
  std::thread thread;
};

http_server::http_server(const std::string& address, std::uint16_t port, handler on_request,
                         const http_limits& limits)
    : state_{std::make_unique<state>(address, port, std::move(on_request), limits)} {
  state_->thread = std::thread{[s = state_.get()] { s->run(); }};
}

http_server::~http_server() {
  state_->io.stop();
  state_->thread.join();
}

std::string http_server::address() const {
  std::ostringstream text;
  text << state_->local;
  return std::move(text).str();
}

std::uint16_t http_server::port() const { return state_->local.port(); }

void http_server::notify() {
  if (state_->is_notified.exchange(true)) return;
  asio::post(state_->io, [s = state_.get()] {
    s->is_notified = false;
    s->send_events(false);
  });
}

}  // namespace conclave::web
