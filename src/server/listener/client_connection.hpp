// One client's connection: bytes in, frames out of them; bytes to be sent, as fast as it reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/generic/stream_protocol.hpp>

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
    first_bytes,  // may be a four-letter word
    handshake,    // its first frame has not arrived
    established,
    closing,  // closed once everything is sent
    closed,
  };
  bool is_pending() const noexcept { return current_phase < phase::established; }
  bool is_closing() const noexcept { return current_phase == phase::closing; }
  bool is_closed() const noexcept { return current_phase == phase::closed; }

  // Reads once what is there, at most `size` bytes; empty when nothing is. False: it has ended.
  bool receive(char* buffer, std::size_t size, std::string_view& plain);
  // Takes the bytes and sends what the socket has room for. False: it has ended.
  bool send(std::string& bytes);
  // For the other side at once, even if a child that this process forked has a copy.
  void close();
  std::size_t unsent() const noexcept { return waiting_.size() - sent_; }

  const connection_id id;
  phase current_phase = phase::first_bytes;
  const std::string name;  // for the log: its address, or the process
  std::string address;     // of a TCP client
  socket_type socket;
  std::unique_ptr<tls::tls_engine> tls;
  wire::frame_splitter frames;
  std::string unparsed;   // arrived, and not looked at yet
  process_watch process;  // on a Unix socket
  uid_t uid = 0;          // of that process
  std::list<std::shared_ptr<client_connection>>::iterator
      pending_position;  // until it said who it is

  clock::time_point since = clock::now();
  clock::time_point last_sent = since;  // it took something, or nothing was waiting
  std::uint64_t frames_received = 0;
  std::uint64_t frames_sent = 0;
  bool is_local = false;            // on the Unix socket
  bool is_paused = false;           // not listened to until it has read its answers
  bool is_waiting_to_read = false;  // a wait is under way
  bool is_waiting_to_write = false;

 private:
  bool flush();

  std::string waiting_;   // for room in the socket; cipher bytes with TLS
  std::size_t sent_ = 0;  // of these
  std::string plain_;     // decrypted by the last receive()
};

}  // namespace conclave::server_impl
