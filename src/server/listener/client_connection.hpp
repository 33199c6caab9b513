// The socket of one client, with its receive and send buffers. The client's session state is in the
// class `core`.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/generic/stream_protocol.hpp>

#include "server/core/fair_share.hpp"
#include "server/core/watch_table.hpp"
#include "server/listener/process_watch.hpp"
#include "tls/tls_engine.hpp"
#include "wire/frame.hpp"

namespace conclave::server_impl {

class client_connection {
 public:
  using socket_type = boost::asio::generic::stream_protocol::socket;
  using clock = std::chrono::steady_clock;

  client_connection(connection_id connection, socket_type connected, std::string log_name,
                    std::size_t frame_limit)
      : id{connection},
        name{std::move(log_name)},
        socket{std::move(connected)},
        frames{frame_limit} {}

  enum class phase {
    first_bytes,  // the input may be a four-letter word
    handshake,    // waits for the connect request
    established,
    closing,  // disconnected when all output is sent
    closed,
  };
  bool is_pending() const noexcept { return current_phase < phase::established; }
  bool is_closing() const noexcept { return current_phase == phase::closing; }
  bool is_closed() const noexcept { return current_phase == phase::closed; }

  // Reads at most `size` bytes without blocking. Sets `plain` to the decrypted input, which is
  // empty if no input has arrived. Returns false if the connection is closed or has failed.
  bool receive(char* buffer, std::size_t size, std::string_view& plain);
  // Moves `bytes` to the send buffer and sends as much as the socket accepts. Returns false if the
  // connection is closed or has failed.
  bool send(std::string& bytes);
  // Shuts the socket down before closing it, so that the peer notices the close even if a forked
  // child has inherited the descriptor.
  void close();
  std::size_t unsent() const noexcept { return send_buffer_.size() - sent_; }

  const connection_id id;
  phase current_phase = phase::first_bytes;
  const std::string name;  // address and port, or process, for the log
  std::string address;     // of a TCP client, without the port; empty on a Unix socket
  peer_id from;            // the peer whose share of the connections it uses
  socket_type socket;
  std::unique_ptr<tls::tls_engine> tls;
  wire::frame_splitter frames;
  std::string unparsed;   // received, but not yet passed to core
  process_watch process;  // of a Unix socket client
  uid_t uid = 0;          // of the Unix socket client
  // Position in the service's list of pending handshakes; valid while is_pending().
  std::list<std::shared_ptr<client_connection>>::iterator pending_position;

  clock::time_point since = clock::now();
  // The last time at which flush() sent bytes or found the send buffer empty. Shows whether the
  // client still reads.
  clock::time_point last_sent = since;
  // The size of the largest output that was sent while the server processed the client's requests,
  // since the send buffer was empty. It may be one large reply, so it does not count against
  // server_options::max_unsent_bytes.
  std::size_t largest_output = 0;
  std::uint64_t frames_received = 0;
  std::uint64_t frames_sent = 0;
  bool is_local = false;            // connected through the Unix socket
  bool must_reconnect = false;      // see acceptor::accepted_connection::may_precede_listen
  bool is_paused = false;           // no input is read until the client has read its replies
  bool is_waiting_to_read = false;  // an async_wait is pending
  bool is_waiting_to_write = false;

 private:
  bool flush();

  std::string send_buffer_;  // output not accepted by the socket yet; encrypted if TLS is used
  std::size_t sent_ = 0;     // bytes of send_buffer_ that are sent
  std::string plain_;        // input that the last receive() decrypted, if TLS is used
};

}  // namespace conclave::server_impl
