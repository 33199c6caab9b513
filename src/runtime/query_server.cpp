#include "conclave/query_server.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>

#include "runtime/socket_link.hpp"
#include "tls/tls_engine.hpp"

namespace conclave {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t longest_reply = 1 << 20;

clock::time_point after(std::chrono::milliseconds timeout) {
  const auto now = clock::now();
  // The comparison uses milliseconds, because a longer timeout cannot be represented in the clock's
  // unit.
  const auto longest =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock::time_point::max() - now);
  return timeout < longest ? now + timeout : clock::time_point::max();
}

class server_query {
 public:
  server_query(const endpoint& at, const query_options& options) : at_{at}, options_{options} {
    if (options.tls && at.socket_path.empty())
      engine_.emplace(tls::tls_settings{*options.tls}, at.host);
  }
  ~server_query() { link_->close(); }
  server_query(const server_query&) = delete;
  server_query& operator=(const server_query&) = delete;

  query_result run(std::string_view word) {
    const auto begin = clock::now();
    until_ = after(options_.timeout);
    if (const auto ec = connect()) return failed(ec);
    result_.connect_time = clock::now() - begin;
    result_.address = at_.socket_path.empty() ? link_->peer_address() : at_.socket_path;
    if (engine_) {
      const auto ec = handshake();
      describe_tls();
      if (ec) return failed(ec);
    }
    until_ = std::min(until_, after(options_.reply_timeout));
    if (send(word)) receive_reply();
    return std::move(result_);
  }

 private:
  query_result failed(error_code ec) {
    result_.error = ec;
    result_.reason = ec == errc::tls_failed ? engine_->reason() : ec.message();
    return std::move(result_);
  }

  // Runs handlers until `done` is true. Returns false if the deadline passes first. Nothing runs
  // the handlers afterwards, so they may refer to local variables of the caller.
  bool run_until(const bool& done) {
    io_.restart();
    while (!done && io_.run_one_until(until_) != 0) {
    }
    return done;
  }

  error_code connect() {
    bool done = false;
    error_code result;
    link_->connect(at_, [&](error_code ec) {
      result = ec;
      done = true;
    });
    return run_until(done) ? result : boost::asio::error::timed_out;
  }

  error_code receive(std::string& bytes) {
    bool done = false;
    error_code result;
    link_->when_readable([&](error_code ec) {
      result = ec;
      done = true;
    });
    if (!run_until(done)) return boost::asio::error::timed_out;
    if (result) return result;
    std::array<char, 4096> block;
    const auto got = link_->receive(block.data(), block.size());
    if (got.ec == boost::asio::error::would_block) return {};
    if (got.ec) return got.ec;
    if (got.bytes == 0) return boost::asio::error::eof;
    bytes.assign(block.data(), got.bytes);
    return {};
  }

  error_code handshake() {
    std::string bytes;
    for (;;) {
      const auto refused = engine_->receive(bytes, result_.reply);
      if (!send_output() && !refused) return boost::asio::error::eof;
      if (refused || engine_->established()) return refused;
      bytes.clear();
      if (const auto ec = receive(bytes)) return ec;
    }
  }

  void describe_tls() {
    if (!engine_->peer_sent_certificate()) return;
    result_.tls = {engine_->protocol(), engine_->peer_subject(), engine_->peer_valid_until()};
  }

  // The send buffer of a new connection has room for these few bytes.
  bool send_output() {
    const auto bytes = std::exchange(engine_->output, {});
    return link_->send(bytes).bytes == bytes.size();
  }

  bool send(std::string_view word) {
    if (engine_) return !engine_->encrypt(word) && send_output();
    return link_->send(word).bytes == word.size();
  }

  void receive_reply() {
    for (std::string bytes; result_.reply.size() < longest_reply && !receive(bytes); bytes.clear())
      if (!engine_)
        result_.reply += bytes;
      else if (engine_->receive(bytes, result_.reply))
        return;
  }

  const endpoint& at_;
  const query_options& options_;
  clock::time_point until_;
  boost::asio::io_context io_{1};
  std::shared_ptr<runtime::socket_link> link_ = std::make_shared<runtime::socket_link>(io_, false);
  std::optional<tls::tls_engine> engine_;
  query_result result_;
};

}  // namespace

query_result query_server(const endpoint& at, std::string_view word, const query_options& options) {
  try {
    return server_query{at, options}.run(word);
  } catch (const boost::system::system_error& e) {
    // There is no free descriptor, or the path is too long for a socket.
    query_result failed;
    failed.error = e.code();
    failed.reason = failed.error.message();
    return failed;
  }
}

}  // namespace conclave
