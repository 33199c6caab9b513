// A TCP proxy on 127.0.0.1 between clients and one server that can harm the links it carries, at
// exact places in the ZooKeeper protocol.
//
// It knows frames (a length and a payload), takes the first frame of a link in each direction for
// the handshake, and reads of the later ones the header: xid and opcode from clients, xid from the
// server. An opaque proxy (for TLS) reads nothing of that: its frame counters stay 0, and what is
// triggered by frames never happens. A direction in which an impossible length is met becomes
// opaque.
//
// A frame is counted when it is passed on, not when it arrives. All members may be called from any
// thread; when one returns, it has taken effect. A triggered fault happens once and must be armed
// again; arming it replaces what was armed before.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace conclave::testing {

class link_proxy {
 public:
  enum class ending { fin, reset };                               // how both ends see a link go
  enum class afterwards { accept_new_links, refuse_until_heal };  // what follows a triggered cut

  explicit link_proxy(std::uint16_t upstream_port, bool opaque = false);
  ~link_proxy();
  link_proxy(const link_proxy&) = delete;
  link_proxy& operator=(const link_proxy&) = delete;

  std::uint16_t port() const noexcept;
  std::string connect_string() const;  // "127.0.0.1:PORT"

  // Ends all links and refuses new ones (connection refused) until heal().
  void cut(ending how = ending::fin);
  void heal();
  // Ends the present links; new ones are accepted.
  void drop_links(ending how = ending::fin);
  // Keeps links and accepts new ones, but passes nothing on, not even the end of a connection. What
  // was held back is passed on when it is switched off, as TCP does after an outage.
  void blackhole(bool on);
  // Holds every later frame back for this long, in each direction.
  void delay(std::chrono::milliseconds each_way);

  // Passes the next request with this opcode to the server, discards its reply, and ends that link:
  // the change was made and the client cannot know.
  void swallow_reply_to(std::int32_t opcode);
  // Discards the next request with this opcode and ends that link: the change was not made and
  // the client cannot know.
  void swallow_request(std::int32_t opcode);
  // After n more frames of all links together, handshakes included, the n-th is still delivered,
  // nothing behind it is, and the link that carried it is ended; refuse_until_heal does what cut()
  // does. 0 acts at once on all links.
  void cut_after_client_frames(std::size_t n, afterwards what = afterwards::accept_new_links);
  void cut_after_server_frames(std::size_t n, afterwards what = afterwards::accept_new_links);

  // Triggered faults (the four above) that have happened; a test should require some.
  std::size_t faults() const;
  // Waits until faults() has reached this number; false if it has not in time.
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
