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

class link {
 public:
  using socket_type = boost::asio::generic::stream_protocol::socket;
  using clock = std::chrono::steady_clock;

  link(connection_id number, socket_type connected, std::string shown, std::size_t frame_limit)
      : id{number}, name{std::move(shown)}, socket{std::move(connected)}, frames{frame_limit} {}

  // Reads once what is there, at most `size` bytes; empty when nothing is. False: it has ended.
  bool receive(char* buffer, std::size_t size, std::string_view& plain);
  // Takes the bytes and sends what the socket has room for. False: it has ended.
  bool send(std::string& bytes);
  // For the other side at once, even if a child that this process forked has a copy.
  void close();
  std::size_t unsent() const noexcept { return waiting_.size() - sent_; }

  const connection_id id;
  const std::string name;  // for the log: its address, or the process
  std::string address;     // of a TCP client
  socket_type socket;
  std::unique_ptr<tls::tls_engine> tls;
  wire::frame_splitter frames;
  std::string unread;                                          // arrived, and not looked at yet
  process_watch process;                                       // on a Unix socket
  uid_t uid = 0;                                               // of that process
  std::list<std::shared_ptr<link>>::iterator in_waiting_room;  // until it said who it is

  clock::time_point since = clock::now();
  clock::time_point last_sent = since;  // it took something, or nothing was waiting
  std::uint64_t frames_received = 0;
  std::uint64_t frames_sent = 0;
  bool word_ruled_out = false;  // its first bytes were not a four-letter word
  bool local = false;           // on the Unix socket
  bool greeted = false;
  bool held_back = false;  // not listened to until it has read its answers
  bool reading = false;    // a wait is under way
  bool writing = false;
  bool ending = false;  // to be closed once everything is sent
  bool closed = false;

 private:
  bool flush();

  std::string waiting_;   // for room in the socket; cipher bytes with TLS
  std::size_t sent_ = 0;  // of these
  std::string plain_;     // decrypted by the last receive()
};

}  // namespace conclave::server_impl
