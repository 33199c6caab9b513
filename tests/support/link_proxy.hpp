// A TCP proxy on 127.0.0.1 between clients and one server that injects faults at exact places in
// the ZooKeeper protocol. A link is a client's connection and the proxy's connection to the server.
//
// The proxy parses frames (a length and a payload). The first frame of a link in each direction is
// the handshake. In later frames, it reads xid and opcode from clients, and the xid from the
// server. An opaque proxy (for TLS) does not parse frames: its frame counters stay 0, and triggered
// faults never happen. A direction with an invalid frame length becomes opaque.
//
// A frame is counted when it is passed on, not when it arrives. All members are thread-safe and
// have taken effect when they return. A triggered fault happens once and must then be set again.
// Setting it replaces the earlier setting.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace conclave::testing {

class link_proxy {
 public:
  enum class ending { fin, reset };                               // how both ends are closed
  enum class afterwards { accept_new_links, refuse_until_heal };  // after a triggered disconnect

  explicit link_proxy(std::uint16_t upstream_port, bool opaque = false);
  ~link_proxy();
  link_proxy(const link_proxy&) = delete;
  link_proxy& operator=(const link_proxy&) = delete;

  std::uint16_t port() const noexcept;
  std::string connect_string() const;  // "127.0.0.1:PORT"

  // Closes all links and refuses new ones (connection refused) until heal().
  void disconnect(ending how = ending::fin);
  void heal();
  // Closes the open links. New ones are accepted.
  void drop_links(ending how = ending::fin);
  // Keeps links and accepts new ones, but passes nothing on, not even the end of a connection. When
  // switched off, passes the delayed data on, as TCP does after an outage.
  void blackhole(bool on);
  // Holds every later frame back for this long, in each direction.
  void delay(std::chrono::milliseconds each_way);

  // Passes the next request with this opcode to the server, drops its reply and closes the link.
  // The change was made, but the client cannot know.
  void drop_reply_to(std::int32_t opcode);
  // Drops the next request with this opcode and closes the link. The change was not made, but the
  // client cannot know.
  void drop_request(std::int32_t opcode);
  // Closes a link after n more frames of all links together, including handshakes. The n-th frame
  // is still delivered, later ones are not. refuse_until_heal then acts like disconnect(). If n is
  // 0, closes all links at once.
  void disconnect_after_client_frames(std::size_t n,
                                      afterwards what = afterwards::accept_new_links);
  void disconnect_after_server_frames(std::size_t n,
                                      afterwards what = afterwards::accept_new_links);

  // The number of triggered faults (the four above) that have happened. Tests should check it.
  std::size_t faults() const;
  // Waits until faults() has reached this number. Returns false on timeout.
  bool wait_for_faults(std::size_t count, std::chrono::milliseconds timeout) const;

  std::size_t client_frames() const;
  std::size_t server_frames() const;
  std::size_t requests(std::int32_t opcode) const;  // handshakes are not requests
  std::size_t events() const;                       // watch events, xid -1
  std::size_t links_accepted() const;
  std::size_t links() const;  // open now
  std::uint64_t bytes_to_client() const;
  std::uint64_t bytes_to_server() const;
  void reset_counters();

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace conclave::testing
